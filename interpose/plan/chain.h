/* SPDX-License-Identifier: Apache-2.0 */
/* The chain: a step's segments in order of their forwards, each under a name of its own.
 *
 * A segment's place in the chain is its number from 0; its name is the rule's, with the key after
 * a slash where there is one ("encoder/3"), and a count where that name has come before in the
 * step ("head[1]"). Profiles and plans speak of segments by these names. Names are ids of
 * rp_core.names. All functions want the core's lock. */
#ifndef RP_INTERPOSE_CHAIN_H
#define RP_INTERPOSE_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A forward of segment rule `segment` begins: its place in this step. */
uint32_t rp_chain_join(uint32_t segment, const char *key);
void rp_chain_step_began(void);

/* Of this step so far. */
size_t rp_chain_length(void);
uint32_t rp_chain_name(uint32_t place); /* 0 when memory was short */
/* After a fork. */
void rp_chain_forget(void);

#endif
