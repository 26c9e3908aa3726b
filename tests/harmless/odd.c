/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that treat their process roughly and never use CUDA: each prints what it saw.
 *
 * usage: odd forks|threads|exec|closes|signals|descriptors|vfork|dlmopen [N]
 *        odd secure [DRIVER] */
#include <dlfcn.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

static int forks(int count)
{
    int sum = 0, status;
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(i % 7);
        waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
    }
    printf("%d forks, %d\n", count, sum);
    return 0;
}

static void *one_thread(void *at)
{
    char *memory = malloc(1000 + (size_t)at);
    memset(memory, 1, 1000);
    free(memory);
    return at;
}

static int threads(int count)
{
    pthread_t *all = calloc((size_t)count, sizeof(*all));
    long sum = 0;
    for (long i = 0; i < count; i++)
        if (pthread_create(&all[i], NULL, one_thread, (void *)i) != 0)
            return 1;
    for (int i = 0; i < count; i++) {
        void *result;
        pthread_join(all[i], &result);
        sum += (long)result;
    }
    free(all);
    printf("%d threads, %ld\n", count, sum);
    return 0;
}

static int exec_chain(const char *self, int count)
{
    char left[16];
    if (count == 0) {
        puts("end of the chain");
        return 5;
    }
    snprintf(left, sizeof(left), "%d", count - 1);
    execl(self, self, "exec", left, (char *)NULL);
    return 1;
}

static int closes(void)
{
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    FILE *file = fopen("/dev/null", "w");
    printf("closed, the next is %d\n", fileno(file));
    fclose(file);
    return 0;
}

static int descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int count = 0;
    while ((entry = readdir(folder)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(folder);
    printf("%d descriptors\n", count);
    return 0;
}

static volatile sig_atomic_t caught;

static void handler(int number)
{
    caught = number;
}

static int signals(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGINT,
                                  SIGCHLD, SIGUSR1, SIGPROF, SIGALRM};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        printf("%d%s ", numbers[i], before.sa_handler == SIG_DFL ? "" : " taken");
        signal(numbers[i], handler);
        raise(numbers[i]);
        printf("caught %d\n", (int)caught);
    }
    return 0;
}

static int in_a_namespace(void)
{
    void *libm = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
    double (*root)(double) = NULL;
    if (libm)
        *(void **)(void *)&root = dlsym(libm, "sqrt");
    printf("sqrt in another namespace: %d\n", root ? (int)root(49.0) : -1);
    return 0;
}

static int with_vfork(void)
{
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
    return 0;
}

/* Whether the system takes it for one that gains privileges, and what a driver says to it. */
static int secure(const char *driver)
{
    printf("secure: %lu\n", getauxval(AT_SECURE));
    void *library = driver ? dlopen(driver, RTLD_NOW) : NULL;
    int (*start)(unsigned) = NULL;
    if (library)
        *(void **)(void *)&start = dlsym(library, "cuInit");
    if (driver)
        printf("cuInit: %d\n", start ? start(0) : -1);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? atoi(argv[2]) : 0;

    if (strcmp(what, "forks") == 0)
        return forks(count);
    if (strcmp(what, "threads") == 0)
        return threads(count);
    if (strcmp(what, "exec") == 0)
        return exec_chain(argv[0], count);
    if (strcmp(what, "closes") == 0)
        return closes();
    if (strcmp(what, "descriptors") == 0)
        return descriptors();
    if (strcmp(what, "signals") == 0)
        return signals();
    if (strcmp(what, "vfork") == 0)
        return with_vfork();
    if (strcmp(what, "dlmopen") == 0)
        return in_a_namespace();
    if (strcmp(what, "secure") == 0)
        return secure(argv[2]);
    return 2;
}
