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

/* How often any thread was. */
uint64_t rp_shortages(void);

#endif
