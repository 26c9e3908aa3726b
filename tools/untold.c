/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/untold.h"

#include "tools/folder.h"
#include "tools/source.h"
#include "tracker/hazard.h"

#include <string.h>

static void count_event(struct rp_untold *untold, const struct rp_event *event)
{
    char kind[32];

    if (strcmp(event->def->class_, "enter") == 0)
        untold->calls += event->count;
    if (rp_event_is(event, "note", "launch"))
        untold->launches += event->count;
    if (!rp_event_is(event, "note", "hazard"))
        return;
    rp_event_text(event, "hazard", kind, sizeof(kind));
    bool warns = rp_hazard_kind_warns(rp_hazard_kind_find(kind));
    *(warns ? &untold->warnings : &untold->hazards) += event->count;
}

static bool needs_none(void *ctx, const struct rp_event_def *def)
{
    (void)ctx;
    (void)def;
    return false;
}

/* Also behind damage: that there is a hazard is known then as well. */
static void count_trace(struct rp_untold *untold, const struct rp_summaries *summaries,
                        const char *path)
{
    struct rp_trace_reader *reader;
    char message[512];
    struct rp_event event;
    enum rp_status status = RP_DAMAGED;

    if (rp_trace_reader_open(path, &reader, message, sizeof(message)) != RP_OK)
        return;
    rp_trace_reader_brief(reader, needs_none, NULL);
    bool told = rp_summaries_tell(summaries, reader);
    while (!told && (status == RP_OK || status == RP_DAMAGED))
        if ((status = rp_trace_next(reader, &event)) == RP_OK)
            count_event(untold, &event);
    rp_trace_reader_close(reader);
}

void rp_untold_count(const char *folder, const struct rp_summaries *summaries,
                     struct rp_untold *untold)
{
    size_t count = 0;
    char **names = rp_folder_list(folder, "trace-", ".rpt", &count), path[PATH_MAX];

    *untold = (struct rp_untold){0};
    for (size_t i = 0; names && i < count; i++)
        if (rp_path_join(path, folder, names[i]))
            count_trace(untold, summaries, path);
    rp_folder_list_free(names, count);
}
