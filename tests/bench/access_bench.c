/* SPDX-License-Identifier: Apache-2.0 */
/* What deciding over launches costs, and what it is worth.
 *
 * A table over the training kernels of tests/access: the time of the one-off proof, that of a
 * decision when it is found for the first time and when it is remembered (medians), and the
 * bytes that are said to be written over those that are. Then the times over generated kernels;
 * what is claimed too much of those the oracle counts (tests/access/test_oracle.c).
 *
 * usage: access_bench, with KERNELS and DIGITS as for the tests */
#include "cuda/access/memo.h"
#include "tests/access/cases.h"
#include "tests/access/generate.h"
#include "tests/access/scalar.h"
#include "tests/bench/figures.h"
#include "tests/soft/simt/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 200, GENERATED = 500, LETTERS = 26 };
#define BUFFER_BYTES (1u << 20)
#define OVER_CONSERVATIVE_PUBLISHED 0.1854 /* of launches: Picker, arXiv 2410.23661 */

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct sample {
    double *values;
    size_t count;
};

static void add(struct sample *sample, double value)
{
    if ((sample->count & (sample->count - 1)) == 0)
        sample->values =
            realloc(sample->values, (sample->count ? sample->count * 2 : 1) * sizeof(double));
    sample->values[sample->count++] = value;
}

static double share(struct sample *sample, double part)
{
    qsort(sample->values, sample->count, sizeof(double), by_value);
    size_t at = (size_t)((double)sample->count * part);
    return sample->values[at < sample->count ? at : sample->count - 1];
}

/* ---- one kernel ------------------------------------------------------------------- */

struct timing {
    double proof_us, found_ns, remembered_ns;
};

static struct sample proofs, founds, remembereds; /* of all kernels */

/* Parsing is left out: it is the image's, whatever its kernels are asked for. */
static double time_proof(const struct rp_ptx_module *module, const struct rp_ptx_function *entry)
{
    struct sample sample = {0};
    for (int i = 0; i < 20; i++) {
        struct rp_proof *proof;
        double start = now_ns();
        (void)rp_proof_build(module, entry, &proof);
        add(&sample, now_ns() - start);
        rp_proof_destroy(proof);
    }
    double middle = share(&sample, 0.5) / 1000;
    add(&proofs, middle);
    free(sample.values);
    return middle;
}

/* The clock's own cost is taken off. */
static double clock_ns(void)
{
    struct sample sample = {0};
    for (int i = 0; i < 1001; i++) {
        double start = now_ns();
        add(&sample, now_ns() - start);
    }
    double middle = share(&sample, 0.5);
    free(sample.values);
    return middle;
}

static void time_decisions(const struct rp_proof *proof, const struct rp_launch *launch,
                           struct timing *timing)
{
    struct rp_access_set set = {0};
    struct rp_memo *memo;
    struct sample found = {0}, remembered = {0};
    double clock = clock_ns();
    (void)rp_memo_create(proof, &memo);
    (void)rp_memo_evaluate(memo, launch, NULL, NULL, &set);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_ns();
        (void)rp_proof_evaluate(proof, launch, NULL, NULL, &set);
        double middle = now_ns();
        (void)rp_memo_evaluate(memo, launch, NULL, NULL, &set);
        double end = now_ns();
        add(&found, middle - start - clock);
        add(&remembered, end - middle - clock);
    }
    for (int i = ROUNDS / 10; i < ROUNDS; i++) {
        add(&founds, found.values[i]);
        add(&remembereds, remembered.values[i]);
    }
    timing->found_ns = share(&found, 0.5);
    timing->remembered_ns = share(&remembered, 0.5);
    free(found.values);
    free(remembered.values);
    rp_memo_destroy(memo);
    rp_access_set_release(&set);
}

/* ---- training kernels, on the software device ------------------------------------- */

static unsigned char *buffers[LETTERS], *claimed[LETTERS], *written[LETTERS];

static void note(void *ctx, const struct simt_touch *touches, size_t count)
{
    (void)ctx;
    for (size_t j = 0; j < count; j++)
        for (int i = 0; touches[j].is_write && i < LETTERS; i++) {
            uint64_t offset = touches[j].address - (uint64_t)(uintptr_t)buffers[i];
            if (buffers[i] && offset < BUFFER_BYTES)
                memset(written[i] + offset, 1, touches[j].bytes);
        }
}

static void claim(const struct rp_access *access)
{
    for (int i = 0; i < LETTERS; i++) {
        uint64_t base = (uint64_t)(uintptr_t)buffers[i];
        bool everywhere = access->verdict > RP_VERDICT_ROOT ||
                          (access->verdict == RP_VERDICT_ROOT &&
                           access->root - base < BUFFER_BYTES);
        if (!base || access->effect != RP_WRITE)
            continue;
        for (uint64_t at = everywhere ? 0 : access->lo - base;
             at < (everywhere ? BUFFER_BYTES : access->hi - base) && at < BUFFER_BYTES; at++)
            claimed[i][at] = 1;
    }
}

static size_t count_marks(unsigned char *const marks[LETTERS])
{
    size_t count = 0;
    for (int i = 0; i < LETTERS; i++)
        for (size_t at = 0; buffers[i] && at < BUFFER_BYTES; at++)
            count += marks[i][at];
    return count;
}

static void open_buffers(struct rig *rig, const char *words, uint64_t roots[LETTERS])
{
    for (const char *word = words; *word; word++) {
        int i = *word - 'A';
        if (i < 0 || i >= LETTERS || buffers[i])
            continue;
        buffers[i] = rig_buffer(rig, BUFFER_BYTES);
        for (size_t at = 0; at < BUFFER_BYTES / 4; at++)
            ((uint32_t *)buffers[i])[at] = at % 2 ? 0 : (uint32_t)(at / 2 % 7);
        roots[i] = (uint64_t)(uintptr_t)buffers[i];
        claimed[i] = calloc(1, BUFFER_BYTES);
        written[i] = calloc(1, BUFFER_BYTES);
    }
}

static bool run_case(const struct kernel_case *at)
{
    char path[512];
    struct rig rig;
    uint64_t roots[LETTERS] = {0};
    unsigned char params[CLAIM_PARAM_BYTES];
    const void *args[64];
    struct rp_proof *proof;
    struct rp_access_set set = {0};
    struct timing timing;
    rig_open_file(&rig, kernel_case_path(at, path), 1);
    open_buffers(&rig, at->words, roots);
    const struct rp_ptx_function *entry = rp_ptx_find(rig.ptx, at->kernel);
    claim_params(entry, at->words, roots, params);
    for (size_t i = 0; i < entry->param_count; i++)
        args[i] = params + entry->params[i].offset;
    struct rp_launch launch = {.grid = {at->grid.x, at->grid.y, at->grid.z},
                               .block = {at->block.x, at->block.y, at->block.z},
                               .params = params, .param_bytes = entry->param_bytes};
    timing.proof_us = time_proof(rig.ptx, entry);
    (void)rp_proof_build(rig.ptx, entry, &proof);
    time_decisions(proof, &launch, &timing);
    (void)rp_proof_evaluate(proof, &launch, NULL, NULL, &set);
    for (size_t i = 0; i < set.count; i++)
        claim(&set.items[i]);
    rig.options.oracle = note;
    rig.options.dynamic_shared_bytes = 4096;
    rig_run(&rig, at->kernel, (struct rig_size){at->grid.x, at->grid.y, at->grid.z},
            (struct rig_size){at->block.x, at->block.y, at->block.z}, args);
    size_t said = count_marks(claimed), really = count_marks(written);
    printf("%-24s %8.0f %8.0f %8.0f   %-10s %9zu %9zu %6.2f\n", at->kernel, timing.proof_us,
           timing.found_ns, timing.remembered_ns, rp_verdict_name(set.writes), said, really,
           really ? (double)said / (double)really : said ? 99.0 : 1.0);
    rp_access_set_release(&set);
    rp_proof_destroy(proof);
    for (int i = 0; i < LETTERS; i++) {
        free(claimed[i]);
        free(written[i]);
    }
    memset(buffers, 0, sizeof buffers);
    memset(claimed, 0, sizeof claimed);
    memset(written, 0, sizeof written);
    rig_close(&rig);
    return said > really;
}

/* ---- generated kernels ------------------------------------------------------------ */

/* True when it ends. Those with pointers by detours are left out: no program is made of them. */
static bool run_generated(uint64_t seed)
{
    struct generated made;
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct rp_access_set set = {0};
    struct scalar_trace trace = {0};
    const struct scalar_memory memory = {.seed = seed};
    struct timing timing;
    char message[160];
    generate(seed, &made);
    if (made.kind == GENERATED_POINTERS ||
        rp_ptx_parse(made.text, strlen(made.text), &module, message, sizeof message) != RP_OK) {
        free(made.text);
        return false;
    }
    const struct rp_ptx_function *entry = rp_ptx_find(module, "k");
    struct rp_launch launch = {.params = made.params, .param_bytes = sizeof made.params};
    memcpy(launch.grid, made.grid, sizeof launch.grid);
    memcpy(launch.block, made.block, sizeof launch.block);
    bool ends = scalar_run(module, entry, &launch, &memory, &trace) == SCALAR_DONE;
    if (ends) {
        time_proof(module, entry);
        (void)rp_proof_build(module, entry, &proof);
        time_decisions(proof, &launch, &timing);
        (void)rp_proof_evaluate(proof, &launch, NULL, NULL, &set);
        rp_proof_destroy(proof);
    }
    scalar_trace_release(&trace);
    rp_access_set_release(&set);
    rp_ptx_destroy(module);
    free(made.text);
    return ends;
}

/* ----------------------------------------------------------------------------------- */

static void print_times(const char *what)
{
    char proof[64];
    snprintf(proof, sizeof proof, "access.%s-proof", what);
    figure_write(&(struct figure){.name = proof, .unit = "us", .goal = "<= 1000",
                                  .value = share(&proofs, 0.5), .low = share(&proofs, 0.25),
                                  .high = share(&proofs, 0.75), .runs = (unsigned)proofs.count,
                                  .published = (double)NAN});
    printf("  proof         median %6.0f us  p99 %6.0f us    goal of the median 1000\n",
           share(&proofs, 0.5), share(&proofs, 0.99));
    printf("  found         median %6.0f ns  p99 %6.0f ns\n", share(&founds, 0.5),
           share(&founds, 0.99));
    printf("  remembered    median %6.0f ns  p99 %6.0f ns    goal of the p99 500\n",
           share(&remembereds, 0.5), share(&remembereds, 0.99));
    proofs.count = founds.count = remembereds.count = 0;
    free(proofs.values);
    free(founds.values);
    free(remembereds.values);
    proofs.values = founds.values = remembereds.values = NULL;
}

static void print_share(unsigned kernels, unsigned conservative)
{
    const double part = (double)conservative / kernels;
    figure_write(&(struct figure){.name = "access.training-over-conservative", .unit = "ratio",
                                  .goal = "<= 0.05", .value = part, .low = part, .high = part,
                                  .runs = 1, .published = OVER_CONSERVATIVE_PUBLISHED});
    printf("training kernels: %u, over-conservative %u (%.1f %%)    goal 5 %%\n", kernels,
           conservative, 100.0 * part);
}

int main(void)
{
    unsigned conservative = 0, kernels = 0;
    printf("%-24s %8s %8s %8s   %-10s %9s %9s %6s\n", "kernel", "proof us", "found ns", "rememb.",
           "writes", "claimed", "written", "ratio");
    for (size_t i = 0; i < kernel_case_count; i++)
        conservative += run_case(&kernel_cases[i]);
    print_share((unsigned)kernel_case_count, conservative);
    print_times("training");
    for (uint64_t seed = 1; seed <= GENERATED; seed++)
        kernels += run_generated(seed);
    printf("generated kernels: %u\n", kernels);
    print_times("generated");
    return 0;
}
