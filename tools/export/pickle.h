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

struct rp_pickle_list {
    size_t open; /* items in the batch that is not closed yet */
};

void rp_pickle_begin(struct rp_builder *out);
void rp_pickle_end(struct rp_builder *out);

void rp_pickle_number(struct rp_builder *out, uint64_t number);
void rp_pickle_text(struct rp_builder *out, const char *text);

void rp_pickle_dict_begin(struct rp_builder *out);
void rp_pickle_number_member(struct rp_builder *out, const char *key, uint64_t number);
void rp_pickle_text_member(struct rp_builder *out, const char *key, const char *text,
                           size_t length);
void rp_pickle_dict_end(struct rp_builder *out);

void rp_pickle_list_begin(struct rp_builder *out, struct rp_pickle_list *list);
void rp_pickle_item(struct rp_builder *out, struct rp_pickle_list *list);
void rp_pickle_list_end(struct rp_builder *out, const struct rp_pickle_list *list);

#endif
