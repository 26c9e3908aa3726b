/* SPDX-License-Identifier: Apache-2.0 */
/* A `stdin` of the object's own, hidden from everyone else.
 *
 * Distributions build the static libjansson for executables: its json_loadf reaches `stdin`
 * in a way that a shared object cannot resolve outside itself. We never call that function;
 * it only compares its argument with `stdin` to name it in messages. */
extern void *stdin __attribute__((visibility("hidden")));
void *stdin;
