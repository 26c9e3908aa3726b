/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON document in memory of its own.
 *
 * jansson does not survive a refused allocation everywhere (its lexer loses the character that it
 * wanted to keep, and then asserts that it has it), and the device is in a foreign process whose
 * memory may be at its end. So all memory that a document can need is taken beforehand, in one
 * piece, and refused in one place. Documents are small.
 *
 * One document is parsed at a time; jansson's allocation functions are those of the device's own
 * copy of it. */
#ifndef RP_CUDA_SOFT_CLOCK_DOCUMENT_H
#define RP_CUDA_SOFT_CLOCK_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SOFT_DOCUMENT_BYTES (64u << 10) /* the longest that is read */

enum soft_document_status {
    SOFT_DOCUMENT_READ,
    SOFT_DOCUMENT_ABSENT,    /* no such file, or it can't be read */
    SOFT_DOCUMENT_LONG,      /* more than SOFT_DOCUMENT_BYTES */
    SOFT_DOCUMENT_BAD,       /* no JSON: `error` says where and why */
    SOFT_DOCUMENT_NO_MEMORY,
};

struct soft_document {
    json_t *root; /* belongs to the document: not to be given back */
    char *room;
};

/* Parses a text, or the file at `path`. After SOFT_DOCUMENT_READ the document is closed by the
 * caller. */
enum soft_document_status soft_document_parse(struct soft_document *document, const char *text,
                                              json_error_t *error);
enum soft_document_status soft_document_load(struct soft_document *document, const char *path,
                                             json_error_t *error);
void soft_document_close(struct soft_document *document);

#endif
