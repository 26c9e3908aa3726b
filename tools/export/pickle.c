/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/export/pickle.h"

#include <string.h>

enum { BATCH = 1000 };
enum opcode {
    PROTO = 0x80,
    EMPTY_DICT = '}',
    EMPTY_LIST = ']',
    MARK = '(',
    BININT1 = 'K',
    BININT = 'J',
    LONG1 = 0x8a,
    BINUNICODE = 'X',
    APPENDS = 'e',
    SETITEMS = 'u',
    STOP = '.'
};

static void put(struct rp_builder *out, enum opcode opcode)
{
    rp_builder_char(out, (char)opcode);
}

static void put_little_endian(struct rp_builder *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        rp_builder_char(out, (char)(number >> (8 * i)));
}

void rp_pickle_begin(struct rp_builder *out)
{
    put(out, PROTO);
    rp_builder_char(out, 2);
}

void rp_pickle_end(struct rp_builder *out)
{
    put(out, STOP);
}

/* BININT is signed, and LONG1 two's complement: a set top bit needs one more byte. */
void rp_pickle_number(struct rp_builder *out, uint64_t number)
{
    unsigned bytes = 1;

    if (number < 256) {
        put(out, BININT1);
        put_little_endian(out, number, 1);
    } else if (number <= INT32_MAX) {
        put(out, BININT);
        put_little_endian(out, number, 4);
    } else {
        while (bytes < 8 && number >> (8 * bytes))
            bytes++;
        unsigned sign = (number >> (8 * bytes - 1)) & 1;
        put(out, LONG1);
        rp_builder_char(out, (char)(bytes + sign));
        put_little_endian(out, number, bytes);
        if (sign)
            rp_builder_char(out, 0);
    }
}

static void put_text(struct rp_builder *out, const char *text, size_t length)
{
    struct rp_builder clean = {0};

    rp_builder_escaped(&clean, text, length);
    put(out, BINUNICODE);
    put_little_endian(out, clean.length, 4);
    if (clean.length > 0)
        rp_builder_add(out, clean.text, clean.length);
    out->cut |= clean.cut;
    rp_builder_release(&clean);
}

void rp_pickle_text(struct rp_builder *out, const char *text)
{
    put_text(out, text, strlen(text));
}

void rp_pickle_dict_begin(struct rp_builder *out)
{
    put(out, EMPTY_DICT);
    put(out, MARK);
}

void rp_pickle_number_member(struct rp_builder *out, const char *key, uint64_t number)
{
    rp_pickle_text(out, key);
    rp_pickle_number(out, number);
}

void rp_pickle_text_member(struct rp_builder *out, const char *key, const char *text,
                           size_t length)
{
    rp_pickle_text(out, key);
    put_text(out, text, length);
}

void rp_pickle_dict_end(struct rp_builder *out)
{
    put(out, SETITEMS);
}

void rp_pickle_list_begin(struct rp_builder *out, struct rp_pickle_list *list)
{
    *list = (struct rp_pickle_list){0};
    put(out, EMPTY_LIST);
}

void rp_pickle_item(struct rp_builder *out, struct rp_pickle_list *list)
{
    if (list->open == BATCH) {
        put(out, APPENDS);
        list->open = 0;
    }
    if (list->open++ == 0)
        put(out, MARK);
}

void rp_pickle_list_end(struct rp_builder *out, const struct rp_pickle_list *list)
{
    if (list->open > 0)
        put(out, APPENDS);
}
