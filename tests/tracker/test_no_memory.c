/* SPDX-License-Identifier: Apache-2.0 */
/* When the host is out of memory, an operation fails whole: what stood before still stands. */
#include "tests/scarce.h"
#include "tests/tracker/check.h"
#include "tracker/contract.h"
#include "tracker/memory.h"
#include "tracker/span.h"
#include "tracker/version.h"

#include <stdlib.h>
#include <string.h>

#define assert_ok(call) assert_int_equal(call, RP_OK)

/* Runs `call` with no memory, then with one allocation more each time, until it succeeds;
 * `unchanged` must hold after each failure. There must be a failure. */
#define ASSERT_FAILS_WHOLE(call, unchanged)                                                      \
    do {                                                                                         \
        enum rp_status status_ = RP_NO_MEMORY;                                                   \
        int allowed_ = 0;                                                                        \
        for (; status_ != RP_OK; allowed_++) {                                                   \
            scarce_allow(allowed_);                                                              \
            status_ = (call);                                                                    \
            scarce_allow(INT_MAX);                                                               \
            if (status_ != RP_OK) {                                                              \
                assert_int_equal(status_, RP_NO_MEMORY);                                         \
                unchanged;                                                                       \
            }                                                                                    \
        }                                                                                        \
        assert_true(allowed_ > 1);                                                               \
    } while (0)

/* Four spans with gaps, and no spare room. */
static struct rp_spans full_spans(uint64_t from)
{
    struct rp_spans set = {0};

    for (uint64_t i = 0; i < 4; i++)
        assert_ok(rp_spans_add(&set, from + i * 10, from + i * 10 + 5));
    assert_int_equal(set.count, set.capacity);
    return set;
}

static void assert_full(const struct rp_spans *set)
{
    assert_true(rp_spans_validate(set));
    assert_int_equal(set->count, 4);
    assert_int_equal(rp_spans_bytes(set), 20);
}

static void spans(void **state)
{
    (void)state;
    struct rp_spans set = full_spans(0), other = full_spans(7), out = {0};

    ASSERT_FAILS_WHOLE(rp_spans_add_all(&set, &other), assert_full(&set));
    rp_spans_release(&set);
    set = full_spans(0);
    ASSERT_FAILS_WHOLE(rp_spans_remove_all(&set, &other), assert_full(&set));
    rp_spans_release(&set);
    set = full_spans(0);
    ASSERT_FAILS_WHOLE(rp_spans_add(&set, 100, 101), assert_full(&set));
    rp_spans_release(&set);
    set = full_spans(0);
    ASSERT_FAILS_WHOLE(rp_spans_remove(&set, 1, 2), assert_full(&set));
    ASSERT_FAILS_WHOLE(rp_spans_copy(&out, &set), assert_int_equal(out.count, 0));
    rp_spans_release(&out);
    ASSERT_FAILS_WHOLE(rp_spans_within(&set, 0, 99, &out), assert_int_equal(out.count, 0));
    rp_spans_release(&out);
    ASSERT_FAILS_WHOLE(rp_spans_missing(&set, 0, 99, &out), assert_int_equal(out.count, 0));
    rp_spans_release(&out);
    rp_spans_release(&set);
    rp_spans_release(&other);
}

static void assert_memory(const struct rp_memory *memory, size_t live)
{
    assert_true(rp_memory_validate(memory));
    assert_int_equal(rp_memory_live_count(memory), live);
}

static void memory(void **state)
{
    (void)state;
    struct rp_memory *memory = NULL;
    rp_alloc_id id = 0;

    ASSERT_FAILS_WHOLE(rp_memory_create(&memory), assert_null(memory));
    for (uint64_t i = 0; i < 20; i++) { /* each growth of each array comes by */
        scarce_allow(0);
        assert_int_equal(
            rp_memory_add(memory, RP_ALLOC_GLOBAL, 64, 0x1000 + i * 128, 0, 1, "x", &id),
            RP_NO_MEMORY);
        scarce_allow(INT_MAX);
        ASSERT_FAILS_WHOLE(
            rp_memory_add(memory, RP_ALLOC_GLOBAL, 64, 0x1000 + i * 128, 0, 1, "x", &id),
            assert_memory(memory, i));
        assert_int_equal(rp_memory_get(memory, id)->nth, i); /* a failure is not a birth */
        assert_int_equal(id, i + 1);
    }
    /* Holes until one more needs room. */
    for (uint64_t i = 0; i < 40; i++) {
        scarce_allow(0);
        enum rp_status status = rp_memory_unmap(memory, 0x1000 + i % 20 * 128 + 8 + i, 1);
        scarce_allow(INT_MAX);
        assert_true(status == RP_OK || status == RP_NO_MEMORY);
        assert_true(rp_memory_validate(memory));
        assert_ok(rp_memory_unmap(memory, 0x1000 + i % 20 * 128 + 8 + i, 1));
    }
    rp_memory_destroy(memory);
}

static enum rp_status expect_version(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *by)
{
    (void)lo, (void)hi;
    assert_int_equal(by->version, *(const rp_version *)ctx);
    return RP_OK;
}

static void versions(void **state)
{
    (void)state;
    struct rp_versions *versions = NULL;
    struct rp_writer by = {.version = 1};
    rp_version zero = 0;

    ASSERT_FAILS_WHOLE(rp_versions_create(&versions), assert_null(versions));
    for (rp_alloc_id id = 1; id < 20; id++) {
        ASSERT_FAILS_WHOLE(
            rp_versions_write(versions, id, 0, 64, &by),
            assert_ok(rp_versions_read(versions, id, 0, 64, expect_version, &zero)));
        assert_true(rp_versions_validate(versions));
    }
    rp_versions_destroy(versions);
}

static void contract(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\":1,\"segments\":[{\"name\":\"s\",\"forward\":{\"launches\":{\"first\":\"a\","
        "\"last\":\"b\"}},\"replay\":{\"nvtx\":\"r\"}}],\"buffers\":[{\"name\":\"k\",\"at\":"
        "{\"kernel\":\"k\",\"param\":0}},{\"name\":\"g\",\"at\":{\"global\":\"g\"}}],\"policy\":"
        "\"p.json\",\"step\":{\"nvtx\":\"s\"},\"harmless\":[\"k\"]}";
    struct rp_contract *contract = NULL;
    char message[256] = "";
    int failures = 0;

    /* jansson takes a token that it has no room for as an error of syntax: either status. */
    for (enum rp_status status = RP_NO_MEMORY; status != RP_OK; failures++) {
        scarce_allow(failures);
        status = rp_contract_parse(text, sizeof(text) - 1, "c", &contract, message,
                                   sizeof(message));
        scarce_allow(INT_MAX);
        assert_true(status == RP_OK || status == RP_NO_MEMORY || status == RP_INVALID);
        assert_true(status == RP_OK || (contract == NULL && strncmp(message, "c:", 2) == 0));
    }
    assert_true(failures > 20);
    assert_string_equal(contract->harmless[0], "k");
    rp_contract_destroy(contract);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans),
        cmocka_unit_test(memory),
        cmocka_unit_test(versions),
        cmocka_unit_test(contract),
    };
    return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
