/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that several writes have made alike, as somebody has seen who compared them: who looks for
 * the one may find the other.
 *
 * Asked by way of rp_versions, see rp_versions_alike. The latest 1,024 are remembered. Not
 * thread-safe. */
#ifndef RP_TRACKER_CONTENT_H
#define RP_TRACKER_CONTENT_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Which bytes of what some write made: from `begin` on, see rp_writer's `place`. */
struct rp_provenance {
    uint64_t maker; /* its version; 0: not known */
    uint64_t begin, bytes;
};

struct rp_contents;

/* *contents is made when it is NULL. */
enum rp_status rp_contents_alike(struct rp_contents **contents, struct rp_provenance a,
                                 struct rp_provenance b);

/* Visits whoever has made the same bytes, the latest first, and not what is asked for. Returning
 * anything but RP_OK stops the walk and is returned. `contents` may be NULL. */
typedef enum rp_status (*rp_content_fn)(void *ctx, struct rp_provenance other);
enum rp_status rp_contents_each(const struct rp_contents *contents, struct rp_provenance of,
                                rp_content_fn visit, void *ctx);

#endif
