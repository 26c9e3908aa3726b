/* SPDX-License-Identifier: Apache-2.0 */
/* What passes through a wrapper, listened to or not. */
#include "tests/interpose/preloaded.h"
#include "tests/interpose/probes.h"
#include "tests/tracker/random.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static listener_listen_fn listen_to;

static int reset(void **state)
{
    (void)state;
    int starts = the_listener()->starts, forks = the_listener()->forks;
    cuProfilerStart(); /* the layer's start, where it has not been */
    memset(the_listener(), 0, sizeof(struct listener));
    the_listener()->starts = starts != 0 ? starts : 1;
    the_listener()->forks = forks;
    the_listener()->serve = the_listener()->recurse = RP_CALL_NONE;
    listen_to = (listener_listen_fn)layer_function("reprise_test_listen");
    listen_to(RP_LISTEN_HANDLERS | RP_LISTEN_TRACE);
    return 0;
}

/* ---- every call arrives as it was made -------------------------------------------- */

/* The fake has code of its own for these. */
static bool looks_at_its_arguments(enum rp_call_id id)
{
    return id == RP_CALL_cuGetProcAddress || id == RP_CALL_cuGetProcAddress_v2
           || id == RP_CALL_cuLaunchHostFunc;
}

static void call_with_random_arguments(enum rp_call_id id, struct random *random)
{
    const struct rp_call_info *call = &rp_calls[id];
    unsigned char args[FAKE_ARGS_MAX];
    struct fake_state *fake = the_fake();
    unsigned long count = fake->counts[id];
    for (size_t i = 0; i < sizeof(args); i++)
        args[i] = (unsigned char)random_below(random, 256);
    assert_int_equal(probes[id](layer_function(call->name), args), FAKE_RESULT(id));
    assert_int_equal(fake->last, id);
    assert_int_equal(fake->counts[id], count + 1);
    for (int i = 0; i < call->arg_count; i++) {
        const struct rp_arg_info *arg = &call->args[i];
        assert_memory_equal(fake->args + arg->offset, args + arg->offset, arg->size);
    }
}

static void all_calls_with_random_arguments(unsigned bits)
{
    struct random random = random_begin("arguments");
    listen_to(bits);
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        if (!looks_at_its_arguments((enum rp_call_id)id))
            call_with_random_arguments((enum rp_call_id)id, &random);
    }
}

static void unheard_every_call_arrives_as_it_was_made(void **state)
{
    (void)state;
    all_calls_with_random_arguments(0);
    for (int id = 0; id < RP_CALL_COUNT; id++)
        assert_int_equal(the_listener()->before[id] + the_listener()->entered[id], 0);
}

static void heard_every_call_arrives_as_it_was_made(void **state)
{
    (void)state;
    all_calls_with_random_arguments(RP_LISTEN_HANDLERS | RP_LISTEN_TRACE);
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        unsigned long once = !looks_at_its_arguments((enum rp_call_id)id);
        unsigned long handled = id == RP_CALL_cuCtxSynchronize ? 0 : once;
        assert_int_equal(the_listener()->entered[id], once);
        assert_int_equal(the_listener()->left[id], once);
        assert_int_equal(the_listener()->before[id], handled);
        assert_int_equal(the_listener()->after[id], handled);
    }
}

/* ---- the frame --------------------------------------------------------------------- */

static void the_order_is_enter_before_driver_after_leave(void **state)
{
    (void)state;
    uint64_t seq = the_listener()->last_seq;
    assert_int_equal(cuProfilerStart(), FAKE_RESULT(RP_CALL_cuProfilerStart));
    assert_string_equal(the_listener()->order, "EbaL");
    assert_int_equal(the_listener()->last_result, FAKE_RESULT(RP_CALL_cuProfilerStart));
    assert_true(the_listener()->last_seq > seq);
    seq = the_listener()->last_seq;
    cuProfilerStart();
    assert_int_equal(the_listener()->last_seq, seq + 1);
}

static void only_those_asked_for_listen(void **state)
{
    (void)state;
    listen_to(RP_LISTEN_TRACE);
    cuProfilerStart();
    uint64_t seq = the_listener()->last_seq - 1;
    assert_string_equal(the_listener()->order, "EL");
    listen_to(RP_LISTEN_HANDLERS);
    cuProfilerStart();
    assert_string_equal(the_listener()->order, "ELba");
    cuCtxSynchronize(); /* has no handler */
    assert_string_equal(the_listener()->order, "ELba");
    listen_to(0);
    cuProfilerStart();
    assert_string_equal(the_listener()->order, "ELba");
    listen_to(RP_LISTEN_TRACE);
    cuProfilerStart();
    assert_int_equal(the_listener()->last_seq, seq + 3); /* heard before: two, of four */
}

static void a_handler_may_serve_the_call(void **state)
{
    (void)state;
    unsigned long count = the_fake()->counts[RP_CALL_cuProfilerStart];
    the_listener()->serve = RP_CALL_cuProfilerStart;
    the_listener()->answer = CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_equal(cuProfilerStart(), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(the_fake()->counts[RP_CALL_cuProfilerStart], count);
    assert_string_equal(the_listener()->order, "EbL");
    assert_int_equal(the_listener()->last_result, CUDA_ERROR_OUT_OF_MEMORY);
}

static void a_handler_may_change_arguments_and_result(void **state)
{
    (void)state;
    the_listener()->change_count = true;
    assert_int_equal(cuMemsetD8_v2(4096, 7, 100), FAKE_RESULT(RP_CALL_cuMemsetD8_v2));
    const struct rp_args_cuMemsetD8_v2 *got = (const void *)the_fake()->args;
    assert_int_equal(got->dstDevice, 4096);
    assert_int_equal(got->N, 99);
    the_listener()->change_result = true;
    the_listener()->answer = CUDA_ERROR_UNKNOWN;
    assert_int_equal(cuProfilerStop(), CUDA_ERROR_UNKNOWN);
}

static void a_handlers_own_calls_pass_unheard(void **state)
{
    (void)state;
    unsigned long count = the_fake()->counts[RP_CALL_cuProfilerStart];
    the_listener()->recurse = RP_CALL_cuProfilerStart;
    cuProfilerStart();
    assert_int_equal(the_listener()->before[RP_CALL_cuProfilerStart], 1);
    assert_int_equal(the_fake()->counts[RP_CALL_cuProfilerStart], count + 2);
    the_listener()->recurse = RP_CALL_NONE;
    cuProfilerStart();
    assert_int_equal(the_listener()->before[RP_CALL_cuProfilerStart], 2);
}

static void call_the_driver(void *data)
{
    *(CUresult *)data = cuProfilerStart();
}

static void what_the_job_calls_from_a_callback_is_heard(void **state)
{
    (void)state;
    CUresult result = CUDA_SUCCESS;
    cuLaunchHostFunc(NULL, call_the_driver, &result);
    assert_int_equal(result, FAKE_RESULT(RP_CALL_cuProfilerStart));
    assert_string_equal(the_listener()->order, "EbEbaLaL");
}

/* Some callers take a call by its newer name with its older arguments: the argument that
 * they do not pass is rubbish, and none of the layer's business. */
static void an_argument_not_passed_is_not_looked_at(void **state)
{
    (void)state;
    int device = 0;
    CUresult (*call)(int *) = (CUresult(*)(int *))layer_function("cuCtxGetDevice_v2");
    assert_int_equal(call(&device), FAKE_RESULT(RP_CALL_cuCtxGetDevice_v2));
}

/* ---- processes and threads ---------------------------------------------------------- */

static int exit_code_of(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_forked_child_starts_anew(void **state)
{
    (void)state;
    int starts = the_listener()->starts;
    pid_t child = fork();
    if (child == 0) {
        bool forgot = the_listener()->forks == 1 && the_listener()->starts == starts;
        bool works = cuProfilerStart() == FAKE_RESULT(RP_CALL_cuProfilerStart);
        bool heard = the_listener()->before[RP_CALL_cuProfilerStart] == 1;
        _exit(forgot && works && heard && the_listener()->starts == starts + 1 ? 0 : 1);
    }
    assert_int_equal(exit_code_of(child), 0);
    assert_int_equal(the_listener()->forks, 0);
    cuProfilerStart();
    assert_int_equal(the_listener()->starts, starts);
}

static void who_listens_cannot_be_changed_before_the_start(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        int starts = the_listener()->starts;
        listen_to(RP_LISTEN_TRACE);
        cuProfilerStart();
        _exit(the_listener()->starts == starts + 1 ? 0 : 1);
    }
    assert_int_equal(exit_code_of(child), 0);
}

static void *profile(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 1000; i++)
        cuProfilerInitialize(NULL, NULL, CU_OUT_CSV);
    return NULL;
}

static void threads_start_one_layer(void **state)
{
    (void)state;
    cuProfilerStart();
    pid_t child = fork(); /* in it, the layer has not been started again yet */
    if (child == 0) {
        pthread_t threads[8];
        int starts = the_listener()->starts;
        uint64_t seq = the_listener()->last_seq;
        the_listener()->slow_start = true;
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, profile, NULL);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
        cuProfilerStart();
        _exit(the_listener()->starts == starts + 1 && the_listener()->last_seq == seq + 8001 ? 0
                                                                                             : 1);
    }
    assert_int_equal(exit_code_of(child), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(unheard_every_call_arrives_as_it_was_made, reset),
        cmocka_unit_test_setup(heard_every_call_arrives_as_it_was_made, reset),
        cmocka_unit_test_setup(the_order_is_enter_before_driver_after_leave, reset),
        cmocka_unit_test_setup(only_those_asked_for_listen, reset),
        cmocka_unit_test_setup(a_handler_may_serve_the_call, reset),
        cmocka_unit_test_setup(a_handler_may_change_arguments_and_result, reset),
        cmocka_unit_test_setup(a_handlers_own_calls_pass_unheard, reset),
        cmocka_unit_test_setup(what_the_job_calls_from_a_callback_is_heard, reset),
        cmocka_unit_test_setup(an_argument_not_passed_is_not_looked_at, reset),
        cmocka_unit_test_setup(a_forked_child_starts_anew, reset),
        cmocka_unit_test_setup(who_listens_cannot_be_changed_before_the_start, reset),
        cmocka_unit_test_setup(threads_start_one_layer, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
