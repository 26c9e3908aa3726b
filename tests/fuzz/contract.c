/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a contract: it is read whole, or refused with one line that says where. */
#include "tracker/contract.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_contract *contract = NULL;
    char message[512] = "";

    if (rp_contract_parse((const char *)data, size, "fuzz.json", &contract, message,
                          sizeof(message)) != RP_OK) {
        if (contract || message[0] == 0 || strchr(message, '\n'))
            abort();
        return 0;
    }
    for (size_t i = 0; i < contract->segment_count; i++)
        if (!contract->segments[i].name || !*contract->segments[i].name)
            abort();
    for (size_t i = 0; i < contract->buffer_count; i++)
        if (!contract->buffers[i].name || !*contract->buffers[i].name)
            abort();
    rp_contract_destroy(contract);
    return 0;
}
