/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/image/fatbin.h"

#include <ctype.h>
#include <limits.h>
#include <lz4.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#define CONTAINER_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u
#define CONTAINER_HEADER 16
#define ENTRY_HEADER 64 /* at least; an entry tells its own */

#define FLAG_LZ4 UINT64_C(0x2000)
#define FLAG_ZSTD UINT64_C(0x8000)

static uint16_t read16(const unsigned char *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t read32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t read64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

enum rp_image_kind rp_image_kind(const void *image)
{
    const char *text = image;

    if (memchr(image, '\0', 3) == NULL) { /* then four bytes are there */
        uint32_t magic = read32(image);
        if (magic == CONTAINER_MAGIC)
            return RP_IMAGE_FATBIN;
        if (magic == WRAPPER_MAGIC)
            return RP_IMAGE_WRAPPER;
        if (memcmp(image, "\177ELF", 4) == 0)
            return RP_IMAGE_CUBIN;
    }
    while (isspace((unsigned char)*text))
        text++;
    return *text == '.' || *text == '/' ? RP_IMAGE_PTX : RP_IMAGE_UNKNOWN;
}

enum rp_status rp_fatbin_open(const void *image, struct rp_fatbin *fatbin)
{
    const unsigned char *at = image;

    if (rp_image_kind(at) == RP_IMAGE_WRAPPER) { /* magic, version, address, reserved */
        memcpy(&at, at + 8, sizeof at);
        if (at == NULL)
            return RP_DAMAGED;
    }
    if (rp_image_kind(at) != RP_IMAGE_FATBIN)
        return RP_INVALID;
    uint16_t version = read16(at + 4), header = read16(at + 6);
    uint64_t bytes = read64(at + 8);
    if (version != 1 || header < CONTAINER_HEADER || bytes > INT64_MAX)
        return RP_DAMAGED;
    fatbin->at = at + header;
    fatbin->end = fatbin->at + bytes;
    return RP_OK;
}

bool rp_image_fits(const void *image, size_t bytes)
{
    struct rp_fatbin fatbin;
    enum rp_image_kind kind = bytes < 4 ? RP_IMAGE_UNKNOWN : rp_image_kind(image);
    if (kind == RP_IMAGE_WRAPPER)
        return false;
    if (kind != RP_IMAGE_FATBIN)
        return true;
    return bytes >= CONTAINER_HEADER && rp_fatbin_open(image, &fatbin) == RP_OK &&
           (size_t)(fatbin.end - (const unsigned char *)image) <= bytes;
}

static bool is_packed(const struct rp_fatbin_entry *entry)
{
    return (entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
}

enum rp_status rp_fatbin_next(struct rp_fatbin *fatbin, struct rp_fatbin_entry *entry)
{
    const unsigned char *at = fatbin->at;
    uint64_t left = (uint64_t)(fatbin->end - at);

    if (left == 0)
        return RP_END;
    fatbin->at = fatbin->end; /* a broken container ends here */
    if (left < ENTRY_HEADER)
        return RP_DAMAGED;
    uint32_t header = read32(at + 4);
    uint64_t padded = read64(at + 8), packed = read32(at + 16);
    if (header < ENTRY_HEADER || header > left || padded > left - header || packed > padded)
        return RP_DAMAGED;
    *entry = (struct rp_fatbin_entry){
        .kind = read16(at),
        .arch = read32(at + 28),
        .flags = read64(at + 40),
        .payload = at + header,
        .stored_bytes = packed != 0 ? packed : padded,
        .plain_bytes = padded,
    };
    if (is_packed(entry))
        entry->plain_bytes = read64(at + 56);
    fatbin->at = at + header + padded;
    return RP_OK;
}

static enum rp_status unpack_zstd(const struct rp_fatbin_entry *entry, void *out)
{
    size_t got = ZSTD_decompress(out, entry->plain_bytes, entry->payload, entry->stored_bytes);
    return !ZSTD_isError(got) && got == entry->plain_bytes ? RP_OK : RP_DAMAGED;
}

static enum rp_status unpack_lz4(const struct rp_fatbin_entry *entry, void *out)
{
    if (entry->stored_bytes > INT_MAX || entry->plain_bytes > INT_MAX)
        return RP_DAMAGED;
    int got = LZ4_decompress_safe((const char *)entry->payload, out, (int)entry->stored_bytes,
                                  (int)entry->plain_bytes);
    return got >= 0 && (uint64_t)got == entry->plain_bytes ? RP_OK : RP_DAMAGED;
}

/* Flags alone don't tell zstd: other payloads carry the same bit without a zstd frame. */
static bool is_zstd(const struct rp_fatbin_entry *entry)
{
    static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    return entry->stored_bytes >= 4 && memcmp(entry->payload, magic, 4) == 0;
}

enum rp_status rp_fatbin_unpack(const struct rp_fatbin_entry *entry, void *out)
{
    if (!is_packed(entry)) {
        memcpy(out, entry->payload, entry->plain_bytes);
        return RP_OK;
    }
    if ((entry->flags & FLAG_ZSTD) != 0)
        return is_zstd(entry) ? unpack_zstd(entry, out) : RP_UNSUPPORTED;
    return unpack_lz4(entry, out);
}
