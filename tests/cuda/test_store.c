/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's own memory: what fits is had, what is aimed at is kept, and little is asked of the
 * driver. */
#include "cuda/driver_host.h"
#include "cuda/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { SEEDS = 200 };
#define LIMIT (UINT64_C(16) << 20)

struct world {
    struct rp_host *host;
    struct rp_driver driver;
    struct rp_order *order;
    struct rp_store *store;
};

/* The store points into the world, so it is made where the world stands. */
static void begin_world(struct world *world)
{
    assert_int_equal(rp_host_create(LIMIT, &world->host), RP_OK);
    world->driver = rp_host_driver(world->host);
    assert_int_equal(rp_order_create(&world->driver, &world->order), RP_OK);
    assert_int_equal(rp_store_create(&world->driver, world->order, &world->store), RP_OK);
}

static void end_world(struct world *world)
{
    rp_host_run(world->host, 1);
    rp_store_destroy(world->store);
    rp_order_destroy(world->order);
    rp_host_destroy(world->host);
}

static void a_small_limit_is_used_to_the_last_block(void **state)
{
    (void)state;
    struct world world;
    struct rp_block block;
    begin_world(&world);
    rp_store_limit(world.store, 1024); /* far less than a slab */
    for (int i = 0; i < 4; i++)
        assert_int_equal(rp_store_take(world.store, 256, 1, &block), RP_OK);
    assert_int_equal(rp_store_reserved(world.store), 1024);
    assert_int_equal(rp_store_take(world.store, 1, 1, &block), RP_NO_MEMORY);
    end_world(&world);
}

/* Whatever fits beside the blocks that are out is had, whatever was out before. */
static void an_exact_store_has_what_fits(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct world world;
        struct rp_block out[64];
        size_t count = 0;
        uint64_t taken = 0, random = seed, limit = 64 * RP_STORE_QUANTUM;
        begin_world(&world);
        struct rp_store *store = world.store;
        rp_store_fit_exactly(store);
        rp_store_limit(store, limit);
        for (int i = 0; i < 400; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t bytes = random >> 33 & 0x1fff;
            uint64_t block = rp_store_block_bytes(bytes ? bytes : 1);
            bool fits = block <= limit - taken;
            if (count && (count == 64 || random >> 62 == 0)) {
                taken -= rp_store_block_bytes(out[--count].bytes ? out[count].bytes : 1);
                rp_store_give(store, &out[count], 1);
                continue;
            }
            assert_int_equal(rp_store_take(store, bytes, 1, &out[count]),
                             fits ? RP_OK : RP_NO_MEMORY);
            count += fits;
            taken += fits ? block : 0;
            assert_in_range(rp_store_reserved(store), taken, limit);
        }
        rp_store_trim(store, 0);
        assert_int_equal(rp_store_reserved(store), taken);
        rp_host_run(world.host, seed);
        end_world(&world);
    }
}

static int grown;

static void note_growth(void)
{
    grown++;
}

static void what_is_aimed_at_is_passed_only_by_blocks_that_are_out(void **state)
{
    (void)state;
    struct world world;
    struct rp_block one, other;
    begin_world(&world);
    struct rp_store *store = world.store;
    grown = 0;
    rp_store_fit_exactly(store);
    rp_store_on_growth(store, note_growth);
    rp_store_aim(store, 2048);
    assert_int_equal(rp_store_take(store, 1500, 1, &one), RP_OK);
    rp_store_give(store, &one, 1);
    assert_int_equal(rp_store_take(store, 1000, 1, &one), RP_OK); /* not beside the idle one */
    assert_int_equal(rp_store_reserved(store), 1024);
    assert_int_equal(rp_store_take(store, 2000, 1, &other), RP_OK); /* nothing is refused */
    assert_int_equal(rp_store_reserved(store), 3072);
    assert_int_equal(grown, 3);
    end_world(&world);
}

/* ---- lodging, where a step takes the same blocks each time ------------------------------- */

enum { MOST = 32, STEPS = 16, LEARNT = 8 };

/* What a step does: takes a block of so many bytes, or gives back the one of that place. */
struct habit {
    struct {
        bool takes;
        size_t place;
        uint64_t bytes;
    } items[2 * MOST];
    size_t count;
    uint64_t peak; /* the most that its blocks take at one time */
};

static struct habit make_habit(uint64_t random)
{
    static const uint64_t sizes[] = {16, 600, 2000, 4000, 8192};
    struct habit habit = {.count = 0};
    uint64_t bytes[MOST] = {0}, taken = 0;
    size_t open[MOST], opened = 0, made = 0;
    while (made < MOST || opened) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t chosen = opened ? random >> 40 & 0xffff : 0;
        if (made < MOST && (!opened || random >> 63)) {
            open[opened++] = made;
            bytes[made] = sizes[(random >> 33) % 5];
            taken += rp_store_block_bytes(bytes[made]);
            habit.items[habit.count].takes = true;
            habit.items[habit.count].bytes = bytes[made];
            habit.items[habit.count++].place = made++;
        } else {
            chosen %= opened;
            taken -= rp_store_block_bytes(bytes[open[chosen]]);
            habit.items[habit.count++].place = open[chosen];
            open[chosen] = open[--opened];
        }
        habit.peak = taken > habit.peak ? taken : habit.peak;
    }
    return habit;
}

static void run_step(struct rp_store *store, const struct habit *habit)
{
    struct rp_block out[MOST];
    rp_store_step(store);
    for (size_t i = 0; i < habit->count; i++) {
        struct rp_block *block = &out[habit->items[i].place];
        if (habit->items[i].takes)
            assert_int_equal(rp_store_take(store, habit->items[i].bytes, 1, block), RP_OK);
        else
            rp_store_give(store, block, 1);
        assert_in_range(rp_store_reserved(store), 0, habit->peak);
    }
}

/* How many blocks come from the driver in the steps that follow the first; none is ever beyond
 * the aim, which is what the step takes. */
static int grown_in_steps(const struct habit *habit)
{
    struct world world;
    begin_world(&world);
    rp_store_fit_exactly(world.store);
    rp_store_on_growth(world.store, note_growth);
    rp_store_aim(world.store, habit->peak);
    for (int step = 0; step < STEPS; step++) {
        grown = step == LEARNT ? 0 : grown;
        run_step(world.store, habit);
    }
    end_world(&world);
    return grown;
}

static void a_small_block_lodges_where_nobody_misses_the_rest(void **state)
{
    (void)state;
    const struct habit habit = {.items = {{true, 0, 4000}, {true, 1, 4000}, {false, 0, 0},
                                          {false, 1, 0}, {true, 2, 16}, {true, 3, 4000},
                                          {false, 2, 0}, {false, 3, 0}},
                                .count = 8,
                                .peak = 8192};
    assert_int_equal(grown_in_steps(&habit), 0);
}

static void one_that_others_would_miss_is_traded(void **state)
{
    (void)state;
    const struct habit habit = {.items = {{true, 0, 8192}, {false, 0, 0}, {true, 1, 512},
                                          {true, 2, 7680}, {false, 1, 0}, {false, 2, 0}},
                                .count = 6,
                                .peak = 8192};
    assert_int_equal(grown_in_steps(&habit), 3 * (STEPS - LEARNT));
}

static void whatever_the_habit_the_aim_is_kept(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct habit habit = make_habit(seed);
        grown_in_steps(&habit);
    }
}

/* ---- sparing ----------------------------------------------------------------------------- */

static struct world *sparing;
static struct rp_block spare_block;
static int asked, asked_in_need;

static bool spare(bool needed)
{
    asked++;
    asked_in_need += needed;
    if (!needed || !spare_block.at)
        return false;
    rp_store_give(sparing->store, &spare_block, 1);
    spare_block.at = 0;
    return true;
}

static void what_can_be_spared_is_asked_for(void **state)
{
    (void)state;
    struct world world;
    struct rp_block block;
    begin_world(&world);
    sparing = &world;
    asked = asked_in_need = 0;
    rp_store_limit(world.store, 2048);
    rp_store_on_shortage(world.store, spare);
    assert_int_equal(rp_store_take(world.store, 2048, 1, &spare_block), RP_OK);
    assert_int_equal(asked_in_need, 0);
    rp_device_ptr at = spare_block.at;
    assert_int_equal(rp_store_take(world.store, 2000, 1, &block), RP_OK);
    assert_int_equal(block.at, at);
    assert_int_equal(asked_in_need, 1);
    assert_int_equal(rp_store_take(world.store, 2000, 1, &block), RP_NO_MEMORY);
    assert_true(asked > asked_in_need);
    end_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_limit_is_used_to_the_last_block),
        cmocka_unit_test(an_exact_store_has_what_fits),
        cmocka_unit_test(what_is_aimed_at_is_passed_only_by_blocks_that_are_out),
        cmocka_unit_test(a_small_block_lodges_where_nobody_misses_the_rest),
        cmocka_unit_test(one_that_others_would_miss_is_traded),
        cmocka_unit_test(whatever_the_habit_the_aim_is_kept),
        cmocka_unit_test(what_can_be_spared_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
