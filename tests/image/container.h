/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of code, made here so that no toolkit is needed; their layout is that of CUDA
 * 13.0's fatbinary. */
#ifndef RP_TESTS_IMAGE_CONTAINER_H
#define RP_TESTS_IMAGE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

enum packing { PLAIN, PACKED_LZ4, PACKED_ZSTD };

struct container {
    unsigned char bytes[1 << 18];
    size_t used;
};

void container_begin(struct container *container);
/* `kind` as in enum rp_fatbin_kind, or any other number. */
void container_add(struct container *container, uint16_t kind, uint32_t arch, enum packing packing,
                   const void *payload, size_t bytes);
/* Writes over what is there. */
void container_put(struct container *container, size_t at, const void *value, size_t bytes);

#endif
