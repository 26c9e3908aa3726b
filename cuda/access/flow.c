/* SPDX-License-Identifier: Apache-2.0 */
/* From instructions to steps: calls of known functions are inlined. */
#include "cuda/access/build.h"

#include <string.h>

static struct rp_inline_frame *frame_at(const struct rp_builder *build, uint32_t frame)
{
    return &RP_ITEMS(build->frames, struct rp_inline_frame)[frame];
}

/* ---- lowering ----------------------------------------------------------------- */

static struct rp_step *add_step(struct rp_builder *build, uint32_t frame,
                                const struct rp_ptx_instruction *ptx, enum rp_step_kind kind)
{
    if (build->steps.count >= RP_MAX_INSTRUCTIONS)
        rp_build_refuse(build, "the kernel is too large to analyse");
    struct rp_step *step = rp_build_push(build, &build->steps, sizeof(*step));
    *step = (struct rp_step){.ptx = ptx, .kind = (uint8_t)kind, .frame = frame,
                             .source = RP_NONE};
    if (ptx && ptx->guarded) {
        step->guarded = true;
        step->negated = ptx->guard_negated;
        step->guard = frame_at(build, frame)->first_reg + ptx->guard;
    }
    return step;
}

static uint32_t register_named(const struct rp_builder *build, uint32_t frame, const char *name)
{
    const struct rp_ptx_function *function = frame_at(build, frame)->function;
    for (size_t i = 0; i < function->reg_count; i++)
        if (!strcmp(function->regs[i].name, name))
            return frame_at(build, frame)->first_reg + (uint32_t)i;
    return RP_NONE;
}

/* Where a parameter or result of `frame` that is no alias of the caller's variable lives. */
static uint32_t home_of(struct rp_builder *build, uint32_t frame, const struct rp_ptx_var *var)
{
    if (var->space == RP_PTX_REG)
        return register_named(build, frame, var->name);
    uint32_t bytes = (uint32_t)(var->is_array ? 0 : var->bytes);
    return bytes ? rp_slot_variable(build, frame, var, 0, bytes) : RP_NONE;
}

static bool is_alias(const struct rp_ptx_var *var, const struct rp_ptx_operand *operand)
{
    return var->space == RP_PTX_PARAM && operand->kind == RP_PTX_OPERAND_VAR && !operand->imm;
}

static void pass_arguments(struct rp_builder *build, uint32_t caller, uint32_t frame)
{
    const struct rp_inline_frame at = *frame_at(build, frame);
    for (size_t i = 0; i < at.function->param_count; i++) {
        const struct rp_ptx_operand *operand = &at.call->operands[at.call->returns + 1 + i];
        const struct rp_ptx_var *param = &at.function->params[i];
        if (is_alias(param, operand))
            continue;
        struct rp_step step = {.kind = RP_STEP_COPY, .frame = frame, .from = caller,
                               .operand = operand, .source = RP_NONE,
                               .variable = home_of(build, frame, param),
                               .bits = (uint8_t)(rp_ptx_type_bytes(param->type) * 8)};
        if (step.variable == RP_NONE)
            rp_build_refuse(build, "a call passes its arguments in a way that is not understood");
        *add_step(build, frame, NULL, RP_STEP_COPY) = step;
    }
}

static void take_results(struct rp_builder *build, uint32_t caller, uint32_t frame)
{
    const struct rp_inline_frame at = *frame_at(build, frame);
    for (size_t i = 0; i < at.function->return_count; i++) {
        const struct rp_ptx_operand *operand = &at.call->operands[i];
        const struct rp_ptx_var *result = &at.function->returns[i];
        if (is_alias(result, operand))
            continue;
        struct rp_step step = {.kind = RP_STEP_COPY, .frame = caller,
                               .source = home_of(build, frame, result),
                               .bits = (uint8_t)(rp_ptx_type_bytes(result->type) * 8)};
        if (operand->kind != RP_PTX_OPERAND_REG || step.source == RP_NONE)
            rp_build_refuse(build, "a call takes its results in a way that is not understood");
        step.variable = frame_at(build, caller)->first_reg + operand->reg;
        *add_step(build, caller, NULL, RP_STEP_COPY) = step;
    }
}

static void lower_frame(struct rp_builder *build, uint32_t frame);

static uint32_t enter_frame(struct rp_builder *build, uint32_t caller,
                            const struct rp_ptx_instruction *call,
                            const struct rp_ptx_function *function)
{
    for (uint32_t at = caller;; at = frame_at(build, at)->parent) {
        if (frame_at(build, at)->function == function)
            rp_build_refuse(build, "the kernel calls itself recursively");
        if (!at)
            break;
    }
    uint32_t depth = frame_at(build, caller)->depth + 1;
    if (depth > RP_MAX_CALL_DEPTH)
        rp_build_refuse(build, "calls are nested too deeply");
    if (call->returns != function->return_count ||
        call->operand_count < call->returns + 1 + function->param_count)
        rp_build_refuse(build, "a call does not fit the function that it calls");
    struct rp_inline_frame *frame = rp_build_push(build, &build->frames, sizeof(*frame));
    *frame = (struct rp_inline_frame){.function = function,
                                      .parent = caller,
                                      .call = call,
                                      .depth = depth,
                                      .first_reg = build->variable_count};
    build->variable_count += (uint32_t)function->reg_count;
    return (uint32_t)build->frames.count - 1;
}

static void lower_call(struct rp_builder *build, uint32_t frame,
                       const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_operand *callee = &ptx->operands[ptx->returns];
    if (ptx->operand_count <= ptx->returns || callee->kind != RP_PTX_OPERAND_FUNCTION)
        rp_build_refuse(build, "the kernel calls through a pointer");
    const struct rp_ptx_function *function = rp_ptx_find(build->module, callee->name);
    bool is_here = function && function->is_defined; /* by whatever name */
    if (!is_here && !strcmp(callee->name, "__assertfail")) {
        add_step(build, frame, ptx, RP_STEP_STOP);
        return;
    }
    if (!is_here && !strcmp(callee->name, "vprintf")) { /* writes the driver's own buffer only */
        add_step(build, frame, ptx, RP_STEP_PLAIN);
        return;
    }
    if (!is_here)
        rp_build_refuse(build, rp_build_format(build, "the kernel calls %s, whose code is not here",
                                               callee->name));
    uint32_t inner = enter_frame(build, frame, ptx, function);
    add_step(build, inner, NULL, RP_STEP_CALL);
    size_t skip = build->steps.count;
    if (ptx->guarded)
        add_step(build, frame, ptx, RP_STEP_JUMP)->negated ^= true;
    add_step(build, inner, NULL, RP_STEP_ENTER);
    pass_arguments(build, frame, inner);
    lower_frame(build, inner);
    take_results(build, frame, inner);
    if (ptx->guarded) {
        struct rp_step *jump = &RP_ITEMS(build->steps, struct rp_step)[skip];
        jump->target = (uint32_t)build->steps.count;
        jump->frame = RP_NONE; /* not one of the frame's own jumps */
    }
    add_step(build, inner, NULL, RP_STEP_RETURN);
}

static const struct rp_ptx_list *find_list(const struct rp_ptx_function *function,
                                           const struct rp_ptx_instruction *ptx)
{
    for (unsigned i = 0; i < ptx->operand_count; i++)
        for (size_t j = 0; j < function->list_count; j++)
            if (ptx->operands[i].kind == RP_PTX_OPERAND_FUNCTION && function->lists[j].targets &&
                !strcmp(ptx->operands[i].name, function->lists[j].name))
                return &function->lists[j];
    return NULL;
}

static void lower_switch(struct rp_builder *build, uint32_t frame,
                         const struct rp_ptx_instruction *ptx)
{
    const struct rp_ptx_list *list = find_list(frame_at(build, frame)->function, ptx);
    if (!list)
        rp_build_refuse(build, "a branch goes to an unknown place");
    struct rp_step *step = add_step(build, frame, ptx, RP_STEP_SWITCH);
    uint32_t count = (uint32_t)list->item_count;
    step->targets.count = count;
    step->targets.items = rp_build_alloc(build, count * sizeof(uint32_t));
    memcpy(step->targets.items, list->targets, count * sizeof(uint32_t));
}

static void lower_instruction(struct rp_builder *build, uint32_t frame,
                              const struct rp_ptx_instruction *ptx, uint32_t end)
{
    if (!strcmp(ptx->op, "bra") && ptx->operand_count) {
        add_step(build, frame, ptx, RP_STEP_JUMP)->target = ptx->operands[0].target;
    } else if (!strcmp(ptx->op, "brx")) {
        lower_switch(build, frame, ptx);
    } else if (!strcmp(ptx->op, "ret") && frame) {
        add_step(build, frame, ptx, RP_STEP_JUMP)->target = end;
    } else if (!strcmp(ptx->op, "ret") || !strcmp(ptx->op, "exit") || !strcmp(ptx->op, "trap")) {
        add_step(build, frame, ptx, RP_STEP_STOP);
    } else if (!strcmp(ptx->op, "call")) {
        lower_call(build, frame, ptx);
    } else {
        add_step(build, frame, ptx, RP_STEP_PLAIN);
    }
}

/* Jump targets of this frame, until now indices of its instructions, become steps. */
static void patch_targets(struct rp_builder *build, uint32_t frame, size_t first,
                          const uint32_t *start)
{
    struct rp_step *steps = build->steps.items;
    for (size_t i = first; i < build->steps.count; i++) {
        if (steps[i].frame != frame)
            continue;
        if (steps[i].kind == RP_STEP_JUMP)
            steps[i].target = start[steps[i].target];
        for (uint32_t j = 0; j < steps[i].targets.count; j++)
            steps[i].targets.items[j] = start[steps[i].targets.items[j]];
    }
}

static void lower_frame(struct rp_builder *build, uint32_t frame)
{
    const struct rp_ptx_function *function = frame_at(build, frame)->function;
    uint32_t end = (uint32_t)function->code_count;
    uint32_t *start = rp_build_alloc(build, (end + 1) * sizeof(*start));
    size_t first = build->steps.count;
    for (uint32_t i = 0; i < end; i++) {
        start[i] = (uint32_t)build->steps.count;
        lower_instruction(build, frame, &function->code[i], end);
    }
    start[end] = (uint32_t)build->steps.count;
    patch_targets(build, frame, first, start);
}

/* ---- basic blocks ------------------------------------------------------------- */

static bool ends_a_node(uint8_t kind)
{
    return kind == RP_STEP_JUMP || kind == RP_STEP_SWITCH || kind == RP_STEP_STOP;
}

static void mark_leaders(const struct rp_builder *build, uint32_t *node_of)
{
    const struct rp_step *steps = build->steps.items;
    node_of[0] = 1;
    for (size_t i = 0; i < build->steps.count; i++) {
        if (!ends_a_node(steps[i].kind))
            continue;
        node_of[i + 1] = 1;
        if (steps[i].kind == RP_STEP_JUMP)
            node_of[steps[i].target] = 1;
        for (uint32_t j = 0; j < steps[i].targets.count; j++)
            node_of[steps[i].targets.items[j]] = 1;
    }
}

static void set_successors(struct rp_builder *build, struct rp_flow_node *node,
                           const uint32_t *items, uint32_t count)
{
    node->succ.items = rp_build_alloc(build, count * sizeof(uint32_t));
    for (uint32_t i = 0; i < count; i++) { /* each at most once */
        bool known = false;
        for (uint32_t j = 0; j < node->succ.count && !known; j++)
            known = node->succ.items[j] == items[i];
        if (!known)
            node->succ.items[node->succ.count++] = items[i];
    }
}

/* succ[0] is where a true condition leads, succ[1] where a false one does. */
static void connect(struct rp_builder *build, struct rp_flow_node *node, const uint32_t *node_of)
{
    const struct rp_step *steps = build->steps.items;
    uint32_t end = node->first + node->count;
    const struct rp_step *last = node->count ? &steps[end - 1] : NULL;
    uint32_t next = node_of[end], to[2] = {next, next};
    if (last && last->kind == RP_STEP_SWITCH) {
        uint32_t count = last->targets.count;
        uint32_t *items = rp_build_alloc(build, (count + 1) * sizeof(*items));
        for (uint32_t i = 0; i < count; i++)
            items[i] = node_of[last->targets.items[i]];
        items[count] = next;
        if (count > 256)
            rp_build_refuse(build, "a branch has too many targets");
        set_successors(build, node, items, count + last->guarded);
        return;
    }
    if (last && last->kind == RP_STEP_JUMP)
        to[0] = node_of[last->target];
    if (last && last->kind == RP_STEP_STOP)
        to[0] = RP_EXIT_NODE;
    bool jumps = last && (last->kind == RP_STEP_JUMP || last->kind == RP_STEP_STOP);
    set_successors(build, node, to, jumps && last->guarded ? 2 : 1);
}

static void build_nodes(struct rp_builder *build)
{
    uint32_t steps = (uint32_t)build->steps.count;
    uint32_t *node_of = rp_build_alloc(build, (steps + 1) * sizeof(*node_of));
    mark_leaders(build, node_of);
    uint32_t count = 2;
    for (uint32_t i = 0; i < steps; i++)
        count += node_of[i];
    if (count > RP_MAX_NODES)
        rp_build_refuse(build, "the kernel has too many branches");
    build->nodes = rp_build_alloc(build, count * sizeof(*build->nodes));
    build->node_count = build->node_capacity = count;
    uint32_t at = 1;
    for (uint32_t i = 0; i < steps; i++) {
        if (node_of[i])
            build->nodes[++at].first = i;
        node_of[i] = at;
        build->nodes[at].count++;
    }
    node_of[steps] = RP_EXIT_NODE;
    uint32_t first = steps ? 2 : RP_EXIT_NODE;
    set_successors(build, &build->nodes[RP_ENTRY_NODE], &first, 1);
    for (uint32_t i = 2; i < count; i++)
        connect(build, &build->nodes[i], node_of);
}

void rp_flow_build(struct rp_builder *build)
{
    build->slot_variables = rp_map_create(build);
    struct rp_inline_frame *frame = rp_build_push(build, &build->frames, sizeof(*frame));
    *frame = (struct rp_inline_frame){.function = build->entry};
    build->variable_count = (uint32_t)build->entry->reg_count;
    lower_frame(build, 0);
    rp_slot_survey(build);
    build_nodes(build);
}
