/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command without its output and prints the most memory that it ever had in use, in KiB. The
 * command is started by this small process, for the kernel counts what its starter had as well.
 *
 * usage: peak COMMAND [ARG...] */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    pid_t child = argc > 1 ? fork() : -1;

    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, NULL, 0, &usage) != child)
        return 1;
    printf("%ld\n", usage.ru_maxrss);
    return 0;
}
