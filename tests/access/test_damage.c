/* SPDX-License-Identifier: Apache-2.0 */
/* Real kernels with lines lost, doubled, exchanged and registers mixed up: whatever still
 * parses is analysed and evaluated, with any parameters, without harm. */
#include "tests/access/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_LINES 4096

static uint64_t state_;

static uint32_t below(uint32_t limit)
{
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (uint32_t)(state_ >> 20) % limit;
}

/* One damage to the lines [first, last) of a kernel's body. */
static void damage(char **lines, uint32_t first, uint32_t last)
{
    uint32_t a = first + below(last - first), b = first + below(last - first);
    char *swap = lines[a], *digits;
    switch (below(5)) {
    case 0: lines[a] = lines[b]; break;
    case 1:
        lines[a] = lines[b];
        lines[b] = swap;
        break;
    case 2: { /* a branch turned round */
        char *at = strstr(lines[a], "@%p");
        if (at)
            memcpy(at, "@%p0", 3);
        break;
    }
    default: /* another register */
        digits = strpbrk(lines[a], "0123456789");
        if (digits && strchr(lines[a], '%'))
            *digits = (char)('0' + below(10));
    }
}

static void try_text(const char *text, size_t length, uint64_t *parsed)
{
    char message[160];
    struct rp_ptx_module *module;
    if (rp_ptx_parse(text, length, &module, message, sizeof(message)) != RP_OK)
        return;
    for (size_t i = 0; i < module->function_count; i++) {
        struct rp_proof *proof;
        struct rp_access_set set = {0};
        unsigned char params[CLAIM_PARAM_BYTES];
        if (!module->functions[i].is_entry)
            continue;
        assert_int_equal(rp_proof_build(module, &module->functions[i], &proof), RP_OK);
        for (int round = 0; round < 3; round++) {
            struct rp_launch launch = {.params = params, .param_bytes = sizeof(params)};
            for (int d = 0; d < 3; d++) {
                launch.grid[d] = 1 + below(round ? 9 : 1u << 20);
                launch.block[d] = 1 + below(d ? 3 : 1024);
            }
            for (size_t j = 0; j < sizeof(params); j++)
                params[j] = (unsigned char)(j % 4 && round ? 0 : below(256));
            assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
            for (size_t j = 0; j < set.count; j++)
                assert_true(set.items[j].lo <= set.items[j].hi);
        }
        rp_access_set_release(&set);
        rp_proof_destroy(proof);
        ++*parsed;
    }
    rp_ptx_destroy(module);
}

static void damage_file(const struct kernel_case *at, unsigned rounds, uint64_t *parsed)
{
    char path[512], *lines[MAX_LINES];
    size_t length;
    for (unsigned round = 0; round < rounds; round++) {
        char *text = claim_file(kernel_case_path(at, path), &length), *rest = text;
        text[length] = '\0';
        char *start = strstr(text, at->kernel);
        uint32_t count = 0, first = 0, last = 0;
        for (char *line; count < MAX_LINES && (line = strsep(&rest, "\n"));) {
            if (!first && line > start && line[0] == '{')
                first = count + 1;
            if (first && !last && line[0] == '}')
                last = count;
            lines[count++] = line;
        }
        for (unsigned i = 0; last > first && i <= below(6); i++)
            damage(lines, first, last);
        char *out = malloc(length * 4 + 16), *to = out;
        for (uint32_t i = 0; i < count && to < out + length * 3; i++)
            to = stpcpy(stpcpy(to, lines[i]), "\n");
        try_text(out, (size_t)(to - out), parsed);
        free(out);
        free(text);
    }
}

static void damaged_kernels_are_survived(void **state)
{
    (void)state;
    const char *seed = getenv("REPRISE_TEST_SEED"), *rounds = getenv("REPRISE_TEST_COUNT");
    uint64_t parsed = 0;
    state_ = seed ? strtoull(seed, NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)state_);
    for (size_t i = 0; i < kernel_case_count; i += rounds ? 1 : 4)
        damage_file(&kernel_cases[i], rounds ? (unsigned)atoi(rounds) : 8, &parsed);
    assert_true(parsed > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_kernels_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
