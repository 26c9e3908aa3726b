/* SPDX-License-Identifier: Apache-2.0 */
/* usage: deep_job DEEP DRIVER: initialises the driver of that name or path from inside DEEP. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*init)(const char *driver);
    void *deep = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    void *found = deep != NULL ? dlsym(deep, "deep_init") : NULL;
    if (found == NULL) {
        fprintf(stderr, "deep_job: %s\n", dlerror());
        return 2;
    }
    memcpy(&init, &found, sizeof(init));
    printf("%d\n", init(argv[2]));
    return 0;
}
