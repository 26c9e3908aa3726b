/* SPDX-License-Identifier: Apache-2.0 */
/* Says of each line of stdin, which is a whole PTX kernel but for the header in argv[1],
 * whether the interpreter would run it: an empty line, or the reason why not. */
#include "cuda/soft/simt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t storage(void *ctx, const struct rp_ptx_var *var)
{
    static char room[4096];
    (void)ctx;
    return var->bytes <= sizeof room ? (uintptr_t)room : 0;
}

static void judge(const char *text)
{
    struct rp_ptx_module *ptx = NULL;
    struct simt_module *module = NULL;
    const char *refusal = "";
    char message[256] = "";
    if (rp_ptx_parse(text, strlen(text), &ptx, message, sizeof message) == RP_OK &&
        simt_module_create(ptx, storage, NULL, &module, message, sizeof message) == RP_OK)
        refusal = simt_kernel_refusal(simt_module_kernel(module, ptx->functions[0].name));
    puts(message[0] ? message : refusal ? refusal : "");
    simt_module_destroy(module);
    rp_ptx_destroy(ptx);
}

int main(int argc, char **argv)
{
    char *line = NULL, *text = NULL;
    size_t capacity = 0;
    while (argc == 2 && getline(&line, &capacity, stdin) > 0) {
        if (asprintf(&text, "%s%s", argv[1], line) < 0)
            return 1;
        judge(text);
        free(text);
    }
    free(line);
    return argc != 2;
}
