/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/lookup.h"

#include "interpose/door/next.h"
#include "interpose/door/wrap.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define DRIVER "libcuda.so"

/* ---- whose symbol, whose question ----------------------------------------------- */

static const char *soname_of(const struct link_map *map)
{
    const char *strings = NULL;
    const ElfW(Dyn) *name = NULL;
    for (const ElfW(Dyn) *dynamic = map->l_ld; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_STRTAB)
            strings = (const char *)dynamic->d_un.d_ptr;
        else if (dynamic->d_tag == DT_SONAME)
            name = dynamic;
    }
    return strings != NULL && name != NULL ? strings + name->d_un.d_val : "";
}

static const struct link_map *object_at(const void *address)
{
    Dl_info info;
    void *map = NULL;
    return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

static const struct link_map *own_object(void)
{
    static const struct link_map *_Atomic own;
    const struct link_map *known = atomic_load_explicit(&own, memory_order_relaxed);
    if (known == NULL) {
        known = object_at(&own);
        atomic_store_explicit(&own, known, memory_order_relaxed);
    }
    return known;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_driver(const struct link_map *map)
{
    return map != NULL && map != own_object() && starts_with(soname_of(map), DRIVER);
}

/* The driver, and the libraries that NVIDIA ships with it. What these look up must be the
 * driver's own: some start by finding their own entry points. */
static bool is_of_driver_family(const void *caller)
{
    const struct link_map *map = object_at(caller);
    if (map == NULL || map == own_object())
        return false;
    const char *soname = soname_of(map);
    return starts_with(soname, DRIVER) || starts_with(soname, "libnvidia-")
           || starts_with(soname, "libnvoptix") || starts_with(soname, "libdxcore");
}

static void *wrapper_of(enum rp_call_id id)
{
    void *address;
    memcpy(&address, &rp_wrappers[id], sizeof(address));
    return address;
}

/* ---- what was seen, and what was not -------------------------------------------- */

#define UNKNOWN_NAMES 32
static _Atomic uint64_t by_dlsym, by_dlvsym, by_proc_address, unknown;
static char unknown_names[UNKNOWN_NAMES][64];
static _Atomic size_t unknown_reserved;
static _Atomic bool unknown_written[UNKNOWN_NAMES];

static void note_unknown(const char *name)
{
    atomic_fetch_add_explicit(&unknown, 1, memory_order_relaxed);
    if (atomic_load_explicit(&unknown_reserved, memory_order_relaxed) >= UNKNOWN_NAMES)
        return;
    size_t index = atomic_fetch_add_explicit(&unknown_reserved, 1, memory_order_relaxed);
    if (index >= UNKNOWN_NAMES)
        return;
    for (size_t i = 0; i + 1 < sizeof(unknown_names[index]) && name[i] != '\0'; i++)
        unknown_names[index][i] = name[i];
    atomic_store_explicit(&unknown_written[index], true, memory_order_release);
}

const char *rp_lookup_unknown(size_t index)
{
    bool there = index < UNKNOWN_NAMES
                 && atomic_load_explicit(&unknown_written[index], memory_order_acquire);
    return there ? unknown_names[index] : NULL;
}

void rp_lookup_counts(struct rp_lookup_counts *out)
{
    *out = (struct rp_lookup_counts){
        atomic_load_explicit(&by_dlsym, memory_order_relaxed),
        atomic_load_explicit(&by_dlvsym, memory_order_relaxed),
        atomic_load_explicit(&by_proc_address, memory_order_relaxed),
        atomic_load_explicit(&unknown, memory_order_relaxed),
    };
}

/* ---- dlsym and dlvsym ----------------------------------------------------------- */

struct question {
    void *handle;
    const char *name;
    const char *version; /* NULL: dlsym */
    void *caller;
};

static void *ask_next(void *handle, const struct question *question)
{
    const struct rp_next *next = rp_next();
    return question->version == NULL ? next->dlsym(handle, question->name)
                                     : next->dlvsym(handle, question->name, question->version);
}

static struct rp_route forward(const struct question *question)
{
    const struct rp_next *next = rp_next();
    struct rp_route route = {NULL, NULL};
    if (question->version == NULL)
        memcpy(&route.forward, &next->dlsym, sizeof(route.forward));
    else
        memcpy(&route.forward, &next->dlvsym, sizeof(route.forward));
    return route;
}

static bool is_call_name(const char *name)
{
    return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

/* The driver function `found`, or its wrapper where there is one. */
static struct rp_route answer_from_driver(const struct question *question, enum rp_call_id id,
                                          void *found)
{
    if (id == RP_CALL_NONE) {
        note_unknown(question->name);
        return (struct rp_route){NULL, found};
    }
    atomic_fetch_add_explicit(question->version == NULL ? &by_dlsym : &by_dlvsym, 1,
                              memory_order_relaxed);
    return (struct rp_route){NULL, wrapper_of(id)};
}

/* The job opened the driver by name and got us. It must find what the driver has, the
 * wrapper where there is one, and NULL with the usual dlerror for what the driver lacks. */
static struct rp_route look_in_own_handle(const struct question *question)
{
    void *found = NULL;
    if (!is_call_name(question->name))
        found = ask_next(question->handle, question); /* our own, and what we depend on */
    void *driver = found == NULL && rp_real_open() ? rp_real_handle() : NULL;
    if (driver == NULL)
        return found != NULL ? (struct rp_route){NULL, found} : forward(question);
    found = ask_next(driver, question);
    if (found == NULL || !is_call_name(question->name) || is_of_driver_family(question->caller))
        return (struct rp_route){NULL, found};
    return answer_from_driver(question, rp_call_find(question->name), found);
}

static struct rp_route look_in_handle(const struct question *question)
{
    if (is_of_driver_family(question->caller))
        return forward(question);
    void *found = ask_next(question->handle, question);
    if (found == NULL || !is_driver(object_at(found)))
        return (struct rp_route){NULL, found};
    return answer_from_driver(question, rp_call_find(question->name), found);
}

/* Runs from the first moment of the process on, for every look-up of every library. */
static struct rp_route route(const struct question *question)
{
    if (question->handle == RTLD_DEFAULT || question->handle == RTLD_NEXT
        || question->name == NULL)
        return forward(question);
    if (question->handle == (const void *)own_object())
        return look_in_own_handle(question);
    return is_call_name(question->name) ? look_in_handle(question) : forward(question);
}

struct rp_route rp_lookup_dlsym(void *handle, const char *name, void *caller)
{
    const struct question question = {handle, name, NULL, caller};
    return route(&question);
}

struct rp_route rp_lookup_dlvsym(void *handle, const char *name, const char *version,
                                 void *caller)
{
    const struct question question = {handle, name, version != NULL ? version : "", caller};
    return route(&question);
}

/* ---- cuGetProcAddress ----------------------------------------------------------- */

/* The driver's pointer says which symbol it means, at whatever version and stream mode it
 * took the question. Should it hand out other pointers than it exports, the table says. */
static void *exchange(const char *base, int version, cuuint64_t flags, void *pointer)
{
    bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    enum rp_call_id wanted = rp_call_resolve(base, version, per_thread);
    enum rp_call_id id = rp_real_identify(pointer, wanted);
    if (id == RP_CALL_NONE && !rp_real_hands_out_exports())
        id = wanted;
    if (id == RP_CALL_NONE) {
        note_unknown(base);
        return pointer;
    }
    atomic_fetch_add_explicit(&by_proc_address, 1, memory_order_relaxed);
    return wrapper_of(id);
}

CUresult rp_lookup_cuGetProcAddress(const char *symbol, void **pfn, int version,
                                    cuuint64_t flags)
{
    CUresult result = rp_real.cuGetProcAddress(symbol, pfn, version, flags);
    if (result == CUDA_SUCCESS && symbol != NULL && pfn != NULL && *pfn != NULL)
        *pfn = exchange(symbol, version, flags, *pfn);
    return result;
}

CUresult rp_lookup_cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                                       cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
    CUresult result = rp_real.cuGetProcAddress_v2(symbol, pfn, version, flags, status);
    if (result == CUDA_SUCCESS && symbol != NULL && pfn != NULL && *pfn != NULL)
        *pfn = exchange(symbol, version, flags, *pfn);
    return result;
}
