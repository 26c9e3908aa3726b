/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/help.h"

#include "tools/options.h"

#include <string.h>

enum { COLUMN = 28 }; /* where explanations begin */

void rp_help_overview(FILE *out)
{
    fputs("usage: reprise COMMAND [OPTION...] [ARGUMENT...]\n\n"
          "Runs an unmodified CUDA training job and makes its recomputation replays\n"
          "correct, byte for byte.\n\n"
          "  reprise run -c contract.json -- python train.py\n\n",
          out);
    for (size_t i = 0; i < rp_command_count; i++)
        fprintf(out, "  %-9s %s\n", rp_commands[i].name, rp_commands[i].summary);
    fputs("\n`reprise help COMMAND` explains a command, `reprise help env` the environment.\n"
          "Commands that read a run take a folder or a trace; without one, reprise.data.\n",
          out);
}

static void print_option(FILE *out, const struct rp_option *option)
{
    char left[96], letter[] = {'-', option->letter, ',', ' ', 0};

    snprintf(left, sizeof(left), "  %s--%s%s%s", option->letter ? letter : "    ", option->name,
             option->argument ? " " : "", option->argument ? option->argument : "");
    if (strlen(left) < COLUMN)
        fprintf(out, "%-*s%s\n", COLUMN, left, option->help);
    else
        fprintf(out, "%s\n%*s%s\n", left, COLUMN, "", option->help);
}

void rp_help_command(FILE *out, const struct rp_command *command)
{
    fprintf(out, "usage: reprise %s %s\n\n%s.\n\n", command->name, command->synopsis,
            command->summary);
    for (int i = 0; i < RP_OPT_COUNT; i++)
        if (rp_option_table[i].commands & command->bit)
            print_option(out, &rp_option_table[i]);
    if (command->notes)
        fprintf(out, "\n%s", command->notes);
}

void rp_help_list_commands(FILE *out)
{
    for (size_t i = 0; i < rp_command_count; i++)
        fprintf(out, "%s\n", rp_commands[i].name);
}

void rp_help_list_options(FILE *out, const struct rp_command *command)
{
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        const struct rp_option *option = &rp_option_table[i];
        if (!(option->commands & command->bit))
            continue;
        fprintf(out, "--%s%s\n", option->name, option->argument ? "=" : "");
        if (option->letter)
            fprintf(out, "-%c\n", option->letter);
    }
}

/* The words of "a|b|c", one a line. */
static void print_words(FILE *out, const char *words)
{
    for (; *words; words += *words == '|') {
        size_t length = strcspn(words, "|");
        fprintf(out, "%.*s\n", (int)length, words);
        words += length;
    }
}

bool rp_help_list_words(FILE *out, const struct rp_command *command, const char *name)
{
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        const struct rp_option *option = &rp_option_table[i];
        const char letter[] = {'-', option->letter, 0};
        if (!(option->commands & command->bit) || option->type != RP_OPTION_WORD)
            continue;
        if (strcmp(name, letter) == 0 ||
            (strncmp(name, "--", 2) == 0 && strcmp(name + 2, option->name) == 0)) {
            print_words(out, option->argument);
            return true;
        }
    }
    return false;
}

void rp_help_list_details(FILE *out, const struct rp_command *command)
{
    char variable[64];

    fprintf(out, "%s\t%s\t%s\n", command->name, command->synopsis, command->summary);
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        const struct rp_option *option = &rp_option_table[i];
        if (!(option->commands & command->bit))
            continue;
        rp_option_variable(option, variable, sizeof(variable));
        fprintf(out, "--%s\t%.*s\t%s\t%s\t%s\n", option->name, option->letter != 0,
                &option->letter, option->argument ? option->argument : "",
                option->environment ? variable : "", option->help);
    }
}
