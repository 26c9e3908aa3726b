/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/cache.h"

#include "cuda/access/frozen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Stands before the frozen proof. */
struct heading {
    char magic[8];
    uint64_t version[2];
    struct rp_cache_key key;
    uint64_t size;     /* of what follows */
    uint64_t check[2]; /* of the heading with zeros here, and of what follows */
};

static const char magic[8] = "rpproof";

static void seal(struct heading *heading, const void *bytes, uint64_t check[2])
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t hash = {0};
    heading->check[0] = heading->check[1] = 0;
    if (state) {
        XXH3_128bits_reset(state);
        XXH3_128bits_update(state, heading, sizeof *heading);
        XXH3_128bits_update(state, bytes, heading->size);
        hash = XXH3_128bits_digest(state);
    }
    XXH3_freeState(state);
    check[0] = hash.low64;
    check[1] = hash.high64;
}

/* ---- files ----------------------------------------------------------------------- */

static void name_place(const struct rp_cache_key *key, char name[32], const char *suffix)
{
    snprintf(name, 32, "%03x.%s", (unsigned)(key->low % RP_CACHE_PLACES), suffix);
}

/* Nobody else may have put it there or changed it. */
static bool is_ours(const struct stat *about)
{
    return about->st_uid == geteuid() && !(about->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_folder(const char *folder)
{
    struct stat about;
    int place = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place >= 0 && (fstat(place, &about) != 0 || !is_ours(&about))) {
        close(place);
        place = -1;
    }
    return place;
}

/* All of a file that is ours and no larger than a place: what was read, or NULL. */
static void *read_place(int folder, const char *name, size_t *size, enum rp_status *status)
{
    struct stat about;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *status = file >= 0 || errno != ENOENT ? RP_DAMAGED : RP_NOT_FOUND;
    if (file < 0)
        return NULL;
    void *bytes = NULL;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && is_ours(&about) &&
        about.st_size >= (off_t)sizeof(struct heading) && about.st_size <= RP_CACHE_PLACE_BYTES)
        bytes = malloc((size_t)about.st_size);
    if (bytes && read(file, bytes, (size_t)about.st_size) != about.st_size) {
        free(bytes);
        bytes = NULL;
    }
    close(file);
    *size = bytes ? (size_t)about.st_size : 0;
    return bytes;
}

/* ---- finding --------------------------------------------------------------------- */

static enum rp_status judge(const void *bytes, size_t size, const struct rp_cache_key *key)
{
    struct heading heading;
    uint64_t version[2], check[2], said[2];
    memcpy(&heading, bytes, sizeof heading);
    memcpy(said, heading.check, sizeof said);
    if (memcmp(heading.magic, magic, sizeof magic) != 0 || heading.size != size - sizeof heading)
        return RP_DAMAGED;
    seal(&heading, (const char *)bytes + sizeof heading, check);
    if (memcmp(said, check, sizeof check) != 0)
        return RP_DAMAGED;
    rp_analyser_version(version);
    bool meant = memcmp(heading.version, version, sizeof version) == 0 &&
                 heading.key.low == key->low && heading.key.high == key->high;
    return meant ? RP_OK : RP_NOT_FOUND;
}

enum rp_status rp_cache_find(const char *folder, const struct rp_cache_key *key,
                             struct rp_proof **out)
{
    char name[32];
    size_t size;
    enum rp_status status;
    int place = open_folder(folder);
    if (place < 0)
        return RP_NOT_FOUND;
    name_place(key, name, "proof");
    char *bytes = read_place(place, name, &size, &status);
    close(place);
    if (!bytes)
        return status;
    status = judge(bytes, size, key);
    if (status == RP_OK)
        status = rp_proof_thaw(bytes + sizeof(struct heading), size - sizeof(struct heading), out);
    free(bytes);
    return status;
}

/* ---- keeping --------------------------------------------------------------------- */

enum { STALE_SECONDS = 60 };

/* One that was killed may have left its draft; younger ones are somebody's at work. */
static int open_draft(int folder, const char *draft)
{
    struct stat about;
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int file = openat(folder, draft, flags, 0600);
    if (file >= 0 || errno != EEXIST)
        return file;
    if (fstatat(folder, draft, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
        time(NULL) - about.st_mtime < STALE_SECONDS || unlinkat(folder, draft, 0) != 0)
        return -1;
    return openat(folder, draft, flags, 0600);
}

/* A job that must not write so much would be killed for it. */
static bool may_write(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

static bool write_draft(int folder, const char *draft, const void *bytes, size_t size)
{
    int file = may_write(size) ? open_draft(folder, draft) : -1;
    if (file < 0)
        return false;
    bool good = write(file, bytes, size) == (ssize_t)size;
    good = close(file) == 0 && good;
    if (!good)
        unlinkat(folder, draft, 0);
    return good;
}

/* And the one above it, where that is missing. */
static void make_folder(const char *folder)
{
    const char *last = strrchr(folder, '/');
    if (mkdir(folder, 0700) == 0 || errno != ENOENT || !last || last == folder)
        return;
    char *above = strndup(folder, (size_t)(last - folder));
    if (above && mkdir(above, 0700) == 0)
        mkdir(folder, 0700);
    free(above);
}

static enum rp_status write_place(const char *folder, const struct rp_cache_key *key,
                                  const void *bytes, size_t size)
{
    char name[32], draft[32];
    make_folder(folder);
    int place = open_folder(folder);
    if (place < 0)
        return RP_IO;
    name_place(key, name, "proof");
    name_place(key, draft, "draft");
    bool good = write_draft(place, draft, bytes, size);
    if (good && renameat(place, draft, place, name) != 0) {
        unlinkat(place, draft, 0);
        good = false;
    }
    close(place);
    return good ? RP_OK : RP_IO;
}

/* The file's bytes, or NULL when the host is out of memory. */
static char *pack(const struct rp_cache_key *key, const struct rp_proof *proof, size_t *size)
{
    struct heading heading = {.key = *key};
    uint64_t check[2];
    void *frozen;
    size_t bytes;
    if (rp_proof_freeze(proof, &frozen, &bytes) != RP_OK)
        return NULL;
    memcpy(heading.magic, magic, sizeof magic);
    rp_analyser_version(heading.version);
    heading.size = bytes;
    seal(&heading, frozen, check);
    memcpy(heading.check, check, sizeof check);
    char *all = malloc(sizeof heading + bytes);
    if (all) {
        memcpy(all, &heading, sizeof heading);
        memcpy(all + sizeof heading, frozen, bytes);
    }
    free(frozen);
    *size = sizeof heading + bytes;
    return all;
}

enum rp_status rp_cache_keep(const char *folder, const struct rp_cache_key *key,
                             const struct rp_proof *proof)
{
    size_t size;
    char *bytes = pack(key, proof, &size);
    if (!bytes)
        return RP_NO_MEMORY;
    enum rp_status status = size > RP_CACHE_PLACE_BYTES ? RP_UNSUPPORTED
                                                        : write_place(folder, key, bytes, size);
    free(bytes);
    return status;
}

/* ---- where ----------------------------------------------------------------------- */

static char *join(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path)
        snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

char *rp_cache_folder(void)
{
    if (getauxval(AT_SECURE))
        return NULL;
    const char *named = secure_getenv("REPRISE_CACHE");
    if (named)
        return *named == '/' ? strdup(named) : NULL;
    const char *caches = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    if (caches && *caches == '/') /* the specification: a relative one is to be ignored */
        return join(caches, "reprise");
    if (!home || *home != '/')
        return NULL;
    return join(home, ".cache/reprise");
}
