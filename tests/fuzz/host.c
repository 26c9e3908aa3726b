/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of the job's own images on any bytes, as a file of an image without parts (else what
 * is loaded would be looked at, which is no file's to say): it answers, and twice the same. Nothing
 * there may be written, so that it never finds a variable that can be put back. */
#include "interpose/run/symbol.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ElfW(Phdr) none[1];
    const struct dl_phdr_info info = {.dlpi_name = "", .dlpi_phdr = none};
    void *file = malloc(size ? size : 1);
    struct rp_symbol symbol;
    const char *why, *again;
    if (!file)
        return 0;
    if (size)
        memcpy(file, data, size);
    bool found = rp_symbol_find_in(file, size, &info, "generator", &symbol, &why) ||
                 rp_symbol_find_in(file, size, &info, "generator", &symbol, &again);
    if (found || why != again || symbol.address)
        abort();
    free(file);
    return 0;
}
