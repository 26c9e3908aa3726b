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

static bool add_ranges_of_file(struct rp_filter *filter, const char *path)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    bool good = file != NULL;

    while (good && getline(&line, &room, file) >= 0) {
        line[strcspn(line, "#")] = 0;
        good = add_ranges(filter, line);
    }
    free(line);
    if (file)
        fclose(file);
    return good;
}

/* ---- creating ----------------------------------------------------------------- */

static int read_calls(const struct rp_command *command, const char *text,
                      struct rp_filter *filter)
{
    filter->by_call = true;
    bool good = *text == '@' ? add_ranges_of_file(filter, text + 1) : add_ranges(filter, text);
    if (good)
        return RP_EXIT_OK;
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
    filter->by_stream = errno == 0 && end != text && *end == 0 && *text != '-';
    if (filter->by_stream)
        return RP_EXIT_OK;
    return rp_say_usage(command->name, "--stream: '%s' is no handle such as 0x55d0", text);
}

int rp_filter_create(const struct rp_command *command, const struct rp_options *options,
                     struct rp_filter *filter)
{
    const struct rp_option_value *values = options->values;
    int code = RP_EXIT_OK;

    *filter = (struct rp_filter){.kernel = values[RP_OPT_KERNEL].text,
                                 .segment = values[RP_OPT_SEGMENT].text,
                                 .by_step = values[RP_OPT_STEP].text != NULL,
                                 .step = values[RP_OPT_STEP].number};
    if (values[RP_OPT_CALLS].text)
        code = read_calls(command, values[RP_OPT_CALLS].text, filter);
    if (code == RP_EXIT_OK && values[RP_OPT_GREP].text)
        code = read_line(command, values[RP_OPT_GREP].text, filter);
    if (code == RP_EXIT_OK && values[RP_OPT_STREAM].text)
        code = read_stream(command, values[RP_OPT_STREAM].text, filter);
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

/* ---- asking ------------------------------------------------------------------- */

bool rp_filter_id(const struct rp_filter *filter, uint64_t id)
{
    for (size_t i = 0; i < filter->range_count; i++) {
        const struct rp_id_range *range = &filter->ranges[i];
        if (id >= range->first && id <= range->last && (id - range->first) % range->stride == 0)
            return true;
    }
    return !filter->by_call;
}

bool rp_filter_line(const struct rp_filter *filter, const char *line)
{
    return !filter->by_line || regexec(&filter->line, line, 0, NULL, 0) == 0;
}

static bool names(const struct rp_event *event, const char *field, const char *glob)
{
    char text[1024];
    return *rp_event_text(event, field, text, sizeof(text)) &&
           rp_glob_match(glob, text, NULL, 0);
}

bool rp_filter_names_kernel(const struct rp_filter *filter, const struct rp_event *event)
{
    return filter->kernel && names(event, "kernel", filter->kernel);
}

bool rp_filter_names_segment(const struct rp_filter *filter, const struct rp_event *event)
{
    return filter->segment && names(event, "segment", filter->segment);
}
