/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions on matrices that a warp holds together. */
#include "cuda/soft/simt/collective.h"
#include "cuda/soft/simt/compile.h"
#include "cuda/soft/simt/matrix.h"
#include "cuda/soft/simt/opcodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words -------------------------------------------------------------------- */

/* The modifiers are read from left to right. */
struct words {
    const struct rp_ptx_instruction *at;
    uint32_t next;
};

static const char *word(const struct words *words)
{
    return words->next < words->at->modifier_count ? words->at->modifiers[words->next] : "";
}

static bool take(struct words *words, const char *text)
{
    const bool found = !strcmp(word(words), text);
    words->next += found;
    return found;
}

static bool take_shape(struct words *words, struct simt_matrix *matrix)
{
    int end = 0;
    const char *text = word(words);
    if (sscanf(text, "m%2un%2uk%3u%n", &matrix->m, &matrix->n, &matrix->k, &end) != 3 || text[end])
        return false;
    words->next++;
    return true;
}

static bool take_layout(struct words *words, bool *column)
{
    *column = !strcmp(word(words), "col");
    return take(words, "row") || take(words, "col");
}

static bool take_element(struct words *words, enum simt_element *element)
{
    static const char *const names[SIMT_ELEMENTS] = {
        [SIMT_F16] = "f16",   [SIMT_BF16] = "bf16", [SIMT_TF32] = "tf32", [SIMT_F32] = "f32",
        [SIMT_F64] = "f64",   [SIMT_E4M3] = "e4m3", [SIMT_E5M2] = "e5m2", [SIMT_S8] = "s8",
        [SIMT_U8] = "u8",     [SIMT_S4] = "s4",     [SIMT_U4] = "u4",     [SIMT_S32] = "s32"};
    for (int i = 0; i < SIMT_ELEMENTS; i++) {
        if (take(words, names[i])) {
            *element = (enum simt_element)i;
            return true;
        }
    }
    return false;
}

static bool ended(const struct words *words)
{
    return words->next == words->at->modifier_count;
}

/* ---- operands ----------------------------------------------------------------- */

static bool fragment_rows(struct compiler *c, const struct rp_ptx_operand *operand, bool is_target,
                          struct simt_fragment *fragment)
{
    const bool vector = operand->kind == RP_PTX_OPERAND_VECTOR;
    const uint32_t count = vector ? operand->item_count : 1;
    const struct rp_ptx_operand *items = vector ? operand->items : operand;
    const uint32_t width = fragment->element == SIMT_F64 ? 8 : 4;
    if (count != fragment->count || count > SIMT_FRAGMENT_REGISTERS)
        return simt_refuse(c, "a fragment of %u registers, where %u are needed", count,
                           fragment->count);
    for (uint32_t k = 0; k < count; k++) {
        if (!(is_target ? simt_operand_target(c, &items[k], width, &fragment->rows[k])
                        : simt_operand_value(c, &items[k], width, RP_PTX_B32, &fragment->rows[k])))
            return false;
    }
    return true;
}

static bool memory_operands(struct compiler *c, const struct rp_ptx_operand *address,
                            const struct rp_ptx_operand *stride, struct simt_matrix *matrix)
{
    uint32_t width;
    if (!simt_operand_address(c, address, &matrix->address, &width, &matrix->offset))
        return false;
    matrix->narrow = width == 4;
    return !stride || simt_operand_value(c, stride, 4, RP_PTX_U32, &matrix->stride);
}

static bool emit(struct compiler *c, int opcode, const struct simt_matrix *matrix)
{
    struct simt_matrix *kept = malloc(sizeof *kept);
    if (!kept) {
        c->no_memory = true;
        return false;
    }
    *kept = *matrix;
    const uint32_t around = simt_branch_around(c);
    struct simt_op *op = simt_emit_always(c, opcode);
    op->data = kept;
    op->flags = (uint16_t)(SIMT_LANE_ALIGNED | simt_own_flags(c));
    op->target = c->next_site++;
    simt_end_around(c, around);
    return true;
}

/* ---- mma ---------------------------------------------------------------------- */

#define ONE(x) (1u << SIMT_##x)
#define BYTES (ONE(S8) | ONE(U8))
#define NIBBLES (ONE(S4) | ONE(U4))
#define FP8 (ONE(E4M3) | ONE(E5M2))
#define HALF ONE(F16)

/* The shapes by the types of A and B and those of C and D. `mixed`: A and B may differ. */
struct form {
    uint8_t m, n, k;
    bool mixed;
    uint32_t ab, cd;
};

static const struct form mma_forms[] = {
    {16, 8, 8, false, HALF, ONE(F16) | ONE(F32)}, {16, 8, 16, false, HALF, ONE(F16) | ONE(F32)},
    {16, 8, 8, false, ONE(BF16), ONE(F32)},       {16, 8, 16, false, ONE(BF16), ONE(F32)},
    {16, 8, 4, false, ONE(TF32), ONE(F32)},       {16, 8, 8, false, ONE(TF32), ONE(F32)},
    {16, 8, 32, true, FP8, ONE(F32)},             {8, 8, 4, false, ONE(F64), ONE(F64)},
    {16, 8, 4, false, ONE(F64), ONE(F64)},        {16, 8, 8, false, ONE(F64), ONE(F64)},
    {16, 8, 16, false, ONE(F64), ONE(F64)},       {8, 8, 16, true, BYTES, ONE(S32)},
    {16, 8, 16, true, BYTES, ONE(S32)},           {16, 8, 32, true, BYTES, ONE(S32)},
    {8, 8, 32, true, NIBBLES, ONE(S32)},          {16, 8, 32, true, NIBBLES, ONE(S32)},
    {16, 8, 64, true, NIBBLES, ONE(S32)},
};

static const struct form wmma_forms[] = {
    {16, 16, 16, false, HALF, ONE(F16) | ONE(F32)}, {8, 32, 16, false, HALF, ONE(F16) | ONE(F32)},
    {32, 8, 16, false, HALF, ONE(F16) | ONE(F32)},  {16, 16, 16, false, ONE(BF16), ONE(F32)},
    {8, 32, 16, false, ONE(BF16), ONE(F32)},        {32, 8, 16, false, ONE(BF16), ONE(F32)},
    {16, 16, 8, false, ONE(TF32), ONE(F32)},        {8, 8, 4, false, ONE(F64), ONE(F64)},
    {16, 16, 16, false, BYTES, ONE(S32)},           {8, 32, 16, false, BYTES, ONE(S32)},
    {32, 8, 16, false, BYTES, ONE(S32)},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct form *find_form(const struct form *forms, size_t count,
                                    const struct simt_matrix *matrix, enum simt_element ab)
{
    for (size_t i = 0; i < count; i++) {
        if (forms[i].m == matrix->m && forms[i].n == matrix->n && forms[i].k == matrix->k &&
            (forms[i].ab >> ab & 1))
            return &forms[i];
    }
    return NULL;
}

static bool is_form(const struct form *form, const struct simt_matrix *matrix)
{
    const enum simt_element a = matrix->a.element, b = matrix->b.element;
    return form && (form->ab >> b & 1) && (form->mixed || a == b) &&
           (form->cd >> matrix->c.element & 1) && (form->cd >> matrix->d.element & 1) &&
           (!matrix->saturates || form->cd == ONE(S32) || matrix->d.element == SIMT_F16);
}

/* `repeated`: wmma's f16 operands have eight registers whatever they need. */
static bool emit_product(struct compiler *c, struct simt_matrix *matrix, bool repeated)
{
    matrix->a.part = SIMT_PART_A;
    matrix->b.part = SIMT_PART_B;
    matrix->c.part = matrix->d.part = SIMT_PART_C;
    struct simt_fragment *const all[] = {&matrix->d, &matrix->a, &matrix->b, &matrix->c};
    if (c->at->operand_count != COUNT(all))
        return simt_refuse(c, "this number of operands");
    for (uint32_t i = 0; i < COUNT(all); i++) {
        const bool eight = repeated && all[i]->part != SIMT_PART_C && all[i]->element == SIMT_F16;
        all[i]->count = eight ? 8 : simt_fragment_registers(matrix, all[i]->part, all[i]->element);
        if (!fragment_rows(c, &c->at->operands[i], i == 0, all[i]))
            return false;
    }
    return emit(c, SIMT_OP_mma, matrix);
}

/* mma.sync.aligned.SHAPE.row.col[.satfinite].D.A.B.C */
bool simt_emit_mma(struct compiler *c)
{
    struct words words = {.at = c->at};
    struct simt_matrix matrix = {0};
    if (!take(&words, "sync") || !take(&words, "aligned") || !take_shape(&words, &matrix) ||
        !take(&words, "row") || !take(&words, "col"))
        return simt_refuse(c, "not supported");
    matrix.saturates = take(&words, "satfinite");
    if (!take_element(&words, &matrix.d.element) || !take_element(&words, &matrix.a.element) ||
        !take_element(&words, &matrix.b.element) || !take_element(&words, &matrix.c.element) ||
        !ended(&words) || (matrix.saturates && matrix.d.element != SIMT_S32) ||
        (matrix.d.element == SIMT_F16 && matrix.c.element == SIMT_F32) ||
        !is_form(find_form(mma_forms, COUNT(mma_forms), &matrix, matrix.a.element), &matrix))
        return simt_refuse(c, "not supported");
    return emit_product(c, &matrix, false);
}

/* ---- wmma --------------------------------------------------------------------- */

/* wmma.mma.sync.aligned.LAYOUT.LAYOUT.SHAPE.D.C[.satfinite] for f16, else .D.A.B.C */
static bool emit_wmma_product(struct compiler *c, struct words *words)
{
    struct simt_matrix matrix = {0};
    bool a_column, b_column; /* layouts in memory: the fragments are in registers already */
    if (!take_layout(words, &a_column) || !take_layout(words, &b_column) ||
        !take_shape(words, &matrix) || !take_element(words, &matrix.d.element) ||
        !take_element(words, &matrix.a.element))
        return simt_refuse(c, "not supported");
    if (!take_element(words, &matrix.b.element)) {
        matrix.c.element = matrix.a.element;
        matrix.a.element = matrix.b.element = SIMT_F16;
    } else if (matrix.a.element == SIMT_F16 || !take_element(words, &matrix.c.element)) {
        return simt_refuse(c, "not supported");
    }
    if (matrix.d.element == SIMT_F64)
        take(words, "rn"); /* as it is without */
    matrix.saturates = take(words, "satfinite");
    if (!ended(words) || (matrix.d.element == SIMT_F64 && (a_column || !b_column)) ||
        !is_form(find_form(wmma_forms, COUNT(wmma_forms), &matrix, matrix.a.element), &matrix))
        return simt_refuse(c, "not supported");
    return emit_product(c, &matrix, true);
}

/* Is this a matrix that some product has in this place? */
static bool is_known_part(const struct simt_matrix *matrix)
{
    for (size_t i = 0; i < COUNT(wmma_forms); i++) {
        const struct form *form = &wmma_forms[i];
        const uint32_t elements = matrix->d.part == SIMT_PART_C ? form->cd : form->ab;
        if (form->m == matrix->m && form->n == matrix->n && form->k == matrix->k &&
            (elements >> matrix->d.element & 1))
            return true;
    }
    return false;
}

/* wmma.{load.{a,b,c},store.d}.sync.aligned.LAYOUT.SHAPE[.SPACE].TYPE */
static bool emit_wmma_access(struct compiler *c, struct words *words, bool is_load)
{
    static const char *const spaces[] = {"global", "shared", "shared::cta"};
    struct simt_matrix matrix = {0};
    struct simt_fragment *d = &matrix.d;
    d->part = take(words, "a") ? SIMT_PART_A : take(words, "b") ? SIMT_PART_B : SIMT_PART_C;
    if (d->part == SIMT_PART_C && !take(words, is_load ? "c" : "d"))
        return simt_refuse(c, "not supported");
    if (!take(words, "sync") || !take(words, "aligned") || !take_layout(words, &matrix.column) ||
        !take_shape(words, &matrix))
        return simt_refuse(c, "not supported");
    for (size_t i = 0; i < COUNT(spaces) && !take(words, spaces[i]); i++)
        continue;
    const uint32_t operands = c->at->operand_count;
    if (!take_element(words, &d->element) || !ended(words) || !is_known_part(&matrix) ||
        (!is_load && d->part != SIMT_PART_C) || operands < 2 || operands > 3)
        return simt_refuse(c, "not supported");
    const bool eight = d->part != SIMT_PART_C && d->element == SIMT_F16;
    d->count = eight ? 8 : simt_fragment_registers(&matrix, d->part, d->element);
    return memory_operands(c, &c->at->operands[is_load ? 1 : 0],
                           operands == 3 ? &c->at->operands[2] : NULL, &matrix) &&
           fragment_rows(c, &c->at->operands[is_load ? 0 : 1], is_load, d) &&
           emit(c, is_load ? SIMT_OP_wmma_load : SIMT_OP_wmma_store, &matrix);
}

bool simt_emit_wmma(struct compiler *c)
{
    struct words words = {.at = c->at};
    if (take(&words, "load"))
        return emit_wmma_access(c, &words, true);
    if (take(&words, "store"))
        return emit_wmma_access(c, &words, false);
    if (take(&words, "mma") && take(&words, "sync") && take(&words, "aligned"))
        return emit_wmma_product(c, &words);
    return simt_refuse(c, "not supported");
}

/* ---- tiles -------------------------------------------------------------------- */

/* {ld,st}matrix.sync.aligned.m8n8.{x1,x2,x4}[.trans][.shared].b16 */
static bool emit_tiles(struct compiler *c, bool is_load)
{
    struct words words = {.at = c->at};
    struct simt_matrix matrix = {.d.element = SIMT_F32}; /* any word of 32 bits */
    if (!take(&words, "sync") || !take(&words, "aligned") || !take(&words, "m8n8"))
        return simt_refuse(c, "not supported");
    matrix.d.count = take(&words, "x1") ? 1 : take(&words, "x2") ? 2 : take(&words, "x4") ? 4 : 0;
    matrix.column = take(&words, "trans");
    if (!take(&words, "shared"))
        take(&words, "shared::cta");
    if (!matrix.d.count || !take(&words, "b16") || !ended(&words) || c->at->operand_count != 2)
        return simt_refuse(c, "not supported");
    return memory_operands(c, &c->at->operands[is_load ? 1 : 0], NULL, &matrix) &&
           fragment_rows(c, &c->at->operands[is_load ? 0 : 1], is_load, &matrix.d) &&
           emit(c, is_load ? SIMT_OP_ldmatrix : SIMT_OP_stmatrix, &matrix);
}

bool simt_emit_ldmatrix(struct compiler *c)
{
    return emit_tiles(c, true);
}

bool simt_emit_stmatrix(struct compiler *c)
{
    return emit_tiles(c, false);
}

bool simt_emit_movmatrix(struct compiler *c)
{
    char spelling[SIMT_SPELLING];
    struct simt_matrix matrix = {.d = {.element = SIMT_F32, .count = 1},
                                 .a = {.element = SIMT_F32, .count = 1}};
    simt_spell(c->at, spelling);
    if (strcmp(spelling, "movmatrix.sync.aligned.m8n8.trans.b16") != 0 || c->at->operand_count != 2)
        return simt_refuse(c, "not supported");
    return fragment_rows(c, &c->at->operands[1], false, &matrix.a) &&
           fragment_rows(c, &c->at->operands[0], true, &matrix.d) &&
           emit(c, SIMT_OP_movmatrix, &matrix);
}
