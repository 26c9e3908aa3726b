/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/output.h"

#include "tools/say.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool color_wanted(const struct rp_options *options)
{
    const char *when = options->values[RP_OPT_COLOR].text, *no = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if (rp_option_given(options, RP_OPT_JSON))
        return false;
    if (when && strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    return isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0 && !(no && *no);
}

static const char *pager_command(void)
{
    static const char *const variables[] = {"REPRISE_PAGER", "PAGER"};
    for (size_t i = 0; i < 2; i++) {
        const char *command = getenv(variables[i]);
        if (command)
            return *command && strcmp(command, "cat") != 0 ? command : NULL;
    }
    return "less";
}

/* The pager is a child that reads what we write; it decides whether the text fits. */
static void start_pager(struct rp_output *output, const char *command)
{
    int ends[2];
    if (pipe(ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("LESS", "FRX", 0);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    FILE *file = pid > 0 ? fdopen(ends[1], "w") : NULL;
    if (!file) {
        close(ends[1]);
        return;
    }
    output->file = file;
    output->pager = pid;
    signal(SIGINT, SIG_IGN); /* the pager's, while it has the terminal */
}

static bool can_run(const char *command)
{
    char probe[512];
    snprintf(probe, sizeof(probe), "command -v %.*s >/dev/null 2>&1",
             (int)strcspn(command, " \t;|&<>$`'\"()"), command);
    int status = system(probe);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void rp_output_begin(struct rp_output *output, const struct rp_options *options)
{
    *output = (struct rp_output){.file = stdout, .color = color_wanted(options)};
    signal(SIGPIPE, SIG_IGN);
    if (!isatty(STDOUT_FILENO) || rp_option_given(options, RP_OPT_NO_PAGER) ||
        rp_option_given(options, RP_OPT_JSON))
        return;
    const char *command = pager_command();
    if (command && can_run(command))
        start_pager(output, command);
}

bool rp_output_open(struct rp_output *output)
{
    return !ferror(output->file);
}

/* Why not all was written, or 0. */
static int error_of(FILE *file)
{
    errno = 0;
    if (fflush(file) != 0)
        return errno ? errno : EIO;
    if (!ferror(file))
        return 0;
    /* An earlier write failed; whyever that was, the next one tells. */
    clearerr(file);
    fputc('\n', file);
    errno = 0;
    return fflush(file) != 0 && errno ? errno : EIO;
}

int rp_output_end(struct rp_output *output, int code)
{
    int error = error_of(output->file);
    bool lost = error != 0 && error != EPIPE;
    if (lost)
        rp_say("standard output: %s", strerror(error));
    if (output->pager > 0) {
        fclose(output->file);
        while (waitpid(output->pager, NULL, 0) < 0 && errno == EINTR)
            continue;
        signal(SIGINT, SIG_DFL);
    } else {
        clearerr(output->file);
    }
    return lost ? RP_EXIT_FAILURE : code;
}

const char *rp_tint(const struct rp_output *output, enum rp_tint tint)
{
    static const char *const sequences[] = {"\033[0m", "\033[1;31m", "\033[32m", "\033[1m"};
    return output->color ? sequences[tint] : "";
}

struct rp_shown_size rp_shown_size(const struct rp_options *options, unsigned long long bytes)
{
    struct rp_shown_size shown;
    if (rp_option_given(options, RP_OPT_BYTES))
        snprintf(shown.text, sizeof(shown.text), "%llu", bytes);
    else
        rp_size_format(shown.text, bytes);
    return shown;
}

/* To be freed. A character becomes eight at most. */
static char *shown_text(const char *text, size_t length)
{
    size_t room = 8 * length + 4;
    char *shown = malloc(room);
    return shown ? rp_text_escape(shown, room, text, length) : NULL;
}

static json_t *shown_string(json_t *value)
{
    char *shown = shown_text(json_string_value(value), json_string_length(value));
    json_t *copy = shown ? json_string(shown) : NULL;
    free(shown);
    return copy;
}

static json_t *shown_object(json_t *object)
{
    json_t *copy = json_object(), *member;
    const char *name;

    json_object_foreach(object, name, member) {
        char *shown = shown_text(name, strlen(name));
        if (shown)
            json_object_set_new(copy, shown, rp_output_shown(member));
        free(shown);
    }
    return copy;
}

json_t *rp_output_shown(json_t *value)
{
    if (json_is_string(value))
        return shown_string(value);
    if (json_is_object(value))
        return shown_object(value);
    if (!json_is_array(value))
        return json_incref(value);
    json_t *copy = json_array();
    for (size_t i = 0; i < json_array_size(value); i++)
        json_array_append_new(copy, rp_output_shown(json_array_get(value, i)));
    return copy;
}
