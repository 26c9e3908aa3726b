/* SPDX-License-Identifier: Apache-2.0 */
/* reprise discover: a contract for a job that has none, with the evidence for each line. */
#include "tools/discover/proposal.h"
#include "tools/file.h"
#include "tools/reading.h"
#include "tools/say.h"
#include "tracker/contract.h"

#include <stdlib.h>
#include <string.h>

static bool wants(const struct rp_options *options, enum rp_option_id id, const char *word)
{
    const char *text = options->values[id].text;
    return text && strcmp(text, word) == 0;
}

static void search(struct rp_finding *finding, const struct rp_options *options)
{
    bool launches = wants(options, RP_OPT_BY, "launches");

    rp_find_steps(finding);
    if (!launches) {
        rp_find_ranges(finding);
        rp_find_nested(finding);
    }
    /* Launches of ranges that are no replays come again all the same. */
    if (finding->segment_count == 0 && finding->doubted == 0 &&
        !wants(options, RP_OPT_BY, "ranges"))
        rp_find_launches(finding);
    rp_find_state(finding);
}

/* Launches do come again, but not as a contract could say. */
static bool left_out(const struct rp_finding *finding)
{
    const struct rp_left_out *left_out =
        finding->endless.launches ? &finding->endless : &finding->too_short;

    if (!left_out->launches)
        return false;
    rp_say("no replay was proposed: the longest run of launches that comes again in a step is of "
           "%zu, %s to %s, %s; if it is a replay, give it and its forward NVTX ranges",
           left_out->launches, left_out->first, left_out->last,
           left_out == &finding->endless ? "and its last one's name comes earlier in it too"
                                         : "so few that it may be chance");
    return true;
}

/* Nothing to propose: says why, and what would help. */
static int nothing(const struct rp_finding *finding, const struct rp_options *options)
{
    const struct rp_story *story = finding->story;

    if (*story->mode)
        rp_say("no replay was found: this run was not only observed (mode %s); "
               "next: reprise run -- COMMAND, then reprise discover",
               story->mode);
    else if (story->call_count == 0)
        rp_say("no launch was traced; was the job run under `reprise run -m observe`?");
    else if (story->range_count == 0)
        rp_say("no replay was found: the job marks no steps by NVTX ranges, and without steps "
               "launches that come again can't be told from the next step; mark them, and best "
               "each forward and each replay too, or write a contract that names launches");
    else if (finding->step_count == 0)
        rp_say("no replay was found, and no NVTX range that could be a step; mark each step by "
               "one");
    else if (finding->doubted)
        rp_say("no replay was proposed: %s do the same work, but %s; if it is a replay all the "
               "same, write both into a contract",
               finding->first_doubted, rp_find_doubt_text(finding->first_doubt));
    else if (wants(options, RP_OPT_BY, "ranges"))
        rp_say("no replay was found in %zu steps: no range's work comes again in another",
               finding->step_count);
    else if (finding->rare)
        rp_say("no replay was proposed: launches come again, but in less than half of %zu steps; "
               "if they are a replay, give them and their forward NVTX ranges",
               finding->step_count);
    else if (!left_out(finding))
        rp_say("no replay was found in %zu steps: nothing is launched twice on the same parameters",
               finding->step_count);
    return RP_EXIT_NO;
}

/* What would not be read again is not written. */
static bool is_readable(const char *text, size_t segments)
{
    char message[1024] = "a name is not UTF-8";
    struct rp_contract *contract = NULL;
    bool good = rp_contract_parse(text, strlen(text), "the proposal", &contract, message,
                                  sizeof(message)) == RP_OK &&
                contract->segment_count == segments;

    rp_contract_destroy(contract);
    if (!good)
        rp_say("segments were found, but no contract can name them as they are: %s; give them "
               "other NVTX ranges",
               message);
    return good;
}

static int write_contract(const struct rp_finding *finding, const struct rp_options *options)
{
    const char *path = options->values[RP_OPT_DISCOVER_OUTPUT].text;
    bool declared = finding->unproved > 0 || wants(options, RP_OPT_STATE, "declared");
    bool to_stdout = false;
    json_t *contract = rp_proposal_contract(finding, declared);
    char *text = json_dumps(contract, JSON_INDENT(2));
    struct rp_file file;

    json_decref(contract);
    if (!text) {
        rp_say("out of memory");
        return RP_EXIT_FAILURE;
    }
    if (!is_readable(text, finding->segment_count)) {
        free(text);
        return RP_EXIT_NO;
    }
    path = path ? path : "contract.json";
    int code = rp_file_create("discover", path, rp_option_given(options, RP_OPT_FORCE), &file);
    if (code == RP_EXIT_OK) {
        to_stdout = file.stream == stdout;
        bool good = rp_file_write(&file, text, strlen(text)) && rp_file_write(&file, "\n", 1);
        if (!rp_file_finish(&file, good))
            code = RP_EXIT_FAILURE;
    }
    free(text);
    if (code != RP_EXIT_OK)
        return code;
    rp_proposal_print(finding, declared, to_stdout ? stderr : stdout);
    if (!to_stdout && !rp_option_given(options, RP_OPT_QUIET))
        rp_say("next: reprise run -m check -c %s -- COMMAND", path);
    return RP_EXIT_OK;
}

/* A trace holds the calls of each thread in their order, and the threads one after the other. */
static void tell_threads(const struct rp_story *story)
{
    if (story->untold)
        rp_say("threads took turns, and a trace of this older version does not tell when their "
               "ranges began: record it anew (reprise run -- COMMAND)");
}

static int discover(const struct rp_source *source, const struct rp_options *options,
                    const struct rp_filter *filter)
{
    struct rp_story story;
    int code = rp_story_read(source, filter, &story);
    struct rp_finding finding = {.story = &story};

    if (code == RP_EXIT_OK) {
        search(&finding, options);
        if (finding.no_memory) {
            rp_say("out of memory");
            code = RP_EXIT_FAILURE;
        } else {
            code = finding.segment_count ? write_contract(&finding, options)
                                         : nothing(&finding, options);
            tell_threads(&story);
        }
    }
    rp_finding_release(&finding);
    rp_story_release(&story);
    return code;
}

int rp_cmd_discover(int argc, char **argv)
{
    struct rp_reading reading;
    int code;

    if (!rp_reading_begin(&reading, "discover", argc, argv, &code))
        return code;
    code = rp_source_has_trace(&reading.source)
               ? discover(&reading.source, &reading.options, &reading.filter) : RP_EXIT_DATA;
    rp_reading_end(&reading);
    return code;
}
