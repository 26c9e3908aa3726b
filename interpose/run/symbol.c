/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file, mapped; nothing in it is believed before it is measured. */
struct file {
    const unsigned char *bytes;
    size_t size;
};

struct looking {
    const char *name;
    uintptr_t address; /* of the best match so far, 0 without one */
    size_t bytes;
    bool is_global;    /* and so the only one of its name */
    bool is_ambiguous;
};

/* `count` items of `size` bytes at `offset`, or NULL when they are not all in the file. */
static const void *within(const struct file *file, uint64_t offset, uint64_t count, size_t size)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(count, (uint64_t)size, &bytes) || offset > file->size ||
        bytes > file->size - offset || offset % 8)
        return NULL;
    return file->bytes + offset;
}

static bool has_name(const struct file *file, const Elf64_Shdr *names, uint32_t at,
                     const char *name)
{
    size_t length = strlen(name) + 1; /* with its end: no longer name may match */
    const char *text = names->sh_offset <= file->size && at <= names->sh_size
                           ? (const char *)file->bytes + names->sh_offset + at
                           : NULL;
    return text && names->sh_size - at >= length &&
           names->sh_size <= file->size - names->sh_offset && memcmp(text, name, length) == 0;
}

static void meet(struct looking *looking, const Elf64_Sym *symbol, uintptr_t base)
{
    uintptr_t address = base + symbol->st_value;
    bool is_global = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;
    if (looking->address == address || (looking->is_global && !is_global))
        return;
    looking->is_ambiguous = looking->address && looking->is_global == is_global;
    looking->address = address;
    looking->bytes = symbol->st_size;
    looking->is_global = is_global;
}

static void look_in_table(struct looking *looking, const struct file *file,
                          const Elf64_Shdr *table, const Elf64_Shdr *names, uintptr_t base)
{
    uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = within(file, table->sh_offset, count, sizeof *symbols);
    for (uint64_t i = 0; symbols && i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_size && has_name(file, names, symbol->st_name, looking->name))
            meet(looking, symbol, base);
    }
}

static void look_in_file(struct looking *looking, const struct file *file, uintptr_t base)
{
    const Elf64_Ehdr *header = within(file, 0, 1, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr))
        return;
    const Elf64_Shdr *sections =
        within(file, header->e_shoff, header->e_shnum, sizeof *sections);
    for (unsigned i = 0; sections && i < header->e_shnum; i++) {
        bool is_table = sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM;
        if (is_table && sections[i].sh_link < header->e_shnum)
            look_in_table(looking, file, &sections[i], &sections[sections[i].sh_link], base);
    }
}

static void look_at_path(struct looking *looking, const char *path, uintptr_t base)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0)
        return;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            look_in_file(looking, &(struct file){bytes, size}, base);
            munmap(bytes, size);
        }
    }
    close(descriptor);
}

static bool is_own(const struct dl_phdr_info *info)
{
    uintptr_t here = (uintptr_t)&rp_symbol_find;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && here >= start &&
            here - start < info->dlpi_phdr[i].p_memsz)
            return true;
    }
    return false;
}

static int look_at_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct looking *looking = ctx;
    (void)size;
    if (!is_own(info))
        look_at_path(looking, *info->dlpi_name ? info->dlpi_name : "/proc/self/exe",
                     info->dlpi_addr);
    return looking->address != 0;
}

enum rp_status rp_symbol_find(const char *name, void **address, size_t *bytes)
{
    struct looking looking = {.name = name};
    dl_iterate_phdr(look_at_image, &looking);
    if (!looking.address)
        return RP_NOT_FOUND;
    *address = (void *)looking.address;
    *bytes = looking.bytes;
    return looking.is_ambiguous ? RP_INVALID : RP_OK;
}

static int count_images(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    *(unsigned long long *)ctx = info->dlpi_adds;
    return 1;
}

unsigned long long rp_symbol_images(void)
{
    unsigned long long images = 0;
    dl_iterate_phdr(count_images, &images);
    return images;
}
