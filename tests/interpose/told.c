/* SPDX-License-Identifier: Apache-2.0 */
/* Makes each call of one fate once, with nothing but zeros, on a fake driver that takes everything.
 *
 * usage: told KERNELS FATE, with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake_job.h"
#include "tests/interpose/probes.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static struct door bare, layered;
    static _Alignas(16) const unsigned char zeros[FAKE_ARGS_MAX];
    if (argc != 3)
        return 2;
    fake_job_doors(&bare, &layered);
    fake_job_begin(&layered, argv[1]);
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        if (rp_calls[id].fate != atoi(argv[2]) || rp_call_in_class((enum rp_call_id)id, "lookup"))
            continue; /* of look-ups the fake has its own, which need a name */
        probes[id]((soft_entry)layered.calls.by_id[id], zeros);
        puts(rp_calls[id].name);
    }
    return 0;
}
