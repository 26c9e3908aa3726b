/* SPDX-License-Identifier: Apache-2.0 */
/* Hazards in words: what happened, and what helps. */
#include "tests/tracker/check.h"

#include "interpose/run/words.h"

#include <string.h>

static void says(const struct rp_hazard *hazard, const char *line)
{
    char text[640];
    rp_words_line(hazard, text, sizeof text);
    assert_string_equal(text, line);
}

static struct rp_hazard stale(void)
{
    return (struct rp_hazard){.kind = RP_HAZARD_STALE_READ, .segment = "block", .buffer = "queue",
                              .allocation = 7, .allocation_bytes = 8192, .offset = 16, .bytes = 64,
                              .version_read = 9, .version_wanted = 4, .wants_version = true,
                              .writer = "enqueue", .reader = "attend", .step = 3,
                              .written = {.version = 9, .step = 2, .launch = 17, .stream = 0x55d0}};
}

static void bytes_have_a_place_versions_and_a_writer(void **state)
{
    (void)state;
    struct rp_hazard hazard = stale();
    says(&hazard, "stale-read: segment block, at attend in step 3: queue bytes 16..80, version 9 "
                  "where 4 was wanted, written by enqueue (step 2, launch 17, stream 0x55d0)");
}

static void unnamed_bytes_say_what_they_are_part_of(void **state)
{
    (void)state;
    struct rp_hazard hazard = stale();
    hazard.buffer = hazard.writer = NULL;
    hazard.memory = "pool";
    hazard.birth_seq = 57;
    says(&hazard, "stale-read: segment block, at attend in step 3: allocation 7 (8192 bytes of "
                  "pool memory, made by call 57) bytes 16..80, version 9 where 4 was wanted");
    hazard.kind = RP_HAZARD_FOREIGN_READ;
    hazard.wants_version = false;
    says(&hazard, "foreign-read: segment block, at attend in step 3: allocation 7 (8192 bytes of "
                  "pool memory, made by call 57) bytes 16..80, version 9, which the forward did "
                  "not read");
}

static void without_bytes_there_are_no_versions(void **state)
{
    (void)state;
    struct rp_hazard unpaired = {.kind = RP_HAZARD_UNPAIRED, .segment = "block", .key = "layer1",
                                 .step = 2};
    says(&unpaired, "unpaired: segment block, replay \"layer1\" in step 2: which forward it "
                    "repeats can't be told");
    unpaired.buffer = "out";
    unpaired.allocation = 7;
    unpaired.bytes = 64;
    unpaired.reason = "name each";
    says(&unpaired, "unpaired: segment block, replay \"layer1\" in step 2: out bytes 0..64, made "
                    "where another forward that waits had its output: which forward it repeats "
                    "can't be told");
    assert_string_equal(rp_words_advice(&unpaired), "name each");
    struct rp_hazard diverged = {.kind = RP_HAZARD_DIVERGED, .segment = "block", .reader = "g",
                                 .other = "f", .position = 3, .step = 2};
    says(&diverged, "diverged: segment block, at g in step 2: call 3 of its forward was f");
    diverged.reader = "f";
    says(&diverged, "diverged: segment block, at f in step 2: other work than call 3 of its "
                    "forward");
    diverged.reader = NULL;
    diverged.position = 0;
    says(&diverged, "diverged: segment block in step 2: call 0 of its forward was f, and the "
                    "replay made none of them");
}

static void a_race_names_both_calls(void **state)
{
    (void)state;
    struct rp_hazard race = {.kind = RP_HAZARD_LIVE_READ, .segment = "block", .reader = "log",
                             .other = "attend", .buffer = "queue", .allocation = 7, .bytes = 64,
                             .step = 1};
    says(&race, "live-read: segment block, at log in step 1: queue bytes 0..64, rewound for "
                "attend");
}

static void bytes_that_could_not_be_saved_say_which(void **state)
{
    (void)state;
    struct rp_hazard lost = {.kind = RP_HAZARD_NOT_PRESERVED, .segment = "block",
                             .reader = "enqueue", .buffer = "queue", .allocation = 7,
                             .offset = 16, .bytes = 64, .step = 1};
    says(&lost, "not-preserved: segment block, at enqueue in step 1: queue bytes 16..80");
    lost.allocation = 0;
    says(&lost, "not-preserved: segment block, at enqueue in step 1");
    lost.kind = RP_HAZARD_UNPROVED; /* a declared variable that could not be found */
    says(&lost, "unproved: segment block, at enqueue in step 1: queue");
}

static void state_that_is_left_names_who_left_it(void **state)
{
    (void)state;
    struct rp_hazard left = stale();
    left.kind = RP_HAZARD_STATE_LEFT;
    left.reader = left.writer;
    says(&left, "state-left: segment block, at enqueue in step 3: queue bytes 16..80, version 9 "
                "where 4 was wanted, written by enqueue (step 2, launch 17, stream 0x55d0)");
}

static void bytes_that_could_not_be_saved_say_why(void **state)
{
    (void)state;
    struct rp_hazard lost = {.kind = RP_HAZARD_NOT_PRESERVED, .cause = RP_NO_MEMORY};
    assert_non_null(strstr(rp_words_advice(&lost), "--budget"));
    lost.cause = RP_NOT_FOUND;
    assert_non_null(strstr(rp_words_advice(&lost), "an array"));
    lost.cause = RP_UNSUPPORTED;
    assert_non_null(strstr(rp_words_advice(&lost), "a capture"));
    lost.cause = RP_IO;
    assert_non_null(strstr(rp_words_advice(&lost), "driver refused"));
    lost.again = true;
    assert_non_null(strstr(rp_words_advice(&lost), "\"replays\""));
}

static void what_came_from_the_host_has_advice_of_its_own(void **state)
{
    (void)state;
    struct rp_hazard met = stale();
    met.buffer = NULL;
    met.written.uploaded = true;
    assert_non_null(strstr(rp_words_advice(&met), "else declare this buffer"));
    met.kind = RP_HAZARD_FOREIGN_READ;
    assert_non_null(strstr(rp_words_advice(&met), "over when it returns"));
}

static void what_is_assumed_is_said(void **state)
{
    (void)state;
    struct rp_hazard assumed = stale();
    assumed.kind = RP_HAZARD_ASSUMED;
    assumed.assumed = RP_ASSUMED_OUTPUT;
    assumed.wants_version = false;
    assumed.other = "norm";
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, written by "
                   "enqueue (step 2, launch 17, stream 0x55d0), made anew by norm in the replay "
                   "and read since: taken for an output");
    assumed.assumed = RP_ASSUMED_STATE;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, written by "
                   "enqueue (step 2, launch 17, stream 0x55d0), reinstated over what norm made in "
                   "the replay and read since: taken for state");
    assert_non_null(strstr(rp_words_advice(&assumed), "segment itself"));
    assumed.declared = true;
    assert_non_null(strstr(rp_words_advice(&assumed), "contract not name it"));
    assumed.assumed = RP_ASSUMED_ORDER;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, written by "
                   "enqueue (step 2, launch 17, stream 0x55d0), made where another forward that "
                   "waits had its output: taken for the one in order");
    assumed.assumed = RP_ASSUMED_FILLED;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, written by "
                   "enqueue (step 2, launch 17, stream 0x55d0), put there since, and nothing tells "
                   "for which of the forwards that wait: taken for the one in order");
    assert_non_null(strstr(rp_words_advice(&assumed), "\"pair\""));
    assumed.assumed = RP_ASSUMED_UNTOLD;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, written by "
                   "enqueue (step 2, launch 17, stream 0x55d0), made for one of several forwards "
                   "that wait on the same buffers, and nothing else tells which: taken for the one "
                   "in order");
    assumed.assumed = RP_ASSUMED_PUT;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, written by "
                   "enqueue (step 2, launch 17, stream 0x55d0), which the forward did not make: "
                   "taken for what its forward found");
    assert_non_null(strstr(rp_words_advice(&assumed), "whatever is put there"));
    assumed.assumed = RP_ASSUMED_STEADY;
    assumed.writer = NULL;
    assumed.reason = "it reads a clock";
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, which need "
                   "not be what its forward made: it reads a clock: taken for the same");
    assumed.assumed = RP_ASSUMED_MOVED;
    assumed.position = 2;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80: call 2 of its "
                   "forward, made where another of its calls had its output: taken for other "
                   "memory");
    assumed.assumed = RP_ASSUMED_HELPED;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, made by "
                   "another thread, without a range, beside the replay as beside its forward: "
                   "taken for the job's own");
    assert_non_null(strstr(rp_words_advice(&assumed), "open ranges in that thread too"));
    assumed.assumed = RP_ASSUMED_REPEATED;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, made "
                   "elsewhere than its forward did, by launches that come again: taken for a "
                   "replay");
    assert_non_null(strstr(rp_words_advice(&assumed), "ranges of their own names"));
    assumed.assumed = RP_ASSUMED_RENEWED;
    says(&assumed, "assumed: segment block, at attend in step 3: queue bytes 16..80, filled anew "
                   "since its forward, which launches that come again are about to read: taken for "
                   "a replay");
    assert_non_null(strstr(rp_words_advice(&assumed), "if it is the next forward"));
    const struct rp_hazard empty = {.kind = RP_HAZARD_ASSUMED, .segment = "block", .step = 3,
                                    .assumed = RP_ASSUMED_EMPTY};
    says(&empty, "assumed: segment block in step 3: neither its forward nor its replay made a call "
                 "on their thread: taken for no work");
    assert_non_null(strstr(rp_words_advice(&empty), "own thread"));
    const struct rp_hazard beyond = {.kind = RP_HAZARD_ASSUMED, .segment = "block", .step = 3,
                                     .reader = "advance", .assumed = RP_ASSUMED_BEYOND};
    says(&beyond, "assumed: segment block, at advance in step 3, right behind the end of a replay, "
                  "whose forward's range has held this call: taken for the job's own");
    assert_non_null(strstr(rp_words_advice(&beyond), "let the replay's range end behind it"));
}

/* Whoever reads it may still have been given the wrong forward. */
static void advice_on_an_assumption_speaks_of_its_buffer_alone(void **state)
{
    (void)state;
    struct rp_hazard assumed = {.kind = RP_HAZARD_ASSUMED, .segment = "block", .other = "norm"};
    static const enum rp_assumption taken[] = {RP_ASSUMED_OUTPUT, RP_ASSUMED_STATE,
                                               RP_ASSUMED_MOVED};
    for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
        assumed.assumed = taken[i];
        assert_non_null(strstr(rp_words_advice(&assumed), "then nothing is wrong with "));
        assert_null(strstr(rp_words_advice(&assumed), "all is well"));
    }
}

static void what_cannot_be_told_names_all_three_calls(void **state)
{
    (void)state;
    struct rp_hazard unproved = {.kind = RP_HAZARD_UNPROVED, .segment = "block", .reader = "loss",
                                 .step = 2};
    says(&unproved, "unproved: segment block, at loss in step 2");
    assert_non_null(strstr(rp_words_advice(&unproved), "this call writes"));
    unproved.reason = "its writes are not proved: declare the state";
    assert_string_equal(rp_words_advice(&unproved), unproved.reason);
    unproved = stale();
    unproved.kind = RP_HAZARD_UNPROVED;
    unproved.wants_version = false;
    unproved.other = "norm";
    says(&unproved, "unproved: segment block, at attend in step 3: queue bytes 16..80, written by "
                    "enqueue (step 2, launch 17, stream 0x55d0), made anew by norm in the replay");
    assert_non_null(strstr(rp_words_advice(&unproved), "if it is state"));
    unproved.reinstated = true;
    says(&unproved, "unproved: segment block, at attend in step 3: queue bytes 16..80, written by "
                    "enqueue (step 2, launch 17, stream 0x55d0), reinstated over what norm made "
                    "in the replay");
    assert_non_null(strstr(rp_words_advice(&unproved), "segment itself"));
}

static void a_line_is_cut_and_never_overrun(void **state)
{
    (void)state;
    struct rp_hazard hazard = stale();
    char text[64], whole[640];
    rp_words_line(&hazard, whole, sizeof whole);
    for (size_t size = 1; size <= sizeof text; size++) {
        memset(text, '#', sizeof text);
        rp_words_line(&hazard, text, size);
        assert_int_equal(strlen(text), size - 1);
        assert_int_equal(strncmp(text, whole, size - 1), 0);
    }
}

static void advice_depends_on_what_was_tried(void **state)
{
    (void)state;
    struct rp_hazard hazard = stale();
    assert_non_null(strstr(rp_words_advice(&hazard), "-m guard"));
    hazard.for_eager = true;
    assert_non_null(strstr(rp_words_advice(&hazard), "puts back nothing for replays"));
    hazard.for_eager = false;
    hazard.guarded = true;
    assert_null(strstr(rp_words_advice(&hazard), "-m guard"));
    hazard.again = true;
    assert_non_null(strstr(rp_words_advice(&hazard), "\"replays\""));
    hazard.again = false;
    hazard.buffer = NULL;
    assert_non_null(strstr(rp_words_advice(&hazard), "or set \"state\": \"discovered\""));
    hazard.discovers = true;
    assert_null(strstr(rp_words_advice(&hazard), "discovered"));
    assert_non_null(strstr(rp_words_advice(&hazard), "out of the guard's sight"));
    hazard.guarded = false;
    assert_non_null(strstr(rp_words_advice(&hazard), "run under -m guard"));
    hazard.undiscovered = true;
    assert_non_null(strstr(rp_words_advice(&hazard), "was refused"));
    hazard.kind = RP_HAZARD_FOREIGN_READ;
    assert_null(strstr(rp_words_advice(&hazard), "the next forward"));
    hazard.repeats = true;
    assert_non_null(strstr(rp_words_advice(&hazard), "the next forward"));
}

static void whatever_it_is_there_are_words_for_it(void **state)
{
    (void)state;
    struct rp_hazard hazard = {.segment = "block", .assumed = RP_ASSUMED_OUTPUT};
    for (int kind = 0; kind < RP_HAZARD_KIND_COUNT; kind++) {
        hazard.kind = (enum rp_hazard_kind)kind;
        assert_true(*rp_words_advice(&hazard));
    }
    hazard.kind = RP_HAZARD_ASSUMED;
    for (int taken = RP_ASSUMED_NOTHING + 1; taken < RP_ASSUMPTION_COUNT; taken++) {
        hazard.assumed = (enum rp_assumption)taken;
        assert_non_null(rp_words_taken_for(&hazard));
        assert_non_null(rp_words_advice(&hazard));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_a_place_versions_and_a_writer),
        cmocka_unit_test(unnamed_bytes_say_what_they_are_part_of),
        cmocka_unit_test(without_bytes_there_are_no_versions),
        cmocka_unit_test(a_race_names_both_calls),
        cmocka_unit_test(bytes_that_could_not_be_saved_say_which),
        cmocka_unit_test(state_that_is_left_names_who_left_it),
        cmocka_unit_test(bytes_that_could_not_be_saved_say_why),
        cmocka_unit_test(what_came_from_the_host_has_advice_of_its_own),
        cmocka_unit_test(what_is_assumed_is_said),
        cmocka_unit_test(advice_on_an_assumption_speaks_of_its_buffer_alone),
        cmocka_unit_test(what_cannot_be_told_names_all_three_calls),
        cmocka_unit_test(a_line_is_cut_and_never_overrun),
        cmocka_unit_test(advice_depends_on_what_was_tried),
        cmocka_unit_test(whatever_it_is_there_are_words_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
