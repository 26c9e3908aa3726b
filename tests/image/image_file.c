/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/image/image_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

unsigned char *image_file(const char *name, size_t *bytes)
{
    char path[512];
    const char *folder = getenv("IMAGES");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "tests/image", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("can't read %s", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    unsigned char *image = malloc(*bytes + 1); /* the sanitizer sees whoever reads past it */
    assert_int_equal(fread(image, 1, *bytes, file), *bytes);
    fclose(file);
    image[*bytes] = '\0';
    return image;
}
