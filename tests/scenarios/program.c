/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scenarios/program.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 12, MAX_LINE = 256 };

struct reader {
    const char *path;
    int line;
    struct program *program;
    char *words[MAX_WORDS];
    int count;
    int thread; /* that the line is for */
    bool waits;
    int open[8], depth;       /* FORWARD and REPLAY ops whose END has not come */
    char labels[512][24];      /* names of forwards, for `again` */
    int labelled[512], label_count;
};

_Noreturn __attribute__((format(printf, 2, 3)))
static void fail(const struct reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", reader->path, reader->line);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

static uint64_t number(const struct reader *reader, const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 0);
    if (end == text || *end)
        fail(reader, "'%s' is no number", text);
    return value;
}

static const char *word(const struct reader *reader, int index)
{
    if (index >= reader->count)
        fail(reader, "'%s' wants more words", reader->words[0]);
    return reader->words[index];
}

static struct op *op_add(struct reader *reader, enum op_kind kind)
{
    struct program *program = reader->program;
    if (program->op_count == program->op_capacity) {
        program->op_capacity = program->op_capacity ? program->op_capacity * 2 : 64;
        program->ops = realloc(program->ops, (size_t)program->op_capacity * sizeof *program->ops);
        if (!program->ops)
            fail(reader, "out of memory");
    }
    struct op *op = &program->ops[program->op_count++];
    *op = (struct op){.kind = kind, .line = reader->line, .thread = reader->thread,
                      .waits = reader->waits};
    for (int i = 0; i < MAX_VIEWS; i++)
        op->views[i].buffer = -1;
    return op;
}

static int buffer_find(const struct reader *reader, const char *name)
{
    const struct program *program = reader->program;
    for (int i = program->buffer_count; i-- > 0;) /* the latest of that name */
        if (strcmp(program->buffers[i].name, name) == 0)
            return i;
    fail(reader, "no buffer '%s'", name);
}

static enum via via_of(const struct reader *reader, const char *text)
{
    static const char *const names[] = {"argument", "boxed", "tabled", "global"};
    for (int i = 0; i < 4; i++)
        if (strcmp(names[i], text) == 0)
            return (enum via)i;
    fail(reader, "'/%s' is no way to a buffer: boxed, tabled, global", text);
}

static struct view view_read(const struct reader *reader, char *text)
{
    struct view view = {.via = VIA_ARGUMENT};
    char *via = strchr(text, '/'), *offset = strchr(text, ':');
    if (via) {
        *via = '\0';
        view.via = via_of(reader, via + 1);
    }
    if (offset)
        *offset++ = '\0';
    view.buffer = buffer_find(reader, text);
    view.bytes = reader->program->buffers[view.buffer].bytes;
    if (offset) {
        char *bytes = strchr(offset, ':');
        if (!bytes)
            fail(reader, "a view is NAME:OFFSET:BYTES");
        *bytes++ = '\0';
        view.offset = number(reader, offset);
        uint64_t wanted = number(reader, bytes);
        if (view.offset > view.bytes || wanted > view.bytes - view.offset)
            fail(reader, "the view leaves its buffer");
        view.bytes = wanted;
    }
    return view;
}

static void read_option(struct reader *reader, struct op *op, const char *text)
{
    if (*text == '@')
        op->stream = (int)number(reader, text + 1);
    else if (strcmp(text, "graph") == 0)
        op->graph = true;
    else if (strcmp(text, "k=host") == 0)
        op->host_k = true;
    else if (strncmp(text, "k=", 2) == 0)
        op->k = (uint32_t)number(reader, text + 2);
    else
        fail(reader, "'%s' is no option", text);
    if (op->stream < 0 || op->stream >= MAX_STREAMS)
        fail(reader, "streams are 0 to %d", MAX_STREAMS - 1);
}

static void read_verb(struct reader *reader)
{
    const struct verb *verb = verb_find(reader->words[0]);
    if (!verb)
        fail(reader, "no verb '%s'", reader->words[0]);
    bool drops = strcmp(verb->name, "drop") == 0;
    struct op *op = op_add(reader, drops ? OP_DROP : OP_VERB);
    int at = 1;
    op->verb = verb;
    for (int i = 0; i < MAX_VIEWS; i++)
        if (verb->effects[i] != '-') {
            word(reader, at);
            op->views[i] = view_read(reader, reader->words[at++]);
        }
    while (at < reader->count)
        read_option(reader, op, reader->words[at++]);
}

static void read_buffer(struct reader *reader)
{
    struct program *program = reader->program;
    if (program->buffer_count == MAX_BUFFERS)
        fail(reader, "more than %d buffers", MAX_BUFFERS);
    struct buffer *buffer = &program->buffers[program->buffer_count++];
    *buffer = (struct buffer){.bytes = number(reader, word(reader, 2))};
    snprintf(buffer->name, sizeof buffer->name, "%s", word(reader, 1));
    for (int i = 3; i < reader->count; i++) {
        buffer->state = buffer->state || strcmp(reader->words[i], "state") == 0;
        buffer->pool = buffer->pool || strcmp(reader->words[i], "pool") == 0;
        buffer->pinned = buffer->pinned || strcmp(reader->words[i], "pinned") == 0;
        buffer->second = buffer->second || strcmp(reader->words[i], "second") == 0;
    }
    struct op *op = op_add(reader, OP_ALLOCATE);
    op->views[0] = (struct view){.buffer = program->buffer_count - 1, .bytes = buffer->bytes};
}

static void read_free(struct reader *reader)
{
    int buffer = buffer_find(reader, word(reader, 1));
    op_add(reader, OP_FREE)->views[0].buffer = buffer;
}

static void read_segment(struct reader *reader)
{
    struct program *program = reader->program;
    if (program->segment_count == MAX_SEGMENTS)
        fail(reader, "more than %d segments", MAX_SEGMENTS);
    snprintf(program->segments[program->segment_count++], sizeof program->segments[0], "%s",
             word(reader, 1));
}

static struct op *read_scope(struct reader *reader, enum op_kind kind)
{
    const struct program *program = reader->program;
    struct op *op = op_add(reader, kind);
    for (op->segment = 0; op->segment < program->segment_count; op->segment++)
        if (strcmp(program->segments[op->segment], word(reader, 1)) == 0)
            break;
    if (op->segment == program->segment_count)
        fail(reader, "no segment '%s'", reader->words[1]);
    snprintf(op->key, sizeof op->key, "%s", word(reader, 2));
    if (reader->depth == 8)
        fail(reader, "more than 8 ranges inside each other");
    reader->open[reader->depth++] = reader->program->op_count - 1;
    return op;
}

static void read_forward(struct reader *reader)
{
    read_scope(reader, OP_FORWARD);
    if (reader->count < 5 || reader->label_count == 512)
        return;
    snprintf(reader->labels[reader->label_count], sizeof reader->labels[0], "%s",
             word(reader, 4));
    reader->labelled[reader->label_count++] = reader->program->op_count - 1;
}

static void read_replay(struct reader *reader)
{
    read_scope(reader, OP_REPLAY);
}

static void read_end(struct reader *reader)
{
    if (!reader->depth)
        fail(reader, "nothing is open");
    int opened = reader->open[--reader->depth];
    const struct op *beginning = &reader->program->ops[opened];
    reader->thread = beginning->thread;
    reader->waits = beginning->waits;
    op_add(reader, OP_END)->closes = opened;
}

static void read_again(struct reader *reader)
{
    struct op *op = op_add(reader, OP_AGAIN);
    op->label = -1;
    for (int i = reader->label_count; i-- > 0 && op->label < 0;)
        if (strcmp(reader->labels[i], word(reader, 1)) == 0)
            op->label = reader->labelled[i];
    if (op->label < 0)
        fail(reader, "no forward is called '%s'", reader->words[1]);
    op->first = (int)number(reader, word(reader, 2));
    op->last = (int)number(reader, word(reader, 3));
    if (op->label + 1 + op->last >= reader->program->op_count)
        fail(reader, "the forward has no line %d", op->last);
}

static void read_event(struct reader *reader, enum op_kind kind)
{
    struct op *op = op_add(reader, kind);
    op->event = (int)number(reader, word(reader, 1));
    if (op->event < 0 || op->event >= MAX_EVENTS)
        fail(reader, "events are 0 to %d", MAX_EVENTS - 1);
    read_option(reader, op, word(reader, 2));
}

static void read_record(struct reader *reader)
{
    read_event(reader, OP_RECORD);
}

static void read_wait(struct reader *reader)
{
    read_event(reader, OP_WAIT);
}

static void read_host(struct reader *reader)
{
    op_add(reader, OP_HOST)->k = (uint32_t)number(reader, word(reader, 1));
}

static void read_plain(struct reader *reader)
{
    static const struct { const char *name; enum op_kind kind; } plain[] = {
        {"begin", OP_BEGIN}, {"finish", OP_FINISH}, {"sync", OP_SYNC}, {"join", OP_JOIN},
                 {"check", OP_CHECK}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i].name, reader->words[0]) == 0)
            op_add(reader, plain[i].kind);
}

static const struct {
    const char *name;
    void (*read)(struct reader *reader);
} lines[] = {
    {"segment", read_segment}, {"buffer", read_buffer}, {"free", read_free},
    {"forward", read_forward}, {"replay", read_replay}, {"end", read_end},
    {"again", read_again},     {"record", read_record}, {"wait", read_wait},
    {"host", read_host},       {"begin", read_plain},   {"finish", read_plain},
    {"sync", read_plain},      {"join", read_plain},    {"check", read_plain},
};

/* `&N` or `&N+` at the end. */
static void take_thread(struct reader *reader)
{
    const char *last = reader->words[reader->count - 1];
    reader->thread = 0;
    reader->waits = true;
    if (*last != '&')
        return;
    reader->thread = last[1] - '0';
    reader->waits = last[1] && last[2] != '+';
    if (reader->thread < 0 || reader->thread >= MAX_THREADS)
        fail(reader, "host threads are 0 to %d", MAX_THREADS - 1);
    reader->count--;
}

static void read_line(struct reader *reader)
{
    take_thread(reader);
    bool replaying = strcmp(reader->words[0], "replaying") == 0;
    int before = reader->program->op_count;
    if (replaying) {
        word(reader, 1);
        memmove(reader->words, reader->words + 1, (size_t)--reader->count * sizeof(char *));
    }
    size_t i = 0, count = sizeof lines / sizeof *lines;
    while (i < count && strcmp(lines[i].name, reader->words[0]) != 0)
        i++;
    if (i < count)
        lines[i].read(reader);
    else
        read_verb(reader);
    for (int op = before; op < reader->program->op_count; op++)
        reader->program->ops[op].replaying_only = replaying;
}

static void split(struct reader *reader, char *text)
{
    char *rest, *comment = strchr(text, '#');
    if (comment)
        *comment = '\0';
    reader->count = 0;
    for (char *at = strtok_r(text, " \t\n", &rest); at; at = strtok_r(NULL, " \t\n", &rest))
        if (reader->count < MAX_WORDS)
            reader->words[reader->count++] = at;
}

static int line_of(FILE *file)
{
    static FILE *last;
    static int line;
    line = file == last ? line : 0;
    last = file;
    return ++line;
}

struct program *program_read(FILE *file, const char *path)
{
    struct reader reader = {.path = path};
    char text[MAX_LINE];
    long start = ftell(file);
    while (fgets(text, sizeof text, file)) {
        reader.line = line_of(file);
        split(&reader, text);
        bool begins = reader.count && strcmp(reader.words[0], "program") == 0;
        if (begins && reader.program) { /* the next one's */
            fseek(file, start, SEEK_SET);
            return reader.program;
        }
        start = ftell(file);
        if (!reader.count)
            continue;
        if (begins) {
            reader.program = calloc(1, sizeof *reader.program);
            if (!reader.program)
                fail(&reader, "out of memory");
            snprintf(reader.program->name, sizeof reader.program->name, "%s", word(&reader, 1));
        } else if (!reader.program) {
            fail(&reader, "a program begins with the word 'program'");
        } else {
            read_line(&reader);
        }
    }
    return reader.program;
}

void program_destroy(struct program *program)
{
    free(program->ops);
    free(program);
}
