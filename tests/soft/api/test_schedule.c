/* SPDX-License-Identifier: Apache-2.0 */
/* REPRISE_SOFT_SCHEDULE: the same seed gives the same interleaving, other seeds give others, and
 * all of them are legal. Each run is a process of its own, as the seed is read once. */
#include "tests/soft/api/child.h"
#include "tests/soft/api/kernels.h"
#include "tests/soft/api/soft_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
        ok(cuStreamCreate(&streams[i], i == 3 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
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

/* Two kernels of eight blocks write the same words, beside a copy of them: whose word stands in
 * the end, and what the copy took, is decided block by block. */
static int mixed_program(void)
{
    enum { WORDS = 256 };
    static uint32_t after[WORDS], copied[WORDS];
    CUcontext context;
    CUstream streams[3];
    CUmodule module;
    CUfunction store;
    CUdeviceptr target, copy;
    unsigned values[2] = {1, 2};

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuMemAlloc(&target, sizeof after));
    ok(cuMemAlloc(&copy, sizeof after));
    ok(cuMemsetD32(target, 100, WORDS));
    ok(cuModuleLoadData(&module, kernels));
    ok(cuModuleGetFunction(&store, module, "store"));
    for (int i = 0; i < 3; i++)
        ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    ok(cuCtxSynchronize());
    for (int i = 0; i < 2; i++)
        ok(cuLaunchKernel(store, WORDS / 32, 1, 1, 32, 1, 1, 0, streams[i],
                          (void *[]){&target, &values[i]}, NULL));
    ok(cuMemcpyDtoDAsync(copy, target, sizeof after, streams[2]));
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(after, target, sizeof after));
    ok(cuMemcpyDtoH(copied, copy, sizeof copied));
    for (int i = 0; i < WORDS; i += 32)
        printf("%u", after[i] - 100);
    for (int i = 0; i < WORDS; i += 32)
        printf("%u", copied[i] - 100);
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

static void doze(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Between its two marks it gets no processor, for much longer than an order waits for one that
 * sleeps. */
static void be_kept_waiting(void *argument)
{
    pid_t program = getpid();
    append(&(struct mark){*(const char *)argument, '('});
    pid_t helper = fork();
    if (helper == 0) { /* again and again: the first may come before the stop */
        do
            doze(300000000);
        while (getppid() == program && kill(program, SIGCONT) == 0);
        _exit(0);
    }
    if (helper > 0) {
        raise(SIGSTOP);
        kill(helper, SIGKILL); /* a leak check at the end bears no more of its signals; to wait
                                * for it were to sleep */
    }
    for (clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;)
        ; /* others are free to begin */
    append(&(struct mark){*(const char *)argument, ')'});
}

static int stopped_program(void)
{
    static char names[2] = {'a', 'b'};
    CUcontext context;
    CUstream streams[2];

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    for (int i = 0; i < 2; i++) {
        ok(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
        ok(cuLaunchHostFunc(streams[i], be_kept_waiting, &names[i]));
    }
    ok(cuCtxSynchronize());
    printf("%s", log_text);
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

/* 50 seeds in every test run, more on request. */
static unsigned seeds = 50;

/* Each seed twice: the same text, and a legal one where `legal` knows. Answers how many texts
 * differ from the first seed's. */
static unsigned try_seeds(const char *program, void (*legal)(const char *))
{
    char first[256], text[256], again[256];
    unsigned different = 0;

    for (unsigned seed = 0; seed < seeds; seed++) {
        run(program, seed, text, sizeof text);
        run(program, seed, again, sizeof again);
        if (strcmp(text, again) != 0)
            fail_msg("seed %u: %s, then %s", seed, text, again);
        if (legal != NULL)
            legal(text);
        if (seed == 0)
            memcpy(first, text, sizeof first);
        different += strcmp(text, first) != 0;
    }
    return different;
}

static void seeds_choose_among_legal_interleavings(void **state)
{
    (void)state;
    assert_true(try_seeds("racy", assert_legal) >= seeds * 9 / 10);
}

static unsigned mixtures; /* results that no order of whole operations has */

static void assert_mixture(const char *text)
{
    assert_true(strspn(text, "12") >= 8);
    assert_int_equal(strspn(text, "012"), 16);
    bool whole = strspn(text, "1") >= 8 || strspn(text, "2") >= 8;
    mixtures += !whole;
}

static void blocks_and_copies_interleave(void **state)
{
    (void)state;
    assert_true(try_seeds("mixed", assert_mixture) >= seeds / 2);
    assert_true(mixtures >= seeds / 10);
}

static void asking_is_repeatable_and_ends(void **state)
{
    (void)state;
    assert_true(try_seeds("polling", NULL) >= seeds / 2);
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

static void a_function_that_gets_no_processor_keeps_its_place(void **state)
{
    (void)state;
    char text[64];
    for (unsigned seed = 1; seed <= 3; seed++) {
        run("stopped", seed, text, sizeof text);
        if (strcmp(text, "a(a)b(b)") != 0 && strcmp(text, "b(b)a(a)") != 0)
            fail_msg("seed %u: %s", seed, text);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_choose_among_legal_interleavings),
        cmocka_unit_test(blocks_and_copies_interleave),
        cmocka_unit_test(asking_is_repeatable_and_ends),
        cmocka_unit_test(work_goes_on_when_nobody_asks),
        cmocka_unit_test(a_function_that_waits_for_the_program_holds_nothing_up),
        cmocka_unit_test(a_function_that_gets_no_processor_keeps_its_place),
    };
    static const struct child_program programs[] = {{"racy", racy_program},
                                                    {"mixed", mixed_program},
                                                    {"polling", polling_program},
                                                    {"staring", staring_program},
                                                    {"gated", gated_program},
                                                    {"stopped", stopped_program}};
    child_main(argc, argv, programs, sizeof programs / sizeof programs[0]);
    if (argc > 1)
        seeds = (unsigned)atoi(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
