/* SPDX-License-Identifier: Apache-2.0 */
/* Generated scenarios, see program.h for what they are made of.
 *
 * usage: scenario generate FIRST COUNT [KIND]     prints programs
 *        scenario eager|replay KERNELS FILE        runs the programs of a file
 *        scenario expect FILE                      what a sound report of a replay must say */
#include "tests/laws/driver.h"
#include "tests/scenarios/execute.h"
#include "tests/scenarios/generate.h"
#include "tests/scenarios/model.h"
#include "tests/scenarios/place.h"

#include <stdlib.h>
#include <string.h>

static void each(const char *path, void (*visit)(const struct program *program, bool replaying),
                 bool replaying)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    for (struct program *program; (program = program_read(file, path));) {
        visit(program, replaying);
        program_destroy(program);
    }
    fclose(file);
}

_Noreturn static void usage(void)
{
    fprintf(stderr, "usage: scenario generate FIRST COUNT [KIND]\n"
                    "       scenario eager|replay KERNELS FILE\n"
                    "       scenario expect FILE\n");
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc >= 4 && strcmp(argv[1], "generate") == 0) {
        uint64_t first = strtoull(argv[2], NULL, 0), count = strtoull(argv[3], NULL, 0);
        for (uint64_t i = 0; i < count; i++)
            if (generate(stdout, first + i, argc > 4 ? argv[4] : NULL) != 0)
                usage();
    } else if (argc == 4 && (strcmp(argv[1], "eager") == 0 || strcmp(argv[1], "replay") == 0)) {
        kernels = argv[2];
        open_driver();
        places_open();
        each(argv[3], execute, strcmp(argv[1], "replay") == 0);
    } else if (argc == 3 && strcmp(argv[1], "expect") == 0) {
        each(argv[2], model_tell, false);
    } else {
        usage();
    }
    return 0;
}
