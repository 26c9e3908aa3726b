/* SPDX-License-Identifier: Apache-2.0 */
/* For jobs that can be changed: naming segments by calls instead of NVTX ranges.
 *
 * The functions live in the preloaded object, so look them up with dlsym(RTLD_DEFAULT, ...)
 * or declare them weak: without reprise they are not there. Each returns 0, or -1 when the
 * contract has no segment of that name found by calls, or no segment is open. Thread-safe;
 * begin and end on one thread, properly nested. */
#ifndef REPRISE_H
#define REPRISE_H

#ifdef __cplusplus
extern "C" {
#endif

/* `key` tells instances of one segment apart for "pair": "key"; may be NULL. */
__attribute__((weak)) int reprise_segment_begin(const char *name, const char *key);
__attribute__((weak)) int reprise_replay_begin(const char *name, const char *key);
__attribute__((weak)) int reprise_segment_end(void); /* of either */

#ifdef __cplusplus
}
#endif

#endif
