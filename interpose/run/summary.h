/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a run: summary-PID.json in the output folder, written at exit. */
#ifndef RP_INTERPOSE_SUMMARY_H
#define RP_INTERPOSE_SUMMARY_H

/* Writes beside and renames. Silent on failure: the job is not ours to disturb. */
void rp_summary_write(void);

#endif
