/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe.h"

#include "cuda/calls/call.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 20 };

static bool judge(int status, char *reason, size_t size)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFEXITED(status))
        snprintf(reason, size, "exit status %d", WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGALRM)
        snprintf(reason, size, "no answer within %d s", PATIENCE_S);
    else
        snprintf(reason, size, "killed by signal %d", WTERMSIG(status));
    return false;
}

bool rp_probe(int (*work)(void *ctx), void *ctx, char *text, size_t size, char *reason,
              size_t reason_size)
{
    int ends[2], status = 0;
    size_t used = 0;

    text[0] = 0;
    if (pipe(ends) != 0) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        return false;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(PATIENCE_S);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        int code = work(ctx);
        fflush(stdout);
        _exit(code);
    }
    close(ends[1]);
    while (pid > 0) { /* what does not fit is read too, so that the child never waits */
        char chunk[4096];
        ssize_t got = read(ends[0], chunk, sizeof(chunk));
        if (got <= 0)
            break;
        size_t kept = (size_t)got < size - 1 - used ? (size_t)got : size - 1 - used;
        memcpy(text + used, chunk, kept);
        used += kept;
    }
    text[used] = 0;
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        return false;
    }
    return judge(status, reason, reason_size);
}

/* ---- the driver --------------------------------------------------------------- */

/* dlsym gives a pointer to data; POSIX says it can be a function's. */
static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof(found));
}

int rp_probe_driver(void *path)
{
    int (*init)(unsigned), (*version)(int *), (*count)(int *), (*get)(int *, int);
    int (*name)(char *, int, int), number = 0, devices = 0, result;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        printf("error dlopen %s\n", dlerror());
        return 0;
    }
    find(library, "cuInit", &init);
    find(library, "cuDriverGetVersion", &version);
    find(library, "cuDeviceGetCount", &count);
    find(library, "cuDeviceGet", &get);
    find(library, "cuDeviceGetName", &name);
    if (!init || !version || !count || !get || !name) {
        printf("error dlsym it lacks the driver's entry points\n");
        return 0;
    }
    if (version(&number) == 0)
        printf("version %d\n", number);
    if ((result = init(0)) != 0 || (result = count(&devices)) != 0) {
        printf("error cuInit CUDA error %d\n", result);
        return 0;
    }
    for (int i = 0; i < devices; i++) {
        char text[256] = "";
        int device = 0;
        if (get(&device, i) == 0 && name(text, sizeof(text), device) == 0)
            printf("device %s\n", text);
    }
    return 0;
}

int rp_probe_exports(void *path)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    int exported = 0;

    if (!library) {
        printf("error dlopen %s\n", dlerror());
        return 0;
    }
    for (int i = 0; i < RP_CALL_COUNT; i++)
        exported += dlsym(library, rp_calls[i].name) != NULL;
    printf("exports %d of %d\n", exported, (int)RP_CALL_COUNT);
    return 0;
}
