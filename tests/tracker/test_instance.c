/* SPDX-License-Identifier: Apache-2.0 */
/* Segment instances against a model that knows every byte by itself. */
#include "check.h"
#include "random.h"

#include "tracker/instance.h"

#include <string.h>

enum { ALLOCATIONS = 3, BYTES = 48, ROUNDS = 400, CALLS = 24 };

/* One byte of the model. */
struct byte {
    rp_version now;      /* the version that stands there */
    bool live_in, kept, written, touched, replayed, made, extra;
    rp_version expected; /* of the live-in */
};

struct world {
    struct random random;
    struct rp_versions *versions;
    struct rp_instance *instance;
    struct byte bytes[ALLOCATIONS + 1][BYTES]; /* by allocation id, from 1 */
    rp_version last;
    uint64_t since; /* the last write before the forward */
};

struct range {
    rp_alloc_id id;
    uint64_t lo, hi;
};

static struct range any_range(struct world *world)
{
    struct range range = {.id = 1 + random_below(&world->random, ALLOCATIONS)};
    range.lo = random_below(&world->random, BYTES);
    range.hi = range.lo + 1 + random_below(&world->random, BYTES - range.lo);
    return range;
}

static void somebody_writes(struct world *world, struct range range)
{
    const struct rp_writer writer = {.version = ++world->last, .seq = world->last};
    assert_int_equal(
        rp_versions_write(world->versions, range.id, range.lo, range.hi, &writer), RP_OK);
    for (uint64_t at = range.lo; at < range.hi; at++)
        world->bytes[range.id][at].now = world->last;
}

static void forward_reads(struct world *world)
{
    struct range range = any_range(world);
    assert_int_equal(rp_instance_read(world->instance, world->versions, range.id, range.lo,
                                      range.hi, random_below(&world->random, 2)),
                     RP_OK);
    for (uint64_t at = range.lo; at < range.hi; at++) {
        struct byte *byte = &world->bytes[range.id][at];
        if (byte->written || byte->live_in)
            continue;
        byte->live_in = true;
        byte->expected = byte->now;
    }
}

static void forward_writes(struct world *world)
{
    struct range range = any_range(world);
    bool certain = random_below(&world->random, 2);
    assert_int_equal(
        rp_instance_write(world->instance, range.id, range.lo, range.hi, certain), RP_OK);
    for (uint64_t at = range.lo; at < range.hi; at++) {
        world->bytes[range.id][at].touched = true;
        world->bytes[range.id][at].written |= certain;
    }
    somebody_writes(world, range);
}

static void keep(struct world *world)
{
    struct range range = any_range(world);
    assert_int_equal(rp_instance_keep(world->instance, range.id, range.lo, range.hi), RP_OK);
    for (uint64_t at = range.lo; at < range.hi; at++)
        world->bytes[range.id][at].kept = true;
}

/* Live-in without a copy is exposed where it still stands, and displaced where it does not. */
static void compare_exposed(struct world *world)
{
    struct range range = any_range(world);
    struct rp_spans exposed = {0}, displaced = {0};
    assert_int_equal(rp_instance_exposed(world->instance, world->versions, range.id, range.lo,
                                         range.hi, &exposed),
                     RP_OK);
    assert_int_equal(rp_instance_displaced(world->instance, world->versions, range.id, range.lo,
                                           range.hi, &displaced),
                     RP_OK);
    assert_true(rp_spans_validate(&exposed) && rp_spans_validate(&displaced));
    for (uint64_t at = 0; at < BYTES; at++) {
        const struct byte *byte = &world->bytes[range.id][at];
        bool unkept = at >= range.lo && at < range.hi && byte->live_in && !byte->kept;
        bool stands = byte->now == byte->expected;
        assert_int_equal(rp_spans_overlaps(&exposed, at, at + 1), unkept && stands);
        assert_int_equal(rp_spans_overlaps(&displaced, at, at + 1), unkept && !stands);
    }
    rp_spans_release(&exposed);
    rp_spans_release(&displaced);
}

struct found {
    bool stale[BYTES], foreign[BYTES];
};

static enum rp_status note_mismatch(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *found,
                                    const struct rp_writer *expected)
{
    (void)id, (void)found;
    struct found *mismatches = ctx;
    for (uint64_t at = lo; at < hi; at++)
        (expected ? mismatches->stale : mismatches->foreign)[at] = true;
    return RP_OK;
}

static void replay_reads(struct world *world)
{
    struct range range = any_range(world);
    struct found found = {{false}, {false}};
    assert_int_equal(rp_instance_check(world->instance, world->versions, range.id, range.lo,
                                       range.hi, note_mismatch, &found),
                     RP_OK);
    for (uint64_t at = 0; at < BYTES; at++) {
        const struct byte *byte = &world->bytes[range.id][at];
        bool read = at >= range.lo && at < range.hi && !byte->replayed && !byte->extra;
        assert_int_equal(found.stale[at], read && byte->live_in && byte->now != byte->expected);
        assert_int_equal(found.foreign[at], read && !byte->live_in);
    }
}

static void replay_writes(struct world *world)
{
    struct range range = any_range(world);
    assert_int_equal(rp_instance_rewrite(world->instance, range.id, range.lo, range.hi), RP_OK);
    for (uint64_t at = range.lo; at < range.hi; at++)
        world->bytes[range.id][at].replayed = world->bytes[range.id][at].made = true;
    somebody_writes(world, range);
}

static void stranger_writes(struct world *world)
{
    struct range range = any_range(world);
    assert_int_equal(rp_instance_unwrite(world->instance, range.id, range.lo, range.hi), RP_OK);
    for (uint64_t at = range.lo; at < range.hi; at++)
        world->bytes[range.id][at].replayed = world->bytes[range.id][at].extra = false;
    somebody_writes(world, range);
    if (random_below(&world->random, 2))
        return;
    assert_int_equal(rp_instance_write_extra(world->instance, range.id, range.lo, range.hi), RP_OK);
    for (uint64_t at = range.lo; at < range.hi; at++)
        world->bytes[range.id][at].extra = true;
}

/* What the replay's further calls have put where the forward has read. */
static void compare_extra(struct world *world)
{
    struct range range = any_range(world);
    struct found found = {{false}, {false}};
    struct rp_spans overlaid = {0};
    assert_int_equal(rp_instance_check_extra(world->instance, world->versions, range.id, range.lo,
                                             range.hi, note_mismatch, &found),
                     RP_OK);
    assert_int_equal(rp_instance_overlaid(world->instance, world->versions, range.id, range.lo,
                                          range.hi, &overlaid),
                     RP_OK);
    for (uint64_t at = 0; at < BYTES; at++) {
        const struct byte *byte = &world->bytes[range.id][at];
        bool is_put = at >= range.lo && at < range.hi && byte->extra && byte->live_in &&
                      !byte->replayed && byte->now != byte->expected;
        assert_int_equal(found.stale[at], is_put);
        assert_int_equal(rp_spans_overlaps(&overlaid, at, at + 1),
                         is_put && byte->kept && !byte->made);
    }
    rp_spans_release(&overlaid);
}

/* Read by the forward and standing there again, or never written since, or the replay's own. */
static void compare_historic(struct world *world)
{
    struct range range = any_range(world);
    bool historic = true;
    for (uint64_t at = range.lo; at < range.hi; at++) {
        const struct byte *byte = &world->bytes[range.id][at];
        bool same = byte->live_in ? byte->now == byte->expected : byte->now <= world->since;
        historic = historic && (byte->replayed || byte->extra || same);
    }
    assert_int_equal(rp_instance_is_historic(world->instance, world->versions, range.id, range.lo,
                                             range.hi),
                     historic);
}

static void replay(struct world *world)
{
    switch (random_below(&world->random, 6)) {
    case 5: compare_extra(world); break;
    case 0: replay_writes(world); break;
    case 1: stranger_writes(world); break;
    case 2: compare_historic(world); break;
    default: replay_reads(world); break;
    }
}

static void play(struct world *world)
{
    for (int call = 0; call < CALLS; call++)
        random_below(&world->random, 2) ? forward_reads(world) : forward_writes(world);
    for (int call = 0; call < CALLS; call++) {
        switch (random_below(&world->random, 3)) {
        case 0: somebody_writes(world, any_range(world)); break;
        case 1: keep(world); break;
        default: compare_exposed(world); break;
        }
    }
    for (int call = 0; call < CALLS; call++)
        replay(world);
}

static void it_knows_each_byte(void **state)
{
    (void)state;
    struct random random = random_begin("instance");
    for (int round = 0; round < ROUNDS; round++) {
        struct world world = {.random = {random_next(&random)}};
        assert_int_equal(rp_versions_create(&world.versions), RP_OK);
        somebody_writes(&world, any_range(&world));
        world.since = world.last;
        assert_int_equal(rp_instance_create(1, 0, 1, world.since, &world.instance), RP_OK);
        play(&world);
        rp_instance_destroy(world.instance);
        rp_versions_destroy(world.versions);
    }
}

/* A possible write before a read: whether the read sees the past cannot be known. */
static void a_read_after_a_possible_write_is_ambiguous(void **state)
{
    (void)state;
    struct rp_versions *versions;
    struct rp_instance *instance;
    assert_int_equal(rp_versions_create(&versions), RP_OK);
    assert_int_equal(rp_instance_create(1, 0, 1, 0, &instance), RP_OK);
    assert_int_equal(rp_instance_read(instance, versions, 1, 0, 8, true), RP_OK);
    assert_int_equal(rp_instance_write(instance, 1, 0, 16, false), RP_OK);
    assert_int_equal(rp_instance_write(instance, 1, 12, 16, true), RP_OK);
    assert_false(rp_instance_is_ambiguous(instance, 1, 0, 8));   /* read before: state */
    assert_true(rp_instance_is_ambiguous(instance, 1, 8, 12));   /* neither */
    assert_false(rp_instance_is_ambiguous(instance, 1, 12, 16)); /* certainly written */
    assert_false(rp_instance_is_ambiguous(instance, 1, 16, 20)); /* never touched */
    assert_false(rp_instance_is_ambiguous(instance, 2, 0, 8));
    rp_instance_destroy(instance);
    rp_versions_destroy(versions);
}

static void a_certain_read_settles_a_doubtful_one(void **state)
{
    (void)state;
    struct rp_versions *versions;
    struct rp_instance *instance;
    assert_int_equal(rp_versions_create(&versions), RP_OK);
    assert_int_equal(rp_instance_create(1, 0, 1, 0, &instance), RP_OK);
    assert_int_equal(rp_instance_read(instance, versions, 1, 0, 16, false), RP_OK);
    assert_int_equal(rp_spans_bytes(&rp_instance_live(instance, 1)->doubtful), 16);
    assert_int_equal(rp_instance_read(instance, versions, 1, 4, 8, true), RP_OK);
    assert_int_equal(rp_spans_bytes(&rp_instance_live(instance, 1)->doubtful), 12);
    assert_int_equal(rp_spans_bytes(&rp_instance_live(instance, 1)->live_in), 16);
    rp_instance_destroy(instance);
    rp_versions_destroy(versions);
}

static void what_is_rolled_is_state_as_a_whole(void **state)
{
    (void)state;
    struct rp_versions *versions;
    struct rp_instance *instance;
    assert_int_equal(rp_versions_create(&versions), RP_OK);
    assert_int_equal(rp_instance_create(1, 0, 1, 0, &instance), RP_OK);
    assert_int_equal(rp_instance_read(instance, versions, 1, 8, 32, true), RP_OK);
    assert_int_equal(rp_instance_tear(instance, versions, 1, 0, 32), RP_OK);
    assert_int_equal(rp_spans_bytes(&rp_instance_live(instance, 1)->live_in), 32);
    assert_int_equal(rp_spans_bytes(&rp_instance_live(instance, 1)->torn), 8);
    /* A few bytes read are not the rest's history. */
    assert_int_equal(rp_instance_read(instance, versions, 2, 0, 8, true), RP_OK);
    assert_int_equal(rp_instance_tear(instance, versions, 2, 0, 32), RP_OK);
    assert_int_equal(rp_spans_bytes(&rp_instance_live(instance, 2)->live_in), 8);
    rp_instance_destroy(instance);
    rp_versions_destroy(versions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_knows_each_byte),
        cmocka_unit_test(a_read_after_a_possible_write_is_ambiguous),
        cmocka_unit_test(a_certain_read_settles_a_doubtful_one),
        cmocka_unit_test(what_is_rolled_is_state_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
