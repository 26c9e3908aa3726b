/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/tracker/check.h"
#include "tests/tracker/random.h"
#include "tracker/text.h"

#include <string.h>

static void sizes_that_are_right(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {
        {"0", 0},
        {"4096", 4096},
        {"0004096", 4096},
        {"64KiB", 65536},
        {"3MiB", 3145728},
        {"44GiB", UINT64_C(47244640256)},
        {"1.5GiB", 1610612736},
        {"1.50GiB", 1610612736},
        {"0.25KiB", 256},
        {"1.0", 1},
        {"0.0009765625KiB", 1},
        {"0.000000000931322574615478515625GiB", 1},
        {"9223372036854775807", INT64_MAX},
        {"8589934591.999999999068677425384521484375GiB", INT64_MAX},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = 1;
        assert_int_equal(rp_size_parse(rows[i].text, &bytes), RP_OK);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void sizes_that_are_wrong(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "", " ", "KiB", "-1", "+1", "1 KiB", " 1", "1 ", "64 kilo", "64kib", "64KB", "64K", "64B",
        "1TiB", "0x10", "1e3", ".5GiB", "5.GiB", "5.", "1.5", "0.3KiB", "1.2.3KiB", "1,5GiB",
        "0.00048828125KiB", "9223372036854775808", "99999999999999999999999", "8589934592GiB",
        "0.00000000000000000000000000000000000000000000000000000000000000000GiB", /* 65 digits */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = 77;
        assert_int_equal(rp_size_parse(rows[i], &bytes), RP_INVALID);
        assert_int_equal(bytes, 77);
    }
}

static void sizes_for_people(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},           {1023, "1023 B"},
        {1024, "1 KiB"},      {65536, "64 KiB"},
        {1536, "1.5 KiB"},    {1025, "1 KiB"},
        {2047, "2 KiB"},      {1048575, "1024 KiB"},
        {1610612736, "1.5 GiB"}, {UINT64_MAX, "17179869184 GiB"},
    };
    char text[RP_SIZE_TEXT];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(rp_size_format(text, rows[i].bytes), rows[i].text);
}

static void sizes_that_can_be_given_back(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1023, "1023"},
        {1024, "1KiB"},
        {1536, "1536"},
        {893440, "893440"},
        {1610612736, "1536MiB"},
        {UINT64_C(44) << 30, "44GiB"},
        {INT64_MAX, "9223372036854775807"},
    };
    char text[RP_SIZE_TEXT];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t bytes = 77;
        assert_string_equal(rp_size_exact(text, rows[i].bytes), rows[i].text);
        assert_int_equal(rp_size_parse(text, &bytes), RP_OK);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void globs(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        const char *key; /* NULL: no match */
    } rows[] = {
        {"", "", ""},
        {"", "a", NULL},
        {"a", "", NULL},
        {"abc", "abc", ""},
        {"abc", "abd", NULL},
        {"abc", "abcd", NULL},
        {"*", "", ""},
        {"*", "anything", "anything"},
        {"encoder/*", "encoder/7", "7"},
        {"encoder/*", "encoder/", ""},
        {"encoder/*", "decoder/7", NULL},
        {"*_kernel", "bn_kernel", "bn"},
        {"*_kernel", "bn_kernel_kernel", "bn_kernel"},
        {"a*b*c", "aXbYc", "X"},
        {"a*b*c", "aXbYbZc", "X"}, /* the first star is as short as it can be */
        {"a*b*c", "aXbY", NULL},
        {"a**c", "abc", ""},
        {"*a*", "xxayya", "xx"},
        {"a?c", "abc", ""},
        {"a?c", "ac", NULL},
        {"a?c", "a\xC3\xA9" "c", ""}, /* one character, two bytes */
        {"?", "", NULL},
        {"*?", "ab", "a"},
        {"*.json", "*.json", "*"},
        {"void f<int>(float*)", "void f<int>(float*)", "*"},
        {"[ab]", "a", NULL}, /* brackets stand for themselves: family names have them */
        {"x[0]", "x[0]", ""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char key[32] = "unset";
        bool matches = rp_glob_match(rows[i].pattern, rows[i].text, key, sizeof(key));
        assert_int_equal(matches, rows[i].key != NULL);
        assert_string_equal(key, rows[i].key != NULL ? rows[i].key : "");
        assert_int_equal(rp_glob_match(rows[i].pattern, rows[i].text, NULL, 0), matches);
    }
}

static void a_long_key_is_cut(void **state)
{
    (void)state;
    char key[4] = {'x', 'x', 'x', 'x'};

    assert_true(rp_glob_match("<*>", "<abcdef>", key, sizeof(key)));
    assert_string_equal(key, "abc");
    assert_true(rp_glob_match("<*>", "<abcdef>", key, 0));
    assert_string_equal(key, "abc");
}

static bool naive_glob(const char *pattern, const char *text)
{
    if (*pattern == '\0')
        return *text == '\0';
    if (*pattern == '*')
        return naive_glob(pattern + 1, text) || (*text != '\0' && naive_glob(pattern, text + 1));
    return *text != '\0' && (*pattern == '?' || *pattern == *text) &&
           naive_glob(pattern + 1, text + 1);
}

static void globs_match_what_a_naive_matcher_matches(void **state)
{
    (void)state;
    struct random random = random_begin("glob");
    size_t matches = 0;

    for (int round = 0; round < 50000; round++) {
        char pattern[8] = {0}, text[10] = {0};
        for (uint64_t i = random_below(&random, sizeof(pattern)); i-- > 0;)
            pattern[i] = "ab*?"[random_below(&random, 4)];
        for (uint64_t i = random_below(&random, sizeof(text)); i-- > 0;)
            text[i] = "ab"[random_below(&random, 2)];
        bool want = naive_glob(pattern, text);
        assert_int_equal(rp_glob_match(pattern, text, NULL, 0), want);
        matches += want;
    }
    assert_true(matches > 1000);
}

static void slips_of_the_keyboard(void **state)
{
    (void)state;
    static const char *const words[] = {"policy", "budget", "segments", "lifo", "state", "x"};
    static const struct {
        const char *word, *nearest;
    } rows[] = {
        {"polcy", "policy"},   {"poliyc", "policy"},     {"POLICY", "policy"},
        {"budgets", "budget"}, {"segment", "segments"},  {"lfio", "lifo"},
        {"stats", "state"},    {"bandwidth", NULL},      {"", NULL},
        {"y", NULL},           {"frobnicate", NULL},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *nearest = rp_nearest(rows[i].word, words, sizeof(words) / sizeof(words[0]));
        if (rows[i].nearest == NULL)
            assert_null(nearest);
        else
            assert_string_equal(nearest, rows[i].nearest);
    }
    assert_null(rp_nearest("policy", words, 0));
}

static void odd_bytes_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *shown;
    } rows[] = {
        {"plain", 5, "plain"},
        {"", 0, ""},
        {"tab\tline\n", 9, "tab\\tline\\n"},
        {"nul\0x", 5, "nul\\x00x"},
        {"\x7f\x1b[0m", 5, "\\x7f\\x1b[0m"},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"a\xE2\x80\xAE" "b", 5, "a\\u202eb"},     /* turns the writing round */
        {"\xC2\x9B" "x\xEF\xBB\xBF", 6, "\\u009bx\\ufeff"},
        {"\xC3", 1, "\\xc3"},                     /* cut short */
        {"\xC0\xAF", 2, "\\xc0\\xaf"},            /* overlong */
        {"\xE0\x80\xAF", 3, "\\xe0\\x80\\xaf"},   /* overlong */
        {"\xED\xA0\x80", 3, "\\xed\\xa0\\x80"},   /* a surrogate */
        {"\xF4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"}, /* beyond the last character */
        {"\xFF", 1, "\\xff"},
    };
    char shown[64];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(rp_text_escape(shown, sizeof(shown), rows[i].text, rows[i].length),
                            rows[i].shown);
}

static void what_does_not_fit_ends_in_dots(void **state)
{
    (void)state;
    char shown[9];

    assert_string_equal(rp_text_escape(shown, 9, "12345678", 8), "12345678");
    assert_string_equal(rp_text_escape(shown, 9, "123456789", 9), "12345...");
    assert_string_equal(rp_text_escape(shown, 9, "1234\xE2\x82\xAC\xE2\x82\xAC", 10), "1234...");
    assert_string_equal(rp_text_escape(shown, 9, "\x01\x02\x03", 3), "\\x01...");
    assert_string_equal(rp_text_escape(shown, 4, "abcd", 4), "...");
    assert_string_equal(rp_text_escape(shown, 4, "abc", 3), "abc");
}

static void printed_ascii_stays_as_it_is(void **state)
{
    char text[32];

    (void)state;
    for (unsigned odd = 0; odd < 256; odd++) {
        for (size_t at = 0; at < sizeof(text); at++) {
            memset(text, 'a', sizeof(text));
            text[at] = (char)odd;
            bool stays = odd >= 0x20 && odd < 0x7F;
            assert_int_equal(rp_text_ordinary(text, sizeof(text)), stays ? sizeof(text) : at);
            assert_int_equal(rp_text_ordinary(text, at), at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_are_right),
        cmocka_unit_test(sizes_that_are_wrong),
        cmocka_unit_test(sizes_for_people),
        cmocka_unit_test(sizes_that_can_be_given_back),
        cmocka_unit_test(globs),
        cmocka_unit_test(a_long_key_is_cut),
        cmocka_unit_test(globs_match_what_a_naive_matcher_matches),
        cmocka_unit_test(slips_of_the_keyboard),
        cmocka_unit_test(odd_bytes_are_escaped),
        cmocka_unit_test(what_does_not_fit_ends_in_dots),
        cmocka_unit_test(printed_ascii_stays_as_it_is),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
