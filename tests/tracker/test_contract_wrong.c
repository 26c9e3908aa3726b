/* SPDX-License-Identifier: Apache-2.0 */
/* Contracts that are wrong, and what is said of them. */
#include "tests/tracker/check.h"
#include "tests/tracker/contract_text.h"
#include "tests/tracker/random.h"
#include "tracker/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char message[512];

/* In these texts an @ marks the place that the message must name; it is taken out first. */

#define SEGMENT(rest) "{\"version\":1,\"segments\":[{\"name\":\"s\"," rest "}]}"
#define BUFFER(rest) "{\"version\":1,\"buffers\":[{\"name\":\"b\"," rest "}]}"
#define SIZE_WANTED "must be a whole number of bytes or a text such as \"64KiB\", not "

static const struct {
    const char *text, *message;
} wrong[] = {
    /* not JSON, or not an object */
    {"@", "the file is empty; it begins with { \"version\": 1"},
    {"@ \n\t", "the file is empty; it begins with { \"version\": 1"},
    {"@\xEF\xBB\xBF{}", "the file begins with a byte order mark; save it as UTF-8 "
                       "without one"},
    {"@[1]", "the file must hold an object, { ... }, not a list"},
    {"@\"x\"", "the file must hold an object, { ... }, not a text"},
    {"@null", "the file must hold an object, { ... }, not null"},
    {"{\n\"version\": 1,\n@}", "this is not JSON: string or '}' expected near '}'"},
    {"{\"version\": @1", "this is not JSON: '}' expected near end of file"},
    {"{\"version\": 1} @x", "this is not JSON: end of file expected near 'x'"},
    {"{\"version\": 1, @\"version\": 1}",
     "this is not JSON: duplicate object key near '\"version\"'"},
    {"{\"a\": @\"\xFF\"}", "this is not JSON: unable to decode byte 0xff near '\"'"},
    {"{\"a\": @\"b\n\"}", "this is not JSON: unexpected newline near '\"b'"},
    {"{\"version\": @99999999999999999999}", "this is not JSON: too big integer near "
                                            "'99999999999999999999'"},
    /* the version comes first: a newer contract may have other keys */
    {"{\"new\": 0, \"version\": @2}", "this build reads version 1 of the contract, "
                                     "not 2; a newer reprise may"},
    {"{\"version\": @0}", "this build reads version 1 of the contract, not 0"},
    {"{\"version\": @\"1\"}", "\"version\" must be a whole number, not a text"},
    {"{\"version\": @1.0}",
     "\"version\" must be a whole number, not a number with a fraction"},
    {"\n  @{}", "the contract needs \"version\""},
    /* unknown keys, at the key */
    {"{\n  \"version\": 1,\n  @\"polcy\": \"joint\"\n}",
     "unknown key \"polcy\" in the contract; did you mean \"policy\"?"},
    {"{\"version\":1,@\"\":2}",
     "unknown key \"\" in the contract; its keys are \"version\", \"segments\", "
     "\"buffers\", \"state\", \"policy\", \"budget\", \"step\", \"on_violation\", \"trust_ptx\", "
     "\"assume_in_bounds\" and \"harmless\""},
    {SEGMENT("@\"back\":1"), "unknown key \"back\" in a segment; its keys are "
                            "\"name\", \"forward\", \"replay\", \"pair\" and \"replays\""},
    {BUFFER("\"at\":{@\"globl\":\"x\"}"),
     "unknown key \"globl\" in \"at\"; did you mean \"global\"?"},
    {"{\"version\":1,\"step\":{\"nvtx\":\"s\",@\"mvtx\":\"t\"}}",
     "unknown key \"mvtx\" in \"step\"; did you mean \"nvtx\"?"},
    {SEGMENT("\"forward\":{\"launches\":{\"first\":\"a\",@\"lst\":\"b\"}}"),
     "unknown key \"lst\" in \"launches\"; did you mean \"last\"?"},
    {BUFFER("\"at\":{\"allocation\":{@\"size\":4}}"),
     "unknown key \"size\" in \"allocation\"; its keys are \"bytes\" and \"nth\""},
    /* an escaped key is found under its real name, text before it counts in characters */
    {"{\"version\":1,\"step\":{\"nvtx\":\"\\\"\xC3\xA9\"},@\"st\\u0061t\":1}",
     "unknown key \"stat\" in the contract; did you mean \"state\"?"},
    /* and behind what is empty */
    {"{\"version\":1,\"segments\":[ ],\"buffers\":[],\"step\":{\"nvtx\":\"s\"},@\"stat\":1}",
     "unknown key \"stat\" in the contract; did you mean \"state\"?"},
    {"{\"version\":1,\"segments\":[{\"name\":\"a\",@\"x\":{ }}],\"harmless\":[]}",
     "unknown key \"x\" in a segment; its keys are \"name\", \"forward\", \"replay\", "
     "\"pair\" and \"replays\""},
    {"{\"version\":1,\"segments\":[],\"harmless\":[],\"buffers\":[{\"name\":\"b\",\"at\":{},"
     "@\"z\":1}]}",
     "unknown key \"z\" in a buffer; its keys are \"name\", \"at\", \"offset\" and \"bytes\""},
    /* wrong types, at the value */
    {"{\"version\":1,\"segments\":@{}}", "\"segments\" must be a list, not an object"},
    {"{\"version\":1,\"segments\":[@[]]}", "a segment must be an object, not a list"},
    {"{\"version\":1,\"segments\":[{\"name\":\"a\"},@true]}",
     "a segment must be an object, not true"},
    {"{\"version\":1,\"buffers\":[@7]}", "a buffer must be an object, not a whole "
                                        "number"},
    {"{\"version\":1,\"step\":@\"step\"}", "\"step\" must be an object, not a text"},
    {"{\"version\":1,\"trust_ptx\":@1}",
     "\"trust_ptx\" must be true or false, not a whole number"},
    {"{\"version\":1,\"policy\":@null}", "\"policy\" must be a text, not null"},
    {BUFFER("\"at\":{\"kernel\":\"k\",\"param\":@\"0\"}"),
     "\"param\" must be a whole number, not a text"},
    {BUFFER("\"at\":@[]"), "\"at\" must be an object, not a list"},
    {"{\"version\":1,\"harmless\":@\"rng\"}", "\"harmless\" must be a list, not a text"},
    {"{\"version\":1,\"harmless\":[@3]}", "this must be a text, not a whole number"},
    {"{\"version\":1,\"harmless\":[@\"\"]}", "this must not be empty"},
    /* wrong words */
    {"{\"version\":1,\"state\":@\"discoverd\"}",
     "\"state\" can't be \"discoverd\"; did you mean \"discovered\"?"},
    {"{\"version\":1,\"on_violation\":@\"panic\"}",
     "\"on_violation\" can't be \"panic\"; it is \"stop\" or \"report\""},
    {SEGMENT("\"replays\":@0"), "\"replays\" must be at least 1; without replays, leave "
                                 "\"replay\" out"},
    {SEGMENT("\"replays\":@1000001"), "\"replays\" can't be more than 1000000"},
    {SEGMENT("\"pair\":@\"stack\""),
     "\"pair\" can't be \"stack\"; it is \"lifo\", \"fifo\" or \"key\""},
    {"{\"version\":1,\"policy\":@\"region\"}",
     "\"policy\" can't be \"region\"; did you mean \"regions\"?"},
    {"{\"version\":1,\"policy\":@\"cheap\"}",
     "\"policy\" can't be \"cheap\"; it is \"joint\", \"whole\", \"regions\", "
     "\"retain\" or the path of a plan, with a \"/\" in it or \".json\" at its end"},
    {"{\"version\":1,\"policy\":@\".json\"}",
     "\"policy\" can't be \".json\"; it is \"joint\", \"whole\", \"regions\", "
     "\"retain\" or the path of a plan, with a \"/\" in it or \".json\" at its end"},
    {"{\"version\":1,\"policy\":@\"\"}", "\"policy\" must not be empty"},
    /* bad sizes */
    {BUFFER("\"bytes\":@\"64 kilo\",\"at\":{\"global\":\"g\"}"),
     "\"bytes\" " SIZE_WANTED "\"64 kilo\""},
    {BUFFER("\"bytes\":@-5,\"at\":{\"global\":\"g\"}"),
     "\"bytes\" must not be negative, as -5 is"},
    {BUFFER("\"bytes\":@1.5,\"at\":{\"global\":\"g\"}"),
     "\"bytes\" " SIZE_WANTED "a number with a fraction"},
    {BUFFER("\"bytes\":@\"0.3KiB\",\"at\":{\"global\":\"g\"}"),
     "\"bytes\" " SIZE_WANTED "\"0.3KiB\""},
    {BUFFER("\"bytes\":@\"8589934592GiB\",\"at\":{\"global\":\"g\"}"),
     "\"bytes\" " SIZE_WANTED "\"8589934592GiB\""},
    {BUFFER("\"bytes\":@0,\"at\":{\"global\":\"g\"}"),
     "\"bytes\" must be at least 1; leave it out to mean the whole rest"},
    {BUFFER("\"offset\":@\"1\\u0007\",\"at\":{\"global\":\"g\"}"),
     "\"offset\" " SIZE_WANTED "\"1\\x07\""},
    {BUFFER("\"at\":{\"allocation\":{\"bytes\":@\"0KiB\"}}"),
     "\"bytes\" must be at least 1"},
    {BUFFER("\"at\":{\"allocation\":{\"bytes\":8,\"nth\":@-1}}"),
     "\"nth\" must not be negative, as -1 is"},
    {BUFFER("\"at\":{\"kernel\":\"k\",\"param\":@4294967296}"),
     "\"param\" is too large"},
    {BUFFER("\"at\":{\"kernel\":\"k\",\"param\":0,\"field\":@\"two\"}"),
     "\"field\" " SIZE_WANTED "\"two\""},
    {"{\"version\":1,\"budget\":@\"\"}", "\"budget\" must not be empty"},
    {"{\"version\":1,\"budget\":@0}", "\"budget\" must be at least 1"},
    /* missing keys, at the object */
    {"{\"version\":1,\"segments\":[@{}]}", "a segment needs \"name\""},
    {"{\"version\":1,\"buffers\":[@{\"name\":\"b\"}]}", "a buffer needs \"at\""},
    {"{\"version\":1,\"buffers\":[@{\"at\":{}}]}", "a buffer needs \"name\""},
    {"{\"version\":1,\"step\":@{ }}", "\"step\" needs \"nvtx\""},
    {SEGMENT("\"forward\":{\"launches\":@{\"first\":\"a\"}}"),
     "\"launches\" needs \"last\""},
    {SEGMENT("\"forward\":{\"launches\":@{\"last\":\"a\"}}"),
     "\"launches\" needs \"first\""},
    {BUFFER("\"at\":{\"allocation\":@{\"nth\":1}}"), "\"allocation\" needs \"bytes\""},
    {BUFFER("\"at\":@{\"kernel\":\"k\"}"),
     "\"kernel\" needs \"param\", the position of the pointer among the kernel's "
     "parameters, from 0"},
    {BUFFER("\"at\":@{}"), "\"at\" needs one of \"kernel\", \"global\", "
                          "\"allocation\" and \"host_symbol\""},
    {SEGMENT("\"forward\":@{}"),
     "\"forward\" needs exactly one of \"nvtx\" and \"launches\""},
    {SEGMENT("\"forward\":{\"nvtx\":\"f\"},\"replay\":@{}"),
     "\"replay\" needs exactly one of \"nvtx\", \"launches\" and \"repeat\""},
    /* empty names */
    {"{\"version\":1,\"segments\":[{\"name\":@\"\"}]}", "\"name\" must not be empty"},
    {"{\"version\":1,\"step\":{\"nvtx\":@\"\"}}", "\"nvtx\" must not be empty"},
    {BUFFER("\"at\":{\"kernel\":@\"\",\"param\":0}"), "\"kernel\" must not be empty"},
    /* names that are there already, at the second */
    {"{\"version\":1,\"segments\":[{\"name\":\"a\"},{\"name\":\"b\"},\n{\"name\":@\"a\"}]}",
     "a segment called \"a\" is there already; give it another name"},
    {"{\"version\":1,\"buffers\":[{\"name\":\"a\",\"at\":{\"global\":\"g\"}},"
     "{\"name\":@\"a\",\"at\":{\"global\":\"g\"}}]}",
     "a buffer called \"a\" is there already; give it another name"},
    /* impossible places */
    {BUFFER("\"at\":{\"global\":\"g\",@\"host_symbol\":\"h\"}"),
     "\"at\" has both \"global\" and \"host_symbol\"; one place is enough"},
    {BUFFER("\"at\":{\"param\":1,\"kernel\":\"k\",@\"allocation\":{\"bytes\":1}}"),
     "\"at\" has both \"kernel\" and \"allocation\"; one place is enough"},
    {BUFFER("\"at\":{\"global\":\"g\",@\"param\":1}"),
     "\"param\" belongs to \"kernel\" and means nothing beside \"global\""},
    {BUFFER("\"at\":{@\"field\":1,\"host_symbol\":\"g\"}"),
     "\"field\" belongs to \"kernel\" and means nothing beside \"host_symbol\""},
    {SEGMENT("\"forward\":@{\"nvtx\":\"f\",\"launches\":{\"first\":\"a\",\"last\":\"b\"}}"),
     "\"forward\" needs exactly one of \"nvtx\" and \"launches\""},
    {SEGMENT("\"forward\":{\"nvtx\":\"f\"},\"replay\":@{\"nvtx\":\"g\",\"repeat\":true}"),
     "\"replay\" needs exactly one of \"nvtx\", \"launches\" and \"repeat\""},
    /* impossible pairings */
    {SEGMENT("\"forward\":{@\"repeat\":true}"),
     "a \"forward\" can't be a repetition; \"repeat\" belongs to \"replay\""},
    {SEGMENT("\"forward\":{\"nvtx\":\"f\"},\"replay\":{\"repeat\":@false}"),
     "\"repeat\" can only be true; without a replay, leave \"replay\" out"},
    {SEGMENT("@\"replay\":{\"nvtx\":\"r\"}"),
     "\"replay\" needs a \"forward\" beside it; leave both out for a segment that the job "
     "marks by calls: reprise_segment_begin or reprise_replay_begin, and reprise_segment_end"},
    {SEGMENT("\"forward\":{\"nvtx\":\"f\"},\"replay\":@{\"nvtx\":\"f\"}"),
     "\"replay\" is found just as \"forward\" is, so the two can't be told apart; "
     "say \"replay\": { \"repeat\": true }"},
    {SEGMENT("\"forward\":{\"launches\":{\"first\":\"a\",\"last\":\"b\"}},"
             "\"replay\":@{\"launches\":{\"last\":\"b\",\"first\":\"a\",\"nth\":0}}"),
     "\"replay\" is found just as \"forward\" is, so the two can't be told apart; "
     "say \"replay\": { \"repeat\": true }"},
#define KEY_NEEDS                                                                                \
    "\"pair\": \"key\" needs \"nvtx\" with a \"*\" in \"forward\" and \"replay\": the key is "   \
    "the text that it matches; say \"lifo\" or \"fifo\" otherwise"
    {SEGMENT("\"forward\":{\"nvtx\":\"f\"},\"replay\":{\"nvtx\":\"r/*\"},\"pair\":@\"key\""),
     "" KEY_NEEDS},
    {SEGMENT("\"forward\":{\"nvtx\":\"f/*\"},\"replay\":{\"nvtx\":\"r\"},\"pair\":@\"key\""),
     "" KEY_NEEDS},
    {SEGMENT("\"forward\":{\"nvtx\":\"f/*\"},\"replay\":{\"repeat\":true},\"pair\":@\"key\""),
     "" KEY_NEEDS},
    {SEGMENT("\"pair\":@\"key\",\"forward\":{\"launches\":{\"first\":\"a*\",\"last\":\"b\"}},"
             "\"replay\":{\"nvtx\":\"r/*\"}"),
     "" KEY_NEEDS},
    /* harmless, but of what? */
    {"{\"version\":1,\"harmless\":[@\"rng\"]}",
     "no buffer is called \"rng\"; declare it in \"buffers\""},
    {"{\"version\":1,\"buffers\":[{\"name\":\"m\",\"at\":{\"global\":\"g\"}}],\"harmless\":["
     "\"m\",\n @\"m[x]\"]}",
     "no buffer is called \"m[x]\"; declare it in \"buffers\""},
};

static void assert_wrong(const char *marked, const char *want)
{
    struct rp_contract *contract = (struct rp_contract *)message;
    char text[512], expected[512];
    const char *mark = strchr(marked, '@');
    size_t before = (size_t)(mark - marked), line = 1, column = 1;

    assert_non_null(mark);
    snprintf(text, sizeof(text), "%.*s%s", (int)before, marked, mark + 1);
    for (size_t i = 0; i < before; i++) {
        column = text[i] == '\n' ? 1 : column + ((text[i] & 0xC0) != 0x80);
        line += text[i] == '\n';
    }
    snprintf(expected, sizeof(expected), "c.json:%zu:%zu: %s", line, column, want);
    if (rp_contract_parse(text, strlen(text), "c.json", &contract, message, sizeof(message)) !=
        RP_INVALID)
        fail_msg("accepted: %s", text);
    assert_null(contract);
    if (strcmp(message, expected) != 0)
        print_error("for %s\n", text);
    assert_string_equal(message, expected);
}

static void each_wrong_contract_has_its_message(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_wrong(wrong[i].text, wrong[i].message);
}

static void any_prefix_of_a_contract_is_refused(void **state)
{
    (void)state;

    for (size_t length = 0; length + 2 < sizeof(full); length++) {
        struct rp_contract *contract = NULL;
        assert_int_equal(
            rp_contract_parse(full, length, "c.json", &contract, message, sizeof(message)),
            RP_INVALID);
        assert_null(contract);
    }
}

static void a_garbled_contract_never_breaks_the_reader(void **state)
{
    (void)state;
    static const char spice[] = "{}[]:,\"\\0-1.e \n\x80\xC3*truefalsenull";
    struct random random = random_begin("contract");
    size_t refused = 0;

    for (int round = 0; round < 3000; round++) {
        char text[sizeof(full)];
        memcpy(text, full, sizeof(full));
        for (uint64_t i = 1 + random_below(&random, 4); i > 0; i--)
            text[random_below(&random, sizeof(full) - 1)] =
                spice[random_below(&random, sizeof(spice) - 1)];
        struct rp_contract *contract = NULL;
        enum rp_status status = rp_contract_parse(text, sizeof(full) - 1, "c.json", &contract,
                                                  message, sizeof(message));
        assert_true(status == RP_OK || status == RP_INVALID);
        assert_int_equal(contract != NULL, status == RP_OK);
        assert_true(status == RP_OK || strncmp(message, "c.json:", 7) == 0);
        assert_true(status == RP_OK || strchr(message, '\n') == NULL);
        refused += status != RP_OK;
        rp_contract_destroy(contract);
    }
    assert_true(refused > 1000);
}

static void a_zero_byte_does_not_end_the_text(void **state)
{
    (void)state;
    struct rp_contract *contract = NULL;
    static const char text[] = "{\"version\":1}\0x";

    assert_int_equal(
        rp_contract_parse(text, sizeof(text) - 1, "c.json", &contract, message, sizeof(message)),
        RP_INVALID);
    assert_int_equal(
        rp_contract_parse("\0", 1, "c.json", &contract, message, sizeof(message)), RP_INVALID);
    assert_non_null(strstr(message, "not JSON")); /* rather than empty */
}

static void a_short_message_buffer_is_not_overrun(void **state)
{
    (void)state;
    struct rp_contract *contract = NULL;
    char shorter[12];

    memset(shorter, 'x', sizeof(shorter));
    assert_int_equal(rp_contract_parse("{\"versoin\":1}", 13, "c.json", &contract, shorter, 11),
                     RP_INVALID);
    assert_string_equal(shorter, "c.json:1:2");
    assert_int_equal(shorter[11], 'x');
}

/* ---- files ------------------------------------------------------------------------ */

static void assert_load(const char *path, enum rp_status status, const char *want)
{
    struct rp_contract *contract = NULL;
    char expected[512];

    assert_int_equal(rp_contract_load(path, &contract, message, sizeof(message)), status);
    snprintf(expected, sizeof(expected), "%s%s", path, want);
    if (status != RP_OK) {
        assert_null(contract);
        assert_string_equal(message, expected);
    }
    rp_contract_destroy(contract);
}

static void files_that_are_no_contracts(void **state)
{
    (void)state;
    char folder[] = "/tmp/reprise-contract-XXXXXX", path[64];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/c.json", folder);
    assert_load(path, RP_IO, ": the file can't be read: No such file or directory");
    assert_load(folder, RP_IO, ": the file can't be read: Is a directory");
    assert_load("/dev/zero", RP_IO, ": the file can't be read: File too large");
    assert_load("/dev/null", RP_INVALID,
                ":1:1: the file is empty; it begins with { \"version\": 1");

    FILE *file = fopen(path, "w");
    fputs("{\"version\":1,\n\"x\":1}", file);
    fclose(file);
    assert_load(path, RP_INVALID,
                ":2:1: unknown key \"x\" in the contract; its keys are \"version\", "
                "\"segments\", \"buffers\", \"state\", \"policy\", \"budget\", \"step\", "
                "\"on_violation\", \"trust_ptx\", \"assume_in_bounds\" and \"harmless\"");
    file = fopen(path, "w");
    fputs(full, file);
    fclose(file);
    assert_load(path, RP_OK, "");
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wrong_contract_has_its_message),
        cmocka_unit_test(any_prefix_of_a_contract_is_refused),
        cmocka_unit_test(a_garbled_contract_never_breaks_the_reader),
        cmocka_unit_test(a_zero_byte_does_not_end_the_text),
        cmocka_unit_test(a_short_message_buffer_is_not_overrun),
        cmocka_unit_test(files_that_are_no_contracts),
    };

    return cmocka_run_group_tests_name("wrong contracts", tests, NULL, NULL);
}
