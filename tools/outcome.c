/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/outcome.h"

#include "tools/folder.h"
#include "tools/quantity.h"
#include "tools/say.h"
#include "tracker/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void rp_outcome_read(const char *folder, struct rp_outcome *outcome)
{
    size_t count = 0;

    *outcome = (struct rp_outcome){0};
    rp_summaries_load(folder, &outcome->summaries, NULL);
    rp_untold_count(folder, &outcome->summaries, &outcome->untold);
    outcome->hazards = rp_summaries_hazards(&outcome->summaries) + outcome->untold.hazards;
    outcome->warnings = rp_summaries_warnings(&outcome->summaries) + outcome->untold.warnings;
    char **names = rp_folder_list(folder, "trace-", ".rpt", &count);
    for (size_t i = 0; names && i < count; i++) {
        char path[PATH_MAX];
        struct stat info;
        if (rp_path_join(path, folder, names[i]) && stat(path, &info) == 0) {
            outcome->trace_bytes += (uint64_t)info.st_size;
            outcome->traces++;
        }
    }
    rp_folder_list_free(names, count);
}

void rp_outcome_release(struct rp_outcome *outcome)
{
    rp_summaries_release(&outcome->summaries);
}

/* ---- the three lines ---------------------------------------------------------- */

/* The folder as the user would type it. */
static const char *shown_folder(const char *folder)
{
    char here[PATH_MAX];
    if (!getcwd(here, sizeof(here)))
        return folder;
    size_t length = strlen(here);
    bool inside = strncmp(folder, here, length) == 0 && folder[length] == '/';
    return inside ? folder + length + 1 : folder;
}

/* Of the first trace that could not be written as a whole. */
static const char *trace_error(const struct rp_summaries *summaries)
{
    const char *error = "";
    for (size_t i = 0; !*error && i < summaries->count; i++)
        error = rp_member_text(summaries->items[i], "trace_error");
    return error;
}

static void say_figures(const struct rp_outcome *outcome, const char *folder)
{
    const struct rp_summaries *summaries = &outcome->summaries;
    char calls[RP_COUNT_TEXT], launches[RP_COUNT_TEXT], trace[RP_SIZE_TEXT + 16] = "no trace",
         size[RP_SIZE_TEXT], kept[RP_SIZE_TEXT + 32] = "";
    uint64_t preserved = rp_summaries_total(summaries, "bytes_preserved");
    uint64_t lost = rp_summaries_total(summaries, "trace_lost");
    const char *error = trace_error(summaries);

    if (outcome->traces > 0)
        snprintf(trace, sizeof(trace), "trace %s",
                 rp_size_format(size, outcome->trace_bytes));
    if (preserved > 0)
        snprintf(kept, sizeof(kept), ", %s preserved", rp_size_format(size, preserved));
    rp_say("%s calls, %s launches%s; %s in %s%s%s%s",
           rp_count_format(calls, rp_summaries_total(summaries, "calls") + outcome->untold.calls),
           rp_count_format(launches, rp_summaries_total(summaries, "launches") +
                                         outcome->untold.launches),
           kept, trace, folder,
           lost > 0 ? "; EVENTS WERE LOST" : *error ? "; THE TRACE HAS NO END" : "",
           *error ? ": " : "", error);
}

struct list {
    char text[512];
    size_t used, count;
};

static void list_add(struct list *list, const char *kind, const char *name)
{
    int wrote = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%s%s%s",
                         list->count ? ", " : "", kind, *kind ? " " : "", name);
    if (wrote > 0 && list->used + (size_t)wrote < sizeof(list->text))
        list->used += (size_t)wrote;
    list->count++;
}

/* Then the layer replays, and not the job. */
static bool is_recomputed(const struct rp_outcome *outcome)
{
    for (size_t i = 0; i < outcome->summaries.count; i++)
        if (json_object_get(outcome->summaries.items[i], "recompute"))
            return true;
    return false;
}

static void find_unseen(const struct rp_outcome *outcome, const struct rp_contract *contract,
                        struct list *unseen)
{
    for (size_t i = 0; contract && i < contract->segment_count; i++)
        if (!rp_summaries_saw_segment(&outcome->summaries, contract->segments[i].name))
            list_add(unseen, "segment", contract->segments[i].name);
        else if (!is_recomputed(outcome) &&
                 !rp_summaries_saw_replay(&outcome->summaries, contract->segments[i].name))
            list_add(unseen, "a replay of segment", contract->segments[i].name);
    for (size_t i = 0; contract && i < contract->buffer_count; i++)
        if (!rp_summaries_saw_buffer(&outcome->summaries, contract->buffers[i].name))
            list_add(unseen, "buffer", contract->buffers[i].name);
}

/* The calls of remarks that are marked with `flag`, after the words for it. */
static void say_remarked(const struct rp_summaries *summaries, const char *flag, const char *words)
{
    struct list callers = {0};
    for (size_t i = 0; i < summaries->count; i++) {
        const json_t *unknown = json_object_get(summaries->items[i], "unknown");
        for (size_t at = 0; at < json_array_size(unknown); at++)
            if (json_is_true(json_object_get(json_array_get(unknown, at), flag)))
                list_add(&callers, "", rp_member_text(json_array_get(unknown, at), "call"));
    }
    if (callers.count > 0)
        rp_say("%s: %s", words, callers.text);
}

/* "2 hazards, 1 warning", of which one or both may be missing. */
static void count_trouble(const struct rp_outcome *outcome, char *text, size_t size)
{
    const struct { uint64_t count; const char *word; } parts[] = {{outcome->hazards, "hazard"},
                                                                  {outcome->warnings, "warning"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].count > 0)
            used += (size_t)snprintf(text + used, size - used, "%s%llu %s%s", used ? ", " : "",
                                     (unsigned long long)parts[i].count, parts[i].word,
                                     parts[i].count == 1 ? "" : "s");
}

static void say_trouble(const struct rp_outcome *outcome, const struct list *unseen)
{
    char text[80];
    count_trouble(outcome, text, sizeof(text));
    if (*text || unseen->count > 0)
        rp_say("%s%s%s%s", text, *text && unseen->count > 0 ? "; " : "",
               unseen->count > 0 ? "never seen in the job: " : "", unseen->text);
}

/* The layer found no host memory for something that it wanted to know or to tell. */
static void say_short(const struct rp_summaries *summaries)
{
    if (rp_summaries_total(summaries, "shortages"))
        rp_say("the host was out of memory: hazards and figures may be missing");
}

/* Also of a plan that stayed in force, as it does where the difference is small. */
static void say_overrun(const json_t *plan)
{
    uint64_t bytes = rp_member_number(plan, "overrun_bytes");
    if (bytes)
        rp_say("plan: a step took %" PRIu64 " bytes more than planned", bytes);
}

/* The smallest budget is not known without what a run has measured. */
static void say_needed(uint64_t bytes)
{
    char least[RP_SIZE_TEXT];
    rp_say("plan: infeasible for the job itself, before there is one: its first steps need %s at "
           "least; run without --budget, and `reprise plan` names the smallest and what binds it",
           rp_size_exact(least, bytes));
}

/* Slower than anything that was planned. */
static void say_refuge(const json_t *summary)
{
    char bytes[RP_SIZE_TEXT];
    uint64_t kept = rp_member_number(summary, "bytes_kept_on_host");
    if (kept)
        rp_say("plan: %s of copies were kept in host memory, where the budget had no room",
               rp_size_format(bytes, kept));
}

/* What a plan promised and what came of it, by the first process that had one. */
static void say_plan(const struct rp_summaries *summaries)
{
    const json_t *summary = NULL, *plan = NULL;
    char promised[RP_SIZE_TEXT], peak[RP_SIZE_TEXT];
    for (size_t i = 0; !plan && i < summaries->count; i++) {
        summary = summaries->items[i];
        plan = json_object_get(summary, "plan");
    }
    const char *reason = json_string_value(json_object_get(plan, "reason"));
    uint64_t needed = rp_member_number(plan, "needed_bytes");
    if (needed && rp_member_number(plan, "min_budget_bytes") == 0)
        say_needed(needed);
    else if (reason)
        rp_say("plan: %s", reason);
    else if (plan && rp_member_number(plan, "steps") > 0)
        rp_say("plan: %.3f ms and %s a step, measured %.3f ms and %s",
               (double)rp_member_number(plan, "planned_ns") / 1e6,
               rp_size_format(promised, rp_member_number(plan, "planned_peak_bytes")),
               (double)rp_member_number(plan, "measured_ns") / 1e6,
               rp_size_format(peak, rp_member_number(plan, "measured_peak_bytes")));
    else if (plan)
        rp_say("plan: the job ended before a step under it was measured");
    say_overrun(plan);
    if (plan)
        say_refuge(summary);
}

/* The plan that recompute was given, beside what its steps took. */
static void say_advice(const json_t *plan)
{
    char planned[RP_SIZE_TEXT], measured[RP_SIZE_TEXT], least[RP_SIZE_TEXT];
    uint64_t smallest = rp_member_number(plan, "min_budget_bytes");
    if (json_object_get(plan, "planned_ns"))
        rp_say("recompute: planned %.3f ms and %s a step, measured %.3f ms and %s; the smallest "
               "budget that a plan is sure of is %s",
               (double)rp_member_number(plan, "planned_ns") / 1e6,
               rp_size_format(planned, rp_member_number(plan, "planned_peak_bytes")),
               (double)rp_member_number(plan, "measured_ns") / 1e6,
               rp_size_format(measured, rp_member_number(plan, "measured_peak_bytes")),
               rp_size_exact(least, smallest));
    else if (smallest)
        rp_say("recompute: no plan is sure to fit the budget; the smallest that one is sure of "
               "is %s, and below it what is missed last goes first",
               rp_size_exact(least, smallest));
}

/* What none of the processes would have got on without. */
static uint64_t least_of_all(const struct rp_summaries *summaries)
{
    uint64_t most = 0;
    for (size_t i = 0; i < summaries->count; i++) {
        const json_t *figures = json_object_get(summaries->items[i], "recompute");
        uint64_t least = rp_member_number(figures, "least_bytes");
        if (least > most)
            most = least;
    }
    return most;
}

/* What was saved, by the process that had most. */
static const json_t *with_most(const struct rp_summaries *summaries)
{
    const json_t *most = NULL;
    for (size_t i = 0; i < summaries->count; i++)
        if (json_object_get(summaries->items[i], "recompute") &&
            (!most || rp_member_number(summaries->items[i], "device_peak_bytes") >
                          rp_member_number(most, "device_peak_bytes")))
            most = summaries->items[i];
    return most;
}

static void say_saved(const json_t *most, uint64_t least_bytes)
{
    const json_t *figures = json_object_get(most, "recompute");
    char peak[RP_SIZE_TEXT], dropped[RP_SIZE_TEXT], least[RP_SIZE_TEXT], recalls[RP_COUNT_TEXT];
    if (!least_bytes) /* it got nothing */
        return;
    rp_say("recompute: at most %s on the device, and no less than %s would do; %s dropped, %s "
           "forwards run again",
           rp_size_format(peak, rp_member_number(most, "device_peak_bytes")),
           rp_size_exact(least, least_bytes),
           rp_size_format(dropped, rp_member_number(figures, "bytes_dropped")),
           rp_count_format(recalls, rp_member_number(figures, "recalls")));
}

static void say_recompute(const struct rp_summaries *summaries)
{
    const json_t *most = with_most(summaries), *figures = json_object_get(most, "recompute");
    char needed[RP_SIZE_TEXT];
    if (figures)
        say_saved(most, least_of_all(summaries));
    say_advice(json_object_get(figures, "plan"));
    if (rp_member_number(figures, "needed_bytes"))
        rp_say("recompute: the job was refused memory; there it would have taken at least %s",
               rp_size_format(needed, rp_member_number(figures, "needed_bytes")));
}

static void say_nothing_seen(void)
{
    rp_say("the job made no driver call that was seen");
    rp_say("next: reprise doctor");
}

void rp_outcome_say(const struct rp_outcome *outcome, const char *folder,
                    const struct rp_contract *contract, bool verbose)
{
    struct list unseen = {0};
    const char *shown = shown_folder(folder);
    const char *argument = strcmp(shown, RP_FOLDER_DEFAULT) == 0 ? "" : shown;

    if (outcome->summaries.count == 0 && outcome->traces == 0) {
        if (contract || verbose)
            say_nothing_seen();
        return;
    }
    if (outcome->summaries.count == 0)
        rp_say("the job ended before it could write a summary, or there was no room for one; its "
               "trace is in %s",
               shown);
    else
        say_figures(outcome, shown);
    if (outcome->summaries.count > 0)
        find_unseen(outcome, contract, &unseen);
    say_short(&outcome->summaries);
    say_trouble(outcome, &unseen);
    say_remarked(&outcome->summaries, "unvouched",
                 "not vouched for: undeclared bytes that these may reach");
    say_remarked(&outcome->summaries, "unseen",
                 "not vouched for: what host code or others write unseen, where these read or "
                 "copy to");
    say_remarked(&outcome->summaries, "taken",
                 "of memory that is used again, taken for what it seems (declare what is state)");
    say_plan(&outcome->summaries);
    say_recompute(&outcome->summaries);
    bool troubled = outcome->hazards > 0 || outcome->warnings > 0;
    rp_say("next: reprise %s%s%s", troubled ? "check" : "info", *argument ? " " : "",
           argument);
}
