/* SPDX-License-Identifier: Apache-2.0 */
/* Static single assignment, built while translating (after Braun et al., "Simple and
 * Efficient Construction of SSA Form"): a read looks for the last definition along single
 * predecessors and makes a phi where control flow joins. The arguments of phis are filled in
 * when every node has been translated, from a list and not by recursion. */
#include "cuda/access/local.h"

struct pending_phi {
    uint32_t value, node, variable;
};

static struct rp_op *op_at(const struct rp_builder *build, uint32_t value)
{
    return &RP_ITEMS(build->ops, struct rp_op)[value];
}

uint32_t rp_ssa_op(struct rp_builder *build, struct rp_op op)
{
    uint32_t value = (uint32_t)build->ops.count;
    *(struct rp_op *)rp_build_push(build, &build->ops, sizeof(op)) = op;
    *(uint32_t *)rp_build_push(build, &build->forwards, sizeof(uint32_t)) = value;
    return value;
}

uint32_t rp_ssa_find(struct rp_builder *build, uint32_t value)
{
    uint32_t *forwards = build->forwards.items;
    if (value == RP_NONE)
        return value;
    while (forwards[value] != value) {
        forwards[value] = forwards[forwards[value]];
        value = forwards[value];
    }
    return value;
}

/* One op a constant: in the entry, which comes before everything. */
uint32_t rp_ssa_constant(struct rp_builder *build, int64_t constant, unsigned bits)
{
    uint64_t key = (uint64_t)constant * 67 + bits;
    uint32_t value = rp_map_get(build->constants, key);
    if (value != RP_NONE && op_at(build, value)->imm == constant &&
        op_at(build, value)->bits == bits)
        return value;
    value = rp_ssa_op(build, (struct rp_op){.kind = RP_OP_CONST, .bits = (uint8_t)bits,
                                            .imm = constant, .stage = 2,
                                            .block = RP_ENTRY_NODE});
    rp_map_set(build, build->constants, key, value);
    return value;
}

uint32_t rp_ssa_opaque(struct rp_builder *build, uint32_t node, unsigned bits, unsigned type_bits,
                       bool is_signed)
{
    struct rp_op op = {.kind = bits == 1 ? RP_OP_PUNKNOWN : RP_OP_OPAQUE, .bits = (uint8_t)bits,
                       .imm = type_bits, .is_signed = is_signed, .stage = 2, .block = node};
    return rp_ssa_op(build, op);
}

static uint64_t key_of(uint32_t node, uint32_t variable)
{
    return (uint64_t)node << 32 | variable;
}

static uint32_t make_phi(struct rp_builder *build, uint32_t node, uint32_t variable,
                         unsigned bits)
{
    uint32_t value = rp_ssa_op(build, (struct rp_op){.kind = RP_OP_PHI, .bits = (uint8_t)bits,
                                                     .block = node});
    struct pending_phi *phi = rp_build_push(build, &build->phis, sizeof(*phi));
    *phi = (struct pending_phi){.value = value, .node = node, .variable = variable};
    return value;
}

static uint32_t only_predecessor(const struct rp_builder *build, uint32_t node)
{
    const struct rp_indices *pred = &build->nodes[node].pred;
    uint32_t found = RP_NONE, count = 0;
    for (uint32_t i = 0; i < pred->count; i++)
        if (build->nodes[pred->items[i]].order != RP_NONE) {
            found = pred->items[i];
            count++;
        }
    return count == 1 ? found : RP_NONE;
}

/* ---- registers that are written in one node ---------------------------------------------- */

enum { NEVER = RP_NONE - 1, AGAIN = RP_NONE };

static void count_write(const struct rp_builder *build, uint32_t variable, uint32_t node)
{
    if (variable >= build->register_count)
        return;
    uint32_t *writer = &build->writers[variable];
    *writer = *writer == NEVER || *writer == node ? node : AGAIN;
}

static void count_operand(const struct rp_builder *build, const struct rp_ptx_operand *to,
                          uint32_t first_reg, uint32_t node)
{
    for (uint32_t i = 0; to->kind == RP_PTX_OPERAND_VECTOR && i < to->item_count; i++)
        count_operand(build, &to->items[i], first_reg, node);
    if (to->kind == RP_PTX_OPERAND_REG)
        count_write(build, first_reg + to->reg, node);
    if (to->paired)
        count_write(build, first_reg + to->paired - 1, node);
}

/* ---- functions that begin ----------------------------------------------------------------
 *
 * Whatever an earlier call of the same function, in a loop, has left in its registers and its local
 * variables: the next one finds there what others have left since. */

static void begin(const struct rp_builder *build, uint32_t first, uint32_t count, uint32_t node)
{
    for (uint32_t i = 0; i < count; i++)
        build->begins[first + i] = node;
}

static void begin_frame(const struct rp_builder *build, uint32_t index, uint32_t node)
{
    const struct rp_inline_frame *frame = &RP_ITEMS(build->frames, struct rp_inline_frame)[index];
    begin(build, frame->first_reg, (uint32_t)frame->function->reg_count, node);
    for (size_t i = 0; build->local && i < build->local->variables.count; i++) {
        const struct rp_local_variable *variable =
            &RP_ITEMS(build->local->variables, struct rp_local_variable)[i];
        if (variable->frame == index && variable->first != RP_NONE)
            begin(build, variable->first, variable->count, node);
    }
}

/* There is no definition before it. */
static bool begins_at(const struct rp_builder *build, uint32_t node, uint32_t variable)
{
    return node == RP_ENTRY_NODE ||
           (variable < build->register_count && build->begins[variable] == node);
}

void rp_ssa_survey(struct rp_builder *build)
{
    const struct rp_step *steps = build->steps.items;
    build->writers = rp_build_alloc(build, (build->variable_count + 1) * sizeof(uint32_t));
    build->begins = rp_build_alloc(build, (build->variable_count + 1) * sizeof(uint32_t));
    build->register_count = build->variable_count;
    for (uint32_t i = 0; i < build->variable_count; i++) {
        build->writers[i] = AGAIN; /* what is no register */
        build->begins[i] = RP_NONE;
    }
    for (size_t i = 0; i < build->frames.count; i++) {
        const struct rp_inline_frame *frame = &RP_ITEMS(build->frames, struct rp_inline_frame)[i];
        for (size_t j = 0; j < frame->function->reg_count; j++)
            build->writers[frame->first_reg + j] = NEVER;
    }
    for (uint32_t i = 0; i < build->rpo_count; i++) {
        const struct rp_flow_node *node = &build->nodes[build->rpo[i]];
        for (uint32_t j = node->first; j < node->first + node->count; j++)
            if (steps[j].kind == RP_STEP_COPY)
                count_write(build, steps[j].variable, build->rpo[i]);
            else if (steps[j].kind == RP_STEP_ENTER)
                begin_frame(build, steps[j].frame, build->rpo[i]);
            else if (steps[j].kind == RP_STEP_PLAIN && steps[j].ptx->operand_count)
                count_operand(
                    build, &steps[j].ptx->operands[0],
                    RP_ITEMS(build->frames, struct rp_inline_frame)[steps[j].frame].first_reg,
                    build->rpo[i]);
    }
}

/* The node that alone writes it, if every way to `at` leads through that; or RP_NONE. */
static uint32_t only_writer(const struct rp_builder *build, uint32_t at, uint32_t variable)
{
    uint32_t node = variable < build->register_count ? build->writers[variable] : AGAIN;
    bool leads = node != NEVER && node != AGAIN && node != at &&
                 rp_graph_dominates(build, node, at);
    return leads ? node : RP_NONE;
}

uint32_t rp_ssa_read(struct rp_builder *build, uint32_t node, uint32_t variable, unsigned bits)
{
    uint32_t at = node, value;
    for (;;) {
        value = rp_map_get(build->definitions, key_of(at, variable));
        if (value != RP_NONE)
            break;
        if (begins_at(build, at, variable)) { /* never written: whatever the register holds */
            value = rp_ssa_opaque(build, at, bits, bits, false);
            break;
        }
        uint32_t before = only_predecessor(build, at);
        if (before == RP_NONE)
            before = only_writer(build, at, variable);
        if (before == RP_NONE) {
            value = make_phi(build, at, variable, bits);
            break;
        }
        at = before;
    }
    rp_map_set(build, build->definitions, key_of(at, variable), value);
    rp_map_set(build, build->definitions, key_of(node, variable), value);
    return value;
}

void rp_ssa_write(struct rp_builder *build, uint32_t node, uint32_t variable, uint32_t value)
{
    rp_map_set(build, build->definitions, key_of(node, variable), value);
}

static void fill_phi(struct rp_builder *build, struct pending_phi phi)
{
    const struct rp_indices pred = build->nodes[phi.node].pred;
    unsigned bits = op_at(build, phi.value)->bits;
    struct rp_phi_arg args[64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < pred.count; i++) {
        if (build->nodes[pred.items[i]].order == RP_NONE)
            continue;
        if (count == sizeof(args) / sizeof(args[0])) { /* too many ways in to follow */
            *op_at(build, phi.value) = (struct rp_op){
                .kind = bits == 1 ? RP_OP_PUNKNOWN : RP_OP_OPAQUE, .bits = (uint8_t)bits,
                .imm = bits, .block = phi.node};
            return;
        }
        args[count++] = (struct rp_phi_arg){
            .block = pred.items[i],
            .value = rp_ssa_read(build, pred.items[i], phi.variable, bits)};
    }
    uint32_t first = (uint32_t)build->phi_args.count;
    for (uint32_t i = 0; i < count; i++)
        *(struct rp_phi_arg *)rp_build_push(build, &build->phi_args, sizeof(args[0])) = args[i];
    op_at(build, phi.value)->a = first;
    op_at(build, phi.value)->b = count;
}

/* A phi whose arguments are one value (or itself) is that value. */
static bool simplify(struct rp_builder *build, uint32_t value)
{
    const struct rp_op *op = op_at(build, value);
    const struct rp_phi_arg *args = RP_ITEMS(build->phi_args, struct rp_phi_arg) + op->a;
    uint32_t same = RP_NONE;
    for (uint32_t i = 0; i < op->b; i++) {
        uint32_t argument = rp_ssa_find(build, args[i].value);
        if (argument == value || argument == same)
            continue;
        if (same != RP_NONE)
            return false;
        same = argument;
    }
    if (same == RP_NONE)
        return false;
    RP_ITEMS(build->forwards, uint32_t)[value] = same;
    return true;
}

void rp_ssa_finish(struct rp_builder *build)
{
    for (size_t i = 0; i < build->phis.count; i++) /* the list grows while it is walked */
        fill_phi(build, RP_ITEMS(build->phis, struct pending_phi)[i]);
    unsigned rounds = 0;
    for (bool changed = true; changed && rounds < 32; rounds++) {
        changed = false;
        for (size_t i = 0; i < build->phis.count; i++) {
            uint32_t value = RP_ITEMS(build->phis, struct pending_phi)[i].value;
            if (rp_ssa_find(build, value) == value && op_at(build, value)->kind == RP_OP_PHI)
                changed |= simplify(build, value);
        }
    }
}
