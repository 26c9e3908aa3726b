/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: opens the trace, and defines every driver call from the call table. */
#ifndef RP_INTERPOSE_RECORD_H
#define RP_INTERPOSE_RECORD_H

#include "cuda/calls/calls.h"
#include "tracker/trace.h"

/* Opens REPRISE_OUTPUT/trace-PID.rpt and writes the process event. A program that was executed in
 * the place of another one that left a trace opens trace-PID-2.rpt, the next trace-PID-3.rpt. */
enum rp_status rp_record_start(void);
/* Which one of these it is, from 1 on. */
unsigned rp_record_program(void);

/* The types of the events that a call comes and goes with. */
const struct rp_event_def *rp_record_enter_def(enum rp_call_id id);
const struct rp_event_def *rp_record_leave_def(enum rp_call_id id);

#endif
