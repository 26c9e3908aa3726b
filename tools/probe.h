/* SPDX-License-Identifier: Apache-2.0 */
/* Trying things out in a child process, so that a broken driver can crash or hang there. */
#ifndef RP_TOOLS_PROBE_H
#define RP_TOOLS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* Runs `work` in a child that is killed after some seconds and collects what it prints to
 * stdout, cut to size. True when it ended by itself with exit status 0; else *reason says
 * what happened ("killed by signal 11", "no answer within 20 s"). `work` must not return to
 * the caller's code: its result is the exit status. */
bool rp_probe(int (*work)(void *ctx), void *ctx, char *text, size_t size, char *reason,
              size_t reason_size);

/* Works for rp_probe; `path` is a driver's file. Prints "version 13000", then for each device
 * "device NAME", or "error CALL CODE". */
int rp_probe_driver(void *path);

/* Prints how many names of the call table the file `path` exports, "exports N of M". */
int rp_probe_exports(void *path);

#endif
