/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose dependency (secret.c) only it can see. */
#include <dlfcn.h>

__attribute__((visibility("default"))) void *asker_default(const char *name);
int secret_value(void);

void *asker_default(const char *name)
{
    void *volatile found = secret_value() == 42 ? dlsym(RTLD_DEFAULT, name) : (void *)0;
    return found; /* see bystander.c */
}
