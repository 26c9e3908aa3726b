/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/simt/matrix.h"

#include "cuda/soft/simt/bits.h"
#include "cuda/soft/simt/convert.h"
#include "cuda/soft/simt/scalar.h"

#include <string.h>

#define MAX_CELLS 1024 /* of the largest matrix, 16 x 64 */

uint32_t simt_element_bits(enum simt_element element)
{
    switch (element) {
    case SIMT_S4:
    case SIMT_U4: return 4;
    case SIMT_E4M3:
    case SIMT_E5M2:
    case SIMT_S8:
    case SIMT_U8: return 8;
    case SIMT_F16:
    case SIMT_BF16: return 16;
    case SIMT_F64: return 64;
    case SIMT_TF32:
    case SIMT_F32:
    case SIMT_S32:
    case SIMT_ELEMENTS: break;
    }
    return 32;
}

static uint32_t height(const struct simt_matrix *matrix, enum simt_part part)
{
    return part == SIMT_PART_B ? matrix->k : matrix->m;
}

static uint32_t width(const struct simt_matrix *matrix, enum simt_part part)
{
    return part == SIMT_PART_A ? matrix->k : matrix->n;
}

static uint32_t elements_of_register(enum simt_element element)
{
    return element == SIMT_F64 ? 1 : 32 / simt_element_bits(element);
}

uint32_t simt_fragment_registers(const struct simt_matrix *matrix, enum simt_part part,
                                 enum simt_element element)
{
    const uint32_t cells = height(matrix, part) * width(matrix, part);
    return cells / (SIMT_LANES * elements_of_register(element));
}

/* ---- layout ------------------------------------------------------------------- */

/* The cell, row after row, that element `piece` of a lane's register `reg` holds. */
static uint32_t cell_of(const struct simt_matrix *matrix, const struct simt_fragment *fragment,
                        uint32_t lane, uint32_t reg, uint32_t piece)
{
    const uint32_t g = lane / 4, t = lane % 4, each = elements_of_register(fragment->element);
    const bool tall = matrix->m >= 16;
    reg %= simt_fragment_registers(matrix, fragment->part, fragment->element);
    if (fragment->part == SIMT_PART_C) {
        const uint32_t i = reg * each + piece, block = i / (tall ? 4 : 2);
        const uint32_t across = matrix->n / 8;
        const uint32_t row = block / across * 16 + (tall ? (i & 2) * 4 : 0) + g;
        return row * matrix->n + block % across * 8 + 2 * t + i % 2;
    }
    const uint32_t deep = matrix->k / (4 * each), half = fragment->part == SIMT_PART_A && tall;
    const uint32_t step = (reg >> half) % deep, block = (reg >> half) / deep;
    const uint32_t along = step * 4 * each + t * each + piece;
    if (fragment->part == SIMT_PART_B)
        return along * matrix->n + block * 8 + g;
    return (block * 16 + (half ? reg % 2 * 8 : 0) + g) * matrix->k + along;
}

/* ---- elements ----------------------------------------------------------------- */

static double decode(enum simt_element element, uint64_t bits)
{
    switch (element) {
    case SIMT_F16: return f16_to_f32(bits & 0xffff);
    case SIMT_BF16: return bf16_to_f32(bits & 0xffff);
    case SIMT_TF32: return real32((uint32_t)bits & ~0x1fffu);
    case SIMT_F32: return real32((uint32_t)bits);
    case SIMT_F64: return real64(bits);
    case SIMT_E4M3: return e4m3_to_f32(bits & 0xff);
    case SIMT_E5M2: return e5m2_to_f32(bits & 0xff);
    case SIMT_S8: return (int8_t)bits;
    case SIMT_U8: return (uint8_t)bits;
    case SIMT_S4: return (int8_t)(bits << 4) >> 4;
    case SIMT_U4: return bits & 15;
    case SIMT_S32: return (int32_t)bits;
    case SIMT_ELEMENTS: break;
    }
    return 0.0;
}

static uint64_t encode(const struct simt_matrix *matrix, double x)
{
    switch ((int)matrix->d.element) {
    case SIMT_F16: {
        const u16 half = f16_rn(odd32(x));
        return matrix->saturates ? f16_satfinite(half) : half;
    }
    case SIMT_F32: return bits32(canon((float)x));
    case SIMT_F64: return bits64(x != x ? real64(UINT64_C(0xfff8000000000000)) : x);
    default: { /* s32: the double holds the exact sum */
        const int64_t sum = (int64_t)x;
        return (uint32_t)(matrix->saturates ? saturate_s32(sum) : sum);
    }
    }
}

static uint64_t register_value(const char *rows, const struct simt_fragment *fragment,
                               uint32_t lane, uint32_t reg)
{
    const uint32_t at = fragment->rows[reg];
    return fragment->element == SIMT_F64 ? const_row64(rows, at)[lane]
                                         : const_row32(rows, at)[lane];
}

static void gather(const struct simt_matrix *matrix, const struct simt_fragment *fragment,
                   const char *rows, double *cells)
{
    const uint32_t bits = simt_element_bits(fragment->element);
    for (uint32_t reg = 0; reg < fragment->count; reg++) {
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) {
            uint64_t value = register_value(rows, fragment, lane, reg);
            for (uint32_t piece = 0; piece < elements_of_register(fragment->element); piece++) {
                cells[cell_of(matrix, fragment, lane, reg, piece)] =
                    decode(fragment->element, value);
                value >>= bits & 63;
            }
        }
    }
}

static void scatter(const struct simt_matrix *matrix, char *rows, uint32_t mask,
                    const double *cells)
{
    const struct simt_fragment *d = &matrix->d;
    const uint32_t each = elements_of_register(d->element), bits = simt_element_bits(d->element);
    for (uint32_t reg = 0; reg < d->count; reg++) {
        EACH(mask, lane)
        {
            uint64_t value = 0;
            for (uint32_t piece = 0; piece < each; piece++)
                value |= encode(matrix, cells[cell_of(matrix, d, lane, reg, piece)])
                         << (piece * bits & 63);
            if (d->element == SIMT_F64)
                row64(rows, d->rows[reg])[lane] = value;
            else
                row32(rows, d->rows[reg])[lane] = (uint32_t)value;
        }
    }
}

/* ---- d = a b + c -------------------------------------------------------------- */

/* All cells were gathered: a fragment has as many registers as hold them (see
 * simt_fragment_registers), which the analyzer does not follow. */
static void multiply(const struct simt_matrix *matrix, const double *a, const double *b, double *c)
{
    const uint32_t m = matrix->m, n = matrix->n, k = matrix->k;
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t l = 0; l < k; l++) {
            const double x = a[i * k + l]; /* NOLINT(clang-analyzer-core.uninitialized.Assign) */
            for (uint32_t j = 0; j < n; j++)
                c[i * n + j] += x * b[l * n + j];
        }
    }
}

static void multiply_fused(const struct simt_matrix *matrix, const double *a, const double *b,
                           double *c)
{
    const uint32_t m = matrix->m, n = matrix->n, k = matrix->k;
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = 0; j < n; j++) {
            double sum = c[i * n + j]; /* NOLINT(clang-analyzer-core.uninitialized.Assign) */
            for (uint32_t l = 0; l < k; l++)
                /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
                sum = fma(a[i * k + l], b[l * n + j], sum);
            c[i * n + j] = sum;
        }
    }
}

SCALAR_LOOP(mma)
{
    const struct simt_matrix *matrix = op->data;
    double a[MAX_CELLS], b[MAX_CELLS], c[MAX_CELLS];
    (void)warp;
    gather(matrix, &matrix->a, rows, a);
    gather(matrix, &matrix->b, rows, b);
    gather(matrix, &matrix->c, rows, c);
    (matrix->d.element == SIMT_F64 ? multiply_fused : multiply)(matrix, a, b, c);
    scatter(matrix, rows, mask, c);
}

/* ---- memory ------------------------------------------------------------------- */

static uint64_t address_of(const struct simt_matrix *matrix, const char *rows, uint32_t lane)
{
    if (matrix->narrow)
        return (uint32_t)(const_row32(rows, matrix->address)[lane] + (uint32_t)matrix->offset);
    return const_row64(rows, matrix->address)[lane] + (uint64_t)matrix->offset;
}

/* Checks one access a lane; all of them, before the first byte moves. */
static bool check(struct simt_warp *warp, const struct simt_op *op, uint32_t mask,
                  const uint64_t *address, uint32_t bytes, bool is_write)
{
    EACH(mask, i)
    {
        if (!simt_memory_check(warp, op, (int)i, address[i], bytes, is_write))
            return false;
    }
    if (warp->observed)
        simt_memory_observe(warp, mask, address, bytes, is_write);
    return true;
}

/* Where each lane's element `piece` of register `reg` lies in the memory of a wmma.load or
 * wmma.store. */
static void place(const struct simt_matrix *matrix, const char *rows, uint32_t mask, uint32_t reg,
                  uint32_t piece, uint64_t *address)
{
    const struct simt_fragment *d = &matrix->d;
    const uint32_t across = width(matrix, d->part), bytes = simt_element_bits(d->element) / 8;
    EACH(mask, i)
    {
        const uint32_t cell = cell_of(matrix, d, i, reg, piece);
        const uint32_t row = cell / across, column = cell % across;
        const uint64_t dense = matrix->column ? height(matrix, d->part) : across;
        const uint64_t stride = matrix->stride ? const_row32(rows, matrix->stride)[i] : dense;
        address[i] = address_of(matrix, rows, i) +
                     bytes * (matrix->column ? column * stride + row : row * stride + column);
    }
}

static void load_piece(const struct simt_fragment *d, char *rows, uint32_t mask, uint32_t reg,
                       uint32_t piece, const uint64_t *address)
{
    const uint32_t bytes = simt_element_bits(d->element) / 8;
    const uint32_t wide = d->element == SIMT_F64 ? 8 : 4;
    EACH(mask, i)
    memcpy(rows + d->rows[reg] + i * wide + piece * bytes, (const void *)(uintptr_t)address[i],
           bytes);
}

static void store_piece(const struct simt_fragment *d, const char *rows, uint32_t mask,
                        uint32_t reg, uint32_t piece, const uint64_t *address)
{
    const uint32_t bytes = simt_element_bits(d->element) / 8;
    const uint32_t wide = d->element == SIMT_F64 ? 8 : 4;
    EACH(mask, i)
    memcpy((void *)(uintptr_t)address[i], rows + d->rows[reg] + i * wide + piece * bytes, bytes);
}

/* The destinations may hold the addresses: those are taken first. */
SCALAR_LOOP(wmma_load)
{
    const struct simt_matrix *matrix = op->data;
    const struct simt_fragment *d = &matrix->d;
    const uint32_t each = elements_of_register(d->element);
    uint64_t address[SIMT_FRAGMENT_REGISTERS][4][SIMT_LANES];
    for (uint32_t reg = 0; reg < d->count; reg++) {
        for (uint32_t piece = 0; piece < each; piece++) {
            place(matrix, rows, mask, reg, piece, address[reg][piece]);
            if (!check(warp, op, mask, address[reg][piece], simt_element_bits(d->element) / 8,
                       false))
                return;
        }
    }
    for (uint32_t reg = 0; reg < d->count; reg++) {
        for (uint32_t piece = 0; piece < each; piece++)
            load_piece(d, rows, mask, reg, piece, address[reg][piece]);
    }
}

SCALAR_LOOP(wmma_store)
{
    const struct simt_matrix *matrix = op->data;
    const struct simt_fragment *d = &matrix->d;
    for (uint32_t reg = 0; reg < d->count; reg++) {
        for (uint32_t piece = 0; piece < elements_of_register(d->element); piece++) {
            uint64_t address[SIMT_LANES];
            place(matrix, rows, mask, reg, piece, address);
            if (!check(warp, op, mask, address, simt_element_bits(d->element) / 8, true))
                return;
            store_piece(d, rows, mask, reg, piece, address);
        }
    }
}

/* ---- tiles of 8 x 8 values of 16 bits ----------------------------------------- */

/* Lane l has the values 2 (l % 4) and the next one of row l / 4; transposed, of a column. */
static uint32_t tile_index(bool transposed, uint32_t lane, uint32_t half)
{
    const uint32_t row = lane / 4, column = lane % 4 * 2 + half;
    return transposed ? column * 8 + row : row * 8 + column;
}

/* Lanes 8 r to 8 r + 7 name the rows, of 16 bytes, of tile r. */
SCALAR_LOOP(ldmatrix)
{
    const struct simt_matrix *matrix = op->data;
    const uint32_t tiles = matrix->d.count,
                   named = mask & (uint32_t)((UINT64_C(1) << 8 * tiles) - 1);
    uint16_t cells[4][64] = {0};
    uint64_t address[SIMT_LANES] = {0};
    EACH(named, i) address[i] = address_of(matrix, rows, i);
    if (!check(warp, op, named, address, 16, false))
        return;
    EACH(named, i) memcpy(&cells[i / 8][i % 8 * 8], (const void *)(uintptr_t)address[i], 16);
    for (uint32_t r = 0; r < tiles; r++) {
        EACH(mask, i)
        row32(rows, matrix->d.rows[r])[i] = join16(cells[r][tile_index(matrix->column, i, 0)],
                                                   cells[r][tile_index(matrix->column, i, 1)]);
    }
}

static void collect_tile(const char *rows, uint32_t from, bool transposed, uint16_t cells[64])
{
    for (uint32_t i = 0; i < SIMT_LANES; i++) {
        const uint32_t pair = const_row32(rows, from)[i];
        cells[tile_index(transposed, i, 0)] = (uint16_t)lo16(pair);
        cells[tile_index(transposed, i, 1)] = (uint16_t)hi16(pair);
    }
}

SCALAR_LOOP(stmatrix)
{
    const struct simt_matrix *matrix = op->data;
    const uint32_t tiles = matrix->d.count,
                   named = mask & (uint32_t)((UINT64_C(1) << 8 * tiles) - 1);
    uint16_t cells[4][64];
    uint64_t address[SIMT_LANES] = {0};
    EACH(named, i) address[i] = address_of(matrix, rows, i);
    if (!check(warp, op, named, address, 16, true))
        return;
    for (uint32_t r = 0; r < tiles; r++)
        collect_tile(rows, matrix->d.rows[r], matrix->column, cells[r]);
    EACH(named, i) memcpy((void *)(uintptr_t)address[i], &cells[i / 8][i % 8 * 8], 16);
}

SCALAR_LOOP(movmatrix)
{
    const struct simt_matrix *matrix = op->data;
    uint16_t cells[64];
    (void)warp;
    collect_tile(rows, matrix->a.rows[0], false, cells);
    EACH(mask, i)
    row32(rows, matrix->d.rows[0])[i] =
        join16(cells[tile_index(true, i, 0)], cells[tile_index(true, i, 1)]);
}
