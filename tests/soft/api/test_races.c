/* SPDX-License-Identifier: Apache-2.0 */
/* REPRISE_SOFT_RACES: what two operations touch and nothing orders is told, once, and what
 * anything orders is not. */
#include "tests/soft/api/child.h"
#include "tests/soft/api/kernels.h"
#include "tests/soft/api/soft_test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 1024, BYTES = 4 * WORDS };

static CUstream one, two;
static CUevent event;
static CUdeviceptr a, b;
static CUfunction store;

static void set_up(void)
{
    CUcontext context;
    CUmodule module;
    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
    ok(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    ok(cuMemAlloc(&a, BYTES));
    ok(cuMemAlloc(&b, BYTES));
    ok(cuModuleLoadData(&module, kernels));
    ok(cuModuleGetFunction(&store, module, "store"));
}

static void fill(CUdeviceptr at, size_t words, CUstream stream)
{
    ok(cuMemsetD32Async(at, 1, words, stream));
}

/* 32 words from `at` on. */
static void launch(CUdeviceptr at, CUstream stream)
{
    unsigned value = 1;
    ok(cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&at, &value}, NULL));
}

/* ---- races ------------------------------------------------------------------------- */

static void two_writes(void)
{
    fill(a + 64, 4, one);
    fill(a + 72, 4, two);
}

/* Which of them meet first depends. */
static void many_writes(void)
{
    for (int i = 0; i < 3; i++)
        two_writes();
}

static void a_kernel_writes_what_a_copy_reads(void)
{
    launch(a, one);
    ok(cuMemcpyDtoDAsync(b, a + 124, 8, two));
}

static void the_event_is_recorded_too_early(void)
{
    ok(cuEventRecord(event, one));
    fill(a, 1, one);
    ok(cuStreamWaitEvent(two, event, 0));
    fill(a, 1, two);
}

static void the_default_stream_does_not_wait_for_these(void)
{
    fill(a, 1, one);
    fill(a, 1, NULL);
}

static void a_synchronous_copy_is_in_the_default_stream(void)
{
    unsigned char bytes[4] = {0};
    fill(a, 1, one);
    ok(cuMemcpyHtoD(a, bytes, sizeof bytes));
}

static void two_addresses_of_one_memory(void)
{
    CUmemAllocationProp property = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {.location = property.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr place;
    size_t unit;
    ok(cuMemGetAllocationGranularity(&unit, &property, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    ok(cuMemCreate(&handle, unit, &property, 0));
    ok(cuMemAddressReserve(&place, 2 * unit, 0, 0, 0));
    ok(cuMemMap(place, unit, 0, handle, 0));
    ok(cuMemMap(place + unit, unit, 0, handle, 0));
    ok(cuMemSetAccess(place, 2 * unit, &access, 1));
    fill(place, 1, one);
    fill(place + unit, 1, two);
}

static void run_graph(bool with_edge)
{
    CUcontext context;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode first, second;
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = a, .elementSize = 4, .value = 1, .width = 1, .height = 1};
    ok(cuCtxGetCurrent(&context));
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemsetNode(&first, graph, NULL, 0, &params, context));
    ok(cuGraphAddMemsetNode(&second, graph, &first, with_edge, &params, context));
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphLaunch(exec, one));
    ok(cuGraphLaunch(exec, one));
}

static void nodes_of_a_graph(void)
{
    run_graph(false);
}

/* ---- and none ---------------------------------------------------------------------- */

static void nodes_with_an_edge(void)
{
    run_graph(true);
}

static void an_event_orders(void)
{
    launch(a, one);
    ok(cuEventRecord(event, one));
    ok(cuStreamWaitEvent(two, event, 0));
    launch(a, two);
    ok(cuEventRecord(event, two));
    ok(cuStreamWaitEvent(one, event, 0));
    fill(a, 32, one);
}

/* Also where all is over before the other is even asked for. */
static void an_event_orders_late(void)
{
    launch(a, one);
    ok(cuEventRecord(event, one));
    usleep(50000);
    ok(cuStreamWaitEvent(two, event, 0));
    launch(a, two);
}

static void the_program_waits(void)
{
    launch(a, one);
    ok(cuStreamSynchronize(one));
    launch(a, two);
    while (cuStreamQuery(two) != CUDA_SUCCESS)
        usleep(1000);
    launch(a, one);
    ok(cuEventRecord(event, one));
    while (cuEventQuery(event) != CUDA_SUCCESS)
        usleep(1000);
    launch(a, two);
}

static void the_default_stream_orders(void)
{
    CUstream blocking, gone;
    ok(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    ok(cuStreamCreate(&gone, CU_STREAM_DEFAULT));
    fill(a, 1, blocking);
    fill(b, 1, gone);
    usleep(20000);
    ok(cuStreamDestroy(gone));
    fill(a, 1, NULL);
    fill(b, 1, NULL);
    fill(a, 1, blocking);
}

static void both_only_read(void)
{
    CUdeviceptr c;
    ok(cuMemAlloc(&c, BYTES));
    ok(cuMemcpyDtoDAsync(b, a, BYTES, one));
    ok(cuMemcpyDtoDAsync(c, a, BYTES, two));
}

static void neighbours(void)
{
    for (int i = 0; i < WORDS; i++)
        ok(cuMemsetD8Async(a + 4 * (unsigned)i + (i & 1), 1, 1, i & 1 ? one : two));
}

static void memory_that_was_free_in_between(void)
{
    CUdeviceptr first, again;
    ok(cuMemAlloc(&first, 12345));
    fill(first, 1, one);
    ok(cuMemFree(first));
    ok(cuMemAlloc(&again, 12345));
    assert_int_equal(first, again);
    fill(again, 1, two);
    ok(cuMemAllocAsync(&first, BYTES, one));
    fill(first, 1, one);
    ok(cuMemFreeAsync(first, one));
    ok(cuMemAllocAsync(&again, BYTES, one));
    fill(again, 1, one);
    ok(cuMemFreeAsync(again, one));
}

static void a_word_orders(void)
{
    ok(cuStreamWaitValue32(two, b, 7, CU_STREAM_WAIT_VALUE_EQ));
    launch(a, two);
    launch(a, one);
    ok(cuStreamWriteValue32(one, b, 7, 0));
}

/* ---- the tests --------------------------------------------------------------------- */

struct scene {
    const char *name;
    void (*play)(void);
    const char *told; /* how the line begins, or NULL: nothing is told */
};

#define SCENE(name, told)                                                                          \
    {                                                                                              \
#name, name, told                                                                          \
    }
static const struct scene scenes[] = {
    SCENE(two_writes, "fill (operation 1, stream 3) writes and fill (operation 2, stream 4) "
                      "writes bytes 72 to 79 (8 of them) of the 4096 bytes at 0x"),
    SCENE(many_writes, "fill (operation "),
    SCENE(a_kernel_writes_what_a_copy_reads,
          "kernel store (operation 1, stream 3) writes and copy (operation 2, stream 4) reads "
          "bytes 124 to 127 (4 of them) of the 4096 bytes at 0x"),
    SCENE(the_event_is_recorded_too_early,
          "fill (operation 2, stream 3) writes and fill (operation 4, stream 4) writes bytes 0 "
          "to 3 (4 of them)"),
    SCENE(the_default_stream_does_not_wait_for_these,
          "fill (operation 1, stream 3) writes and fill (operation 2, stream 1) writes bytes"),
    SCENE(a_synchronous_copy_is_in_the_default_stream,
          "fill (operation 1, stream 3) writes and copy (operation 2, stream 1) writes bytes 0 "
          "to 3 (4 of them)"),
    SCENE(two_addresses_of_one_memory,
          "fill (operation 1, stream 3) writes and fill (operation 2, stream 4) writes bytes 0 "
          "to 3 (4 of them) of the 2097152 bytes at 0x"),
    SCENE(nodes_of_a_graph,
          "fill (operation 2, stream 3) writes and fill (operation 3, stream 3) writes bytes 0 "
          "to 3 (4 of them)"),
    SCENE(nodes_with_an_edge, NULL),
    SCENE(an_event_orders, NULL),
    SCENE(an_event_orders_late, NULL),
    SCENE(the_program_waits, NULL),
    SCENE(the_default_stream_orders, NULL),
    SCENE(both_only_read, NULL),
    SCENE(neighbours, NULL),
    SCENE(memory_that_was_free_in_between, NULL),
    SCENE(a_word_orders, NULL),
};
enum { SCENES = sizeof scenes / sizeof scenes[0] };

/* Of the thread sanitizer, where it is. */
__attribute__((weak)) void AnnotateBenignRaceSized(const char *file, int line,
                                                   const volatile void *at, size_t bytes,
                                                   const char *why);

/* Nothing orders these bytes' writers, which is a race to the sanitizer, too. All other bytes, and
 * these in the other scenes, it goes on watching. */
static void race_on_purpose(CUdeviceptr at)
{
    if (AnnotateBenignRaceSized != NULL)
        AnnotateBenignRaceSized(__FILE__, __LINE__, (void *)(uintptr_t)at, BYTES, "the scene's");
}

static int play(void)
{
    const struct scene *scene = &scenes[atoi(getenv("SCENE"))];
    set_up();
    if (scene->told != NULL)
        race_on_purpose(a);
    scene->play();
    ok(cuCtxSynchronize());
    CUcontext context;
    ok(cuCtxGetCurrent(&context));
    ok(cuCtxDestroy(context));
    return 0;
}

static void expect_told(const struct scene *scene, const char *text)
{
    char wanted[256];
    if (scene->told == NULL) {
        if (*text != '\0')
            fail_msg("%s: %s", scene->name, text);
        return;
    }
    snprintf(wanted, sizeof wanted, "race: %s", scene->told);
    const char *line = strstr(text, "race: "), *end = strchr(text, '\n');
    if (line == NULL || end == NULL || end[1] != '\0')
        fail_msg("%s: not one line: %s", scene->name, text);
    if (strncmp(line, wanted, strlen(wanted)) != 0)
        fail_msg("%s: %s", scene->name, text);
}

static void scenes_under(const char *setting)
{
    char number[16], errors[2048];
    for (int i = 0; i < SCENES; i++) {
        snprintf(number, sizeof number, "SCENE=%d", i);
        assert_int_equal(child_run("play", SETTINGS("REPRISE_SOFT_RACES=1", number, setting), NULL,
                                   errors, sizeof errors),
                         0);
        expect_told(&scenes[i], errors);
    }
}

static void races_are_told_once_and_nothing_else(void **state)
{
    (void)state;
    scenes_under(NULL);
}

/* It is the missing order that is told, not what came of it. */
static void whatever_the_schedule(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 3; seed++) {
        char setting[48];
        snprintf(setting, sizeof setting, "REPRISE_SOFT_SCHEDULE=%u", seed);
        scenes_under(setting);
    }
}

static void a_file_may_have_them(void **state)
{
    (void)state;
    static char path[] = "/tmp/reprise-races-XXXXXX";
    char setting[64], errors[256], text[1024];
    int file = mkstemp(path);
    assert_true(file >= 0);
    snprintf(setting, sizeof setting, "REPRISE_SOFT_RACES=%s", path);
    assert_int_equal(child_run("play", SETTINGS(setting, "SCENE=0"), NULL, errors, sizeof errors),
                     0);
    assert_string_equal(errors, "");
    ssize_t got = read(file, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    expect_told(&scenes[0], text);
    static const char refusal[] = "reprise software device: REPRISE_SOFT_RACES=/nowhere/races: No "
                                  "such file or directory\n";
    child_run("play", SETTINGS("REPRISE_SOFT_RACES=/nowhere/races", "SCENE=0"), NULL, errors,
              sizeof errors);
    assert_memory_equal(errors, refusal, sizeof refusal - 1);
    close(file);
    unlink(path);
}

int main(int argc, char **argv)
{
    static const struct child_program programs[] = {{"play", play}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(races_are_told_once_and_nothing_else),
        cmocka_unit_test(whatever_the_schedule),
        cmocka_unit_test(a_file_may_have_them),
    };
    child_main(argc, argv, programs, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
