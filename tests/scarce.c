/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scarce.h"

#include "interpose/door/scarce.h"

#include <stdatomic.h>

static atomic_int left = INT_MAX;

void scarce_allow(int allocations)
{
    left = allocations;
}

bool rp_scarce_refuses(void)
{
    return left != INT_MAX && atomic_fetch_sub(&left, 1) <= 0;
}
