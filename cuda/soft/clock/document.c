/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/clock/document.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The room holds the text and then what jansson makes of it. A byte of text becomes at most a
 * value with its place in a container, less than 256 bytes; what is not used costs nothing. */
enum { TEXT_ROOM = SOFT_DOCUMENT_BYTES + 64, ROOM = TEXT_ROOM + 256 * SOFT_DOCUMENT_BYTES };

/* What jansson is given pieces of: its functions know no context. */
static char *room;
static size_t used;

static void *take(size_t bytes)
{
    const size_t rounded = (bytes + 15) & ~(size_t)15;
    if (rounded < bytes || rounded > ROOM - used)
        return NULL;
    used += rounded;
    return room + used - rounded;
}

static void keep(void *piece)
{
    (void)piece; /* all goes with the room */
}

static bool open_room(struct soft_document *document)
{
    void *at = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *document = (struct soft_document){.room = at == MAP_FAILED ? NULL : at};
    return document->room != NULL;
}

void soft_document_close(struct soft_document *document)
{
    if (document->room != NULL)
        munmap(document->room, ROOM);
    *document = (struct soft_document){0};
}

/* Of the text at the start of the room. */
static enum soft_document_status parse(struct soft_document *document, size_t length,
                                       json_error_t *error)
{
    json_malloc_t usual_malloc;
    json_free_t usual_free;
    json_get_alloc_funcs(&usual_malloc, &usual_free);
    room = document->room;
    used = TEXT_ROOM;
    json_set_alloc_funcs(take, keep);
    document->root = json_loadb(document->room, length, JSON_REJECT_DUPLICATES, error);
    json_set_alloc_funcs(usual_malloc, usual_free);
    if (document->root != NULL)
        return SOFT_DOCUMENT_READ;
    soft_document_close(document);
    return SOFT_DOCUMENT_BAD;
}

enum soft_document_status soft_document_parse(struct soft_document *document, const char *text,
                                              json_error_t *error)
{
    const size_t length = strlen(text);
    if (length > SOFT_DOCUMENT_BYTES)
        return SOFT_DOCUMENT_LONG;
    if (!open_room(document))
        return SOFT_DOCUMENT_NO_MEMORY;
    memcpy(document->room, text, length);
    return parse(document, length, error);
}

/* Up to one byte more than a document may have; -1 when the file can't be read. */
static ssize_t read_file(const char *path, char *to)
{
    ssize_t length = 0, got = 1;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    while (got > 0 && length <= (ssize_t)SOFT_DOCUMENT_BYTES) {
        got = read(file, to + length, SOFT_DOCUMENT_BYTES + 1 - (size_t)length);
        length += got > 0 ? got : 0;
    }
    close(file);
    return got < 0 ? -1 : length;
}

enum soft_document_status soft_document_load(struct soft_document *document, const char *path,
                                             json_error_t *error)
{
    if (!open_room(document))
        return SOFT_DOCUMENT_NO_MEMORY;
    const ssize_t length = read_file(path, document->room);
    if (length >= 0 && length <= (ssize_t)SOFT_DOCUMENT_BYTES)
        return parse(document, (size_t)length, error);
    soft_document_close(document);
    return length < 0 ? SOFT_DOCUMENT_ABSENT : SOFT_DOCUMENT_LONG;
}
