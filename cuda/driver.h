/* SPDX-License-Identifier: Apache-2.0 */
/* The boundary before CUDA: the few driver operations that the layer itself performs.
 *
 * Two implementations: cuda/driver_real.c over the real entry points (a GPU's driver or the
 * software device, it cannot tell them apart), and cuda/driver_host.c over plain host
 * memory with in-order streams, for unit tests. Nothing else in the layer calls the driver
 * on its own account.
 *
 * None of these operations synchronises the device or a stream, none may be called while
 * `stream` captures. Memory is taken in the context that is current on the calling thread; what
 * has to do with a stream is done in that stream's own. Handles are the driver's own, as
 * integers; a stream's may be marked with its context. */
#ifndef RP_CUDA_DRIVER_H
#define RP_CUDA_DRIVER_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t rp_device_ptr;
typedef uint64_t rp_stream;
typedef uint64_t rp_event_handle;

struct rp_driver {
    /* Device memory of the layer's own. RP_NO_MEMORY when the device is full. */
    enum rp_status (*alloc)(void *self, uint64_t bytes, rp_device_ptr *out);
    enum rp_status (*free)(void *self, rp_device_ptr ptr);
    /* Asynchronous in stream order; ranges never overlap. */
    enum rp_status (*copy)(void *self, rp_device_ptr to, rp_device_ptr from, uint64_t bytes,
                           rp_stream stream);
    /* Events without timing, each for records in `stream` and others of its context. `record` may
     * be repeated on one event. */
    enum rp_status (*event_create)(void *self, rp_stream stream, rp_event_handle *out);
    enum rp_status (*event_destroy)(void *self, rp_event_handle event);
    enum rp_status (*event_record)(void *self, rp_event_handle event, rp_stream stream);
    /* Later work in `stream` waits for the event's last record; the host does not. */
    enum rp_status (*stream_wait)(void *self, rp_stream stream, rp_event_handle event);
    /* Events with timing, for measuring; recorded and destroyed like the others. */
    enum rp_status (*timer_create)(void *self, rp_stream stream, rp_event_handle *out);
    /* True once the event's last record is done, without waiting for it. An error counts as
     * not done. Not to be asked while any stream captures. */
    bool (*event_done)(void *self, rp_event_handle event);
    /* Nanoseconds from one done timer to another, of one context. */
    enum rp_status (*elapsed)(void *self, rp_event_handle from, rp_event_handle to, int64_t *ns);
    /* Whether `stream` records into a graph instead of running. Where the driver does not say,
     * `*yes` is true and the status an error: what must not be captured then can't be done, and
     * what must not be left out can't be left out. */
    enum rp_status (*capturing)(void *self, rp_stream stream, bool *yes);
    void *self;
};

#endif
