/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/walk.h"

#include "cuda/switches.h"

#include <string.h>

/* ---- what is covered ------------------------------------------------------------ */

static bool comes_before(const struct rp_walk_stretch *a, const struct rp_walk_stretch *b)
{
    return a->kind != b->kind ? a->kind < b->kind : a->lo < b->lo;
}

/* Shell's sort: in place (qsort may allocate), and quick on what is nearly in order. */
static void sort_stretches(struct rp_walk_stretch *list, size_t count)
{
    static const size_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++)
        for (size_t i = gaps[g]; i < count; i++) {
            struct rp_walk_stretch moved = list[i];
            size_t at = i;
            for (; at >= gaps[g] && comes_before(&moved, &list[at - gaps[g]]); at -= gaps[g])
                list[at] = list[at - gaps[g]];
            list[at] = moved;
        }
}

/* Joins what touches, and what lies no more than `gap` apart. */
static void join_stretches(struct rp_walk *walk, uint64_t gap)
{
    struct rp_walk_stretch *list = walk->stretches;
    uint32_t kept = 0;
    for (uint32_t i = 1; i < walk->count; i++) {
        bool apart = list[i].kind != list[kept].kind || list[i].lo > list[kept].hi;
        if (apart && (list[i].kind != list[kept].kind || list[i].lo - list[kept].hi > gap)) {
            list[++kept] = list[i];
            continue;
        }
        list[kept].joined |= apart | list[i].joined;
        if (list[i].hi > list[kept].hi)
            list[kept].hi = list[i].hi;
    }
    walk->count = walk->count ? kept + 1 : 0;
}

static uint32_t find_kind(struct rp_walk *walk, const struct rp_touch *touch,
                          const struct rp_walk_trace *trace)
{
    bool certain = touch->certain && !trace->unsure;
    for (uint32_t i = 0; i < walk->kind_count; i++) {
        const struct rp_walk_kind *kind = &walk->kinds[i];
        if (kind->root == trace->root && kind->atomic == touch->atomic &&
            kind->updates == touch->updates && kind->certain == certain)
            return i;
    }
    if (walk->kind_count == RP_WALK_KINDS)
        return RP_NONE;
    walk->kinds[walk->kind_count] = (struct rp_walk_kind){trace->root, touch->atomic,
                                                          touch->updates, certain};
    return walk->kind_count++;
}

/* Where joining hardly helps it would be done again and again. */
static bool make_room(struct rp_walk *walk)
{
    sort_stretches(walk->stretches, walk->count);
    join_stretches(walk, 0);
    return walk->count <= RP_WALK_STRETCHES / 4 * 3;
}

/* The trace of one touch to the others; false when there is no more room. */
static bool put_trace(struct rp_walk *walk, uint32_t index)
{
    const struct rp_proof *proof = walk->run->proof;
    struct rp_walk_trace *trace = &walk->traces[index];
    if (trace->lo == trace->hi)
        return true;
    uint32_t kind = find_kind(walk, &proof->touches[proof->walk_touches[index].touch], trace);
    if (kind == RP_NONE || (walk->count == RP_WALK_STRETCHES && !make_room(walk)))
        return false;
    walk->stretches[walk->count++] = (struct rp_walk_stretch){trace->lo, trace->hi, kind, false};
    return true;
}

static bool cover(struct rp_walk *walk, uint32_t index, uint64_t lo, uint64_t hi, int32_t root)
{
    struct rp_walk_trace *trace = &walk->traces[index];
    bool same = trace->root == root && trace->unsure == walk->unsure && trace->lo != trace->hi;
    if (same && lo >= trace->lo && lo <= trace->hi) {
        trace->hi = hi > trace->hi ? hi : trace->hi;
        return true;
    }
    bool room = put_trace(walk, index);
    *trace = (struct rp_walk_trace){.lo = lo, .hi = hi, .root = root, .unsure = walk->unsure};
    return room;
}

/* ---- the way of a thread -------------------------------------------------------- */

static bool touch(struct rp_walk *walk, uint32_t index)
{
    const struct rp_walk_touch *at = &walk->run->proof->walk_touches[index];
    const struct rp_touch *touch = &walk->run->proof->touches[at->touch];
    bool maybe = at->guard != RP_NONE && walk->unknown[at->guard], unsure = walk->unsure;
    if (at->guard != RP_NONE && !maybe && (walk->values[at->guard] != 0) != touch->sense)
        return true;
    walk->traces[index].lost |= walk->unknown[at->address];
    if (walk->traces[index].lost)
        return true;
    uint64_t lo = walk->values[at->address] + (uint64_t)touch->offset;
    if (lo > INT64_MAX / 2 || touch->width > INT64_MAX / 2) {
        rp_walk_use(walk, walk->roots[at->address]); /* elsewhere it could be said */
        return false;
    }
    walk->unsure |= maybe;
    bool room = cover(walk, index, lo, lo + touch->width, walk->roots[at->address]);
    walk->unsure = unsure;
    return room;
}

/* The value that a phi takes for who comes from block `from`, or RP_NONE. */
static uint32_t source_of(const struct rp_walk *walk, const struct rp_op *op, uint32_t from)
{
    const struct rp_phi_arg *args = walk->run->proof->walk_args + op->a;
    if (op->kind == RP_OP_INDUCTION)
        return from == op->c ? op->a : RP_NONE;
    for (uint32_t i = 0; i < op->b; i++)
        if (args[i].block == from)
            return args[i].value;
    return RP_NONE;
}

static bool arrive(struct rp_walk *walk, uint32_t value, uint32_t from, uint32_t to)
{
    const struct rp_op *op = &walk->run->proof->walk_ops[value];
    uint32_t source = source_of(walk, op, from);
    bool again = source == RP_NONE;
    if (again && op->kind != RP_OP_INDUCTION)
        return false;
    source = again ? value : source;
    walk->arrived[to] = walk->values[source] + (again ? walk->values[op->b] : 0);
    walk->arrived_roots[to] = walk->roots[source];
    walk->arrived_unknown[to] = walk->unknown[source] || (again && walk->unknown[op->b]) ||
                                (op->fickle && walk->forked);
    if (again)
        rp_walk_use(walk, walk->roots[op->b]);
    return true;
}

/* All at once: one may be an argument of another. */
static bool run_phis(struct rp_walk *walk, const struct rp_walk_block *block, uint32_t from)
{
    for (uint32_t i = 0; i < block->phi_count; i++)
        if (!arrive(walk, block->first_op + i, from, i))
            return false;
    for (uint32_t i = 0; i < block->phi_count; i++) {
        unsigned bits = walk->run->proof->walk_ops[block->first_op + i].bits;
        uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        walk->values[block->first_op + i] = walk->arrived[i] & mask;
        walk->roots[block->first_op + i] = walk->arrived_roots[i];
        walk->unknown[block->first_op + i] = walk->arrived_unknown[i];
    }
    return true;
}

static bool run_block(struct rp_walk *walk, const struct rp_walk_block *block, uint32_t from)
{
    if (walk->left <= block->op_count || !run_phis(walk, block, from))
        return false;
    walk->left -= block->op_count + 1;
    for (uint32_t i = block->phi_count; i < block->op_count; i++)
        rp_walk_op(walk, block->first_op + i);
    for (uint32_t i = 0; i < block->touch_count; i++)
        if (!touch(walk, block->first_touch + i))
            return false;
    return true;
}

/* Where forks have started whose ways have not met again. */
struct open_forks {
    uint32_t meets[RP_WALK_DEPTH];
    unsigned count;
    bool unsure; /* from the start */
};

static void close_forks(struct rp_walk *walk, struct open_forks *forks, uint32_t at)
{
    while (forks->count && forks->meets[forks->count - 1] == at)
        forks->count--;
    walk->unsure = forks->unsure || forks->count;
}

static bool open_fork(struct rp_walk *walk, struct open_forks *forks, uint32_t meets)
{
    walk->unsure = true;
    if (forks->count && forks->meets[forks->count - 1] == meets)
        return true;
    if (forks->count == RP_WALK_DEPTH)
        return false;
    forks->meets[forks->count++] = meets;
    return true;
}

static bool walk_way(struct rp_walk *walk, uint32_t at, uint32_t from, uint32_t stop, bool aside);

/* One way of two aside, up to where they meet. */
static bool walk_aside(struct rp_walk *walk, struct open_forks *forks, uint32_t at)
{
    const struct rp_walk_block *block = &walk->run->proof->walk_blocks[at];
    walk->forked = true;
    if (!block->forks || !open_fork(walk, forks, block->meets) || walk->depth == RP_WALK_DEPTH)
        return false;
    walk->depth++;
    bool done = walk_way(walk, block->next[block->aside], at, block->meets, true);
    walk->depth--;
    walk->unsure = true;
    return done;
}

/* From block `at` on, coming from `from`, up to block `stop`. */
static bool walk_way(struct rp_walk *walk, uint32_t at, uint32_t from, uint32_t stop, bool aside)
{
    const struct rp_walk_block *blocks = walk->run->proof->walk_blocks;
    struct open_forks forks = {.unsure = walk->unsure};
    bool done = true;
    while (done && at != RP_NONE && !(aside && at == stop)) {
        close_forks(walk, &forks, at);
        const struct rp_walk_block *block = &blocks[at];
        done = run_block(walk, block, from);
        bool unknown = block->condition != RP_NONE && walk->unknown[block->condition];
        bool first = unknown ? block->aside
                             : block->condition == RP_NONE || walk->values[block->condition];
        if (done && unknown)
            done = walk_aside(walk, &forks, at);
        from = at;
        at = block->next[!first];
    }
    return done;
}

static bool walk_thread(struct rp_walk *walk)
{
    walk->unsure = walk->forked = false;
    walk->depth = 0;
    return walk_way(walk, 0, RP_NONE, RP_NONE, false);
}

/* ---- the launch ----------------------------------------------------------------- */

/* Threads that are alike in all that counts are one. */
static uint64_t extents(const struct rp_run *run, uint32_t threads[3], uint32_t blocks[3])
{
    unsigned depends = run->proof->walk_depends;
    uint64_t all = 1;
    for (int i = 0; i < 3; i++) {
        threads[i] = depends & RP_DEPENDS_TID << i ? run->launch->block[i] : 1;
        blocks[i] = depends & RP_DEPENDS_CTAID << i ? run->launch->grid[i] : 1;
        if (threads[i] > RP_WALK_WORK || blocks[i] > RP_WALK_WORK)
            return UINT64_MAX;
        all *= threads[i];
        all *= blocks[i];
        if (all > RP_WALK_WORK)
            return UINT64_MAX;
    }
    return all;
}

static bool walk_threads(struct rp_walk *walk)
{
    uint32_t threads[3], blocks[3];
    uint64_t all = extents(walk->run, threads, blocks);
    if (all == UINT64_MAX)
        return false;
    for (uint64_t i = 0; i < all; i++) {
        uint64_t rest = i;
        for (int d = 0; d < 3; rest /= threads[d++])
            walk->tid[d] = (uint32_t)(rest % threads[d]);
        for (int d = 0; d < 3; rest /= blocks[d++])
            walk->ctaid[d] = (uint32_t)(rest % blocks[d]);
        if (!walk_thread(walk))
            return false;
    }
    return true;
}

static size_t place(char **at, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    *at += bytes;
    return bytes;
}

static size_t lay_out(struct rp_walk *walk, const struct rp_proof *proof, char *scratch)
{
    char *at = scratch;
    walk->values = (uint64_t *)(void *)at;
    size_t bytes = place(&at, proof->walk_op_count * sizeof *walk->values);
    walk->arrived = (uint64_t *)(void *)at;
    bytes += place(&at, proof->walk_op_count * sizeof *walk->arrived);
    walk->roots = (int32_t *)(void *)at;
    bytes += place(&at, proof->walk_op_count * sizeof *walk->roots);
    walk->unknown = (bool *)at;
    bytes += place(&at, proof->walk_op_count);
    walk->arrived_unknown = (bool *)at;
    bytes += place(&at, proof->walk_op_count);
    walk->arrived_roots = (int32_t *)(void *)at;
    bytes += place(&at, proof->walk_op_count * sizeof *walk->arrived_roots);
    walk->traces = (struct rp_walk_trace *)(void *)at;
    bytes += place(&at, proof->walk_touch_count * sizeof *walk->traces);
    walk->stretches = (struct rp_walk_stretch *)(void *)at;
    return bytes + place(&at, RP_WALK_STRETCHES * sizeof *walk->stretches);
}

size_t rp_walk_bytes(const struct rp_proof *proof)
{
    static char nowhere[16];
    struct rp_walk walk;
    return proof->walk_block_count ? lay_out(&walk, proof, nowhere) : 0;
}

static bool gather(struct rp_walk *walk)
{
    const struct rp_proof *proof = walk->run->proof;
    for (uint32_t i = 0; i < proof->walk_touch_count; i++) {
        if (!put_trace(walk, i))
            return false;
        walk->run->walked[proof->walk_touches[i].touch] = !walk->traces[i].lost;
    }
    sort_stretches(walk->stretches, walk->count);
    join_stretches(walk, 0);
    return true;
}

bool rp_walk_launch(struct rp_walk *walk, struct rp_run *run, char *scratch, uint64_t *operations)
{
    const struct rp_proof *proof = run->proof;
    if (!proof->walk_block_count || !rp_switch_on(RP_SWITCH_WALKS))
        return false;
    memset(walk, 0, sizeof *walk);
    walk->run = run;
    walk->left = RP_WALK_WORK;
    lay_out(walk, proof, scratch);
    memset(walk->traces, 0, proof->walk_touch_count * sizeof *walk->traces);
    for (uint32_t i = 0; i < proof->walk_uniform; i++)
        rp_walk_op(walk, i);
    bool done = walk_threads(walk) && gather(walk);
    *operations += done ? RP_WALK_WORK - walk->left : RP_WALK_WORK;
    return done;
}

/* ---- output --------------------------------------------------------------------- */

enum rp_status rp_walk_emit(struct rp_walk *walk, struct rp_access_set *out)
{
    const struct rp_run *run = walk->run;
    enum rp_status status = RP_OK;
    for (uint64_t gap = 1; walk->count > RP_WALK_RANGES; gap *= 2)
        join_stretches(walk, gap);
    for (uint32_t i = 0; i < walk->count && status == RP_OK; i++) {
        const struct rp_walk_stretch *at = &walk->stretches[i];
        const struct rp_walk_kind *kind = &walk->kinds[at->kind];
        bool exact = kind->certain && !at->joined;
        struct rp_access access = {
            .lo = at->lo, .hi = at->hi, .effect = RP_WRITE, .exact = exact,
            .verdict = exact ? RP_VERDICT_EXACT : RP_VERDICT_BOUNDED,
            .root = kind->root ? (uint64_t)run->root_numbers[kind->root - 1] : 0,
            .root_param = rp_run_root_param(run, kind->root),
            .atomic = kind->atomic, .updates = kind->updates};
        status = rp_access_set_add(out, &access);
        if (!exact && !out->reason)
            out->reason = at->joined ? "it leaves too many gaps between the bytes that it touches"
                                     : "who gets to an access depends on data";
    }
    return status;
}
