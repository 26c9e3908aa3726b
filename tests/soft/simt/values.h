/* SPDX-License-Identifier: Apache-2.0 */
/* Operand values: the edges of each type, and random ones; and text for generated PTX. */
#ifndef RP_TESTS_SIMT_VALUES_H
#define RP_TESTS_SIMT_VALUES_H

#include "tests/soft/simt/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum kind { K_no, K_u16, K_s16, K_u32, K_s32, K_u64, K_s64, K_f32, K_f64, K_f16, K_bf16,
            K_u8, K_s8, K_pred };

static const int width_of[] = {[K_no] = 0, [K_u16] = 2, [K_s16] = 2, [K_u32] = 4, [K_s32] = 4,
                               [K_u64] = 8, [K_s64] = 8, [K_f32] = 4, [K_f64] = 8, [K_f16] = 2,
                               [K_bf16] = 2, [K_u8] = 1, [K_s8] = 1, [K_pred] = 4};

static const u64 integer_edges[] = {
    0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff,
    0x10000, 0x5555, 0x123456, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
    0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe, 0xdeadbeefcafebabe,
    0x0123456789abcdef};
static const u32 f32_edges[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x3f000000, 0xbf000000, 0x40000000, 0x40490fdb,
    0x33800000, 0x33800001, 0xb3800000, 0x4b800000, 0x4b7fffff, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345, 0x7e800000, 0x7ec00000, 0x00ffffff, 0x3eaaaaab,
    0x43e00000, 0x43e80000, 0x43d70000, 0x47600000, 0x47700000, 0x3b000000, 0x3a800000, 0x477fefff,
    0x477ff000, 0x38800000, 0x387fc000, 0x33000000, 0x337fffff};
static const u64 f64_edges[] = {
    0, 0x8000000000000000, 1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
    0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0x3fefffffffffffff,
    0x4000000000000000, 0x400921fb54442d18, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8123456789abc,
    0x3ca0000000000000, 0x3ca0000000000001, 0x3fd5555555555555, 0x0350000000000000};
static const u16 f16_edges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3c00,
                                0xbc00, 0x3c01, 0x3bff, 0x3800, 0x4000, 0x4248, 0x7bff, 0xfbff,
                                0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x1400, 0x1000, 0x6c00, 0x0c00};
static const u16 bf16_edges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x8080, 0x3f80,
                                 0xbf80, 0x3f81, 0x3f7f, 0x3f00, 0x4000, 0x4049, 0x7f7f, 0xff7f,
                                 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x3b80, 0x0100, 0x7e80, 0x1f00};

static u64 random_state; /* printed as the seed */

static inline u64 random64(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    u64 x = random_state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#define PICK(table) (table)[random64() % (sizeof(table) / sizeof((table)[0]))]

/* Half of the values are edges, a quarter are near in magnitude, so that sums cancel. */
static inline u64 value_of_kind(enum kind kind)
{
    const u64 way = random64() % 4;
    switch ((int)kind) {
    case K_f32:
        return way < 2 ? PICK(f32_edges)
                       : way == 2 ? (random64() & 0x80ffffffu) | (u64)(0x3e + random64() % 3) << 24
                                  : (u32)random64();
    case K_f64:
        return way < 2 ? PICK(f64_edges)
               : way == 2 ? (random64() & 0x800fffffffffffffu) | (0x3fe + random64() % 4) << 52
                          : random64();
    case K_f16: return way < 2 ? PICK(f16_edges) : (u16)random64();
    case K_bf16: return way < 2 ? PICK(bf16_edges) : (u16)random64();
    default: return way < 2 ? PICK(integer_edges) : way == 2 ? random64() % 80 : random64();
    }
}

struct text { char *at; size_t length, capacity; };

__attribute__((format(printf, 2, 3))) static inline void add(struct text *text, const char *format,
                                                             ...)
{
    va_list args;
    va_start(args, format);
    if (text->capacity - text->length < 4096)
        text->at = realloc(text->at, text->capacity = 2 * text->capacity + 65536);
    assert_non_null(text->at);
    text->length += (size_t)vsprintf(text->at + text->length, format, args);
    va_end(args);
}

#endif
