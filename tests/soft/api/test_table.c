/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of the table, with nothing but zeros: it answers, and what the device does not have
 * says so, by name and once. */
#include "tests/interpose/probes.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static CUcontext context;

/* What the device wrote to stderr since the last time. */
static int log_file = -1;

static void open_log(void)
{
    char name[] = "/tmp/soft-table-XXXXXX";
    log_file = mkstemp(name);
    assert_true(log_file >= 0);
    unlink(name);
}

static size_t read_log(char *text, size_t size)
{
    ssize_t got = pread(log_file, text, size - 1, 0);
    assert_true(got >= 0);
    text[got] = '\0';
    assert_int_equal(ftruncate(log_file, 0), 0);
    lseek(log_file, 0, SEEK_SET);
    return (size_t)got;
}

/* Calls it with zeros; what it says goes to the log. */
static CUresult call(enum rp_call_id id)
{
    union {
        char bytes[512];
        uint64_t aligned;
    } zeros;
    void *symbol = dlsym(RTLD_DEFAULT, rp_calls[id].name);
    soft_entry entry;
    int saved = dup(STDERR_FILENO);

    assert_non_null(symbol);
    assert_true(rp_calls[id].args_size <= sizeof zeros);
    memcpy(&entry, &symbol, sizeof entry);
    memset(&zeros, 0, sizeof zeros);
    assert_int_equal(cuCtxSetCurrent(context), CUDA_SUCCESS);
    dup2(log_file, STDERR_FILENO);
    CUresult result = probes[id](entry, &zeros);
    dup2(saved, STDERR_FILENO);
    close(saved);
    return result;
}

static void every_call_answers_and_what_is_missing_is_named_once(void **state)
{
    (void)state;
    unsigned missing = 0;
    char text[1024], wanted[256];

    open_log();
    for (int i = 0; i < RP_CALL_COUNT; i++) {
        enum rp_call_id id = (enum rp_call_id)i;
        CUresult first = call(id);
        size_t said = read_log(text, sizeof text);
        if (first != CUDA_ERROR_NOT_SUPPORTED) {
            if (said != 0)
                fail_msg("%s says %s", rp_calls[id].name, text);
            continue;
        }
        missing++;
        /* The form for a thread's own stream is the plain one, which was named before. */
        wanted[0] = '\0';
        if (rp_calls[id].mode == RP_MODE_LEGACY)
            snprintf(wanted, sizeof wanted, "reprise software device: %s is not supported\n",
                     rp_calls[id].name);
        if (strcmp(text, wanted) != 0)
            fail_msg("%s says '%s'", rp_calls[id].name, text);
        assert_int_equal(call(id), CUDA_ERROR_NOT_SUPPORTED);
        assert_int_equal(read_log(text, sizeof text), 0);
    }
    /* Whoever adds a call lowers it: docs/limits.md says what is missing. */
    assert_int_equal(missing, 138);
}

/* A device that was not started says that instead. */
static void nothing_is_missing_before_the_start(void **state)
{
    (void)state;
    assert_int_equal(cuTexRefCreate(&(CUtexref){NULL}), CUDA_ERROR_NOT_INITIALIZED);
    assert_int_equal(cuInit(0), CUDA_SUCCESS);
    assert_int_equal(cuCtxCreate_v4(&context, NULL, 0, 0), CUDA_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_missing_before_the_start),
        cmocka_unit_test(every_call_answers_and_what_is_missing_is_named_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
