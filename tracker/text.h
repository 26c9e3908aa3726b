/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that people write and read: sizes, globs, slips of the keyboard, odd bytes.
 *
 * Pure functions over their arguments; nothing here allocates or keeps state. */
#ifndef RP_TRACKER_TEXT_H
#define RP_TRACKER_TEXT_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "64KiB", "1.5GiB", "4096" -> bytes. RP_INVALID for anything else, and for what is not a
 * whole number of bytes or does not fit 63 bits. */
enum rp_status rp_size_parse(const char *text, uint64_t *bytes);

/* The way back, for people: "64 KiB", "1.5 GiB", "1000 B", in the largest unit in which at
 * least one stands before the point; rounded to one digit behind it. Returns `out`. */
#define RP_SIZE_TEXT 48
char *rp_size_format(char out[RP_SIZE_TEXT], uint64_t bytes);
/* The way back without a loss, as rp_size_parse reads it: "64KiB", "1536MiB", "1000", in the
 * largest unit in which it is a whole number. Returns `out`. */
char *rp_size_exact(char out[RP_SIZE_TEXT], uint64_t bytes);

/* Shell-style match of a whole text with `*` and `?` (one character of UTF-8). Earlier `*`
 * match as little as they can. When `key` is not NULL it receives the text that the first
 * `*` matched ("" without one or without a match), cut to key_size. */
bool rp_glob_match(const char *pattern, const char *text, char *key, size_t key_size);

/* The candidate nearest to `word` by edit distance (neighbours swapped count once, case
 * does not count), or NULL when none is near enough to be a likely slip of the keyboard.
 * Serves every "did you mean". */
const char *rp_nearest(const char *word, const char *const *candidates, size_t count);

/* `text` fit for a terminal or a JSON file: control characters and bytes that are not UTF-8
 * become \n, \t or \xNN, characters that turn the direction of writing or can't be seen
 * \uNNNN; all else stays. What does not fit ends in "...". Returns `out`,
 * always terminated and always valid UTF-8; out_size is at least 4. */
char *rp_text_escape(char *out, size_t out_size, const char *text, size_t length);
/* The bytes at its beginning that rp_text_escape leaves as they are; it may be more than these. */
size_t rp_text_ordinary(const char *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
