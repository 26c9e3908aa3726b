/* SPDX-License-Identifier: Apache-2.0 */
/* The hazard kinds as scenes. Each chooses its axes at random and fills in a scene's parts. */
#ifndef RP_TESTS_SCENARIOS_KINDS_H
#define RP_TESTS_SCENARIOS_KINDS_H

#include "tests/scenarios/scene.h"

struct kind {
    const char *name;
    void (*choose)(struct scene *scene); /* the parts and axes */
    scene_fn setup;                      /* the kind's own buffers */
    void (*write)(struct scene *scene);  /* all of it, instead of scene_write(); or NULL */
};

extern const struct kind state_kinds[];  /* H01 H02 H03 H04 H05 H06 H07 H08; ends with no name */
extern const struct kind order_kinds[];  /* H09 H10 H11 H12 */
extern const struct kind shape_kinds[];  /* H13 H14 */
extern const struct kind report_kinds[]; /* H15 */

extern const struct kind wild_kind;      /* no hazard kind: programs without a theme */

#endif
