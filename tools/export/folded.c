/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks of device memory at its peak, for flamegraph.pl, speedscope and inferno: one
 * line an allocation, "process;segment;call;kind BYTES". The run is read twice: the peak of
 * each process is known only at the end. */
#include "tools/export/format.h"

#include <stdlib.h>

struct folded {
    struct peak {
        uint64_t bytes, event; /* the event after which so much was alive */
    } *peaks;                  /* by process */
    size_t count;
};

static struct peak *peak_of(struct rp_export *run, struct folded *folded)
{
    if (run->process >= folded->count) {
        struct peak *more = realloc(folded->peaks, (run->process + 1) * sizeof(*more));
        if (!more) {
            run->no_memory = true;
            return NULL;
        }
        folded->peaks = more;
        while (folded->count <= run->process)
            folded->peaks[folded->count++] = (struct peak){0};
    }
    return &folded->peaks[run->process];
}

static void look(struct rp_export *run, void *state, const struct rp_group *group)
{
    struct peak *peak = peak_of(run, state);

    for (size_t i = 0; peak && i < group->count; i++) {
        bool good = true;
        rp_alive_take(&run->live, group, &group->events[i], NULL, &good);
        run->no_memory |= !good;
        if (run->live.bytes > peak->bytes)
            *peak = (struct peak){run->live.bytes, group->events[i].id};
    }
}

static void add_process(struct rp_export *run)
{
    struct rp_builder *out = &run->out;

    for (const char *at = run->command; *at; at++)
        rp_builder_char(out, *at == ';' || (unsigned char)*at < ' ' || *at == 0x7f ? '_' : *at);
    rp_builder_printf(out, "%s%llu", *run->command ? " " : "pid ", (unsigned long long)run->pid);
}

static void add_lines(struct rp_export *run)
{
    for (size_t i = 0; i < run->live.count; i++) {
        const struct rp_alive_allocation *item = &run->live.items[i];
        if (!item->on_device)
            continue;
        run->allocations++;
        add_process(run);
        rp_builder_printf(&run->out, ";%s;%s %llu\n", item->where, item->kind,
                          (unsigned long long)item->bytes);
    }
}

static void take_group(struct rp_export *run, void *state, const struct rp_group *group)
{
    const struct peak *peak = peak_of(run, state);

    for (size_t i = 0; peak && i < group->count; i++) {
        bool good = true;
        rp_alive_take(&run->live, group, &group->events[i], NULL, &good);
        run->no_memory |= !good;
        if (peak->bytes > 0 && peak->event == group->events[i].id)
            add_lines(run);
    }
}

static void release(void *state)
{
    free(((struct folded *)state)->peaks);
}

const struct rp_export_format rp_export_folded = {.name = "folded",
                                                  .suffix = "folded",
                                                  .state_bytes = sizeof(struct folded),
                                                  .of_memory = true,
                                                  .look = look,
                                                  .group = take_group,
                                                  .release = release};
