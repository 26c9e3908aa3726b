/* SPDX-License-Identifier: Apache-2.0 */
/* How far long work has come: one line on stderr, only where that is a terminal, only after a
 * second, and gone at the end. One work at a time; not thread-safe. */
#ifndef RP_TOOLS_PROGRESS_H
#define RP_TOOLS_PROGRESS_H

#include <stdint.h>

/* From now on nothing is shown: --quiet, or the command prints to the terminal all the time. */
void rp_progress_silence(void);

/* `total` bytes are to be read; 0 where nobody knows, or it is no bytes. */
void rp_progress_begin(const char *what, uint64_t total);
/* So many of them have been. Cheap: to be called as often as one likes. */
void rp_progress_at(uint64_t done);
/* The same where it is no bytes: `done` of `all` parts, or just so many `units`, where `all` is
 * 0. */
void rp_progress_parts(uint64_t done, uint64_t all, const char *units);
/* Takes the line away. To be called before anything else is written to the terminal, too. */
void rp_progress_erase(void);

#endif
