/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/file.h"

#include "tools/say.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as many as Linux follows */

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

/* "-", and what is the same by another name: /dev/stdout, or the file that it was sent to. */
static bool is_stdout(const char *path)
{
    struct stat named, ours;
    return strcmp(path, "-") == 0 ||
           (stat(path, &named) == 0 && fstat(STDOUT_FILENO, &ours) == 0 &&
            named.st_dev == ours.st_dev && named.st_ino == ours.st_ino);
}

/* A device, a pipe, a socket: nothing that a file could be put in the place of. */
static bool is_written_in_place(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Where a symbolic link at the end of `path` leads, whether or not there is anything: the link
 * stays, and a draft beside its target can be renamed there. False with errno set. */
static bool follow(const char *path, char place[PATH_MAX])
{
    char target[PATH_MAX];
    int length = snprintf(place, PATH_MAX, "%s", path);

    for (int links = 0; length >= 0 && length < PATH_MAX && links <= MAX_LINKS; links++) {
        ssize_t size = readlink(place, target, sizeof(target) - 1);
        if (size < 0)
            return true; /* no link; what else is wrong shows when it is opened */
        target[size] = 0;
        const char *slash = target[0] == '/' ? NULL : strrchr(place, '/');
        size_t folder = slash ? (size_t)(slash - place) + 1 : 0;
        length = snprintf(place + folder, PATH_MAX - folder, "%s", target) + (int)folder;
    }
    errno = length >= 0 && length < PATH_MAX ? ELOOP : ENAMETOOLONG;
    return false;
}

/* Whether the folder is one, or could be made: its nearest ancestor that exists is a folder that
 * may be written to. False with errno set. */
static bool has_place(const char *path)
{
    char folder[PATH_MAX];
    struct stat info;

    snprintf(folder, sizeof(folder), "%s", path);
    for (char *slash; (slash = strrchr(folder, '/')) != NULL && slash != folder;) {
        *slash = 0;
        if (stat(folder, &info) != 0)
            continue;
        errno = ENOTDIR;
        return S_ISDIR(info.st_mode) && access(folder, W_OK) == 0;
    }
    return true;
}

int rp_file_check(const char *command, const char *path, bool force)
{
    if (!is_stdout(path) && access(path, F_OK) != 0 && !has_place(path))
        return rp_say_usage(command, "%s: %s", path, strerror(errno));
    if (force || is_stdout(path) || is_written_in_place(path) || access(path, F_OK) != 0)
        return RP_EXIT_OK;
    return rp_say_usage(command, "%s exists; --force overwrites it", path);
}

static bool open_in_place(struct rp_file *file)
{
    file->stream = fopen(file->path, "we");
    return file->stream != NULL;
}

/* ---- who is interrupted leaves no draft ----------------------------------------- */

static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
static char draft_to_remove[PATH_MAX];

static void remove_draft(int number)
{
    unlink(draft_to_remove);
    raise(number); /* once more, and now it ends us: the handler was for one time */
}

/* What we were told to ignore (nohup) stays ignored. */
static void watch_draft(const char *draft)
{
    const struct sigaction action = {.sa_handler = remove_draft, .sa_flags = SA_RESETHAND};
    struct sigaction was;

    snprintf(draft_to_remove, sizeof(draft_to_remove), "%s", draft);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (sigaction(endings[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(endings[i], &action, NULL);
}

static void unwatch_draft(void)
{
    draft_to_remove[0] = 0;
}

/* ---- one file ------------------------------------------------------------------- */

static bool open_draft(struct rp_file *file, const char *path)
{
    if (!follow(path, file->path))
        return false;
    int length = snprintf(file->draft, sizeof(file->draft), "%s.%ld.part", file->path,
                          (long)getpid());
    if (length < 0 || (size_t)length >= sizeof(file->draft)) {
        file->draft[0] = 0;
        errno = ENAMETOOLONG;
        return false;
    }
    make_parents(file->path);
    watch_draft(file->draft);
    int fd = open(file->draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    file->stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    int error = errno;
    if (fd >= 0 && !file->stream) {
        close(fd);
        unlink(file->draft);
    }
    errno = error;
    return file->stream != NULL;
}

int rp_file_create(const char *command, const char *path, bool force, struct rp_file *file)
{
    *file = (struct rp_file){.stream = stdout};
    signal(SIGPIPE, SIG_IGN);
    if (is_stdout(path))
        return RP_EXIT_OK;
    int code = rp_file_check(command, path, force);
    if (code != RP_EXIT_OK)
        return code;
    snprintf(file->path, sizeof(file->path), "%s", path);
    if (is_written_in_place(path) ? open_in_place(file) : open_draft(file, path))
        return RP_EXIT_OK;
    return rp_say_usage(command, "%s: %s", path, strerror(errno));
}

bool rp_file_write(struct rp_file *file, const void *bytes, size_t count)
{
    errno = 0;
    if (file->error == 0 && fwrite(bytes, 1, count, file->stream) != count)
        file->error = errno ? errno : EIO;
    return file->error == 0;
}

/* Closes what is not standard output. Returns the first thing that went wrong. */
static int close_stream(struct rp_file *file)
{
    int error = file->error;

    errno = 0;
    if (error == 0 && (fflush(file->stream) != 0 || ferror(file->stream)))
        error = errno ? errno : EIO;
    if (file->stream != stdout && fclose(file->stream) != 0 && error == 0)
        error = errno;
    return error;
}

bool rp_file_finish(struct rp_file *file, bool good)
{
    bool has_draft = file->draft[0] != 0;
    int error = close_stream(file);

    if (!has_draft && error == EPIPE) {
        clearerr(stdout);
        return true;
    }
    if (has_draft && good && error == 0 && rename(file->draft, file->path) != 0)
        error = errno;
    if (has_draft && (!good || error != 0))
        unlink(file->draft);
    unwatch_draft();
    if (error != 0)
        rp_say("%s: %s", file->path[0] ? file->path : "standard output", strerror(error));
    return error == 0;
}
