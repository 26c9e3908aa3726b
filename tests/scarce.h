/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that runs out when a test says so. The program is linked with scarce_args
 * (tests/meson.build), by which the linker routes its allocations through scarce.c. */
#ifndef RP_TESTS_SCARCE_H
#define RP_TESTS_SCARCE_H

#include <limits.h>

/* How many allocations may still succeed, of all threads together; INT_MAX: all. */
void scarce_allow(int allocations);

#endif
