/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX text in whatever cuModuleLoadData got. */
#include "cuda/image/fatbin.h"
#include "cuda/soft/api/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static CUresult copy_text(const char *text, size_t length, char **out, size_t *out_length)
{
    *out = malloc(length + 1);
    if (*out == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(*out, text, length);
    (*out)[length] = '\0';
    *out_length = length;
    return CUDA_SUCCESS;
}

/* What a container holds, as far as it matters here. */
struct content {
    struct rp_fatbin_entry best; /* the PTX of the highest architecture that will do */
    bool has_best, has_cubin, has_newer_ptx;
};

static enum rp_status look_through(const void *image, struct content *content)
{
    struct rp_fatbin fatbin;
    struct rp_fatbin_entry entry;
    enum rp_status status = rp_fatbin_open(image, &fatbin);

    *content = (struct content){.has_best = false};
    while (status == RP_OK && (status = rp_fatbin_next(&fatbin, &entry)) == RP_OK) {
        if (entry.kind == RP_FATBIN_CUBIN)
            content->has_cubin = true;
        if (entry.kind != RP_FATBIN_PTX)
            continue;
        if (entry.arch > soft.options.capability) {
            content->has_newer_ptx = true;
        } else if (!content->has_best || entry.arch > content->best.arch) {
            content->best = entry;
            content->has_best = true;
        }
    }
    return status == RP_END ? RP_OK : status;
}

static const char *lack(const struct content *content)
{
    if (content->has_newer_ptx)
        return "the container's PTX is for newer devices only";
    if (content->has_cubin)
        return "the container holds machine code only; this device runs PTX";
    return "the container holds no PTX";
}

static CUresult unpack(const struct rp_fatbin_entry *entry, char **text, size_t *length,
                       char *message, size_t message_size)
{
    *text = malloc(entry->plain_bytes + 1);
    if (*text == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    enum rp_status status = rp_fatbin_unpack(entry, *text);
    if (status != RP_OK) {
        snprintf(message, message_size, "the container's PTX can't be unpacked: %s",
                 rp_status_text(status));
        free(*text);
        *text = NULL;
        return CUDA_ERROR_INVALID_IMAGE;
    }
    (*text)[entry->plain_bytes] = '\0';
    *length = strlen(*text); /* padded with zeros */
    return CUDA_SUCCESS;
}

static CUresult read_container(const void *image, char **text, size_t *length, char *message,
                               size_t message_size)
{
    struct content content;
    if (look_through(image, &content) != RP_OK) {
        snprintf(message, message_size, "the container is damaged");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (content.has_best)
        return unpack(&content.best, text, length, message, message_size);
    snprintf(message, message_size, "%s", lack(&content));
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult soft_image_read(const void *image, char **text, size_t *length, char *message,
                         size_t message_size)
{
    switch (rp_image_kind(image)) {
    case RP_IMAGE_PTX: return copy_text(image, strlen(image), text, length);
    case RP_IMAGE_FATBIN:
    case RP_IMAGE_WRAPPER: return read_container(image, text, length, message, message_size);
    case RP_IMAGE_CUBIN:
        snprintf(message, message_size,
                 "the image holds machine code only; this device runs PTX");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case RP_IMAGE_UNKNOWN: break;
    }
    snprintf(message, message_size, "the image is neither PTX nor a container of it");
    return CUDA_ERROR_INVALID_IMAGE;
}

#define MOST_IMAGE_BYTES (INT64_C(4) << 30)

/* The file's size, or -1 for what is none: a folder has a size that no memory holds. */
static long long file_bytes(FILE *file)
{
    struct stat info;
    bool good = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) &&
                info.st_size <= MOST_IMAGE_BYTES;
    return good ? (long long)info.st_size : -1;
}

CUresult soft_image_load(const char *path, char **out)
{
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        return errno == ENOENT ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_OPERATING_SYSTEM;
    long long bytes = file_bytes(file);
    /* Room for any magic number, too. */
    char *text = bytes >= 0 ? calloc(1, (size_t)bytes + 8) : NULL;
    if (text == NULL || fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
        free(text);
        fclose(file);
        return bytes < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_OUT_OF_MEMORY;
    }
    fclose(file);
    if (!rp_image_fits(text, (size_t)bytes)) { /* cut short, or an address of another process */
        free(text);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *out = text;
    return CUDA_SUCCESS;
}
