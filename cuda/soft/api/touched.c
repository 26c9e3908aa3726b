/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/touched.h"

#include <stdlib.h>

#define SECTOR UINT64_C(32) /* what a GPU's caches move at least */

struct soft_touched {
    pthread_mutex_t lock;
    struct soft_page *pages; /* open addressing until sorted; the capacity is a power of two */
    size_t count, capacity;
    struct soft_page *last; /* the one noted last: the next is often the same */
    uint64_t moved;
    bool sorted, lost;
};

struct soft_touched *soft_touched_create(void)
{
    struct soft_touched *touched = calloc(1, sizeof *touched);
    if (touched != NULL)
        pthread_mutex_init(&touched->lock, NULL);
    return touched;
}

void soft_touched_destroy(struct soft_touched *touched)
{
    pthread_mutex_destroy(&touched->lock);
    free(touched->pages);
    free(touched);
}

/* ---- the table --------------------------------------------------------------------- */

static struct soft_page *probe(struct soft_page *pages, size_t capacity, uint64_t number)
{
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (capacity - 1);
    while (pages[at].number != 0 && pages[at].number != number)
        at = (at + 1) & (capacity - 1);
    return &pages[at];
}

static bool grow(struct soft_touched *touched)
{
    size_t capacity = touched->capacity ? 2 * touched->capacity : 16;
    struct soft_page *pages = calloc(capacity, sizeof *pages);
    if (pages == NULL)
        return false;
    for (size_t i = 0; i < touched->capacity; i++)
        if (touched->pages[i].number != 0)
            *probe(pages, capacity, touched->pages[i].number) = touched->pages[i];
    free(touched->pages);
    touched->pages = pages;
    touched->capacity = capacity;
    touched->last = NULL;
    return true;
}

static struct soft_page *page_of(struct soft_touched *touched, uint64_t number)
{
    if (touched->last != NULL && touched->last->number == number)
        return touched->last;
    if (2 * (touched->count + 1) > touched->capacity && !grow(touched))
        return NULL;
    struct soft_page *page = probe(touched->pages, touched->capacity, number);
    if (page->number == 0) {
        page->number = number;
        touched->count++;
    }
    touched->last = page;
    return page;
}

/* ---- noting ------------------------------------------------------------------------ */

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

static void note(struct soft_touched *touched, uint64_t address, uint64_t bytes, bool is_write)
{
    if (bytes > 0)
        touched->moved +=
            (address + bytes + SECTOR - 1) / SECTOR * SECTOR - address / SECTOR * SECTOR;
    while (bytes > 0) {
        unsigned lo = (unsigned)(address & (SOFT_PAGE_BYTES - 1));
        uint64_t here = SOFT_PAGE_BYTES - lo < bytes ? SOFT_PAGE_BYTES - lo : bytes;
        struct soft_page *page = page_of(touched, address >> SOFT_PAGE_SHIFT);
        if (page == NULL) {
            touched->lost = true;
            return;
        }
        mark(page->bits[is_write ? SOFT_WRITES : SOFT_READS], lo, lo + (unsigned)here);
        address += here;
        bytes -= here;
    }
}

void soft_touched_note(const struct soft_op *op, uint64_t address, uint64_t bytes, bool is_write)
{
    struct soft_touched *touched = op->touched;
    if (touched == NULL)
        return;
    pthread_mutex_lock(&touched->lock);
    note(touched, address, bytes, is_write);
    pthread_mutex_unlock(&touched->lock);
}

void soft_touched_by_kernel(void *op, const struct simt_touch *touches, size_t count)
{
    struct soft_touched *touched = ((struct soft_op *)op)->touched;
    pthread_mutex_lock(&touched->lock);
    for (size_t i = 0; i < count; i++)
        note(touched, touches[i].address, touches[i].bytes, touches[i].is_write);
    pthread_mutex_unlock(&touched->lock);
}

/* ---- afterwards -------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    uint64_t a = ((const struct soft_page *)left)->number;
    uint64_t b = ((const struct soft_page *)right)->number;
    return a < b ? -1 : a > b;
}

/* Sorts the pages into the front of the table, which is no table afterwards. */
const struct soft_page *soft_touched_pages(struct soft_touched *touched, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; !touched->sorted && i < touched->capacity; i++)
        if (touched->pages[i].number != 0)
            touched->pages[kept++] = touched->pages[i];
    if (!touched->sorted && kept > 0)
        qsort(touched->pages, kept, sizeof *touched->pages, by_number);
    touched->sorted = true;
    *count = touched->count;
    return touched->pages;
}

bool soft_touched_is_lost(const struct soft_touched *touched)
{
    return touched->lost;
}

uint64_t soft_page_sectors(const struct soft_page *page)
{
    uint64_t bytes = 0;
    for (int side = 0; side < SOFT_SIDES; side++)
        for (unsigned word = 0; word < SOFT_PAGE_WORDS; word++) {
            uint64_t bits = page->bits[side][word]; /* two sectors */
            bytes += SECTOR * (((uint32_t)bits != 0) + (bits >> 32 != 0));
        }
    return bytes;
}

uint64_t soft_touched_moved(const struct soft_touched *touched)
{
    return touched->moved;
}

unsigned soft_page_find(const uint64_t *bits, unsigned from, bool value)
{
    while (from < SOFT_PAGE_BYTES) {
        uint64_t word = value ? bits[from / 64] : ~bits[from / 64];
        word >>= from % 64;
        if (word != 0)
            return from + (unsigned)__builtin_ctzll(word);
        from = (from / 64 + 1) * 64;
    }
    return SOFT_PAGE_BYTES;
}
