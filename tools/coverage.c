/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/coverage.h"

#include "cuda/calls/call.h"

static const char *const fates[RP_FATE_COUNT] = {
    [RP_FATE_FOLLOWED] = "followed", [RP_FATE_EVERYTHING] = "counted as writing everything",
    [RP_FATE_REPORTED] = "reported", [RP_FATE_REFUSED] = "refused",
    [RP_FATE_PASSED] = "passed through"};
static const char *const keys[RP_FATE_COUNT] = {
    [RP_FATE_FOLLOWED] = "followed", [RP_FATE_EVERYTHING] = "everything",
    [RP_FATE_REPORTED] = "reported", [RP_FATE_REFUSED] = "refused",
    [RP_FATE_PASSED] = "passed"};

static int count(enum rp_call_fate fate)
{
    int found = 0;
    for (int id = 0; id < RP_CALL_COUNT; id++)
        found += rp_calls[id].fate == fate && rp_calls[id].note[0];
    return found;
}

int rp_coverage_unclassified(void)
{
    int known = 0;
    for (int fate = 0; fate < RP_FATE_COUNT; fate++)
        known += count((enum rp_call_fate)fate);
    return RP_CALL_COUNT - known;
}

void rp_coverage_text(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%d driver calls: ", RP_CALL_COUNT);
    for (int fate = 0; fate < RP_FATE_COUNT && used < size; fate++)
        used += (size_t)snprintf(text + used, size - used, "%d %s, ",
                                 count((enum rp_call_fate)fate), fates[fate]);
    if (used < size)
        snprintf(text + used, size - used, "%d unclassified", rp_coverage_unclassified());
}

static json_t *each_call(void)
{
    json_t *list = json_array();
    for (int id = 0; id < RP_CALL_COUNT; id++)
        json_array_append_new(list, json_pack("{ss ss ss}", "call", rp_calls[id].name, "fate",
                                              keys[rp_calls[id].fate], "why", rp_calls[id].note));
    return list;
}

json_t *rp_coverage_json(bool each)
{
    json_t *coverage = json_pack("{si si}", "calls", RP_CALL_COUNT, "unclassified",
                                 rp_coverage_unclassified());
    for (int fate = 0; fate < RP_FATE_COUNT; fate++)
        json_object_set_new(coverage, keys[fate],
                            json_integer(count((enum rp_call_fate)fate)));
    if (each)
        json_object_set_new(coverage, "each", each_call());
    return coverage;
}

void rp_coverage_print(FILE *file)
{
    for (int id = 0; id < RP_CALL_COUNT; id++)
        fprintf(file, "%-44s %-10s %s\n", rp_calls[id].name, keys[rp_calls[id].fate],
                rp_calls[id].note);
}
