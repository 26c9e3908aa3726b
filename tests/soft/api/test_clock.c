/* SPDX-License-Identifier: Apache-2.0 */
/* REPRISE_SOFT_CLOCK: operations last as long as on the device that it names, whatever happens
 * here. What is expected is worked out from the figures in cuda/soft/clock. */
#include "tests/soft/api/child.h"
#include "tests/soft/api/kernels.h"
#include "tests/soft/api/soft_test.h"

#include "cuda/soft/clock/figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *reprise_soft_clock(void); /* exported by the device */

enum { WORDS = 1 << 18, BYTES = 4 * WORDS, ROUNDS = 256, LANES = 1 << 17, GAP = 900 };

/* ---- programs ---------------------------------------------------------------------- */

/* chain(out): 256 rounds of eight dependent multiply-adds and three other instructions. */
static const char chain_ptx[] = PTX_HEADER ".visible .entry chain(.param .u64 out)\n"
                                           "{\n"
                                           "    .reg .pred %p;\n"
                                           "    .reg .u32 %r<2>;\n"
                                           "    .reg .f32 %f<2>;\n"
                                           "    mov.u32 %r1, 0;\n"
                                           "    mov.f32 %f1, 0f3F800000;\n"
                                           "AGAIN:\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    fma.rn.f32 %f1, %f1, %f1, %f1;\n"
                                           "    add.u32 %r1, %r1, 1;\n"
                                           "    setp.lt.u32 %p, %r1, 256;\n"
                                           "    @%p bra AGAIN;\n"
                                           "    ret;\n"
                                           "}\n";

static CUfunction function_of(const char *ptx, const char *name)
{
    CUmodule module;
    CUfunction function;
    ok(cuModuleLoadData(&module, ptx));
    ok(cuModuleGetFunction(&function, module, name));
    return function;
}

static void *pinned;
static CUdeviceptr a, b;

static void set_up(void)
{
    CUcontext context;
    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuMemHostAlloc(&pinned, 6 * BYTES, 0));
    ok(cuMemAlloc(&a, 6 * BYTES));
    ok(cuMemAlloc(&b, 6 * BYTES));
}

/* Keeps `stream` busy for long enough that the program is ahead of it. */
static void get_ahead(CUstream stream)
{
    ok(cuMemcpyHtoDAsync(a, pinned, 6 * BYTES, stream));
}

struct watch {
    CUevent from, to;
};

static void begin(struct watch *watch, CUstream stream)
{
    ok(cuEventCreate(&watch->from, 0));
    ok(cuEventCreate(&watch->to, 0));
    ok(cuEventRecord(watch->from, stream));
}

static void end(struct watch *watch, CUstream stream)
{
    ok(cuEventRecord(watch->to, stream));
}

static void say(const struct watch *watch)
{
    float ms;
    ok(cuEventSynchronize(watch->to));
    ok(cuEventElapsedTime(&ms, watch->from, watch->to));
    printf("%.0f ", (double)ms * 1e6);
}

/* One number for each kind of work, alone in a stream whose program is ahead. */
static int kinds_program(void)
{
    struct watch in, out, between, fill, memory, compute, small;
    unsigned n = WORDS;

    set_up();
    CUfunction add = function_of(kernels, "add"), chain = function_of(chain_ptx, "chain");
    get_ahead(NULL);
    begin(&in, NULL);
    ok(cuMemcpyHtoDAsync(a, pinned, BYTES, NULL));
    end(&in, NULL);
    begin(&out, NULL);
    ok(cuMemcpyDtoHAsync(pinned, a, BYTES, NULL));
    end(&out, NULL);
    begin(&between, NULL);
    ok(cuMemcpyDtoDAsync(b, a, BYTES, NULL));
    end(&between, NULL);
    begin(&fill, NULL);
    ok(cuMemsetD32Async(a, 1, WORDS, NULL));
    end(&fill, NULL);
    begin(&memory, NULL);
    ok(cuLaunchKernel(add, WORDS / 256, 1, 1, 256, 1, 1, 0, NULL, (void *[]){&a, &b, &n}, NULL));
    end(&memory, NULL);
    begin(&compute, NULL);
    ok(cuLaunchKernel(chain, LANES / 512, 1, 1, 512, 1, 1, 0, NULL, (void *[]){&a}, NULL));
    end(&compute, NULL);
    begin(&small, NULL);
    ok(cuLaunchKernel(chain, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&a}, NULL));
    end(&small, NULL);
    say(&in), say(&out), say(&between), say(&fill), say(&memory), say(&compute), say(&small);
    printf("%s", reprise_soft_clock() != NULL ? reprise_soft_clock() : "host");
    return 0;
}

/* How long two streams take together: copies in both directions, in one, a copy beside a
 * kernel, and a copy that an event makes wait for another. */
static int streams_program(void)
{
    CUstream one, two;
    CUevent ready;
    struct watch watches[4];

    set_up();
    CUfunction chain = function_of(chain_ptx, "chain");
    ok(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&ready, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 4; i++) {
        get_ahead(one);
        ok(cuEventRecord(ready, one));
        ok(cuStreamWaitEvent(two, ready, 0));
        begin(&watches[i], one);
        if (i == 2)
            ok(cuLaunchKernel(chain, LANES / 512, 1, 1, 512, 1, 1, 0, one, (void *[]){&a}, NULL));
        else
            ok(cuMemcpyHtoDAsync(a, pinned, BYTES, one));
        if (i == 3) {
            ok(cuEventRecord(ready, one));
            ok(cuStreamWaitEvent(two, ready, 0));
        }
        if (i == 1)
            ok(cuMemcpyHtoDAsync(b, pinned, BYTES, two));
        else
            ok(cuMemcpyDtoHAsync((char *)pinned + BYTES, b, BYTES, two));
        ok(cuEventRecord(ready, two));
        ok(cuStreamWaitEvent(one, ready, 0));
        end(&watches[i], one);
    }
    for (int i = 0; i < 4; i++)
        say(&watches[i]);
    return 0;
}

/* A program that waits after each of ten fills pays for its own calls, one that does not hides
 * them behind a long copy. */
static int waiting_program(void)
{
    struct watch together, apart;

    set_up();
    get_ahead(NULL);
    begin(&together, NULL);
    for (int i = 0; i < 10; i++)
        ok(cuMemsetD32Async(a, 1, 1, NULL));
    end(&together, NULL);
    ok(cuCtxSynchronize());
    begin(&apart, NULL);
    for (int i = 0; i < 10; i++) {
        ok(cuMemsetD32Async(a, 1, 1, NULL));
        ok(cuCtxSynchronize());
    }
    end(&apart, NULL);
    say(&together), say(&apart);
    return 0;
}

/* An event may be over while work that was submitted earlier will never end by itself. */
static int stuck_program(void)
{
    struct gate gate;
    CUstream other;
    struct watch watch;

    set_up();
    ok(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    gate_close(&gate, other);
    begin(&watch, NULL);
    ok(cuMemsetD32Async(a, 1, 1, NULL));
    end(&watch, NULL);
    say(&watch);
    gate_open(&gate);
    ok(cuCtxSynchronize());
    return 0;
}

static int start_program(void)
{
    return (int)cuInit(0);
}

/* ---- tests ------------------------------------------------------------------------- */

enum kind { IN, OUT, BETWEEN, FILL, MEMORY, COMPUTE, SMALL, KINDS };

static void run(const char *program, const char *const *settings, double *times, int count,
                char *rest)
{
    char text[512], *at = text;
    assert_int_equal(child_run(program, settings, text, NULL, sizeof text), 0);
    for (int i = 0; i < count; i++)
        times[i] = strtod(at, &at);
    if (rest != NULL)
        strcpy(rest, at + strspn(at, " "));
}

/* Event times are floats: half a nanosecond, and their own precision. */
static void expect_ns(double got, double wanted)
{
    if (got < wanted - 1 - wanted * 1e-6 || got > wanted + 1 + wanted * 1e-6)
        fail_msg("%.0f ns, not %.0f", got, wanted);
}

static struct soft_figures figures_of(const char *which)
{
    struct soft_figures figures;
    char message[256];
    if (soft_figures_read(which, &figures, message, sizeof message) != RP_OK)
        fail_msg("%s", message);
    return figures;
}

static void operations_last_as_long_as_on_the_device(void **state)
{
    (void)state;
    static const char *const names[] = {"h200", "h100nl", "rtx4090"};
    for (size_t i = 0; i < 3; i++) {
        const struct soft_figures figures = figures_of(names[i]);
        char setting[64], name[128];
        double times[KINDS];
        snprintf(setting, sizeof setting, "REPRISE_SOFT_CLOCK=%s", names[i]);
        run("kinds", SETTINGS(setting), times, KINDS, name);
        assert_string_equal(name, figures.name);
        const double second = 1e9;
        expect_ns(times[IN], GAP + second * BYTES / figures.host_link_bytes_per_s);
        expect_ns(times[OUT], GAP + second * BYTES / figures.host_link_bytes_per_s);
        expect_ns(times[BETWEEN], GAP + second * 2 * BYTES / figures.memory_bytes_per_s);
        expect_ns(times[FILL], GAP + second * BYTES / figures.memory_bytes_per_s);
        expect_ns(times[MEMORY], GAP + second * 3 * BYTES / figures.memory_bytes_per_s);
        /* mov, mov, the rounds, ret */
        double lines = 3 + 11.0 * ROUNDS;
        expect_ns(times[COMPUTE], GAP + second * LANES * lines / figures.issue_per_s);
        /* One warp of all that the device could hold at once. */
        double share = 1 / figures.multiprocessors * 32 / figures.fill_threads;
        expect_ns(times[SMALL], GAP + second * 32 * lines / figures.issue_per_s / share);
    }
}

static void times_depend_on_nothing_here(void **state)
{
    (void)state;
    char first[512], again[512];
    const char *clock = "REPRISE_SOFT_CLOCK=h200";
    const char *const settings[][3] = {{clock, "REPRISE_SOFT_WORKERS=1"},
                                       {clock, "REPRISE_SOFT_WORKERS=5"},
                                       {clock, "REPRISE_SOFT_SCHEDULE=7"},
                                       {clock, "REPRISE_SOFT_ISA=baseline"}};
    static const char *const programs[] = {"kinds", "streams", "waiting"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(child_run(programs[i], SETTINGS(clock), first, NULL, sizeof first), 0);
        for (size_t j = 0; j < sizeof settings / sizeof settings[0]; j++) {
            assert_int_equal(child_run(programs[i], settings[j], again, NULL, sizeof again), 0);
            assert_string_equal(first, again);
        }
    }
}

static void engines_work_side_by_side_and_one_after_the_other(void **state)
{
    (void)state;
    double times[4];
    const struct soft_figures figures = figures_of("h200");
    double copy = GAP + 1e9 * BYTES / figures.host_link_bytes_per_s;
    run("streams", SETTINGS("REPRISE_SOFT_CLOCK=h200"), times, 4, NULL);
    expect_ns(times[0], copy);     /* both directions at once */
    expect_ns(times[1], 2 * copy); /* one direction */
    expect_ns(times[2], copy);     /* beside a shorter kernel */
    expect_ns(times[3], 2 * copy); /* because of the event */
}

static void waiting_shows_the_time_of_calls(void **state)
{
    (void)state;
    double times[2];
    const struct soft_figures figures = figures_of("h200");
    run("waiting", SETTINGS("REPRISE_SOFT_CLOCK=h200"), times, 2, NULL);
    expect_ns(times[0], 10 * GAP);
    /* Each round: the fill's call, the fill, the marker that the wait submits; then the event. */
    assert_true(times[1] > 10 * (2 * figures.call_ns));
}

static void what_is_stuck_holds_no_time_up(void **state)
{
    (void)state;
    double time;
    run("stuck", SETTINGS("REPRISE_SOFT_CLOCK=h200"), &time, 1, NULL);
    assert_true(time > GAP && time < 100000);
}

static void without_a_clock_times_are_the_hosts(void **state)
{
    (void)state;
    double times[KINDS];
    char name[128];
    run("kinds", SETTINGS(NULL), times, KINDS, name);
    assert_string_equal(name, "host");
}

/* ---- documents --------------------------------------------------------------------- */

static char path[] = "/tmp/reprise-clock-XXXXXX";

static void write_document(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void scales_make_a_small_run_large(void **state)
{
    (void)state;
    char setting[128];
    double plain[KINDS], scaled[KINDS];
    write_document(
        "{ \"version\": 1, \"name\": \"large\", \"base\": \"h200\", \"bytes_scale\": 100, "
        "\"ops_scale\": 10, \"figures\": { \"gap_ns\": 1000 } }");
    snprintf(setting, sizeof setting, "REPRISE_SOFT_CLOCK=%s", path);
    run("kinds", SETTINGS("REPRISE_SOFT_CLOCK=h200"), plain, KINDS, NULL);
    run("kinds", SETTINGS(setting), scaled, KINDS, NULL);
    for (int i = 0; i < SMALL; i++) {
        double scale = i == COMPUTE ? 10 : 100;
        if (scaled[i] - 1000 < (plain[i] - GAP - 1) * scale ||
            scaled[i] - 1000 > (plain[i] - GAP + 1) * scale)
            fail_msg("kind %d: %.0f ns scaled, %.0f plain", i, scaled[i], plain[i]);
    }
}

static void expect_refusal(const char *document, const char *why)
{
    char setting[128], errors[512], wanted[512];
    write_document(document);
    snprintf(setting, sizeof setting, "REPRISE_SOFT_CLOCK=%s", path);
    assert_int_equal(child_run("start", SETTINGS(setting), NULL, errors, sizeof errors),
                     CUDA_ERROR_INVALID_VALUE);
    snprintf(wanted, sizeof wanted, "reprise software device: REPRISE_SOFT_CLOCK: %s%s\n", path,
             why);
    assert_string_equal(errors, wanted);
}

static void wrong_documents_are_told_why(void **state)
{
    (void)state;
    expect_refusal("{ \"version\": 1,\n  \"figures\": 1 2 }", ":2:16: '}' expected near '2'");
    expect_refusal("{}", ": expected an object with \"version\": 1");
    expect_refusal("{ \"version\": 1, \"bsae\": \"h200\" }", ": unknown key bsae");
    expect_refusal("{ \"version\": 1, \"base\": \"h200\", \"figures\": { \"fp33_per_s\": 1 } }",
                   ": unknown figure fp33_per_s");
    expect_refusal("{ \"version\": 1, \"base\": \"h200\", \"figures\": { \"gap_ns\": -1 } }",
                   ": expected a number above 0, or one as \"value\", for gap_ns");
    expect_refusal("{ \"version\": 1, \"figures\": { \"gap_ns\": 1 } }",
                   ": missing figure multiprocessors");
    char errors[256];
    assert_int_equal(
        child_run("start", SETTINGS("REPRISE_SOFT_CLOCK=h300"), NULL, errors, sizeof errors),
        CUDA_ERROR_INVALID_VALUE);
    assert_string_equal(errors, "reprise software device: REPRISE_SOFT_CLOCK: h300 is no device "
                                "that the clock knows, and no file of one\n");
}

static int make_path(void **state)
{
    (void)state;
    return mkstemp(path) < 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(int argc, char **argv)
{
    static const struct child_program programs[] = {{"kinds", kinds_program},
                                                    {"streams", streams_program},
                                                    {"waiting", waiting_program},
                                                    {"stuck", stuck_program},
                                                    {"start", start_program}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_last_as_long_as_on_the_device),
        cmocka_unit_test(times_depend_on_nothing_here),
        cmocka_unit_test(engines_work_side_by_side_and_one_after_the_other),
        cmocka_unit_test(waiting_shows_the_time_of_calls),
        cmocka_unit_test(what_is_stuck_holds_no_time_up),
        cmocka_unit_test(without_a_clock_times_are_the_hosts),
        cmocka_unit_test(scales_make_a_small_run_large),
        cmocka_unit_test(wrong_documents_are_told_why),
    };
    child_main(argc, argv, programs, sizeof programs / sizeof programs[0]);
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
