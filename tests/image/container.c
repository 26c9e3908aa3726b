/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/image/container.h"

#include <lz4.h>
#include <string.h>
#include <zstd.h>

void container_put(struct container *container, size_t at, const void *value, size_t bytes)
{
    memcpy(container->bytes + at, value, bytes);
}

void container_begin(struct container *container)
{
    memset(container, 0, sizeof *container);
    container_put(container, 0, &(uint32_t){0xba55ed50u}, 4);
    container_put(container, 4, &(uint16_t){1}, 2);
    container_put(container, 6, &(uint16_t){16}, 2);
    container->used = 16;
}

void container_add(struct container *container, uint16_t kind, uint32_t arch, enum packing packing,
                   const void *payload, size_t bytes)
{
    enum { HEADER = 72 };
    size_t at = container->used, room = sizeof container->bytes - at - HEADER, stored = bytes;
    unsigned char *to = container->bytes + at + HEADER;
    uint64_t flags = 0x11;

    if (packing == PLAIN) {
        memcpy(to, payload, bytes);
    } else if (packing == PACKED_LZ4) {
        stored = (size_t)LZ4_compress_default(payload, (char *)to, (int)bytes, (int)room);
        flags |= 0x2000;
    } else {
        stored = ZSTD_compress(to, room, payload, bytes, 1);
        flags |= 0x8000;
    }
    uint64_t padded = (stored + 7) & ~(uint64_t)7, end = at + HEADER + padded - 16;
    container_put(container, at, &kind, 2);
    container_put(container, at + 2, &(uint16_t){0x0101}, 2);
    container_put(container, at + 4, &(uint32_t){HEADER}, 4);
    container_put(container, at + 8, &padded, 8);
    if (packing != PLAIN)
        container_put(container, at + 16, &(uint32_t){(uint32_t)stored}, 4);
    container_put(container, at + 28, &arch, 4);
    container_put(container, at + 40, &flags, 8);
    if (packing != PLAIN)
        container_put(container, at + 56, &(uint64_t){bytes}, 8);
    container_put(container, 8, &end, 8);
    container->used = at + HEADER + padded;
}
