/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/options.h"

#include "tools/help.h"
#include "tools/progress.h"
#include "tools/say.h"
#include "tracker/contract.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROW(id, name, letter, type, environment, commands, argument, help)                        \
    [RP_OPT_##id] = {name, letter, RP_OPTION_##type, environment, commands, argument, help},
const struct rp_option rp_option_table[RP_OPT_COUNT] = {RP_OPTIONS(ROW)};
#undef ROW

void rp_option_variable(const struct rp_option *option, char *name, size_t size)
{
    int used = snprintf(name, size, "REPRISE_%s", option->name);
    for (int i = 0; i < used && (size_t)i < size; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

/* ---- values ------------------------------------------------------------------- */

/* Where a value stands, for messages: "--device" or "REPRISE_DEVICE". */
struct origin {
    const struct rp_command *command;
    const char *label;
};

static int check_word(const struct origin *at, const struct rp_option *option, const char *text)
{
    char copy[128];
    const char *words[16];
    size_t count = 0;

    snprintf(copy, sizeof(copy), "%s", option->argument);
    for (char *state, *word = strtok_r(copy, "|", &state); word && count < 16;
         word = strtok_r(NULL, "|", &state)) {
        if (strcmp(word, text) == 0)
            return RP_EXIT_OK;
        words[count++] = word;
    }
    const char *near = rp_nearest(text, words, count);
    return rp_say_usage(at->command->name, "%s: '%s' is none of %s%s%s%s", at->label, text,
                        option->argument, near ? "; did you mean '" : "", near ? near : "",
                        near ? "'?" : "");
}

static int check_number(const struct origin *at, const struct rp_option *option,
                        const char *text, uint64_t *number)
{
    if (option->type == RP_OPTION_SIZE) {
        if (rp_size_parse(text, number) == RP_OK)
            return RP_EXIT_OK;
        return rp_say_usage(at->command->name, "%s: '%s' is no size, such as 44GiB or 4096",
                            at->label, text);
    }
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    bool whole = errno == 0 && end != text && *end == 0 && isdigit((unsigned char)*text);
    if (option->type == RP_OPTION_CODE && (!whole || *number < 1 || *number > 255))
        return rp_say_usage(at->command->name, "%s: '%s' is no exit code from 1 to 255",
                            at->label, text);
    if (!whole)
        return rp_say_usage(at->command->name, "%s: '%s' is no whole number", at->label, text);
    return RP_EXIT_OK;
}

static int set_value(const struct origin *at, struct rp_options *options, enum rp_option_id id,
                     const char *text)
{
    const struct rp_option *option = &rp_option_table[id];
    struct rp_option_value *value = &options->values[id];
    int code = RP_EXIT_OK;

    if (option->type == RP_OPTION_WORD)
        code = check_word(at, option, text);
    else if (option->type != RP_OPTION_FLAG && option->type != RP_OPTION_TEXT)
        code = check_number(at, option, text, &value->number);
    else if (option->type == RP_OPTION_TEXT && *text == 0)
        code = rp_say_usage(at->command->name, "%s: an empty argument", at->label);
    if (code == RP_EXIT_OK)
        value->text = text;
    return code;
}

/* ---- the command line --------------------------------------------------------- */

static enum rp_option_id find_long(const struct rp_command *command, const char *name,
                                   size_t length)
{
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        const struct rp_option *option = &rp_option_table[i];
        if ((option->commands & command->bit) && strlen(option->name) == length &&
            strncmp(option->name, name, length) == 0)
            return (enum rp_option_id)i;
    }
    return RP_OPT_COUNT;
}

static enum rp_option_id find_letter(const struct rp_command *command, char letter)
{
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        const struct rp_option *option = &rp_option_table[i];
        if ((option->commands & command->bit) && option->letter == letter)
            return (enum rp_option_id)i;
    }
    return RP_OPT_COUNT;
}

static int unknown_option(const struct rp_command *command, const char *name, size_t length)
{
    const char *names[RP_OPT_COUNT];
    char word[64];
    size_t count = 0;

    for (int i = 0; i < RP_OPT_COUNT; i++)
        if (rp_option_table[i].commands & command->bit)
            names[count++] = rp_option_table[i].name;
    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    const char *near = rp_nearest(word, names, count);
    return rp_say_usage(command->name, "%s has no option --%s%s%s%s", command->name, word,
                        near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

struct cursor {
    const struct rp_command *command;
    char **argv;
    int argc, at;
};

/* The argument of an option: what is glued to it, or the next word. */
static const char *take_argument(struct cursor *cursor, const char *glued)
{
    if (glued)
        return glued;
    return cursor->at + 1 < cursor->argc ? cursor->argv[++cursor->at] : NULL;
}

static int parse_long(struct cursor *cursor, struct rp_options *options, const char *name)
{
    size_t length = strcspn(name, "=");
    const char *glued = name[length] == '=' ? name + length + 1 : NULL;
    enum rp_option_id id = find_long(cursor->command, name, length);

    if (id == RP_OPT_COUNT)
        return unknown_option(cursor->command, name, length);
    char label[64];
    snprintf(label, sizeof(label), "--%s", rp_option_table[id].name);
    struct origin at = {cursor->command, label};
    if (rp_option_table[id].type == RP_OPTION_FLAG) {
        if (glued)
            return rp_say_usage(cursor->command->name, "%s takes no argument", label);
        return set_value(&at, options, id, "");
    }
    const char *text = take_argument(cursor, glued);
    if (!text)
        return rp_say_usage(cursor->command->name, "%s needs an argument: %s", label,
                            rp_option_table[id].argument);
    return set_value(&at, options, id, text);
}

static int parse_letters(struct cursor *cursor, struct rp_options *options, const char *letters)
{
    for (const char *letter = letters; *letter; letter++) {
        enum rp_option_id id = find_letter(cursor->command, *letter);
        char label[] = {'-', *letter, 0};
        struct origin at = {cursor->command, label};
        if (id == RP_OPT_COUNT)
            return rp_say_usage(cursor->command->name, "%s has no option %s",
                                cursor->command->name, label);
        if (rp_option_table[id].type != RP_OPTION_FLAG) {
            const char *text = take_argument(cursor, letter[1] ? letter + 1 : NULL);
            if (!text)
                return rp_say_usage(cursor->command->name, "%s needs an argument: %s", label,
                                    rp_option_table[id].argument);
            return set_value(&at, options, id, text);
        }
        int code = set_value(&at, options, id, "");
        if (code != RP_EXIT_OK)
            return code;
    }
    return RP_EXIT_OK;
}

static int read_environment(const struct rp_command *command, struct rp_options *options)
{
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        const struct rp_option *option = &rp_option_table[i];
        char variable[64];
        if (!option->environment || !(option->commands & command->bit) ||
            options->values[i].text)
            continue;
        rp_option_variable(option, variable, sizeof(variable));
        const char *text = getenv(variable);
        if (!text || !*text)
            continue;
        struct origin at = {command, variable};
        int code = set_value(&at, options, (enum rp_option_id)i, text);
        if (code != RP_EXIT_OK)
            return code;
        options->values[i].from_environment = true;
    }
    return RP_EXIT_OK;
}

static int parse(const struct rp_command *command, int argc, char **argv, bool stop_at_word,
                 struct rp_options *options)
{
    struct cursor cursor = {command, argv, argc, 1};
    int words = 1;

    *options = (struct rp_options){.rest = argv + 1};
    for (; cursor.at < argc; cursor.at++) {
        char *word = argv[cursor.at];
        int code = RP_EXIT_OK;
        if (strcmp(word, "--") == 0) {
            cursor.at++;
            break;
        }
        if (word[0] != '-' || word[1] == 0) {
            if (stop_at_word)
                break;
            argv[words++] = word;
        } else if (word[1] == '-') {
            code = parse_long(&cursor, options, word + 2);
        } else {
            code = parse_letters(&cursor, options, word + 1);
        }
        if (code != RP_EXIT_OK)
            return code;
    }
    while (cursor.at < argc)
        argv[words++] = argv[cursor.at++];
    argv[words] = NULL;
    options->rest_count = words - 1;
    /* Asking for help must work whatever the environment holds. */
    return rp_option_given(options, RP_OPT_HELP) ? RP_EXIT_OK
                                                 : read_environment(command, options);
}

bool rp_options_begin(const struct rp_command *command, int argc, char **argv, bool stop_at_word,
                      struct rp_options *options, int *code)
{
    *code = parse(command, argc, argv, stop_at_word, options);
    if (rp_option_given(options, RP_OPT_QUIET))
        rp_progress_silence();
    if (*code == RP_EXIT_OK && rp_option_given(options, RP_OPT_HELP)) {
        rp_help_command(stdout, command);
        return false;
    }
    return *code == RP_EXIT_OK;
}
