/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/planner/walker.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES 64   /* of all buffers together */
#define MAX_SEGMENTS 12

/* A set of bytes of state. */
typedef struct {
    bool has[MAX_BYTES];
} set;

/* Copies of bytes of state that a segment has made at one event. */
struct copy {
    bool live;
    set bytes;
    uint8_t values[MAX_BYTES];
    unsigned versions[MAX_BYTES]; /* of each byte when it was copied */
    uint64_t allocated;
};

struct walker {
    const struct rp_profile *profile;
    enum rp_model model;
    const enum rp_choice *choices;
    size_t count, bytes;
    size_t buffer_of[MAX_BYTES];
    set reads[MAX_SEGMENTS], writes[MAX_SEGMENTS], backward[MAX_SEGMENTS];

    uint8_t state[MAX_BYTES];
    unsigned version[MAX_BYTES]; /* counts the writes */
    uint64_t activation[MAX_SEGMENTS], gradient[MAX_SEGMENTS];
    struct copy copies[MAX_SEGMENTS][2 * MAX_SEGMENTS]; /* of each segment, by event */
    uint64_t held, peak, time;
};

/* ---- the machine -------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    struct random random = {a * UINT64_C(0x9E3779B97F4A7C15) + b};

    return random_next(&random);
}

static uint64_t round_up(const struct walker *walker, uint64_t bytes)
{
    uint64_t quantum = rp_profile_quantum(walker->profile);

    return (bytes + quantum - 1) / quantum * quantum;
}

static uint64_t allocate(struct walker *walker, uint64_t bytes)
{
    uint64_t size = round_up(walker, bytes);

    walker->held += size;
    if (walker->held > walker->peak)
        walker->peak = walker->held;
    return size;
}

static void release(struct walker *walker, uint64_t size)
{
    assert_true(walker->held >= size);
    walker->held -= size;
}

static uint64_t size_of(const set *bytes)
{
    uint64_t size = 0;

    for (size_t i = 0; i < MAX_BYTES; i++)
        size += bytes->has[i];
    return size;
}

static bool begins_run(const struct walker *walker, const set *bytes, size_t i)
{
    return bytes->has[i] && (i == 0 || !bytes->has[i - 1] ||
                             walker->buffer_of[i] != walker->buffer_of[i - 1]);
}

static uint64_t runs_of(const struct walker *walker, const set *bytes)
{
    uint64_t runs = 0;

    for (size_t i = 0; i < walker->bytes; i++)
        runs += begins_run(walker, bytes, i);
    return runs;
}

/* Runs of `all` that have a byte of `some`. */
static uint64_t runs_with(const struct walker *walker, const set *all, const set *some)
{
    uint64_t runs = 0;
    bool counted = false;

    for (size_t i = 0; i < walker->bytes; i++) {
        if (begins_run(walker, all, i))
            counted = false;
        if (all->has[i] && some->has[i] && !counted) {
            runs++;
            counted = true;
        }
    }
    return runs;
}

/* What copies of the bytes take: an allocation for what `all` has in one piece. */
static uint64_t allocate_pieces(struct walker *walker, const set *all, const set *bytes)
{
    uint64_t size = 0, piece = 0;

    for (size_t i = 0; i < walker->bytes; i++) {
        if (begins_run(walker, all, i)) {
            size += round_up(walker, piece);
            piece = 0;
        }
        piece += bytes->has[i];
    }
    return allocate(walker, size + round_up(walker, piece));
}

static void charge_copy(struct walker *walker, uint64_t bytes, uint64_t pieces)
{
    const struct rp_copy_price *price = rp_profile_copy_price(walker->profile);
    uint64_t rate = price->bytes_per_us.value;

    walker->time += pieces * price->fixed.value + (bytes * 1000 + rate - 1) / rate;
}

/* ---- what a segment computes -------------------------------------------------- */

static uint64_t compute(const struct walker *walker, size_t k)
{
    uint64_t result = k;

    for (size_t i = 0; i < walker->bytes; i++)
        if (walker->reads[k].has[i])
            result = mix(result, walker->state[i] + 256 * i);
    return result;
}

static void write_state(struct walker *walker, const set *bytes, uint64_t from, bool counts)
{
    for (size_t i = 0; i < walker->bytes; i++) {
        if (!bytes->has[i])
            continue;
        walker->state[i] = (uint8_t)mix(from, i);
        walker->version[i] += counts;
    }
}

/* ---- what is preserved -------------------------------------------------------- */

static bool is_clobbered(const struct walker *walker, size_t k, size_t i)
{
    bool written = false;

    for (size_t j = k; j < walker->count; j++)
        written |= walker->writes[j].has[i] || (j > k && walker->backward[j].has[i]);
    return walker->reads[k].has[i] && written;
}

static set clobbered(const struct walker *walker, size_t k)
{
    set bytes = {{false}};

    for (size_t i = 0; i < walker->bytes; i++)
        bytes.has[i] = is_clobbered(walker, k, i);
    return bytes;
}

static set whole_buffers(const struct walker *walker, size_t k)
{
    set bytes = {{false}};

    for (size_t i = 0; i < walker->bytes; i++)
        for (size_t j = 0; j < walker->bytes; j++)
            if (walker->buffer_of[i] == walker->buffer_of[j])
                bytes.has[i] |= walker->reads[k].has[j] || walker->writes[k].has[j];
    return bytes;
}

/* `all`: with what the bytes make a piece. */
static void make_copy(struct walker *walker, size_t k, size_t event, const set *all,
                      const set *bytes)
{
    struct copy *copy = &walker->copies[k][event];

    if (size_of(bytes) == 0)
        return;
    *copy = (struct copy){.live = true, .bytes = *bytes};
    memcpy(copy->values, walker->state, sizeof(copy->values));
    memcpy(copy->versions, walker->version, sizeof(copy->versions));
    copy->allocated = allocate_pieces(walker, all, bytes);
    charge_copy(walker, size_of(bytes), runs_with(walker, all, bytes));
}

/* The live copy of a byte's version that any segment has made. */
static const struct copy *find_copy(const struct walker *walker, size_t i, unsigned version)
{
    for (size_t k = 0; k < walker->count; k++)
        for (size_t event = 0; event < 2 * walker->count; event++) {
            const struct copy *copy = &walker->copies[k][event];
            if (copy->live && walker->choices[k] == RP_CHOICE_REGIONS && copy->bytes.has[i] &&
                copy->versions[i] == version)
                return copy;
        }
    return NULL;
}

static void preserve(struct walker *walker, size_t k)
{
    set bytes = walker->choices[k] == RP_CHOICE_WHOLE ? whole_buffers(walker, k)
                                                      : clobbered(walker, k);
    set missing = bytes;

    if (walker->choices[k] == RP_CHOICE_RETAIN)
        return;
    if (walker->choices[k] == RP_CHOICE_REGIONS) {
        if (walker->model == RP_MODEL_LAZY)
            return;
        for (size_t i = 0; walker->model == RP_MODEL_SHARED && i < walker->bytes; i++)
            missing.has[i] &= find_copy(walker, i, walker->version[i]) == NULL;
    }
    make_copy(walker, k, k, &bytes, &missing);
}

/* Lazy: what this event is about to write, and somebody still needs as it is. */
static void preserve_late(struct walker *walker, size_t event, const set *writes,
                          size_t first, size_t last)
{
    for (size_t k = first; k < last; k++) {
        set missing = clobbered(walker, k);
        if (walker->choices[k] != RP_CHOICE_REGIONS)
            continue;
        for (size_t i = 0; i < walker->bytes; i++) {
            missing.has[i] &= writes->has[i];
            for (size_t before = 0; before < event; before++)
                if (walker->copies[k][before].live)
                    missing.has[i] &= !walker->copies[k][before].bytes.has[i];
        }
        make_copy(walker, k, event, &missing, &missing);
    }
}

/* ---- replaying ---------------------------------------------------------------- */

static void release_copies(struct walker *walker, size_t k)
{
    for (size_t event = 0; event < 2 * walker->count; event++) {
        struct copy *copy = &walker->copies[k][event];
        if (copy->live)
            release(walker, copy->allocated);
        copy->live = false;
    }
}

static void put_back(struct walker *walker, const struct copy *copy, size_t i, unsigned version)
{
    assert_int_equal(copy->versions[i], version);
    walker->state[i] = copy->values[i];
}

/* Puts back what the forward of k read; `seen` are the versions that it read. */
static void restore(struct walker *walker, size_t k, const set *bytes, const unsigned *seen)
{
    uint64_t pieces = runs_of(walker, bytes);

    if (walker->model == RP_MODEL_LAZY && walker->choices[k] == RP_CHOICE_REGIONS) {
        pieces = 0;
        for (size_t event = 0; event < 2 * walker->count; event++)
            if (walker->copies[k][event].live)
                pieces += runs_of(walker, &walker->copies[k][event].bytes);
    }
    for (size_t i = 0; i < walker->bytes; i++) {
        const struct copy *copy = NULL;
        if (!bytes->has[i])
            continue;
        for (size_t event = 0; event < 2 * walker->count; event++)
            if (walker->copies[k][event].live && walker->copies[k][event].bytes.has[i])
                copy = &walker->copies[k][event];
        if (copy == NULL && walker->model == RP_MODEL_SHARED)
            copy = find_copy(walker, i, seen[i]);
        if (copy == NULL)
            fail_msg("segment %zu: nobody has kept byte %zu", k, i);
        else
            put_back(walker, copy, i, seen[i]);
    }
    charge_copy(walker, size_of(bytes), pieces);
}

static void replay(struct walker *walker, size_t k, const unsigned *seen)
{
    const struct rp_facts *facts = rp_profile_facts(walker->profile, k);
    bool whole = walker->choices[k] == RP_CHOICE_WHOLE;
    set preserved = whole ? whole_buffers(walker, k) : clobbered(walker, k), stashed = preserved;
    uint8_t before[MAX_BYTES];

    for (size_t i = 0; i < walker->bytes; i++)
        stashed.has[i] |= walker->writes[k].has[i];
    memcpy(before, walker->state, sizeof(before));
    uint64_t stash = allocate_pieces(walker, &stashed, &stashed);
    charge_copy(walker, size_of(&stashed), runs_of(walker, &stashed));
    restore(walker, k, &preserved, seen);
    release_copies(walker, k);
    uint64_t workspace = allocate(walker, facts->forward_workspace.value);
    allocate(walker, facts->activation.value);
    walker->time += facts->replay_time.value;
    assert_int_equal(compute(walker, k), walker->activation[k]);
    write_state(walker, &walker->writes[k], walker->activation[k], false);
    release(walker, workspace);
    for (size_t i = 0; i < walker->bytes; i++)
        if (stashed.has[i])
            walker->state[i] = before[i];
    charge_copy(walker, size_of(&stashed), runs_of(walker, &stashed));
    release(walker, stash);
    assert_memory_equal(walker->state, before, walker->bytes);
}

/* ---- events ------------------------------------------------------------------- */

static void forward(struct walker *walker, size_t k, unsigned *seen)
{
    const struct rp_facts *facts = rp_profile_facts(walker->profile, k);
    bool retains = walker->choices[k] == RP_CHOICE_RETAIN;

    walker->held += facts->forward_base.value;
    preserve(walker, k);
    if (walker->model == RP_MODEL_LAZY)
        preserve_late(walker, k, &walker->writes[k], 0, k + 1);
    uint64_t workspace = allocate(walker, facts->forward_workspace.value);
    uint64_t activation = allocate(walker, facts->activation.value);
    memcpy(seen, walker->version, MAX_BYTES * sizeof(*seen));
    walker->activation[k] = compute(walker, k);
    write_state(walker, &walker->writes[k], walker->activation[k], true);
    walker->time += facts->forward_time.value;
    if (walker->choices[k] == RP_CHOICE_REGIONS)
        walker->time += facts->tracking_time.value;
    release(walker, workspace);
    if (!retains)
        release(walker, activation);
    release(walker, facts->forward_base.value);
}

static void backward(struct walker *walker, size_t k, const unsigned *seen)
{
    const struct rp_facts *facts = rp_profile_facts(walker->profile, k);

    walker->held += facts->backward_base.value;
    if (walker->model == RP_MODEL_LAZY)
        preserve_late(walker, 2 * walker->count - 1 - k, &walker->backward[k], 0, k);
    if (walker->choices[k] != RP_CHOICE_RETAIN)
        replay(walker, k, seen);
    uint64_t workspace = allocate(walker, facts->backward_workspace.value);
    walker->gradient[k] = mix(walker->activation[k], 7);
    write_state(walker, &walker->backward[k], walker->gradient[k], true);
    walker->time += facts->backward_time.value;
    release(walker, workspace);
    release(walker, round_up(walker, facts->activation.value));
    release(walker, facts->backward_base.value);
}

/* ---- the whole ---------------------------------------------------------------- */

static void add_ranges(const struct walker *walker, set *bytes,
                       const struct rp_buffer_range *ranges, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        size_t start = 0;
        while (walker->buffer_of[start] != ranges[r].buffer)
            start++;
        for (uint64_t i = ranges[r].lo; i < ranges[r].hi; i++)
            bytes->has[start + i] = true;
    }
}

static void prepare(struct walker *walker)
{
    size_t buffer_count;
    const struct rp_buffer *buffers = rp_profile_buffers(walker->profile, &buffer_count);

    for (size_t b = 0; b < buffer_count; b++)
        for (uint64_t i = 0; i < buffers[b].bytes; i++)
            walker->buffer_of[walker->bytes++] = b;
    assert_true(walker->bytes <= MAX_BYTES && walker->count <= MAX_SEGMENTS);
    for (size_t k = 0; k < walker->count; k++) {
        const struct rp_facts *facts = rp_profile_facts(walker->profile, k);
        add_ranges(walker, &walker->reads[k], facts->reads, facts->read_count);
        add_ranges(walker, &walker->writes[k], facts->writes, facts->write_count);
        add_ranges(walker, &walker->backward[k], facts->backward_writes,
                   facts->backward_write_count);
    }
    for (size_t i = 0; i < walker->bytes; i++)
        walker->state[i] = (uint8_t)mix(99, i);
    walker->held = walker->peak = rp_profile_base(walker->profile);
}

static struct walker *execute(const struct rp_profile *profile, enum rp_model model,
                              const enum rp_choice *choices)
{
    static unsigned seen[MAX_SEGMENTS][MAX_BYTES];
    struct walker *walker = calloc(1, sizeof(*walker));

    assert_non_null(walker);
    walker->profile = profile;
    walker->model = model;
    walker->choices = choices;
    walker->count = rp_profile_count(profile);
    prepare(walker);
    for (size_t k = 0; k < walker->count; k++)
        forward(walker, k, seen[k]);
    for (size_t k = walker->count; k-- > 0;)
        backward(walker, k, seen[k]);
    assert_int_equal(walker->held, rp_profile_base(profile));
    return walker;
}

void walker_run(const struct rp_profile *profile, enum rp_model model,
                const enum rp_choice *choices, uint64_t *peak, uint64_t *time)
{
    const enum rp_choice retain[MAX_SEGMENTS] = {RP_CHOICE_RETAIN};
    struct walker *eager = execute(profile, model, retain);
    struct walker *walker = execute(profile, model, choices);

    assert_memory_equal(walker->state, eager->state, walker->bytes);
    assert_memory_equal(walker->gradient, eager->gradient, sizeof(walker->gradient));
    *peak = walker->peak;
    *time = walker->time;
    free(eager);
    free(walker);
}

/* ---- random facts ------------------------------------------------------------- */

static size_t random_ranges(struct random *random, const uint64_t *sizes, size_t buffers,
                            size_t most, struct rp_buffer_range *ranges)
{
    size_t count = random_below(random, most + 1);

    for (size_t i = 0; i < count; i++) {
        uint32_t buffer = (uint32_t)random_below(random, buffers);
        uint64_t lo = random_below(random, sizes[buffer]);
        uint64_t hi = lo + 1 + random_below(random, sizes[buffer] - lo);
        ranges[i] = (struct rp_buffer_range){buffer, lo, hi};
    }
    return count;
}

static struct rp_measure measured(uint64_t value)
{
    return (struct rp_measure){value, RP_SOURCE_MEASURED};
}

/* When state is written: any time, only late in the forward, or only in backwards. Versions that
 * many segments read, and clobbers that come late, need the latter two. */
enum habit { ANY_TIME, LATE_FORWARD, BACKWARD, HABIT_COUNT };

struct layout {
    enum habit habit;
    size_t count, buffers;
    uint64_t sizes[3];
};

static void add_random_segment(struct random *random, struct rp_profile *profile, size_t k,
                               const struct layout *layout)
{
    struct rp_buffer_range reads[3], writes[2], backward[2];
    uint64_t forward = 5 + random_below(random, 40);
    bool is_late = k + 2 >= layout->count;
    size_t most_writes = layout->habit == ANY_TIME                 ? random_below(random, 3)
                         : layout->habit == LATE_FORWARD && is_late ? 2
                                                                    : 0;
    size_t most_backward = layout->habit == BACKWARD ? 2 : random_below(random, 2);
    struct rp_facts facts = {
        .forward_time = measured(forward),
        .backward_time = measured(2 * forward),
        .replay_time = measured(forward + random_below(random, 10)),
        .tracking_time = measured(random_below(random, 3) == 0 ? random_below(random, 60) : 0),
        .activation = measured(1 + random_below(random, 24)),
        .forward_workspace = measured(random_below(random, 6)),
        .backward_workspace = measured(random_below(random, 8)),
        .forward_base = measured(random_below(random, 3)),
        .backward_base = measured(random_below(random, 5)),
        .reads = reads,
        .writes = writes,
        .backward_writes = backward,
        .no_replay = random_below(random, 12) == 0 ? "it reads the clock" : NULL,
    };
    char name[24];

    facts.read_count =
        random_ranges(random, layout->sizes, layout->buffers, 3, reads);
    facts.write_count =
        random_ranges(random, layout->sizes, layout->buffers, most_writes, writes);
    facts.backward_write_count =
        random_ranges(random, layout->sizes, layout->buffers, most_backward, backward);
    snprintf(name, sizeof(name), "s%zu", k);
    assert_ok(rp_profile_add_facts(profile, name, &facts));
}

struct rp_profile *walker_random(struct random *random, size_t count)
{
    static const uint64_t quanta[] = {1, 1, 4};
    struct layout layout = {.habit = (enum habit)random_below(random, HABIT_COUNT),
                            .count = count,
                            .buffers = 1 + random_below(random, 3)};
    struct rp_profile *profile;
    char message[200] = "", name[24];

    assert_ok(rp_profile_create(&profile));
    rp_profile_set_base(profile, random_below(random, 10));
    rp_profile_set_quantum(profile, quanta[random_below(random, 3)]);
    struct rp_copy_price price = {measured(random_below(random, 2) * random_below(random, 9)),
                                  measured(250 + random_below(random, 1000))};
    rp_profile_set_copy_price(profile, &price);
    for (size_t b = 0; b < layout.buffers; b++) {
        layout.sizes[b] = 2 + random_below(random, 14);
        snprintf(name, sizeof(name), "b%zu", b);
        assert_ok(rp_profile_add_buffer(profile, name, layout.sizes[b]));
    }
    for (size_t k = 0; k < count; k++)
        add_random_segment(random, profile, k, &layout);
    if (rp_profile_close(profile, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return profile;
}
