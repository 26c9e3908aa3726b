/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/find_driver.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SONAME "libcuda.so.1"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define MULTIARCH "/usr/lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define MULTIARCH "/usr/lib/aarch64-linux-gnu"
#else
#error "no CUDA driver exists for this machine"
#endif

struct finder {
    const struct rp_driver_search *search;
    rp_driver_fn visit;
    void *ctx;
};

const char *rp_driver_verdict_text(enum rp_driver_verdict verdict)
{
    switch (verdict) {
    case RP_DRIVER_USABLE: return "usable";
    case RP_DRIVER_MISSING: return "no readable file";
    case RP_DRIVER_RELATIVE: return "not an absolute path";
    case RP_DRIVER_FOREIGN: return "no shared object of this machine";
    case RP_DRIVER_STUB: return "a toolkit's stub, not a driver";
    case RP_DRIVER_ITSELF: return "reprise itself";
    }
    return "unknown";
}

void rp_driver_search_default(struct rp_driver_search *search)
{
    static const char *const places[] = {
        MULTIARCH, MULTIARCH "/nvidia/current", "/usr/lib64", "/usr/lib", "/lib64",
        "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/wsl/lib",
        "/run/opengl-driver/lib", "/usr/local/cuda/compat", NULL};
    *search = (struct rp_driver_search){
        .chosen = secure_getenv("REPRISE_DRIVER"),
        .library_path = secure_getenv("LD_LIBRARY_PATH"),
        .cache = "/etc/ld.so.cache",
        .places = places,
    };
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Toolkits keep their stubs in folders of that name; links into those are stubs too. */
static bool is_stub(const char *path)
{
    char real[PATH_MAX];
    return strstr(path, "/stubs/") != NULL
           || (realpath(path, real) != NULL && strstr(real, "/stubs/") != NULL);
}

static bool is_native_object(int fd)
{
    Elf64_Ehdr head;
    return pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head)
           && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0
           && head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == MACHINE
           && head.e_type == ET_DYN;
}

static enum rp_driver_verdict judge(const struct rp_driver_search *search, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return RP_DRIVER_MISSING;
    bool native = is_native_object(fd);
    close(fd);
    if (!native)
        return RP_DRIVER_FOREIGN;
    if (search->itself != NULL && same_file(path, search->itself))
        return RP_DRIVER_ITSELF;
    return is_stub(path) ? RP_DRIVER_STUB : RP_DRIVER_USABLE;
}

static bool try_file(const struct finder *finder, const char *path)
{
    enum rp_driver_verdict verdict = judge(finder->search, path);
    if (verdict == RP_DRIVER_USABLE && path[0] != '/')
        verdict = RP_DRIVER_RELATIVE;
    return verdict != RP_DRIVER_MISSING && finder->visit(finder->ctx, path, verdict);
}

static bool try_chosen(const struct finder *finder, const char *path)
{
    enum rp_driver_verdict verdict = path[0] == '/' ? judge(finder->search, path)
                                                    : RP_DRIVER_RELATIVE;
    return finder->visit(finder->ctx, path, verdict);
}

/* `dir` need not be zero-terminated. An empty one is the working directory, as for the loader. */
static bool try_directory(const struct finder *finder, const char *dir, size_t length)
{
    char path[PATH_MAX];
    int wanted = snprintf(path, sizeof(path), "%.*s/" SONAME, length > 0 ? (int)length : 1,
                          length > 0 ? dir : ".");
    return wanted > 0 && (size_t)wanted < sizeof(path) && try_file(finder, path);
}

static bool try_library_path(const struct finder *finder, const char *list)
{
    for (;;) {
        size_t length = strcspn(list, ":;");
        if (try_directory(finder, list, length))
            return true;
        if (list[length] == '\0')
            return false;
        list += length + 1;
    }
}

/* ---- the loader's cache ---------------------------------------------------------
 * A header, then entries with two offsets each, from the header's start: the name asked for
 * and the path found. Old systems put an older table in front of it. */

struct cache_header {
    char magic[20]; /* "glibc-ld.so.cache1.1" */
    uint32_t count;
    uint32_t string_bytes;
    uint32_t unused[5];
};
struct cache_entry {
    int32_t flags;
    uint32_t name, path;
    uint32_t os_version;
    uint64_t hwcap;
};

static const struct cache_header *cache_start(const char *bytes, size_t size)
{
    static const char old_magic[] = "ld.so-1.7.0", magic[] = "glibc-ld.so.cache1.1";
    size_t at = 0;
    if (size >= 16 && memcmp(bytes, old_magic, sizeof(old_magic) - 1) == 0) {
        uint32_t old_count;
        memcpy(&old_count, bytes + 12, sizeof(old_count));
        at = (16 + (size_t)old_count * 12 + 7) & ~(size_t)7;
    }
    if (at > size || size - at < sizeof(struct cache_header)
        || memcmp(bytes + at, magic, sizeof(magic) - 1) != 0)
        return NULL;
    return (const struct cache_header *)(const void *)(bytes + at);
}

static bool try_cache_bytes(const struct finder *finder, const char *bytes, size_t size)
{
    const struct cache_header *header = cache_start(bytes, size);
    if (header == NULL || bytes[size - 1] != '\0')
        return false;
    const char *base = (const char *)header;
    size_t left = size - (size_t)(base - bytes);
    const struct cache_entry *entries = (const void *)(header + 1);
    if ((left - sizeof(*header)) / sizeof(*entries) < header->count)
        return false;
    for (uint32_t i = 0; i < header->count; i++) {
        const struct cache_entry *entry = &entries[i];
        if (entry->name < left && entry->path < left && strcmp(base + entry->name, SONAME) == 0
            && try_file(finder, base + entry->path))
            return true;
    }
    return false;
}

static bool try_cache(const struct finder *finder, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct stat info;
    bool ended = false;
    if (fstat(fd, &info) == 0 && info.st_size > 0) {
        size_t size = (size_t)info.st_size;
        void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            ended = try_cache_bytes(finder, bytes, size);
            munmap(bytes, size);
        }
    }
    close(fd);
    return ended;
}

bool rp_driver_find(const struct rp_driver_search *search, rp_driver_fn visit, void *ctx)
{
    struct finder finder = {search, visit, ctx};
    if (search->chosen != NULL && search->chosen[0] != '\0')
        return try_chosen(&finder, search->chosen);
    if (search->library_path != NULL && search->library_path[0] != '\0'
        && try_library_path(&finder, search->library_path))
        return true;
    if (search->cache != NULL && try_cache(&finder, search->cache))
        return true;
    for (const char *const *place = search->places; place != NULL && *place != NULL; place++) {
        if (try_directory(&finder, *place, strlen(*place)))
            return true;
    }
    return false;
}
