/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a plan file: it is a plan to obey, or refused with one line that says where; and
 * what a contract's hash is made of never does any harm. */
#include "planner/plan.h"
#include "planner/purpose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Plans are read from files; one in memory will do. */
static enum rp_status load(const uint8_t *data, size_t size, struct rp_plan **plan,
                           char *message, size_t message_size)
{
    char path[64];
    int file = memfd_create("plan", 0);

    must(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    enum rp_status status = rp_plan_load(path, plan, message, message_size);
    close(file);
    return status;
}

static void check_choices(const struct rp_plan *plan)
{
    for (size_t k = 0; k < plan->count; k++)
        must(plan->names[k] != NULL && (unsigned)plan->choices[k] < RP_CHOICE_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_plan *plan = NULL;
    char message[512] = "", hash[RP_PURPOSE_CONTRACT];

    rp_purpose_contract((const char *)data, size, hash);
    if (load(data, size, &plan, message, sizeof(message)) != RP_OK) {
        must(plan == NULL && message[0] != '\0' && strchr(message, '\n') == NULL);
        return 0;
    }
    must(rp_plan_has_choices(plan));
    check_choices(plan);
    const struct rp_purpose nothing = {NULL, NULL, NULL};
    must(rp_plan_fits(plan, &nothing, (const char *const *)plan->names, plan->count, message,
                      sizeof(message)) == RP_OK);
    rp_plan_destroy(plan);
    return 0;
}
