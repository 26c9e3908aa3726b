/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/soft/api/child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIFE_SECONDS = 90 }; /* under a sanitizer, on a machine that is busy, some take thirty */

void child_main(int argc, char **argv, const struct child_program *programs, size_t count)
{
    for (size_t i = 0; argc > 1 && i < count; i++)
        if (strcmp(argv[1], programs[i].name) == 0)
            exit(programs[i].main());
}

static void become(const char *program, const char *const *settings, FILE *out, FILE *err)
{
    for (; *settings != NULL; settings++)
        putenv((char *)(size_t)*settings);
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    alarm(LIFE_SECONDS);
    execl("/proc/self/exe", "test", program, (char *)NULL);
    _exit(99);
}

static void read_back(FILE *file, char *text, size_t size)
{
    rewind(file);
    if (text != NULL)
        text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

int child_run(const char *program, const char *const *settings, char *text, char *errors,
              size_t size)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int status = 0;

    if (out == NULL || err == NULL)
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(program, settings, out, err);
    waitpid(child, &status, 0);
    read_back(out, text, size);
    read_back(err, errors, size);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
