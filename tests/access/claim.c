/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/access/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

uint64_t claim_address(char letter)
{
    return UINT64_C(0x7f0000000000) + (uint64_t)(letter - 'A') * UINT64_C(0x1000000000);
}

/* Module globals stand at the place of the letter that their name ends with. */
static uint64_t find_symbol(void *ctx, const char *symbol, uint64_t *bytes)
{
    (void)ctx;
    *bytes = 1 << 20;
    char last = symbol[strlen(symbol) - 1];
    return last >= 'A' && last <= 'Z' ? claim_address(last) : 0;
}

void claim_params(const struct rp_ptx_function *entry, const char *words, const uint64_t roots[26],
                  unsigned char params[CLAIM_PARAM_BYTES])
{
    char copy[256], *rest = copy;
    memset(params, 0, CLAIM_PARAM_BYTES);
    snprintf(copy, sizeof(copy), "%s", words);
    for (size_t i = 0; i < entry->param_count; i++) {
        char *word = strtok_r(rest, " ", &rest);
        const struct rp_ptx_var *param = &entry->params[i];
        if (!word)
            fail_msg("%s: no word for parameter %zu", entry->name, i);
        for (uint64_t at = 0; at < param->bytes; at += 8) { /* a struct: its fields, 8 bytes each */
            uint64_t bits = 0;
            uint64_t bytes = param->bytes - at < 8 ? param->bytes - at : 8;
            float value = strtof(word + 1, NULL);
            if (at && !(word = strtok_r(rest, " ", &rest)))
                break;
            if (word[0] >= 'A' && word[0] <= 'Z')
                bits = roots ? roots[word[0] - 'A'] : claim_address(word[0]);
            else if (word[0] == 'f')
                memcpy(&bits, &value, sizeof(value));
            else
                bits = (uint64_t)strtoll(word, NULL, 0);
            memcpy(params + param->offset + at, &bits, bytes);
        }
    }
}

static char letter_of(uint64_t root)
{
    for (char letter = 'A'; letter <= 'Z'; letter++)
        if (root == claim_address(letter))
            return letter;
    return '?';
}

static struct claim claim_of(const struct rp_access *access)
{
    struct claim claim = {.effect = (enum rp_effect)access->effect, .atomic = access->atomic,
                          .verdict = (enum rp_verdict)access->verdict, .root = '*'};
    if (claim.verdict >= RP_VERDICT_REACHABLE)
        return claim;
    claim.root = letter_of(access->root);
    claim.lo = (int64_t)(access->lo - access->root);
    claim.hi = (int64_t)(access->hi - access->root);
    return claim;
}

static bool same(const struct claim *a, const struct claim *b)
{
    return a->effect == b->effect && a->root == b->root && a->verdict == b->verdict &&
           a->lo == b->lo && a->hi == b->hi && a->atomic == b->atomic;
}

static void print_claim(const char *what, const struct claim *claim)
{
    print_error("  %s: %s %c %s%s [%lld, %lld)\n", what,
                claim->effect == RP_WRITE ? "writes" : "reads", claim->root,
                rp_verdict_name(claim->verdict), claim->atomic ? " (atomic)" : "",
                (long long)claim->lo, (long long)claim->hi);
}

static bool compare(const struct rp_access_set *set, const struct claim *expected)
{
    bool met[CLAIM_MAX] = {false}, good = true;
    for (size_t i = 0; i < set->count; i++) {
        struct claim claim = claim_of(&set->items[i]);
        bool found = false;
        for (size_t j = 0; expected[j].effect && !found; j++)
            if (!met[j] && same(&claim, &expected[j]))
                found = met[j] = true;
        if (!found)
            print_claim("said, not expected", &claim);
        good &= found;
        assert_int_equal(set->items[i].exact, claim.verdict == RP_VERDICT_EXACT);
    }
    for (size_t j = 0; expected[j].effect; j++) {
        if (!met[j])
            print_claim("expected, not said", &expected[j]);
        good &= met[j];
    }
    return good;
}

void claim_check_launch(const struct rp_ptx_module *module, const char *kernel,
                        const struct rp_launch *launch, const struct claim *expected)
{
    struct rp_access_set set = {0};
    struct rp_proof *proof;
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, kernel), &proof), RP_OK);
    assert_int_equal(rp_proof_evaluate(proof, launch, find_symbol, NULL, &set), RP_OK);
    bool good = compare(&set, expected);
    enum rp_verdict highest[4] = {RP_VERDICT_NONE, RP_VERDICT_NONE, RP_VERDICT_NONE,
                                  RP_VERDICT_NONE};
    for (size_t i = 0; i < set.count; i++)
        if (set.items[i].verdict > highest[set.items[i].effect])
            highest[set.items[i].effect] = (enum rp_verdict)set.items[i].verdict;
    assert_int_equal(set.reads, highest[RP_READ]);
    assert_int_equal(set.writes, highest[RP_WRITE]);
    bool explained = set.reason ||
                     (set.reads <= RP_VERDICT_EXACT && set.writes <= RP_VERDICT_EXACT);
    rp_access_set_release(&set);
    rp_proof_destroy(proof);
    if (!good || !explained)
        fail_msg("%s is not what was expected", kernel);
}

void claim_check_knowing(const struct rp_ptx_module *module, const char *kernel,
                         struct claim_size grid, struct claim_size block, const char *words,
                         rp_known_fn known, void *known_ctx, const struct claim *expected)
{
    const struct rp_ptx_function *entry = rp_ptx_find(module, kernel);
    unsigned char params[CLAIM_PARAM_BYTES];
    if (!entry)
        fail_msg("there is no kernel %s", kernel);
    claim_params(entry, words, NULL, params);
    const struct rp_launch launch = {.grid = {grid.x, grid.y, grid.z},
                                     .block = {block.x, block.y, block.z},
                                     .params = params,
                                     .param_bytes = entry->param_bytes,
                                     .known = known, .known_ctx = known_ctx};
    claim_check_launch(module, kernel, &launch, expected);
}

void claim_check(const struct rp_ptx_module *module, const char *kernel, struct claim_size grid,
                 struct claim_size block, const char *words, const struct claim *expected)
{
    claim_check_knowing(module, kernel, grid, block, words, NULL, NULL, expected);
}

char *claim_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot read %s", path);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    assert_int_equal(fread(text, 1, *length, file), *length);
    fclose(file);
    return text;
}
