/* SPDX-License-Identifier: Apache-2.0 */
/* The search, in a house of its own: a temporary folder with driver-like files. */
#include "cuda/find_driver.h"
#include "tests/tracker/check.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char house[] = "/tmp/reprise-find-XXXXXX";

struct found {
    int count, stop_at;
    char paths[8][256];
    enum rp_driver_verdict verdicts[8];
};

static bool note(void *ctx, const char *path, enum rp_driver_verdict verdict)
{
    struct found *found = ctx;
    assert_true(found->count < 8);
    snprintf(found->paths[found->count], sizeof(found->paths[0]), "%s", path);
    found->verdicts[found->count++] = verdict;
    return found->count == found->stop_at;
}

static const char *in_house(const char *path)
{
    static char texts[4][256];
    static int next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof(texts[0]), "%s/%s", house, path);
    return text;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void make_driver(const char *dir, unsigned char elf_class, uint16_t machine)
{
    char path[300];
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, elf_class},
                       .e_type = ET_DYN,
                       .e_machine = machine};
    mkdir(dir, 0755);
    snprintf(path, sizeof(path), "%s/libcuda.so.1", dir);
    write_file(path, &head, sizeof(head));
}

#ifdef __x86_64__
#define OWN EM_X86_64
#define OTHER EM_AARCH64
#else
#define OWN EM_AARCH64
#define OTHER EM_X86_64
#endif

static int build_house(void **state)
{
    (void)state;
    if (mkdtemp(house) == NULL)
        return -1;
    make_driver(in_house("one"), ELFCLASS64, OWN);
    make_driver(in_house("two"), ELFCLASS64, OWN);
    make_driver(in_house("old"), ELFCLASS32, EM_386);
    make_driver(in_house("other"), ELFCLASS64, OTHER);
    make_driver(in_house("stubs"), ELFCLASS64, OWN);
    mkdir(in_house("linked"), 0755);
    mkdir(in_house("text"), 0755);
    mkdir(in_house("empty"), 0755);
    write_file(in_house("text/libcuda.so.1"), "INPUT(-lcuda)", 13);
    return symlink("../stubs/libcuda.so.1", in_house("linked/libcuda.so.1"));
}

static int remove_house(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof(command), "rm -r '%s'", house);
    return system(command);
}

static void the_library_path_is_searched_in_order(void **state)
{
    (void)state;
    char list[1024];
    struct found found = {0};
    snprintf(list, sizeof(list), "%s/empty:%s/two;%s/nowhere:%s/one", house, house, house, house);
    struct rp_driver_search search = {.library_path = list};
    assert_false(rp_driver_find(&search, note, &found));
    assert_int_equal(found.count, 2);
    assert_string_equal(found.paths[0], in_house("two/libcuda.so.1"));
    assert_string_equal(found.paths[1], in_house("one/libcuda.so.1"));

    found = (struct found){.stop_at = 1};
    assert_true(rp_driver_find(&search, note, &found));
    assert_int_equal(found.count, 1);
}

static void nothing_is_taken_from_an_empty_or_relative_directory(void **state)
{
    (void)state;
    struct found found = {0};
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(in_house("one")), 0);
    struct rp_driver_search search = {.library_path = ":../two"};
    rp_driver_find(&search, note, &found);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.paths[0], "./libcuda.so.1");
    assert_string_equal(found.paths[1], "../two/libcuda.so.1");
    assert_int_equal(found.verdicts[0], RP_DRIVER_RELATIVE);
    assert_int_equal(found.verdicts[1], RP_DRIVER_RELATIVE);
}

static void what_will_not_do_is_named_and_passed_over(void **state)
{
    (void)state;
    char old[256], other[256], stubs[256], linked[256], text[256], one[256], itself[256];
    snprintf(old, sizeof(old), "%s", in_house("old"));
    snprintf(other, sizeof(other), "%s", in_house("other"));
    snprintf(stubs, sizeof(stubs), "%s", in_house("stubs"));
    snprintf(linked, sizeof(linked), "%s", in_house("linked"));
    snprintf(text, sizeof(text), "%s", in_house("text"));
    snprintf(one, sizeof(one), "%s", in_house("one"));
    snprintf(itself, sizeof(itself), "%s", in_house("one/libcuda.so.1"));
    const char *const places[] = {old, other, stubs, linked, text, one, NULL};
    struct rp_driver_search search = {.places = places, .itself = itself};
    struct found found = {0};
    assert_false(rp_driver_find(&search, note, &found));
    static const enum rp_driver_verdict want[] = {RP_DRIVER_FOREIGN, RP_DRIVER_FOREIGN,
                                                  RP_DRIVER_STUB,    RP_DRIVER_STUB,
                                                  RP_DRIVER_FOREIGN, RP_DRIVER_ITSELF};
    assert_int_equal(found.count, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(found.verdicts[i], want[i]);
}

static void a_chosen_driver_is_the_only_one(void **state)
{
    (void)state;
    struct rp_driver_search search = {.library_path = in_house("one")};
    struct found found = {0};
    search.chosen = in_house("two/libcuda.so.1");
    rp_driver_find(&search, note, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.verdicts[0], RP_DRIVER_USABLE);
    assert_string_equal(found.paths[0], in_house("two/libcuda.so.1"));

    found = (struct found){0};
    search.chosen = in_house("empty/libcuda.so.1");
    rp_driver_find(&search, note, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.verdicts[0], RP_DRIVER_MISSING);

    found = (struct found){0};
    search.chosen = "libcuda.so.1";
    rp_driver_find(&search, note, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.verdicts[0], RP_DRIVER_RELATIVE);

    found = (struct found){0};
    search.chosen = "";
    rp_driver_find(&search, note, &found);
    assert_string_equal(found.paths[0], in_house("one/libcuda.so.1"));
}

/* ---- the loader's cache --------------------------------------------------------- */

struct cache {
    char magic[20];
    uint32_t count, string_bytes, unused[5];
    struct {
        int32_t flags;
        uint32_t name, path, os_version;
        uint64_t hwcap;
    } entries[2];
    char strings[600];
};

static size_t make_cache(struct cache *cache)
{
    *cache = (struct cache){.magic = "glibc-ld.so.cache1.1", .count = 2};
    char *at = cache->strings;
    const char *texts[2][2] = {{"libcuda.so", in_house("one/libcuda.so.1")},
                               {"libcuda.so.1", in_house("two/libcuda.so.1")}};
    for (int i = 0; i < 2; i++) {
        cache->entries[i].name = (uint32_t)(at - (char *)cache);
        at = stpcpy(at, texts[i][0]) + 1;
        cache->entries[i].path = (uint32_t)(at - (char *)cache);
        at = stpcpy(at, texts[i][1]) + 1;
    }
    cache->string_bytes = (uint32_t)(at - cache->strings);
    return (size_t)(at - (char *)cache);
}

static void search_cache(const void *bytes, size_t size, struct found *found)
{
    *found = (struct found){0};
    write_file(in_house("cache"), bytes, size);
    struct rp_driver_search search = {.cache = in_house("cache")};
    rp_driver_find(&search, note, found);
}

static void the_loaders_cache_is_read(void **state)
{
    (void)state;
    struct cache cache;
    struct found found;
    size_t size = make_cache(&cache);
    search_cache(&cache, size, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.paths[0], in_house("two/libcuda.so.1"));
}

static void an_older_table_before_it_is_skipped(void **state)
{
    (void)state;
    struct cache cache;
    struct found found;
    unsigned char file[sizeof(cache) + 64] = "ld.so-1.7.0";
    uint32_t old_entries = 1; /* 16 + 12 bytes, the new table starts at 32 */
    size_t size = make_cache(&cache);
    memcpy(file + 12, &old_entries, sizeof(old_entries));
    memcpy(file + 32, &cache, size);
    search_cache(file, size + 32, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.paths[0], in_house("two/libcuda.so.1"));
}

static void a_damaged_cache_is_no_harm(void **state)
{
    (void)state;
    struct cache cache;
    struct found found;
    size_t size = make_cache(&cache);
    for (size_t cut = 1; cut < size; cut++) {
        search_cache(&cache, cut, &found);
        assert_true(found.count == 0 || cut > offsetof(struct cache, strings));
    }
    make_cache(&cache);
    cache.count = UINT32_MAX;
    search_cache(&cache, size, &found);
    assert_int_equal(found.count, 0);
    make_cache(&cache);
    cache.entries[1].name = UINT32_MAX;
    search_cache(&cache, size, &found);
    assert_int_equal(found.count, 0);
    make_cache(&cache);
    cache.entries[1].path = UINT32_MAX;
    search_cache(&cache, size, &found);
    assert_int_equal(found.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_path_is_searched_in_order),
        cmocka_unit_test(nothing_is_taken_from_an_empty_or_relative_directory),
        cmocka_unit_test(what_will_not_do_is_named_and_passed_over),
        cmocka_unit_test(a_chosen_driver_is_the_only_one),
        cmocka_unit_test(the_loaders_cache_is_read),
        cmocka_unit_test(an_older_table_before_it_is_skipped),
        cmocka_unit_test(a_damaged_cache_is_no_harm),
    };
    return cmocka_run_group_tests(tests, build_house, remove_house);
}
