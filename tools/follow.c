/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/follow.h"

#include "tools/damage.h"
#include "tools/event_shape.h"
#include "tools/folder.h"
#include "tools/say.h"
#include "tools/trace_name.h"
#include "tracker/array.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* MOST_GONE: traces without an end, of processes that have ended, which are kept open: `reprise
 * run` saves what they left when the whole job has ended. */
enum { EVENTS_A_TURN = 1 << 14, MOST_GONE = 32, MOST_MESSAGE = PATH_MAX + 256 };

/* The trace of one process. */
struct track {
    char *path;                     /* NAME.rpt, or what the user named */
    struct rp_trace_reader *reader; /* NULL before it could be opened, and when it is over */
    struct rp_groups *groups;
    struct rp_damage damage;
    pid_t pid;
    bool over;
};

struct follow {
    const struct rp_source *source;
    const struct rp_filter *filter;
    const struct rp_group_visitor *visitor;
    bool (*look)(void *ctx, bool pause);
    struct track **tracks; /* by path */
    size_t count, capacity;
    struct timespec listed; /* what the folder's time was when it was looked through */
    bool any_passed, no_memory, unwanted;
    int code;
};

/* ---- files ---------------------------------------------------------------------- */

/* The file of that name if it begins with the event that is due or a later one; NULL otherwise. */
static struct rp_trace_reader *open_later(const char *path, uint64_t due)
{
    struct rp_trace_reader *reader;
    char message[512];

    if (rp_trace_reader_open(path, &reader, message, sizeof(message)) != RP_OK)
        return NULL; /* between two files there is none, or one without its header */
    if (rp_trace_reader_next_id(reader) >= due)
        return reader;
    rp_trace_reader_close(reader);
    return NULL;
}

/* Of both names: a file that is full becomes NAME.0.rpt, in the place of the one before, and
 * NAME.rpt begins anew. */
static struct rp_trace_reader *open_due(const char *path, uint64_t due)
{
    char other[PATH_MAX];
    struct rp_trace_reader *first = open_later(path, due), *second = NULL;

    if ((!first || rp_trace_reader_next_id(first) > due) &&
        rp_trace_name_other(path, other, sizeof(other)))
        second = open_later(other, due);
    if (!first || !second)
        return first ? first : second;
    bool swap = rp_trace_reader_next_id(second) < rp_trace_reader_next_id(first);
    rp_trace_reader_close(swap ? first : second);
    return swap ? second : first;
}

/* ---- one trace ------------------------------------------------------------------ */

static void say_broken(struct follow *follow, struct track *track, const char *message)
{
    rp_damage_note(&track->damage, message);
    follow->code = RP_EXIT_DATA;
}

static void begin(struct follow *follow, struct track *track)
{
    track->groups = rp_groups_create(follow->filter, follow->visitor);
    if (!track->groups) {
        follow->no_memory = follow->unwanted = true;
        return;
    }
    const char *pid = rp_trace_property(track->reader, "pid");
    track->pid = pid ? (pid_t)strtol(pid, NULL, 10) : 0;
    rp_trace_reader_follow(track->reader, true);
    follow->unwanted |= !rp_groups_begin(track->groups, track->path, track->reader);
}

static void close_track(struct follow *follow, struct track *track)
{
    if (track->groups)
        rp_groups_destroy(track->groups, &follow->any_passed, &follow->no_memory);
    track->groups = NULL;
    rp_trace_reader_close(track->reader);
    track->reader = NULL;
    rp_event_shapes_forget();
    rp_damage_release(&track->damage);
    track->over = true;
}

static void end(struct follow *follow, struct track *track)
{
    rp_groups_end(track->groups, track->path, rp_damage_sum_up(&track->damage, track->path));
    close_track(follow, track);
}

static bool keeps_last(const struct rp_trace_reader *reader)
{
    const char *keep = rp_trace_property(reader, "keep");
    return keep && strcmp(keep, "last") == 0;
}

/* From a file that was read to its end to the one that goes on from it, where there is one. */
static bool turn(struct track *track)
{
    uint64_t due = rp_trace_reader_next_id(track->reader);
    struct rp_trace_reader *next = open_due(track->path, due);

    if (!next)
        return false;
    uint64_t first = rp_trace_reader_next_id(next);
    if (first > due)
        rp_say("%s: %" PRIu64 " events were dropped before they could be read", track->path,
               first - due);
    rp_trace_reader_go_on(track->reader, next);
    rp_trace_reader_follow(track->reader, true);
    return true;
}

/* What is there; false where its turn was over before that. */
static bool read_events(struct follow *follow, struct track *track)
{
    struct rp_event event;

    follow->unwanted |= !follow->look(follow->visitor->ctx, false);
    for (int i = 0; i < EVENTS_A_TURN && !follow->unwanted; i++) {
        enum rp_status status = rp_trace_next(track->reader, &event);
        if (status == RP_END)
            return true;
        if (status == RP_OK)
            follow->unwanted |= !rp_groups_take(track->groups, &event);
        else
            say_broken(follow, track, rp_trace_reader_message(track->reader));
    }
    return false;
}

/* One turn. True when there may be more at once. */
static bool take_turn(struct follow *follow, struct track *track)
{
    if (!track->reader) {
        if ((track->reader = open_due(track->path, 0)) == NULL)
            return false;
        begin(follow, track);
    }
    if (!read_events(follow, track))
        return true;
    if (rp_trace_reader_awaits(track->reader))
        return false;
    if (keeps_last(track->reader) && rp_trace_reader_whole(track->reader))
        return turn(track);
    end(follow, track);
    return false;
}

/* Nothing more will come: what there is now is all. */
static void give_up(struct follow *follow, struct track *track)
{
    char message[MOST_MESSAGE];

    if (!track->reader && rp_trace_reader_open(track->path, &track->reader, message,
                                               sizeof(message)) != RP_OK) {
        say_broken(follow, track, message);
        close_track(follow, track);
        return;
    }
    if (!track->groups)
        begin(follow, track);
    rp_trace_reader_follow(track->reader, false);
    while (!follow->unwanted && !read_events(follow, track))
        ;
    if (track->groups)
        end(follow, track);
}

/* ---- all traces ----------------------------------------------------------------- */

static size_t place_of(const struct follow *follow, const char *path)
{
    size_t low = 0, high = follow->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strverscmp(follow->tracks[middle]->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Nothing happens to one that is known. */
static void add_track(struct follow *follow, const char *path)
{
    size_t at = place_of(follow, path);

    if (at < follow->count && strcmp(follow->tracks[at]->path, path) == 0)
        return;
    struct track **tracks = rp_array_reserve(follow->tracks, &follow->capacity, follow->count + 1,
                                             sizeof(struct track *));
    struct track *track = tracks ? calloc(1, sizeof(*track)) : NULL;
    if (tracks)
        follow->tracks = tracks;
    if (!track || !(track->path = strdup(path))) {
        free(track);
        follow->no_memory = follow->unwanted = true;
        return;
    }
    memmove(tracks + at + 1, tracks + at, (follow->count - at) * sizeof(*tracks));
    tracks[at] = track;
    follow->count++;
}

static void add_file(struct follow *follow, const char *name)
{
    char path[PATH_MAX], newer[PATH_MAX];

    if (!rp_path_join(path, follow->source->name, name))
        return;
    bool older = rp_trace_name_is_older(path) && rp_trace_name_other(path, newer, sizeof(newer));
    add_track(follow, older ? newer : path);
}

/* A folder whose time is of this moment may get another file in the same moment. */
static bool is_changed(struct follow *follow)
{
    struct stat info;
    struct timespec now;

    if (stat(follow->source->name, &info) != 0)
        return false;
    clock_gettime(CLOCK_REALTIME, &now);
    bool seen = info.st_mtim.tv_sec == follow->listed.tv_sec &&
                info.st_mtim.tv_nsec == follow->listed.tv_nsec;
    follow->listed = info.st_mtim;
    return !seen || now.tv_sec - info.st_mtim.tv_sec <= 1;
}

static void find_tracks(struct follow *follow)
{
    size_t count = 0;

    if (!follow->source->is_folder) {
        add_track(follow, follow->source->name);
        return;
    }
    if (!is_changed(follow))
        return;
    char **names = rp_folder_list(follow->source->name, "trace-", ".rpt", &count);
    for (size_t i = 0; names && i < count; i++)
        add_file(follow, names[i]);
    rp_folder_list_free(names, count);
}

/* ---- who lives ------------------------------------------------------------------ */

/* One that has ended, and which its parent has not waited for, has its number still: it is in state
 * Z or X, which stands behind the name in parentheses. */
static bool is_zombie(pid_t pid)
{
    char path[64], line[512];

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "r");
    bool has = file && fgets(line, sizeof(line), file);
    if (file)
        fclose(file);
    const char *state = has ? strrchr(line, ')') : NULL;
    return state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

static bool lives(const struct track *track)
{
    return track->pid > 0 && (kill(track->pid, 0) == 0 || errno == EPERM) && !is_zombie(track->pid);
}

static bool is_alive(const struct follow *follow)
{
    if (follow->source->is_folder && rp_folder_is_in_use(follow->source->name))
        return true;
    for (size_t i = 0; i < follow->count; i++)
        if (!follow->tracks[i]->over && lives(follow->tracks[i]))
            return true;
    return false;
}

/* Where too many are open. */
static void close_gone(struct follow *follow)
{
    size_t gone = 0;

    for (size_t i = follow->count; i-- > 0;)
        if (follow->tracks[i]->reader && !lives(follow->tracks[i]) && ++gone > MOST_GONE)
            give_up(follow, follow->tracks[i]);
}

/* ---- the loop ------------------------------------------------------------------- */

static bool take_turns(struct follow *follow)
{
    bool more = false;

    for (size_t i = 0; i < follow->count && !follow->unwanted; i++)
        if (!follow->tracks[i]->over)
            more |= take_turn(follow, follow->tracks[i]);
    return more && !follow->unwanted;
}

/* Whoever lives is looked for before the turns in which nothing may be left: what was written last
 * is seen in them. False when it was ended before all was read. */
static bool go_along(struct follow *follow)
{
    bool alive = true; /* until it has been looked for */

    for (;;) {
        find_tracks(follow);
        bool more = take_turns(follow);
        close_gone(follow);
        if (follow->unwanted)
            return false;
        if (!more && !alive)
            return true;
        if (!more && !follow->look(follow->visitor->ctx, true))
            return false;
        alive = is_alive(follow);
    }
}

int rp_follow(const struct rp_source *source, const struct rp_filter *filter,
              const struct rp_group_visitor *visitor, bool (*look)(void *ctx, bool pause))
{
    struct follow follow = {.source = source,
                            .filter = filter,
                            .visitor = visitor,
                            .look = look,
                            .code = source->damaged ? RP_EXIT_DATA : RP_EXIT_OK};
    bool whole = go_along(&follow);

    for (size_t i = 0; i < follow.count; i++) {
        if (whole && !follow.tracks[i]->over)
            give_up(&follow, follow.tracks[i]);
        if (!follow.tracks[i]->over)
            close_track(&follow, follow.tracks[i]);
        free(follow.tracks[i]->path);
        free(follow.tracks[i]);
    }
    free(follow.tracks);
    return rp_groups_code(whole ? filter : NULL, visitor, follow.code, follow.any_passed,
                          follow.no_memory);
}
