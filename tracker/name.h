/* SPDX-License-Identifier: Apache-2.0 */
/* Names by number: kernels, calls and buffers are compared and stored as small integers.
 *
 * Ids are given in order from 1; 0 is "no name". Texts are copied and never move. A table lasts as
 * long as the process: what was named may be reported until the end. Not thread-safe; the owner
 * holds one lock around all calls. */
#ifndef RP_TRACKER_NAME_H
#define RP_TRACKER_NAME_H

#include "tracker/status.h"

#include <stdint.h>

struct rp_names;

enum rp_status rp_names_create(struct rp_names **out);

/* The id of `text`, new or known; 0 when memory is short. */
uint32_t rp_names_id(struct rp_names *names, const char *text);
/* The text of `id`; "?" for 0 and unknown ids. */
const char *rp_names_text(const struct rp_names *names, uint32_t id);

#endif
