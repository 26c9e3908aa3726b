/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the job's own images, by name: those of the program, and if it has none of that
 * name, those of the shared objects that it has loaded, this one left out. Global ones go before
 * static ones, and several of one rank are too many: which is meant can't be told.
 *
 * The dynamic symbols alone would not do: a program's own variables are rarely among them, and
 * static ones never. So the symbol table is read from the image's file (ELF-64, System V ABI
 * chapter 4), where it was not stripped. A reader of its own, because libelf would have to be
 * linked into the preloaded object: its archive is not position-independent, and its shared
 * object may be another version than the job's own. */
#ifndef RP_INTERPOSE_SYMBOL_H
#define RP_INTERPOSE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

struct rp_symbol {
    unsigned char *address;
    size_t bytes;
};

/* *out can be read and written, as long as its image is loaded. Else NULL is in its place and
 * *why (a static text) says why: there is none, or it is none that can be put back. */
bool rp_symbol_find(const char *name, struct rp_symbol *out, const char **why);
struct dl_phdr_info;
/* The same of one image, whose file is in memory, aligned as malloc does. */
bool rp_symbol_find_in(const void *file, size_t file_bytes, const struct dl_phdr_info *info,
                       const char *name, struct rp_symbol *out, const char **why);

/* How many images were loaded, and how many unloaded: looking again is worth it only when one of
 * them has grown. */
struct rp_symbol_images {
    unsigned long long loaded, unloaded;
};
struct rp_symbol_images rp_symbol_images(void);

#endif
