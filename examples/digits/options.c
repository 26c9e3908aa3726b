/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "file.h"
#include "model.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "usage: digits [OPTION...]\n"
    "Trains a small network to read handwritten digits.\n"
    "\n"
    "  -e, --eager         keep all activations for the backward pass (default)\n"
    "  -c, --checkpoint    drop them, and run the segments again in the backward pass\n"
    "  -n, --steps=N       training steps (default 300)\n"
    "  -b, --batch=N       samples a step, 2 to 512 (default 64)\n"
    "  -l, --blocks=N      blocks of the network, 2 to 32 (default 2)\n"
    "      --contrast      train by the contrast alone, then a classifier on what that has\n"
    "                      made, which stays as it is: a probe\n"
    "      --probe=N       steps of the probe (default 40)\n"
    "  -s, --seed=N        start of all generators (default 1)\n"
    "      --pool          take device memory from the device's stream-ordered pool\n"
    "      --losses=FILE   write the loss of each step, one hexadecimal float a line\n"
    "      --dump=FILE     write all bytes of the state after the last step\n"
    "      --data=FILE     the digits (default digits.bin beside the program, if it is\n"
    "                      there, or " DIGITS_DATA ")\n"
    "      --kernels=FILE  the PTX (default kernels.ptx beside the program)\n"
    "  -h, --help          show this\n";

enum { LOSSES = 256, DUMP, DATA, KERNELS, CONTRAST, PROBE, POOL };
static const struct option table[] = {
    {"eager", no_argument, NULL, 'e'},          {"checkpoint", no_argument, NULL, 'c'},
    {"steps", required_argument, NULL, 'n'},    {"batch", required_argument, NULL, 'b'},
    {"blocks", required_argument, NULL, 'l'},   {"contrast", no_argument, NULL, CONTRAST},
    {"probe", required_argument, NULL, PROBE},  {"pool", no_argument, NULL, POOL},
    {"seed", required_argument, NULL, 's'},     {"losses", required_argument, NULL, LOSSES},
    {"dump", required_argument, NULL, DUMP},    {"data", required_argument, NULL, DATA},
    {"kernels", required_argument, NULL, KERNELS}, {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static uint64_t number(const char *option, const char *text, uint64_t low, uint64_t high)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < low ||
        value > high) {
        fprintf(stderr, "digits: --%s takes a whole number from %llu to %llu, not '%s'\n", option,
                (unsigned long long)low, (unsigned long long)high, text);
        exit(2);
    }
    return value;
}

static void take(struct options *options, int option, const char *value)
{
    switch (option) {
    case 'e': options->checkpoint = false; break;
    case 'c': options->checkpoint = true; break;
    case 'n': options->steps = (int)number("steps", value, 1, 1000000); break;
    case 'b': options->batch = (int)number("batch", value, 2, QUEUE_ROWS); break;
    case 'l': options->blocks = (int)number("blocks", value, BLOCKS, MOST_BLOCKS); break;
    case CONTRAST: options->contrast = true; break;
    case PROBE: options->probe = (int)number("probe", value, 1, 1000000); break;
    case POOL: options->pool = true; break;
    case 's': options->seed = number("seed", value, 0, UINT64_MAX); break;
    case LOSSES: options->losses = value; break;
    case DUMP: options->dump = value; break;
    case DATA: options->data = value; break;
    case KERNELS: options->kernels = value; break;
    case 'h': fputs(help, stdout); exit(0);
    default: exit(2); /* getopt has said why */
    }
}

/* Beside the program, as in an installation, or where the sources have it. */
static const char *default_data(void)
{
    static char *beside;
    if (beside == NULL)
        beside = file_beside_program("digits.bin");
    return access(beside, R_OK) == 0 ? beside : DIGITS_DATA;
}

void options_parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){.steps = 300, .batch = 64, .blocks = BLOCKS, .probe = 40,
                                .seed = 1, .data = default_data()};
    int option;
    while ((option = getopt_long(argc, argv, "ecn:b:l:s:h", table, NULL)) != -1)
        take(options, option, optarg);
    if (optind < argc) {
        fprintf(stderr, "digits: nothing is known of '%s'; see --help\n", argv[optind]);
        exit(2);
    }
}
