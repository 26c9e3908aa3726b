/* SPDX-License-Identifier: Apache-2.0 */
/* A job: linked against the driver, knows nothing of the layer. Prints what cuInit says. */
#include "cuda/calls/calls.h"

#include <stdio.h>

int main(void)
{
    printf("%d\n", (int)cuInit(0));
    return 0;
}
