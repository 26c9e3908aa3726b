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
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    BINGET = 'h',
    LONG_BINGET = 'j',
    APPENDS = 'e',
    SETITEMS = 'u',
    STOP = '.'
};

static void put(const struct rp_pickle *pickle, enum opcode opcode)
{
    rp_builder_char(pickle->out, (char)opcode);
}

static void put_little_endian(const struct rp_pickle *pickle, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        rp_builder_char(pickle->out, (char)(number >> (8 * i)));
}

void rp_pickle_begin(struct rp_pickle *pickle)
{
    put(pickle, PROTO);
    rp_builder_char(pickle->out, 2);
}

void rp_pickle_end(struct rp_pickle *pickle)
{
    put(pickle, STOP);
}

/* BININT is signed, and LONG1 two's complement: a set top bit needs one more byte. */
static void write_number(struct rp_pickle *pickle, uint64_t number)
{
    unsigned bytes = 1;

    if (number < 256) {
        put(pickle, BININT1);
        put_little_endian(pickle, number, 1);
    } else if (number <= INT32_MAX) {
        put(pickle, BININT);
        put_little_endian(pickle, number, 4);
    } else {
        while (bytes < 8 && number >> (8 * bytes))
            bytes++;
        unsigned sign = (number >> (8 * bytes - 1)) & 1;
        put(pickle, LONG1);
        rp_builder_char(pickle->out, (char)(bytes + sign));
        put_little_endian(pickle, number, bytes);
        if (sign)
            rp_builder_char(pickle->out, 0);
    }
}

/* ---- texts and the memo ------------------------------------------------------------ */

static void put_number(struct rp_pickle *pickle, enum opcode small, enum opcode large,
                       uint32_t number)
{
    put(pickle, number < 256 ? small : large);
    put_little_endian(pickle, number, number < 256 ? 1 : 4);
}

bool rp_pickle_known(struct rp_pickle *pickle, const char *name, uint32_t *number)
{
    size_t before = pickle->texts.count;
    uint32_t at = rp_roster_number(&pickle->texts, name);

    *number = pickle->first + at;
    if (pickle->texts.count > before || pickle->texts.no_memory) {
        pickle->out->cut |= pickle->texts.no_memory;
        return false;
    }
    put_number(pickle, BINGET, LONG_BINGET, *number);
    return true;
}

void rp_pickle_keep(struct rp_pickle *pickle, uint32_t number)
{
    put_number(pickle, BINPUT, LONG_BINPUT, number);
}

void rp_pickle_release(struct rp_pickle *pickle)
{
    rp_roster_release(&pickle->texts);
}

static void put_text(struct rp_pickle *pickle, const char *text, size_t length)
{
    struct rp_builder clean = {0};
    uint32_t number;

    rp_builder_escaped(&clean, text, length);
    if (!rp_pickle_known(pickle, clean.length > 0 ? clean.text : "", &number)) {
        put(pickle, BINUNICODE);
        put_little_endian(pickle, clean.length, 4);
        if (clean.length > 0)
            rp_builder_add(pickle->out, clean.text, clean.length);
        rp_pickle_keep(pickle, number);
    }
    pickle->out->cut |= clean.cut;
    rp_builder_release(&clean);
}

void rp_pickle_text(struct rp_pickle *pickle, const char *text)
{
    put_text(pickle, text, strlen(text));
}

void rp_pickle_dict_begin(struct rp_pickle *pickle)
{
    put(pickle, EMPTY_DICT);
    put(pickle, MARK);
}

void rp_pickle_number_member(struct rp_pickle *pickle, const char *key, uint64_t number)
{
    rp_pickle_text(pickle, key);
    write_number(pickle, number);
}

void rp_pickle_text_member(struct rp_pickle *pickle, const char *key, const char *text,
                           size_t length)
{
    rp_pickle_text(pickle, key);
    put_text(pickle, text, length);
}

void rp_pickle_dict_end(struct rp_pickle *pickle)
{
    put(pickle, SETITEMS);
}

void rp_pickle_list_begin(struct rp_pickle *pickle, struct rp_pickle_list *list)
{
    *list = (struct rp_pickle_list){0};
    put(pickle, EMPTY_LIST);
}

void rp_pickle_item(struct rp_pickle *pickle, struct rp_pickle_list *list)
{
    if (list->open == BATCH) {
        put(pickle, APPENDS);
        list->open = 0;
    }
    if (list->open++ == 0)
        put(pickle, MARK);
}

void rp_pickle_list_end(struct rp_pickle *pickle, const struct rp_pickle_list *list)
{
    if (list->open > 0)
        put(pickle, APPENDS);
}
