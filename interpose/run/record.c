/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/wrap.h"

#include "interpose/run/core.h"
#include "interpose/run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOWEST_FD = 200 };
enum { MAX_PROGRAMS = 10000 }; /* that one process executes, one in the place of the other */

/* Enter and leave of each call: definitions and the trace's ids for them. */
static struct recorded {
    struct rp_event_def enter, leave;
    uint32_t enter_id, leave_id;
} *recorded;

static enum rp_field_type field_type(enum rp_arg_kind kind)
{
    switch (kind) {
    case RP_ARG_UINT:
    case RP_ARG_ENUM: return RP_FIELD_UINT;
    case RP_ARG_SINT: return RP_FIELD_SINT;
    case RP_ARG_FLOAT: return RP_FIELD_FLOAT;
    case RP_ARG_SIZE: return RP_FIELD_BYTES;
    case RP_ARG_TEXT: return RP_FIELD_NAME;
    case RP_ARG_ADDRESS:
    case RP_ARG_HANDLE:
    case RP_ARG_STREAM:
    case RP_ARG_POINTER:
    case RP_ARG_FUNCTION:
    case RP_ARG_STRUCT: return RP_FIELD_HEX;
    }
    return RP_FIELD_HEX;
}

static void add_field(struct rp_event_def *def, const char *name, enum rp_field_type type)
{
    if (def->field_count == RP_EVENT_MAX_FIELDS)
        return;
    def->fields[def->field_count].name = name;
    def->fields[def->field_count++].type = type;
}

static void define_call(enum rp_call_id id)
{
    const struct rp_call_info *info = &rp_calls[id];
    struct recorded *call = &recorded[id];
    call->enter = (struct rp_event_def){.name = info->name, .class_ = "enter"};
    call->leave = (struct rp_event_def){.name = info->name, .class_ = "leave"};
    add_field(&call->enter, "call", RP_FIELD_UINT);
    add_field(&call->leave, "call", RP_FIELD_UINT);
    add_field(&call->leave, "result", RP_FIELD_SINT);
    for (unsigned i = 0; i < info->arg_count; i++) {
        const struct rp_arg_info *arg = &info->args[i];
        add_field(&call->enter, arg->name, field_type((enum rp_arg_kind)arg->kind));
        if (arg->out)
            add_field(&call->leave, arg->name, field_type((enum rp_arg_kind)arg->value_kind));
    }
}

/* `size` bytes at `at`, as the kind says. Structures are shown by their first bytes. */
static union rp_value load(const void *at, size_t size, enum rp_arg_kind kind)
{
    union rp_value value = {.u = 0};
    if (kind == RP_ARG_TEXT) {
        const char *text;
        memcpy(&text, at, sizeof text);
        return rp_value_text(text);
    }
    if (kind == RP_ARG_FLOAT && size == sizeof(float)) {
        float number;
        memcpy(&number, at, sizeof number);
        value.f = (double)number;
        return value;
    }
    if (kind == RP_ARG_SINT && size == sizeof(int)) {
        int number;
        memcpy(&number, at, sizeof number);
        value.s = number;
        return value;
    }
    if (size == sizeof(uint32_t)) { /* as most are: a copy of any size is a call */
        uint32_t number;
        memcpy(&number, at, sizeof number);
        value.u = number;
        return value;
    }
    if (size >= sizeof value.u)
        memcpy(&value.u, at, sizeof value.u);
    else
        memcpy(&value.u, at, size);
    return value;
}

void rp_record_enter(struct rp_frame *frame)
{
    const struct rp_call_info *info = &rp_calls[frame->id];
    union rp_value values[RP_EVENT_MAX_FIELDS];
    unsigned count = 0;
    values[count++].u = frame->seq;
    for (unsigned i = 0; i < info->arg_count && count < RP_EVENT_MAX_FIELDS; i++)
        values[count++] = load((const char *)frame->args + info->args[i].offset,
                               info->args[i].size, (enum rp_arg_kind)info->args[i].kind);
    rp_trace_emit(rp_core.trace, recorded[frame->id].enter_id, values);
}

void rp_record_leave(struct rp_frame *frame)
{
    const struct rp_call_info *info = &rp_calls[frame->id];
    union rp_value values[RP_EVENT_MAX_FIELDS];
    unsigned count = 0;
    values[count++].u = frame->seq;
    values[count++].s = (int)frame->result;
    for (unsigned i = 0; i < info->arg_count && count < RP_EVENT_MAX_FIELDS; i++) {
        const struct rp_arg_info *arg = &info->args[i];
        if (!arg->out)
            continue;
        const void *place;
        memcpy(&place, (const char *)frame->args + arg->offset, sizeof place);
        bool filled = place && frame->result == CUDA_SUCCESS;
        values[count++] = filled ? load(place, arg->value_size, (enum rp_arg_kind)arg->value_kind)
                                 : (union rp_value){.u = 0};
    }
    rp_trace_emit(rp_core.trace, recorded[frame->id].leave_id, values);
}

const struct rp_event_def *rp_record_enter_def(enum rp_call_id id)
{
    return &recorded[id].enter;
}

const struct rp_event_def *rp_record_leave_def(enum rp_call_id id)
{
    return &recorded[id].leave;
}

/* The command as the kernel knows it, with blanks between the words. */
static void read_command(char *text, size_t size)
{
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, size - 1) : 0;
    if (file >= 0)
        close(file);
    if (length < 0)
        length = 0;
    for (ssize_t i = 0; i + 1 < length; i++)
        if (!text[i])
            text[i] = ' ';
    text[length] = '\0';
}

static void note_process(const char *command)
{
    RP_NOTE(process, RP_U(getpid()), RP_U(getppid()), RP_T(command),
            RP_T(rp_mode_name(rp_core.config.mode)), RP_T(rp_real_path()), RP_T(""));
}

static enum rp_status define_events(void)
{
    recorded = calloc(RP_CALL_COUNT, sizeof *recorded);
    if (!recorded)
        return RP_NO_MEMORY;
    for (int id = 0; id < RP_CALL_COUNT; id++) {
        define_call((enum rp_call_id)id);
        recorded[id].enter_id = rp_trace_define(rp_core.trace, &recorded[id].enter);
        recorded[id].leave_id = rp_trace_define(rp_core.trace, &recorded[id].leave);
    }
    for (int event = 0; event < RP_EVENT_COUNT; event++)
        rp_core.trace_ids[event] = rp_trace_define(rp_core.trace, &rp_event_defs[event]);
    return RP_OK;
}

/* As long as this process lives, no other run takes the folder, even if who started us is killed.
 * Without a lock the trace is the same. */
static void hold_folder(void)
{
    static bool held; /* children of a fork hold it with us */
    int low = held ? -1 : open(rp_core.config.output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (low < 0)
        return;
    int high = fcntl(low, F_DUPFD_CLOEXEC, LOWEST_FD); /* out of the job's way */
    held = high >= 0 && flock(high, LOCK_SH | LOCK_NB) == 0;
    if (high >= 0 && !held)
        close(high);
    close(low);
}

static unsigned program = 1; /* of this process; changed before anybody reads it */

unsigned rp_record_program(void)
{
    return program;
}

static void name_trace(char *path, size_t size)
{
    const char *rank = rp_core.config.rank;
    int length = snprintf(path, size, "%s/trace-%s%s%s%d", rp_core.config.output,
                          *rank ? "rank" : "", rank, *rank ? "-" : "", (int)getpid());
    if (length < 0 || (size_t)length >= size)
        return;
    if (program > 1)
        snprintf(path + length, size - (size_t)length, "-%u.rpt", program);
    else
        snprintf(path + length, size - (size_t)length, ".rpt");
}

static enum rp_status open_trace(const char *command)
{
    char path[4096], pid[24], number[24];
    const char *rank = rp_core.config.rank;
    name_trace(path, sizeof path);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    snprintf(number, sizeof number, "%u", program);
    const char *const properties[][2] = {{"command", command},
                                         {"pid", pid},
                                         {"mode", rp_mode_name(rp_core.config.mode)},
                                         {"driver", rp_real_path()},
                                         {"program", number},
                                         {"rank", rank}};
    const struct rp_trace_options options = {
        .properties = properties,
        .property_count = sizeof properties / sizeof *properties - (*rank == 0),
        .lossy = rp_core.config.trace_lossy,
        .keep = rp_core.config.trace_keep,
        .limit = rp_core.config.trace_limit,
        .shelter = *rp_core.config.shelter ? rp_core.config.shelter : NULL};
    return rp_trace_writer_open(path, &options, &rp_core.trace);
}

enum rp_status rp_record_start(void)
{
    char command[4096];
    read_command(command, sizeof command);
    program = 1;
    enum rp_status status = open_trace(command);
    while (status == RP_IO && errno == EEXIST && ++program <= MAX_PROGRAMS)
        status = open_trace(command);
    if (status == RP_OK)
        status = define_events();
    if (status == RP_OK) {
        note_process(command);
        hold_folder();
    }
    return status;
}
