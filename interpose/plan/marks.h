/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: what those that divide a step take themselves, and the parts without it.
 *
 * Where the host is the bottleneck a mark is one call more, and where the device is, it is next to
 * nothing. What all of them took together is what a step with marks takes longer than a plain one.
 * Each is taken to have cost the same, but of no interval more than half. Where there is no plain
 * step, a mark is taken for what the last one of its step took. */
#ifndef RP_INTERPOSE_MARKS_H
#define RP_INTERPOSE_MARKS_H

#include "interpose/plan/step_cost.h"

/* Sets the times of the parts of each step that has marks, by the plain ones of the same chain. */
void rp_marks_take_off(struct rp_step_cost *steps, size_t count);

#endif
