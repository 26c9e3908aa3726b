/* SPDX-License-Identifier: Apache-2.0 */
/* Files; any failure ends the program with one line. */
#ifndef DIGITS_FILE_H
#define DIGITS_FILE_H

#include <stdio.h>

FILE *file_open(const char *path, const char *mode);
/* A full disk must not pass for a run. */
void file_close(FILE *file, const char *path);
/* The whole text with a zero byte behind it, as the driver wants it. The caller frees. */
char *file_read_text(const char *path);
/* The path of a file in the folder of the program. The caller frees. */
char *file_beside_program(const char *name);

#endif
