/* SPDX-License-Identifier: Apache-2.0 */
/* Segments inside segments, and replays inside replays. */
#include "tests/laws/scenario.h"

#include <stdio.h>

static CUdeviceptr inner_y;

static void inner_forward(void)
{
    LAUNCH("step_state", n, &state_, &y, &inner_y, &n);
}

static void outer_forward(void)
{
    step_forward();
    in_range("forward/inner", inner_forward);
}

static void replay_inner(void)
{
    if (!replaying)
        return;
    CU(MemsetD8, inner_y, 0xee, WORDS(n));
    in_range("recompute/inner", inner_forward);
}

/* A segment inside a segment: the outer one's replay runs the inner forward anew, and it is that
 * run which the inner replay repeats. */
void scenario_nested(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    inner_y = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/outer", outer_forward);
        overwrite();
        if (replaying)
            CU(MemsetD8, inner_y, 0xee, WORDS(n));
        replay("recompute/outer", outer_forward);
        replay_inner();
        LAUNCH("gradient", n, &inner_y, &g, &n);
        backward();
        nvtxRangePop();
    }
}

/* The inner activation is in fresh memory each time, as a framework has it. */
static void fresh_inner(const char *phase)
{
    char range[32];
    if (inner_y)
        CU(MemFree, inner_y);
    CU(MemAlloc, &inner_y, WORDS(n));
    step_forward();
    snprintf(range, sizeof range, "%s/inner", phase);
    in_range(range, inner_forward);
    LAUNCH("read_queue", n, &state_, &inner_y, &y, &(int){1}, &n);
}

static void outer_run(void)
{
    fresh_inner("forward");
}

static void outer_rerun(void)
{
    fresh_inner("recompute");
}

/* A replay inside the replay of what was around it: its work is a part of that one's. */
void scenario_nested_replays(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_range("forward/outer", outer_run);
        overwrite();
        replay("recompute/outer", outer_rerun);
        backward();
        nvtxRangePop();
    }
}

/* ---- domains -------------------------------------------------------------------------------- */

static nvtxDomainHandle_t other_domain;

static void begin_other_range(void)
{
    const nvtxEventAttributes_t named = {
        .version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .messageType = NVTX_MESSAGE_TYPE_ASCII, .message.ascii = "a library's own"};
    nvtxDomainRangePushEx(other_domain, &named);
}

/* As in_range, with the name in each of the ways that NVTX has for wide letters. */
static void in_wide_range(int way, const wchar_t *name, void (*work)(void))
{
    const nvtxEventAttributes_t named = {
        .version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .messageType = NVTX_MESSAGE_TYPE_UNICODE, .message.unicode = name};
    const nvtxEventAttributes_t registered = {
        .version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
        .message.registered = nvtxDomainRegisterStringW(NULL, name)};
    if (way % 3 == 0)
        nvtxRangePushW(name);
    else
        nvtxRangePushEx(way % 3 == 1 ? &named : &registered);
    work();
    nvtxRangePop();
}

void scenario_wide_names(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        in_wide_range(step, L"forward/only", step_forward);
        if (replaying)
            in_wide_range(step, L"recompute/only", step_forward);
        backward();
        nvtxRangePop();
    }
}

/* A range of another domain, which has begun before, ends here: not this one. */
static void crossed_forward(void)
{
    step_forward();
    nvtxDomainRangePop(other_domain);
    step_forward();
}

void scenario_domains(void)
{
    begin_job();
    other_domain = nvtxDomainCreateA("library");
    result("state", &state_, WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        begin_other_range();
        in_range("forward/only", crossed_forward);
        begin_other_range();
        replay("recompute/only", crossed_forward);
        if (!replaying)
            nvtxDomainRangePop(other_domain);
        backward();
        nvtxRangePop();
    }
}

/* ---- a chain ------------------------------------------------------------------------------ */

enum { LINKS = 3 };
static CUdeviceptr links[LINKS + 1]; /* what each link makes of the one before it */

static void make_link(int i)
{
    LAUNCH("step_state", n, &state_, &links[i - 1], &links[i], &n);
}

/* Each replay makes its input again, by the replay of the link before. */
static void replay_link(int i)
{
    char range[32];
    snprintf(range, sizeof range, "recompute/%d", i);
    CU(MemsetD8, links[i], 0xee, WORDS(n));
    nvtxRangePushA(range);
    if (i > 1)
        replay_link(i - 1);
    make_link(i);
    nvtxRangePop();
}

static void run_chain(void)
{
    char range[32];
    for (int i = 1; i <= LINKS; i++) {
        snprintf(range, sizeof range, "forward/%d", i);
        nvtxRangePushA(range);
        make_link(i);
        nvtxRangePop();
    }
}

void scenario_chain(void)
{
    begin_job();
    result("state", &state_, WORDS(n));
    links[0] = x;
    for (int i = 1; i <= LINKS; i++)
        links[i] = allocate(WORDS(n));
    for (int step = 1; step <= STEPS; step++) {
        nvtxRangePushA("step");
        set_input(step);
        run_chain();
        overwrite();
        if (replaying)
            replay_link(LINKS);
        for (int i = LINKS; i > 0; i--)
            LAUNCH("gradient", n, &links[i], &g, &n);
        nvtxRangePop();
    }
}
