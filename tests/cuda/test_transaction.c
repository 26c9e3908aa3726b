/* SPDX-License-Identifier: Apache-2.0 */
/* The laws of a transaction. */
#include "world.h"

static void the_replay_sees_its_past(void **state)
{
    (void)state;
    unsigned char seen[BYTES];
    struct world world = begin_world();
    settle(&world);
    job_writes(&world, 1, 0, BYTES, 'p');
    rp_version past = world.version;
    preserve(&world, 8, 24, 1);
    job_writes(&world, 1, 8, 24, 'n');
    struct rp_transaction *transaction = begin_replay(&world, 1);
    assert_int_equal(version_at(&world, 8), past);
    job_reads(&world, 1, seen);
    end_replay(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'p');
    end_world(&world);
}

static void it_leaves_no_trace(void **state)
{
    (void)state;
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 8, 24, 1);
    job_writes(&world, 1, 8, 24, 'n');
    rp_version now = world.version;
    struct rp_transaction *transaction = begin_replay(&world, 1);
    assert_int_equal(rp_transaction_stash(transaction, world.id, 30, 40, 1), RP_OK);
    job_writes(&world, 1, 8, 40, 'r'); /* the replay steps the state once more */
    end_replay(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(world.live, 0, 8, 'a');
    assert_bytes(world.live, 8, 24, 'n');
    assert_bytes(world.live, 24, 30, 'r'); /* its output: not stashed, so it stays */
    assert_bytes(world.live, 30, 40, 'a');
    assert_int_equal(version_at(&world, 8), now);
    assert_int_equal(version_at(&world, 30), 0);
    end_world(&world);
}

static void live_writes_survive(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world = begin_world();
        settle(&world);
        preserve(&world, 0, 32, 1);
        job_writes(&world, 1, 0, 32, 'n');
        struct rp_transaction *transaction = begin_replay(&world, 1);
        /* A gradient arrives in another stream while the bytes around it are rewound. */
        assert_int_equal(rp_transaction_join(transaction, 2), RP_OK);
        assert_int_equal(rp_transaction_live_write(transaction, world.id, 10, 20), RP_OK);
        job_writes(&world, 2, 10, 20, 'g');
        end_replay(transaction);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(world.live, 0, 10, 'n');
        assert_bytes(world.live, 10, 20, 'g');
        assert_bytes(world.live, 20, 32, 'n');
        end_world(&world);
    }
}

static void the_stash_waits_for_writers_in_other_streams(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world = begin_world();
        settle(&world);
        preserve(&world, 0, BYTES, 2);
        job_writes(&world, 2, 0, BYTES, 'n');
        /* Nothing orders stream 1 after stream 2 but we ourselves. */
        end_replay(begin_replay(&world, 1));
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(world.live, 0, BYTES, 'n');
        end_world(&world);
    }
}

static void a_replay_may_use_several_streams(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned char seen[BYTES], after[BYTES];
        struct world world = begin_world();
        settle(&world);
        preserve(&world, 0, BYTES, 1);
        job_writes(&world, 1, 0, BYTES, 'n');
        struct rp_transaction *transaction = begin_replay(&world, 1);
        assert_int_equal(rp_transaction_join(transaction, 3), RP_OK);
        job_reads(&world, 3, seen);
        end_replay(transaction);
        job_reads(&world, 3, after);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(seen, 0, BYTES, 'a');
        assert_bytes(after, 0, BYTES, 'n');
        end_world(&world);
    }
}

static void a_full_device_rolls_back(void **state)
{
    (void)state;
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 0, 32, 1);
    preserve(&world, 32, BYTES, 1);
    job_writes(&world, 1, 0, BYTES, 'n');
    rp_version now = world.version;
    /* Fill the store, so that the transaction's second stash finds no room. */
    rp_store_limit(world.bench.store, rp_store_reserved(world.bench.store));
    struct rp_block filler[4096];
    size_t count = 0;
    while (count < 4096 && rp_store_take(world.bench.store, 256, 1, &filler[count]) == RP_OK)
        count++;
    assert_in_range(count, 1, 4095);
    rp_store_give(world.bench.store, &filler[--count], 1);
    struct rp_transaction *transaction;
    assert_int_equal(rp_transaction_begin(&world.bench, world.kept, NULL, NULL, 1, &transaction),
                     RP_NO_MEMORY);
    rp_host_run(world.host, 1);
    assert_bytes(world.live, 0, BYTES, 'n');
    assert_int_equal(version_at(&world, 0), now);
    assert_int_equal(version_at(&world, BYTES - 1), now);
    end_world(&world);
}

static int copies_left;

static enum rp_status refused_copy(void *self, rp_device_ptr to, rp_device_ptr from, uint64_t bytes,
                                   rp_stream stream)
{
    (void)self, (void)to, (void)from, (void)bytes, (void)stream;
    return copies_left-- > 0 ? RP_OK : RP_NO_MEMORY;
}

/* Its bytes are not what they were then: for want of memory alone nothing would have changed. */
static void a_way_back_that_fails_is_told(void **state)
{
    (void)state;
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 0, 32, 1);
    preserve(&world, 32, BYTES, 1);
    job_writes(&world, 1, 0, BYTES, 'n');
    world.driver.copy = refused_copy;
    copies_left = 2; /* the first part is stashed and restored */
    struct rp_transaction *transaction;
    assert_int_equal(rp_transaction_begin(&world.bench, world.kept, NULL, NULL, 1, &transaction),
                     RP_IO);
    end_world(&world);
}

static void the_dead_are_not_restored(void **state)
{
    (void)state;
    struct world world = begin_world();
    settle(&world);
    preserve(&world, 0, BYTES, 1);
    job_writes(&world, 1, 0, BYTES, 'n');
    assert_int_equal(rp_memory_free(world.bench.memory, world.id, 9), RP_OK);
    /* Its address is another allocation's now; nothing of the old one may reach it. */
    rp_alloc_id heir;
    assert_int_equal(rp_memory_add(world.bench.memory, RP_ALLOC_DEVICE, BYTES,
                                   (uintptr_t)world.live, 0, 10, NULL, &heir),
                     RP_OK);
    end_replay(begin_replay(&world, 1));
    rp_host_run(world.host, 1);
    assert_bytes(world.live, 0, BYTES, 'n');
    end_world(&world);
}

static void aliases_are_one_place(void **state)
{
    (void)state;
    unsigned char seen[BYTES];
    struct world world = begin_world();
    settle(&world);
    /* The same storage in two mappings that meet in the middle. */
    uint64_t base = (uintptr_t)world.live;
    assert_int_equal(rp_memory_unmap(world.bench.memory, base, BYTES), RP_OK);
    assert_int_equal(rp_memory_map(world.bench.memory, base, 40, world.id, 0), RP_OK);
    assert_int_equal(rp_memory_map(world.bench.memory, base + 40, BYTES - 40, world.id, 40), RP_OK);
    preserve(&world, 30, 50, 1);
    job_writes(&world, 1, 30, 50, 'n');
    struct rp_transaction *transaction = begin_replay(&world, 1);
    job_reads(&world, 1, seen);
    end_replay(transaction);
    rp_host_run(world.host, 1);
    assert_bytes(seen, 0, BYTES, 'a');
    assert_bytes(world.live, 30, 50, 'n');
    end_world(&world);
}

/* A second instance wants what the first one's transaction has stashed: it gets its own copy,
 * of just the versions that it expects. */
static void the_stash_serves_other_instances(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world = begin_world();
        struct rp_kept *other;
        struct rp_versions *expected;
        struct rp_spans handed = {0};
        settle(&world);
        assert_int_equal(rp_kept_create(&other), RP_OK);
        assert_int_equal(rp_versions_create(&expected), RP_OK);
        preserve(&world, 0, 32, 1);
        job_writes(&world, 1, 0, 32, 'n');
        const struct rp_writer wanted = {.version = world.version};
        job_writes(&world, 1, 24, 32, 'm'); /* not what the other one saw */
        assert_int_equal(rp_versions_write(expected, world.id, 0, 32, &wanted), RP_OK);
        struct rp_transaction *transaction = begin_replay(&world, 1);
        assert_int_equal(rp_transaction_hand_on(transaction, other, expected, world.id, 8, 40, 2,
                                                &handed),
                         RP_OK);
        assert_int_equal(handed.count, 1);
        assert_int_equal(handed.items[0].lo, 8);
        assert_int_equal(handed.items[0].hi, 24);
        /* The stashed bytes are replaced for good: the copy is all that is left of them. */
        assert_int_equal(rp_transaction_join(transaction, 2), RP_OK);
        assert_int_equal(rp_transaction_live_write(transaction, world.id, 8, 24), RP_OK);
        job_writes(&world, 2, 8, 24, 'g');
        end_replay(transaction);
        unsigned char seen[BYTES];
        assert_int_equal(
            rp_transaction_begin(&world.bench, other, NULL, NULL, 3, &transaction), RP_OK);
        job_reads(&world, 3, seen);
        end_replay(transaction);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(seen, 8, 24, 'n');
        assert_bytes(world.live, 8, 24, 'g');
        rp_spans_release(&handed);
        rp_versions_destroy(expected);
        rp_kept_destroy(other);
        end_world(&world);
    }
}

static void what_is_restored_late_is_seen_by_all_streams_of_the_replay(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        unsigned char seen[BYTES], after[BYTES];
        struct world world = begin_world();
        struct rp_kept *late;
        settle(&world);
        assert_int_equal(rp_kept_create(&late), RP_OK);
        assert_int_equal(
            rp_kept_preserve(late, &world.bench, world.id, 0, BYTES, 2), RP_OK);
        job_writes(&world, 2, 0, BYTES, 'n');
        struct rp_transaction *transaction = begin_replay(&world, 1);
        assert_int_equal(rp_transaction_join(transaction, 3), RP_OK);
        assert_int_equal(rp_transaction_restore(transaction, late, world.id, 0, 16), RP_OK);
        job_reads(&world, 3, seen);
        end_replay(transaction);
        job_reads(&world, 3, after);
        assert_true(rp_host_run(world.host, seed));
        assert_bytes(seen, 0, 16, 'a');
        assert_bytes(after, 0, BYTES, 'n');
        rp_kept_destroy(late);
        end_world(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_replay_sees_its_past),
        cmocka_unit_test(it_leaves_no_trace),
        cmocka_unit_test(live_writes_survive),
        cmocka_unit_test(the_stash_waits_for_writers_in_other_streams),
        cmocka_unit_test(a_replay_may_use_several_streams),
        cmocka_unit_test(a_full_device_rolls_back),
        cmocka_unit_test(a_way_back_that_fails_is_told),
        cmocka_unit_test(the_dead_are_not_restored),
        cmocka_unit_test(aliases_are_one_place),
        cmocka_unit_test(the_stash_serves_other_instances),
        cmocka_unit_test(what_is_restored_late_is_seen_by_all_streams_of_the_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
