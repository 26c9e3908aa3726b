/* SPDX-License-Identifier: Apache-2.0 */
/* Training kernels on the software device, with its oracle on: what they touch is what was
 * claimed. */
#include "tests/access/cases.h"
#include "tests/soft/simt/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BUFFER_BYTES (1u << 20)
#define LETTERS 12

struct touched { /* a mark for each byte of a buffer */
    unsigned char *buffers[LETTERS];
    unsigned char *marks[2][LETTERS]; /* read, written */
};

static void note_one(struct touched *touched, const struct simt_touch *touch)
{
    for (int i = 0; i < LETTERS; i++) {
        uint64_t offset = touch->address - (uint64_t)(uintptr_t)touched->buffers[i];
        if (touched->buffers[i] && offset < BUFFER_BYTES)
            memset(touched->marks[touch->is_write][i] + offset, 1, touch->bytes);
    }
}

static void note(void *ctx, const struct simt_touch *touches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        note_one(ctx, &touches[i]);
}

/* Small numbers, whether they are read as 32 or as 64 bits: some are used as indices. */
static void fill(unsigned char *buffer)
{
    uint32_t *words = (uint32_t *)buffer;
    for (size_t i = 0; i < BUFFER_BYTES / 4; i++)
        words[i] = i % 2 ? 0 : (uint32_t)(i / 2 % 7);
}

static const struct rp_access *holder(const struct rp_access_set *set, enum rp_effect effect,
                                      uint64_t address, uint64_t base)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct rp_access *access = &set->items[i];
        bool in_root = access->verdict == RP_VERDICT_ROOT && access->root >= base &&
                       access->root < base + BUFFER_BYTES;
        if (access->effect == effect &&
            (in_root || access->verdict > RP_VERDICT_ROOT ||
             (access->lo <= address && address < access->hi)))
            return access;
    }
    return NULL;
}

static void compare(const char *kernel, const struct touched *touched,
                    const struct rp_access_set *set)
{
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < LETTERS; i++) {
            uint64_t base = (uint64_t)(uintptr_t)touched->buffers[i];
            for (uint64_t at = 0; base && at < BUFFER_BYTES; at++)
                if (touched->marks[side][i][at] &&
                    !holder(set, side ? RP_WRITE : RP_READ, base + at, base))
                    fail_msg("%s %s %c + %llu", kernel, side ? "writes" : "reads", 'A' + i,
                             (unsigned long long)at);
        }
    for (size_t j = 0; j < set->count; j++) {
        const struct rp_access *access = &set->items[j];
        for (uint64_t at = access->lo; access->exact && at < access->hi; at++) {
            bool met = false;
            for (int i = 0; i < LETTERS && !met; i++) {
                uint64_t offset = at - (uint64_t)(uintptr_t)touched->buffers[i];
                met = touched->buffers[i] && offset < BUFFER_BYTES &&
                      touched->marks[access->effect == RP_WRITE][i][offset];
            }
            if (!met)
                fail_msg("%s does not %s byte %llu of parameter %u", kernel,
                         access->effect == RP_WRITE ? "write" : "read",
                         (unsigned long long)(at - access->root), access->root_param);
        }
    }
}

static void run_case(const struct kernel_case *at)
{
    char path[512];
    struct rig rig;
    struct touched touched = {{NULL}, {{NULL}}};
    uint64_t roots[26] = {0};
    unsigned char params[CLAIM_PARAM_BYTES];
    const void *args[64];
    rig_open_file(&rig, kernel_case_path(at, path), 1);
    for (const char *word = at->words; *word; word++)
        if (*word >= 'A' && *word < 'A' + LETTERS && !touched.buffers[*word - 'A']) {
            int i = *word - 'A';
            touched.buffers[i] = rig_buffer(&rig, BUFFER_BYTES);
            fill(touched.buffers[i]);
            roots[i] = (uint64_t)(uintptr_t)touched.buffers[i];
            for (int side = 0; side < 2; side++)
                touched.marks[side][i] = calloc(1, BUFFER_BYTES);
        }
    const struct rp_ptx_function *entry = rp_ptx_find(rig.ptx, at->kernel);
    claim_params(entry, at->words, roots, params);
    for (size_t i = 0; i < entry->param_count; i++)
        args[i] = params + entry->params[i].offset;

    struct rp_proof *proof;
    struct rp_access_set set = {0};
    struct rp_launch launch = {.grid = {at->grid.x, at->grid.y, at->grid.z},
                               .block = {at->block.x, at->block.y, at->block.z},
                               .params = params, .param_bytes = entry->param_bytes};
    assert_int_equal(rp_proof_build(rig.ptx, entry, &proof), RP_OK);
    assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
    rig.options.oracle = note;
    rig.options.oracle_ctx = &touched;
    rig.options.dynamic_shared_bytes = 4096;
    rig_run(&rig, at->kernel, (struct rig_size){at->grid.x, at->grid.y, at->grid.z},
            (struct rig_size){at->block.x, at->block.y, at->block.z}, args);
    compare(at->kernel, &touched, &set);
    rp_access_set_release(&set);
    rp_proof_destroy(proof);
    for (int i = 0; i < LETTERS; i++)
        for (int side = 0; side < 2; side++)
            free(touched.marks[side][i]);
    rig_close(&rig);
}

static void training_kernels_touch_what_was_claimed(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_case_count; i++)
        run_case(&kernel_cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_kernels_touch_what_was_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
