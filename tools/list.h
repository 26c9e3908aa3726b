/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a run, for completion. */
#ifndef RP_TOOLS_LIST_H
#define RP_TOOLS_LIST_H

/* Prints the names of `what`, "kernels", "segments" or "buffers", one a line, from the run `name`
 * (NULL: the default one). Says nothing where there is none. Returns an exit code. */
int rp_list_names(const char *what, const char *name);

#endif
