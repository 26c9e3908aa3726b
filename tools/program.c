/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/program.h"

#include "tools/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPT_DEPTH = 5 }; /* as many as the kernel follows */

/* ---- finding ------------------------------------------------------------------ */

static bool is_executable_file(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return false;
    if (S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return false;
    }
    return access(path, X_OK) == 0;
}

static int verdict_of(int error)
{
    errno = error;
    return error == ENOENT || error == ENOTDIR ? RP_EXIT_NOT_FOUND : RP_EXIT_CANNOT_RUN;
}

int rp_program_find(const char *name, char path[PATH_MAX])
{
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        return is_executable_file(path) ? 0 : verdict_of(errno);
    }
    const char *folders = getenv("PATH");
    int best = ENOENT; /* what stopped us: a file that can't be run says more than none */
    for (const char *at = folders ? folders : "/bin:/usr/bin"; *name; at++) {
        size_t length = strcspn(at, ":");
        snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at, length ? "/" : "", name);
        if (is_executable_file(path))
            return 0;
        if (errno == EACCES)
            best = EACCES;
        at += length;
        if (*at == 0)
            break;
    }
    return verdict_of(best);
}

/* ---- looking at it ------------------------------------------------------------ */

/* The loader ignores LD_PRELOAD where a program gains rights by being started. */
static bool gains_rights(int fd, const struct stat *info)
{
    if ((info->st_mode & S_ISUID) && info->st_uid != getuid())
        return true;
    if ((info->st_mode & S_ISGID) && info->st_gid != getgid())
        return true;
    return geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static int refuse(char *message, size_t size, const char *path, const char *why)
{
    snprintf(message, size, "%s %s, so the layer can't get into it", path, why);
    return RP_EXIT_RUN;
}

static int inspect_loader(int fd, const Elf64_Phdr *segment, const char *path, char *message,
                          size_t size)
{
    char loader[256] = "";
    size_t length = segment->p_filesz < sizeof(loader) - 1 ? segment->p_filesz
                                                           : sizeof(loader) - 1;
    if (pread(fd, loader, length, (off_t)segment->p_offset) <= 0)
        return 0;
    return strstr(loader, "ld-musl") ? refuse(message, size, path, "is linked with musl") : 0;
}

static int inspect_elf(int fd, const char *path, char *message, size_t size)
{
    Elf64_Ehdr head, own;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool known = self >= 0 && pread(self, &own, sizeof(own), 0) == (ssize_t)sizeof(own);

    if (self >= 0)
        close(self);
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return 0;
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return refuse(message, size, path, "is a 32-bit program");
    if (known && head.e_machine != own.e_machine)
        return refuse(message, size, path, "is a program of another machine");
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(head.e_phoff + (uint64_t)i * head.e_phentsize);
        if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
            return 0;
        if (segment.p_type == PT_INTERP)
            return inspect_loader(fd, &segment, path, message, size);
    }
    return refuse(message, size, path, "is statically linked");
}

/* "#! /usr/bin/python3 -u" -> the interpreter's path. */
static bool interpreter_of(const char *head, char path[PATH_MAX])
{
    const char *start = head + 2 + strspn(head + 2, " \t");
    size_t length = strcspn(start, " \t\r\n");
    if (length == 0 || length >= PATH_MAX)
        return false;
    snprintf(path, PATH_MAX, "%.*s", (int)length, start);
    return true;
}

static int inspect(const char *path, int depth, char *message, size_t size)
{
    char head[PATH_MAX + 4] = "", interpreter[PATH_MAX];
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC), code = 0;

    if (fd < 0)
        return 0;
    ssize_t got = pread(fd, head, sizeof(head) - 1, 0);
    bool elf = got >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0;
    if (elf && fstat(fd, &info) == 0 && gains_rights(fd, &info))
        code = refuse(message, size, path, "runs with other rights than yours (setuid)");
    else if (elf)
        code = inspect_elf(fd, path, message, size);
    else if (got > 2 && memcmp(head, "#!", 2) == 0 && depth < SCRIPT_DEPTH &&
             interpreter_of(head, interpreter))
        code = inspect(interpreter, depth + 1, message, size);
    close(fd);
    return code;
}

int rp_program_inspect(const char *path, char *message, size_t size)
{
    return inspect(path, 0, message, size);
}
