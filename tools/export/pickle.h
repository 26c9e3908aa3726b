/* SPDX-License-Identifier: Apache-2.0 */
/* Python pickles, protocol 2, as far as a tree of dictionaries, lists, numbers and texts needs
 * it: https://docs.python.org/3/library/pickle.html, pickletools.py for the opcodes.
 *
 * A dictionary's members are a text and a value each. A list says before each item that one
 * comes, and closes its batches as Python does, every 1,000: readers that spread a batch over
 * call arguments overflow their stack on longer ones. Texts are UTF-8; what is not is escaped. */
#ifndef RP_TOOLS_EXPORT_PICKLE_H
#define RP_TOOLS_EXPORT_PICKLE_H

#include "tools/builder.h"
#include "tools/roster.h"

/* A pickle, or a part of one that is written elsewhere and joined later. Texts that were written
 * before are only named again, by their number in the reader's memo; parts need numbers of their
 * own, since the reader may meet them in another order. */
struct rp_pickle {
    struct rp_builder *out;
    struct rp_roster texts; /* those that have been written */
    uint32_t first;        /* number of the first of them in the memo */
};

struct rp_pickle_list {
    size_t open; /* items in the batch that is not closed yet */
};

void rp_pickle_begin(struct rp_pickle *pickle);
void rp_pickle_end(struct rp_pickle *pickle);
void rp_pickle_release(struct rp_pickle *pickle);

void rp_pickle_text(struct rp_pickle *pickle, const char *text);

/* For values that come again and again: true when `name` was written before, and has been named
 * again now; false when the caller writes it, and then calls rp_pickle_keep with *number. */
bool rp_pickle_known(struct rp_pickle *pickle, const char *name, uint32_t *number);
void rp_pickle_keep(struct rp_pickle *pickle, uint32_t number);

void rp_pickle_dict_begin(struct rp_pickle *pickle);
void rp_pickle_number_member(struct rp_pickle *pickle, const char *key, uint64_t number);
void rp_pickle_text_member(struct rp_pickle *pickle, const char *key, const char *text,
                           size_t length);
void rp_pickle_dict_end(struct rp_pickle *pickle);

void rp_pickle_list_begin(struct rp_pickle *pickle, struct rp_pickle_list *list);
void rp_pickle_item(struct rp_pickle *pickle, struct rp_pickle_list *list);
void rp_pickle_list_end(struct rp_pickle *pickle, const struct rp_pickle_list *list);

#endif
