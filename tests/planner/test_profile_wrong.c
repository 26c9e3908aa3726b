/* SPDX-License-Identifier: Apache-2.0 */
/* Profile files that are wrong are refused in one line. */
#include "tests/planner/profile_text.h"

#include <stdlib.h>

/* The whole message, so that nothing in it is wrong unseen. */
static void assert_refused(const char *text, const char *expected)
{
    struct rp_profile *profile;
    char message[400] = "";

    assert_int_equal(
        rp_profile_parse(text, strlen(text), "p", &profile, message, sizeof(message)),
        RP_INVALID);
    assert_null(profile);
    assert_string_equal(message, expected);
}

static void what_is_no_profile_is_refused(void **state)
{
    (void)state;
    assert_refused("[]", "p:1:1: the file must hold an object, { ... }, not a list");
    assert_refused("{}", "p:1:1: the file needs \"version\"; the one known is 1");
    assert_refused("{\"version\": 2, \"else\": 1}",
                   "p:1:13: this version is not known; the one known is 1");
    assert_refused("{\"version\": \"1\"}",
                   "p:1:13: this version is not known; the one known is 1");
    assert_refused("{\"version\": 1, \"base_bytes\": 0}", "p:1:1: the profile needs \"segments\"");
    assert_refused("{\"version\": 1, \"segments\": []}", "p:1:1: the profile needs \"base_bytes\"");
    assert_refused("{\"version\": 1, \"base_bytes\": 0, \"segment\": []}",
                   "p:1:33: unknown key \"segment\" in the profile; did you mean \"segments\"?");
    assert_refused("{\"version\": 1, \"format\": \"reprise-plan\", \"base_bytes\": 0}",
                   "p:1:26: \"format\" can't be \"reprise-plan\"; it is \"reprise-profile\"");
}

static void figures_are_whole_numbers_below_two_to_the_63(void **state)
{
    (void)state;
    assert_refused(ONE(ROW(-1, 2, 3)), "p:1:98: \"hold_bytes\" must not be negative, as -1 is");
    assert_refused(ONE(ROW(1, 2.5, 3)),
                   "p:1:115: \"peak_bytes\" must be a whole number, not a number with a fraction");
    assert_refused(ONE(ROW(1, 2, 1e3)),
                   "p:1:129: \"time_ns\" must be a whole number, not a number with a fraction");
    assert_refused(ONE(ROW(1, 2, "3")),
                   "p:1:129: \"time_ns\" must be a whole number, not a text");
    assert_refused(ONE(ROW(1, 9223372036854775808, 3)), "p:1:115: this is not JSON: too big "
                                                        "integer near '9223372036854775808'");
    assert_refused(ONE(ROW(3, 2, 1)), "p:1:115: \"peak_bytes\" is smaller than \"hold_bytes\", "
                                      "which is part of it");
    assert_refused("{\"version\": 1, \"base_bytes\": -5, \"segments\": []}",
                   "p:1:30: \"base_bytes\" must not be negative, as -5 is");
    assert_refused("{\"version\": 1, \"base_bytes\": 0, \"quantum_bytes\": 0, \"segments\": []}",
                   "p:1:50: \"quantum_bytes\" must not be 0; 1 means no rounding");
}

static void sums_that_leave_63_bits_are_refused(void **state)
{
    static const char two[] =
        "{\"version\": 1, \"base_bytes\": %s, \"segments\": ["
        "{\"name\": \"a\", \"options\": {\"retain\": {\"hold_bytes\": 0, \"peak_bytes\": %s, "
        "\"time_ns\": %s}}}, {\"name\": \"b\", \"options\": {\"retain\": {\"hold_bytes\": 0, "
        "\"peak_bytes\": %s, \"time_ns\": %s}}}]}";
    static const char most[] = "9223372036854775806", half[] = "4611686018427387904";
    char text[600];

    (void)state;
    snprintf(text, sizeof(text), two, "0", half, "0", half, "0");
    assert_refused(text,
                   "p:1:152: segment 'b': the bytes of all segments up to here leave 63 bits");
    snprintf(text, sizeof(text), two, "0", "0", most, "0", "1");
    assert_refused(text,
                   "p:1:152: segment 'b': the times of all segments up to here leave 63 bits");
    snprintf(text, sizeof(text), two, most, "1", "0", "0", "0");
    assert_refused(text, "p:1:64: segment 'a': the bytes of all segments up to here leave 63 bits");
}

/* The largest sums that are allowed are planned with, to the last byte and nanosecond. */
static void the_largest_figures_are_planned_with(void **state)
{
    const uint64_t most = INT64_MAX - 1;
    uint64_t rows[2][RP_CHOICE_COUNT][3] = {
        {{most - 1, most - 1, most - 1}, {0, 0, most}, {0, 0, most}},
        {{0, 1, 0}, {0, 0, 0}, {0, 0, 0}}};
    struct rp_profile *profile = instance_from_rows(0, 2, rows);

    (void)state;
    for (uint64_t budget = most - 2; budget <= (uint64_t)INT64_MAX + 1; budget++) {
        struct rp_question question = rp_question_default(profile, budget);
        for (int plain = 0; plain < 2; plain++) {
            question.plain = plain;
            struct rp_plan *plan = instance_solve(&question);
            assert_int_equal(plan->time, budget < most - 1 ? most : most - 1);
            assert_int_equal(plan->peak, budget < most - 1 ? 0 : most - 1);
            rp_plan_destroy(plan);
        }
    }
    rp_profile_destroy(profile);
}

static void options_are_complete(void **state)
{
    (void)state;
    assert_refused(ONE("{\"hold_bytes\": 1, \"peak_bytes\": 2}"),
                   "p:1:83: an option needs \"time_ns\"");
    assert_refused(ONE("{\"terms\": {\"hold_bytes\": " MEASURED(1) "}}"),
                   "p:1:93: \"terms\" needs \"peak_forward_bytes\"");
    assert_refused(ONE("{\"terms\": {\"hold_bytes\": {\"value\": 1, \"source\": \"absent\"}, "
                       "\"peak_forward_bytes\": " MEASURED(1)
                       ", \"peak_backward_bytes\": " MEASURED(1) ", \"forward_ns\": " MEASURED(1)
                       ", \"backward_ns\": " MEASURED(1) "}}"),
                   "p:1:131: \"hold_bytes\" is absent; it has to be measured before it can be "
                   "planned with (a run in guard measures it)");
    assert_refused("{\"version\": 1, \"base_bytes\": 0, \"segments\": [{\"name\": \"s0\", "
                   "\"options\": {}}]}",
                   "p:1:72: no option is allowed; a segment needs one at least");
    assert_refused("{\"version\": 1, \"base_bytes\": 0, \"segments\": [{\"name\": \"s0\"}]}",
                   "p:1:46: a segment needs \"options\" or \"facts\", or both");
    assert_refused("{\"version\": 1, \"base_bytes\": 0, \"segments\": [{\"name\": \"s0\", "
                   "\"options\": {\"retain\": " ROW(1, 2, 3) "}}, {\"name\": \"s0\", "
                   "\"options\": {\"retain\": " ROW(1, 2, 3) "}}]}",
                   "p:1:135: two segments are called 's0'");
}

/* A profile of facts, with one thing replaced. */
static char *facts_with(const char *key, const char *value)
{
    json_t *root = json_loads(
        "{\"version\": 1, \"base_bytes\": 0, \"buffers\": [{\"name\": \"b\", \"bytes\": 8}],"
        "\"copy\": {\"fixed_ns\": " MEASURED(1) ", \"bytes_per_us\": " MEASURED(1000) "},"
        "\"segments\": [{\"name\": \"s0\", \"facts\": {\"forward_ns\": " MEASURED(10)
        ", \"backward_ns\": " MEASURED(20) ", \"replay_ns\": " MEASURED(10)
        ", \"tracking_ns\": " MEASURED(0) ", \"activation_bytes\": " MEASURED(4)
        ", \"forward_workspace_bytes\": " MEASURED(0)
        ", \"backward_workspace_bytes\": " MEASURED(0)
        ", \"reads\": [{\"buffer\": \"b\", \"offset\": 0, \"bytes\": 8}], \"writes\": [],"
        "\"backward_writes\": []}}]}",
        0, NULL);
    json_t *segment = json_array_get(json_object_get(root, "segments"), 0);
    json_t *facts = json_object_get(segment, "facts"), *target = facts;

    assert_non_null(root);
    if (json_object_get(facts, key) == NULL && strcmp(key, "no_replay") != 0)
        target = root;
    if (value == NULL)
        json_object_del(target, key);
    else
        json_object_set_new(target, key, json_loads(value, JSON_DECODE_ANY, NULL));
    char *text = json_dumps(root, 0);
    json_decref(root);
    return text;
}

static void assert_facts_refused(const char *key, const char *value, const char *reason)
{
    struct rp_profile *profile;
    char message[400] = "", *text = facts_with(key, value);

    assert_int_equal(
        rp_profile_parse(text, strlen(text), "p", &profile, message, sizeof(message)),
        RP_INVALID);
    if (strstr(message, reason) == NULL)
        fail_msg("'%s' doesn't say '%s'", message, reason);
    free(text);
}

/* The schema says the same: "maximum". It stands for "none" in the searches. */
static void the_largest_number_of_63_bits_is_refused_wherever_it_stands(void **state)
{
    static const char *const figures[] = {"forward_ns", "tracking_ns", "activation_bytes"};

    (void)state;
    assert_refused(ONE(ROW(1, 9223372036854775807, 3)),
                   "p:1:115: \"peak_bytes\" leaves 63 bits; the most is 9223372036854775806");
    assert_refused("{\"version\": 1, \"base_bytes\": 9223372036854775807}",
                   "p:1:30: \"base_bytes\" leaves 63 bits; the most is 9223372036854775806");
    assert_refused("{\"version\": 1, \"base_bytes\": 0, \"quantum_bytes\": 9223372036854775807}",
                   "p:1:50: \"quantum_bytes\" leaves 63 bits; the most is 9223372036854775806");
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        assert_facts_refused(figures[i], MEASURED(9223372036854775807),
                             "\"value\" leaves 63 bits; the most is 9223372036854775806");
}

static void facts_are_complete(void **state)
{
    (void)state;
    char *text = facts_with("no_replay", "\"it waits for the host\"");
    struct rp_profile *profile = read_profile(text);
    const struct rp_cost *costs = rp_profile_segment(profile, 0)->costs;
    assert_true(costs[RP_CHOICE_RETAIN].allowed);
    assert_string_equal(costs[RP_CHOICE_WHOLE].masked, "it waits for the host");
    assert_string_equal(costs[RP_CHOICE_REGIONS].masked, "it waits for the host");
    rp_profile_destroy(profile);
    free(text);
    assert_facts_refused("copy", NULL, "the price of a copy is absent");
    assert_facts_refused("copy",
                         "{\"fixed_ns\": " MEASURED(1) ", \"bytes_per_us\": " MEASURED(0) "}",
                         "0 bytes per microsecond");
    assert_facts_refused("replay_ns", NULL, "needs \"replay_ns\"");
    assert_facts_refused("forward_ns", NULL, "needs \"forward_ns\"");
    assert_facts_refused("activation_bytes", "{\"value\": 4, \"source\": \"absent\"}",
                         "\"activation_bytes\" is absent");
    assert_facts_refused("activation_bytes", "{\"value\": 4, \"source\": \"guessed\"}",
                         "\"source\" can't be \"guessed\"");
    assert_facts_refused("activation_bytes", MEASURED(9223372036854775807), "leaves 63 bits");
    assert_facts_refused("reads", "[{\"buffer\": \"c\", \"offset\": 0, \"bytes\": 8}]",
                         "no buffer of that name");
    assert_facts_refused("reads", "[{\"buffer\": \"b\", \"offset\": 1, \"bytes\": 8}]",
                         "the range ends at 9, and the buffer has 8 bytes");
    assert_facts_refused("buffers",
                         "[{\"name\": \"b\", \"bytes\": 8}, {\"name\": \"b\", \"bytes\": 8}]",
                         "another buffer has this name");
}

static void another_backward_order_fits_no_model(void **state)
{
    struct rp_question question;
    struct rp_plan *plan;
    char message[400];
    struct rp_profile *profile = read_profile(
        "{\"version\": 1, \"base_bytes\": 0, \"segments\": [{\"name\": \"a\", \"options\": "
        "{\"retain\": " ROW(1, 2, 3) "}}, {\"name\": \"b\", \"options\": {\"retain\": "
        ROW(1, 2, 3) "}}], \"backward_order\": [\"a\", \"b\"]}");

    (void)state;
    question = rp_question_default(profile, 100);
    assert_int_equal(rp_planner_solve(&question, &plan, message, sizeof(message)),
                     RP_UNSUPPORTED);
    assert_string_equal(message, "no model covers this job: the backward of 'a' runs where that "
                                 "of 'b' would be in reverse order");
    rp_profile_destroy(profile);
}

#define ORDERED(order) "{\"version\": 1, \"base_bytes\": 0, \"segments\": [{\"name\": \"a\", " \
                       "\"options\": {\"retain\": " ROW(1, 2, 3) "}}, {\"name\": \"b\", "       \
                       "\"options\": {\"retain\": " ROW(1, 2, 3) "}}],\n\"backward_order\": "    \
                       order "}"

static void a_backward_order_names_every_segment_once(void **state)
{
    struct rp_profile *profile = read_profile(ORDERED("[\"b\", \"a\"]"));

    (void)state;
    assert_null(rp_profile_departure(profile));
    rp_profile_destroy(profile);
    assert_refused(ORDERED("[\"a\", \"c\"]"), "p:2:25: no segment is called 'c'");
    assert_refused(ORDERED("[\"a\", \"a\"]"), "p:2:25: 'a' stands here twice");
    assert_refused(ORDERED("[\"b\", 7]"), "p:2:25: this must be a text, not a whole number");
    assert_refused(ORDERED("[\"b\"]"), "p:2:19: 1 names stand here for 2 segments");
}

static void too_many_segments_are_refused(void **state)
{
    struct rp_profile *profile;
    const struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = true, .peak = 1}};
    char name[24], message[200];

    (void)state;
    assert_ok(rp_profile_create(&profile));
    for (int k = 0; k <= RP_PROFILE_MAX_SEGMENTS; k++) {
        snprintf(name, sizeof(name), "s%d", k);
        assert_ok(rp_profile_add_row(profile, name, costs));
    }
    assert_int_equal(rp_profile_close(profile, message, sizeof(message)), RP_INVALID);
    assert_string_equal(message, "4097 segments are more than the 4096 that are planned");
    rp_profile_destroy(profile);
}

/* ---- what is held later -------------------------------------------------------- */

/* The same profile, with this in place of what the last segment but one holds later. */
static void assert_later_refused(const char *later, const char *expected)
{
    static const char old[] = "{\"pass\": \"backward\", \"segment\": 2, \"bytes\": 9}";
    const char *at = strstr(instance_later_text, old);
    char text[6000], message[400] = "";
    struct rp_profile *profile;

    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - instance_later_text), instance_later_text,
             later, at + strlen(old));
    assert_int_equal(
        rp_profile_parse(text, strlen(text), "p", &profile, message, sizeof(message)), RP_INVALID);
    assert_null(profile);
    if (strncmp(message, "p:3:", 4) != 0 || strstr(message, expected) == NULL)
        fail_msg("'%s' is not at line 3 or doesn't say '%s'", message, expected);
}

#define LATER(pass, segment, bytes)                                                              \
    "{\"pass\": \"" pass "\", \"segment\": " #segment ", \"bytes\": " #bytes "}"

static void what_is_held_later_is_checked(void **state)
{
    (void)state;
    assert_later_refused("7", "");
    assert_later_refused("{}", "\"pass\"");
    assert_later_refused(LATER("sideways", 2, 9), "\"pass\" is \"forward\" or \"backward\"");
    assert_later_refused(LATER("backward", 1, 9), "2 to 2, and segment 1 is none");
    assert_later_refused(LATER("backward", 0, 9), "2 to 2, and segment 0 is none");
    assert_later_refused(LATER("backward", 3, 9), "2 to 2, and segment 3 is none");
    assert_later_refused(LATER("backward", 4294967297, 9), "number of a segment");
    assert_later_refused(LATER("backward", -1, 9), "segment");
    assert_later_refused(LATER("backward", 2, 10), "more is held later than is held in all, 9");
    assert_later_refused(LATER("forward", 2, 9223372036854775806), "more is held later");
    assert_later_refused(LATER("backward", 2, 9223372036854775807), "bytes");
    assert_later_refused(LATER("backward", 2, 1.5), "bytes");
    assert_later_refused(LATER("backward", 2, 1) ", " LATER("forward", 2, 1), "order of time");
    assert_later_refused(LATER("backward", 2, 1) ", " LATER("backward", 2, 1), "order of time");
    assert_later_refused(LATER("forward", 2, 5) ", " LATER("backward", 2, 5), "more is held later");
}

static void reduced_rows_hold_nothing_later(void **state)
{
    (void)state;
    assert_refused(ONE("{\"hold_bytes\": 1, \"peak_bytes\": 2, \"time_ns\": 3, \"later\": []}"),
                   "p:1:132: unknown key \"later\" in an option; its keys are \"hold_bytes\", "
                   "\"peak_bytes\" and \"time_ns\"");
}

/* ---- options beside facts -------------------------------------------------------- */

static void assert_both_refused(const char *key, const char *value, const char *expected)
{
    struct rp_profile *profile;
    char message[400] = "", *text = facts_with("no_replay", "\"x\"");
    json_t *root = json_loads(text, 0, NULL);
    json_t *segment = json_array_get(json_object_get(root, "segments"), 0);
    json_t *second = json_deep_copy(segment);

    json_object_set_new(segment, "options", json_loads(value, JSON_DECODE_ANY, NULL));
    if (key != NULL) { /* and one more segment, without this */
        json_object_set_new(segment, "options", json_loads("{\"retain\": {\"terms\": {"
            "\"hold_bytes\": " MEASURED(1) ", \"peak_forward_bytes\": " MEASURED(1)
            ", \"peak_backward_bytes\": " MEASURED(1) ", \"forward_ns\": " MEASURED(1)
            ", \"backward_ns\": " MEASURED(1) "}}}", 0, NULL));
        json_object_del(second, key);
        json_array_append(json_object_get(root, "segments"), second);
    }
    free(text);
    text = json_dumps(root, 0);
    assert_int_equal(
        rp_profile_parse(text, strlen(text), "p", &profile, message, sizeof(message)),
        RP_INVALID);
    if (strstr(message, expected) == NULL)
        fail_msg("'%s' doesn't say '%s'", message, expected);
    free(text);
    json_decref(second);
    json_decref(root);
}

static void options_beside_facts_are_in_full(void **state)
{
    (void)state;
    assert_both_refused(NULL, "{\"retain\": " ROW(1, 2, 3) "}",
                        "option retain: beside \"facts\" an option needs its terms");
    assert_both_refused(NULL, "{\"regions\": {\"terms\": {"
        "\"hold_bytes\": " MEASURED(1) ", \"stash_bytes\": " MEASURED(1)
        ", \"peak_forward_bytes\": " MEASURED(1) ", \"peak_backward_bytes\": " MEASURED(1)
        ", \"forward_ns\": " MEASURED(1) ", \"backward_ns\": " MEASURED(1)
        ", \"preserve_ns\": " MEASURED(1) ", \"stash_ns\": " MEASURED(1)
        ", \"restore_ns\": " MEASURED(1) ", \"replay_ns\": " MEASURED(1)
        ", \"reinstate_ns\": " MEASURED(1) ", \"tracking_ns\": " MEASURED(1) "}}}",
        "option regions: the facts beside it say that the segment can't be replayed: x");
    assert_both_refused("options", "{}", "where another has not; all need the same");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_profile_is_refused),
        cmocka_unit_test(figures_are_whole_numbers_below_two_to_the_63),
        cmocka_unit_test(sums_that_leave_63_bits_are_refused),
        cmocka_unit_test(the_largest_figures_are_planned_with),
        cmocka_unit_test(options_are_complete),
        cmocka_unit_test(the_largest_number_of_63_bits_is_refused_wherever_it_stands),
        cmocka_unit_test(facts_are_complete),
        cmocka_unit_test(another_backward_order_fits_no_model),
        cmocka_unit_test(a_backward_order_names_every_segment_once),
        cmocka_unit_test(too_many_segments_are_refused),
        cmocka_unit_test(what_is_held_later_is_checked),
        cmocka_unit_test(reduced_rows_hold_nothing_later),
        cmocka_unit_test(options_beside_facts_are_in_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
