/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/crossing.h"

#include "cuda/switches.h"
#include "tracker/array.h"

/* All times are counts of claims and copies. */

/* What a stream may have written, and another has claimed since: versions are times. */
struct hidden {
    rp_stream stream;
    struct rp_versions *writes;
};

/* What `earlier` was given until then is before what `later` is given now. */
struct wait {
    rp_stream earlier, later;
    uint64_t until;
};

struct rp_crossing {
    struct rp_order *order;
    const struct rp_versions *live;
    struct rp_versions *copies; /* versions are times; one over another has waited for that */
    struct hidden *hidden;
    size_t hidden_count, hidden_capacity;
    struct wait *waits;
    size_t wait_count, wait_capacity;
    uint64_t now;
    bool has_copies;
    bool is_blind; /* the host was out of memory: anybody may have written anything */
};

enum rp_status rp_crossing_create(struct rp_order *order, const struct rp_versions *versions,
                                  struct rp_crossing **out)
{
    struct rp_crossing *crossing = calloc(1, sizeof *crossing);
    if (!crossing)
        return RP_NO_MEMORY;
    crossing->order = order;
    crossing->live = versions;
    enum rp_status status = rp_versions_create(&crossing->copies);
    if (status != RP_OK)
        free(crossing);
    else
        *out = crossing;
    return status;
}

void rp_crossing_destroy(struct rp_crossing *crossing)
{
    if (!crossing)
        return;
    for (size_t i = 0; i < crossing->hidden_count; i++)
        rp_versions_destroy(crossing->hidden[i].writes);
    rp_versions_destroy(crossing->copies);
    free(crossing->hidden);
    free(crossing->waits);
    free(crossing);
}

/* ---- who has waited for whom -------------------------------------------------------- */

static struct wait *wait_of(struct rp_crossing *crossing, rp_stream later, rp_stream earlier)
{
    for (size_t i = 0; i < crossing->wait_count; i++)
        if (crossing->waits[i].later == later && crossing->waits[i].earlier == earlier)
            return &crossing->waits[i];
    return NULL;
}

static void note_wait(struct rp_crossing *crossing, rp_stream later, rp_stream earlier,
                      uint64_t until)
{
    struct wait *known = wait_of(crossing, later, earlier);
    struct wait *waits = known ? crossing->waits
                               : rp_array_reserve(crossing->waits, &crossing->wait_capacity,
                                                  crossing->wait_count + 1, sizeof *waits);
    if (known)
        known->until = until;
    if (known || !waits) /* then it waits again another time */
        return;
    crossing->waits = waits;
    waits[crossing->wait_count++] = (struct wait){earlier, later, until};
}

void rp_crossing_opened(struct rp_crossing *crossing, rp_stream stream)
{
    for (size_t i = crossing->wait_count; i-- > 0;)
        if (crossing->waits[i].later == stream)
            crossing->waits[i] = crossing->waits[--crossing->wait_count];
}

/* For how `later` waits for `earlier`. */
typedef enum rp_status (*waiting_fn)(struct rp_order *order, rp_stream later, rp_stream earlier);

struct waiting {
    struct rp_crossing *crossing;
    rp_stream stream;
    waiting_fn wait;
};

static enum rp_status wait_for(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *earlier)
{
    const struct waiting *waiting = ctx;
    struct rp_crossing *crossing = waiting->crossing;
    (void)lo, (void)hi;
    if (!earlier->version || earlier->stream == waiting->stream)
        return RP_OK;
    const struct wait *known = wait_of(crossing, waiting->stream, earlier->stream);
    if (known && known->until >= earlier->version)
        return RP_OK;
    enum rp_status status = waiting->wait(crossing->order, waiting->stream, earlier->stream);
    if (status == RP_OK)
        note_wait(crossing, waiting->stream, earlier->stream, earlier->version);
    return status;
}

/* ---- writes -------------------------------------------------------------------------- */

static struct hidden *hidden_of(struct rp_crossing *crossing, rp_stream stream)
{
    for (size_t i = 0; i < crossing->hidden_count; i++)
        if (crossing->hidden[i].stream == stream)
            return &crossing->hidden[i];
    struct hidden *hidden = rp_array_reserve(crossing->hidden, &crossing->hidden_capacity,
                                             crossing->hidden_count + 1, sizeof *hidden);
    if (!hidden)
        return NULL;
    crossing->hidden = hidden;
    hidden += crossing->hidden_count;
    *hidden = (struct hidden){.stream = stream};
    if (rp_versions_create(&hidden->writes) != RP_OK)
        return NULL;
    crossing->hidden_count++;
    return hidden;
}

struct claiming {
    struct rp_crossing *crossing;
    rp_alloc_id id;
    rp_stream stream;
};

static enum rp_status hide(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    const struct claiming *claiming = ctx;
    struct rp_crossing *crossing = claiming->crossing;
    if (!writer->version || writer->stream == claiming->stream)
        return RP_OK;
    struct hidden *hidden = hidden_of(crossing, writer->stream);
    const struct rp_writer when = {.version = crossing->now, .stream = writer->stream};
    return hidden ? rp_versions_write(hidden->writes, claiming->id, lo, hi, &when) : RP_NO_MEMORY;
}

void rp_crossing_claim(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo, uint64_t hi,
                       rp_stream stream)
{
    struct claiming claiming = {crossing, id, stream};
    if (rp_order_is_alone(crossing->order))
        return;
    crossing->now++;
    if (rp_versions_read(crossing->live, id, lo, hi, hide, &claiming) != RP_OK)
        crossing->is_blind = true;
}

enum rp_status rp_crossing_after_writes(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo,
                                        uint64_t hi, rp_stream stream)
{
    struct waiting waiting = {crossing, stream, rp_order_after};
    enum rp_status status = RP_OK;
    if (!rp_switch_on(RP_SWITCH_CROSSINGS))
        return RP_OK;
    if (crossing->is_blind)
        return rp_order_gather(crossing->order, stream);
    for (size_t i = 0; status == RP_OK && i < crossing->hidden_count; i++)
        status = rp_versions_read(crossing->hidden[i].writes, id, lo, hi, wait_for, &waiting);
    return status;
}

/* ---- copies -------------------------------------------------------------------------- */

enum rp_status rp_crossing_copied(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo,
                                  uint64_t hi, rp_stream stream)
{
    enum rp_status status = rp_crossing_after_copies(crossing, id, lo, hi, stream);
    if (status == RP_OK)
        status = rp_order_mark(crossing->order, stream);
    const struct rp_writer when = {.version = ++crossing->now, .stream = stream};
    crossing->has_copies = true;
    return status == RP_OK ? rp_versions_write(crossing->copies, id, lo, hi, &when) : status;
}

enum rp_status rp_crossing_after_copies(struct rp_crossing *crossing, rp_alloc_id id, uint64_t lo,
                                        uint64_t hi, rp_stream stream)
{
    struct waiting waiting = {crossing, stream, rp_order_after_mark};
    if (!crossing->has_copies || rp_order_is_alone(crossing->order) ||
        !rp_switch_on(RP_SWITCH_CROSSINGS))
        return RP_OK;
    return rp_versions_read(crossing->copies, id, lo, hi, wait_for, &waiting);
}

void rp_crossing_forget(struct rp_crossing *crossing, rp_alloc_id id)
{
    rp_versions_forget(crossing->copies, id);
    for (size_t i = 0; i < crossing->hidden_count; i++)
        rp_versions_forget(crossing->hidden[i].writes, id);
}
