/* SPDX-License-Identifier: Apache-2.0 */
/* State: the named byte ranges that a contract declares, as they are found in a run.
 *
 * A buffer may be found many times (a family: one kernel, twelve layers); each finding is a
 * range of one allocation under the family's name. Ranges may overlap; the first name wins
 * in messages. It lasts as long as the process. Not thread-safe; the owner holds one lock around
 * all calls. */
#ifndef RP_TRACKER_STATE_H
#define RP_TRACKER_STATE_H

#include "tracker/memory.h"
#include "tracker/span.h"

struct rp_state;

enum rp_status rp_state_create(struct rp_state **out);

/* Declares [lo, hi) of `id` under `name` (copied). *added tells whether this range is new
 * under that name; a range found again changes nothing. May be NULL. */
enum rp_status rp_state_add(struct rp_state *state, const char *name, rp_alloc_id id, uint64_t lo,
                            uint64_t hi, bool *added);
/* True when exactly this range is declared under this name, or as a member of the family of
 * this name ("NAME[3]"). */
bool rp_state_has(const struct rp_state *state, const char *name, rp_alloc_id id, uint64_t lo,
                  uint64_t hi);
/* The allocation died: its ranges are no longer state. */
void rp_state_forget(struct rp_state *state, rp_alloc_id id);

/* All declared bytes of `id`, or NULL when there are none. Valid until the next change. */
const struct rp_spans *rp_state_of(const struct rp_state *state, rp_alloc_id id);

/* Visits all declared bytes; anything but RP_OK stops the walk and is returned. */
typedef enum rp_status (*rp_state_fn)(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi);
enum rp_status rp_state_each(const struct rp_state *state, rp_state_fn visit, void *ctx);

/* The name of the first declared range that meets [lo, hi), with its own range; NULL when
 * none does. lo_out and hi_out may be NULL. */
const char *rp_state_name(const struct rp_state *state, rp_alloc_id id, uint64_t lo, uint64_t hi,
                          uint64_t *lo_out, uint64_t *hi_out);

#endif
