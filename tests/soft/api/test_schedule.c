/* SPDX-License-Identifier: Apache-2.0 */
/* REPRISE_SOFT_SCHEDULE: the same seed gives the same interleaving, other seeds give others, and
 * all of them are legal. Each run is a process of its own, as the seed is read once. */
#include "tests/soft/api/child.h"
#include "tests/soft/api/soft_test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STREAMS = 4, STEPS = 6, LOG = STREAMS * STEPS };

/* ---- the program under test -------------------------------------------------------- */

static char log_text[2 * LOG + 64];
static size_t log_length;

struct mark {
    char stream, step;
};

static void append(void *argument)
{
    const struct mark *mark = argument;
    log_text[log_length++] = mark->stream;
    log_text[log_length++] = mark->step;
}

/* Four streams of six functions; step 3 of `b` waits for step 2 of `a`, and the legacy stream's
 * one function, L!, stands between steps 4 and 5 of the blocking streams `a` to `c`. `d` is
 * free of all. Twice a word is raced for. */
static int racy_program(void)
{
    static struct mark marks[STREAMS][STEPS], legacy = {'L', '!'};
    CUcontext context;
    CUstream streams[STREAMS];
    CUevent event;
    CUdeviceptr word;
    uint32_t winner;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuMemAlloc(&word, 4));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < STREAMS; i++)
        ok(cuStreamCreate(&streams[i],
                          i == 3 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
    for (int step = 0; step < STEPS; step++) {
        if (step == 5)
            ok(cuLaunchHostFunc(NULL, append, &legacy));
        for (int i = 0; i < STREAMS; i++) {
            marks[i][step] = (struct mark){(char)('a' + i), (char)('0' + step)};
            if (i == 1 && step == 3)
                ok(cuStreamWaitEvent(streams[1], event, 0));
            ok(cuLaunchHostFunc(streams[i], append, &marks[i][step]));
            if (i == 0 && step == 2)
                ok(cuEventRecord(event, streams[0]));
            ok(cuMemsetD32Async(word, (unsigned)(10 * i + step), 1, streams[i]));
        }
    }
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(&winner, word, 4));
    printf("%s %u", log_text, winner);
    return 0;
}

/* Streams that the program only asks about, never waits for. */
static int polling_program(void)
{
    static struct mark marks[2][STEPS];
    CUcontext context;
    CUstream streams[2];
    int answers = 0, asked = 0;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    for (int i = 0; i < 2; i++) {
        ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        for (int step = 0; step < STEPS; step++) {
            marks[i][step] = (struct mark){(char)('a' + i), (char)('0' + step)};
            ok(cuLaunchHostFunc(streams[i], append, &marks[i][step]));
        }
    }
    while (answers != 3) {
        asked++;
        for (int i = 0; i < 2; i++)
            if (cuStreamQuery(streams[i]) == CUDA_SUCCESS)
                answers |= 1 << i;
    }
    printf("%s %d", log_text, asked);
    return 0;
}

/* The program looks at memory instead of asking the driver. */
static int staring_program(void)
{
    CUcontext context;
    uint32_t *flag;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuMemHostAlloc((void **)&flag, 4, 0));
    for (int i = 1; i <= 20; i++)
        ok(cuStreamWriteValue32(NULL, (CUdeviceptr)(uintptr_t)flag, (cuuint32_t)i, 0));
    while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) != 20)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    printf("seen");
    return 0;
}

/* A function that waits for the program, which goes on calling the driver. */
static int gated_program(void)
{
    CUcontext context;
    CUstream other;
    struct gate gate;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    gate_close(&gate, NULL);
    CUdeviceptr word;
    ok(cuMemAlloc(&word, 4));
    ok(cuMemsetD32Async(word, 1, 1, other));
    ok(cuStreamSynchronize(other));
    gate_open(&gate);
    ok(cuCtxSynchronize());
    printf("through");
    return 0;
}

/* ---- the tests --------------------------------------------------------------------- */

static void run(const char *program, unsigned seed, char *text, size_t size)
{
    char setting[48];
    snprintf(setting, sizeof setting, "REPRISE_SOFT_SCHEDULE=%u", seed);
    assert_int_equal(child_run(program, SETTINGS(setting), text, NULL, size), 0);
}

static size_t place(const char *log, const char *mark)
{
    const char *found = strstr(log, mark);
    if (found == NULL)
        fail_msg("%s is missing in %s", mark, log);
    return (size_t)(found - log);
}

static void assert_legal(const char *log)
{
    char mark[3] = "", later[3] = "";
    for (char stream = 'a'; stream < 'a' + STREAMS; stream++)
        for (char step = '0'; step < '0' + STEPS - 1; step++) {
            mark[0] = later[0] = stream;
            mark[1] = step;
            later[1] = (char)(step + 1);
            if (place(log, mark) > place(log, later))
                fail_msg("%s after %s in %s", mark, later, log);
        }
    assert_true(place(log, "a2") < place(log, "b3"));
    for (char stream = 'a'; stream <= 'c'; stream++) {
        mark[0] = later[0] = stream;
        mark[1] = '4';
        later[1] = '5';
        assert_true(place(log, mark) < place(log, "L!"));
        assert_true(place(log, "L!") < place(log, later));
    }
}

static void seeds_choose_among_legal_interleavings(void **state)
{
    (void)state;
    enum { SEEDS = 8 };
    char first[SEEDS][256], again[256];
    unsigned different = 0, winners = 0;

    for (unsigned seed = 0; seed < SEEDS; seed++) {
        run("racy", seed, first[seed], sizeof first[seed]);
        assert_legal(first[seed]);
        run("racy", seed, again, sizeof again);
        assert_string_equal(first[seed], again);
        if (seed > 0 && strcmp(first[seed], first[0]) != 0)
            different++;
        if (seed > 0 && strcmp(strchr(first[seed], ' '), strchr(first[0], ' ')) != 0)
            winners++;
    }
    assert_true(different >= SEEDS - 2);
    assert_true(winners > 0);
}

static void asking_is_repeatable_and_ends(void **state)
{
    (void)state;
    char first[256], again[256];
    for (unsigned seed = 1; seed <= 4; seed++) {
        run("polling", seed, first, sizeof first);
        run("polling", seed, again, sizeof again);
        assert_string_equal(first, again);
    }
}

static void work_goes_on_when_nobody_asks(void **state)
{
    (void)state;
    char text[64];
    run("staring", 1, text, sizeof text);
    assert_string_equal(text, "seen");
}

static void a_function_that_waits_for_the_program_holds_nothing_up(void **state)
{
    (void)state;
    char text[64];
    for (unsigned seed = 1; seed <= 6; seed++) {
        run("gated", seed, text, sizeof text);
        assert_string_equal(text, "through");
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_choose_among_legal_interleavings),
        cmocka_unit_test(asking_is_repeatable_and_ends),
        cmocka_unit_test(work_goes_on_when_nobody_asks),
        cmocka_unit_test(a_function_that_waits_for_the_program_holds_nothing_up),
    };
    static const struct child_program programs[] = {{"racy", racy_program},
                                                     {"polling", polling_program},
                                                     {"staring", staring_program},
                                                     {"gated", gated_program}};
    child_main(argc, argv, programs, sizeof programs / sizeof programs[0]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
