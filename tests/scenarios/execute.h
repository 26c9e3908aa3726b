/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a scenario program on the driver. At each `check` it prints one line: the program's
 * name, the number of the check, and name=digest for each buffer that then holds something
 * that both a retaining and a replaying run define. */
#ifndef RP_TESTS_SCENARIOS_EXECUTE_H
#define RP_TESTS_SCENARIOS_EXECUTE_H

#include "tests/scenarios/program.h"

/* After places_open. */
void execute(const struct program *program, bool replaying);

#endif
