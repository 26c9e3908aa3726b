/* SPDX-License-Identifier: Apache-2.0 */
/* Where a program's operations run: the streams of two contexts, and the job's host threads.
 *
 * Streams 0 to 3 are of the first context: its legacy default stream, and three that ignore it. 4
 * to 7 are the same of the second, which is on the second device where there is one. 8 is the
 * calling thread's own default stream in the first. Events, of either context, have numbers. */
#ifndef RP_TESTS_SCENARIOS_PLACE_H
#define RP_TESTS_SCENARIOS_PLACE_H

#include <cuda.h>

#include <stdbool.h>
#include <stddef.h>

enum { MAX_STREAMS = 9, MAX_EVENTS = 16, MAX_THREADS = 4 };

/* Once, after open_driver, on the thread whose number is 0. */
void places_open(void);
/* All work of all threads and of both contexts is done. */
void places_drain(void);

/* Makes the stream's context the calling thread's, and gives the stream, respectively one that
 * stands for it in a capture, or its context's module. */
CUstream place_stream(int stream);
/* Whether others wait for it: what it copies is known again. */
bool place_is_default(int stream);
CUstream place_capturing(int stream);
CUmodule place_module(int stream);
CUdeviceptr place_allocate(bool second, size_t bytes); /* zeroed, in the first or second context */
void place_record(int event, int stream);
void place_wait(int event, int stream);

/* Runs work(what) on a thread, after all that it was given before; on thread 0, the caller, at
 * once. Comes back when it is done, or with `wait` false at once. */
typedef void (*place_fn)(const void *what);
void place_do(int thread, bool wait, place_fn work, const void *what);
void place_join(void); /* until every thread has done what it was given */

#endif
