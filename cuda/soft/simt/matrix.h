/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices that a warp holds together: mma, wmma, ldmatrix, stmatrix and movmatrix.
 *
 * A fragment is a matrix spread over the registers of all 32 lanes. With g = lane / 4,
 * t = lane % 4 and E elements in a register, the PTX ISA (9.0, section 9.7.14) draws all
 * shapes of mma but Volta's m8n8k4 by the same three rules:
 *
 *   A  row g, + 8 in every other register where there are 16 rows; columns t E to t E + E - 1,
 *      + 4 E for each further register along k
 *   B  column g; rows t E to t E + E - 1, + 4 E for each further register along k
 *   C  element i: row g, + 8 for i = 2, 3; column 2 t + i % 2
 *
 * wmma leaves the layout open. Here it is the same one, in blocks of 16 x 8 side by side and
 * then below each other, as on real devices; where a fragment has more registers than its
 * matrix needs (f16), they repeat it.
 *
 * Arithmetic. Products are exact and are summed in double precision in the order of k,
 * beginning with C; the sum is rounded once, to nearest, to the type of D. Sums of integers
 * are exact and then wrap, or clamp with .satfinite. f64 is a chain of fma in the order of k.
 * (NVIDIA leaves order and precision of the f32 sum open.) tf32 operands lose their lower 13
 * bits. A NaN result is the canonical one. */
#ifndef RP_SOFT_SIMT_MATRIX_H
#define RP_SOFT_SIMT_MATRIX_H

#include "cuda/soft/simt/code.h"

#define SIMT_FRAGMENT_REGISTERS 8

enum simt_element {
    SIMT_F16, SIMT_BF16, SIMT_TF32, SIMT_F32, SIMT_F64, SIMT_E4M3, SIMT_E5M2, SIMT_S8, SIMT_U8,
    SIMT_S4, SIMT_U4, SIMT_S32, SIMT_ELEMENTS
};
uint32_t simt_element_bits(enum simt_element element);

enum simt_part { SIMT_PART_A, SIMT_PART_B, SIMT_PART_C };

struct simt_fragment {
    enum simt_part part;
    enum simt_element element;
    uint32_t count;                         /* of registers */
    uint32_t rows[SIMT_FRAGMENT_REGISTERS]; /* in the frame */
};

/* What an operation on matrices needs; fields that it has no use for are 0. */
struct simt_matrix {
    uint32_t m, n, k;
    struct simt_fragment d, a, b, c; /* in loads and stores `d` alone */
    bool saturates;
    bool column;           /* memory holds columns one after the other; ldmatrix: transpose */
    bool narrow;           /* the address has 32 bits */
    uint32_t address;      /* row */
    uint32_t stride;       /* row, in elements; 0: dense */
    int64_t offset;        /* of the address */
};

/* How many registers a fragment needs, without repetition. */
uint32_t simt_fragment_registers(const struct simt_matrix *matrix, enum simt_part part,
                                 enum simt_element element);

#endif
