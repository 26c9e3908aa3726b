/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/oracle.h"

#include "cuda/soft/api/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_SHIFT 12
#define PAGE_BYTES (UINT64_C(1) << PAGE_SHIFT)
#define WORDS (PAGE_BYTES / 64)

enum side { READS, WRITES, SIDES };

struct page {
    uint64_t number; /* address >> PAGE_SHIFT; 0: empty */
    uint64_t bits[SIDES][WORDS];
};

struct soft_touched {
    pthread_mutex_t lock;
    struct page *pages; /* open addressing; the capacity is a power of two */
    size_t count, capacity;
    bool lost; /* no host memory: the record would be wrong */
};

static struct {
    pthread_mutex_t lock;
    int file; /* -1: there is none */
    bool said;
} oracle = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

/* ---- the set ----------------------------------------------------------------------- */

static struct page *probe(struct page *pages, size_t capacity, uint64_t number)
{
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (capacity - 1);
    while (pages[at].number != 0 && pages[at].number != number)
        at = (at + 1) & (capacity - 1);
    return &pages[at];
}

static bool grow(struct soft_touched *touched)
{
    size_t capacity = touched->capacity ? 2 * touched->capacity : 16;
    struct page *pages = calloc(capacity, sizeof *pages);
    if (pages == NULL)
        return false;
    for (size_t i = 0; i < touched->capacity; i++)
        if (touched->pages[i].number != 0)
            *probe(pages, capacity, touched->pages[i].number) = touched->pages[i];
    free(touched->pages);
    touched->pages = pages;
    touched->capacity = capacity;
    return true;
}

static struct page *page_of(struct soft_touched *touched, uint64_t number)
{
    if (2 * (touched->count + 1) > touched->capacity && !grow(touched))
        return NULL;
    struct page *page = probe(touched->pages, touched->capacity, number);
    if (page->number == 0) {
        page->number = number;
        touched->count++;
    }
    return page;
}

static void mark(uint64_t *bits, unsigned lo, unsigned hi)
{
    while (lo < hi) {
        unsigned word = lo / 64, first = lo % 64;
        unsigned count = hi - lo < 64 - first ? hi - lo : 64 - first;
        uint64_t mask = count == 64 ? UINT64_MAX : ((UINT64_C(1) << count) - 1) << first;
        bits[word] |= mask;
        lo += count;
    }
}

void soft_oracle_note(const struct soft_op *op, uint64_t address, uint64_t bytes, bool is_write)
{
    struct soft_touched *touched = op->touched;
    if (touched == NULL)
        return;
    pthread_mutex_lock(&touched->lock);
    while (bytes > 0) {
        unsigned lo = (unsigned)(address & (PAGE_BYTES - 1));
        uint64_t here = PAGE_BYTES - lo < bytes ? PAGE_BYTES - lo : bytes;
        struct page *page = page_of(touched, address >> PAGE_SHIFT);
        if (page == NULL) {
            touched->lost = true;
            break;
        }
        mark(page->bits[is_write ? WRITES : READS], lo, lo + (unsigned)here);
        address += here;
        bytes -= here;
    }
    pthread_mutex_unlock(&touched->lock);
}

void soft_oracle_access(void *op, uint64_t address, uint64_t bytes, bool is_write)
{
    soft_oracle_note(op, address, bytes, is_write);
}

/* ---- the record -------------------------------------------------------------------- */

struct buffer {
    unsigned char *bytes;
    size_t used, capacity;
    bool failed;
};

static void put_bytes(struct buffer *buffer, const void *bytes, size_t count)
{
    if (buffer->used + count > buffer->capacity) {
        size_t capacity = 2 * (buffer->used + count);
        unsigned char *grown = realloc(buffer->bytes, capacity);
        if (grown == NULL) {
            buffer->failed = true;
            return;
        }
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->used, bytes, count);
    buffer->used += count;
}

static void put(struct buffer *buffer, uint64_t value)
{
    unsigned char bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
    put_bytes(buffer, bytes, count);
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = ((const struct page *)left)->number, b = ((const struct page *)right)->number;
    return a < b ? -1 : a > b;
}

/* Sorts the pages into the front of the table, which is no table afterwards. */
static void sort_pages(struct soft_touched *touched)
{
    size_t kept = 0;
    for (size_t i = 0; i < touched->capacity; i++)
        if (touched->pages[i].number != 0)
            touched->pages[kept++] = touched->pages[i];
    if (kept > 0)
        qsort(touched->pages, kept, sizeof *touched->pages, by_number);
}

/* The first place from `from` on whose bit is `value`, or the end of the page. */
static unsigned find_bit(const uint64_t *bits, unsigned from, bool value)
{
    while (from < PAGE_BYTES) {
        uint64_t word = value ? bits[from / 64] : ~bits[from / 64];
        word >>= from % 64;
        if (word != 0)
            return from + (unsigned)__builtin_ctzll(word);
        from = (from / 64 + 1) * 64;
    }
    return PAGE_BYTES;
}

/* The ranges of one side. Those of neighbouring pages join. */
static void put_ranges(struct buffer *buffer, const struct soft_touched *touched, enum side side)
{
    struct buffer ranges = {NULL, 0, 0, false};
    uint64_t count = 0, written = 0, lo = 0, hi = 0;

    for (size_t i = 0; i < touched->count; i++) {
        const struct page *page = &touched->pages[i];
        uint64_t base = page->number << PAGE_SHIFT;
        const uint64_t *bits = page->bits[side];
        for (unsigned at = find_bit(bits, 0, true); at < PAGE_BYTES;) {
            unsigned end = find_bit(bits, at, false);
            if (hi != lo && base + at == hi) {
                hi = base + end;
            } else {
                if (hi != lo) {
                    put(&ranges, lo - written);
                    put(&ranges, hi - lo);
                    written = hi;
                    count++;
                }
                lo = base + at;
                hi = base + end;
            }
            at = find_bit(bits, end, true);
        }
    }
    if (hi != lo) {
        put(&ranges, lo - written);
        put(&ranges, hi - lo);
        count++;
    }
    put(buffer, count);
    put_bytes(buffer, ranges.bytes != NULL ? ranges.bytes : (const unsigned char *)"", ranges.used);
    buffer->failed |= ranges.failed;
    free(ranges.bytes);
}

static void complain(const char *what)
{
    if (!oracle.said)
        soft_say("oracle: %s; records are missing", what);
    oracle.said = true;
}

static void write_all(const struct buffer *buffer)
{
    for (size_t done = 0; done < buffer->used;) {
        ssize_t got = write(oracle.file, buffer->bytes + done, buffer->used - done);
        if (got < 0 && errno != EINTR) {
            complain(strerror(errno));
            return;
        }
        done += got > 0 ? (size_t)got : 0;
    }
}

static void write_record(const struct soft_op *op, const char *name)
{
    struct buffer body = {NULL, 0, 0, false}, record = {NULL, 0, 0, false};
    size_t length = strlen(name) < 255 ? strlen(name) : 255;

    put(&body, op->seq);
    put(&body, op->stream);
    put(&body, (uint64_t)op->context->device->ordinal);
    put(&body, length);
    put_bytes(&body, name, length);
    put_ranges(&body, op->touched, READS);
    put_ranges(&body, op->touched, WRITES);
    put(&record, body.used);
    put_bytes(&record, body.bytes, body.used);
    pthread_mutex_lock(&oracle.lock);
    if (body.failed || record.failed || op->touched->lost)
        complain("no host memory");
    else
        write_all(&record);
    pthread_mutex_unlock(&oracle.lock);
    free(body.bytes);
    free(record.bytes);
}

/* ---- around an operation ----------------------------------------------------------- */

void soft_oracle_begin(struct soft_op *op)
{
    if (oracle.file < 0)
        return;
    op->touched = calloc(1, sizeof *op->touched);
    if (op->touched == NULL) {
        complain("no host memory");
        return;
    }
    pthread_mutex_init(&op->touched->lock, NULL);
}

void soft_oracle_end(struct soft_op *op, const char *name)
{
    if (op->touched == NULL)
        return;
    sort_pages(op->touched);
    write_record(op, name);
    pthread_mutex_destroy(&op->touched->lock);
    free(op->touched->pages);
    free(op->touched);
    op->touched = NULL;
}

/* "%p" becomes the process's id. */
static bool expand(const char *pattern, char *path, size_t size)
{
    const char *place = strstr(pattern, "%p");
    int length = place == NULL
                     ? snprintf(path, size, "%s", pattern)
                     : snprintf(path, size, "%.*s%d%s", (int)(place - pattern), pattern,
                                (int)getpid(), place + 2);
    return length >= 0 && (size_t)length < size;
}

bool soft_oracle_start(void)
{
    static const char magic[] = "reprise oracle 1\n";
    const char *pattern = getenv("REPRISE_SOFT_ORACLE");
    char path[4096];

    if (pattern == NULL || *pattern == '\0')
        return true;
    if (!expand(pattern, path, sizeof path))
        errno = ENAMETOOLONG;
    else
        oracle.file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (oracle.file >= 0 && write(oracle.file, magic, sizeof magic - 1) == sizeof magic - 1)
        return true;
    soft_say("REPRISE_SOFT_ORACLE=%s: %s", pattern, strerror(errno));
    return false;
}
