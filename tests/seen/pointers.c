/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose pointers lead to other memory than the one that they point into. */
#include "job.h"

#include <stdint.h>

enum { ALIGNED = 512 }; /* the least that allocations are apart: what is as long has a neighbour */

static CUdeviceptr pointer, place;

static void write_back(void)
{
    LAUNCH("enqueue_back", &pointer, &x, &place, &n);
}

static void write_near_line(void)
{
    LAUNCH("enqueue_near_line", &pointer, &x, &place, &n);
}

static void write_at(int where)
{
    place = allocate(sizeof where);
    CU(cuMemcpyHtoD(place, &where, sizeof where));
}

/* A queue with neighbours before and behind it. */
static size_t place_queue(void)
{
    size_t bytes = (WORDS(ROWS * n) + ALIGNED - 1) / ALIGNED * ALIGNED;
    allocate(ALIGNED);
    queue = allocate(bytes);
    allocate(ALIGNED);
    print_too("placed", queue, bytes);
    return bytes;
}

/* One past its last byte, where nothing else begins; a kernel goes back from there. */
static void from_the_end(void)
{
    pointer = queue + WORDS(ROWS * n);
    write_at(7 * n);
    run_steps(queue_forward, write_back);
}

static void from_where_a_neighbour_begins(void)
{
    size_t bytes = place_queue();
    pointer = queue + bytes;
    write_at(7 * n);
    run_steps(queue_forward, write_back);
}

/* The kernel rounds a pointer down, and begins at most 64 words before that: in the neighbour. */
static void from_a_rounded_pointer(void)
{
    place_queue();
    pointer = queue;
    write_at(70);
    run_steps(queue_forward, write_near_line);
}

const struct scenario pointer_scenarios[] = {
    {"from-the-end", from_the_end},
    {"from-where-a-neighbour-begins", from_where_a_neighbour_begins},
    {"from-a-rounded-pointer", from_a_rounded_pointer},
    {NULL, NULL},
};
