/* SPDX-License-Identifier: Apache-2.0 */
/* reprise info: what ran, section by section. A section that has nothing to say is left out. */
#include "tools/output.h"
#include "tools/quantity.h"
#include "tools/reading.h"
#include "tools/say.h"
#include "tools/survey.h"
#include "tracker/text.h"

#include <stdlib.h>
#include <string.h>

struct info {
    const struct rp_options *options;
    struct rp_output output;
    json_t *document;
    bool only_end; /* a trace has only the end of what happened ... */
    bool is_told;  /* ... and a summary tells of all */
};

/* ---- rows in order of a figure ------------------------------------------------ */

struct row {
    const char *name;
    json_t *value;
    uint64_t weight;
};

static int by_weight(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The members of an object, heaviest first: by the member called `figure`, or by themselves.
 * To be freed. */
static struct row *rows_of(json_t *object, const char *figure, size_t *count)
{
    struct row *rows = calloc(json_object_size(object) + 1, sizeof(*rows));
    const char *name;
    json_t *value;

    *count = 0;
    json_object_foreach(object, name, value) {
        if (!rows)
            break;
        rows[(*count)++] = (struct row){
            name, value,
            figure ? rp_member_number(value, figure) : (uint64_t)json_integer_value(value)};
    }
    if (rows)
        qsort(rows, *count, sizeof(*rows), by_weight);
    return rows;
}

static void print_title(const struct info *info, const char *title)
{
    fprintf(info->output.file, "\n%s%s%s\n", rp_tint(&info->output, RP_TINT_STRONG), title,
            rp_tint(&info->output, RP_TINT_NONE));
}

/* Of what is counted event by event. */
static void print_counted_title(const struct info *info, const char *title)
{
    char text[128];

    snprintf(text, sizeof(text), "%s%s", title, info->only_end ? ", of the events kept" : "");
    print_title(info, text);
}

/* ---- sections ----------------------------------------------------------------- */

static void print_run(const struct info *info)
{
    FILE *out = info->output.file;
    json_t *run = json_object_get(info->document, "run");
    json_t *command = json_object_get(run, "command");

    if (!run)
        return;
    fputs("command  ", out);
    for (size_t i = 0; i < json_array_size(command); i++)
        fprintf(out, "%s%s", i ? " " : "", json_string_value(json_array_get(command, i)));
    fprintf(out, "\nmode     %s", rp_member_text(run, "mode"));
    if (*rp_member_text(run, "policy"))
        fprintf(out, ", policy %s, contract %s", rp_member_text(run, "policy"),
                rp_member_text(run, "contract"));
    fprintf(out, "\ndriver   %s (%s)\n", rp_member_text(run, "driver"),
            rp_member_text(run, "device"));
}

/* With --last a trace has only the end of what there was; a filter counts what passes. */
static void print_events(const struct info *info, const json_t *process)
{
    FILE *out = info->output.file;
    char count[RP_COUNT_TEXT], all[RP_COUNT_TEXT];
    uint64_t events = rp_member_number(process, "events");
    uint64_t first = rp_member_number(process, "first_event");

    if (info->only_end && first > 0)
        fprintf(out, "  the last %s of %s events", rp_count_format(count, events),
                rp_count_format(all, first + events));
    else
        fprintf(out, "  %s events", rp_count_format(count, events));
}

/* What its trace lacks, and why. */
static void print_gaps(const struct info *info, const json_t *process)
{
    const char *bad = rp_tint(&info->output, RP_TINT_BAD);
    const char *none = rp_tint(&info->output, RP_TINT_NONE);
    char count[RP_COUNT_TEXT];

    if (rp_member_number(process, "lost"))
        fprintf(info->output.file, "         %sevents were lost: %s%s\n", bad,
                rp_count_format(count, rp_member_number(process, "lost")), none);
    if (*rp_member_text(process, "trace_error"))
        fprintf(info->output.file, "         %sthe trace could take no more: %s%s\n", bad,
                rp_member_text(process, "trace_error"), none);
    if (*rp_member_text(process, "broken"))
        fprintf(info->output.file, "         %snot all of the trace could be read: %s%s\n", bad,
                rp_member_text(process, "broken"), none);
}

static void print_processes(const struct info *info)
{
    FILE *out = info->output.file;
    json_t *list = json_object_get(info->document, "processes");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *process = json_array_get(list, i);
        fprintf(out, "process  %llu", (unsigned long long)rp_member_number(process, "pid"));
        if (rp_member_number(process, "program"))
            fprintf(out, ", program %llu",
                    (unsigned long long)rp_member_number(process, "program"));
        if (*rp_member_text(process, "rank"))
            fprintf(out, ", rank %s", rp_member_text(process, "rank"));
        if (*rp_member_text(process, "command"))
            fprintf(out, "  %s", rp_member_text(process, "command"));
        if (*rp_member_text(process, "device"))
            fprintf(out, "  on %s", rp_member_text(process, "device"));
        if (*rp_member_text(process, "trace"))
            print_events(info, process);
        fputc('\n', out);
        print_gaps(info, process);
    }
}

static void print_counts(const struct info *info, const char *key,
                         void (*print_its_title)(const struct info *, const char *),
                         const char *title)
{
    size_t count;
    char shown[RP_COUNT_TEXT];
    struct row *rows = rows_of(json_object_get(info->document, key), NULL, &count);

    if (rows && count > 0) {
        print_its_title(info, title);
        for (size_t i = 0; i < count; i++)
            fprintf(info->output.file, "%12s  %s\n", rp_count_format(shown, rows[i].weight),
                    rows[i].name);
    }
    free(rows);
}

/* "exact", or where launches differ "exact 10, bounded 2". */
static void print_verdicts(FILE *out, const json_t *kernel)
{
    size_t count;
    struct row *rows = rows_of(json_object_get(kernel, "verdicts"), NULL, &count);

    if (count == 1)
        fprintf(out, "  writes: %s", rows[0].name);
    for (size_t i = 0; rows && count > 1 && i < count; i++)
        fprintf(out, "%s%s %llu", i ? ", " : "  writes: ", rows[i].name,
                (unsigned long long)rows[i].weight);
    if (count == 0 && *rp_member_text(kernel, "verdict"))
        fprintf(out, "  never launched; %s at best", rp_member_text(kernel, "verdict"));
    free(rows);
}

static void print_kernels(const struct info *info)
{
    size_t count;
    char shown[RP_COUNT_TEXT];
    struct row *rows = rows_of(json_object_get(info->document, "kernels"), "launches", &count);

    if (rows && count > 0) {
        print_counted_title(info, "kernels, by launches");
        for (size_t i = 0; i < count; i++) {
            fprintf(info->output.file, "%12s  %-28s", rp_count_format(shown, rows[i].weight),
                    rows[i].name);
            print_verdicts(info->output.file, rows[i].value);
            fputc('\n', info->output.file);
        }
    }
    free(rows);
}

static void print_allocations(const struct info *info)
{
    FILE *out = info->output.file;
    json_t *all = json_object_get(info->document, "allocations"), *kind;
    const char *name;

    if (!rp_member_number(all, "count"))
        return;
    print_counted_title(info, "allocations");
    fprintf(out, "%12llu  made, %llu freed; at most %s at one time\n",
            (unsigned long long)rp_member_number(all, "count"),
            (unsigned long long)rp_member_number(all, "freed"),
            rp_shown_size(info->options, rp_member_number(all, "peak_bytes")).text);
    json_object_foreach(json_object_get(all, "kinds"), name, kind)
        fprintf(out, "%12llu  %s, %s in all\n",
                (unsigned long long)rp_member_number(kind, "count"), name,
                rp_shown_size(info->options, rp_member_number(kind, "bytes")).text);
}

static void print_segments(const struct info *info)
{
    FILE *out = info->output.file;
    json_t *segment, *found;
    const char *name;

    if (json_object_size(json_object_get(info->document, "segments"))) {
        print_title(info, "segments              forwards   replays  not replayed");
        json_object_foreach(json_object_get(info->document, "segments"), name, segment) {
            fprintf(out, "  %-20s %8llu  %8llu  %12llu", name,
                    (unsigned long long)rp_member_number(segment, "forwards"),
                    (unsigned long long)rp_member_number(segment, "replays"),
                    (unsigned long long)rp_member_number(segment, "unreplayed"));
            if (*rp_member_text(segment, "refused"))
                fprintf(out, "  refused: %s", rp_member_text(segment, "refused"));
            fputc('\n', out);
        }
    }
    if (json_object_size(json_object_get(info->document, "buffers"))) {
        print_title(info, "buffers of the contract  found");
        json_object_foreach(json_object_get(info->document, "buffers"), name, found)
            fprintf(out, "  %-20s %10lld%s\n", name, (long long)json_integer_value(found),
                    json_integer_value(found) ? "" : "  never seen");
    }
}

static void print_unknown(const struct info *info)
{
    json_t *list = json_object_get(info->document, "unknown");
    char shown[RP_COUNT_TEXT];

    if (json_array_size(list))
        print_title(info, "worth knowing");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        fprintf(info->output.file, "%12s  %s: %s\n",
                rp_count_format(shown, rp_member_number(item, "count")),
                rp_member_text(item, "call"), rp_member_text(item, "reason"));
    }
}

/* Processes that train together take the same steps; then their sum says little. */
static void print_steps(const struct info *info)
{
    const json_t *list = json_object_get(info->document, "processes");
    uint64_t all = rp_member_number(info->document, "steps"), each = 0;
    size_t stepping = 0;
    bool same = true;
    char count[RP_COUNT_TEXT];

    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t steps = rp_member_number(json_array_get(list, i), "steps");
        if (steps == 0)
            continue;
        same &= stepping == 0 || steps == each;
        each = steps;
        stepping++;
    }
    bool fold = stepping > 1 && same && each * stepping == all;
    fprintf(info->output.file, "steps    %s", rp_count_format(count, fold ? each : all));
    if (stepping > 1)
        fprintf(info->output.file, fold ? ", in each of %zu processes" : " of %zu processes in all",
                stepping);
}

static void print_totals(const struct info *info)
{
    FILE *out = info->output.file;
    const json_t *document = info->document;
    char count[RP_COUNT_TEXT];
    uint64_t preserved = rp_member_number(document, "bytes_preserved");
    uint64_t hazards = rp_member_number(document, "hazards");

    print_steps(info);
    fprintf(out, ", %s launches%s\n",
            rp_count_format(count, rp_member_number(document, "launches")),
            !info->only_end ? "" : info->is_told ? ", in the whole run" : ", of the events kept");
    if (rp_member_number(document, "trace_lost"))
        fprintf(out, "lost     %s%s events are not in the trace%s\n",
                rp_tint(&info->output, RP_TINT_BAD),
                rp_count_format(count, rp_member_number(document, "trace_lost")),
                rp_tint(&info->output, RP_TINT_NONE));
    if (rp_member_number(document, "transactions"))
        fprintf(out, "guard    %s transactions, %s preserved, at most %s held\n",
                rp_count_format(count, rp_member_number(document, "transactions")),
                rp_shown_size(info->options, preserved).text,
                rp_shown_size(info->options, rp_member_number(document, "bytes_held_peak")).text);
    if (hazards)
        fprintf(out, "hazards  %s%llu%s; `reprise check` tells which\n",
                rp_tint(&info->output, RP_TINT_BAD), (unsigned long long)hazards,
                rp_tint(&info->output, RP_TINT_NONE));
}

/* ---- the command -------------------------------------------------------------- */

static void print_indented(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        fputs("  ", out);
        fwrite(text, 1, length, out);
        fputc('\n', out);
        text += length + (text[length] == '\n');
    }
}

/* "exact", or where its launches are not all what its proof can be at best: "exact at best;
 * launches: reachable 2, exact 1". */
static void print_known(FILE *out, const json_t *kernel)
{
    size_t count;
    struct row *rows = rows_of(json_object_get(kernel, "verdicts"), NULL, &count);
    const char *best = rp_member_text(kernel, "verdict");
    bool same = rows && count == 1 && !strcmp(rows[0].name, best);

    fprintf(out, "%s%s", best, same || !*best ? "" : " at best; ");
    for (size_t i = 0; rows && !same && i < count; i++)
        fprintf(out, "%s%s %llu", i ? ", " : "launches: ", rows[i].name,
                (unsigned long long)rows[i].weight);
    fprintf(out, "%s\n", count ? "" : "never launched");
    free(rows);
}

static int print_proofs(const struct info *info, const char *glob)
{
    FILE *out = info->output.file;
    const char *name;
    json_t *kernel;
    int code = RP_EXIT_NO;

    json_object_foreach(json_object_get(info->document, "kernels"), name, kernel) {
        const char *proof = rp_member_text(kernel, "proof");
        if (!rp_glob_match(glob, name, NULL, 0))
            continue;
        code = RP_EXIT_OK;
        fprintf(out, "%s%s%s: ", rp_tint(&info->output, RP_TINT_STRONG), name,
                rp_tint(&info->output, RP_TINT_NONE));
        print_known(out, kernel);
        print_indented(out, proof);
    }
    return code;
}

/* The kernels of a call that passes stand there with it: of them only those that are asked for. */
static int keep_proofs(const struct info *info, const char *glob)
{
    json_t *kernels = json_object_get(info->document, "kernels"), *kernel;
    const char *name;
    void *next;

    json_object_foreach_safe(kernels, next, name, kernel)
        if (!rp_glob_match(glob, name, NULL, 0))
            json_object_del(kernels, name);
    return json_object_size(kernels) > 0 ? RP_EXIT_OK : RP_EXIT_NO;
}

/* With --last. A filter makes no difference between what was dropped and what does not pass. */
static void note_what_was_kept(struct info *info)
{
    json_t *list = json_object_get(info->document, "processes");

    info->is_told = true;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *process = json_array_get(list, i);
        if (rp_member_number(process, "first_event") == 0)
            continue;
        info->only_end = json_object_get(info->document, "steps") != NULL;
        info->is_told &= json_is_true(json_object_get(process, "summary"));
    }
}

static void print_people(const struct info *info)
{
    print_run(info);
    print_processes(info);
    if (json_object_get(info->document, "steps")) /* not of a part of a run */
        print_totals(info);
    print_segments(info);
    print_kernels(info);
    print_counts(info, "proofs", print_title, "launches, by what is known of their writes");
    print_counts(info, "reasons", print_counted_title,
                 "launches, by why no more is known of them");
    print_counts(info, "calls", print_counted_title, "driver calls");
    print_counts(info, "routes", print_counted_title, "ways in which the job reached the driver");
    print_allocations(info);
    print_unknown(info);
}

static int print(struct info *info, int code)
{
    const char *proofs = info->options->values[RP_OPT_PROOF].text;
    bool is_json = rp_option_given(info->options, RP_OPT_JSON);

    rp_output_begin(&info->output, info->options);
    note_what_was_kept(info);
    if (proofs) {
        int found = is_json ? keep_proofs(info, proofs) : print_proofs(info, proofs);
        code = code == RP_EXIT_OK ? found : code;
    }
    if (is_json) {
        json_dumpf(info->document, info->output.file, JSON_INDENT(1));
        fputc('\n', info->output.file);
    } else if (!proofs) {
        json_t *document = info->document;
        info->document = rp_output_shown(document);
        print_people(info);
        json_decref(info->document);
        info->document = document;
    }
    return rp_output_end(&info->output, code);
}

int rp_cmd_info(int argc, char **argv)
{
    struct rp_reading reading;
    int code;

    if (!rp_reading_begin(&reading, "info", argc, argv, &code))
        return code;
    struct info info = {.options = &reading.options,
                        .document = rp_survey(&reading.source, &reading.filter, &code)};
    rp_reading_end(&reading);
    if (!info.document) {
        rp_say("out of memory");
        return RP_EXIT_FAILURE;
    }
    code = print(&info, code);
    json_decref(info.document);
    return code;
}
