/* SPDX-License-Identifier: Apache-2.0 */
/* What a run leaves behind, for comparing runs. */
#ifndef DIGITS_STATE_H
#define DIGITS_STATE_H

#include "model.h"

/* Prints a digest of each pool of state, and writes their bytes to `dump_path` unless NULL. */
void state_print(const struct model *model, const char *dump_path);

#endif
