/* SPDX-License-Identifier: Apache-2.0 */
/* Images: what the driver's load calls may get.
 *
 * PTX text, an ELF cubin, or a container ("fat binary") of several of them for different
 * architectures, plain or compressed; and the wrapper that compilers put before a container.
 * The layout was measured on the output of CUDA 13.0's fatbinary; nothing is published.
 *
 * A container tells its own length, and all that is in it is checked against that. Reading
 * allocates nothing and copies nothing but what rp_fatbin_unpack is asked for. */
#ifndef RP_CUDA_IMAGE_FATBIN_H
#define RP_CUDA_IMAGE_FATBIN_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rp_image_kind {
    RP_IMAGE_UNKNOWN,
    RP_IMAGE_PTX,    /* zero-terminated text */
    RP_IMAGE_CUBIN,  /* ELF */
    RP_IMAGE_FATBIN, /* a container */
    RP_IMAGE_WRAPPER /* of a container */
};
/* Looks at the first bytes; 4 must be there, or fewer that end with a zero. */
enum rp_image_kind rp_image_kind(const void *image);

enum rp_fatbin_kind {
    RP_FATBIN_PTX = 1,
    RP_FATBIN_CUBIN = 2,
    RP_FATBIN_LTO = 8 /* intermediate code for link-time optimisation */
};

struct rp_fatbin_entry {
    unsigned kind;         /* enum rp_fatbin_kind, or a number that it does not name */
    unsigned arch;         /* 80 for sm_80 */
    uint64_t flags;
    const unsigned char *payload; /* as stored, in the container */
    uint64_t stored_bytes; /* without padding */
    uint64_t plain_bytes;  /* after rp_fatbin_unpack */
};

struct rp_fatbin { /* where a walk stands */
    const unsigned char *at, *end;
};

/* Begins a walk over a container or a wrapper of one. RP_INVALID for another image,
 * RP_DAMAGED for a container that can't be read. */
enum rp_status rp_fatbin_open(const void *image, struct rp_fatbin *fatbin);
/* For an image of which `bytes` bytes are there (a file, say): true unless it is a container
 * that claims more, or leads to one elsewhere. */
bool rp_image_fits(const void *image, size_t bytes);
/* RP_OK with the next entry, RP_END after the last, RP_DAMAGED where the container breaks. */
enum rp_status rp_fatbin_next(struct rp_fatbin *fatbin, struct rp_fatbin_entry *entry);

/* Writes the entry's plain_bytes bytes, unpacking zstd and LZ4. RP_DAMAGED when they can't be
 * had, RP_UNSUPPORTED for a compression that is not known. */
enum rp_status rp_fatbin_unpack(const struct rp_fatbin_entry *entry, void *out);

#endif
