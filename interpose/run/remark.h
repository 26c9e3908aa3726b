/* SPDX-License-Identifier: Apache-2.0 */
/* Remarks: what is worth knowing of a run and no hazard. Nothing is stopped for one; the summary
 * and the trace tell of it. */
#ifndef RP_INTERPOSE_REMARK_H
#define RP_INTERPOSE_REMARK_H

#include <stdint.h>

/* A line of the summary: once each, with a count. */
void rp_remark(const char *call, const char *reason);
/* How often anything was remarked. */
uint64_t rp_remarks_made(void);
typedef void (*rp_remark_fn)(void *ctx, const char *call, const char *reason, uint64_t count);
void rp_remarks_each(rp_remark_fn visit, void *ctx);

/* Reasons of remarks that say what a guard of declared state does not vouch for: whoever reads no
 * more than a run's last lines is told of these as well. */
#define RP_UNVOUCHED_READ                                                                        \
    "undeclared bytes that it may read may have changed: nothing is proved of them"
#define RP_UNVOUCHED_OWN                                                                         \
    "reads undeclared bytes that the segment possibly wrote: their older content is not checked"
#define RP_UNVOUCHED_UNSEEN                                                                      \
    "reads for a segment what may be written by no call: that it is the same in the replay is not "\
    "checked"
#define RP_UNVOUCHED_CONTENT                                                                     \
    "host code may have changed what it copies from pinned memory, which the device was still to "\
    "write"
#define RP_UNVOUCHED_LANDING                                                                     \
    "copies to the host again in a replay: that nobody has put other bytes there since the "       \
    "forward is not checked"

/* What discovery takes for what, where little speaks for the other. */
#define RP_TAKEN_FOR_OUTPUT                                                                      \
    "made anew in a replay what somebody had overwritten and used since: taken for an output"
#define RP_TAKEN_FOR_STATE                                                                       \
    "made in a replay what was put back as somebody had written and used it: taken for state"

/* What a guard puts in the place of what the job has put there, for state it is. */
#define RP_SET_ASIDE                                                                             \
    "has written declared state anew before a replay that goes on from what its forward found: "   \
    "if it is the replay's input, let the contract not name it"
#define RP_GIVEN_BACK                                                                            \
    "has brought other bytes to state since the forward: its replay was given what the forward "   \
    "found, and these stand again after it"
#define RP_MADE_READY                                                                            \
    "reads what a further call of the replay has made elsewhere: that its forward read the same "  \
    "is not checked"
#define RP_ENDS_LATER                                                                            \
    "ends a segment while another domain's, which began in it, is open: it ends with that one"

#endif
