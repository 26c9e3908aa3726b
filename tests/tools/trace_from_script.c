/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace as a script on stdin says, with the real library and the real vocabulary:
 *
 *     property KEY VALUE                  before anything else
 *     define enter|leave NAME FIELD:TYPE...
 *     define note NAME FIELD:TYPE...      an event of tracker/events.h, as another version had it
 *     enter|leave NAME VALUE...           all fields, in order
 *     note NAME FIELD=VALUE...            an event of tracker/events.h; other fields are empty
 *     group COUNT NOTE.FIELD...           the latest events, whose fields move together when ...
 *     again NUMBER                        ... they come again: by as much more than the last time
 *     flush                               ends the chunk
 *     thread                              what follows is done by another thread
 *
 * Types are those of enum rp_field_type. In texts, %XX is a byte.
 *
 * usage: trace_from_script TRACE <SCRIPT */
#include "tracker/events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, LINE = 4096 };

static const char *const types[] = {"UINT", "SINT", "HEX", "BYTES", "TEXT", "NAME", "FLOAT"};

static struct script {
    char kept[1 << 16]; /* names and texts, to the end */
    size_t kept_bytes;
    const char *properties[MOST][2];
    size_t property_count;
    struct rp_event_def defined[MOST];
    size_t defined_count;
    struct rp_trace_writer *writer;
    struct rp_trace_group group;
    const char *path;
} script;

_Noreturn static void fail(const char *what, const char *about)
{
    fprintf(stderr, "trace_from_script: %s: %s\n", what, about);
    exit(1);
}

static void check(enum rp_status status, const char *about)
{
    if (status != RP_OK)
        fail(rp_status_text(status), about);
}

static char *keep(const char *text)
{
    size_t size = strlen(text) + 1;
    if (script.kept_bytes + size > sizeof(script.kept))
        fail("the script is too long", text);
    script.kept_bytes += size;
    return memcpy(script.kept + script.kept_bytes - size, text, size);
}

static struct rp_trace_writer *writer(void)
{
    if (!script.writer) {
        const struct rp_trace_options options = {
            .properties = (const char *const (*)[2])(void *)script.properties,
            .property_count = script.property_count};
        check(rp_trace_writer_open(script.path, &options, &script.writer), script.path);
    }
    return script.writer;
}

/* ---- values ------------------------------------------------------------------- */

static void unescape(char *text, size_t *length)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        unsigned byte;
        if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
            *to++ = (char)byte;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    *length = (size_t)(to - text);
}

static union rp_value value_of(enum rp_field_type type, char *text)
{
    union rp_value value = {0};
    if (type == RP_FIELD_TEXT || type == RP_FIELD_NAME) {
        unescape(text, &value.t.length);
        value.t.text = text;
    } else if (type == RP_FIELD_FLOAT) {
        value.f = strtod(text, NULL);
    } else if (type == RP_FIELD_SINT) {
        value.s = strtoll(text, NULL, 0);
    } else {
        value.u = strtoull(text, NULL, 0);
    }
    return value;
}

static void emit(const struct rp_event_def *def, const union rp_value *values)
{
    rp_trace_emit(writer(), rp_trace_define(writer(), def), values);
}

/* ---- lines -------------------------------------------------------------------- */

static void define(const char *class_, const char *name, char **state)
{
    struct rp_event_def *def = &script.defined[script.defined_count++];
    def->class_ = keep(class_);
    def->name = keep(name);
    for (char *word; (word = strtok_r(NULL, " \n", state)) != NULL; def->field_count++) {
        char *type = strchr(word, ':');
        size_t i = 0;
        if (!type)
            fail("no type", word);
        *type++ = 0;
        while (i < 7 && strcmp(types[i], type) != 0)
            i++;
        if (i == 7)
            fail("no type", type);
        def->fields[def->field_count].name = keep(word);
        def->fields[def->field_count].type = (enum rp_field_type)i;
    }
}

static void call(const char *class_, const char *name, char **state)
{
    union rp_value values[RP_EVENT_MAX_FIELDS] = {0};
    for (size_t i = 0; i < script.defined_count; i++) {
        const struct rp_event_def *def = &script.defined[i];
        if (strcmp(def->class_, class_) != 0 || strcmp(def->name, name) != 0)
            continue;
        for (uint32_t at = 0; at < def->field_count; at++) {
            char *word = strtok_r(NULL, " \n", state);
            if (!word)
                fail("too few values", name);
            values[at] = value_of(def->fields[at].type, word);
        }
        emit(def, values);
        return;
    }
    fail("not defined", name);
}

static const struct rp_event_def *find_note(const char *name)
{
    for (size_t i = 0; i < script.defined_count; i++)
        if (strcmp(script.defined[i].class_, "note") == 0 &&
            strcmp(script.defined[i].name, name) == 0)
            return &script.defined[i];
    for (int i = 0; i < RP_EVENT_COUNT; i++)
        if (strcmp(rp_event_defs[i].name, name) == 0)
            return &rp_event_defs[i];
    fail("no such note", name);
}

static void note(const char *name, char **state)
{
    union rp_value values[RP_EVENT_MAX_FIELDS] = {0};
    const struct rp_event_def *def = find_note(name);
    for (char *word; (word = strtok_r(NULL, " \n", state)) != NULL;) {
        char *text = strchr(word, '=');
        uint32_t at = 0;
        if (!text)
            fail("no value", word);
        *text++ = 0;
        while (at < def->field_count && strcmp(def->fields[at].name, word) != 0)
            at++;
        if (at == def->field_count)
            fail("no such field", word);
        values[at] = value_of(def->fields[at].type, text);
    }
    emit(def, values);
}

static void group(const char *count, char **state)
{
    const uint64_t slots[RP_TRACE_SLOTS] = {0};
    struct rp_trace_move moves[MOST];
    unsigned used = 0;

    for (char *word; used < MOST && (word = strtok_r(NULL, " \n", state)) != NULL; used++) {
        char *field = strchr(word, '.');
        if (!field)
            fail("no field", word);
        *field++ = 0;
        moves[used] = (struct rp_trace_move){.def = find_note(word)};
        while (strcmp(moves[used].def->fields[moves[used].field].name, field) != 0)
            if (++moves[used].field == moves[used].def->field_count)
                fail("no such field", field);
    }
    rp_trace_group(writer(), (unsigned)atoi(count), moves, used, slots, &script.group);
}

static void again(const char *number)
{
    const uint64_t slots[RP_TRACE_SLOTS] = {strtoull(number, NULL, 10)};
    if (!rp_trace_again(writer(), &script.group, slots))
        fail("no group", number);
}

static void *obey(void *unused);

/* The rest of the script on another thread, to its end. */
static void go_on_elsewhere(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, obey, NULL) != 0)
        fail("no thread", script.path);
    pthread_join(thread, NULL);
}

static void *obey(void *unused)
{
    char line[LINE];
    (void)unused;
    while (fgets(line, sizeof(line), stdin)) {
        char *state, *verb = strtok_r(line, " \n", &state);
        char *first = verb ? strtok_r(NULL, " \n", &state) : NULL;
        if (!verb)
            continue;
        if (strcmp(verb, "thread") == 0) {
            go_on_elsewhere();
        } else if (strcmp(verb, "flush") == 0) {
            check(rp_trace_writer_flush(writer()), script.path);
        } else if (!first) {
            fail("too short", verb);
        } else if (strcmp(verb, "property") == 0) {
            char *text = strtok_r(NULL, "\n", &state);
            script.properties[script.property_count][0] = keep(first);
            script.properties[script.property_count++][1] = keep(text ? text : "");
        } else if (strcmp(verb, "define") == 0) {
            char *name = strtok_r(NULL, " \n", &state);
            define(first, name ? name : "", &state);
        } else if (strcmp(verb, "group") == 0) {
            group(first, &state);
        } else if (strcmp(verb, "again") == 0) {
            again(first);
        } else if (strcmp(verb, "note") == 0) {
            note(first, &state);
        } else {
            call(verb, first, &state);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        fail("usage", "trace_from_script TRACE <SCRIPT");
    script.path = argv[1];
    obey(NULL);
    check(rp_trace_writer_close(writer()), script.path);
    return 0;
}
