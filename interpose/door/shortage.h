/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that the layer did not get. The linker routes all allocations inside the preloaded
 * object, those of the libraries in it too, past shortage.c (shortage_args, interpose/meson.build):
 * whoever asked does what it can, and for what it leaves undone or untold there is a note here. */
#ifndef RP_INTERPOSE_SHORTAGE_H
#define RP_INTERPOSE_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* This thread was refused memory, and nobody has told of it (run/report.h). */
extern _Thread_local bool rp_shortage_met __attribute__((visibility("hidden")));

/* Around what can be done without, and whose absence is told by whoever does it: for memory that is
 * refused in between nothing is owed. The former returns what was owed before, which the latter
 * takes; that one is true where memory was refused. */
static inline bool rp_shortage_set_aside(void)
{
    bool owed = rp_shortage_met;
    rp_shortage_met = false;
    return owed;
}

static inline bool rp_shortage_take_back(bool owed)
{
    bool refused = rp_shortage_met;
    rp_shortage_met = owed;
    return refused;
}

/* How often any thread was. */
uint64_t rp_shortages(void);

#endif
