/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"
#include "tools/config.h"
#include "tools/place.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tracker/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rp_run_find_parts(struct rp_run *run)
{
    char message[PATH_MAX + 128];

    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "/libreprise.so")) {
        rp_say("this is a job under `reprise run` already");
        return RP_EXIT_RUN;
    }
    enum rp_part part = rp_option_given(&run->options, RP_OPT_NOP) ? RP_PART_NOP : RP_PART_LAYER;
    if (!rp_place_of(part, run->layer)) {
        rp_say("%s is missing at %s", rp_part_name(part), run->layer);
        return RP_EXIT_RUN;
    }
    /* The loader splits LD_PRELOAD at spaces and colons and knows no quoting. */
    if (strpbrk(run->layer, " :")) {
        rp_say("%s can't be preloaded: its path has a space or a colon", run->layer);
        return RP_EXIT_RUN;
    }
    if (!rp_driver_choose(rp_run_text(run, RP_OPT_DEVICE, "auto"), &run->driver, message,
                          sizeof(message))) {
        rp_say("%s", message);
        return RP_EXIT_RUN;
    }
    return RP_EXIT_OK;
}

/* The folder that `file` is in, with a colon, to the end of `list`. */
static void add_folder(char *list, size_t size, const char *file)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%.*s", used ? ":" : "",
             (int)(strrchr(file, '/') - file), file);
}

/* For jobs that look for the driver's file by themselves: first they find the layer under the
 * driver's name. Without its sanitizer's runtime it could not be loaded. */
static void prepare_search(struct rp_run *run)
{
    char link[PATH_MAX], folders[2 * PATH_MAX] = "";
    if (!rp_option_given(&run->options, RP_OPT_NOP) && !*RP_SANITIZER_PRELOAD &&
        rp_place_of(RP_PART_LINK, link))
        add_folder(folders, sizeof(folders), link);
    if (run->driver.soft)
        add_folder(folders, sizeof(folders), run->driver.path);
    if (*folders)
        rp_environment_prepend(&run->environment, "LD_LIBRARY_PATH", folders, ':');
}

static void add_number(struct rp_run *run, const char *name, enum rp_option_id id)
{
    const struct rp_option_value *value = &run->options.values[id];
    if (value->text)
        rp_environment_add(&run->environment, name, "%llu", (unsigned long long)value->number);
}

/* The job may go elsewhere before its first driver call. */
static void add_cache(struct rp_run *run)
{
    const char *cache = run->options.values[RP_OPT_CACHE].text;
    char here[PATH_MAX];
    if (!cache)
        return;
    if (*cache == '/' || strcmp(cache, "off") == 0 || !getcwd(here, sizeof here))
        rp_environment_add(&run->environment, "REPRISE_CACHE", "%s", cache);
    else
        rp_environment_add(&run->environment, "REPRISE_CACHE", "%s/%s", here, cache);
}

/* Where there is none, or no trace, what a killed job has not yet written is lost. */
static void add_shelter(struct rp_run *run)
{
    char path[64];

    run->shelter = -1;
    if (!rp_option_given(&run->options, RP_OPT_NO_TRACE) &&
        !rp_option_given(&run->options, RP_OPT_NOP))
        run->shelter = rp_trace_shelter_create(path, sizeof(path));
    if (run->shelter >= 0)
        rp_environment_add(&run->environment, "REPRISE_SHELTER", "%s", path);
    else
        rp_environment_remove(&run->environment, "REPRISE_SHELTER");
}

static void add_or_remove(struct rp_run *run, const char *name, bool there, const char *value)
{
    if (there)
        rp_environment_add(&run->environment, name, "%s", value);
    else
        rp_environment_remove(&run->environment, name);
}

static void add_layer(struct rp_run *run)
{
    struct rp_environment *list = &run->environment;
    char preload[3 * PATH_MAX];

    snprintf(preload, sizeof(preload), "%s%s", RP_SANITIZER_PRELOAD, run->layer);
    rp_environment_prepend(list, "LD_PRELOAD", preload, ':');
    if (*RP_SANITIZER_PRELOAD) /* a sanitized build: the job's own leaks are not our business */
        rp_environment_prepend(list, "ASAN_OPTIONS", "detect_leaks=0", ':');
    if (!rp_option_given(&run->options, RP_OPT_NOP))
        rp_environment_add(list, "NVTX_INJECTION64_PATH", "%s", run->layer);
    rp_environment_add(list, "REPRISE_MODE", "%s", run->mode);
    rp_environment_add(list, "REPRISE_DRIVER", "%s", run->driver.path);
    rp_environment_add(list, "REPRISE_OUTPUT", "%s", run->folder);
    rp_environment_add(list, "REPRISE_JOB", "%s", run->job ? run->job : "");
    if (strcmp(run->mode, "guard") == 0 || strcmp(run->mode, "recompute") == 0)
        rp_environment_add(list, "REPRISE_STRICT", "1");
}

static void add_trace(struct rp_run *run)
{
    bool wanted = !rp_option_given(&run->options, RP_OPT_NO_TRACE);

    rp_environment_add(&run->environment, "REPRISE_TRACE", "%d", wanted);
    add_number(run, "REPRISE_LAST", RP_OPT_LAST);
    add_number(run, "REPRISE_LIMIT", RP_OPT_LIMIT);
    if (rp_option_given(&run->options, RP_OPT_LOSSY))
        rp_environment_add(&run->environment, "REPRISE_LOSSY", "1");
    add_shelter(run);
}

void rp_run_prepare(struct rp_run *run)
{
    const char *policy = rp_run_text(run, RP_OPT_POLICY, NULL);
    char contract[PATH_MAX + 16];

    add_layer(run);
    add_trace(run);
    snprintf(contract, sizeof(contract), "%s/contract.json", run->folder);
    add_or_remove(run, "REPRISE_CONTRACT", run->contract, contract);
    add_or_remove(run, "REPRISE_PLAN", *run->plan, run->plan);
    add_or_remove(run, "REPRISE_PROFILE", *run->profile, run->profile);
    if (policy)
        rp_environment_add(&run->environment, "REPRISE_POLICY", "%s", policy);
    add_number(run, "REPRISE_BUDGET", RP_OPT_BUDGET);
    add_number(run, "REPRISE_ERROR_EXITCODE", RP_OPT_ERROR_EXITCODE);
    add_number(run, "REPRISE_AUDIT", RP_OPT_AUDIT);
    add_cache(run);
    prepare_search(run);
}
