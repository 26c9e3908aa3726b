/* SPDX-License-Identifier: Apache-2.0 */
/* The file that a trace is written to: header, chunks, end mark. Internal to tracker/.
 *
 * One thread at a time. After the first failure the file ends behind its last whole chunk
 * and everything later is refused with the same errno. */
#ifndef RP_TRACKER_TRACE_FILE_H
#define RP_TRACKER_TRACE_FILE_H

#include "tracker/trace_encode.h"

#include <sys/types.h>

struct rp_trace_file {
    char *path;
    uint8_t *pairs; /* the properties, packed */
    size_t pairs_bytes, pair_count;
    enum rp_trace_keep keep;
    uint64_t limit;       /* bytes on disk, with keep other than RP_TRACE_KEEP_ALL */
    uint64_t older_bytes; /* of the file before this one, with RP_TRACE_KEEP_LAST */
    int fd;
    dev_t device;
    ino_t inode;
    int error; /* errno of the first failure, 0 while all is well */
    bool is_full; /* and that failure was its own limit */
    bool has_last_word; /* what was kept free of the limit may be used */
    uint64_t offset;
    uint64_t events; /* in the chunks written so far */
    uint64_t bytes_raw;
    struct ZSTD_CCtx_s *zstd;
    uint8_t *out; /* a chunk's header and its frame, then those of its tally */
    size_t out_capacity;
    struct rp_trace_coder tally_coder;
    struct rp_trace_buffer *tally; /* the records of the chunk's tally */
};

/* Creates `path`, mode 0600, never following a link, never overwriting, and writes the
 * header. RP_IO with errno on failure; then no file is left. */
enum rp_status rp_trace_file_create(struct rp_trace_file *file, const char *path,
                                    const char *const (*properties)[2], size_t count);
/* Goes on, behind `offset`, in the file that is `inode`, with the event `events`: cuts off what
 * stands there, the beginning of a chunk that whoever wrote it could not end. RP_IO with errno, and
 * then the file is as it was, also when the name is another file's now. It knows no properties: it
 * can't be put aside for a next one. */
enum rp_status rp_trace_file_resume(struct rp_trace_file *file, const char *path, dev_t device,
                                    ino_t inode, uint64_t offset, uint64_t events);
/* Where a file of this name is put when the next one goes on: "x/trace-7.rpt" to "x/trace-7.0.rpt",
 * which sorts before it. To be freed; NULL without memory. */
char *rp_trace_file_older(const char *path);
/* From now on the file takes at most `limit` bytes. With RP_TRACE_KEEP_FIRST it fails with EFBIG
 * where it would take more. With RP_TRACE_KEEP_LAST a file of half the limit is closed and
 * renamed, NAME.rpt to NAME.0.rpt, in place of the one before it, and a new one goes on, whose
 * property "first_event" says with which event. */
void rp_trace_file_limit(struct rp_trace_file *file, enum rp_trace_keep keep, uint64_t limit);
/* Seals the buffer and writes it as a chunk. */
enum rp_status rp_trace_file_append(struct rp_trace_file *file, struct rp_trace_buffer *buffer,
                                    int level);
/* Whether the file refused chunks because it reached its limit. Then it takes one more, a small one
 * that tells how many events it lacks: room for it was kept. */
bool rp_trace_file_last_word(struct rp_trace_file *file);
/* For who goes on in a file that had reached its limit: nothing but that last word fits. */
void rp_trace_file_fill(struct rp_trace_file *file);
/* Writes the end mark, unless the file has failed, and closes. */
enum rp_status rp_trace_file_finish(struct rp_trace_file *file);
/* Closes and frees without writing; nothing happens the second time. */
void rp_trace_file_release(struct rp_trace_file *file);

#endif
