/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report/slices.h"

static void put_varint(struct rp_builder *bytes, uint64_t value)
{
    while (value >= 0x80) {
        rp_builder_char(bytes, (char)(value | 0x80));
        value >>= 7;
    }
    rp_builder_char(bytes, (char)value);
}

static void put_difference(struct rp_builder *bytes, uint64_t value, uint64_t *last)
{
    uint64_t difference = value - *last;
    put_varint(bytes, difference << 1 ^ (0 - (difference >> 63)));
    *last = value;
}

void rp_slices_add(struct rp_slices *slices, const struct rp_slice *slice)
{
    put_difference(&slices->bytes, slice->start_ns, &slices->last_start);
    put_varint(&slices->bytes, slice->duration_ns);
    put_varint(&slices->bytes, slice->track);
    put_varint(&slices->bytes, slice->name);
    put_difference(&slices->bytes, slice->id, &slices->last_id);
    slices->count++;
}

void rp_slices_release(struct rp_slices *slices)
{
    rp_builder_release(&slices->bytes);
    *slices = (struct rp_slices){0};
}

void rp_builder_base64(struct rp_builder *out, const void *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;

    rp_builder_char(out, '"');
    for (; count > 0; at += 3) {
        size_t taken = count < 3 ? count : 3;
        uint32_t group = (uint32_t)at[0] << 16 | (taken > 1 ? (uint32_t)at[1] << 8 : 0) |
                         (taken > 2 ? at[2] : 0u);
        const char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                              taken > 1 ? digits[group >> 6 & 63] : '=',
                              taken > 2 ? digits[group & 63] : '='};
        rp_builder_add(out, text, 4);
        count -= taken;
    }
    rp_builder_char(out, '"');
}
