/* SPDX-License-Identifier: Apache-2.0 */
/* A contract on its way out of its document. Internal to tracker/.
 *
 * What returns a bool returns false when the contract is wrong: then the message is written.
 * Running out of memory is only noted, and looked at once at the end. */
#ifndef RP_TRACKER_CONTRACT_READING_H
#define RP_TRACKER_CONTRACT_READING_H

#include "tracker/contract.h"
#include "tracker/contract_shape.h"

#define RP_READING_QUOTE 48 /* how much of the user's own text a message repeats */

struct rp_reading {
    struct rp_json json;
    struct rp_contract *contract;
    bool no_memory;
};

/* Copies, for the contract to own; NULL of what is not there. */
char *rp_reading_copy(struct rp_reading *r, const char *text);
char *rp_reading_text(struct rp_reading *r, json_t *object, const char *key);
/* Zeroed room for as many items as a list has; NULL with *count 0 for none. */
void *rp_reading_room(struct rp_reading *r, json_t *list, size_t size, size_t *count);

bool rp_reading_check(struct rp_reading *r, json_t *object, enum rp_contract_object shape);
bool rp_reading_check_item(struct rp_reading *r, json_t *list, size_t i,
                           enum rp_contract_object shape);
/* A size, if it is given; `advice` goes on from "must be at least 1". */
bool rp_reading_at_least_one(struct rp_reading *r, json_t *object, const char *key,
                             const char *advice);
/* True when no earlier item of the list has this name; `seen` collects the names. */
bool rp_reading_name_is_new(struct rp_reading *r, json_t *item, json_t *seen, const char *what);

/* The lists of rules (contract_rules.c); `seen` is left with the names. */
bool rp_reading_segments(struct rp_reading *r, json_t *list, json_t *seen);
bool rp_reading_buffers(struct rp_reading *r, json_t *list, json_t *seen);

#endif
