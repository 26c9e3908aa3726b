/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the job's own images, by name: the program first, then the shared objects that
 * it has loaded, this one left out.
 *
 * The dynamic symbols alone would not do: a program's own variables are rarely among them, and
 * static ones never. So the symbol table is read from the image's file (ELF-64, System V ABI
 * chapter 4), where it was not stripped. A reader of its own, because libelf would have to be
 * linked into the preloaded object: its archive is not position-independent, and its shared
 * object may be another version than the job's own. */
#ifndef RP_INTERPOSE_SYMBOL_H
#define RP_INTERPOSE_SYMBOL_H

#include "tracker/status.h"

#include <stddef.h>

/* RP_NOT_FOUND when no image has a variable of that name; RP_INVALID when the first image that
 * has one has several (static ones of different source files): which is meant can't be told. */
enum rp_status rp_symbol_find(const char *name, void **address, size_t *bytes);

/* Grows whenever an image was loaded: looking again is worth it only then. */
unsigned long long rp_symbol_images(void);

#endif
