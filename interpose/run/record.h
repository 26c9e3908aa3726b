/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder: opens the trace, and defines every driver call from the call table. */
#ifndef RP_INTERPOSE_RECORD_H
#define RP_INTERPOSE_RECORD_H

#include "tracker/status.h"

/* Opens REPRISE_OUTPUT/trace-PID.rpt and writes the process event. */
enum rp_status rp_record_start(void);

#endif
