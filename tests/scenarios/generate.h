/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: a seed becomes one scenario program, see program.h for its words.
 *
 * A program is named after its seed and begins with the words that its judge wants: the hazard
 * kind, `control` when a bare replay is right (`idempotent`: though it writes state again),
 * `report` when no layer can put it right,
 * `declared` when discovery cannot be asked for (its writes are not proved), `loose` when which
 * bytes it touches is in the data, `order` when streams run beside each other, `graph`, `threads`
 * and `contexts` for what there is of them, and `needs=FEATURE` for what a layer must know beyond
 * the plain case. With `report` come `says=HAZARD[,HAZARD]`, what a guard has to say of it,
 * `race` where the job has a race of its own, or `noise` where its kernels are not reproducible. */
#ifndef RP_TESTS_SCENARIOS_GENERATE_H
#define RP_TESTS_SCENARIOS_GENERATE_H

#include <stdint.h>
#include <stdio.h>

/* `kind` names a hazard kind, or is NULL: then the seed decides. -1 when there is no such kind. */
int generate(FILE *out, uint64_t seed, const char *kind);

#endif
