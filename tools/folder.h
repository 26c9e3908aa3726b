/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a run: run.json, the contract, and for each process a trace and a summary.
 *
 * run.json is written first and marks the folder as ours; only what is ours is ever moved
 * out of the way or removed. */
#ifndef RP_TOOLS_FOLDER_H
#define RP_TOOLS_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define RP_FOLDER_DEFAULT "reprise.data"

/* Replaces %p (pid), %h (host), %r (the rank that mpirun, srun or torchrun gave us, else 0)
 * and %% in `pattern`. Where a launcher started several of us at once, and neither %p nor %r
 * tells them apart, -RANK is added. False when it does not fit or holds another %. */
bool rp_folder_name(const char *pattern, char *name, size_t size);

/* Creates the folder with its parents; `path` becomes its absolute path. A run that is there
 * already is renamed NAME.old, in place of the one before it, or NAME.old.2 and so on where
 * somebody has put something into that; where it goes on still, the folder is NAME.2, or the
 * first after it that is free, and that is said. `held` becomes a descriptor with a shared flock
 * on the folder: as long as anybody has one, it is not touched. The layer takes one for each
 * process of the job, which may outlive us. Returns 0, or RP_EXIT_USAGE or RP_EXIT_RUN when it
 * could not and has said why. */
int rp_folder_create(const char *name, char path[PATH_MAX], int *held);

/* The name that the folder `held` has now, if somebody has renamed it meanwhile: `path` becomes
 * that. False when it was removed. */
bool rp_folder_find(int held, char path[PATH_MAX]);

/* Whether a run that goes on holds it: `reprise run`, or a process of the job. False too where the
 * file system knows no locks. */
bool rp_folder_is_in_use(const char *folder);

/* FOLDER/NAME. False, with ENAMETOOLONG, when it does not fit; `path` is empty then. */
bool rp_path_join(char path[PATH_MAX], const char *folder, const char *name);

/* Writes a whole file into the folder, beside and then renamed. False with errno set. */
bool rp_folder_write(const char *folder, const char *name, const char *text, size_t length);

/* The names of the folder's files that begin and end so, in order of their number; free the
 * array in one with rp_folder_list_free. NULL with errno set. */
char **rp_folder_list(const char *folder, const char *begins, const char *ends, size_t *count);
void rp_folder_list_free(char **names, size_t count);

#endif
