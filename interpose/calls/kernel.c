/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/kernel.h"

#include "cuda/driver_real.h"
#include "interpose/calls/context.h"
#include "interpose/run/core.h"
#include "interpose/run/remark.h"

#include <stdlib.h>
#include <string.h>

struct global {
    char *symbol;
    uint64_t address, bytes;
    rp_alloc_id id;
    unsigned context;
};

struct module {
    uint64_t handle;
    uint64_t same_as; /* another module that has the globals, or 0 */
    const struct rp_image *image;
    struct global *globals;
    size_t global_count;
    bool by_context; /* a library with variables */
    uint64_t met;    /* the contexts in which these were looked for, a bit each */
};

_Static_assert(RP_DRIVER_CONTEXTS <= 64, "a bit each");

static struct module *modules;
static size_t module_count, module_capacity;

/* Kernels by handle: open addressing, a power of two, at most half full. */
static struct rp_kernel **slots;
static size_t slot_count, kernel_count;

static struct module *module_find(uint64_t handle)
{
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].handle == handle)
            return &modules[i];
    return NULL;
}

static struct module *module_add(uint64_t handle, const struct rp_image *image)
{
    rp_kernel_unload(handle, NULL); /* the handle was reused: the old module is gone */
    if (module_count == module_capacity) {
        size_t capacity = module_capacity ? module_capacity * 2 : 16;
        struct module *bigger = realloc(modules, capacity * sizeof *bigger);
        if (!bigger)
            return NULL;
        modules = bigger;
        module_capacity = capacity;
    }
    modules[module_count] = (struct module){.handle = handle, .image = image};
    return &modules[module_count++];
}

static void count(void *ctx, const char *symbol, uint64_t bytes)
{
    (void)symbol, (void)bytes;
    ++*(size_t *)ctx;
}

void rp_kernel_load(uint64_t handle, const struct rp_image *image, bool is_library)
{
    size_t variables = 0;
    struct module *module = module_add(handle, image);
    rp_image_globals(image, count, &variables);
    if (module)
        module->by_context = is_library && variables;
    if (module)
        RP_NOTE(image, RP_U(handle), RP_T(rp_image_kind_text(image)), RP_U(rp_image_hash(image)),
                RP_U(0), RP_U(rp_image_kernel_count(image)));
}

void rp_kernel_load_same(uint64_t handle, uint64_t known)
{
    const struct module *original = module_find(known);
    const struct rp_image *image = original ? original->image : NULL;
    if (!image || handle == known)
        return;
    struct module *module = module_add(handle, image);
    if (module)
        module->same_as = known;
}

static size_t slot_of(uint64_t function)
{
    size_t at = (size_t)(function * 0x9e3779b97f4a7c15u >> 20) & (slot_count - 1);
    while (slots[at] && slots[at]->function != function)
        at = (at + 1) & (slot_count - 1);
    return at;
}

static void kernel_clear(struct rp_kernel *kernel)
{
    rp_memo_destroy(kernel->memo);
    free(kernel->given);
}

static void kernel_free(struct rp_kernel *kernel)
{
    if (kernel)
        kernel_clear(kernel);
    free(kernel);
}

static bool rehash(size_t count, uint64_t without_module)
{
    struct rp_kernel **old = slots;
    size_t old_count = slot_count;
    struct rp_kernel **fresh = calloc(count, sizeof(void *));
    if (!fresh)
        return false;
    slots = fresh;
    slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        if (without_module && old[i]->module == without_module) {
            kernel_free(old[i]);
            kernel_count--;
        } else {
            slots[slot_of(old[i]->function)] = old[i];
        }
    }
    free(old);
    return true;
}

static void module_remove(struct module *module, void (*buried)(rp_alloc_id id))
{
    uint64_t handle = module->handle;
    for (size_t i = 0; i < module->global_count; i++) {
        if (buried)
            buried(module->globals[i].id);
        free(module->globals[i].symbol);
    }
    free(module->globals);
    *module = modules[--module_count];
    if (slot_count)
        rehash(slot_count, handle);
}

void rp_kernel_unload(uint64_t handle, void (*buried)(rp_alloc_id id))
{
    struct module *module = module_find(handle);
    if (!module)
        return;
    module_remove(module, buried);
    for (size_t i = module_count; i-- > 0;)
        if (modules[i].same_as == handle)
            module_remove(&modules[i], NULL);
}

static struct rp_kernel *kernel_add(uint64_t function)
{
    if (kernel_count * 2 >= slot_count && !rehash(slot_count ? slot_count * 2 : 256, 0))
        return NULL;
    size_t at = slot_of(function);
    if (!slots[at]) {
        slots[at] = calloc(1, sizeof *slots[at]);
        kernel_count += slots[at] != NULL;
    }
    if (slots[at]) {
        kernel_clear(slots[at]);
        *slots[at] = (struct rp_kernel){.function = function};
    }
    return slots[at];
}

static struct rp_kernel *known(uint64_t function)
{
    return slot_count ? slots[slot_of(function)] : NULL;
}

static bool trusts_ptx(void)
{
    return rp_core.config.contract && rp_core.config.contract->trust_ptx;
}

static const char poisoned[] = "an audit caught it changing bytes outside its access set";

/* What follows from its layout and its proof. Without memory it is as if the layout were not known:
 * launches that can't be compared are not followed by their arguments either. */
static void prepare(struct rp_kernel *kernel)
{
    free(kernel->given);
    kernel->given = kernel->layout.known ? rp_given_create(&kernel->layout, kernel->proof) : NULL;
    kernel->layout.known = kernel->given != NULL;
}

static void poison(struct rp_kernel *kernel)
{
    rp_memo_destroy(kernel->memo);
    kernel->memo = NULL;
    kernel->proof = NULL;
    kernel->varies = NULL;
    kernel->unproved = kernel->escapes = poisoned;
    prepare(kernel);
}

/* Kernels that an audit caught, by name: those that are asked for later are no better. */
enum { MOST_POISONED = 64 };
static uint32_t poisoned_names[MOST_POISONED];
static unsigned poisoned_count;

static bool is_poisoned(uint32_t name)
{
    for (unsigned i = 0; i < poisoned_count; i++)
        if (poisoned_names[i] == name)
            return true;
    return poisoned_count == MOST_POISONED; /* too many to believe any other */
}

/* Who of the two is right about the parameters is not known: then not even what they lead to is. */
static const char disagreed[] = "the driver tells of other parameters than its image does";

static void distrust(struct rp_kernel *kernel)
{
    kernel->proof = NULL;
    kernel->unproved = kernel->escapes = disagreed;
    kernel->layout.known = false;
}

/* What the image says, and what the driver says of the kernel that it really loaded. */
static void learn(struct rp_kernel *kernel, const struct rp_image_kernel *said,
                  const struct rp_kernel_layout *told)
{
    kernel->proof = said->proof;
    kernel->unproved = said->unproved;
    kernel->escapes = said->escapes;
    kernel->layout = said->layout;
    if (said->was_damaged)
        rp_remark(said->name, "its kept proof is damaged: proved anew");
    if (!rp_layout_same_sizes(&said->layout, told))
        distrust(kernel);
    kernel->varies = kernel->proof ? rp_proof_varies(kernel->proof) : NULL;
    /* Where the driver says nothing, devices agree on blocks that nothing aligns widely. */
    if (kernel->proof && rp_memo_create(kernel->proof, &kernel->memo) != RP_OK)
        kernel->memo = NULL;
    kernel->packed_alike = told->known ? rp_layout_same_offsets(&said->layout, told)
                                       : !said->aligned_widely;
}

static void learn_without_image(struct rp_kernel *kernel, const struct module *module)
{
    kernel->unproved = module ? rp_image_doubt(module->image)
                              : "its image was not seen by the layer";
    kernel->escapes = kernel->unproved;
}

static void note_kernel(const struct rp_kernel *kernel)
{
    const struct rp_proof *proof = kernel->proof;
    enum rp_verdict unproved = kernel->escapes ? RP_VERDICT_EVERYTHING : RP_VERDICT_REACHABLE;
    RP_NOTE(kernel, RP_U(kernel->function), RP_T(kernel->text),
            RP_T(rp_verdict_name(proof ? rp_proof_writes(proof) : unproved)),
            RP_T(proof ? rp_proof_text(proof) : kernel->unproved));
}

/* The module that has another's globals: the library that it was made of. */
static struct module *home_of(uint64_t handle)
{
    struct module *module = module_find(handle);
    return module && module->same_as ? module_find(module->same_as) : module;
}

void rp_kernel_got(uint64_t function, uint64_t handle, const char *name,
                   const struct rp_kernel_layout *told)
{
    const struct module *module = module_find(handle);
    const struct rp_image_kernel *said =
        module ? rp_image_kernel(module->image, name, trusts_ptx()) : NULL;
    uint32_t id = rp_names_id(rp_core.names, name);
    struct rp_kernel *kernel = known(function);
    if (kernel && kernel->module == handle && kernel->name == id)
        return; /* asked for again */
    kernel = kernel_add(function);
    if (!kernel)
        return;
    const struct module *home = home_of(handle);
    kernel->module = handle;
    kernel->name = id;
    kernel->text = rp_name(kernel->name);
    kernel->by_context = home && home->by_context;
    if (said)
        learn(kernel, said, told);
    else
        learn_without_image(kernel, module);
    if (!kernel->layout.known && told->known && kernel->unproved != disagreed) {
        kernel->layout = *told;
        kernel->packed_alike = true;
    }
    prepare(kernel);
    if (is_poisoned(id))
        poison(kernel);
    note_kernel(kernel);
}

void rp_kernel_same(uint64_t function, uint64_t known)
{
    const struct rp_kernel *original = rp_kernel_find(known);
    struct rp_kernel copy = *original;
    struct rp_kernel *kernel = kernel_add(function);
    if (!kernel)
        return;
    copy.function = function;
    copy.is_handle = false;
    copy.memo = NULL;
    copy.given = NULL;
    if (copy.proof && rp_memo_create(copy.proof, &copy.memo) != RP_OK)
        copy.memo = NULL;
    prepare(&copy);
    *kernel = copy;
}

void rp_kernel_is_handle(uint64_t function)
{
    struct rp_kernel *kernel = known(function);
    if (kernel)
        kernel->is_handle = true;
}

void rp_kernel_meet(uint64_t function, uint64_t (*function_of)(uint64_t kernel))
{
    for (size_t i = 0; i < slot_count && !known(function); i++)
        if (slots[i] && slots[i]->is_handle && function_of(slots[i]->function) == function)
            rp_kernel_same(function, slots[i]->function);
}

const struct rp_kernel *rp_kernel_find(uint64_t function)
{
    const struct rp_kernel *kernel = known(function);
    if (kernel)
        return kernel;
    static struct rp_kernel stranger;
    stranger = (struct rp_kernel){.function = function,
                                  .name = rp_names_id(rp_core.names, "(unknown kernel)"),
                                  .text = "(unknown kernel)",
                                  .unproved = "its module was loaded out of the layer's sight",
                                  .escapes = "its module was loaded out of the layer's sight"};
    return &stranger;
}

void rp_kernel_global_found(uint64_t handle, unsigned context, const char *symbol,
                            uint64_t address, uint64_t bytes, rp_alloc_id id)
{
    struct module *module = module_find(handle);
    if (!module)
        return;
    struct global *bigger =
        realloc(module->globals, (module->global_count + 1) * sizeof *bigger);
    if (!bigger)
        return;
    module->globals = bigger;
    char *copy = strdup(symbol);
    if (copy)
        module->globals[module->global_count++] =
            (struct global){copy, address, bytes, id, context};
}

void rp_kernel_met(uint64_t handle, unsigned context)
{
    struct module *module = module_find(handle);
    if (module && context < RP_DRIVER_CONTEXTS)
        module->met |= UINT64_C(1) << context;
}

bool rp_kernel_has_met(const struct rp_kernel *kernel, unsigned context)
{
    const struct module *home = home_of(kernel->module);
    return home && context < RP_DRIVER_CONTEXTS && home->met >> context & 1;
}

uint64_t rp_kernel_unmet(const struct rp_kernel *kernel, unsigned context,
                         const struct rp_image **image)
{
    const struct module *home = home_of(kernel->module);
    if (!home || context >= RP_DRIVER_CONTEXTS || rp_kernel_has_met(kernel, context))
        return 0;
    *image = home->image;
    return home->handle;
}

uint64_t rp_kernel_symbol(void *ctx, const char *symbol, uint64_t *bytes)
{
    const struct rp_kernel_in *in = ctx;
    bool by_context = in->kernel->by_context && !rp_context_is_one();
    const struct module *module = home_of(in->kernel->module);
    for (size_t i = 0; module && i < module->global_count; i++) {
        if (strcmp(module->globals[i].symbol, symbol) != 0 ||
            (by_context && module->globals[i].context != in->context))
            continue;
        if (bytes)
            *bytes = module->globals[i].bytes;
        return module->globals[i].address;
    }
    return 0;
}

enum rp_status rp_kernel_globals(const struct rp_kernel *kernel, rp_kernel_global_fn visit,
                                 void *ctx)
{
    const struct module *module = home_of(kernel->module);
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && module && i < module->global_count; i++)
        status = visit(ctx, module->globals[i].address);
    return status;
}

void rp_kernel_poison(const struct rp_kernel *kernel)
{
    const struct rp_proof *proof = kernel->proof;
    uint32_t name = kernel->name;
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i] && slots[i]->name == name && slots[i]->proof == proof)
            poison(slots[i]);
    if (poisoned_count < MOST_POISONED)
        poisoned_names[poisoned_count++] = name;
}

void rp_kernels_forget(void)
{
    for (size_t i = 0; i < slot_count; i++)
        kernel_free(slots[i]);
    free(slots);
    slots = NULL;
    slot_count = kernel_count = 0;
    module_count = 0;
}
