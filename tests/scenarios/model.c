/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scenarios/model.h"

#include "tests/scenarios/place.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INSTANCES = 512, MAX_STALE = 256, NEVER = -1, POOL_BYTES = 65536 };

struct write {
    const struct op *op; /* NULL: the zeroes of the allocation */
    int step, launch;
};

struct instance {
    int label;               /* index of its FORWARD op */
    int last_replay;         /* index of the last op that repeats it, or NEVER */
    uint32_t *seen[MAX_BUFFERS]; /* version of each byte read before it was written; 0: none */
    uint64_t *made[MAX_BUFFERS]; /* of these, as below */
    unsigned char *written[MAX_BUFFERS], *kept[MAX_BUFFERS];
    uint32_t *log;           /* version that each of its lines wrote */
    bool tainted, over;
};

struct stale {
    uint64_t size, offset, bytes;
    struct write writer;
    const struct op *reader;
};

static struct {
    const struct program *program;
    bool bare; /* replays happen; otherwise only the forwards, for the least bytes */
    uint32_t *version[MAX_BUFFERS];
    /* Which byte of which version each was made as: what is copied keeps it. */
    uint64_t *made[MAX_BUFFERS];
    struct write *writes;
    uint32_t write_count, write_capacity;
    struct instance *instances[MAX_INSTANCES];
    int instance_count;
    int open[8], depth;      /* instances whose forward is open */
    struct instance *replay; /* whose lines are run again */
    unsigned char *rewritten[MAX_BUFFERS];
    struct stale stale[MAX_STALE];
    int stale_count;
    int step, launch;
    uint64_t least;
} model;

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "scenario: out of memory\n");
        exit(1);
    }
    return memory;
}

static uint64_t bytes_of(int buffer)
{
    return model.program->buffers[buffer].bytes;
}

static void *per_byte(void *slot, int buffer, size_t size)
{
    void **map = slot;
    if (!*map)
        *map = zeroed(bytes_of(buffer), size);
    return *map;
}

static uint32_t write_new(const struct op *op)
{
    if (model.write_count == model.write_capacity) {
        model.write_capacity = model.write_capacity ? model.write_capacity * 2 : 256;
        model.writes = realloc(model.writes, model.write_capacity * sizeof *model.writes);
        if (!model.writes)
            exit(1);
    }
    model.writes[model.write_count] = (struct write){op, model.step, model.launch};
    return ++model.write_count; /* versions count from 1 */
}

/* ---- forwards ------------------------------------------------------------------------------ */

static void forward_read(struct instance *instance, const struct view *view)
{
    uint32_t *seen = per_byte(&instance->seen[view->buffer], view->buffer, sizeof *seen);
    uint64_t *made = per_byte(&instance->made[view->buffer], view->buffer, sizeof *made);
    const unsigned char *written = per_byte(&instance->written[view->buffer], view->buffer, 1);
    for (uint64_t i = view->offset; i < view->offset + view->bytes; i++) {
        if (written[i] || seen[i])
            continue;
        seen[i] = model.version[view->buffer][i];
        made[i] = model.made[view->buffer][i];
    }
}

static void forward_write(struct instance *instance, const struct view *view)
{
    unsigned char *written = per_byte(&instance->written[view->buffer], view->buffer, 1);
    memset(written + view->offset, 1, view->bytes);
}

/* A write of anybody's: what it takes from the forwards that are still to be replayed. */
static void clobber(const struct view *view)
{
    for (int i = 0; i < model.instance_count; i++) {
        struct instance *instance = model.instances[i];
        const uint32_t *seen = instance->seen[view->buffer];
        if (instance->over || !seen)
            continue;
        unsigned char *kept = per_byte(&instance->kept[view->buffer], view->buffer, 1);
        for (uint64_t at = view->offset; at < view->offset + view->bytes; at++)
            if (seen[at] && !kept[at]) {
                kept[at] = 1;
                model.least++;
            }
    }
}

/* ---- replays ------------------------------------------------------------------------------- */

static bool has_same_name(const struct op *one, const struct op *other)
{
    if (!one || !other)
        return one == other;
    return one->verb == other->verb && one->views[0].via == other->views[0].via;
}

static bool is_known(const struct stale *stale)
{
    for (int i = 0; i < model.stale_count; i++) {
        const struct stale *other = &model.stale[i];
        if (other->size == stale->size && has_same_name(other->reader, stale->reader) &&
            has_same_name(other->writer.op, stale->writer.op))
            return true;
    }
    return false;
}

static void note_stale(const struct view *view, const struct op *reader, uint64_t offset,
                       uint64_t end, uint32_t version)
{
    bool pool = model.program->buffers[view->buffer].pool;
    struct stale stale = {pool ? POOL_BYTES : bytes_of(view->buffer), offset, end - offset,
                          model.writes[version - 1], reader};
    model.replay->tainted = true;
    if (!is_known(&stale) && model.stale_count < MAX_STALE)
        model.stale[model.stale_count++] = stale;
}

/* Bytes that lie side by side, and did when they were made. */
static bool is_one_piece(const uint32_t *version, const uint64_t *made, uint64_t at, uint64_t next)
{
    return version[next] == version[at] && (!version[at] || made[next] - made[at] == next - at);
}

static void replay_read(const struct op *op, const struct view *view)
{
    const uint32_t *seen = per_byte(&model.replay->seen[view->buffer], view->buffer, sizeof *seen);
    const uint64_t *past = per_byte(&model.replay->made[view->buffer], view->buffer, sizeof *past);
    const unsigned char *rewritten = per_byte(&model.rewritten[view->buffer], view->buffer, 1);
    const uint32_t *now = model.version[view->buffer];
    const uint64_t *made = model.made[view->buffer];
    uint64_t end = view->offset + view->bytes;
    for (uint64_t at = view->offset, next; at < end; at = next) {
        bool stale = !rewritten[at] && seen[at] && now[at] != seen[at] && made[at] != past[at];
        next = at + 1;
        while (next < end && is_one_piece(now, made, at, next) &&
               is_one_piece(seen, past, at, next) && rewritten[next] == rewritten[at])
            next++;
        if (stale)
            note_stale(view, op, at, next, now[at]);
    }
}

/* ---- operations ---------------------------------------------------------------------------- */

static bool reads(const struct op *op, int view)
{
    return op->views[view].buffer >= 0 && strchr("rm", op->verb->effects[view]);
}

static bool writes(const struct op *op, int view)
{
    return op->views[view].buffer >= 0 && strchr("wm", op->verb->effects[view]);
}

static void read_all(const struct op *op)
{
    for (int v = 0; v < MAX_VIEWS; v++) {
        if (!reads(op, v))
            continue;
        if (model.replay)
            replay_read(op, &op->views[v]);
        for (int i = 0; i < model.depth; i++)
            forward_read(model.instances[model.open[i]], &op->views[v]);
    }
}

static void write_all(const struct op *op, uint32_t version)
{
    for (int v = 0; v < MAX_VIEWS; v++) {
        const struct view *view = &op->views[v];
        if (!writes(op, v))
            continue;
        clobber(view);
        if (model.replay)
            memset((unsigned char *)per_byte(&model.rewritten[view->buffer], view->buffer, 1) +
                       view->offset, 1, view->bytes);
        for (int i = 0; i < model.depth; i++)
            forward_write(model.instances[model.open[i]], view);
        for (uint64_t at = view->offset; at < view->offset + view->bytes; at++) {
            model.version[view->buffer][at] = version;
            model.made[view->buffer][at] = (uint64_t)version << 32 | (at - view->offset);
        }
    }
}

static void keep_makers(const struct op *op)
{
    const struct view *to = &op->views[0], *from = &op->views[1];
    memmove(model.made[to->buffer] + to->offset, model.made[from->buffer] + from->offset,
            to->bytes * sizeof(uint64_t));
}

static void do_verb(const struct op *op)
{
    read_all(op);
    uint32_t version = 0;
    if (model.replay && !model.replay->tainted)
        version = model.replay->log[op - &model.program->ops[model.replay->label]];
    if (!version)
        version = write_new(op);
    if (model.depth) {
        struct instance *instance = model.instances[model.open[model.depth - 1]];
        instance->log[op - &model.program->ops[instance->label]] = version;
    }
    write_all(op, version);
    if (op->verb->kind == VERB_COPY && place_is_default(op->stream))
        keep_makers(op);
    model.launch += op->verb->kind == VERB_KERNEL;
}

static void allocate(int buffer)
{
    model.version[buffer] = zeroed(bytes_of(buffer), sizeof(uint32_t));
    model.made[buffer] = zeroed(bytes_of(buffer), sizeof(uint64_t));
    uint32_t version = write_new(NULL);
    for (uint64_t i = 0; i < bytes_of(buffer); i++) {
        model.version[buffer][i] = version;
        model.made[buffer][i] = (uint64_t)version << 32 | i;
    }
    model.launch += model.program->buffers[buffer].state;
}

static void begin_forward(int label)
{
    struct instance *instance = zeroed(1, sizeof *instance);
    if (model.instance_count == MAX_INSTANCES)
        exit(1);
    instance->label = label;
    instance->log = zeroed((size_t)model.program->op_count, sizeof *instance->log);
    instance->last_replay = NEVER;
    for (int i = 0; i < model.program->op_count; i++)
        if (model.program->ops[i].kind == OP_AGAIN && model.program->ops[i].label == label)
            instance->last_replay = i;
    model.open[model.depth++] = model.instance_count;
    model.instances[model.instance_count++] = instance;
}

static struct instance *instance_of(int label)
{
    for (int i = 0; i < model.instance_count; i++)
        if (model.instances[i]->label == label)
            return model.instances[i];
    return NULL;
}

static void run_op(const struct op *op);

static void again(const struct op *op)
{
    struct instance *instance = instance_of(op->label);
    if (model.bare && instance) {
        if (model.replay != instance)
            instance->tainted = false;
        model.replay = instance;
        for (int i = op->first; i <= op->last; i++)
            run_op(&model.program->ops[op->label + 1 + i]);
        model.replay = NULL;
    }
}

static void end_replay(void)
{
    for (int i = 0; i < model.program->buffer_count; i++) {
        free(model.rewritten[i]);
        model.rewritten[i] = NULL;
    }
}

static void finish_instances(int index, bool all)
{
    for (int i = 0; i < model.instance_count; i++) {
        struct instance *instance = model.instances[i];
        if (all || (instance->last_replay != NEVER && instance->last_replay < index))
            instance->over = true;
    }
}

static void run_op(const struct op *op)
{
    if (op->replaying_only && !model.bare)
        return;
    switch (op->kind) {
    case OP_VERB: case OP_DROP: do_verb(op); break;
    case OP_ALLOCATE: allocate(op->views[0].buffer); break;
    case OP_BEGIN:
        model.step++;
        model.launch = 0;
        finish_instances(0, true);
        break;
    case OP_FORWARD: begin_forward((int)(op - model.program->ops)); break;
    case OP_END:
        if (model.program->ops[op->closes].kind == OP_FORWARD)
            model.depth--;
        else
            end_replay();
        break;
    case OP_AGAIN: again(op); break;
    case OP_FREE: case OP_FINISH: case OP_REPLAY: case OP_RECORD: case OP_WAIT: case OP_SYNC:
    case OP_JOIN: case OP_HOST: case OP_CHECK: break;
    }
}

static void release(void)
{
    end_replay();
    for (int i = 0; i < model.instance_count; i++) {
        struct instance *instance = model.instances[i];
        for (int b = 0; b < model.program->buffer_count; b++) {
            free(instance->seen[b]);
            free(instance->made[b]);
            free(instance->written[b]);
            free(instance->kept[b]);
        }
        free(instance->log);
        free(instance);
    }
    for (int b = 0; b < model.program->buffer_count; b++) {
        free(model.version[b]);
        free(model.made[b]);
    }
    free(model.writes);
}

static void run(const struct program *program, bool bare)
{
    memset(&model, 0, sizeof model);
    model.program = program;
    model.bare = bare;
    for (int i = 0; i < program->op_count; i++) {
        finish_instances(i, false);
        run_op(&program->ops[i]);
    }
}

/* Nested forwards, replays that allocate, touches that depend on data, and threads that nothing
 * brings into one order are beyond it. */
static bool is_exact(const struct program *program)
{
    int depth = 0;
    for (int i = 0; i < program->op_count; i++) {
        const struct op *op = &program->ops[i];
        depth += op->kind == OP_FORWARD;
        depth -= op->kind == OP_END && program->ops[op->closes].kind == OP_FORWARD;
        if (depth > 1 || op->replaying_only || op->graph || !op->waits ||
            (depth && op->kind == OP_ALLOCATE) ||
            (op->verb && (!op->verb->exact || op->views[0].via == VIA_TABLED)))
            return false;
    }
    return true;
}

static void print_name(const char *key, const struct op *op)
{
    static const char *const calls[] = {"", "cuMemsetD8Async", "cuMemcpyDtoDAsync_v2",
                                        "cuMemcpyHtoDAsync_v2", "cuMemsetD8Async"};
    static const char *const ways[] = {"", "_boxed", "_tabled", "_global"};
    if (!op)
        printf("\"%s\": \"cuMemsetD8_v2\", ", key);
    else if (op->verb->kind == VERB_KERNEL)
        printf("\"%s\": \"%s%s\", ", key, op->verb->name, ways[op->views[0].via]);
    else
        printf("\"%s\": \"%s\", ", key, calls[op->verb->kind]);
}

static void print_stale(void)
{
    for (int i = 0; i < model.stale_count; i++) {
        const struct stale *stale = &model.stale[i];
        printf("%s{", i ? ", " : "");
        print_name("writer", stale->writer.op);
        print_name("reader", stale->reader);
        printf("\"bytes\": %llu, \"allocation_bytes\": %llu, \"offset\": %llu, "
               "\"writer_step\": %d, \"writer_launch\": %d, \"aside\": %d}",
               (unsigned long long)stale->bytes, (unsigned long long)stale->size,
               (unsigned long long)stale->offset, stale->writer.step, stale->writer.launch,
               stale->writer.op ? stale->writer.op->stream : 0);
    }
}

void model_tell(const struct program *program, bool unused)
{
    (void)unused;
    printf("{\"name\": \"%s\", ", program->name);
    if (!is_exact(program)) {
        printf("\"exact\": false}\n");
        return;
    }
    run(program, false);
    printf("\"exact\": true, \"least\": %llu, \"stale\": [", (unsigned long long)model.least);
    release();
    run(program, true);
    print_stale();
    release();
    printf("]}\n");
}
