/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of the lane loops of one build (and of those that are built once). */
#ifndef RP_SOFT_SIMT_TABLE_H
#define RP_SOFT_SIMT_TABLE_H

#include "cuda/soft/simt/lanes.h"

#define OP1(id, ...) simt_lanes_fn ISA(id);
#define OP2(id, ...) simt_lanes_fn ISA(id);
#define OP3(id, ...) simt_lanes_fn ISA(id);
#define OP4(id, ...) simt_lanes_fn ISA(id);
#define COLD1(id, ...) simt_lanes_fn simt_scalar_##id;
#define COLD2(id, ...) simt_lanes_fn simt_scalar_##id;
#define COLD3(id, ...) simt_lanes_fn simt_scalar_##id;
#define SELECT(id, T) simt_lanes_fn ISA(id);
#define COMPARE(id, ...) simt_lanes_fn ISA(id);
#define PREDICATE(id, ...) simt_lanes_fn ISA(id);
#define CUSTOM(id, control) simt_lanes_fn ISA(id);
#define SCALAR(id, control) simt_lanes_fn simt_scalar_##id;
#define KEY(text, id)
#include "cuda/soft/simt/all.def"

#endif
