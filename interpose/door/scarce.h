/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that runs out on purpose: in a test build one allocation inside the preloaded object
 * (shortage.h) can be refused.
 *
 *     REPRISE_TEST_SCARCE=NTH          the NTH of them (from 1) is refused, no other one
 *     REPRISE_TEST_SCARCE=NTH+         ... and all that come after it
 *     REPRISE_TEST_SCARCE=NTH@LO-HI    the NTH of those that are asked for, directly or not, from
 *                                      these places in the object (hexadecimal), no other one
 *     REPRISE_TEST_SCARCE_LOG=FILE     each is noted: a line of the places in the object that
 *                                      asked for it, innermost first, in their order
 *
 * Unit tests that are linked with shortage.c have an answer of their own (tests/scarce.h). In other
 * builds all of this is nothing, and the compiler removes it. */
#ifndef RP_INTERPOSE_SCARCE_H
#define RP_INTERPOSE_SCARCE_H

#include <stdbool.h>

#ifdef RP_TEST_SWITCHES
/* True when the allocation that is asked for is to answer that there is no memory. */
bool rp_scarce_refuses(void);
#else
static inline bool rp_scarce_refuses(void)
{
    return false;
}
#endif

#endif
