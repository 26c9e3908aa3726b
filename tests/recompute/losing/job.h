/* SPDX-License-Identifier: Apache-2.0 */
/* The losing job: forwards whose memory or code goes before their outputs are used, or has no room.
 *
 * It knows nothing of reprise. A run prints what the outputs hold in the end, and one under the
 * layer prints the same. Each run is one case: a function case_NAME in the file of its theme, and
 * a row below. */
#ifndef RP_TESTS_RECOMPUTE_LOSING_JOB_H
#define RP_TESTS_RECOMPUTE_LOSING_JOB_H

#include "tests/recompute/cases.h"

/* X(name in the command line, function's name) */
#define CASES(X)                                                                                  \
    X("freed", freed) X("under", under) X("pool", pool) X("mapped", mapped)                       \
    X("unloaded", unloaded) X("in-another-context", in_another_context)                           \
    X("copied", copied) X("rows", copied_by_rows) X("pinned", pinned) X("exported", exported)     \
    X("made-once", made_once) X("called", called) X("opened", opened) X("timed", timed)           \
    X("counted", counted)                                                                         \
    X("refused", refused) X("half-refilled", half_refilled) X("evaluated", evaluated)             \
    X("asked", asked) X("neighbour", neighbour) X("block", block) X("large-block", large_block)   \
    X("larger", larger) X("asked-until-refused", asked_until_refused)                             \
    X("asked-in-pieces", asked_in_pieces) X("filled-until-refused", filled_until_refused)         \
    X("loaded-late", loaded_late) X("given-to-a-card", given_to_a_card) X("failing", failing)     \
    X("loader", loader) X("stepped", stepped) X("stepped-slowly", stepped_slowly)                 \
    X("looked-at-slowly", looked_at_slowly)                                                       \
    X("under-capture", under_capture) X("used-while-captured", used_while_captured)               \
    X("used-while-capturing", used_while_capturing)                                               \
    X("freed-while-captured", freed_while_captured)                                               \
    X("given-while-captured", given_while_captured)                                               \
    X("context-lost-while-capturing", context_lost_while_capturing)                               \
    X("stream-lost-while-capturing", stream_lost_while_capturing)                                 \
    X("ended-elsewhere", ended_elsewhere)
#define DECLARE(name, function) void case_##function(void);
CASES(DECLARE)
#undef DECLARE

enum { WORDS = 4096, BYTES = WORDS * 4 };

extern const char *kernels; /* the path of their PTX */
extern CUmodule module;     /* of these */
extern CUstream stream;     /* of all work that names no other */

/* BYTES of memory, with `value` in each word when it returns. */
CUdeviceptr device_words(unsigned value);
/* out[i] = in[i] * factor + i */
void affine(CUdeviceptr out, CUdeviceptr in, unsigned factor);
CUresult try_affine(CUdeviceptr out, CUdeviceptr in, unsigned factor);
/* A forward of one launch, in a range of that name. Behind it the output may be dropped. */
void forward(const char *name, CUdeviceptr out, CUdeviceptr in);
/* Prints a digest of what is there. */
void show(const char *name, CUdeviceptr memory);

#endif
