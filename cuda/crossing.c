/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/crossing.h"

#include "cuda/switches.h"
#include "tracker/array.h"

/* All times are counts of claims, copies, and calls of replays. */

/* What a stream may have written, and another has claimed since: versions are times. */
struct hidden {
    rp_stream stream;
    struct rp_versions *writes;
};

/* What the calls of replays in one stream have met: versions are times. */
struct trail {
    rp_stream stream;
    struct rp_versions *reads, *writes;
    uint64_t newest, marked; /* the latest call, and the latest with a mark behind it */
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
    struct trail *trails;
    size_t trail_count, trail_capacity;
    struct trail lone; /* of a replay when no other stream was known: it has met anything */
    uint64_t now;
    uint64_t released; /* every stream has waited for what replays met until then */
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
    for (size_t i = 0; i < crossing->trail_count; i++) {
        rp_versions_destroy(crossing->trails[i].reads);
        rp_versions_destroy(crossing->trails[i].writes);
    }
    rp_versions_destroy(crossing->copies);
    free(crossing->hidden);
    free(crossing->trails);
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
    uint64_t since;    /* what came up to then needs no waiting ... */
    uint64_t until;    /* ... and one wait serves for what came up to then; 0: for itself */
    uint32_t instance; /* nor does what was made for this one */
};

static enum rp_status wait_for(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *earlier)
{
    const struct waiting *waiting = ctx;
    struct rp_crossing *crossing = waiting->crossing;
    (void)lo, (void)hi;
    if (earlier->version <= waiting->since || earlier->stream == waiting->stream ||
        (waiting->instance && earlier->made_in == waiting->instance))
        return RP_OK;
    const struct wait *known = wait_of(crossing, waiting->stream, earlier->stream);
    if (known && known->until >= earlier->version)
        return RP_OK;
    enum rp_status status = waiting->wait(crossing->order, waiting->stream, earlier->stream);
    if (status == RP_OK)
        note_wait(crossing, waiting->stream, earlier->stream,
                  waiting->until ? waiting->until : earlier->version);
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
    struct waiting waiting = {.crossing = crossing, .stream = stream, .wait = rp_order_after};
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
    struct waiting waiting = {.crossing = crossing, .stream = stream,
                              .wait = rp_order_after_mark};
    if (!crossing->has_copies || rp_order_is_alone(crossing->order) ||
        !rp_switch_on(RP_SWITCH_CROSSINGS))
        return RP_OK;
    return rp_versions_read(crossing->copies, id, lo, hi, wait_for, &waiting);
}

/* ---- replays ------------------------------------------------------------------------- */

static struct trail *trail_of(struct rp_crossing *crossing, rp_stream stream)
{
    for (size_t i = 0; i < crossing->trail_count; i++)
        if (crossing->trails[i].stream == stream)
            return &crossing->trails[i];
    struct trail *trail = rp_array_reserve(crossing->trails, &crossing->trail_capacity,
                                           crossing->trail_count + 1, sizeof *trail);
    if (!trail)
        return NULL;
    crossing->trails = trail;
    trail += crossing->trail_count;
    *trail = (struct trail){.stream = stream};
    if (rp_versions_create(&trail->reads) != RP_OK)
        return NULL;
    if (rp_versions_create(&trail->writes) != RP_OK) {
        rp_versions_destroy(trail->reads);
        return NULL;
    }
    crossing->trail_count++;
    return trail;
}

void rp_crossing_replayed(struct rp_crossing *crossing, const struct rp_crosser *call)
{
    const struct rp_writer when = {.version = ++crossing->now, .stream = call->stream,
                                   .made_in = call->instance};
    if (rp_order_is_alone(crossing->order)) {
        crossing->lone = (struct trail){.stream = call->stream, .newest = crossing->now};
        return;
    }
    struct trail *trail = trail_of(crossing, call->stream);
    if (!trail || rp_versions_write(call->writes ? trail->writes : trail->reads, call->id,
                                    call->lo, call->hi, &when) != RP_OK)
        crossing->is_blind = true;
    else
        trail->newest = crossing->now;
}

void rp_crossing_replay_over(struct rp_crossing *crossing)
{
    for (size_t i = 0; i < crossing->trail_count; i++) {
        struct trail *trail = &crossing->trails[i];
        if (trail->newest > trail->marked && trail->newest > crossing->released &&
            rp_order_mark(crossing->order, trail->stream) == RP_OK)
            trail->marked = crossing->now;
    }
}

void rp_crossing_released(struct rp_crossing *crossing)
{
    crossing->released = crossing->now;
}

/* Whoever comes later waits for all of it, once. */
static enum rp_status after_lone(struct waiting *waiting)
{
    const struct trail *lone = &waiting->crossing->lone;
    const struct rp_writer when = {.version = lone->newest, .stream = lone->stream};
    return wait_for(waiting, 0, 0, &when);
}

static enum rp_status after_trail(struct waiting *waiting, const struct trail *trail,
                                  const struct rp_crosser *call)
{
    waiting->wait = trail->newest <= trail->marked ? rp_order_after_mark : rp_order_after;
    waiting->until = trail->newest;
    enum rp_status status =
        rp_versions_read(trail->writes, call->id, call->lo, call->hi, wait_for, waiting);
    return status == RP_OK && call->writes ? rp_versions_read(trail->reads, call->id, call->lo,
                                                              call->hi, wait_for, waiting)
                                           : status;
}

enum rp_status rp_crossing_after_replays(struct rp_crossing *crossing,
                                         const struct rp_crosser *call)
{
    struct waiting waiting = {.crossing = crossing, .stream = call->stream, .wait = rp_order_after,
                              .since = crossing->released, .instance = call->instance};
    if (rp_order_is_alone(crossing->order) || !rp_switch_on(RP_SWITCH_RACES))
        return RP_OK;
    if (crossing->is_blind)
        return rp_order_gather(crossing->order, call->stream);
    enum rp_status status = after_lone(&waiting);
    for (size_t i = 0; status == RP_OK && i < crossing->trail_count; i++)
        if (crossing->trails[i].stream != call->stream &&
            crossing->trails[i].newest > crossing->released)
            status = after_trail(&waiting, &crossing->trails[i], call);
    return status;
}

void rp_crossing_forget(struct rp_crossing *crossing, rp_alloc_id id)
{
    rp_versions_forget(crossing->copies, id);
    for (size_t i = 0; i < crossing->trail_count; i++) {
        rp_versions_forget(crossing->trails[i].reads, id);
        rp_versions_forget(crossing->trails[i].writes, id);
    }
    for (size_t i = 0; i < crossing->hidden_count; i++)
        rp_versions_forget(crossing->hidden[i].writes, id);
}
