/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of the operations for which lanes wait for each other. */
#ifndef RP_SOFT_SIMT_COLLECTIVE_H
#define RP_SOFT_SIMT_COLLECTIVE_H

#include "cuda/soft/simt/machine.h"

/* BARRIER */
#define SIMT_BAR_COUNTED 1
#define SIMT_BAR_ARRIVE 2
#define SIMT_BAR_POPC 4
#define SIMT_BAR_AND 8
#define SIMT_BAR_OR 16

/* COLLECTIVE. The source is row a (a predicate with SIMT_LANE_PREDICATE, two words a lane
 * with SIMT_LANE_WIDE), the result d, its predicate e, the member mask row f. */
#define SIMT_LANE_PREDICATE 1  /* a is a predicate, negated by imm */
#define SIMT_LANE_WIDE 2
#define SIMT_LANE_WITH_PREDICATE 4 /* e is written */
#define SIMT_LANE_UNNAMED 8        /* no member mask: whoever is there */
#define SIMT_LANE_ALIGNED 16       /* all live lanes at this very place; they run as one */

/* SCALAR loops of carry chains: the predicate e is
 * the flag that they take, give on, or both. */
#define SIMT_CARRY_IN 1
#define SIMT_CARRY_OUT 2

/* SCALAR loops that take an address: its register has 32 bits. */
#define SIMT_ADDRESS_32 1
/* copy_async */
#define SIMT_COPY_TO_32 2
#define SIMT_COPY_SIZED 4
#define SIMT_COPY_UNLESS 8 /* f is a predicate: where it holds nothing is read */
/* mbarrier */
#define SIMT_MBAR_RESULT 2
#define SIMT_MBAR_DROP 4
#define SIMT_MBAR_EXPECT 8
#define SIMT_MBAR_ONLY_EXPECT 16
#define SIMT_MBAR_PARITY 32

#endif
