/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/filter.h"

#include "tools/say.h"
#include "tools/source.h"
#include "tracker/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- "5,10-20,100-,0-1000/10" -------------------------------------------------- */

static bool take_number(const char **at, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0;
}

static bool take_range(const char **at, struct rp_id_range *range)
{
    if (!take_number(at, &range->first))
        return false;
    range->last = range->first;
    range->stride = 1;
    if (**at == '-') {
        (*at)++;
        range->last = UINT64_MAX;
        if (isdigit((unsigned char)**at) && !take_number(at, &range->last))
            return false;
    }
    if (**at == '/') {
        (*at)++;
        if (!take_number(at, &range->stride) || range->stride == 0)
            return false;
    }
    return range->last >= range->first;
}

static bool add_ranges(struct rp_filter *filter, const char *text)
{
    static const char between[] = ", \t\r\n";
    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        struct rp_id_range range, *more;
        if (!take_range(&text, &range) || (*text && !strchr(between, *text)))
            return false;
        more = realloc(filter->ranges, (filter->range_count + 1) * sizeof(*more));
        if (!more)
            return false;
        filter->ranges = more;
        filter->ranges[filter->range_count++] = range;
    }
    return true;
}

/* *error becomes errno where the file can't be read. */
static bool add_ranges_of_file(struct rp_filter *filter, const char *path, int *error)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    bool good = true;

    if (!file) {
        *error = errno;
        return false;
    }
    errno = 0;
    while (good && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "#")] = 0;
        good = add_ranges(filter, line);
    }
    if (ferror(file))
        *error = errno ? errno : EIO;
    free(line);
    fclose(file);
    return good && *error == 0;
}

/* ---- creating ----------------------------------------------------------------- */

static int read_calls(const struct rp_command *command, const char *text,
                      struct rp_filter *filter)
{
    filter->by_id = true;
    int error = 0;
    bool good = *text == '@' ? add_ranges_of_file(filter, text + 1, &error)
                             : add_ranges(filter, text);
    if (good)
        return RP_EXIT_OK;
    if (error != 0)
        return rp_say_usage(command->name, "--calls: %s: %s", text + 1, strerror(error));
    return rp_say_usage(command->name, "--calls: '%s' is no list such as 5,10-20,0-1000/10",
                        text);
}

static int read_line(const struct rp_command *command, const char *text,
                     struct rp_filter *filter)
{
    char reason[128];
    int error = regcomp(&filter->line, text, REG_EXTENDED | REG_NOSUB);
    if (error == 0) {
        filter->by_line = true;
        return RP_EXIT_OK;
    }
    regerror(error, &filter->line, reason, sizeof(reason));
    return rp_say_usage(command->name, "--grep: '%s': %s", text, reason);
}

static int read_stream(const struct rp_command *command, const char *text,
                       struct rp_filter *filter)
{
    char *end;
    errno = 0;
    filter->stream = strtoull(text, &end, 0);
    filter->facets |= RP_FACET_STREAM;
    if (errno == 0 && end != text && *end == 0 && *text != '-')
        return RP_EXIT_OK;
    return rp_say_usage(command->name, "--stream: '%s' is no handle such as 0x55d0", text);
}

/* "1.25" in nanoseconds. */
static bool take_seconds(const char **at, uint64_t *ns)
{
    uint64_t unit = 1000000000;
    if (!take_number(at, ns) || *ns > UINT64_MAX / unit)
        return false;
    *ns *= unit;
    if (**at == '.')
        for ((*at)++; isdigit((unsigned char)**at); (*at)++) {
            unit /= 10;
            *ns += (uint64_t)(**at - '0') * unit;
        }
    return true;
}

static int read_time(const struct rp_command *command, const char *text, struct rp_filter *filter)
{
    const char *at = text;
    bool good = take_seconds(&at, &filter->from_ns) && *at == '-';

    filter->to_ns = UINT64_MAX;
    filter->facets |= RP_FACET_TIME;
    if (good && *++at)
        good = take_seconds(&at, &filter->to_ns) && *at == 0;
    if (good && filter->to_ns >= filter->from_ns)
        return RP_EXIT_OK;
    return rp_say_usage(command->name, "--time: '%s' is no time such as 1.5-2 or 3- (seconds)",
                        text);
}

static const char *take_glob(const struct rp_options *options, enum rp_option_id id,
                             unsigned facet, struct rp_filter *filter)
{
    const char *glob = options->values[id].text;
    if (glob)
        filter->facets |= facet;
    return glob;
}

static uint64_t take_count(const struct rp_options *options, enum rp_option_id id, unsigned facet,
                           struct rp_filter *filter)
{
    if (options->values[id].text)
        filter->facets |= facet;
    return options->values[id].number;
}

int rp_filter_create(const struct rp_command *command, const struct rp_options *options,
                     struct rp_filter *filter)
{
    const struct rp_option_value *values = options->values;
    int code = RP_EXIT_OK;

    *filter = (struct rp_filter){.options = options};
    filter->call = take_glob(options, RP_OPT_CALL, RP_FACET_CALL, filter);
    filter->kernel = take_glob(options, RP_OPT_KERNEL, RP_FACET_KERNEL, filter);
    filter->segment = take_glob(options, RP_OPT_SEGMENT, RP_FACET_SEGMENT, filter);
    filter->buffer = take_glob(options, RP_OPT_BUFFER, RP_FACET_BUFFER, filter);
    filter->verdict = take_glob(options, RP_OPT_VERDICT, RP_FACET_VERDICT, filter);
    filter->proof = take_glob(options, RP_OPT_PROOF, RP_FACET_PROOF, filter);
    filter->allocation = take_count(options, RP_OPT_ALLOCATION, RP_FACET_ALLOCATION, filter);
    filter->step = take_count(options, RP_OPT_STEP, RP_FACET_STEP, filter);
    if (values[RP_OPT_CALLS].text)
        code = read_calls(command, values[RP_OPT_CALLS].text, filter);
    if (code == RP_EXIT_OK && values[RP_OPT_GREP].text)
        code = read_line(command, values[RP_OPT_GREP].text, filter);
    if (code == RP_EXIT_OK && values[RP_OPT_STREAM].text)
        code = read_stream(command, values[RP_OPT_STREAM].text, filter);
    if (code == RP_EXIT_OK && values[RP_OPT_TIME].text)
        code = read_time(command, values[RP_OPT_TIME].text, filter);
    if (code != RP_EXIT_OK)
        rp_filter_release(filter);
    return code;
}

void rp_filter_release(struct rp_filter *filter)
{
    free(filter->ranges);
    if (filter->by_line)
        regfree(&filter->line);
    *filter = (struct rp_filter){0};
}

/* ---- words -------------------------------------------------------------------- */

static bool is_filter(const struct rp_option *option)
{
    return (option->commands & RP_FILTERED) == RP_FILTERED && option->type != RP_OPTION_FLAG;
}

const char *rp_filter_words(const struct rp_filter *filter, char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    for (int i = 0; i < RP_OPT_COUNT && used < size; i++) {
        const char *value = filter->options->values[i].text;
        if (value && (i == RP_OPT_GREP || is_filter(&rp_option_table[i])))
            used += (size_t)snprintf(text + used, size - used, "%s--%s %s", used ? " " : "",
                                     rp_option_table[i].name, value);
    }
    return text;
}

int rp_filter_none(const struct rp_filter *filter)
{
    char words[512];

    rp_say("nothing passes %s", rp_filter_words(filter, words, sizeof(words)));
    return RP_EXIT_NO;
}

/* ---- asking ------------------------------------------------------------------- */

bool rp_filter_id(const struct rp_filter *filter, uint64_t id)
{
    for (size_t i = 0; i < filter->range_count; i++) {
        const struct rp_id_range *range = &filter->ranges[i];
        if (id >= range->first && id <= range->last && (id - range->first) % range->stride == 0)
            return true;
    }
    return !filter->by_id;
}

bool rp_filter_line(const struct rp_filter *filter, const char *line)
{
    return !filter->by_line || regexec(&filter->line, line, 0, NULL, 0) == 0;
}
