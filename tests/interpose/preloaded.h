/* SPDX-License-Identifier: Apache-2.0 */
/* For test programs that run with the listening layer preloaded over the fake driver. */
#ifndef RP_TESTS_INTERPOSE_PRELOADED_H
#define RP_TESTS_INTERPOSE_PRELOADED_H

#include "cuda/calls/calls.h"
#include "tests/interpose/fake.h"
#include "tests/interpose/listener.h"
#include "tests/tracker/check.h"

/* The layer and the driver of this process. */
struct listener *the_listener(void);
struct fake_state *the_fake(void);
const char *the_driver_path(void); /* REPRISE_DRIVER */

/* A pointer from dlsym as one to a function. */
soft_entry function_at(void *pointer);
/* A function of the preloaded layer, dlsym(RTLD_DEFAULT, name). */
soft_entry layer_function(const char *name);

/* Fails unless `pointer` is the layer's wrapper called `name`. */
void assert_wrapper(void *pointer, const char *name);
/* Fails unless `pointer` lies in an object whose file is called `object`. */
void assert_object(void *pointer, const char *object);
/* Calls the no-argument driver function at `pointer`, which is `id`, and fails unless both the
 * layer and the driver saw it. */
void assert_hit(void *pointer, enum rp_call_id id);

#endif
