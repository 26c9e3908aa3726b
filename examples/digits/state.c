/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include "file.h"
#include "host.h"

#include <inttypes.h>

/* FNV-1a, 64 bits. */
static uint64_t digest(const unsigned char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

void state_print(const struct model *model, const char *dump_path)
{
    struct state_pool state[STATE_POOLS];
    model_state(model, state);
    FILE *dump = dump_path != NULL ? file_open(dump_path, "wb") : NULL;
    for (int i = 0; i < STATE_POOLS; i++) {
        size_t size = state[i].pool->bytes;
        unsigned char *bytes = host_alloc(size, 1);
        CU(MemcpyDtoH, bytes, state[i].pool->base, size);
        printf("%s %016" PRIx64 "\n", state[i].name, digest(bytes, size));
        if (dump != NULL)
            fwrite(bytes, 1, size, dump);
        free(bytes);
    }
    if (dump != NULL)
        file_close(dump, dump_path);
}
