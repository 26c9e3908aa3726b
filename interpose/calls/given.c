/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/given.h"

#include <stdlib.h>

enum { WORD = 8 };

static size_t words_of(uint32_t bytes)
{
    return (bytes + WORD - 1) / WORD;
}

/* The words of one parameter; gives where the next one's go. */
static struct rp_given_word *add_param(struct rp_given_word *words,
                                       const struct rp_kernel_param *param,
                                       const struct rp_proof *proof)
{
    for (uint32_t done = 0; done < param->bytes; done += WORD) {
        uint32_t at = param->offset + done, left = param->bytes - done;
        *words++ = (struct rp_given_word){
            .at = at, .bytes = left < WORD ? left : WORD,
            .counts = proof ? rp_proof_read_params(proof, at) : UINT64_MAX};
    }
    return words;
}

struct rp_given *rp_given_create(const struct rp_kernel_layout *layout,
                                 const struct rp_proof *proof)
{
    size_t count = 0;
    for (uint32_t i = 0; i < layout->count; i++)
        count += words_of(layout->params[i].bytes);
    struct rp_given *given = malloc(sizeof *given + count * sizeof *given->words);
    if (!given)
        return NULL;
    given->count = count;
    struct rp_given_word *words = given->words;
    for (uint32_t i = 0; i < layout->count; i++)
        words = add_param(words, &layout->params[i], proof);
    return given;
}
