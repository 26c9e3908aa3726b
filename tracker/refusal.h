/* SPDX-License-Identifier: Apache-2.0 */
/* What a contract may ask for that this build does not do. It is refused by name before the job
 * starts, and never done in some other way. */
#ifndef RP_TRACKER_REFUSAL_H
#define RP_TRACKER_REFUSAL_H

#include "tracker/contract.h"

/* RP_UNSUPPORTED, with one line in `message`, when the contract can't be checked or guarded as it
 * stands. */
enum rp_status rp_refusal_check(const struct rp_contract *contract, char *message,
                                size_t message_size);

#endif
