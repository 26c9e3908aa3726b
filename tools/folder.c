/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/folder.h"

#include "tools/command.h"
#include "tools/say.h"
#include "tracker/array.h"
#include "tracker/rank.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK "run.json"

enum { MOST_OLD = 1000 };

/* ---- names -------------------------------------------------------------------- */

/* Ranks that each call `reprise run` would take each other's folder. */
static bool add_rank(char *name, size_t size)
{
    size_t used = strlen(name);

    while (used > 1 && name[used - 1] == '/')
        used--;
    int length = snprintf(name + used, size - used, "-%s", rp_rank());
    return length > 0 && (size_t)length < size - used;
}

bool rp_folder_name(const char *pattern, char *name, size_t size)
{
    char host[HOST_NAME_MAX + 1] = "host", pid[24];
    size_t used = 0;

    gethostname(host, sizeof(host) - 1);
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    for (const char *at = pattern; *at; at++) {
        char single[2] = {*at, 0};
        const char *piece = single;
        if (*at == '%') {
            switch (*++at) {
            case 'p': piece = pid; break;
            case 'h': piece = host; break;
            case 'r': piece = rp_rank() ? rp_rank() : "0"; break;
            case '%': break;
            default: return false;
            }
        }
        size_t length = strlen(piece);
        if (used + length + 1 > size)
            return false;
        memcpy(name + used, piece, length + 1);
        used += length;
    }
    return used > 0 && (!rp_rank_among_others() || strstr(pattern, "%r") ||
                        strstr(pattern, "%p") || add_rank(name, size));
}

bool rp_path_join(char path[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    if (length > 0 && length < PATH_MAX)
        return true;
    path[0] = 0;
    errno = ENAMETOOLONG;
    return false;
}

/* ---- creating ----------------------------------------------------------------- */

static bool holds(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return rp_path_join(path, folder, name) && access(path, F_OK) == 0;
}

/* The files that runs consist of, beside their mark. */
static bool is_ours(const char *name)
{
    static const char *const ours[] = {"trace-*.rpt", "summary-*.json", "contract.json",
                                       "plan.json", "profile.json", "profile-*.json"};

    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (fnmatch(ours[i], name, 0) == 0)
            return true;
    return false;
}

/* Whether it may be removed, or is not there: somebody may have put something beside a run. */
static bool holds_only_a_run(const char *folder)
{
    size_t count = 0, others = 0;
    char **names = rp_folder_list(folder, "", "", &count);

    if (!names)
        return errno == ENOENT;
    for (size_t i = 0; i < count; i++)
        others += strcmp(names[i], MARK) != 0 && !is_ours(names[i]);
    rp_folder_list_free(names, count);
    return others == 0 && (count == 0 || holds(folder, MARK));
}

/* Removes a run: the files that runs consist of, and the folder if nothing else is in it. */
static bool remove_run(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL)
        if (is_ours(entry->d_name))
            unlinkat(dirfd(dir), entry->d_name, 0);
    unlinkat(dirfd(dir), MARK, 0); /* the mark last: what is left half-way is still ours */
    closedir(dir);
    return rmdir(folder) == 0;
}

bool rp_folder_is_in_use(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool in_use = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    return in_use;
}

/* NAME.old, or the first of NAME.old.2 and so on that holds nothing of anybody else's. */
static bool find_old(const char *name, char old[PATH_MAX])
{
    int length = snprintf(old, PATH_MAX, "%s.old", name);

    for (int i = 2; length > 0 && length < PATH_MAX && !holds_only_a_run(old); i++)
        length = i <= MOST_OLD ? snprintf(old, PATH_MAX, "%s.old.%d", name, i) : -1;
    errno = length < 0 ? EEXIST : ENAMETOOLONG;
    return length > 0 && length < PATH_MAX;
}

static int move_aside(const char *name)
{
    char old[PATH_MAX];

    if (find_old(name, old)) {
        if (rp_folder_is_in_use(old)) { /* somebody has renamed it */
            errno = EBUSY;
        } else {
            if (holds(old, MARK))
                remove_run(old);
            if (rename(name, old) == 0)
                return 0;
        }
    }
    rp_say("%s can't be renamed to %s: %s", name, old, strerror(errno));
    return RP_EXIT_RUN;
}

static bool make_parents(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

/* ---- one run at a time -------------------------------------------------------- */

/* What became of a name that was tried; an exit code where it is none of these. */
enum { CLAIMED = 0, IN_USE = -1, CHANGED = -2 };
enum { MOST_CHANGES = 100, MOST_NAMES = 10000 };

/* The folder may have been renamed between opening and locking it. */
static bool is_at(int fd, const char *name)
{
    struct stat held, now;
    return fstat(fd, &held) == 0 && stat(name, &now) == 0 && held.st_dev == now.st_dev &&
           held.st_ino == now.st_ino;
}

/* Where a file system knows no locks, a run goes on without. */
static int lock(int fd, const char *name, int how)
{
    if (flock(fd, how | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return IN_USE;
    return is_at(fd, name) ? CLAIMED : CHANGED;
}

static int say_why(const char *name)
{
    rp_say("output folder %s: %s", name, strerror(errno));
    return RP_EXIT_RUN;
}

static int expect_empty(const char *name)
{
    size_t count = 0;
    char **names = rp_folder_list(name, "", "", &count);

    if (!names)
        return say_why(name);
    rp_folder_list_free(names, count);
    if (count == 0)
        return CLAIMED;
    rp_say("output folder %s holds other files; choose another with -o", name);
    return RP_EXIT_USAGE;
}

/* Locked alone while it is looked at, then shared with the job's processes. */
static int take(int fd, const char *name)
{
    int code = lock(fd, name, LOCK_EX);

    if (code != CLAIMED)
        return code;
    if (holds(name, MARK)) {
        code = move_aside(name);
        return code == 0 ? CHANGED : code;
    }
    code = expect_empty(name);
    return code == CLAIMED ? lock(fd, name, LOCK_SH) : code;
}

static int claim(const char *name, int *held)
{
    int code = CHANGED;

    for (int i = 0; code == CHANGED && i < MOST_CHANGES; i++) {
        if (!make_parents(name) || (mkdir(name, 0777) != 0 && errno != EEXIST))
            return say_why(name);
        int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
            return say_why(name);
        code = fd < 0 ? CHANGED : take(fd, name);
        if (code == CLAIMED)
            *held = fd;
        else if (fd >= 0)
            close(fd);
    }
    return code == CHANGED ? IN_USE : code;
}

int rp_folder_create(const char *name, char path[PATH_MAX], int *held)
{
    char trimmed[PATH_MAX - 16], tried[PATH_MAX];
    size_t length = strlen(name);
    int code = IN_USE;

    while (length > 1 && name[length - 1] == '/')
        length--;
    snprintf(trimmed, sizeof(trimmed), "%.*s", (int)length, name);
    snprintf(tried, sizeof(tried), "%s", trimmed);
    for (int i = 2; (code = claim(tried, held)) == IN_USE && i < MOST_NAMES; i++)
        snprintf(tried, sizeof(tried), "%s.%d", trimmed, i);
    if (code == IN_USE) {
        rp_say("output folder %s: runs that go on write to it; choose another with -o", trimmed);
        return RP_EXIT_RUN;
    }
    if (code == CLAIMED && strcmp(tried, trimmed) != 0)
        rp_say("%s is that of a run that goes on: this one is kept in %s", trimmed, tried);
    if (code == CLAIMED && !realpath(tried, path))
        code = say_why(tried);
    return code;
}

bool rp_folder_find(int held, char path[PATH_MAX])
{
    char link[64], now[PATH_MAX];

    if (is_at(held, path))
        return true;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", held);
    ssize_t length = readlink(link, now, sizeof(now) - 1);
    now[length > 0 ? length : 0] = 0;
    if (length <= 0 || !is_at(held, now)) /* "NAME (deleted)" is none */
        return false;
    memcpy(path, now, (size_t)length + 1);
    return true;
}

bool rp_folder_write(const char *folder, const char *name, const char *text, size_t length)
{
    char path[PATH_MAX], draft[PATH_MAX], beside[NAME_MAX];
    snprintf(beside, sizeof(beside), ".%s.%ld", name, (long)getpid());
    if (!rp_path_join(path, folder, name) || !rp_path_join(draft, folder, beside))
        return false;
    FILE *file = fopen(draft, "wxe");
    if (!file)
        return false;
    bool good = fwrite(text, 1, length, file) == length;
    good = (fclose(file) == 0) && good && rename(draft, path) == 0;
    if (!good) {
        int error = errno;
        unlink(draft);
        errno = error;
    }
    return good;
}

/* ---- listing ------------------------------------------------------------------ */

static bool fits(const char *name, const char *begins, const char *ends)
{
    size_t length = strlen(name), tail = strlen(ends);
    return strncmp(name, begins, strlen(begins)) == 0 && length >= strlen(begins) + tail &&
           strcmp(name + length - tail, ends) == 0 && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static int by_number(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

char **rp_folder_list(const char *folder, const char *begins, const char *ends, size_t *count)
{
    DIR *dir = opendir(folder);
    size_t room = 0;
    char **names = dir ? rp_array_reserve(NULL, &room, 16, sizeof(*names)) : NULL;
    struct dirent *entry;

    *count = 0;
    while (names && (entry = readdir(dir)) != NULL) {
        if (!fits(entry->d_name, begins, ends))
            continue;
        char **more = rp_array_reserve(names, &room, *count + 1, sizeof(*names));
        if (!more)
            break;
        names = more;
        if ((names[*count] = strdup(entry->d_name)) != NULL)
            (*count)++;
    }
    if (dir)
        closedir(dir);
    if (names)
        qsort(names, *count, sizeof(*names), by_number);
    return names;
}

void rp_folder_list_free(char **names, size_t count)
{
    for (size_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}
