/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the environment asks for. */
#ifndef RP_CUDA_SOFT_API_OUTPUT_H
#define RP_CUDA_SOFT_API_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* Opens, empties and answers the file that `variable` names, with "%p" for the process's id; -1
 * where it is not set or empty, stderr for "1". False, after a line on stderr, when it can't
 * be written. */
bool soft_output_open(const char *variable, int *file);
/* All of it; false, with errno, when that fails. */
bool soft_output_write(int file, const void *bytes, size_t count);
/* One line; on stderr it gets the device's name in front. */
void soft_output_line(int file, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
