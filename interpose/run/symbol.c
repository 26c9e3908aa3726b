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
    bool is_global, is_unique;
    bool is_ambiguous; /* another is as good */
    bool is_constant;  /* nobody may write it */
    bool is_thread_local, was_replaced; /* others that would do, but for that */
};

/* An image, and its file. */
struct image {
    const struct dl_phdr_info *info;
    struct file file;
};

/* `bytes` at `offset`, or NULL when they are not all in the file. */
static const void *within(const struct file *file, uint64_t offset, uint64_t bytes)
{
    bool is_in = offset <= file->size && bytes <= file->size - offset;
    return is_in ? file->bytes + offset : NULL;
}

/* `count` of `size` bytes. */
static const void *table_within(const struct file *file, uint64_t offset, uint64_t count,
                                size_t size)
{
    uint64_t bytes;
    bool is_table = offset % 8 == 0 && !__builtin_mul_overflow(count, (uint64_t)size, &bytes);
    return is_table ? within(file, offset, bytes) : NULL;
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

/* Whether it is loaded with such rights, and keeps them when it has been relocated. */
static bool is_loaded_as(const struct dl_phdr_info *info, unsigned rights, uint64_t at,
                         uint64_t size)
{
    bool is = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        uint64_t end = part->p_vaddr + part->p_memsz;
        bool is_touched = at < end && at + size > part->p_vaddr;
        if (part->p_type == PT_GNU_RELRO && (rights & PF_W) && is_touched)
            return false;
        is |= part->p_type == PT_LOAD && (part->p_flags & rights) == rights && is_touched &&
              at >= part->p_vaddr && size <= end - at;
    }
    return is;
}

/* Of those that are unique in the process, whichever image has them, the first is in use. */
static bool is_another(const struct looking *looking, uintptr_t address, bool is_unique)
{
    return looking->address && looking->address != address && !(looking->is_unique && is_unique);
}

static void meet(struct looking *looking, const Elf64_Sym *symbol, const struct dl_phdr_info *info)
{
    unsigned binding = ELF64_ST_BIND(symbol->st_info);
    uintptr_t address = info->dlpi_addr + symbol->st_value;
    bool is_global = binding != STB_LOCAL, is_unique = binding == STB_GNU_UNIQUE;
    if (looking->address && looking->is_global != is_global) {
        if (looking->is_global)
            return;
        looking->address = 0; /* a static one */
        looking->is_ambiguous = false;
    }
    if (looking->address) {
        looking->is_ambiguous |= is_another(looking, address, is_unique);
        return;
    }
    looking->address = address;
    looking->bytes = symbol->st_size;
    looking->is_global = is_global;
    looking->is_unique = is_unique;
    looking->is_constant = !is_loaded_as(info, PF_W, symbol->st_value, symbol->st_size);
}

static void look_in_table(struct looking *looking, const struct image *image,
                          const Elf64_Shdr *table, const Elf64_Shdr *names)
{
    const struct file *file = &image->file;
    uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    const Elf64_Sym *symbols = table_within(file, table->sh_offset, count, sizeof *symbols);
    for (uint64_t i = 0; symbols && i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if ((type != STT_OBJECT && type != STT_TLS) || symbol->st_shndx == SHN_UNDEF ||
            !symbol->st_size || !has_name(file, names, symbol->st_name, looking->name))
            continue;
        if (type == STT_TLS)
            looking->is_thread_local = true;
        else
            meet(looking, symbol, image->info);
    }
}

/* The file is the one that was loaded, and not one that was put in its place since: it has the same
 * parts, and the same notes, among which there is a hash of all that was linked. */
static bool is_loaded(const struct image *image, const Elf64_Ehdr *header)
{
    const struct dl_phdr_info *info = image->info;
    size_t size = header->e_phnum * sizeof *info->dlpi_phdr;
    const void *parts = within(&image->file, header->e_phoff, size);
    bool is = parts && header->e_phnum == info->dlpi_phnum &&
              memcmp(parts, info->dlpi_phdr, size) == 0;
    for (unsigned i = 0; is && i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_NOTE || !is_loaded_as(info, PF_R, part->p_vaddr, part->p_filesz))
            continue;
        const void *notes = within(&image->file, part->p_offset, part->p_filesz);
        is = notes && memcmp(notes, (const void *)(info->dlpi_addr + part->p_vaddr),
                             part->p_filesz) == 0;
    }
    return is;
}

static void look_in_file(struct looking *looking, const struct image *image)
{
    const struct file *file = &image->file;
    const Elf64_Ehdr *header = within(file, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr) ||
        !is_loaded(image, header)) {
        looking->was_replaced = true;
        return;
    }
    const Elf64_Shdr *sections =
        table_within(file, header->e_shoff, header->e_shnum, sizeof *sections);
    for (unsigned i = 0; sections && i < header->e_shnum; i++) {
        bool is_table = sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM;
        if (is_table && sections[i].sh_link < header->e_shnum)
            look_in_table(looking, image, &sections[i], &sections[sections[i].sh_link]);
    }
}

static void look_at_path(struct looking *looking, const char *path,
                         const struct dl_phdr_info *info)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0)
        return;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            look_in_file(looking, &(struct image){info, {bytes, size}});
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

/* The program comes first, and has no name. */
static int look_at_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct looking *looking = ctx;
    bool is_program = !*info->dlpi_name;
    (void)size;
    if (!is_own(info))
        look_at_path(looking, is_program ? "/proc/self/exe" : info->dlpi_name, info);
    return is_program && looking->address;
}

static const char *why_not(const struct looking *looking)
{
    if (looking->is_ambiguous || (looking->address && looking->is_thread_local))
        return "several variables of the job have this name: give the one that is meant another";
    if (looking->address && looking->is_constant)
        return "nobody may write it: a constant is no state";
    if (looking->address)
        return NULL;
    if (looking->is_thread_local)
        return "it is thread-local, another in each thread: let it be a plain one";
    if (looking->was_replaced)
        return "no image that is loaded has a variable of this name, as far as their files are "
               "still those that were loaded";
    return "no image that is loaded has a variable of this name: it is spelled otherwise, comes "
           "later, or its symbols were stripped";
}

static bool tell(const struct looking *looking, struct rp_symbol *out, const char **why)
{
    *why = why_not(looking);
    *out = *why ? (struct rp_symbol){0}
                : (struct rp_symbol){(unsigned char *)looking->address, looking->bytes};
    return !*why;
}

bool rp_symbol_find_in(const void *file, size_t file_bytes, const struct dl_phdr_info *info,
                       const char *name, struct rp_symbol *out, const char **why)
{
    struct looking looking = {.name = name};
    look_in_file(&looking, &(struct image){info, {file, file_bytes}});
    return tell(&looking, out, why);
}

bool rp_symbol_find(const char *name, struct rp_symbol *out, const char **why)
{
    struct looking looking = {.name = name};
    dl_iterate_phdr(look_at_image, &looking);
    return tell(&looking, out, why);
}

static int count_images(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    *(struct rp_symbol_images *)ctx =
        (struct rp_symbol_images){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

struct rp_symbol_images rp_symbol_images(void)
{
    struct rp_symbol_images images = {0};
    dl_iterate_phdr(count_images, &images);
    return images;
}
