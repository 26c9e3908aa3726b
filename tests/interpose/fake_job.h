/* SPDX-License-Identifier: Apache-2.0 */
/* A job on the fake driver, made to succeed: three allocations and a kernel whose accesses are
 * proved. Its calls can be made directly or through what is preloaded. */
#ifndef RP_TESTS_INTERPOSE_FAKE_JOB_H
#define RP_TESTS_INTERPOSE_FAKE_JOB_H

#include "tests/interpose/fake.h"

/* All entry points: the driver's own, or the preloaded object's. */
struct door {
    struct rp_real calls;
};

/* Opens the driver that REPRISE_DRIVER names, and returns its state. Ends the program with 2 when
 * something is missing. */
struct fake_state *fake_job_doors(struct door *bare, struct door *layered);
/* Loads the kernels and makes the memory, through the door. */
void fake_job_begin(const struct door *door, const char *kernels);

/* A question, a copy and a launch. */
void fake_job_ask(const struct door *door);
void fake_job_copy(const struct door *door);
void fake_job_launch(const struct door *door);

#endif
