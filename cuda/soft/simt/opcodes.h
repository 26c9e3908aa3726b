/* SPDX-License-Identifier: Apache-2.0 */
/* The lane loops by number: made from the rows of the .def files, like everything else that
 * has to agree with them (the loops, the tables of their addresses, the compiler's keys). */
#ifndef RP_SOFT_SIMT_OPCODES_H
#define RP_SOFT_SIMT_OPCODES_H

#include "cuda/soft/simt/code.h"

enum simt_opcode {
    SIMT_OP_BEFORE_FIRST = SIMT_CONTROL_COUNT - 1,
#define OP1(id, ...) SIMT_OP_##id,
#define OP2(id, ...) SIMT_OP_##id,
#define OP3(id, ...) SIMT_OP_##id,
#define OP4(id, ...) SIMT_OP_##id,
#define COLD1(id, ...) SIMT_OP_##id,
#define COLD2(id, ...) SIMT_OP_##id,
#define COLD3(id, ...) SIMT_OP_##id,
#define SELECT(id, T) SIMT_OP_##id,
#define COMPARE(id, ...) SIMT_OP_##id,
#define PREDICATE(id, ...) SIMT_OP_##id,
#define CUSTOM(id, control) SIMT_OP_##id,
#define SCALAR(id, control) SIMT_OP_##id,
#define KEY(text, id)
#include "cuda/soft/simt/all.def"
    SIMT_OP_END
};

/* Widths in bytes of a lane loop's operands as the compiler has to supply them; 0 for none,
 * 1 for a predicate mask. */
struct simt_signature {
    const char *id;
    uint8_t control; /* enum simt_control */
    uint8_t width[5]; /* d, a, b, c, e */
};
extern const struct simt_signature simt_signatures[]; /* by opcode - SIMT_CONTROL_COUNT */

/* The lane loop for a PTX spelling ("mul.wide.s32"), or -1. */
int simt_opcode_find(const char *spelling);

#endif
