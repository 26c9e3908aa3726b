/* SPDX-License-Identifier: Apache-2.0 */
/* The contract file: which parts of a job are replayed, and what they must see.
 *
 * The format is JSON; tools/contract.schema.json describes it for editors, and
 * reprise-contract(5) for people. Reading is strict: an unknown key, a wrong type, a bad
 * size or an impossible pairing is an error that names file, line, column and the
 * nearest right spelling, and nothing of the contract is used. */
#ifndef RP_TRACKER_CONTRACT_H
#define RP_TRACKER_CONTRACT_H

#include "tracker/status.h"
#include "tracker/text.h" /* rp_size_parse, rp_glob_match and rp_nearest serve contracts */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rp_pair { RP_PAIR_LIFO, RP_PAIR_FIFO, RP_PAIR_KEY };
enum rp_state_rule { RP_STATE_DECLARED, RP_STATE_DISCOVERED };
enum rp_policy { RP_POLICY_JOINT, RP_POLICY_WHOLE, RP_POLICY_REGIONS, RP_POLICY_RETAIN,
                 RP_POLICY_PLAN };
enum rp_on_violation { RP_VIOLATION_STOP, RP_VIOLATION_REPORT };

/* Where a segment's forward or replay is found. Exactly one form is in use. Left out in the
 * contract, a side is CALLS: the job brackets it with reprise_segment_begin and _end, or, for
 * the replay of a job that never replays by itself, it doesn't occur. */
enum rp_where_kind { RP_WHERE_NVTX, RP_WHERE_LAUNCHES, RP_WHERE_REPEAT, RP_WHERE_CALLS };
struct rp_where {
    enum rp_where_kind kind;
    char *nvtx;        /* NVTX: glob over the range's message; `*` is the key's text */
    char *first;       /* LAUNCHES: kernel name or glob */
    char *last;        /* LAUNCHES */
    bool has_first_nth; /* LAUNCHES: without it, each match of `first` begins one ... */
    uint64_t first_nth; /* LAUNCHES: ... with it, just this match in the step, from 0 */
};                     /* REPEAT: the forward's launches come again. CALLS: reprise_segment_* */

struct rp_segment_rule {
    char *name;
    struct rp_where forward;
    struct rp_where replay;
    enum rp_pair pair;
    uint32_t replays; /* how often each forward may be replayed, at least 1; default 1 */
};

/* How a declared buffer is found. Exactly one form is in use. */
enum rp_locator_kind { RP_AT_KERNEL, RP_AT_GLOBAL, RP_AT_ALLOCATION, RP_AT_HOST_SYMBOL };
struct rp_locator {
    enum rp_locator_kind kind;
    char *kernel;     /* KERNEL: name or glob */
    uint32_t param;   /* KERNEL: position from 0 */
    bool has_field;   /* KERNEL: the pointer lies inside a by-value struct ... */
    uint64_t field;   /* ... at this byte offset */
    char *symbol;     /* GLOBAL, HOST_SYMBOL */
    uint64_t bytes;   /* ALLOCATION: exact size */
    bool has_nth;     /* ALLOCATION: without it, every allocation of that size */
    uint64_t nth;     /* ALLOCATION: from 0, in order of birth */
};

struct rp_buffer_rule {
    char *name;
    struct rp_locator at;
    uint64_t offset;  /* bytes from the located address */
    bool has_bytes;   /* without it, to the end of the allocation */
    uint64_t bytes;
};

struct rp_contract {
    struct rp_segment_rule *segments;
    size_t segment_count;
    struct rp_buffer_rule *buffers;
    size_t buffer_count;
    enum rp_state_rule state;   /* default declared */
    enum rp_policy policy;      /* default regions */
    char *plan_path;            /* with RP_POLICY_PLAN */
    bool has_budget;
    uint64_t budget;            /* bytes of device memory, job and layer together */
    char *step_nvtx;            /* NULL: the job names no steps */
    enum rp_on_violation on_violation; /* default stop */
    bool trust_ptx;             /* default false */
    bool assume_in_bounds;      /* default true */
    char **harmless;            /* buffer names whose differences are accepted */
    size_t harmless_count;
};

/* Reads and checks a contract. On failure *out is NULL and `message` holds one line
 * "FILE:LINE:COLUMN: what is wrong; the way out" (lines and columns from 1, in characters), or
 * "FILE: ..." for a file that can't be read. RP_INVALID: the contract is wrong; RP_IO: the
 * file can't be read. */
enum rp_status rp_contract_load(const char *path, struct rp_contract **out, char *message,
                                size_t message_size);
/* The same from text; `label` stands for the file name in messages. */
enum rp_status rp_contract_parse(const char *text, size_t length, const char *label,
                                 struct rp_contract **out, char *message, size_t message_size);
void rp_contract_destroy(struct rp_contract *contract);

enum rp_status rp_policy_parse(const char *text, enum rp_policy *policy); /* not PLAN */
const char *rp_policy_name(enum rp_policy policy);

#ifdef __cplusplus
}
#endif

#endif
