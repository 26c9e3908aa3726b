/* SPDX-License-Identifier: Apache-2.0 */
/* A kept proof is the proof that was made, or it is not there: whatever became of its file. */
#include "cuda/access/cache.h"
#include "cuda/access/frozen.h"
#include "cuda/ptx/ptx.h"
#include "tests/access/generate.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- a folder, and proofs for it ---------------------------------------------------- */

static char folder[64], place[96], draft[96];
static const struct rp_cache_key key = {7, 8};

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/reprise-cache-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(place, sizeof place, "%s/007.proof", folder);
    snprintf(draft, sizeof draft, "%s/007.draft", folder);
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct rp_proof *prove(struct generated *kernel, uint64_t seed)
{
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    generate(seed, kernel);
    assert_int_equal(rp_ptx_parse(kernel->text, strlen(kernel->text), &module, message,
                                  sizeof message), RP_OK);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    rp_ptx_destroy(module);
    return proof;
}

static void keep_one(void)
{
    struct generated kernel;
    struct rp_proof *proof = prove(&kernel, 1);
    assert_int_equal(rp_cache_keep(folder, &key, proof), RP_OK);
    rp_proof_destroy(proof);
    free(kernel.text);
}

static enum rp_status find_it(void)
{
    struct rp_proof *proof = NULL;
    enum rp_status status = rp_cache_find(folder, &key, &proof);
    assert_int_equal(status == RP_OK, proof != NULL);
    rp_proof_destroy(proof);
    return status;
}

static size_t read_file(unsigned char **bytes)
{
    FILE *file = fopen(place, "rb");
    assert_non_null(file);
    *bytes = malloc(RP_CACHE_PLACE_BYTES);
    size_t size = fread(*bytes, 1, RP_CACHE_PLACE_BYTES, file);
    fclose(file);
    return size;
}

/* In place: some file systems make whoever cuts a file off first wait for the disk. */
static void write_file(const unsigned char *bytes, size_t size)
{
    int file = open(place, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    close(file);
}

/* ---- what is found is what was kept -------------------------------------------------- */

static void expect_same_sets(const struct rp_proof *a, const struct rp_proof *b,
                             const struct generated *kernel)
{
    struct rp_launch launch = {.params = kernel->params, .param_bytes = GENERATED_PARAM_BYTES};
    struct rp_access_set of_a = {0}, of_b = {0};
    memcpy(launch.grid, kernel->grid, sizeof launch.grid);
    memcpy(launch.block, kernel->block, sizeof launch.block);
    assert_int_equal(rp_proof_evaluate(a, &launch, NULL, NULL, &of_a), RP_OK);
    assert_int_equal(rp_proof_evaluate(b, &launch, NULL, NULL, &of_b), RP_OK);
    assert_int_equal(of_a.count, of_b.count);
    assert_memory_equal(of_a.items, of_b.items, of_a.count * sizeof *of_a.items);
    assert_int_equal(of_a.writes, of_b.writes);
    if (of_a.reason || of_b.reason)
        assert_string_equal(of_a.reason, of_b.reason);
    rp_access_set_release(&of_a);
    rp_access_set_release(&of_b);
}

static void a_kept_proof_says_what_it_said(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct generated kernel;
        struct rp_proof *made = prove(&kernel, seed), *found;
        const struct rp_cache_key its = {seed, ~seed};
        assert_int_equal(rp_cache_find(folder, &its, &found), RP_NOT_FOUND);
        assert_int_equal(rp_cache_keep(folder, &its, made), RP_OK);
        assert_int_equal(rp_cache_find(folder, &its, &found), RP_OK);
        assert_string_equal(rp_proof_text(made), rp_proof_text(found));
        assert_int_equal(rp_proof_reads(made), rp_proof_reads(found));
        expect_same_sets(made, found, &kernel);
        rp_proof_destroy(made);
        rp_proof_destroy(found);
        free(kernel.text);
    }
}

static void a_refused_proof_is_kept_with_its_reason(void **state)
{
    (void)state;
    static const char text[] = ".version 7.0\n.target sm_80\n.address_size 32\n"
                               ".visible .entry k()\n{\n    ret;\n}\n";
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *made, *found;
    assert_int_equal(rp_ptx_parse(text, strlen(text), &module, message, sizeof message), RP_OK);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &made), RP_OK);
    assert_int_equal(rp_cache_keep(folder, &key, made), RP_OK);
    assert_int_equal(rp_cache_find(folder, &key, &found), RP_OK);
    assert_int_equal(rp_proof_writes(found), RP_VERDICT_EVERYTHING);
    assert_string_equal(rp_proof_text(found), rp_proof_text(made));
    rp_proof_destroy(made);
    rp_proof_destroy(found);
    rp_ptx_destroy(module);
}

static void another_key_in_the_same_place_is_not_found(void **state)
{
    (void)state;
    keep_one();
    struct rp_proof *proof;
    const struct rp_cache_key others[] = {{7, 9}, {7 + RP_CACHE_PLACES, 8}};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(rp_cache_find(folder, &others[i], &proof), RP_NOT_FOUND);
    assert_int_equal(find_it(), RP_OK);
}

/* ---- damage ------------------------------------------------------------------------ */

static void no_byte_may_change(void **state)
{
    (void)state;
    unsigned char *bytes;
    keep_one();
    size_t size = read_file(&bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (unsigned char)(1u << i % 8);
        write_file(bytes, size);
        assert_int_equal(find_it(), RP_DAMAGED);
        bytes[i] ^= (unsigned char)(1u << i % 8);
    }
    write_file(bytes, size);
    assert_int_equal(find_it(), RP_OK);
    free(bytes);
}

static void no_byte_may_be_missing_or_too_many(void **state)
{
    (void)state;
    unsigned char *bytes;
    keep_one();
    size_t size = read_file(&bytes);
    for (size_t less = 1; less <= size; less += less < 64 ? 1 : 17) {
        write_file(bytes, size - less);
        assert_int_equal(find_it(), RP_DAMAGED);
    }
    write_file(bytes, size + 1);
    assert_int_equal(find_it(), RP_DAMAGED);
    free(bytes);
}

/* The heading is 8 bytes of magic, 16 of version, 16 of key, 8 of size, 16 of checksum. */
static void another_analyser_proves_for_itself(void **state)
{
    (void)state;
    unsigned char *bytes;
    uint64_t version[2];
    keep_one();
    size_t size = read_file(&bytes);
    rp_analyser_version(version);
    assert_memory_equal(bytes + 8, version, sizeof version);
    bytes[8] ^= 1;
    memset(bytes + 48, 0, 16);
    XXH128_hash_t check = XXH3_128bits(bytes, size);
    memcpy(bytes + 48, &check, 16);
    write_file(bytes, size);
    assert_int_equal(find_it(), RP_NOT_FOUND);
    keep_one(); /* and takes the place */
    assert_int_equal(find_it(), RP_OK);
    free(bytes);
}

/* ---- whose files --------------------------------------------------------------------- */

static void nobody_else_can_read_or_write_it(void **state)
{
    (void)state;
    struct stat about;
    char below[96];
    snprintf(below, sizeof below, "%s/a/b", folder);
    struct generated kernel;
    struct rp_proof *proof = prove(&kernel, 1);
    umask(0);
    assert_int_equal(rp_cache_keep(below, &key, proof), RP_OK);
    umask(022);
    assert_int_equal(stat(below, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    snprintf(below, sizeof below, "%s/a/b/007.proof", folder);
    assert_int_equal(stat(below, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    rp_proof_destroy(proof);
    free(kernel.text);
}

static void what_others_may_have_written_does_not_count(void **state)
{
    (void)state;
    keep_one();
    assert_int_equal(chmod(place, 0620), 0);
    assert_int_equal(find_it(), RP_DAMAGED);
    assert_int_equal(chmod(place, 0600), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(find_it(), RP_NOT_FOUND);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(find_it(), RP_OK);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    char moved[96], linked[96];
    keep_one();
    snprintf(moved, sizeof moved, "%s/elsewhere", folder);
    assert_int_equal(rename(place, moved), 0);
    assert_int_equal(symlink(moved, place), 0);
    assert_int_equal(find_it(), RP_DAMAGED);
    keep_one(); /* takes the link's place, not the file's behind it */
    assert_int_equal(find_it(), RP_OK);
    snprintf(linked, sizeof linked, "%s/linked", folder);
    assert_int_equal(symlink(folder, linked), 0);
    struct rp_proof *proof;
    assert_int_equal(rp_cache_find(linked, &key, &proof), RP_NOT_FOUND);
}

static void a_pipe_in_the_place_is_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(place, 0600), 0);
    assert_int_equal(find_it(), RP_DAMAGED);
}

/* ---- several at once ------------------------------------------------------------------ */

static void a_draft_at_work_is_left_alone_and_a_dead_one_removed(void **state)
{
    (void)state;
    struct generated kernel;
    struct rp_proof *proof = prove(&kernel, 1);
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    close(open(draft, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(rp_cache_keep(folder, &key, proof), RP_IO);
    assert_int_equal(utimensat(AT_FDCWD, draft, old, 0), 0);
    assert_int_equal(rp_cache_keep(folder, &key, proof), RP_OK);
    assert_int_equal(access(draft, F_OK), -1);
    rp_proof_destroy(proof);
    free(kernel.text);
}

/* Exit status 0: never damaged, and found at the end. */
static int keep_and_find(void)
{
    struct generated kernel;
    struct rp_proof *made = prove(&kernel, 1), *found;
    enum rp_status status = RP_NOT_FOUND;
    for (int i = 0; i < 300; i++) {
        (void)rp_cache_keep(folder, &key, made);
        status = rp_cache_find(folder, &key, &found);
        if (status != RP_OK)
            break;
        rp_proof_destroy(found);
    }
    return status != RP_OK;
}

static void processes_may_work_in_one_folder(void **state)
{
    (void)state;
    keep_one();
    for (int i = 0; i < 4; i++)
        if (fork() == 0)
            _exit(keep_and_find());
    for (int i = 0; i < 4; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
}

static void a_job_that_must_not_write_files_lives_on(void **state)
{
    (void)state;
    struct generated kernel;
    struct rp_proof *proof = prove(&kernel, 1);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, 100});
        _exit(rp_cache_keep(folder, &key, proof) == RP_IO ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(find_it(), RP_NOT_FOUND);
    rp_proof_destroy(proof);
    free(kernel.text);
}

/* ---- where ---------------------------------------------------------------------------- */

static void expect_folder(const char *reprise, const char *caches, const char *home,
                          const char *expected)
{
    const char *const names[] = {"REPRISE_CACHE", "XDG_CACHE_HOME", "HOME"};
    const char *const values[] = {reprise, caches, home};
    for (int i = 0; i < 3; i++) {
        if (values[i])
            setenv(names[i], values[i], 1);
        else
            unsetenv(names[i]);
    }
    char *found = rp_cache_folder();
    if (expected)
        assert_string_equal(found, expected);
    else
        assert_null(found);
    free(found);
}

static void the_environment_says_where(void **state)
{
    (void)state;
    expect_folder(NULL, "/c", "/h", "/c/reprise");
    expect_folder(NULL, NULL, "/h", "/h/.cache/reprise");
    expect_folder(NULL, "relative", "/h", "/h/.cache/reprise");
    expect_folder(NULL, NULL, NULL, NULL);
    expect_folder("/mine", "/c", "/h", "/mine");
    expect_folder("off", "/c", "/h", NULL);
    expect_folder("", "/c", "/h", NULL);
}

/* A copy of this program in the folder; as a setuid one it runs with the rights of nobody. */
static void copy_program(const char *path, bool with_other_rights)
{
    enum { NOBODY = 65534 };
    char command[160];
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", (int)getpid(), path);
    assert_int_equal(system(command), 0);
    if (with_other_rights)
        assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    assert_int_equal(chmod(path, with_other_rights ? 04755 : 0755), 0);
}

static int folder_of_program(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("REPRISE_CACHE", "/named", 1);
        execl(path, path, "folder", (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What this program answers when it is asked. */
enum { NO_FOLDER = 10, NAMED_FOLDER };

static int tell_folder(void)
{
    char *found = rp_cache_folder();
    int answer = found ? NAMED_FOLDER : NO_FOLDER;
    free(found);
    return answer;
}

static void a_program_with_other_rights_keeps_nothing(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/program", folder);
    struct statvfs mount;
    assert_int_equal(statvfs(folder, &mount), 0);
    if (geteuid() != 0 || (mount.f_flag & ST_NOSUID))
        skip(); /* nobody else can give a program away, and there it would have no other rights */
    assert_int_equal(chmod(folder, 0755), 0);
    copy_program(path, false);
    assert_int_equal(folder_of_program(path), NAMED_FOLDER);
    copy_program(path, true);
    assert_int_equal(folder_of_program(path), NO_FOLDER);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "folder") == 0)
        _exit(tell_folder()); /* a leak checker can't look at a setuid process */
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        TEST(a_kept_proof_says_what_it_said),
        TEST(a_refused_proof_is_kept_with_its_reason),
        TEST(another_key_in_the_same_place_is_not_found),
        TEST(no_byte_may_change),
        TEST(no_byte_may_be_missing_or_too_many),
        TEST(another_analyser_proves_for_itself),
        TEST(nobody_else_can_read_or_write_it),
        TEST(what_others_may_have_written_does_not_count),
        TEST(links_are_not_followed),
        TEST(a_pipe_in_the_place_is_not_waited_for),
        TEST(a_draft_at_work_is_left_alone_and_a_dead_one_removed),
        TEST(processes_may_work_in_one_folder),
        TEST(a_job_that_must_not_write_files_lives_on),
        cmocka_unit_test(the_environment_says_where),
        TEST(a_program_with_other_rights_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
