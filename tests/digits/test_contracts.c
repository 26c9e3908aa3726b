/* SPDX-License-Identifier: Apache-2.0 */
/* The contracts of the digits example say what its page says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tracker/contract.h"

#include <stdio.h>

static struct rp_contract *load(const char *name)
{
    struct rp_contract *contract = NULL;
    char path[4096], message[512] = "";
    snprintf(path, sizeof path, "%s/%s", DIGITS_SOURCE, name);
    if (rp_contract_load(path, &contract, message, sizeof message) != RP_OK)
        fail_msg("%s", message);
    assert_string_equal(contract->step_nvtx, "step");
    assert_int_equal(contract->policy, RP_POLICY_REGIONS);
    assert_int_equal(contract->on_violation, RP_VIOLATION_STOP);
    return contract;
}

static void check_nvtx_segments(const struct rp_contract *contract)
{
    assert_int_equal(contract->segment_count, 1);
    const struct rp_segment_rule *segment = &contract->segments[0];
    assert_int_equal(segment->pair, RP_PAIR_KEY);
    char forward[16], replay[16];
    assert_true(rp_glob_match(segment->forward.nvtx, "forward/block2", forward, sizeof forward));
    assert_true(rp_glob_match(segment->replay.nvtx, "recompute/block2", replay, sizeof replay));
    assert_string_equal(forward, replay);
    assert_false(rp_glob_match(segment->replay.nvtx, "backward/block2", NULL, 0));
    assert_false(rp_glob_match(segment->forward.nvtx, "head", NULL, 0));
}

static void test_declared(void **state)
{
    (void)state;
    struct rp_contract *contract = load("declared.json");
    check_nvtx_segments(contract);
    assert_int_equal(contract->state, RP_STATE_DECLARED);
    assert_int_equal(contract->buffer_count, 5);
    rp_contract_destroy(contract);
}

static void test_discovered(void **state)
{
    (void)state;
    struct rp_contract *contract = load("discovered.json");
    check_nvtx_segments(contract);
    assert_int_equal(contract->state, RP_STATE_DISCOVERED);
    assert_int_equal(contract->buffer_count, 0);
    rp_contract_destroy(contract);
}

static void test_launches(void **state)
{
    (void)state;
    struct rp_contract *contract = load("launches.json");
    assert_int_equal(contract->segment_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(contract->segments[i].forward.kind, RP_WHERE_LAUNCHES);
        assert_int_equal(contract->segments[i].forward.first_nth, i);
        assert_int_equal(contract->segments[i].replay.kind, RP_WHERE_REPEAT);
    }
    rp_contract_destroy(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_discovered),
        cmocka_unit_test(test_launches),
    };
    return cmocka_run_group_tests_name("digits contracts", tests, NULL, NULL);
}
