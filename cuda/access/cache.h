/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs kept on disk between runs, by the content that they were made from.
 *
 * A folder has a fixed number of places, each a file of bounded size; a proof's key says which
 * place is its own, and the latest to come there stays. So the folder never grows past 256 MiB
 * and nothing has to be tidied. A file is written beside its place and renamed into it: whoever
 * reads finds a whole one, of whichever writer. What is read counts only when its key, the
 * analyser's version and the checksum of all its bytes are right and nobody but the user could
 * have written it. There is no lock, and no file stays open.
 *
 * Functions may be called by any thread and process at a time. They make system calls. */
#ifndef RP_CUDA_ACCESS_CACHE_H
#define RP_CUDA_ACCESS_CACHE_H

#include "cuda/access/access.h"

enum { RP_CACHE_PLACES = 2048, RP_CACHE_PLACE_BYTES = 128 * 1024 };

/* Made of everything that the proof follows from, the analyser apart. */
struct rp_cache_key {
    uint64_t low, high;
};

/* RP_NOT_FOUND: not kept, or by another analyser. RP_DAMAGED: its file is no good. */
enum rp_status rp_cache_find(const char *folder, const struct rp_cache_key *key,
                             struct rp_proof **out);
/* Makes the folder (mode 0700) where it is missing, and the one above it. RP_IO when it can't be
 * kept; RP_UNSUPPORTED: it is too large. */
enum rp_status rp_cache_keep(const char *folder, const struct rp_cache_key *key,
                             const struct rp_proof *proof);

/* Where the user's proofs are kept, from the environment: REPRISE_CACHE names the folder by an
 * absolute path, or turns keeping off by anything else; without it, reprise under XDG_CACHE_HOME
 * or ~/.cache. NULL when off, and always in a process with more rights than its user. The caller
 * frees it. */
char *rp_cache_folder(void);

#endif
