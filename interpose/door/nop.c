/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/nop.h"

_Atomic bool rp_nop_opened;

void rp_nop_find(void)
{
    /* False while the driver is being opened on this very thread: its calls then find fillers. */
    if (rp_real_open())
        atomic_store_explicit(&rp_nop_opened, true, memory_order_release);
}
