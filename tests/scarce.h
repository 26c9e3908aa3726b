/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that runs out when a unit test says so (interpose/door/scarce.h has the way). */
#ifndef RP_TESTS_SCARCE_H
#define RP_TESTS_SCARCE_H

#include <limits.h>

/* How many allocations may still succeed, of all threads together; INT_MAX: all. */
void scarce_allow(int allocations);

#endif
