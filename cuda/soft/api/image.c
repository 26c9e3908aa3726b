/* SPDX-License-Identifier: Apache-2.0 */
/* What cuModuleLoadData may get: PTX text, a cubin, or a container of both. */
#include "cuda/soft/api/module.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FATBIN_MAGIC 0xba55ed50u
#define WRAPPER_MAGIC 0x466243b1u

/* PTX begins with a directive or a comment, possibly after blanks. */
static bool looks_like_ptx(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return *text == '.' || *text == '/';
}

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

CUresult soft_image_read(const void *image, char **text, size_t *length, char *message,
                         size_t message_size)
{
    uint32_t magic;

    memcpy(&magic, image, sizeof magic);
    if (memcmp(image, "\177ELF", 4) == 0) {
        snprintf(message, message_size,
                 "the image holds machine code only; this device runs PTX");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (magic == FATBIN_MAGIC || magic == WRAPPER_MAGIC) {
        snprintf(message, message_size, "fat binaries can't be read yet");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (!looks_like_ptx(image)) {
        snprintf(message, message_size, "the image is neither PTX nor a container of it");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    return copy_text(image, strlen(image), text, length);
}
