/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/wrap.h"

const struct rp_handler rp_handlers[RP_CALL_COUNT];
