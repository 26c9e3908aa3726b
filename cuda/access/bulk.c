/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that go on beside the thread, by the copy engine. */
#include "cuda/access/touch.h"

static bool immediate(const struct rp_ptx_instruction *ptx, unsigned index, uint64_t *value)
{
    if (index >= ptx->operand_count || ptx->operands[index].kind != RP_PTX_OPERAND_IMM ||
        ptx->operands[index].is_float || ptx->operands[index].imm < 0)
        return false;
    *value = (uint64_t)ptx->operands[index].imm;
    return true;
}

/* cp.async [shared], [global], size {, how much of it is read} */
void rp_bulk_copy_async(const struct rp_translation *at)
{
    uint64_t size;
    if (!immediate(at->ptx, 2, &size))
        size = 16; /* the most there is */
    rp_touch_at(at, RP_READ, &at->ptx->operands[1], size)->certain = at->ptx->operand_count == 3;
}

/* By a tensor map: somewhere in its tensor, as far as it is a parameter of the kernel. Of no bytes:
 * the map itself is read, and that is all. */
static void touch_tensor(const struct rp_translation *at, enum rp_effect effect,
                         const struct rp_ptx_operand *map, uint64_t bytes)
{
    if (map->kind != RP_PTX_OPERAND_ADDRESS) {
        rp_touch_worst(at, effect, RP_VERDICT_EVERYTHING, "it copies through a strange tensor map");
        return;
    }
    struct rp_op op = {.kind = RP_OP_MAP, .bits = 64, .from = 64, .b = RP_NONE, .c = RP_NONE,
                       .block = at->node, .stage = 2};
    op.a = rp_touch_address(at, map, &op.imm);
    uint32_t address = rp_ssa_op(at->build, op);
    struct rp_touch *touch = rp_touch_add(at, effect);
    touch->address = address;
    touch->width = bytes;
    touch->verdict = RP_VERDICT_ROOT;
    touch->by_map = true;
    touch->certain = false;
    touch->reason = "it copies through a tensor map";
}

/* Bulk copies: of any size, by the copy engine, in either direction. With .cp_mask the bits of a
 * register choose which bytes of each 16 are written, with .ignore_oob some at the ends are not
 * read (PTX ISA, "cp.async.bulk"). */
void rp_bulk_copy(const struct rp_translation *at)
{
    const struct rp_ptx_instruction *ptx = at->ptx;
    bool writes = ptx->space == RP_PTX_GLOBAL, reduces = rp_ptx_has(ptx, "reduce");
    if (rp_ptx_has(ptx, "prefetch"))
        return;
    if (rp_ptx_has(ptx, "tensor")) {
        const struct rp_ptx_operand *map = &ptx->operands[writes ? 0 : 1];
        touch_tensor(at, RP_READ, map, !writes || reduces);
        if (writes || reduces)
            touch_tensor(at, RP_WRITE, map, 1);
        return;
    }
    if (!writes && !rp_ptx_has(ptx, "global"))
        return; /* within shared memory */
    uint64_t size;
    bool known = immediate(ptx, 2, &size) && size;
    bool is_certain = !rp_ptx_has(ptx, "cp_mask") && !rp_ptx_has(ptx, "ignore_oob");
    for (int i = 0; i < 2; i++) {
        bool is_write = i == 1;
        if (is_write ? !writes : writes && !reduces)
            continue;
        struct rp_touch *touch = rp_touch_at(at, is_write ? RP_WRITE : RP_READ,
                                             &ptx->operands[writes ? 0 : 1], known ? size : 1);
        touch->atomic = touch->updates = reduces;
        touch->certain = is_certain;
        if (!known && touch->verdict < RP_VERDICT_ROOT) {
            touch->verdict = RP_VERDICT_ROOT;
            touch->reason = "it copies a number of bytes that is not a constant";
        }
    }
}
