/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx/internal.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t bytes;
} types[RP_PTX_TYPE_COUNT] = {
    [RP_PTX_NONE] = {"", 0},       [RP_PTX_B8] = {"b8", 1},         [RP_PTX_B16] = {"b16", 2},
    [RP_PTX_B32] = {"b32", 4},     [RP_PTX_B64] = {"b64", 8},       [RP_PTX_B128] = {"b128", 16},
    [RP_PTX_U8] = {"u8", 1},       [RP_PTX_U16] = {"u16", 2},       [RP_PTX_U32] = {"u32", 4},
    [RP_PTX_U64] = {"u64", 8},     [RP_PTX_S8] = {"s8", 1},         [RP_PTX_S16] = {"s16", 2},
    [RP_PTX_S32] = {"s32", 4},     [RP_PTX_S64] = {"s64", 8},       [RP_PTX_F16] = {"f16", 2},
    [RP_PTX_F16X2] = {"f16x2", 4}, [RP_PTX_BF16] = {"bf16", 2},     [RP_PTX_BF16X2] = {"bf16x2", 4},
    [RP_PTX_TF32] = {"tf32", 4},   [RP_PTX_E4M3X2] = {"e4m3x2", 2}, [RP_PTX_E5M2X2] = {"e5m2x2", 2},
    [RP_PTX_F32] = {"f32", 4},     [RP_PTX_F64] = {"f64", 8},       [RP_PTX_PRED] = {"pred", 0},
    [RP_PTX_S8X4] = {"s8x4", 4},   [RP_PTX_U8X4] = {"u8x4", 4},
};

uint32_t rp_ptx_type_bytes(enum rp_ptx_type type)
{
    return (unsigned)type < RP_PTX_TYPE_COUNT ? types[type].bytes : 0;
}

const char *rp_ptx_type_name(enum rp_ptx_type type)
{
    return (unsigned)type < RP_PTX_TYPE_COUNT ? types[type].name : "";
}

static bool equals(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && !memcmp(text, name, length);
}

enum rp_ptx_type rp_ptx_type_named(const char *text, size_t length)
{
    if (length < 2 || length > 6 || !strchr("busfetp", text[0]))
        return RP_PTX_NONE;
    for (int type = RP_PTX_NONE + 1; type < RP_PTX_TYPE_COUNT; type++)
        if (equals(text, length, types[type].name))
            return (enum rp_ptx_type)type;
    return RP_PTX_NONE;
}

/* `shared::cta`, `param::func` and the like are the space before the colons. */
enum rp_ptx_space rp_ptx_space_named(const char *text, size_t length)
{
    static const struct {
        const char *name;
        enum rp_ptx_space space;
    } spaces[] = {
        {"global", RP_PTX_GLOBAL}, {"shared", RP_PTX_SHARED}, {"local", RP_PTX_LOCAL},
        {"param", RP_PTX_PARAM},   {"const", RP_PTX_CONST},   {"reg", RP_PTX_REG},
        {"sreg", RP_PTX_SREG},
    };
    const char *colon = memchr(text, ':', length);
    if (colon)
        length = (size_t)(colon - text);
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (equals(text, length, spaces[i].name))
            return spaces[i].space;
    return RP_PTX_GENERIC;
}

/* Predefined names that have a value of their own in enum rp_ptx_sreg. */
static const struct {
    const char *name;
    enum rp_ptx_sreg sreg;
} named_sregs[] = {
    {"%tid.x", RP_PTX_TID_X}, {"%tid.y", RP_PTX_TID_Y}, {"%tid.z", RP_PTX_TID_Z},
    {"%ntid.x", RP_PTX_NTID_X}, {"%ntid.y", RP_PTX_NTID_Y}, {"%ntid.z", RP_PTX_NTID_Z},
    {"%ctaid.x", RP_PTX_CTAID_X}, {"%ctaid.y", RP_PTX_CTAID_Y}, {"%ctaid.z", RP_PTX_CTAID_Z},
    {"%nctaid.x", RP_PTX_NCTAID_X}, {"%nctaid.y", RP_PTX_NCTAID_Y}, {"%nctaid.z", RP_PTX_NCTAID_Z},
    {"%laneid", RP_PTX_LANEID}, {"%warpid", RP_PTX_WARPID}, {"%nwarpid", RP_PTX_NWARPID},
    {"%smid", RP_PTX_SMID}, {"%nsmid", RP_PTX_NSMID}, {"%gridid", RP_PTX_GRIDID},
    {"%clock", RP_PTX_CLOCK}, {"%clock_hi", RP_PTX_CLOCK_HI}, {"%clock64", RP_PTX_CLOCK64},
    {"%globaltimer", RP_PTX_GLOBALTIMER}, {"%globaltimer_lo", RP_PTX_GLOBALTIMER_LO},
    {"%globaltimer_hi", RP_PTX_GLOBALTIMER_HI}, {"%lanemask_eq", RP_PTX_LANEMASK_EQ},
    {"%lanemask_lt", RP_PTX_LANEMASK_LT}, {"%lanemask_le", RP_PTX_LANEMASK_LE},
    {"%lanemask_gt", RP_PTX_LANEMASK_GT}, {"%lanemask_ge", RP_PTX_LANEMASK_GE},
    {"%dynamic_smem_size", RP_PTX_DYNAMIC_SMEM_SIZE}, {"%total_smem_size", RP_PTX_TOTAL_SMEM_SIZE},
    {"%envreg1", RP_PTX_ENVREG1}, {"%envreg2", RP_PTX_ENVREG2},
};

/* The rest: known, so that a misspelt register is not taken for one, but without a number.
 * A trailing '#' stands for digits. */
static const char *const other_sregs[] = {
    "%tid", "%ntid", "%ctaid", "%nctaid", "%envreg#", "%pm#", "%pm#_64", "%aggr_smem_size",
    "%reserved_smem_offset_begin", "%reserved_smem_offset_end", "%reserved_smem_offset_cap",
    "%reserved_smem_offset_#", "%is_explicit_cluster", "%current_graph_exec",
    "%clusterid", "%clusterid.x", "%clusterid.y", "%clusterid.z",
    "%nclusterid", "%nclusterid.x", "%nclusterid.y", "%nclusterid.z",
    "%cluster_ctaid", "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z",
    "%cluster_nctaid", "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
    "%cluster_ctarank", "%cluster_nctarank",
};

static bool matches(const char *text, size_t length, const char *pattern)
{
    size_t i = 0;
    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (i >= length || text[i++] != *pattern)
                return false;
            continue;
        }
        size_t first = i;
        while (i < length && text[i] >= '0' && text[i] <= '9')
            i++;
        if (i == first)
            return false;
    }
    return i == length;
}

bool rp_ptx_sreg_named(const char *text, size_t length, enum rp_ptx_sreg *sreg)
{
    if (!length || text[0] != '%')
        return false;
    for (size_t i = 0; i < sizeof(named_sregs) / sizeof(named_sregs[0]); i++)
        if (equals(text, length, named_sregs[i].name)) {
            *sreg = named_sregs[i].sreg;
            return true;
        }
    *sreg = RP_PTX_SREG_OTHER;
    for (size_t i = 0; i < sizeof(other_sregs) / sizeof(other_sregs[0]); i++)
        if (matches(text, length, other_sregs[i]))
            return true;
    return false;
}
