/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/simt/opcodes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Widths by the type names of the rows. */
enum { w_u16 = 2, w_s16 = 2, w_u32 = 4, w_s32 = 4, w_f32 = 4, w_u64 = 8, w_s64 = 8, w_f64 = 8 };

const struct simt_signature simt_signatures[] = {
#define OP1(id, TD, TA, ...) {#id, SIMT_LOOP, {w_##TD, w_##TA, 0, 0, 0}},
#define OP2(id, TD, TA, TB, ...) {#id, SIMT_LOOP, {w_##TD, w_##TA, w_##TB, 0, 0}},
#define OP3(id, TD, TA, TB, TC, ...) {#id, SIMT_LOOP, {w_##TD, w_##TA, w_##TB, w_##TC, 0}},
#define OP4(id, TD, TA, TB, TC, TE, ...)                                                        \
    {#id, SIMT_LOOP, {w_##TD, w_##TA, w_##TB, w_##TC, w_##TE}},
#define COLD1 OP1
#define COLD2 OP2
#define COLD3 OP3
#define SELECT(id, T) {#id, SIMT_LOOP, {w_##T, w_##T, w_##T, 1, 0}},
#define COMPARE(id, T, ...) {#id, SIMT_LOOP, {1, w_##T, w_##T, 0, 0}},
#define PREDICATE(id, ...) {#id, SIMT_LOOP, {1, 1, 1, 0, 0}},
#define CUSTOM(id, control) {#id, SIMT_##control, {0, 0, 0, 0, 0}},
#define SCALAR(id, control) {#id, SIMT_##control, {0, 0, 0, 0, 0}},
#define KEY(text, id)
#include "cuda/soft/simt/all.def"
};

static struct key {
    const char *text;
    int opcode;
} keys[] = {
#define OP1(id, ...)
#define OP2(id, ...)
#define OP3(id, ...)
#define OP4(id, ...)
#define COLD1(id, ...)
#define COLD2(id, ...)
#define COLD3(id, ...)
#define SELECT(id, T)
#define COMPARE(id, ...)
#define PREDICATE(id, ...)
#define CUSTOM(id, control)
#define SCALAR(id, control)
#define KEY(text, id) {text, SIMT_OP_##id},
#include "cuda/soft/simt/all.def"
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    return strcmp(x->text, y->text);
}

static void sort_keys(void)
{
    qsort(keys, sizeof keys / sizeof keys[0], sizeof keys[0], compare_keys);
}

int simt_opcode_find(const char *spelling)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sort_keys);
    const struct key wanted = {.text = spelling};
    const struct key *found = bsearch(&wanted, keys, sizeof keys / sizeof keys[0],
                                      sizeof keys[0], compare_keys);
    return found ? found->opcode : -1;
}
