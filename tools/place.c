/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/place.h"

#include "tools/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the folder of the executable: in a build, and installed below a prefix. */
static const struct {
    const char *name, *built, *installed;
} parts[] = {
    [RP_PART_LAYER] = {"libreprise.so", "../interpose/libreprise.so",
                       "../lib/reprise/libreprise.so"},
    [RP_PART_NOP] = {"libreprise-nop.so", "../interpose/libreprise-nop.so",
                     "../lib/reprise/libreprise-nop.so"},
    [RP_PART_LINK] = {"the layer by the driver's name", "../interpose/driver/libcuda.so.1",
                      "../lib/reprise/driver/libcuda.so.1"},
    [RP_PART_SOFT_DEVICE] = {"the software device", "../cuda/soft/libcuda.so.1",
                             "../lib/reprise/soft/libcuda.so.1"},
};

const char *rp_part_name(enum rp_part part)
{
    return parts[part].name;
}

static bool own_folder(char folder[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (length <= 0)
        return false;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}

/* The file itself may be a link to a versioned name; its folder is what gets resolved. */
static bool look(const char *folder, const char *relative, char path[PATH_MAX])
{
    char joined[PATH_MAX], parent[PATH_MAX];
    if (!rp_path_join(joined, folder, relative))
        return false;
    char *slash = strrchr(joined, '/');
    *slash = 0;
    if (!realpath(joined, parent))
        snprintf(parent, sizeof(parent), "%s", joined);
    return rp_path_join(path, parent, slash + 1) && access(path, R_OK) == 0;
}

bool rp_place_of(enum rp_part part, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    if (!own_folder(folder)) {
        snprintf(path, PATH_MAX, "(unknown: /proc is missing)");
        return false;
    }
    const char *name = strrchr(folder, '/') + 1;
    bool installed = strcmp(name, "bin") == 0;
    return look(folder, installed ? parts[part].installed : parts[part].built, path);
}
