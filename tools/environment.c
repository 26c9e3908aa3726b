/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/environment.h"

#include "tools/command.h"
#include "tools/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void push(struct rp_environment *list, const char *name, char *value)
{
    if (list->count == RP_ENVIRONMENT_MOST) {
        rp_say("too many variables");
        exit(RP_EXIT_RUN);
    }
    list->items[list->count].name = name;
    list->items[list->count].value = value;
    list->count++;
}

void rp_environment_add(struct rp_environment *list, const char *name, const char *format, ...)
{
    char *value = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&value, format, args) < 0) {
        rp_say("out of memory");
        exit(RP_EXIT_RUN);
    }
    va_end(args);
    push(list, name, value);
}

void rp_environment_remove(struct rp_environment *list, const char *name)
{
    push(list, name, NULL);
}

void rp_environment_prepend(struct rp_environment *list, const char *name, const char *first,
                            char separator)
{
    const char *now = getenv(name);
    if (now && *now)
        rp_environment_add(list, name, "%s%c%s", first, separator, now);
    else
        rp_environment_add(list, name, "%s", first);
}

/* Quotes for a POSIX shell, only where it is needed. */
static void print_quoted(const char *text, FILE *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,@%+";
    if (*text && strspn(text, plain) == strlen(text)) {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
    fputc('\'', out);
}

void rp_environment_print(const struct rp_environment *list, char *const *command, FILE *out)
{
    fputs("env", out);
    for (int i = 0; i < list->count; i++)
        if (!list->items[i].value)
            fprintf(out, " -u %s", list->items[i].name);
    for (int i = 0; i < list->count; i++) {
        if (!list->items[i].value)
            continue;
        fprintf(out, " %s=", list->items[i].name);
        if (*list->items[i].value)
            print_quoted(list->items[i].value, out);
    }
    for (; *command; command++) {
        fputc(' ', out);
        print_quoted(*command, out);
    }
    fputc('\n', out);
}

int rp_environment_apply(const struct rp_environment *list)
{
    for (int i = 0; i < list->count; i++) {
        const char *value = list->items[i].value;
        if ((value ? setenv(list->items[i].name, value, 1) : unsetenv(list->items[i].name)) != 0)
            return errno;
    }
    return 0;
}

void rp_environment_release(struct rp_environment *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->items[i].value);
    list->count = 0;
}
