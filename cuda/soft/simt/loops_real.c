/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/simt/bits.h"
#include "cuda/soft/simt/convert.h"
#include "cuda/soft/simt/table.h"
#include "cuda/soft/simt/loops.h"

#include "cuda/soft/simt/real.def"
