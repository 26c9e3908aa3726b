/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is loaded so that its own dependencies come first: its dlopen and dlsym are the C
 * library's, whatever is preloaded. As Python extensions of compilers do it. */
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) int deep_init(const char *driver);

int deep_init(const char *driver)
{
    int (*init)(unsigned flags);
    void *library = dlopen(driver, RTLD_NOW);
    void *found = library != NULL ? dlsym(library, "cuInit") : NULL;
    if (found == NULL)
        return -1;
    memcpy(&init, &found, sizeof(init));
    return init(0);
}
