/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/folder.h"

#include "tools/command.h"
#include "tools/say.h"
#include "tracker/rank.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK "run.json"

/* ---- names -------------------------------------------------------------------- */

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
    return used > 0;
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

/* Removes a run: the files that runs consist of, and the folder if nothing else is in it. */
static bool remove_run(const char *folder)
{
    static const char *const ours[] = {"trace-*.rpt", "summary-*.json", "contract.json",
                                       "plan.json", "profile.json", "profile-*.json"};
    DIR *dir = opendir(folder);
    struct dirent *entry;

    if (!dir)
        return false;
    while ((entry = readdir(dir)) != NULL)
        for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
            if (fnmatch(ours[i], entry->d_name, 0) == 0)
                unlinkat(dirfd(dir), entry->d_name, 0);
    unlinkat(dirfd(dir), MARK, 0); /* the mark last: what is left half-way is still ours */
    closedir(dir);
    return rmdir(folder) == 0;
}

static int move_aside(const char *name)
{
    char old[PATH_MAX];
    if (snprintf(old, sizeof(old), "%s.old", name) >= (int)sizeof(old)) {
        errno = ENAMETOOLONG;
    } else {
        if (holds(old, MARK))
            remove_run(old);
        if (rename(name, old) == 0)
            return 0;
    }
    rp_say("%s can't be renamed to %s.old: %s", name, name, strerror(errno));
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

int rp_folder_create(const char *name, char path[PATH_MAX])
{
    char trimmed[PATH_MAX];
    size_t length = strlen(name);

    while (length > 1 && name[length - 1] == '/')
        length--;
    snprintf(trimmed, sizeof(trimmed), "%.*s", (int)length, name);
    if (holds(trimmed, MARK)) {
        int code = move_aside(trimmed);
        if (code != 0)
            return code;
    }
    if (!make_parents(trimmed) || (mkdir(trimmed, 0777) != 0 && errno != EEXIST) ||
        !realpath(trimmed, path)) {
        rp_say("output folder %s: %s", trimmed, strerror(errno));
        return RP_EXIT_RUN;
    }
    size_t count = 0;
    char **names = rp_folder_list(path, "", "", &count);
    if (!names) {
        rp_say("output folder %s: %s", trimmed, strerror(errno));
        return RP_EXIT_RUN;
    }
    rp_folder_list_free(names, count);
    if (count > 0) {
        rp_say("output folder %s holds other files; choose another with -o", trimmed);
        return RP_EXIT_USAGE;
    }
    return 0;
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
    size_t room = 16;
    char **names = calloc(room, sizeof(*names));
    struct dirent *entry;

    *count = 0;
    while (dir && names && (entry = readdir(dir)) != NULL) {
        if (!fits(entry->d_name, begins, ends))
            continue;
        if (*count == room) {
            char **more = realloc(names, 2 * room * sizeof(*names));
            if (!more)
                break;
            names = more;
            room *= 2;
        }
        if ((names[*count] = strdup(entry->d_name)) != NULL)
            (*count)++;
    }
    if (!dir) {
        free(names);
        return NULL;
    }
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
