/* SPDX-License-Identifier: Apache-2.0 */
/* The images of this folder, which the environment's IMAGES names. */
#ifndef RP_TESTS_IMAGE_IMAGE_FILE_H
#define RP_TESTS_IMAGE_IMAGE_FILE_H

#include <stddef.h>

/* To be freed; a missing file fails the test. */
unsigned char *image_file(const char *name, size_t *bytes);

#endif
