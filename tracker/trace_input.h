/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes front to back, from anything that can be read, through a window that grows as far as it
 * must. Internal to tracker/. Not thread-safe. */
#ifndef RP_TRACKER_TRACE_INPUT_H
#define RP_TRACKER_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_INPUT_READ_BYTES ((size_t)64 << 10)

struct rp_trace_input {
    int fd;
    bool is_stdin; /* not ours to close */
    int error;     /* errno of a failed read */
    bool eof;
    bool is_named_pipe; /* refused: to open one is to wait for who writes to it */
    bool grows; /* its end is not yet the end: there may be more when it is read again */

    uint8_t *data; /* the window: bytes [begin, end) of it are read but not yet used */
    size_t begin, end, capacity;
    uint64_t offset; /* of `begin` in the file */
};

/* "-" is standard input. False, with `error` set. */
bool rp_input_open(struct rp_trace_input *input, const char *path);
/* Nothing happens the second time. */
void rp_input_release(struct rp_trace_input *input);

/* Reads until the window holds `bytes`, or the input ends, here and now if it grows, or fails.
 * Returns what it holds. */
size_t rp_input_want(struct rp_trace_input *input, size_t bytes);

static inline const uint8_t *rp_input_window(const struct rp_trace_input *input)
{
    return input->data + input->begin;
}

/* Uses up what the window holds of these bytes. */
static inline void rp_input_skip(struct rp_trace_input *input, size_t bytes)
{
    input->begin += bytes;
    input->offset += bytes;
}

#endif
