/* SPDX-License-Identifier: Apache-2.0 */
/* cuda/driver.h over the real entry points. */
#ifndef RP_CUDA_DRIVER_REAL_H
#define RP_CUDA_DRIVER_REAL_H

#include "cuda/driver.h"

struct rp_real;

/* `real` must stay valid as long as the driver is used. */
struct rp_driver rp_driver_real(const struct rp_real *real);

#endif
