/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_shelter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES (RP_SHELTER_SLOTS * RP_SHELTER_SLOT_BYTES)
#define LOWEST_FD 200 /* out of the job's way */

static off_t place_of(unsigned slot)
{
    return (off_t)(slot * RP_SHELTER_SLOT_BYTES);
}

static uint64_t namespace_now(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}

/* ---- the file ------------------------------------------------------------------- */

/* One who may not write large files is killed for trying. */
static bool may_be_large(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= FILE_BYTES);
}

static bool prepare(int fd)
{
    if (ftruncate(fd, (off_t)FILE_BYTES) != 0 ||
        fallocate(fd, 0, 0, sizeof(struct rp_shelter_head)) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return false;
    struct rp_shelter_head *head =
        mmap(NULL, sizeof(*head), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED)
        return false;
    head->namespace_ = namespace_now();
    head->magic = RP_SHELTER_MAGIC;
    munmap(head, sizeof(*head));
    return true;
}

int rp_trace_shelter_create(char *path, size_t size)
{
    int fd = may_be_large() ? memfd_create("reprise", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;

    if (fd >= 0 && !prepare(fd)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        snprintf(path, size, "/proc/%d/fd/%d", (int)getpid(), fd);
    return fd;
}

/* ---- in the job ----------------------------------------------------------------- */

/* A job may close every descriptor that it did not open, and open others under their numbers. */
static bool is_ours(const struct rp_trace_shelter *shelter)
{
    struct stat info;
    return fstat(shelter->fd, &info) == 0 && info.st_ino == shelter->inode &&
           S_ISREG(info.st_mode) && (uint64_t)info.st_size == FILE_BYTES;
}

static int open_high(const char *path)
{
    int low = open(path, O_RDWR | O_CLOEXEC), high;

    if (low < 0)
        return -1;
    high = fcntl(low, F_DUPFD_CLOEXEC, LOWEST_FD);
    if (high < 0)
        return low;
    close(low);
    return high;
}

static bool map_head(struct rp_trace_shelter *shelter)
{
    struct stat info;

    if (fstat(shelter->fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        (uint64_t)info.st_size != FILE_BYTES)
        return false;
    int seals = fcntl(shelter->fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return false;
    shelter->inode = info.st_ino;
    void *head = mmap(NULL, sizeof(*shelter->head), PROT_READ | PROT_WRITE, MAP_SHARED,
                      shelter->fd, 0);
    if (head == MAP_FAILED)
        return false;
    shelter->head = head;
    return shelter->head->magic == RP_SHELTER_MAGIC &&
           shelter->head->namespace_ == namespace_now();
}

struct rp_trace_shelter *rp_shelter_open(const char *path)
{
    struct rp_trace_shelter *shelter = calloc(1, sizeof(*shelter));

    if (shelter == NULL)
        return NULL;
    shelter->fd = open_high(path);
    if (shelter->fd >= 0 && map_head(shelter))
        shelter->trace = rp_shelter_take(shelter, RP_SHELTER_TRACE, sizeof(*shelter->trace),
                                         &shelter->trace_slot);
    if (shelter->trace != NULL)
        return shelter;
    rp_shelter_close(shelter, false);
    return NULL;
}

void rp_shelter_close(struct rp_trace_shelter *shelter, bool forked)
{
    if (shelter == NULL)
        return;
    if (shelter->trace != NULL)
        rp_shelter_give(shelter, shelter->trace_slot, shelter->trace, sizeof(*shelter->trace),
                        forked);
    if (shelter->fd >= 0 && (shelter->head == NULL || is_ours(shelter)))
        close(shelter->fd);
    if (shelter->head != NULL)
        munmap(shelter->head, sizeof(*shelter->head));
    free(shelter);
}

/* ---- slots ---------------------------------------------------------------------- */

/* 0: none is free. */
static unsigned claim(struct rp_shelter_head *head, enum rp_shelter_kind kind)
{
    unsigned hint = atomic_load(&head->hint), mine = 4 * (unsigned)getpid() + (unsigned)kind;

    for (unsigned i = 1; i < RP_SHELTER_SLOTS; i++) {
        unsigned slot = 1 + (hint + i) % (RP_SHELTER_SLOTS - 1), nobody = 0;
        if (atomic_compare_exchange_strong(&head->owner[slot], &nobody, mine)) {
            atomic_store(&head->hint, slot - 1);
            return slot;
        }
    }
    return 0;
}

static void *map_slot(struct rp_trace_shelter *shelter, unsigned slot, size_t bytes)
{
    if (fallocate(shelter->fd, 0, place_of(slot), (off_t)bytes) != 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, shelter->fd,
                        place_of(slot));
    return memory != MAP_FAILED ? memory : NULL;
}

static void empty_slot(struct rp_trace_shelter *shelter, unsigned slot, size_t bytes)
{
    if (is_ours(shelter))
        fallocate(shelter->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place_of(slot),
                  (off_t)bytes);
}

void *rp_shelter_take(struct rp_trace_shelter *shelter, enum rp_shelter_kind kind, size_t bytes,
                      unsigned *slot)
{
    if (bytes > RP_SHELTER_SLOT_BYTES || !is_ours(shelter))
        return NULL;
    *slot = claim(shelter->head, kind);
    void *memory = *slot > 0 ? map_slot(shelter, *slot, bytes) : NULL;
    if (memory == NULL && *slot > 0) {
        empty_slot(shelter, *slot, bytes);
        atomic_store(&shelter->head->owner[*slot], 0);
    }
    return memory;
}

void rp_shelter_give(struct rp_trace_shelter *shelter, unsigned slot, void *memory, size_t bytes,
                     bool forked)
{
    munmap(memory, bytes);
    if (forked)
        return;
    empty_slot(shelter, slot, bytes);
    atomic_store(&shelter->head->owner[slot], 0);
}

void rp_shelter_progress(struct rp_shelter_trace *trace, const struct rp_trace_file *file,
                         const struct rp_trace_buffer *buffer, uint64_t missing)
{
    unsigned next = !atomic_load_explicit(&trace->which, memory_order_relaxed);
    uint64_t latest_ns = trace->progress[!next].latest_ns;

    if (buffer != NULL && buffer->last_ns > latest_ns)
        latest_ns = buffer->last_ns;
    trace->progress[next] = (struct rp_shelter_progress){
        .device = file->device,
        .inode = file->inode,
        .offset = file->offset,
        .events = file->events,
        .written = buffer != NULL ? atomic_load(&buffer->order) : 0,
        .missing = file->has_last_word ? 0 : missing,
        .is_full = file->is_full,
        .latest_ns = latest_ns};
    atomic_store_explicit(&trace->which, next, memory_order_release);
}
