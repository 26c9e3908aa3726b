/* SPDX-License-Identifier: Apache-2.0 */
/* reprise check: one paragraph a hazard, most damaging first. */
#include "tools/fold.h"
#include "tools/hazards.h"
#include "tools/output.h"
#include "tools/reading.h"
#include "tools/say.h"
#include "tracker/hazard.h"

#include <inttypes.h>
#include <string.h>

struct check {
    const struct rp_options *options;
    struct rp_output output;
    json_t *hazards;
    const struct rp_filter *filter;
    uint64_t counting; /* those that are not listed as harmless */
    uint64_t hidden;   /* that count, but do not pass the filters */
    uint64_t replays;
    uint64_t unvouched; /* calls that read what nothing was proved of, or what may change unseen */
    bool had_contract;
    bool damaged; /* not all that there is could be read */
};

static uint64_t count_unvouched(const struct rp_source *source)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < source->summaries.count; i++) {
        const json_t *unknown = json_object_get(source->summaries.items[i], "unknown");
        for (size_t at = 0; at < json_array_size(unknown); at++) {
            const json_t *remark = json_array_get(unknown, at);
            calls += json_is_true(json_object_get(remark, "unvouched")) ||
                     json_is_true(json_object_get(remark, "unseen"));
        }
    }
    return calls;
}

static bool is_harmless(const json_t *hazard)
{
    return json_is_true(json_object_get(hazard, "harmless"));
}

static uint64_t count_harmful(const json_t *hazards)
{
    uint64_t count = 0;
    for (size_t i = 0; i < json_array_size(hazards); i++)
        count += rp_hazard_counts(json_array_get(hazards, i));
    return count;
}

/* ---- for people --------------------------------------------------------------- */

/* A trace of another version may have kinds of its own. */
static const char *meaning_of(const char *name)
{
    enum rp_hazard_kind kind = rp_hazard_kind_find(name);

    return kind < RP_HAZARD_KIND_COUNT ? rp_hazard_kind_meaning(kind) : "";
}

static void print_bytes(const struct check *check, const json_t *hazard)
{
    FILE *out = check->output.file;
    uint64_t offset = rp_member_number(hazard, "offset"), bytes = rp_member_number(hazard, "bytes");
    const char *memory = rp_member_text(hazard, "memory");

    fprintf(out, "  bytes    %" PRIu64 " to %" PRIu64 " (%s) of allocation %" PRIu64, offset,
            offset + (bytes ? bytes - 1 : 0), rp_shown_size(check->options, bytes).text,
            rp_member_number(hazard, "allocation"));
    if (json_object_get(hazard, "allocation_bytes")) /* a trace's record has no place for it */
        fprintf(out, ", which has %s",
                rp_shown_size(check->options, rp_member_number(hazard, "allocation_bytes")).text);
    if (*memory)
        fprintf(out, " of %s memory, made by call %" PRIu64, memory,
                rp_member_number(hazard, "birth_seq"));
    fputc('\n', out);
    if (json_object_get(hazard, "version_wanted"))
        fprintf(out, "  version  read %" PRIu64 ", wanted %" PRIu64 "\n",
                rp_member_number(hazard, "version_read"),
                rp_member_number(hazard, "version_wanted"));
    else if (strcmp(rp_member_text(hazard, "hazard"), "foreign-read") == 0)
        fprintf(out, "  version  read %" PRIu64 ", which the forward did not read\n",
                rp_member_number(hazard, "version_read"));
}

static void print_where(const struct check *check, const json_t *hazard)
{
    FILE *out = check->output.file;
    const char *buffer = rp_member_text(hazard, "buffer"), *key = rp_member_text(hazard, "key");

    if (*buffer)
        fprintf(out, "  buffer   %s\n", buffer);
    else if (rp_member_number(hazard, "allocation"))
        fprintf(out, "  buffer   not declared in the contract\n");
    if (rp_member_number(hazard, "allocation"))
        print_bytes(check, hazard);
    else if (rp_member_number(hazard, "bytes"))
        fprintf(out, "  bytes    %s of the host's\n",
                rp_shown_size(check->options, rp_member_number(hazard, "bytes")).text);
    if (*key)
        fprintf(out, "  replay   %s\n", key);
}

static void print_writer(const struct check *check, const json_t *hazard, const char *writer)
{
    const char *stream = rp_member_text(hazard, "writer_stream"); /* none where ranks differ */

    fprintf(check->output.file,
            "  writer   %s, launch %" PRIu64 " of step %" PRIu64 "%s%s (call %" PRIu64 ")\n",
            writer, rp_member_number(hazard, "writer_launch"),
            rp_member_number(hazard, "writer_step"), *stream ? ", stream " : "", stream,
            rp_member_number(hazard, "writer_seq"));
}

/* What the call that met the hazard is to it. */
static const char *role_of(const char *kind)
{
    if (strcmp(kind, "diverged") == 0)
        return "called ";
    return strcmp(kind, "not-preserved") == 0 ? "by     " : "reader ";
}

/* What the replay's call has to do with the bytes. */
static const char *what_it_did(const json_t *hazard)
{
    if (strcmp(rp_member_text(hazard, "hazard"), "live-read") == 0)
        return "which the bytes are rewound for";
    return strcmp(rp_member_text(hazard, "taken_for"), "state") == 0
               ? "whose result was set aside" : "which has made the bytes anew";
}

static void print_rank(FILE *out, const json_t *hazard)
{
    const json_t *ranks = json_object_get(hazard, "ranks");
    char words[256];

    if (ranks)
        fprintf(out, "  ranks    %s, the same in each\n",
                rp_ranks_words(ranks, words, sizeof(words)));
    else if (json_object_get(hazard, "rank"))
        fprintf(out, "  rank     %" PRIu64 ", process %" PRIu64 "\n",
                rp_member_number(hazard, "rank"), rp_member_number(hazard, "pid"));
}

static void print_who(const struct check *check, const json_t *hazard)
{
    FILE *out = check->output.file;
    const char *writer = rp_member_text(hazard, "writer");
    const char *reader = rp_member_text(hazard, "reader");
    const char *other = rp_member_text(hazard, "other");
    bool diverged = strcmp(rp_member_text(hazard, "hazard"), "diverged") == 0;

    if (*writer)
        print_writer(check, hazard, writer);
    if (*reader)
        fprintf(out, "  %s  %s", role_of(rp_member_text(hazard, "hazard")), reader);
    if (*reader && json_object_get(hazard, "reader_launch"))
        fprintf(out, ", launch %" PRIu64 " of its step", rp_member_number(hazard, "reader_launch"));
    if (*reader)
        fputc('\n', out);
    if (*other && diverged)
        fprintf(out, "  forward  %s, its call %" PRIu64 "\n", other,
                rp_member_number(hazard, "position"));
    else if (*other)
        fprintf(out, "  replay   %s, %s\n", other, what_it_did(hazard));
    if (*rp_member_text(hazard, "taken_for"))
        fprintf(out, "  taken    for %s\n", rp_member_text(hazard, "taken_for"));
    uint64_t count = rp_member_number(hazard, "count");
    print_rank(out, hazard);
    fprintf(out, "  seen     first in step %" PRIu64 "%s", rp_member_number(hazard, "step"),
            count > 1 ? "" : "\n");
    if (count > 1)
        fprintf(out, ", %" PRIu64 " times in all\n", count);
}

static void print_hazard(const struct check *check, const json_t *hazard)
{
    FILE *out = check->output.file;
    const char *kind = rp_member_text(hazard, "hazard");
    const char *segment = rp_member_text(hazard, "segment");

    fprintf(out, "%s%s%s", rp_tint(&check->output, RP_TINT_BAD), kind,
            rp_tint(&check->output, RP_TINT_NONE));
    if (*segment)
        fprintf(out, " in segment %s", segment);
    fprintf(out, ": %s%s\n", meaning_of(kind),
            is_harmless(hazard) ? " (harmless, says the contract)" : "");
    print_where(check, hazard);
    print_who(check, hazard);
    const char *advice = rp_member_text(hazard, "advice");
    if (*advice)
        fprintf(out, "  advice   %s\n", advice);
    fputc('\n', out);
}

/* The list is in order of damage; the cause of it all is likely what was met first. */
static void print_first(const struct check *check)
{
    const json_t *first = NULL;
    for (size_t i = 0; i < json_array_size(check->hazards); i++) {
        const json_t *hazard = json_array_get(check->hazards, i);
        if (json_object_get(hazard, "order") &&
            (!first || rp_member_number(hazard, "order") < rp_member_number(first, "order")))
            first = hazard;
    }
    if (!first)
        return;
    const char *buffer = rp_member_text(first, "buffer"), *writer = rp_member_text(first, "writer");
    FILE *out = check->output.file;
    fprintf(out, "the first to be met: %s", rp_member_text(first, "hazard"));
    if (rp_member_number(first, "allocation"))
        fprintf(out, " of %s", *buffer ? buffer : "an undeclared buffer");
    fprintf(out, " in step %" PRIu64, rp_member_number(first, "step"));
    if (*writer)
        fprintf(out, ", written by %s", writer);
    fputc('\n', out);
}

static void print_count(const struct check *check, size_t count)
{
    size_t warnings = 0;
    for (size_t i = 0; i < count; i++)
        warnings += rp_hazard_warns(json_array_get(check->hazards, i));
    FILE *out = check->output.file;
    if (count > warnings)
        fprintf(out, "%zu hazard%s, ", count - warnings, count - warnings == 1 ? "" : "s");
    if (warnings)
        fprintf(out, "%zu warning%s, ", warnings, warnings == 1 ? "" : "s");
    fprintf(out, "%" PRIu64 " replays followed\n", check->replays);
}

/* That nothing is shown says nothing of what was not asked for. */
static void print_hidden(const struct check *check)
{
    char words[512];

    rp_filter_words(check->filter, words, sizeof(words));
    if (json_array_size(check->hazards) > 0)
        fprintf(check->output.file, "%" PRIu64 " more of this run do not pass %s\n",
                check->hidden, words);
    else
        fprintf(check->output.file, "none of this run's %" PRIu64 " hazards passes %s "
                "(repeats are told with their first:\nwithout filters all are listed)\n",
                check->hidden, words);
}

static void print_none(const struct check *check)
{
    FILE *out = check->output.file;

    if (check->damaged) {
        fprintf(out, "no hazards in what could be read: %" PRIu64 " replays followed in it\n",
                check->replays);
    } else if (check->replays > 0 && check->unvouched > 0) {
        fprintf(out, "no hazards: %" PRIu64 " replays followed; what %" PRIu64 " call%s may have "
                     "read is not vouched for\n(`reprise info` names them): it may be other than "
                     "what the forwards read\n", check->replays, check->unvouched,
                check->unvouched == 1 ? "" : "s");
    } else if (check->replays > 0) {
        fprintf(out, "no hazards: %" PRIu64 " replays followed, which read what their forwards "
                     "read; where their\nresults differ all the same, look for state that "
                     "they write and do not read\n", check->replays);
    } else {
        fprintf(out, "nothing was checked: no replay of the contract's segments was seen\n");
    }
}

static void print_people(struct check *check)
{
    json_t *hazards = check->hazards;

    check->hazards = rp_output_shown(hazards);
    json_decref(hazards);
    size_t count = json_array_size(check->hazards);

    json_t *folded = rp_hazards_fold(check->hazards);
    const json_t *told = folded ? folded : check->hazards;
    for (size_t i = 0; i < json_array_size(told); i++)
        print_hazard(check, json_array_get(told, i));
    json_decref(folded);
    if (count > 0) {
        print_count(check, count);
        print_first(check);
    }
    if (check->hidden > 0)
        print_hidden(check);
    else if (count == 0)
        print_none(check);
    if (check->damaged)
        fprintf(check->output.file, "this run's data is damaged: what could not be read may hold "
                                    "more hazards and replays\n");
}

/* ---- the command -------------------------------------------------------------- */

static void print_json(const struct check *check, bool clean)
{
    json_t *document = json_pack("{ss si sb sI sO}", "format", "reprise-check", "version", 1,
                                 "clean", clean, "replays", (json_int_t)check->replays,
                                 "hazards", check->hazards);
    if (check->hidden > 0)
        json_object_set_new(document, "hidden", json_integer((json_int_t)check->hidden));
    if (check->damaged)
        json_object_set_new(document, "damaged", json_true());
    json_dumpf(document, check->output.file, JSON_INDENT(1));
    fputc('\n', check->output.file);
    json_decref(document);
}

/* Damaged data can't say what else was wrong; a run without replays can't say that nothing was,
 * and no more can a filter that lets no hazard pass. */
static int verdict(const struct check *check, int reading)
{
    const struct rp_option_value *wanted = &check->options->values[RP_OPT_ERROR_EXITCODE];
    if (reading != RP_EXIT_OK)
        return reading;
    if (check->counting > 0)
        return wanted->text ? (int)wanted->number : RP_EXIT_NO;
    return check->replays > 0 && check->hidden == 0 ? RP_EXIT_OK : RP_EXIT_NO;
}

static int check_source(struct check *check, const struct rp_source *source)
{
    int reading = RP_EXIT_OK;

    check->replays = rp_hazards_replays(source, &check->had_contract);
    check->hazards = rp_hazards_collect(source, check->filter, &check->replays, &check->hidden,
                                        &reading);
    if (!check->hazards) {
        rp_say("out of memory");
        return RP_EXIT_FAILURE;
    }
    check->damaged = reading == RP_EXIT_DATA;
    check->counting = count_harmful(check->hazards);
    check->unvouched = count_unvouched(source);
    if (source->summaries.count > 0 && !check->had_contract && check->replays == 0) {
        rp_say("this run had no contract, so no replay was followed; "
               "try `reprise run -m check -c FILE -- COMMAND`");
        return RP_EXIT_USAGE;
    }
    int code = verdict(check, reading);
    rp_output_begin(&check->output, check->options);
    if (rp_option_given(check->options, RP_OPT_JSON))
        print_json(check, code == RP_EXIT_OK);
    else if (reading != RP_EXIT_NO || json_array_size(check->hazards) > 0)
        print_people(check);
    return rp_output_end(&check->output, code);
}

int rp_cmd_check(int argc, char **argv)
{
    struct rp_reading reading;
    int code;

    if (!rp_reading_begin(&reading, "check", argc, argv, &code))
        return code;
    struct check check = {.options = &reading.options, .filter = &reading.filter};
    code = check_source(&check, &reading.source);
    json_decref(check.hazards);
    rp_reading_end(&reading);
    return code;
}
