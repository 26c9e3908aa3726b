/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/status.h"

const char *rp_status_text(enum rp_status status)
{
    switch (status) {
    case RP_OK: return "success";
    case RP_NO_MEMORY: return "out of memory";
    case RP_NOT_FOUND: return "not found";
    case RP_INVALID: return "invalid";
    case RP_UNSUPPORTED: return "not supported";
    case RP_IO: return "input/output error";
    case RP_DAMAGED: return "damaged data";
    case RP_END: return "end";
    }
    return "unknown status";
}
