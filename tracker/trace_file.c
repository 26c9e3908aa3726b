/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/trace_file.h"

#include "tracker/trace_format.h"
#include "tracker/trace_tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* A job may close every descriptor that it did not open, and then ours is its next file. A
 * high number makes that unlikely, looking before each write makes it harmless. */
#define LOWEST_FD 200

/* The first failure stays. */
static void note_failure(struct rp_trace_file *file, int error)
{
    if (file->error == 0)
        file->error = error;
}

static enum rp_status fail(struct rp_trace_file *file, int error)
{
    note_failure(file, error);
    errno = file->error;
    return error == ENOMEM ? RP_NO_MEMORY : RP_IO;
}

static bool is_ours(const struct rp_trace_file *file)
{
    struct stat now;

    return fstat(file->fd, &now) == 0 && now.st_dev == file->device && now.st_ino == file->inode;
}

/* All or nothing: what was written of a part is cut off again. */
static enum rp_status write_all(struct rp_trace_file *file, const uint8_t *bytes, size_t count)
{
    size_t done = 0;

    if (file->error != 0)
        return fail(file, file->error);
    if (!is_ours(file))
        return fail(file, EBADF);
    while (done < count) {
        ssize_t n = pwrite(file->fd, bytes + done, count - done, (off_t)(file->offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int error = n < 0 ? errno : ENOSPC;
            if (ftruncate(file->fd, (off_t)file->offset) != 0)
                error = errno;
            return fail(file, error);
        }
        done += (size_t)n;
    }
    file->offset += count;
    return RP_OK;
}

static enum rp_status pack_properties(struct rp_trace_file *file,
                                      const char *const (*properties)[2], size_t count)
{
    size_t room = 1;

    for (size_t i = 0; i < count; i++)
        room += strlen(properties[i][0]) + strlen(properties[i][1]) + 2 * RP_TRACE_MAX_VARINT;
    if (room > RP_TRACE_MAX_PROPERTIES / 2)
        return RP_INVALID;
    file->pairs = malloc(room);
    if (file->pairs == NULL)
        return RP_NO_MEMORY;
    uint8_t *end = file->pairs;
    for (size_t i = 0; i < count; i++) {
        end = rp_put_bytes(end, properties[i][0], strlen(properties[i][0]));
        end = rp_put_bytes(end, properties[i][1], strlen(properties[i][1]));
    }
    file->pairs_bytes = (size_t)(end - file->pairs);
    file->pair_count = count;
    return RP_OK;
}

/* The properties, and where a file goes on from another one, with which event. */
static enum rp_status write_header(struct rp_trace_file *file)
{
    static const char key[] = "first_event";
    char first[24];
    size_t room = RP_TRACE_HEADER_BYTES + file->pairs_bytes + sizeof(key) + sizeof(first) +
                  3 * RP_TRACE_MAX_VARINT;
    uint8_t *header = malloc(room);

    if (header == NULL)
        return RP_NO_MEMORY;
    uint8_t *body = header + RP_TRACE_HEADER_BYTES;
    uint8_t *end = rp_put_varint(body, file->pair_count + (file->events > 0));
    memcpy(end, file->pairs, file->pairs_bytes);
    end += file->pairs_bytes;
    if (file->events > 0) {
        int length = snprintf(first, sizeof(first), "%llu", (unsigned long long)file->events);
        end = rp_put_bytes(end, key, sizeof(key) - 1);
        end = rp_put_bytes(end, first, (size_t)length);
    }
    rp_trace_header_pack(header, body, (uint32_t)(end - body));
    enum rp_status status = write_all(file, header, (size_t)(end - header));
    free(header);
    return status;
}

static int move_up(int fd)
{
    int higher = fd < LOWEST_FD ? fcntl(fd, F_DUPFD_CLOEXEC, LOWEST_FD) : -1;

    if (higher < 0)
        return fd; /* the limit of descriptors is low: then it stays where it is */
    close(fd);
    return higher;
}

/* Opens file->path, which must not be there yet, and writes its header. */
static enum rp_status open_file(struct rp_trace_file *file)
{
    struct stat now;
    int fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return RP_IO;
    file->fd = move_up(fd);
    file->offset = 0;
    file->inode = 0;
    enum rp_status status = RP_IO;
    if (fstat(file->fd, &now) == 0) {
        file->device = now.st_dev;
        file->inode = now.st_ino;
        status = write_header(file);
    }
    if (status != RP_OK) {
        int error = errno;
        unlink(file->path);
        errno = error;
    }
    return status;
}

enum rp_status rp_trace_file_create(struct rp_trace_file *file, const char *path,
                                    const char *const (*properties)[2], size_t count)
{
    *file = (struct rp_trace_file){.fd = -1, .path = strdup(path)};
    enum rp_status status = file->path != NULL ? pack_properties(file, properties, count)
                                               : RP_NO_MEMORY;
    if (status == RP_OK)
        status = open_file(file);
    if (status != RP_OK) {
        int error = errno;
        rp_trace_file_release(file);
        errno = error;
    }
    return status;
}

static enum rp_status resume(struct rp_trace_file *file)
{
    struct stat now;

    file->fd = open(file->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &now) != 0)
        return RP_IO;
    errno = ESTALE;
    if (now.st_dev != file->device || now.st_ino != file->inode ||
        (uint64_t)now.st_size < file->offset)
        return RP_IO;
    return ftruncate(file->fd, (off_t)file->offset) == 0 ? RP_OK : RP_IO;
}

enum rp_status rp_trace_file_resume(struct rp_trace_file *file, const char *path, dev_t device,
                                    ino_t inode, uint64_t offset, uint64_t events)
{
    *file = (struct rp_trace_file){.fd = -1,
                                   .path = strdup(path),
                                   .device = device,
                                   .inode = inode,
                                   .offset = offset,
                                   .events = events};
    enum rp_status status = file->path != NULL ? resume(file) : RP_NO_MEMORY;
    if (status != RP_OK) {
        int error = errno;
        file->inode = 0; /* whatever was opened is to be closed */
        rp_trace_file_release(file);
        errno = error;
    }
    return status;
}

/* ---- a limit of bytes ------------------------------------------------------------- */

void rp_trace_file_limit(struct rp_trace_file *file, enum rp_trace_keep keep, uint64_t limit)
{
    file->keep = keep;
    file->limit = limit;
}

char *rp_trace_file_older(const char *path)
{
    static const char suffix[] = ".rpt";
    size_t length = strlen(path), tail = sizeof(suffix) - 1, size = length + sizeof(".0");
    char *older = malloc(size);

    if (older == NULL)
        return NULL;
    if (length >= tail && strcmp(path + length - tail, suffix) == 0)
        length -= tail;
    snprintf(older, size, "%.*s.0%s", (int)length, path, path + length);
    return older;
}

static enum rp_status write_end(struct rp_trace_file *file)
{
    uint8_t mark[RP_TRACE_CHUNK_BYTES];
    struct rp_trace_chunk chunk = {
        .flags = RP_TRACE_CHUNK_END, .first_event = file->events, .check = rp_trace_hash(NULL, 0)};

    rp_trace_chunk_pack(mark, &chunk);
    return write_all(file, mark, sizeof(mark));
}

/* Closes the file, puts it aside, and begins the next. To free what the one before it takes is
 * slow, and done first: who is killed between the name's change and the next file has no file. */
static enum rp_status turn(struct rp_trace_file *file)
{
    char *older = rp_trace_file_older(file->path);
    uint64_t bytes = file->offset + RP_TRACE_CHUNK_BYTES;

    if (older == NULL)
        return fail(file, ENOMEM);
    enum rp_status status = write_end(file);
    if (status == RP_OK) {
        close(file->fd);
        file->fd = -1;
        unlink(older);
        status = rename(file->path, older) == 0 ? open_file(file) : RP_IO;
        if (status != RP_OK)
            note_failure(file, errno);
    }
    file->older_bytes = bytes;
    free(older);
    return status;
}

/* The chunk of one gap event: its definition, its number, and what zstd adds. */
#define LAST_WORD_BYTES (RP_TRACE_CHUNK_BYTES + 192)

/* Room for `bytes` more, for the last word and for the end mark. */
static enum rp_status make_room(struct rp_trace_file *file, size_t bytes)
{
    uint64_t need = file->offset + bytes + RP_TRACE_CHUNK_BYTES;
    uint64_t last = file->has_last_word ? 0 : LAST_WORD_BYTES;

    if (file->keep == RP_TRACE_KEEP_FIRST && need + last > file->limit) {
        file->is_full = file->error == 0;
        return fail(file, EFBIG);
    }
    if (file->keep == RP_TRACE_KEEP_LAST && need > file->limit / 2 && file->events > 0)
        return turn(file);
    return RP_OK;
}

/* ---- chunks ----------------------------------------------------------------------- */

/* A chunk that is smaller and has fewer events is counted as quickly as a tally is read. */
#define WORTH_A_TALLY ((size_t)8 << 10)
#define EVENTS_WORTH_A_TALLY 4096u

static size_t chunk_bound(const struct rp_trace_buffer *records)
{
    return RP_TRACE_CHUNK_BYTES + ZSTD_compressBound(records->used);
}

static enum rp_status reserve_out(struct rp_trace_file *file, size_t bytes)
{
    if (file->zstd == NULL)
        file->zstd = ZSTD_createCCtx();
    if (file->out_capacity < bytes) {
        uint8_t *out = realloc(file->out, bytes);
        if (out == NULL)
            return RP_NO_MEMORY;
        file->out = out;
        file->out_capacity = bytes;
    }
    return file->zstd != NULL ? RP_OK : RP_NO_MEMORY;
}

/* Packs sealed records at file->out + at, behind their header; returns the bytes of both, 0 when
 * there is no memory. */
static size_t pack(struct rp_trace_file *file, size_t at, const struct rp_trace_buffer *records,
                   struct rp_trace_chunk chunk, int level)
{
    if (reserve_out(file, at + chunk_bound(records)) != RP_OK)
        return 0;
    uint8_t *frame = file->out + at + RP_TRACE_CHUNK_BYTES;
    size_t stored = ZSTD_compressCCtx(file->zstd, frame, ZSTD_compressBound(records->used),
                                      records->data, records->used, level);
    if (ZSTD_isError(stored))
        return 0;
    chunk.stored_bytes = (uint32_t)stored;
    chunk.raw_bytes = records->used;
    chunk.first_event = file->events;
    chunk.time_ns = records->first_ns;
    chunk.check = rp_trace_hash(frame, stored);
    rp_trace_chunk_pack(file->out + at, &chunk);
    return RP_TRACE_CHUNK_BYTES + stored;
}

/* Packs the tally of a chunk behind it. Returns its bytes, 0 for none: it is a help, and nothing
 * depends on it. */
static size_t pack_tally(struct rp_trace_file *file, const struct rp_trace_buffer *buffer,
                         size_t bytes, int level)
{
    bool is_small = bytes < WORTH_A_TALLY && buffer->events < EVENTS_WORTH_A_TALLY;
    if (buffer->tally == NULL || is_small ||
        rp_trace_tally_pack(buffer->tally, buffer, &file->tally_coder, &file->tally) != RP_OK)
        return 0;
    const struct rp_trace_chunk chunk = {
        .flags = RP_TRACE_CHUNK_TALLY, .event_count = buffer->events, .thread = buffer->thread};
    return pack(file, bytes, file->tally, chunk, level);
}

enum rp_status rp_trace_file_append(struct rp_trace_file *file, struct rp_trace_buffer *buffer,
                                    int level)
{
    if (file->error != 0)
        return fail(file, file->error);
    rp_trace_seal(buffer);
    const struct rp_trace_chunk chunk = {.event_count = buffer->events, .thread = buffer->thread};
    size_t bytes = pack(file, 0, buffer, chunk, level);
    if (bytes == 0)
        return fail(file, ENOMEM);
    size_t tally = pack_tally(file, buffer, bytes, level);
    if (make_room(file, bytes + tally) != RP_OK)
        return fail(file, file->error);
    enum rp_status status = tally > 0 ? write_all(file, file->out + bytes, tally) : RP_OK;
    if (status == RP_OK)
        status = write_all(file, file->out, bytes);
    if (status == RP_OK) {
        file->events += buffer->events;
        file->bytes_raw += buffer->used;
    }
    return status;
}

void rp_trace_file_fill(struct rp_trace_file *file)
{
    file->is_full = file->error == 0;
    note_failure(file, EFBIG);
}

bool rp_trace_file_last_word(struct rp_trace_file *file)
{
    if (!file->is_full)
        return false;
    file->is_full = false;
    file->has_last_word = true;
    file->error = 0;
    return true;
}

enum rp_status rp_trace_file_finish(struct rp_trace_file *file)
{
    /* What reached its limit is whole as far as it goes. */
    if (file->is_full)
        file->error = 0;
    enum rp_status status = write_end(file);
    int error = errno;
    rp_trace_file_release(file);
    errno = error;
    return status;
}

void rp_trace_file_release(struct rp_trace_file *file)
{
    if (file->fd >= 0 && (file->inode == 0 || is_ours(file)))
        close(file->fd);
    ZSTD_freeCCtx(file->zstd);
    free(file->out);
    free(file->tally);
    rp_trace_coder_release(&file->tally_coder);
    free(file->path);
    free(file->pairs);
    file->path = NULL;
    file->pairs = NULL;
    file->fd = -1;
    file->zstd = NULL;
    file->out = NULL;
    file->tally = NULL;
    file->out_capacity = 0;
}
