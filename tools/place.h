/* SPDX-License-Identifier: Apache-2.0 */
/* Where the other parts of this reprise lie: beside its own executable, either in a build
 * folder or as installed. Nothing is searched anywhere else, so that a build never uses
 * another version's pieces. */
#ifndef RP_TOOLS_PLACE_H
#define RP_TOOLS_PLACE_H

#include <limits.h>
#include <stdbool.h>

enum rp_part { RP_PART_LAYER, RP_PART_NOP, RP_PART_LINK, RP_PART_SOFT_DEVICE };

const char *rp_part_name(enum rp_part part);
/* The part's absolute path with links resolved; false, with the place where it was missed
 * in `path`, when it is not there. */
bool rp_place_of(enum rp_part part, char path[PATH_MAX]);

#endif
