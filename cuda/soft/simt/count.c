/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/simt/count.h"

#include <stdlib.h>
#include <string.h>

/* ---- while it runs ------------------------------------------------------------ */

static struct simt_tally *tally_of(struct simt_worker *worker, const struct simt_function *function)
{
    for (uint32_t i = 0; i < worker->tally_count; i++) {
        if (worker->tallies[i].function == function)
            return &worker->tallies[i];
    }
    struct simt_tally *tallies =
        realloc(worker->tallies, (worker->tally_count + 1) * sizeof *worker->tallies);
    if (!tallies)
        return NULL;
    worker->tallies = tallies;
    struct simt_tally *tally = &tallies[worker->tally_count];
    tally->function = function;
    tally->steps = calloc(function->op_count + 2, sizeof *tally->steps);
    if (!tally->steps)
        return NULL;
    worker->tally_count++;
    return tally;
}

void simt_count_line(struct simt_warp *warp, const struct simt_op *line,
                     const struct simt_op *last)
{
    const struct simt_function *function = warp->now.frame->function;
    struct simt_tally *tally = tally_of(warp->worker, function);
    if (!tally) {
        warp->worker->uncounted = true;
        return;
    }
    tally->steps[line - function->ops]++;
    tally->steps[last + 1 - function->ops]--;
}

/* ---- what an instruction costs ------------------------------------------------ */

struct cost {
    enum simt_class class_;
    uint32_t weight; /* of the warp, in lane-instructions of the class */
};

static enum simt_class real_class(enum rp_ptx_type type)
{
    switch ((int)type) {
    case RP_PTX_F32: return SIMT_CLASS_FP32;
    case RP_PTX_F64: return SIMT_CLASS_FP64;
    case RP_PTX_F16: case RP_PTX_F16X2: case RP_PTX_BF16: case RP_PTX_BF16X2:
        return SIMT_CLASS_HALF;
    default: return SIMT_CLASS_INTEGER;
    }
}

static bool is_one_of(const char *op, const char *const *list)
{
    for (; *list; list++) {
        if (!strcmp(op, *list))
            return true;
    }
    return false;
}

/* What has a unit of its own: the approximations, and what the compiler builds on them. */
static bool is_special(const struct rp_ptx_instruction *at)
{
    static const char *const special[] = {"rcp",  "rsqrt", "sqrt", "sin", "cos",
                                          "ex2", "lg2",   "tanh", NULL};
    return is_one_of(at->op, special) && at->type[0] != RP_PTX_F64;
}

static enum simt_class tensor_class(const struct rp_ptx_instruction *at)
{
    switch ((int)(at->type_count > 1 ? at->type[1] : at->type[0])) {
    case RP_PTX_F64: return SIMT_CLASS_TENSOR_FP64;
    case RP_PTX_F16: case RP_PTX_BF16: return SIMT_CLASS_TENSOR_HALF;
    case RP_PTX_TF32: return SIMT_CLASS_TENSOR_TF32;
    default: break;
    }
    if (rp_ptx_has(at, "f16") || rp_ptx_has(at, "bf16"))
        return SIMT_CLASS_TENSOR_HALF;
    return rp_ptx_has(at, "tf32") ? SIMT_CLASS_TENSOR_TF32 : SIMT_CLASS_TENSOR_BYTE;
}

/* "m16n8k16": the multiply-adds of the warp. */
static uint32_t tensor_work(const struct rp_ptx_instruction *at)
{
    for (uint32_t i = 0; i < at->modifier_count; i++) {
        const char *text = at->modifiers[i];
        uint32_t product = 1, parts = 0;
        while ((*text == 'm' || *text == 'n' || *text == 'k') && parts < 3) {
            char *end;
            product *= (uint32_t)strtoul(text + 1, &end, 10);
            parts += end != text + 1;
            text = end;
        }
        if (parts == 3 && !*text)
            return product;
    }
    return 0;
}

/* Memory counts in wavefronts: 128 bytes of L1 or shared memory, one lane each. */
static struct cost memory_cost(const struct rp_ptx_instruction *at)
{
    const uint32_t bytes = at->type_count ? rp_ptx_type_bytes(at->type[0]) : 4;
    const uint32_t all = (bytes ? bytes : 4) * (at->vector ? at->vector : 1);
    if (at->space == RP_PTX_PARAM || at->space == RP_PTX_CONST)
        return (struct cost){SIMT_CLASS_CONTROL, 0};
    return (struct cost){SIMT_CLASS_MEMORY, SIMT_LANES * ((all + 3) / 4)};
}

/* Divisions have no instruction of their own; ptxas makes about this many of the class. */
static struct cost division_cost(const struct rp_ptx_instruction *at)
{
    const enum rp_ptx_type type = at->type_count ? at->type[0] : RP_PTX_B32;
    const enum simt_class class_ = real_class(type);
    if (class_ == SIMT_CLASS_INTEGER)
        return (struct cost){class_, SIMT_LANES * (rp_ptx_type_bytes(type) == 8 ? 70u : 20u)};
    return (struct cost){class_, SIMT_LANES * (class_ == SIMT_CLASS_FP64 ? 12u : 8u)};
}

static struct cost cost_of(const struct rp_ptx_instruction *at)
{
    static const char *const memory[] = {"ld", "st", "atom", "red", "ldu", "ldmatrix",
                                         "stmatrix", "shfl", NULL};
    static const char *const control[] = {"bra", "brx", "ret", "exit", "call", "bar", "barrier",
                                          "membar", "fence", "mov", "cvta", "nanosleep", "vote",
                                          "activemask", "trap", NULL};
    const enum rp_ptx_type type = at->type_count ? at->type[0] : RP_PTX_B32;
    if (!strcmp(at->op, "mma") || (!strcmp(at->op, "wmma") && rp_ptx_has(at, "mma")))
        return (struct cost){tensor_class(at), tensor_work(at)};
    if (is_one_of(at->op, memory) || !strcmp(at->op, "wmma") || !strcmp(at->op, "cp"))
        return memory_cost(at);
    if (is_one_of(at->op, control))
        return (struct cost){SIMT_CLASS_CONTROL, 0};
    if (is_special(at))
        return (struct cost){SIMT_CLASS_SPECIAL, SIMT_LANES};
    if (!strcmp(at->op, "cvt"))
        return (struct cost){SIMT_CLASS_CONVERT, SIMT_LANES};
    if (!strcmp(at->op, "div") || !strcmp(at->op, "rem"))
        return division_cost(at);
    /* Integers of 64 bits are worked on in halves. */
    const bool wide = real_class(type) == SIMT_CLASS_INTEGER && rp_ptx_type_bytes(type) == 8;
    return (struct cost){real_class(type), wide ? 2 * SIMT_LANES : SIMT_LANES};
}

/* ---- afterwards --------------------------------------------------------------- */

static void add_instruction(struct simt_counts *counts, const struct rp_ptx_instruction *at,
                            uint64_t times)
{
    const struct cost cost = cost_of(at);
    const uint64_t slots = cost.weight > SIMT_LANES && cost.class_ < SIMT_CLASS_TENSOR_HALF
                               ? cost.weight : SIMT_LANES;
    counts->issued += times * slots;
    counts->of[cost.class_] += times * cost.weight;
}

/* Without an operation of its own: is it part of the one that follows (index.c)? Others of this
 * kind are constants, and copies that no GPU makes either. */
static bool is_merged(const struct rp_ptx_instruction *at)
{
    static const char *const merged[] = {"add", "cvt", "mad", NULL};
    return is_one_of(at->op, merged);
}

/* An instruction ran as often as the first operation that was made of it. */
static void add_function(struct simt_counts *counts, const struct simt_tally *tally)
{
    const struct simt_function *function = tally->function;
    const struct rp_ptx_function *ptx = function->ptx;
    int64_t times = 0;
    uint32_t at = 0;
    for (size_t i = 0; i < ptx->code_count; i++) {
        for (; at <= function->place[i]; at++)
            times += tally->steps[at];
        if (times > 0 &&
            (function->place[i + 1] > function->place[i] || is_merged(&ptx->code[i])))
            add_instruction(counts, &ptx->code[i], (uint64_t)times);
    }
}

void simt_count_settle(struct simt_worker *worker)
{
    struct simt_run *run = worker->run;
    struct simt_counts counts = {.incomplete = worker->uncounted};
    for (uint32_t i = 0; i < worker->tally_count; i++) {
        add_function(&counts, &worker->tallies[i]);
        free(worker->tallies[i].steps);
    }
    free(worker->tallies);
    worker->tallies = NULL;
    worker->tally_count = 0;
    worker->uncounted = false;
    pthread_mutex_lock(&run->lock);
    run->counts.issued += counts.issued;
    for (int i = 0; i < SIMT_CLASSES; i++)
        run->counts.of[i] += counts.of[i];
    run->counts.incomplete |= counts.incomplete;
    pthread_mutex_unlock(&run->lock);
}
