/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/check.h"
#include "tests/tracker/contract_text.h"
#include "tracker/contract.h"
#include "tracker/contract_shape.h"
#include "tracker/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char message[512];

static struct rp_contract *parse(const char *text)
{
    struct rp_contract *contract = NULL;
    enum rp_status status = rp_contract_parse(text, strlen(text), "c.json", &contract, message,
                                              sizeof(message));

    if (status != RP_OK)
        print_error("%s\n", message);
    assert_int_equal(status, RP_OK);
    assert_non_null(contract);
    return contract;
}

/* ---- contracts that are right ----------------------------------------------------- */

static void every_field_of_a_segment_is_read(void **state)
{
    (void)state;
    struct rp_contract *c = parse(full);
    const struct rp_segment_rule *s = c->segments;

    assert_int_equal(c->segment_count, 5);
    assert_string_equal(s[0].name, "encoder");
    assert_int_equal(s[0].forward.kind, RP_WHERE_NVTX);
    assert_string_equal(s[0].forward.nvtx, "encoder/*");
    assert_int_equal(s[0].replay.kind, RP_WHERE_NVTX);
    assert_string_equal(s[0].replay.nvtx, "recompute/*");
    assert_int_equal(s[0].pair, RP_PAIR_KEY);
    assert_int_equal(s[0].replays, 2);
    assert_string_equal(s[1].name, "head");
    assert_int_equal(s[1].forward.kind, RP_WHERE_LAUNCHES);
    assert_string_equal(s[1].forward.first, "head_gemm");
    assert_string_equal(s[1].forward.last, "head_softmax");
    assert_int_equal(s[1].forward.first_nth, 2);
    assert_int_equal(s[1].replay.kind, RP_WHERE_REPEAT);
    assert_int_equal(s[1].pair, RP_PAIR_LIFO);
    assert_int_equal(s[1].replays, 1);
    assert_int_equal(s[2].pair, RP_PAIR_FIFO);
    assert_int_equal(s[2].replay.kind, RP_WHERE_LAUNCHES);
    assert_string_equal(s[2].replay.first, "a");
    assert_string_equal(s[2].replay.last, "b");
    assert_int_equal(s[2].replay.first_nth, 0);
    assert_int_equal(s[3].forward.kind, RP_WHERE_CALLS);
    assert_int_equal(s[3].replay.kind, RP_WHERE_CALLS);
    assert_int_equal(s[4].forward.kind, RP_WHERE_NVTX);
    assert_int_equal(s[4].replay.kind, RP_WHERE_CALLS);
    rp_contract_destroy(c);
}

static void every_field_of_a_buffer_is_read(void **state)
{
    (void)state;
    struct rp_contract *c = parse(full);
    const struct rp_buffer_rule *b = c->buffers;

    assert_int_equal(c->buffer_count, 7);
    assert_string_equal(b[0].name, "queue");
    assert_int_equal(b[0].at.kind, RP_AT_KERNEL);
    assert_string_equal(b[0].at.kernel, "enqueue_keys");
    assert_int_equal(b[0].at.param, 0);
    assert_false(b[0].at.has_field);
    assert_int_equal(b[0].offset, 1024);
    assert_true(b[0].has_bytes);
    assert_int_equal(b[0].bytes, 65536);
    assert_string_equal(b[1].at.kernel, "bn_*");
    assert_int_equal(b[1].at.param, 3);
    assert_int_equal(b[1].offset, 0);
    assert_int_equal(b[1].bytes, 4096);
    assert_true(b[2].at.has_field);
    assert_int_equal(b[2].at.field, 16);
    assert_false(b[2].has_bytes);
    assert_int_equal(b[3].at.kind, RP_AT_GLOBAL);
    assert_string_equal(b[3].at.symbol, "philox_state");
    assert_int_equal(b[4].at.kind, RP_AT_ALLOCATION);
    assert_int_equal(b[4].at.bytes, 1048576);
    assert_true(b[4].at.has_nth);
    assert_int_equal(b[4].at.nth, 2);
    assert_int_equal(b[5].at.bytes, 1048576);
    assert_false(b[5].at.has_nth);
    assert_int_equal(b[6].at.kind, RP_AT_HOST_SYMBOL);
    assert_string_equal(b[6].at.symbol, "generator");
    rp_contract_destroy(c);
}

static void every_other_field_is_read(void **state)
{
    (void)state;
    struct rp_contract *c = parse(full);

    assert_int_equal(c->state, RP_STATE_DISCOVERED);
    assert_int_equal(c->policy, RP_POLICY_JOINT);
    assert_null(c->plan_path);
    assert_true(c->has_budget);
    assert_int_equal(c->budget, UINT64_C(44) << 30);
    assert_string_equal(c->step_nvtx, "step");
    assert_int_equal(c->on_violation, RP_VIOLATION_REPORT);
    assert_true(c->trust_ptx);
    assert_false(c->assume_in_bounds);
    assert_int_equal(c->harmless_count, 2);
    assert_string_equal(c->harmless[0], "rng");
    assert_string_equal(c->harmless[1], "anything");
    rp_contract_destroy(c);
}

static void what_is_left_out_has_its_default(void **state)
{
    (void)state;
    struct rp_contract *c = parse("{\"version\":1}");

    assert_int_equal(c->segment_count, 0);
    assert_int_equal(c->buffer_count, 0);
    assert_int_equal(c->state, RP_STATE_DECLARED);
    assert_int_equal(c->policy, RP_POLICY_REGIONS);
    assert_false(c->has_budget);
    assert_null(c->step_nvtx);
    assert_int_equal(c->on_violation, RP_VIOLATION_STOP);
    assert_false(c->trust_ptx);
    assert_true(c->assume_in_bounds);
    assert_int_equal(c->harmless_count, 0);
    rp_contract_destroy(c);
    c = parse(" {\"version\":1, \"segments\":[], \"buffers\":[], \"harmless\":[]}\r\n");
    assert_int_equal(c->segment_count, 0);
    rp_contract_destroy(c);
}

static void a_policy_is_a_word_or_a_path(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum rp_policy policy;
    } rows[] = {
        {"joint", RP_POLICY_JOINT},      {"whole", RP_POLICY_WHOLE},
        {"regions", RP_POLICY_REGIONS},  {"retain", RP_POLICY_RETAIN},
        {"plan.json", RP_POLICY_PLAN},   {"./plan", RP_POLICY_PLAN},
        {"/tmp/regions", RP_POLICY_PLAN},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "{\"version\":1,\"policy\":\"%s\"}", rows[i].text);
        struct rp_contract *c = parse(text);
        assert_int_equal(c->policy, rows[i].policy);
        if (rows[i].policy == RP_POLICY_PLAN)
            assert_string_equal(c->plan_path, rows[i].text);
        else
            assert_null(c->plan_path);
        rp_contract_destroy(c);
    }
}

static void a_declared_family_may_be_harmless_by_member(void **state)
{
    (void)state;
    struct rp_contract *c = parse("{\"version\":1,\"buffers\":[{\"name\":\"m\",\"at\":{\"global\":"
                                  "\"g\"}}],\"harmless\":[\"m\",\"m[11]\"]}");

    assert_int_equal(c->harmless_count, 2);
    rp_contract_destroy(c);
}

static void a_marked_segment_brings_its_own_key(void **state)
{
    (void)state;
    rp_contract_destroy(
        parse("{\"version\":1,\"segments\":[{\"name\":\"x\",\"pair\":\"key\"}]}"));
}

static void a_replay_may_begin_where_its_forward_does_not(void **state)
{
    (void)state;
    static const char *const replays[] = {
        "{\"first\":\"z\",\"last\":\"b\",\"nth\":1}", "{\"first\":\"a\",\"last\":\"z\",\"nth\":1}",
        "{\"first\":\"a\",\"last\":\"b\",\"nth\":2}", "{\"first\":\"a\",\"last\":\"b\"}"};

    for (size_t i = 0; i < sizeof(replays) / sizeof(replays[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{\"version\":1,\"segments\":[{\"name\":\"s\",\"forward\":{\"launches\":"
                 "{\"first\":\"a\",\"last\":\"b\",\"nth\":1}},\"replay\":{\"launches\":%s}}]}",
                 replays[i]);
        rp_contract_destroy(parse(text));
    }
}

static void names_of_words(void **state)
{
    (void)state;
    enum rp_policy policy = RP_POLICY_PLAN;

    assert_int_equal(rp_policy_parse("whole", &policy), RP_OK);
    assert_int_equal(policy, RP_POLICY_WHOLE);
    assert_int_equal(rp_policy_parse("plan", &policy), RP_INVALID);
    assert_string_equal(rp_policy_name(RP_POLICY_RETAIN), "retain");
    assert_string_equal(rp_policy_name(RP_POLICY_PLAN), "plan");
    assert_string_equal(rp_pair_words[RP_PAIR_LIFO], "lifo");
    assert_string_equal(rp_pair_words[RP_PAIR_FIFO], "fifo");
    assert_string_equal(rp_pair_words[RP_PAIR_KEY], "key");
    assert_string_equal(rp_state_words[RP_STATE_DISCOVERED], "discovered");
    assert_string_equal(rp_violation_words[RP_VIOLATION_REPORT], "report");
}

/* ---- the schema for editors ------------------------------------------------------- */

static const char *const schema_names[RP_CONTRACT_OBJECT_COUNT] = {
    [RP_CONTRACT_ROOT] = "contract",     [RP_CONTRACT_SEGMENT] = "segment",
    [RP_CONTRACT_FORWARD] = "forward",   [RP_CONTRACT_REPLAY] = "replay",
    [RP_CONTRACT_LAUNCHES] = "launches", [RP_CONTRACT_BUFFER] = "buffer",
    [RP_CONTRACT_AT] = "at",             [RP_CONTRACT_ALLOCATION] = "allocation",
    [RP_CONTRACT_STEP] = "step",
};

static bool has_item(json_t *list, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
            return true;
    }
    return false;
}

static void assert_schema_kind(json_t *property, const struct rp_json_key *key)
{
    static const char *const types[] = {[RP_JSON_TEXT] = "string",   [RP_JSON_WORD] = "string",
                                        [RP_JSON_COUNT] = "integer", [RP_JSON_FLAG] = "boolean",
                                        [RP_JSON_LIST] = "array"};
    const char *reference = json_string_value(json_object_get(property, "$ref"));
    size_t words = 0;

    if (key->kind == RP_JSON_OBJECT) {
        assert_non_null(reference);
        assert_string_equal(reference + strlen("#/$defs/"), key->name);
        return;
    }
    if (key->kind == RP_JSON_SIZE) {
        assert_non_null(reference);
        assert_non_null(strstr(reference, "size"));
        return;
    }
    assert_string_equal(json_string_value(json_object_get(property, "type")), types[key->kind]);
    for (; key->words != NULL && key->words[words] != NULL; words++)
        assert_true(has_item(json_object_get(property, "enum"), key->words[words]));
    assert_int_equal(json_array_size(json_object_get(property, "enum")), words);
}

static void assert_schema_shape(json_t *schema, const struct rp_json_shape *shape)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *required = json_object_get(schema, "required");
    size_t required_count = 0;

    assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
    assert_int_equal(json_object_size(properties), shape->key_count);
    for (size_t i = 0; i < shape->key_count; i++) {
        const struct rp_json_key *key = &shape->keys[i];
        json_t *property = json_object_get(properties, key->name);
        if (property == NULL)
            print_error("the schema lacks %s in %s\n", key->name, shape->title);
        assert_non_null(property);
        assert_schema_kind(property, key);
        assert_int_equal(has_item(required, key->name), key->required);
        required_count += key->required;
    }
    assert_int_equal(json_array_size(required), required_count);
}

static void the_schema_says_what_the_reader_takes(void **state)
{
    (void)state;
    json_error_t error;
    json_t *schema = json_load_file(CONTRACT_SCHEMA, JSON_REJECT_DUPLICATES, &error);
    json_t *definitions = json_object_get(schema, "$defs");

    assert_non_null(schema);
    for (size_t i = 0; i < RP_CONTRACT_OBJECT_COUNT; i++)
        assert_schema_shape(json_object_get(definitions, schema_names[i]),
                            &rp_contract_shapes[i]);
    json_t *policy = json_object_get(
        json_object_get(json_object_get(definitions, "contract"), "properties"), "policy");
    json_t *words = json_object_get(json_array_get(json_object_get(policy, "anyOf"), 0), "enum");
    assert_int_equal(json_array_size(words), RP_POLICY_PLAN);
    for (size_t i = 0; i < RP_POLICY_PLAN; i++)
        assert_true(has_item(words, rp_policy_words[i]));
    json_decref(schema);
}

/* ---- what is asked for in vain ---------------------------------------------------- */

#define HOST_BUFFER "\"buffers\":[{\"name\":\"rng\",\"at\":{\"host_symbol\":\"generator\"}}]}"

static void refuses(const char *text, const char *part)
{
    struct rp_contract *c = parse(text);
    enum rp_status status = rp_refusal_check(c, message, sizeof(message));

    assert_int_equal(status, part ? RP_UNSUPPORTED : RP_OK);
    if (part && !strstr(message, part))
        fail_msg("\"%s\" does not say \"%s\"", message, part);
    rp_contract_destroy(c);
}

static void host_variables_need_segments_that_open_in_time(void **state)
{
    (void)state;
    refuses("{\"version\":1,\"segments\":[{\"name\":\"s\",\"forward\":{\"nvtx\":\"f\"},\"replay\":"
            "{\"nvtx\":\"r\"}}]," HOST_BUFFER, NULL);
    refuses("{\"version\":1,\"segments\":[{\"name\":\"s\"}]," HOST_BUFFER, NULL);
    refuses("{\"version\":1,\"segments\":[{\"name\":\"s\",\"forward\":{\"nvtx\":\"f\"},\"replay\":"
            "{\"repeat\":true}}]," HOST_BUFFER,
            "buffer rng: a host symbol needs segments that are found by \"nvtx\"");
    refuses("{\"version\":1,\"segments\":[{\"name\":\"s\",\"forward\":{\"launches\":"
            "{\"first\":\"a\",\"last\":\"b\"}},\"replay\":{\"nvtx\":\"r\"}}]," HOST_BUFFER,
            "segment s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_segment_is_read),
        cmocka_unit_test(every_field_of_a_buffer_is_read),
        cmocka_unit_test(every_other_field_is_read),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(a_policy_is_a_word_or_a_path),
        cmocka_unit_test(a_declared_family_may_be_harmless_by_member),
        cmocka_unit_test(a_marked_segment_brings_its_own_key),
        cmocka_unit_test(host_variables_need_segments_that_open_in_time),
        cmocka_unit_test(a_replay_may_begin_where_its_forward_does_not),
        cmocka_unit_test(names_of_words),
        cmocka_unit_test(the_schema_says_what_the_reader_takes),
    };
    return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
