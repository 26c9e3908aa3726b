/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/image/cubin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_INFO 0x70000000u /* sh_type of .nv.info and its like */
#define SYMBOL_IS_KERNEL 0x10    /* in st_other */
#define MAX_PARAM_BYTES 32764    /* the driver's own limit since sm_70 */

enum format { NO_VALUE = 1, BYTE_VALUE = 2, HALF_VALUE = 3, SIZED_VALUE = 4 };

enum attribute {
    EXTERNS = 0x0f,
    KPARAM_INFO = 0x17,
    CBANK_PARAM_SIZE = 0x19,
    NEED_CNP_WRAPPER = 0x1f,
    NEED_CNP_PATCH = 0x20,
    KPARAM_INFO_V2 = 0x45,
    SYSCALL_OFFSETS = 0x46,
    NEWEST_ATTRIBUTE = 0x5f /* that CUDA 13.0 writes */
};

struct elf {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Shdr *sections; /* may be unaligned: read by section_at */
    size_t section_count;
    Elf64_Shdr names; /* the table of section names */
};

/* ---- the file ------------------------------------------------------------------ */

static bool holds(const struct elf *elf, uint64_t offset, uint64_t bytes)
{
    return offset <= elf->size && bytes <= elf->size - offset;
}

static bool read_header(const void *image, Elf64_Ehdr *header)
{
    memcpy(header, image, sizeof *header);
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

static Elf64_Shdr section_at(const struct elf *elf, size_t index)
{
    Elf64_Shdr section;
    memcpy(&section, (const char *)elf->sections + index * sizeof section, sizeof section);
    return section;
}

size_t rp_cubin_bytes(const void *image)
{
    Elf64_Ehdr header;
    if (!read_header(image, &header) || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shoff > INT64_MAX || header.e_phoff > INT64_MAX)
        return 0;
    uint64_t sections_end = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    uint64_t programs_end = header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize;
    /* The two tables come last; what they speak of lies before them. */
    return programs_end > sections_end ? programs_end : sections_end;
}

static bool open_elf(struct elf *elf, const void *image, size_t bytes)
{
    Elf64_Ehdr header;
    *elf = (struct elf){.bytes = image, .size = bytes};
    if (bytes < sizeof header || !read_header(image, &header) ||
        header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shstrndx >= header.e_shnum ||
        !holds(elf, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)))
        return false;
    elf->sections = (const void *)(elf->bytes + header.e_shoff);
    elf->section_count = header.e_shnum;
    elf->names = section_at(elf, header.e_shstrndx);
    return elf->names.sh_type == SHT_STRTAB &&
           holds(elf, elf->names.sh_offset, elf->names.sh_size);
}

/* NULL when the text does not end within its table. */
static const char *text_in(const struct elf *elf, const Elf64_Shdr *table, uint64_t at)
{
    if (!holds(elf, table->sh_offset, table->sh_size) || at >= table->sh_size)
        return NULL;
    const char *text = (const char *)elf->bytes + table->sh_offset + at;
    return memchr(text, '\0', table->sh_size - at) ? text : NULL;
}

static const char *section_name(const struct elf *elf, const Elf64_Shdr *section)
{
    const char *name = text_in(elf, &elf->names, section->sh_name);
    return name ? name : "";
}

/* ---- records -------------------------------------------------------------------- */

struct record {
    uint8_t format, attribute;
    uint16_t value;               /* or the payload's length */
    const unsigned char *payload; /* with SIZED_VALUE */
};

struct reading {
    const unsigned char *at, *end;
};

/* False at the end; *damaged tells whether that came too early. */
static bool next_record(struct reading *reading, struct record *record, bool *damaged)
{
    size_t left = (size_t)(reading->end - reading->at);
    *damaged = left > 0 && left < 4;
    if (left < 4)
        return false;
    *record = (struct record){.format = reading->at[0], .attribute = reading->at[1]};
    memcpy(&record->value, reading->at + 2, 2);
    record->payload = reading->at + 4;
    size_t used = 4 + (record->format == SIZED_VALUE ? record->value : 0u);
    *damaged = record->format < NO_VALUE || record->format > SIZED_VALUE || used > left;
    reading->at += *damaged ? 0 : used;
    return !*damaged;
}

static enum rp_status add_param(struct rp_cubin_kernel *kernel, const struct record *record)
{
    uint16_t ordinal, offset, bytes;
    uint32_t word;
    if (record->format != SIZED_VALUE || record->value < 12)
        return RP_DAMAGED;
    memcpy(&ordinal, record->payload + 4, 2);
    memcpy(&offset, record->payload + 6, 2);
    memcpy(&bytes, record->payload + 8, 2);
    memcpy(&word, record->payload + 8, 4);
    if (record->attribute == KPARAM_INFO)
        bytes = (uint16_t)(word >> 18);
    if (ordinal >= MAX_PARAM_BYTES || (uint32_t)offset + bytes > MAX_PARAM_BYTES)
        return RP_DAMAGED;
    if (ordinal >= kernel->param_count) { /* descending order: the first says how many */
        struct rp_cubin_param *params = realloc(kernel->params, (ordinal + 1u) * sizeof *params);
        if (!params)
            return RP_NO_MEMORY;
        memset(params + kernel->param_count, 0,
               (ordinal + 1u - kernel->param_count) * sizeof *params);
        kernel->params = params;
        kernel->param_count = ordinal + 1u;
    }
    kernel->params[ordinal] = (struct rp_cubin_param){offset, bytes};
    return RP_OK;
}

static enum rp_status apply(struct rp_cubin_kernel *kernel, const struct record *record)
{
    switch (record->attribute) {
    case KPARAM_INFO: case KPARAM_INFO_V2: return add_param(kernel, record);
    case CBANK_PARAM_SIZE:
        kernel->param_bytes = record->value;
        return record->format == HALF_VALUE ? RP_OK : RP_DAMAGED;
    case EXTERNS: case SYSCALL_OFFSETS: case NEED_CNP_WRAPPER: case NEED_CNP_PATCH:
        kernel->escapes = "it calls into the driver (malloc, printf or a launch of its own)";
        return RP_OK;
    default:
        if (record->attribute > NEWEST_ATTRIBUTE && !kernel->escapes)
            kernel->escapes = "its .nv.info holds an attribute that is not known";
        return RP_OK;
    }
}

/* Every parameter was told of, and they end where the total says. */
static bool is_complete(const struct rp_cubin_kernel *kernel)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        const struct rp_cubin_param *param = &kernel->params[i];
        if (!param->bytes || (i && param->offset < end))
            return false;
        end = param->offset + param->bytes;
    }
    return end == kernel->param_bytes;
}

static void distrust(struct rp_cubin_kernel *kernel)
{
    free(kernel->params);
    kernel->params = NULL;
    kernel->param_count = 0;
    kernel->layout_known = false;
    kernel->escapes = "its .nv.info can't be read";
}

static enum rp_status read_records(const struct elf *elf, const Elf64_Shdr *section,
                                   struct rp_cubin_kernel *kernel)
{
    struct reading reading;
    struct record record;
    bool damaged = !holds(elf, section->sh_offset, section->sh_size);
    enum rp_status status = RP_OK;
    if (!damaged) {
        reading.at = elf->bytes + section->sh_offset;
        reading.end = reading.at + section->sh_size;
        while (status == RP_OK && next_record(&reading, &record, &damaged))
            status = apply(kernel, &record);
    }
    kernel->layout_known = status == RP_OK && !damaged && is_complete(kernel);
    if (!kernel->layout_known)
        distrust(kernel);
    return status == RP_DAMAGED ? RP_OK : status;
}

/* ---- symbols -------------------------------------------------------------------- */

static bool is_info_of(const struct elf *elf, const Elf64_Shdr *section, const char *kernel)
{
    static const char prefix[] = ".nv.info.";
    const char *name = section_name(elf, section);
    return section->sh_type == SECTION_INFO && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           strcmp(name + sizeof prefix - 1, kernel) == 0;
}

/* The section follows the order of the symbols backwards or not at all: all are tried. */
static enum rp_status add_kernel(const struct elf *elf, const char *name, struct rp_cubin *cubin)
{
    struct rp_cubin_kernel *bigger =
        realloc(cubin->kernels, (cubin->kernel_count + 1) * sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    cubin->kernels = bigger;
    struct rp_cubin_kernel *kernel = &bigger[cubin->kernel_count++];
    *kernel = (struct rp_cubin_kernel){.name = name, .escapes = "it has no .nv.info"};
    for (size_t i = 0; i < elf->section_count; i++) {
        Elf64_Shdr section = section_at(elf, i);
        if (!is_info_of(elf, &section, name))
            continue;
        kernel->escapes = NULL;
        return read_records(elf, &section, kernel);
    }
    return RP_OK;
}

static bool holds_variables(const struct elf *elf, uint16_t index)
{
    if (index == SHN_UNDEF || index >= elf->section_count)
        return false;
    Elf64_Shdr section = section_at(elf, index);
    const char *name = section_name(elf, &section);
    return strcmp(name, ".nv.global") == 0 || strcmp(name, ".nv.global.init") == 0 ||
           strcmp(name, ".nv.constant3") == 0;
}

static enum rp_status add_global(const char *name, uint64_t bytes, struct rp_cubin *cubin)
{
    struct rp_cubin_global *bigger =
        realloc(cubin->globals, (cubin->global_count + 1) * sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    cubin->globals = bigger;
    bigger[cubin->global_count++] = (struct rp_cubin_global){name, bytes};
    return RP_OK;
}

static enum rp_status read_symbols(const struct elf *elf, const Elf64_Shdr *table,
                                   struct rp_cubin *cubin)
{
    enum rp_status status = RP_OK;
    if (!holds(elf, table->sh_offset, table->sh_size) || table->sh_link >= elf->section_count ||
        table->sh_entsize != sizeof(Elf64_Sym))
        return RP_DAMAGED;
    Elf64_Shdr names = section_at(elf, table->sh_link);
    for (uint64_t at = 0; status == RP_OK && at + sizeof(Elf64_Sym) <= table->sh_size;
         at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->bytes + table->sh_offset + at, sizeof symbol);
        const char *name = text_in(elf, &names, symbol.st_name);
        if (!name)
            return RP_DAMAGED;
        unsigned type = ELF64_ST_TYPE(symbol.st_info);
        bool is_kernel = type == STT_FUNC && (symbol.st_other & SYMBOL_IS_KERNEL);
        if (is_kernel && symbol.st_shndx != SHN_UNDEF)
            status = add_kernel(elf, name, cubin);
        else if (type == STT_OBJECT && holds_variables(elf, symbol.st_shndx))
            status = add_global(name, symbol.st_size, cubin);
    }
    return status;
}

enum rp_status rp_cubin_read(const void *image, size_t bytes, struct rp_cubin *cubin)
{
    struct elf elf;
    enum rp_status status = open_elf(&elf, image, bytes) ? RP_OK : RP_DAMAGED;
    *cubin = (struct rp_cubin){0};
    for (size_t i = 0; status == RP_OK && i < elf.section_count; i++) {
        Elf64_Shdr section = section_at(&elf, i);
        const char *name = section_name(&elf, &section);
        if (section.sh_type == SHT_SYMTAB)
            status = read_symbols(&elf, &section, cubin);
        if (strcmp(name, ".rel.nv.constant4") == 0 || strcmp(name, ".rela.nv.constant4") == 0)
            cubin->takes_addresses = true;
    }
    if (status != RP_OK)
        rp_cubin_release(cubin);
    return status;
}

void rp_cubin_release(struct rp_cubin *cubin)
{
    for (size_t i = 0; i < cubin->kernel_count; i++)
        free(cubin->kernels[i].params);
    free(cubin->kernels);
    free(cubin->globals);
    *cubin = (struct rp_cubin){0};
}
