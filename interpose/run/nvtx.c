/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX: the layer is an injection library, which is how it hears of ranges.
 *
 * Interface: NVTX 3, nvtx3/nvtxDetail/nvtxTypes.h. NVTX opens the library that
 * NVTX_INJECTION64_PATH names, calls InitializeInjectionNvtx2, and lets it fill the
 * callback tables. */
#include "interpose/door/wrap.h"

#include "interpose/run/core.h"
#include "interpose/run/thread.h"

#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <string.h>

static bool is_following(void)
{
    return rp_wrap_life() == RP_LIFE_READY && rp_core.segments_wanted;
}

/* The job's first driver call is still to come, and nobody knows yet whether there is one. */
static bool is_early(void)
{
    return rp_wrap_life() < RP_LIFE_READY;
}

/* A run that is only observed tells its ranges, for `reprise discover`, and behind which call of
 * any thread they begin and end. */
static void note_range(const void *domain, const char *message, const char *phase)
{
    if (rp_wrap_life() != RP_LIFE_READY || rp_core.config.mode != RP_MODE_OBSERVE)
        return;
    rp_inside = true;
    rp_thread_tell_early();
    RP_NOTE(range, RP_T(message), RP_T(phase), RP_U((uintptr_t)domain), RP_U(rp_core.seq));
    rp_inside = false;
}

static int push(const void *domain, const char *message)
{
    if (is_early())
        return rp_thread_push_early(domain, message);
    note_range(domain, message, "begins");
    if (!is_following())
        return 0;
    rp_inside = true;
    rp_core_lock();
    struct rp_thread *thread = rp_thread_self();
    rp_segment_push(thread, domain, message);
    int depth = (int)rp_ranges_depth(&thread->ranges, domain) - 1;
    rp_core_unlock();
    rp_inside = false;
    return depth;
}

static int pop(const void *domain)
{
    if (is_early())
        return rp_thread_pop_early(domain);
    note_range(domain, "", "ends");
    if (!is_following())
        return 0;
    rp_inside = true;
    rp_core_lock();
    struct rp_thread *thread = rp_thread_self();
    rp_segment_pop(thread, domain);
    int depth = (int)rp_ranges_depth(&thread->ranges, domain);
    rp_core_unlock();
    rp_inside = false;
    return depth;
}

enum { WIDE_BYTES = 256 };

/* In the job's locale; "" where that has no such letters. */
static const char *narrow(const wchar_t *message, char text[WIDE_BYTES])
{
    size_t length = message ? wcstombs(text, message, WIDE_BYTES - 1) : 0;
    if (length == (size_t)-1)
        length = 0;
    text[length] = '\0';
    return text;
}

/* Registered strings are handed back to the job as pointers to our copies. */
static const char *text_of(const nvtxEventAttributes_t *attributes, char wide[WIDE_BYTES])
{
    if (!attributes)
        return "";
    if (attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE)
        return narrow(attributes->message.unicode, wide);
    if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII && attributes->message.ascii)
        return attributes->message.ascii;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED && attributes->message.registered)
        return (const char *)(const void *)attributes->message.registered;
    return "";
}

static int NVTX_API push_ascii(const char *message)
{
    return push(NULL, message ? message : "");
}

static int NVTX_API push_attributes(const nvtxEventAttributes_t *attributes)
{
    char wide[WIDE_BYTES];
    return push(NULL, text_of(attributes, wide));
}

static int NVTX_API push_wide(const wchar_t *message)
{
    char text[WIDE_BYTES];
    return push(NULL, narrow(message, text));
}

static int NVTX_API pop_range(void)
{
    return pop(NULL);
}

static int NVTX_API push_in_domain(nvtxDomainHandle_t domain,
                                   const nvtxEventAttributes_t *attributes)
{
    char wide[WIDE_BYTES];
    return push(domain, text_of(attributes, wide));
}

static int NVTX_API pop_in_domain(nvtxDomainHandle_t domain)
{
    return pop(domain);
}

/* Without an injection that makes them all domains are NULL, which is the default one. A copy of
 * its name is a handle like any other. */
static nvtxDomainHandle_t NVTX_API create_domain(const char *name)
{
    return (nvtxDomainHandle_t)(void *)strdup(name ? name : ""); /* for the job's life */
}

static nvtxDomainHandle_t NVTX_API create_wide_domain(const wchar_t *name)
{
    (void)name;
    return create_domain("");
}

static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t domain, const char *string)
{
    (void)domain;
    return (nvtxStringHandle_t)(void *)strdup(string ? string : ""); /* for the job's life */
}

static nvtxStringHandle_t NVTX_API register_wide(nvtxDomainHandle_t domain, const wchar_t *string)
{
    char text[WIDE_BYTES];
    return register_string(domain, narrow(string, text));
}

static void replace(NvtxFunctionTable table, unsigned size, unsigned index,
                    NvtxFunctionPointer hook)
{
    if (index < size && table[index])
        *table[index] = hook;
}

static int fill_tables(const NvtxExportTableCallbacks *callbacks)
{
    NvtxFunctionTable core, domains;
    unsigned core_size = 0, domains_size = 0;
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &core_size) ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains, &domains_size))
        return 0;
    replace(core, core_size, NVTX_CBID_CORE_RangePushA, (NvtxFunctionPointer)push_ascii);
    replace(core, core_size, NVTX_CBID_CORE_RangePushEx, (NvtxFunctionPointer)push_attributes);
    replace(core, core_size, NVTX_CBID_CORE_RangePushW, (NvtxFunctionPointer)push_wide);
    replace(core, core_size, NVTX_CBID_CORE_RangePop, (NvtxFunctionPointer)pop_range);
    replace(domains, domains_size, NVTX_CBID_CORE2_DomainRangePushEx,
            (NvtxFunctionPointer)push_in_domain);
    replace(domains, domains_size, NVTX_CBID_CORE2_DomainRangePop,
            (NvtxFunctionPointer)pop_in_domain);
    replace(domains, domains_size, NVTX_CBID_CORE2_DomainCreateA,
            (NvtxFunctionPointer)create_domain);
    replace(domains, domains_size, NVTX_CBID_CORE2_DomainCreateW,
            (NvtxFunctionPointer)create_wide_domain);
    replace(domains, domains_size, NVTX_CBID_CORE2_DomainRegisterStringA,
            (NvtxFunctionPointer)register_string);
    replace(domains, domains_size, NVTX_CBID_CORE2_DomainRegisterStringW,
            (NvtxFunctionPointer)register_wide);
    return 1;
}

RP_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
RP_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table ? get_table(NVTX_ETID_CALLBACKS) : NULL;
    if (!callbacks || !callbacks->GetModuleFunctionTable)
        return 0;
    return fill_tables(callbacks);
}

/* ---- the same by calls of the job ------------------------------------------------- */

RP_EXPORT int reprise_segment_begin(const char *name, const char *key);
RP_EXPORT int reprise_replay_begin(const char *name, const char *key);
RP_EXPORT int reprise_segment_end(void);

static int begin(const char *name, const char *key, bool replay)
{
    if (!is_following() || !name)
        return -1;
    rp_inside = true;
    rp_core_lock();
    enum rp_status status = rp_segment_begin(rp_thread_self(), name, key ? key : "", replay);
    rp_core_unlock();
    rp_inside = false;
    return status == RP_OK ? 0 : -1;
}

int reprise_segment_begin(const char *name, const char *key)
{
    return begin(name, key, false);
}

int reprise_replay_begin(const char *name, const char *key)
{
    return begin(name, key, true);
}

int reprise_segment_end(void)
{
    if (!is_following())
        return -1;
    rp_inside = true;
    rp_core_lock();
    enum rp_status status = rp_segment_end(rp_thread_self());
    rp_core_unlock();
    rp_inside = false;
    return status == RP_OK ? 0 : -1;
}
