/* SPDX-License-Identifier: Apache-2.0 */
/* The probe: how good features are that nobody has shown a label but the contrast.
 *
 * The network stays as it is; its classifier alone is trained, on the features of all samples at
 * once. */
#ifndef DIGITS_PROBE_H
#define DIGITS_PROBE_H

#include "model.h"

/* Returns the last loss. */
float probe_train(struct model *model, const struct samples *samples, int steps);

#endif
