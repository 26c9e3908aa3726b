/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/check.h"
#include "tests/tracker/random.h"
#include "tracker/idmap.h"
#include "tracker/memory.h"

#include <string.h>

#define assert_ok(call) assert_int_equal(call, RP_OK)

static int setup(void **state)
{
    return rp_memory_create((struct rp_memory **)state) == RP_OK ? 0 : -1;
}

static int teardown(void **state)
{
    rp_memory_destroy(*state);
    return 0;
}

static rp_alloc_id add(struct rp_memory *memory, uint64_t bytes, uint64_t address)
{
    rp_alloc_id id = 0;

    assert_ok(rp_memory_add(memory, RP_ALLOC_DEVICE, bytes, address, 0, 1, NULL, &id));
    assert_true(rp_memory_validate(memory));
    return id;
}

static void assert_found(struct rp_memory *memory, uint64_t address, rp_alloc_id id,
                         uint64_t offset, uint64_t bytes_left)
{
    rp_alloc_id found_id = 0;
    uint64_t found_offset = 0, found_left = 0;

    assert_ok(rp_memory_find(memory, address, &found_id, &found_offset, &found_left));
    assert_int_equal(found_id, id);
    assert_int_equal(found_offset, offset);
    assert_int_equal(found_left, bytes_left);
    assert_ok(rp_memory_find(memory, address, NULL, NULL, NULL));
}

static void assert_not_found(struct rp_memory *memory, uint64_t address)
{
    assert_int_equal(rp_memory_find(memory, address, NULL, NULL, NULL), RP_NOT_FOUND);
}

static void an_allocation_keeps_what_it_was_born_with(void **state)
{
    struct rp_memory *memory = *state;
    char name[] = "philox_state";
    rp_alloc_id id = 0;

    assert_ok(rp_memory_add(memory, RP_ALLOC_GLOBAL, 64, 0x7000, 3, 17, name, &id));
    name[0] = 'X'; /* the name was copied */
    const struct rp_alloc *alloc = rp_memory_get(memory, id);
    assert_int_equal(id, 1);
    assert_int_equal(alloc->id, id);
    assert_int_equal(alloc->kind, RP_ALLOC_GLOBAL);
    assert_int_equal(alloc->bytes, 64);
    assert_int_equal(alloc->address, 0x7000);
    assert_int_equal(alloc->birth_seq, 17);
    assert_int_equal(alloc->death_seq, 0);
    assert_int_equal(alloc->device, 3);
    assert_string_equal(alloc->name, "philox_state");
    assert_null(rp_memory_get(memory, id + 1));
    assert_null(rp_memory_get(memory, 0));
}

static void addresses_lead_to_offsets(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 0x100, 0x1000), b = add(memory, 0x100, 0x1100);

    assert_found(memory, 0x1000, a, 0, 0x100);
    assert_found(memory, 0x10ff, a, 0xff, 1);
    assert_found(memory, 0x1100, b, 0, 0x100);
    assert_not_found(memory, 0xfff);
    assert_not_found(memory, 0x1200);
}

static void a_reused_address_is_another_allocation(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 0x100, 0x1000);

    assert_ok(rp_memory_free(memory, a, 5));
    assert_not_found(memory, 0x1000);
    rp_alloc_id b = add(memory, 0x100, 0x1000);
    assert_int_not_equal(a, b);
    assert_found(memory, 0x1000, b, 0, 0x100);
    assert_int_equal(rp_memory_get(memory, a)->death_seq, 5);
    assert_int_equal(rp_memory_free(memory, a, 6), RP_NOT_FOUND); /* twice */
    rp_memory_forget(memory, a);
    assert_null(rp_memory_get(memory, a));
    assert_int_equal(rp_memory_free(memory, b, 0), RP_INVALID); /* 0 means "lives" */
}

static void a_new_mapping_replaces_a_leftover(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 0x300, 0x1000), b = add(memory, 0x100, 0x1100);

    assert_found(memory, 0x10ff, a, 0xff, 1);
    assert_found(memory, 0x1100, b, 0, 0x100);
    assert_found(memory, 0x1200, a, 0x200, 0x100);
}

static void aliases_lead_to_the_same_bytes(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id id = 0;
    uint64_t address = 0, left = 0;

    assert_ok(rp_memory_add(memory, RP_ALLOC_PHYSICAL, 0x400, 0, 0, 1, NULL, &id));
    assert_int_equal(rp_memory_address(memory, id, 0, &address, &left), RP_NOT_FOUND);
    assert_ok(rp_memory_map(memory, 0x9000, 0x400, id, 0));
    assert_ok(rp_memory_map(memory, 0x5000, 0x200, id, 0x200));
    assert_found(memory, 0x9210, id, 0x210, 0x1f0);
    assert_found(memory, 0x5010, id, 0x210, 0x1f0);

    assert_ok(rp_memory_address(memory, id, 0x210, &address, &left));
    assert_int_equal(address, 0x5010);
    assert_int_equal(left, 0x1f0);
    assert_ok(rp_memory_address(memory, id, 0x10, &address, &left));
    assert_int_equal(address, 0x9010);
    assert_int_equal(left, 0x3f0);

    assert_ok(rp_memory_unmap(memory, 0x9000, 0x400));
    assert_int_equal(rp_memory_address(memory, id, 0x10, NULL, NULL), RP_NOT_FOUND);
    assert_ok(rp_memory_free(memory, id, 9));
    assert_not_found(memory, 0x5010);
    assert_true(rp_memory_validate(memory));
}

static void unmapping_the_middle_splits(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 0x300, 0x1000);

    assert_ok(rp_memory_unmap(memory, 0x1100, 0x100));
    assert_true(rp_memory_validate(memory));
    assert_found(memory, 0x10ff, a, 0xff, 1);
    assert_not_found(memory, 0x1100);
    assert_found(memory, 0x1200, a, 0x200, 0x100);
}

static void impossible_requests_are_refused(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 0x100, 0x1000), id = 77;

    assert_int_equal(rp_memory_add(memory, RP_ALLOC_DEVICE, 0, 0x2000, 0, 1, NULL, &id),
                     RP_INVALID);
    assert_int_equal(rp_memory_add(memory, RP_ALLOC_DEVICE, 2, UINT64_MAX, 0, 1, NULL, &id),
                     RP_INVALID);
    assert_int_equal(id, 77);
    assert_int_equal(rp_memory_map(memory, 0x2000, 0x101, a, 0), RP_INVALID);
    assert_int_equal(rp_memory_map(memory, 0x2000, 1, a, 0x100), RP_INVALID);
    assert_int_equal(rp_memory_map(memory, 0x2000, 2, a, UINT64_MAX), RP_INVALID);
    assert_int_equal(rp_memory_map(memory, 0x2000, 0, a, 0), RP_INVALID);
    assert_int_equal(rp_memory_map(memory, UINT64_MAX, 1, a, 0), RP_INVALID);
    assert_int_equal(rp_memory_map(memory, 0x2000, 1, a + 1, 0), RP_NOT_FOUND);
    assert_ok(rp_memory_free(memory, a, 1));
    assert_int_equal(rp_memory_map(memory, 0x2000, 1, a, 0), RP_NOT_FOUND);
}

static void nth_counts_the_births_of_a_size(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 64, 0x1000), b = add(memory, 32, 0x2000);

    assert_ok(rp_memory_free(memory, a, 1));
    rp_memory_forget(memory, a); /* still counts */
    rp_alloc_id c = add(memory, 64, 0x1000);
    assert_int_equal(rp_memory_get(memory, b)->nth, 0);
    assert_int_equal(rp_memory_get(memory, c)->nth, 1);
}

static void forgetting_a_live_allocation_frees_it(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 64, 0x1000);

    rp_memory_forget(memory, a);
    assert_true(rp_memory_validate(memory));
    assert_not_found(memory, 0x1000);
    assert_int_equal(rp_memory_live_bytes(memory), 0);
    assert_int_equal(rp_memory_live_count(memory), 0);
}

struct piece {
    uint64_t address, length;
    rp_alloc_id id;
    uint64_t offset;
};

struct pieces {
    struct piece items[8];
    size_t count, stop_after;
};

static enum rp_status collect(void *ctx, uint64_t address, uint64_t length, rp_alloc_id id,
                              uint64_t offset)
{
    struct pieces *pieces = ctx;

    assert_true(pieces->count < 8);
    pieces->items[pieces->count++] = (struct piece){address, length, id, offset};
    return pieces->count == pieces->stop_after ? RP_UNSUPPORTED : RP_OK;
}

static void resolving_names_the_gaps_too(void **state)
{
    struct rp_memory *memory = *state;
    rp_alloc_id a = add(memory, 0x100, 0x1000), b = add(memory, 0x100, 0x1200);
    struct pieces got = {.count = 0};
    const struct piece want[] = {{0xff0, 0x10, 0, 0},
                                 {0x1000, 0x100, a, 0},
                                 {0x1100, 0x100, 0, 0},
                                 {0x1200, 0x100, b, 0},
                                 {0x1300, 0x10, 0, 0}};

    assert_ok(rp_memory_resolve(memory, 0xff0, 0x320, collect, &got));
    assert_int_equal(got.count, 5);
    assert_memory_equal(got.items, want, sizeof(want));

    got = (struct pieces){.stop_after = 2};
    assert_int_equal(rp_memory_resolve(memory, 0xff0, 0x320, collect, &got), RP_UNSUPPORTED);
    assert_int_equal(got.count, 2);

    got = (struct pieces){.count = 0};
    assert_ok(rp_memory_resolve(memory, 0x1010, 0x10, collect, &got));
    assert_int_equal(got.count, 1);
    assert_int_equal(got.items[0].offset, 0x10);
    assert_ok(rp_memory_resolve(memory, 0x1010, 0, collect, &got));
    assert_int_equal(got.count, 1);

    got = (struct pieces){.count = 0}; /* a gap ends where the question ends */
    assert_ok(rp_memory_resolve(memory, 0x1110, 0x10, collect, &got));
    assert_int_equal(got.count, 1);
    assert_int_equal(got.items[0].id, 0);
    assert_int_equal(got.items[0].length, 0x10);
}

/* ---- against a byte map ----------------------------------------------------------- */

#define BASE 0x1000
#define CELLS 128
#define ALLOCS 64

struct model {
    struct cell {
        rp_alloc_id id;
        uint64_t offset;
    } cells[CELLS];
    struct known {
        rp_alloc_id id;
        uint64_t bytes, nth;
        bool live;
    } known[ALLOCS]; /* a ring: the oldest is forgotten when it comes round */
    uint64_t next;
    uint64_t born[CELLS + 1];
};

static void model_hide(struct model *model, rp_alloc_id id)
{
    for (size_t i = 0; i < CELLS; i++) {
        if (model->cells[i].id == id)
            model->cells[i] = (struct cell){0, 0};
    }
}

static void model_show(struct model *model, uint64_t at, uint64_t length, rp_alloc_id id,
                       uint64_t offset)
{
    for (uint64_t i = 0; i < length; i++)
        model->cells[at + i] = (struct cell){id, id != 0 ? offset + i : 0};
}

static enum rp_status compare_cells(void *ctx, uint64_t address, uint64_t length, rp_alloc_id id,
                                    uint64_t offset)
{
    const struct model *model = ctx;

    for (uint64_t i = 0; i < length; i++) {
        const struct cell *cell = &model->cells[address - BASE + i];
        assert_int_equal(cell->id, id);
        assert_int_equal(cell->offset, id != 0 ? offset + i : 0);
    }
    return RP_OK;
}

struct walk {
    uint64_t bytes;
    size_t count;
    rp_alloc_id last;
};

static void count_alloc(void *ctx, const struct rp_alloc *alloc)
{
    struct walk *walk = ctx;

    assert_true(alloc->id > walk->last);
    walk->last = alloc->id;
    walk->bytes += alloc->bytes;
    walk->count++;
}

static void assert_same_memory(const struct rp_memory *memory, const struct model *model)
{
    struct walk walk = {0, 0, 0}, want = {0, 0, 0};
    uint64_t lo = 0, hi = 0, lowest, end;

    assert_true(rp_memory_validate(memory));
    assert_ok(rp_memory_resolve(memory, BASE, CELLS, compare_cells, (void *)(uintptr_t)model));
    for (size_t i = 0; i < CELLS; i++) {
        const struct cell *cell = &model->cells[i];
        uint64_t address = 0, offset = 0;
        rp_alloc_id id = 0;
        if (cell->id == 0) {
            assert_int_equal(rp_memory_find(memory, BASE + i, NULL, NULL, NULL), RP_NOT_FOUND);
            continue;
        }
        lo = lo ? lo : BASE + i;
        hi = BASE + i + 1;
        assert_ok(rp_memory_find(memory, BASE + i, &id, &offset, NULL));
        assert_int_equal(id, cell->id);
        assert_int_equal(offset, cell->offset);
        assert_ok(rp_memory_address(memory, id, offset, &address, NULL));
        assert_int_equal(model->cells[address - BASE].id, id);
        assert_int_equal(model->cells[address - BASE].offset, offset);
    }
    rp_memory_bounds(memory, &lowest, &end);
    assert_int_equal(lowest, lo);
    assert_int_equal(end, hi);
    for (size_t i = 0; i < ALLOCS; i++) {
        const struct known *known = &model->known[i];
        const struct rp_alloc *alloc = rp_memory_get(memory, known->id);
        if (known->id == 0)
            continue;
        assert_int_equal(alloc->nth, known->nth);
        assert_int_equal(alloc->death_seq == 0, known->live);
        want.bytes += known->live ? known->bytes : 0;
        want.count += known->live;
    }
    rp_memory_each(memory, count_alloc, &walk);
    assert_int_equal(walk.bytes, want.bytes);
    assert_int_equal(walk.count, want.count);
    assert_int_equal(rp_memory_live_bytes(memory), want.bytes);
    assert_int_equal(rp_memory_live_count(memory), want.count);
}

static void model_add(struct rp_memory *memory, struct model *model, struct random *random)
{
    uint64_t at = random_below(random, CELLS);
    uint64_t bytes = 1 + random_below(random, (CELLS - at) / 3 + 1);
    bool mapped = random_below(random, 3) != 0 && at + bytes <= CELLS;
    struct known *known = &model->known[model->next++ % ALLOCS];

    rp_memory_forget(memory, known->id);
    if (known->id != 0)
        model_hide(model, known->id);
    *known = (struct known){.bytes = bytes, .nth = model->born[bytes]++, .live = true};
    known->id = add(memory, bytes, mapped ? BASE + at : 0);
    if (mapped)
        model_show(model, at, bytes, known->id, 0);
}

static void any_sequence_equals_a_byte_map(void **state)
{
    struct rp_memory *memory = *state;
    struct random random = random_begin("memory");
    struct model model = {.next = 0};

    for (int round = 0; round < 10000; round++) {
        struct known *known = &model.known[random_below(&random, ALLOCS)];
        uint64_t at = random_below(&random, CELLS);
        uint64_t length = random_below(&random, (CELLS - at) / 2 + 1);
        uint64_t offset = known->id != 0 ? random_below(&random, known->bytes) : 0;

        switch (random_below(&random, 5)) {
        case 0: model_add(memory, &model, &random); break;
        case 1:
            assert_ok(rp_memory_unmap(memory, BASE + at, length));
            model_show(&model, at, length, 0, 0);
            break;
        case 2:
            assert_int_equal(rp_memory_free(memory, known->id, 1 + round),
                             known->live ? RP_OK : RP_NOT_FOUND);
            known->live = false;
            if (known->id != 0)
                model_hide(&model, known->id);
            break;
        default:
            if (!known->live || length == 0 || offset + length > known->bytes)
                break;
            assert_ok(rp_memory_map(memory, BASE + at, length, known->id, offset));
            model_show(&model, at, length, known->id, offset);
        }
        assert_same_memory(memory, &model);
    }
}

/* ---- the table of identities ------------------------------------------------------ */

static void identities_come_and_go(void **state)
{
    (void)state;
    enum { IDS = 512 };
    struct random random = random_begin("idmap");
    struct rp_idmap map = {0};
    static int values[IDS];
    bool there[IDS] = {false};

    assert_null(rp_idmap_find(&map, 7));
    assert_null(rp_idmap_remove(&map, 7));
    for (int round = 0; round < 50000; round++) {
        uint64_t i = random_below(&random, IDS), id = (i + 1) << (i % 2 * 20);
        if (!there[i])
            assert_ok(rp_idmap_insert(&map, id, &values[i]));
        else
            assert_ptr_equal(rp_idmap_remove(&map, id), &values[i]);
        there[i] = !there[i];
        for (int probe = 0; probe < 4; probe++) {
            i = random_below(&random, IDS), id = (i + 1) << (i % 2 * 20);
            assert_ptr_equal(rp_idmap_find(&map, id), there[i] ? &values[i] : NULL);
        }
        if (round % 16 == 0)
            assert_true(rp_idmap_validate(&map));
    }
    rp_idmap_release(&map);
}

static void a_run_spans_what_was_mapped_piece_by_piece(void **state)
{
    (void)state;
    struct rp_memory *memory;
    rp_alloc_id first, second, other;
    uint64_t start, end;
    assert_int_equal(rp_memory_create(&memory), RP_OK);
    assert_int_equal(rp_memory_add(memory, RP_ALLOC_PHYSICAL, 64, 0, 0, 1, NULL, &first), RP_OK);
    assert_int_equal(rp_memory_add(memory, RP_ALLOC_PHYSICAL, 64, 0, 0, 2, NULL, &second), RP_OK);
    assert_int_equal(rp_memory_map(memory, 0x1000, 64, first, 0), RP_OK);
    assert_int_equal(rp_memory_map(memory, 0x1040, 32, second, 16), RP_OK);
    /* An allocation of its own right behind: arithmetic does not go on into that. */
    assert_int_equal(rp_memory_add(memory, RP_ALLOC_DEVICE, 64, 0x1060, 0, 3, NULL, &other), RP_OK);
    assert_int_equal(rp_memory_run(memory, 0x1050, &start, &end), RP_OK);
    assert_int_equal(start, 0x1000);
    assert_int_equal(end, 0x1060);
    assert_int_equal(rp_memory_run(memory, 0x1070, &start, &end), RP_OK);
    assert_int_equal(start, 0x1060);
    assert_int_equal(end, 0x10a0);
    assert_int_equal(rp_memory_run(memory, 0x10a0, &start, &end), RP_NOT_FOUND);
    rp_memory_destroy(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_allocation_keeps_what_it_was_born_with, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(addresses_lead_to_offsets, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reused_address_is_another_allocation, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_mapping_replaces_a_leftover, setup, teardown),
        cmocka_unit_test_setup_teardown(aliases_lead_to_the_same_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(unmapping_the_middle_splits, setup, teardown),
        cmocka_unit_test_setup_teardown(impossible_requests_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(nth_counts_the_births_of_a_size, setup, teardown),
        cmocka_unit_test_setup_teardown(forgetting_a_live_allocation_frees_it, setup, teardown),
        cmocka_unit_test_setup_teardown(resolving_names_the_gaps_too, setup, teardown),
        cmocka_unit_test_setup_teardown(any_sequence_equals_a_byte_map, setup, teardown),
        cmocka_unit_test(identities_come_and_go),
        cmocka_unit_test(a_run_spans_what_was_mapped_piece_by_piece),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
