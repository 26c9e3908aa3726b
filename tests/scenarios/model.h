/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does to versions, byte by byte, told naively: an oracle for reports and costs.
 *
 * It knows nothing of the layer: every byte carries the number of the write that made it, every
 * forward remembers the numbers of the bytes that it read before writing them. From that follow
 * the reads of a bare replay that see another version, and the least bytes that anybody would
 * have to keep for each forward on its own: those that are overwritten before its last replay.
 * Only programs whose verbs are all exact can be told so. */
#ifndef RP_TESTS_SCENARIOS_MODEL_H
#define RP_TESTS_SCENARIOS_MODEL_H

#include "tests/scenarios/program.h"

/* Prints one line of JSON: name, exact, least, and stale: the first stretch that each pair of
 * writer and reader of one allocation size meets. `unused` keeps the shape of execute(). */
void model_tell(const struct program *program, bool unused);

#endif
