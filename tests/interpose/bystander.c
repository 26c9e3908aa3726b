/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is no driver but has names like one's, and asks as other interposers do.
 * Built twice, as `first` and `second`; linked into the test in this order. */
#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

EXPORT int cuMemAllocManaged(void);
EXPORT int cudnnCreate(void);
EXPORT int cublasCreate_v2(void);
EXPORT int curl_easy_init(void);
EXPORT int bystander_name(void);
EXPORT void *JOIN(WHO, _next)(const char *name);
EXPORT void *JOIN(WHO, _default)(const char *name);

int cuMemAllocManaged(void) { return -1; }
int cudnnCreate(void) { return -2; }
int cublasCreate_v2(void) { return -3; }
int curl_easy_init(void) { return -4; }
int bystander_name(void) { return -5; }

/* Not as a last call: that would be a jump, and the caller's caller would be the one to ask. */
void *JOIN(WHO, _next)(const char *name)
{
    void *volatile found = dlsym(RTLD_NEXT, name);
    return found;
}

void *JOIN(WHO, _default)(const char *name)
{
    void *volatile found = dlsym(RTLD_DEFAULT, name);
    return found;
}
