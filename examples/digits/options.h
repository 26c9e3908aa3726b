/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DIGITS_OPTIONS_H
#define DIGITS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
    bool checkpoint;
    bool contrast;
    bool pool; /* device memory comes from the device's pool */
    int steps, batch, blocks, probe; /* probe: its steps */
    uint64_t seed;
    const char *data, *kernels; /* kernels: NULL for the file beside the program */
    const char *losses, *dump;  /* NULL: not wanted */
};

/* Ends the program after --help (exit status 0), and with one line and exit status 2 where
 * the command line is wrong. */
void options_parse(struct options *options, int argc, char **argv);

#endif
