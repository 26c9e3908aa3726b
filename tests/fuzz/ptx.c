/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX parser on any bytes: it answers with a module or with a place and a reason. */
#include "cuda/ptx/ptx.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_ptx_module *module = NULL;
    char message[160] = "";
    const enum rp_status status =
        rp_ptx_parse((const char *)data, size, &module, message, sizeof message);
    if ((status == RP_OK) != (module != NULL) || (status != RP_OK && !message[0]))
        abort();
    rp_ptx_destroy(module);
    return 0;
}
