/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows. Where memory ends it stays cut, and says so at the end. */
#ifndef RP_TOOLS_BUILDER_H
#define RP_TOOLS_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_builder {
    char *text; /* zero-terminated once anything was added, else NULL */
    size_t length, room;
    bool cut;
};

void rp_builder_add(struct rp_builder *builder, const char *text, size_t length);
void rp_builder_puts(struct rp_builder *builder, const char *text);
void rp_builder_char(struct rp_builder *builder, char one);
/* Numbers without a format string: what is printed most. */
void rp_builder_decimal(struct rp_builder *builder, uint64_t number);
void rp_builder_signed(struct rp_builder *builder, int64_t number);
void rp_builder_hex(struct rp_builder *builder, uint64_t number); /* with its 0x */
__attribute__((format(printf, 2, 3))) void rp_builder_printf(struct rp_builder *builder,
                                                             const char *format, ...);
/* Text from a job, fit for a terminal: control characters and broken UTF-8 are escaped. */
void rp_builder_escaped(struct rp_builder *builder, const char *text, size_t length);
/* The same as a JSON string, with its quotes. */
void rp_builder_json(struct rp_builder *builder, const char *text, size_t length);

/* Room for `most` bytes, for who writes them itself (pen.h); NULL when memory ended. `end` is the
 * place behind what it wrote. */
char *rp_builder_room(struct rp_builder *builder, size_t most);
void rp_builder_wrote(struct rp_builder *builder, char *end);

/* Empties, keeping the storage; frees it. */
void rp_builder_clear(struct rp_builder *builder);
void rp_builder_release(struct rp_builder *builder);

#endif
