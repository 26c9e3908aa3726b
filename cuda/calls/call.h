/* SPDX-License-Identifier: Apache-2.0 */
/* The call table: what the layer knows about every entry point of the driver.
 *
 * cuda/calls/driver_calls.tsv is the one list; generate.py turns it into the ids
 * (call_ids.h), this table's rows, the typed arguments and entry points (calls.h), the
 * exported wrappers and the software device's stubs. This header needs no cuda.h.
 *
 * All of it is constant data and pure functions: thread-safe, no allocation, no locks. */
#ifndef RP_CUDA_CALLS_CALL_H
#define RP_CUDA_CALLS_CALL_H

#include "cuda/calls/call_ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stream 0 means to a call: the legacy default stream or the calling thread's own.
 * PTDS marks calls with an implicit stream, PTSZ those that take one. */
enum rp_call_mode { RP_MODE_LEGACY, RP_MODE_PTDS, RP_MODE_PTSZ };

/* What becomes of a call in the layer; rows say why in `note`. */
enum rp_call_fate {
    RP_FATE_FOLLOWED,   /* what it reads, writes, makes or frees is known */
    RP_FATE_EVERYTHING, /* it counts as writing all memory */
    RP_FATE_REPORTED,   /* memory may change unseen from it on, which is said */
    RP_FATE_REFUSED,    /* it stops a guarded job */
    RP_FATE_PASSED,     /* harmless: it goes to the driver untouched */
    RP_FATE_COUNT
};

enum rp_arg_kind {
    RP_ARG_UINT,
    RP_ARG_SINT,
    RP_ARG_FLOAT,
    RP_ARG_ENUM,
    RP_ARG_SIZE,     /* size_t */
    RP_ARG_ADDRESS,  /* CUdeviceptr: 4 bytes in the oldest calls, else 8 */
    RP_ARG_HANDLE,   /* an opaque object of the driver */
    RP_ARG_STREAM,   /* CUstream */
    RP_ARG_TEXT,     /* zero-terminated text, read by the driver */
    RP_ARG_POINTER,  /* host memory */
    RP_ARG_FUNCTION, /* a host function that the driver may call */
    RP_ARG_STRUCT    /* a structure passed by value */
};

struct rp_arg_info {
    const char *name;
    const char *type;    /* as the prototype spells it */
    uint16_t offset;     /* in the call's argument structure */
    uint16_t size;       /* bytes */
    uint8_t kind;        /* enum rp_arg_kind */
    bool out;            /* a POINTER through which one value comes back; it may be NULL */
    uint8_t value_kind;  /* enum rp_arg_kind of that value ... */
    uint8_t value_size;  /* ... and its bytes; both 0 unless `out` */
};

struct rp_call_info {
    const char *name;     /* the exported symbol */
    const char *base;     /* what cuGetProcAddress calls it */
    const char *class_;   /* dotted, from the general to the special: "write.memset" */
    const struct rp_arg_info *args;
    int version;          /* smallest cudaVersion at which `base` means this symbol */
    uint16_t args_size;   /* bytes of the call's argument structure */
    uint8_t mode;         /* enum rp_call_mode */
    uint8_t arg_count;
    int8_t stream_arg;    /* index of the first CUstream argument, or -1 */
    uint8_t fate;         /* enum rp_call_fate */
    const char *note;     /* why: half a sentence */
};

/* Rows in the order of enum rp_call_id, which is the order of names. */
extern const struct rp_call_info rp_calls[RP_CALL_COUNT];

/* The id of an exported symbol, or RP_CALL_NONE. */
enum rp_call_id rp_call_find(const char *name);

/* What cuGetProcAddress(base, cuda_version, flags) means: the youngest symbol of `base` that
 * is not younger than cuda_version; with `per_thread` the variant for the thread's own
 * default stream where there is one. RP_CALL_NONE for an unknown base or one that is
 * younger as a whole. */
enum rp_call_id rp_call_resolve(const char *base, int cuda_version, bool per_thread);
/* True when any symbol has this base name. */
bool rp_call_base_known(const char *base);

/* True when the call's class is `prefix` or lies below it: "write" holds "write.memset". */
bool rp_call_in_class(enum rp_call_id id, const char *prefix);

#endif
