/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/say.h"

#include "tools/command.h"
#include "tools/progress.h"
#include "tracker/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool hushed;

void rp_say_hush(bool hush)
{
    hushed = hush;
}

__attribute__((format(printf, 1, 0))) static void say_line(const char *format, va_list args)
{
    /* One write, so that lines of a job that runs beside us don't get between. */
    char line[2048], shown[4 * sizeof(line)];
    if (hushed)
        return;
    vsnprintf(line, sizeof(line), format, args);
    rp_progress_erase();
    fprintf(stderr, "reprise: %s\n", rp_text_escape(shown, sizeof(shown), line, strlen(line)));
}

void rp_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_line(format, args);
    va_end(args);
}

int rp_say_usage(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_line(format, args);
    va_end(args);
    rp_say("try `reprise help%s%s`", command ? " " : "", command ? command : "");
    return RP_EXIT_USAGE;
}
