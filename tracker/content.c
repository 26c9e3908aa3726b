/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/content.h"

#include <stddef.h>
#include <stdlib.h>

enum { MOST = 1024, BUCKETS = 4096 };

struct rp_contents {
    struct member {
        struct rp_provenance made;
        uint64_t class; /* equal for those of equal bytes; 0: there is none here */
    } members[MOST]; /* a ring: the oldest are overwritten */
    uint64_t next, classes;
    uint16_t present[BUCKETS]; /* members by maker: most that is asked for is not here */
};

static size_t bucket(uint64_t maker)
{
    return (size_t)(maker * 0x9e3779b97f4a7c15u >> 52);
}

static bool same(struct rp_provenance a, struct rp_provenance b)
{
    return a.maker == b.maker && a.begin == b.begin && a.bytes == b.bytes;
}

static uint64_t class_of(const struct rp_contents *contents, struct rp_provenance made)
{
    for (size_t i = 0; contents->present[bucket(made.maker)] && i < MOST; i++)
        if (contents->members[i].class && same(contents->members[i].made, made))
            return contents->members[i].class;
    return 0;
}

static void add(struct rp_contents *contents, struct rp_provenance made, uint64_t class)
{
    struct member *member = &contents->members[contents->next++ % MOST];
    if (member->class)
        contents->present[bucket(member->made.maker)]--;
    *member = (struct member){made, class};
    contents->present[bucket(made.maker)]++;
}

enum rp_status rp_contents_alike(struct rp_contents **contents, struct rp_provenance a,
                                 struct rp_provenance b)
{
    if (!a.maker || !b.maker || a.bytes != b.bytes)
        return RP_INVALID;
    if (same(a, b))
        return RP_OK;
    if (!*contents && !(*contents = calloc(1, sizeof **contents)))
        return RP_NO_MEMORY;
    uint64_t of_a = class_of(*contents, a), of_b = class_of(*contents, b);
    uint64_t class = of_a ? of_a : of_b ? of_b : ++(*contents)->classes;
    for (size_t i = 0; of_b && of_b != class && i < MOST; i++)
        if ((*contents)->members[i].class == of_b)
            (*contents)->members[i].class = class;
    if (!of_a)
        add(*contents, a, class);
    if (!of_b)
        add(*contents, b, class);
    return RP_OK;
}

static bool holds(struct rp_provenance made, struct rp_provenance part)
{
    return made.maker == part.maker && part.begin - made.begin <= made.bytes &&
           part.bytes <= made.bytes - (part.begin - made.begin);
}

static enum rp_status each_of(const struct rp_contents *contents, const struct member *found,
                              struct rp_provenance of, rp_content_fn visit, void *ctx)
{
    enum rp_status status = RP_OK;
    for (uint64_t i = 1; i <= MOST && status == RP_OK; i++) {
        const struct member *other = &contents->members[(contents->next - i) % MOST];
        if (other != found && other->class == found->class)
            status = visit(ctx, (struct rp_provenance){
                                    other->made.maker,
                                    other->made.begin + (of.begin - found->made.begin), of.bytes});
    }
    return status;
}

enum rp_status rp_contents_each(const struct rp_contents *contents, struct rp_provenance of,
                                rp_content_fn visit, void *ctx)
{
    enum rp_status status = RP_OK;
    if (!contents || !of.maker || !contents->present[bucket(of.maker)])
        return RP_OK;
    for (size_t i = 0; i < MOST && status == RP_OK; i++)
        if (contents->members[i].class && holds(contents->members[i].made, of))
            status = each_of(contents, &contents->members[i], of, visit, ctx);
    return status;
}
