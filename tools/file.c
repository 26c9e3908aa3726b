/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/file.h"

#include "tools/say.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_parents(const char *path)
{
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(folder, 0777);
        *slash = '/';
    }
}

int rp_file_create(const char *command, const char *path, bool force, struct rp_file *file)
{
    *file = (struct rp_file){.stream = stdout};
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(path, "-") == 0)
        return RP_EXIT_OK;
    if (!force && access(path, F_OK) == 0)
        return rp_say_usage(command, "%s exists; --force overwrites it", path);
    int length = snprintf(file->draft, sizeof(file->draft), "%s.%ld.part", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof(file->draft)) {
        file->draft[0] = 0;
        return rp_say_usage(command, "%s: %s", path, strerror(ENAMETOOLONG));
    }
    snprintf(file->path, sizeof(file->path), "%s", path);
    make_parents(path);
    int fd = open(file->draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    file->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file->stream)
        return RP_EXIT_OK;
    int error = errno;
    if (fd >= 0) {
        close(fd);
        unlink(file->draft);
    }
    return rp_say_usage(command, "%s: %s", path, strerror(error));
}

bool rp_file_write(struct rp_file *file, const void *bytes, size_t count)
{
    errno = 0;
    if (file->error == 0 && fwrite(bytes, 1, count, file->stream) != count)
        file->error = errno ? errno : EIO;
    return file->error == 0;
}

bool rp_file_finish(struct rp_file *file, bool good)
{
    bool to_stdout = file->draft[0] == 0;
    const char *name = to_stdout ? "standard output" : file->path;
    int error = file->error;

    errno = 0;
    if (error == 0 && (fflush(file->stream) != 0 || ferror(file->stream)))
        error = errno ? errno : EIO;
    if (!to_stdout && fclose(file->stream) != 0 && error == 0)
        error = errno;
    if (to_stdout && error == EPIPE) {
        clearerr(stdout);
        return true;
    }
    if (!to_stdout && good && error == 0 && rename(file->draft, file->path) != 0)
        error = errno;
    if (!to_stdout && (!good || error != 0))
        unlink(file->draft);
    if (error != 0)
        rp_say("%s: %s", name, strerror(error));
    return error == 0;
}
