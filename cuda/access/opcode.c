/* SPDX-License-Identifier: Apache-2.0 */
/* The allow-list: what each PTX opcode does to memory. What is not here may do anything. */
#include "cuda/access/build.h"

#include <stdlib.h>
#include <string.h>

static const struct opcode {
    const char *name;
    enum rp_opcode_class class_;
} opcodes[] = { /* sorted */
    {"abs", RP_CLASS_ABS}, {"activemask", RP_CLASS_PURE}, {"add", RP_CLASS_ADD},
    {"addc", RP_CLASS_PURE}, {"alloca", RP_CLASS_PURE}, {"and", RP_CLASS_AND},
    {"applypriority", RP_CLASS_SYNC}, {"atom", RP_CLASS_ATOMIC}, {"bar", RP_CLASS_SYNC},
    {"barrier", RP_CLASS_SYNC}, {"bfe", RP_CLASS_BFE}, {"bfi", RP_CLASS_BFI},
    {"bfind", RP_CLASS_PURE}, {"bmsk", RP_CLASS_PURE}, {"bra", RP_CLASS_FLOW},
    {"brev", RP_CLASS_PURE}, {"brkpt", RP_CLASS_SYNC}, {"brx", RP_CLASS_FLOW},
    {"call", RP_CLASS_FLOW}, {"clz", RP_CLASS_PURE}, {"cnot", RP_CLASS_PURE},
    {"copysign", RP_CLASS_PURE}, {"cos", RP_CLASS_PURE}, {"cp", RP_CLASS_COPY_ASYNC},
    {"createpolicy", RP_CLASS_PURE}, {"cvt", RP_CLASS_CONVERT}, {"cvta", RP_CLASS_CVTA},
    {"discard", RP_CLASS_EVERYTHING}, {"div", RP_CLASS_DIV}, {"dp2a", RP_CLASS_PURE},
    {"dp4a", RP_CLASS_PURE}, {"elect", RP_CLASS_PURE}, {"ex2", RP_CLASS_PURE},
    {"exit", RP_CLASS_FLOW}, {"fence", RP_CLASS_SYNC}, {"fma", RP_CLASS_PURE},
    {"fns", RP_CLASS_PURE}, {"getctarank", RP_CLASS_PURE}, {"griddepcontrol", RP_CLASS_SYNC},
    {"isspacep", RP_CLASS_PURE}, {"istypep", RP_CLASS_PURE}, {"ld", RP_CLASS_LOAD},
    {"ldmatrix", RP_CLASS_SHARED}, {"ldu", RP_CLASS_LOAD}, {"lg2", RP_CLASS_PURE},
    {"lop3", RP_CLASS_PURE}, {"mad", RP_CLASS_MAD}, {"mad24", RP_CLASS_PURE},
    {"madc", RP_CLASS_PURE}, {"mapa", RP_CLASS_PURE}, {"match", RP_CLASS_PURE},
    {"max", RP_CLASS_MAX}, {"mbarrier", RP_CLASS_SHARED}, {"membar", RP_CLASS_SYNC},
    {"min", RP_CLASS_MIN}, {"mma", RP_CLASS_PURE}, {"mov", RP_CLASS_MOVE},
    {"movmatrix", RP_CLASS_PURE}, {"mul", RP_CLASS_MUL}, {"mul24", RP_CLASS_PURE},
    {"multimem", RP_CLASS_EVERYTHING}, {"nanosleep", RP_CLASS_SYNC}, {"neg", RP_CLASS_NEG},
    {"not", RP_CLASS_NOT}, {"or", RP_CLASS_OR}, {"pmevent", RP_CLASS_SYNC},
    {"popc", RP_CLASS_PURE}, {"prefetch", RP_CLASS_SYNC}, {"prefetchu", RP_CLASS_SYNC},
    {"prmt", RP_CLASS_PURE}, {"rcp", RP_CLASS_PURE}, {"red", RP_CLASS_REDUCE},
    {"redux", RP_CLASS_PURE}, {"rem", RP_CLASS_REM}, {"ret", RP_CLASS_FLOW},
    {"rsqrt", RP_CLASS_PURE}, {"sad", RP_CLASS_PURE}, {"selp", RP_CLASS_SELECT},
    {"set", RP_CLASS_PURE}, {"setmaxnreg", RP_CLASS_SYNC}, {"setp", RP_CLASS_COMPARE},
    {"shf", RP_CLASS_PURE}, {"shfl", RP_CLASS_PURE}, {"shl", RP_CLASS_SHL},
    {"shr", RP_CLASS_SHR}, {"sin", RP_CLASS_PURE}, {"slct", RP_CLASS_PURE},
    {"sqrt", RP_CLASS_PURE}, {"st", RP_CLASS_STORE}, {"stackrestore", RP_CLASS_SYNC},
    {"stacksave", RP_CLASS_PURE}, {"stmatrix", RP_CLASS_SHARED}, {"sub", RP_CLASS_SUB},
    {"subc", RP_CLASS_PURE}, {"suld", RP_CLASS_TEXTURE}, {"suq", RP_CLASS_PURE},
    {"sured", RP_CLASS_EVERYTHING}, {"sust", RP_CLASS_EVERYTHING}, {"szext", RP_CLASS_PURE},
    {"tanh", RP_CLASS_PURE}, {"tensormap", RP_CLASS_EVERYTHING}, {"testp", RP_CLASS_PURE},
    {"tex", RP_CLASS_TEXTURE}, {"tld4", RP_CLASS_TEXTURE}, {"trap", RP_CLASS_FLOW},
    {"txq", RP_CLASS_PURE}, {"vabsdiff", RP_CLASS_PURE}, {"vabsdiff2", RP_CLASS_PURE},
    {"vabsdiff4", RP_CLASS_PURE}, {"vadd", RP_CLASS_PURE}, {"vadd2", RP_CLASS_PURE},
    {"vadd4", RP_CLASS_PURE}, {"vavrg2", RP_CLASS_PURE}, {"vavrg4", RP_CLASS_PURE},
    {"vmad", RP_CLASS_PURE}, {"vmax", RP_CLASS_PURE}, {"vmax2", RP_CLASS_PURE},
    {"vmax4", RP_CLASS_PURE}, {"vmin", RP_CLASS_PURE}, {"vmin2", RP_CLASS_PURE},
    {"vmin4", RP_CLASS_PURE}, {"vote", RP_CLASS_PURE}, {"vset", RP_CLASS_PURE},
    {"vset2", RP_CLASS_PURE}, {"vset4", RP_CLASS_PURE}, {"vshl", RP_CLASS_PURE},
    {"vshr", RP_CLASS_PURE}, {"vsub", RP_CLASS_PURE}, {"vsub2", RP_CLASS_PURE},
    {"vsub4", RP_CLASS_PURE}, {"wgmma", RP_CLASS_PURE}, {"wmma", RP_CLASS_PURE},
    {"xor", RP_CLASS_XOR},
};

static int compare_name(const void *key, const void *item)
{
    return strcmp(key, ((const struct opcode *)item)->name);
}

/* cp.async is a copy into shared memory; its relatives go both ways or touch nothing. */
static enum rp_opcode_class copy_class(const struct rp_ptx_instruction *ptx)
{
    if (rp_ptx_has(ptx, "commit_group") || rp_ptx_has(ptx, "wait_group") ||
        rp_ptx_has(ptx, "wait_all"))
        return RP_CLASS_SYNC;
    if (rp_ptx_has(ptx, "noinc") || (ptx->modifier_count > 1 &&
                                     !strcmp(ptx->modifiers[1], "mbarrier")))
        return RP_CLASS_SHARED;
    if (!rp_ptx_has(ptx, "async"))
        return RP_CLASS_UNKNOWN;
    return rp_ptx_has(ptx, "bulk") ? RP_CLASS_BULK : RP_CLASS_COPY_ASYNC;
}

enum rp_opcode_class rp_opcode_class(const struct rp_ptx_instruction *ptx)
{
    const struct opcode *found = bsearch(ptx->op, opcodes, sizeof(opcodes) / sizeof(opcodes[0]),
                                         sizeof(opcodes[0]), compare_name);
    if (!found)
        return RP_CLASS_UNKNOWN;
    if (found->class_ == RP_CLASS_COPY_ASYNC)
        return copy_class(ptx);
    bool is_wmma = !strcmp(ptx->op, "wmma");
    if (is_wmma && rp_ptx_has(ptx, "load"))
        return RP_CLASS_MATRIX_LOAD;
    if (is_wmma && rp_ptx_has(ptx, "store"))
        return RP_CLASS_MATRIX_STORE;
    /* the forms of a barrier that reduce have a result */
    if (found->class_ == RP_CLASS_SYNC && rp_ptx_has(ptx, "red"))
        return RP_CLASS_PURE;
    return found->class_;
}
