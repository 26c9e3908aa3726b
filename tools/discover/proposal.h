/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as a contract, and as evidence for people. */
#ifndef RP_TOOLS_DISCOVER_PROPOSAL_H
#define RP_TOOLS_DISCOVER_PROPOSAL_H

#include "tools/discover/finding.h"

#include <jansson.h>
#include <stdio.h>

/* A contract that `reprise run -c` takes unchanged. `declared`: name the state even where all is
 * proved, so that it could be discovered at run time. NULL when the host is out of memory. */
json_t *rp_proposal_contract(const struct rp_finding *finding, bool declared);
void rp_proposal_print(const struct rp_finding *finding, bool declared, FILE *out);

#endif
