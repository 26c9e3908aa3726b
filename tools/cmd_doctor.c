/* SPDX-License-Identifier: Apache-2.0 */
/* reprise doctor: a table of checks, each with its state and, where it is not well, with the
 * remedy. Nothing here can be harmed by a broken driver: it is only loaded in children. */
#include "cuda/calls/call.h"
#include "cuda/find_driver.h"
#include "tools/command.h"
#include "tools/config.h"
#include "tools/coverage.h"
#include "tools/driver.h"
#include "tools/environment.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/place.h"
#include "tools/probe.h"
#include "tools/say.h"
#include "tools/summary.h"
#include "tracker/text.h"

#include <gnu/libc-version.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char OK[] = "ok", WARNING[] = "warning", BROKEN[] = "broken";

/* One row of the table. `remedy` may be NULL. */
__attribute__((format(printf, 5, 6))) static void add(json_t *checks, const char *name,
                                                      const char *state, const char *remedy,
                                                      const char *format, ...)
{
    char text[2048], clean[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rp_text_escape(clean, sizeof(clean), text, strlen(text));
    json_t *check = json_pack("{ss ss ss}", "name", name, "state", state, "text", clean);
    if (remedy)
        json_object_set_new(check, "remedy", json_string(remedy));
    json_array_append_new(checks, check);
}

/* ---- checks ------------------------------------------------------------------- */

static void check_machine(json_t *checks)
{
    struct utsname machine;
    uname(&machine);
    add(checks, "reprise", OK, NULL, "%s%s", RP_VERSION,
        *RP_SANITIZER_PRELOAD ? ", built with sanitizers" : "");
    add(checks, "machine", OK, NULL, "%s %s, glibc %s", machine.sysname, machine.release,
        gnu_get_libc_version());
}

struct drivers {
    json_t *checks;
    bool found;
    char path[PATH_MAX];
};

static bool consider(void *ctx, const char *path, enum rp_driver_verdict verdict)
{
    struct drivers *drivers = ctx;
    char real[PATH_MAX];

    if (verdict != RP_DRIVER_USABLE) {
        add(drivers->checks, "driver", WARNING, NULL, "%s is passed over: %s", path,
            rp_driver_verdict_text(verdict));
        return false;
    }
    drivers->found = true;
    snprintf(drivers->path, sizeof(drivers->path), "%s", path);
    add(drivers->checks, "driver", OK, NULL, "%s%s%s", path,
        realpath(path, real) && strcmp(real, path) != 0 ? ", which is " : "",
        strcmp(real, path) != 0 ? real : "");
    return true;
}

/* "version 13000\ndevice X\n" -> rows. True when there was no error. */
static bool report_driver(json_t *checks, const char *name, char *text)
{
    bool good = true;
    char *state;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        int version;
        if (sscanf(line, "version %d", &version) == 1) {
            add(checks, name, OK, NULL, "speaks CUDA %d.%d", version / 1000, version % 1000 / 10);
        } else if (strncmp(line, "device ", 7) == 0) {
            add(checks, name, OK, NULL, "device: %s", line + 7);
        } else {
            add(checks, name, BROKEN, "see whether the job works without reprise", "%s",
                line + strcspn(line, " ") + 1);
            good = false;
        }
    }
    return good;
}

static bool try_driver(json_t *checks, const char *name, char *path)
{
    char text[4096], reason[128];
    if (rp_probe(rp_probe_driver, path, text, sizeof(text), reason, sizeof(reason)))
        return report_driver(checks, name, text);
    add(checks, name, BROKEN, "see whether the job works without reprise", "%s", reason);
    return false;
}

static bool check_real_driver(json_t *checks)
{
    struct drivers drivers = {.checks = checks};
    struct rp_driver_search search;
    char layer[PATH_MAX];

    rp_driver_search_default(&search);
    if (rp_place_of(RP_PART_LAYER, layer))
        search.itself = layer;
    if (!rp_driver_find(&search, consider, &drivers)) {
        add(checks, "driver", WARNING, "install the GPU's driver, or use the software device",
            "no CUDA driver on this machine");
        return false;
    }
    return try_driver(checks, "driver", drivers.path);
}

static bool check_soft_device(json_t *checks)
{
    char path[PATH_MAX];
    if (!rp_place_of(RP_PART_SOFT_DEVICE, path)) {
        add(checks, "software", WARNING, "build it: tools/dev build", "%s is missing", path);
        return false;
    }
    add(checks, "software", OK, NULL, "%s", path);
    return try_driver(checks, "software", path);
}

/* ---- the layer ---------------------------------------------------------------- */

static int cat_own_maps(void *layer)
{
    struct rp_environment list = {0};
    char *command[] = {(char[]){"/bin/cat"}, (char[]){"/proc/self/maps"}, NULL};
    char preload[2 * PATH_MAX];

    snprintf(preload, sizeof(preload), "%s%s", RP_SANITIZER_PRELOAD, (const char *)layer);
    rp_environment_add(&list, "LD_PRELOAD", "%s", preload);
    rp_environment_add(&list, "ASAN_OPTIONS", "detect_leaks=0");
    rp_environment_remove(&list, "REPRISE_CONTRACT");
    rp_environment_remove(&list, "REPRISE_OUTPUT");
    dup2(STDOUT_FILENO, STDERR_FILENO); /* what the loader says belongs into the table */
    if (rp_environment_apply(&list) == 0)
        execv(command[0], command);
    return 127;
}

static bool check_preload(json_t *checks, char *layer)
{
    static char maps[1 << 16];
    char reason[128];

    if (!rp_probe(cat_own_maps, layer, maps, sizeof(maps), reason, sizeof(reason))) {
        maps[strcspn(maps, "\n")] = 0;
        add(checks, "preload", BROKEN, "please report it with this table",
            "/bin/cat under the layer: %s%s%s", reason, *maps ? ": " : "", maps);
        return false;
    }
    if (!strstr(maps, layer)) {
        maps[strcspn(maps, "\n")] = 0;
        add(checks, "preload", BROKEN, "is the layer of this machine, and readable?",
            "the loader did not load the layer into /bin/cat: %s", maps);
        return false;
    }
    add(checks, "preload", OK, NULL, "the layer gets into a program and lets it be");
    return true;
}

static bool check_exports(json_t *checks, char *layer)
{
    char text[512], reason[128];
    int exported = 0, all = 0;

    if (!rp_probe(rp_probe_exports, layer, text, sizeof(text), reason, sizeof(reason)) ||
        sscanf(text, "exports %d of %d", &exported, &all) != 2) {
        text[strcspn(text, "\n")] = 0;
        add(checks, "symbols", BROKEN, "rebuild: tools/dev build", "%s%s",
            text, *text ? "" : reason);
        return false;
    }
    bool complete = exported == all;
    add(checks, "symbols", complete ? OK : BROKEN, complete ? NULL : "rebuild: tools/dev build",
        "%d of the %d driver calls known pass through the layer", exported, all);
    return complete;
}

static bool check_layer(json_t *checks)
{
    char layer[PATH_MAX];
    if (!rp_place_of(RP_PART_LAYER, layer)) {
        add(checks, "layer", BROKEN, "build it: tools/dev build", "%s is missing", layer);
        return false;
    }
    bool path_good = strpbrk(layer, " :") == NULL;
    add(checks, "layer", path_good ? OK : BROKEN,
        path_good ? NULL : "move it: the loader splits LD_PRELOAD at spaces and colons", "%s",
        layer);
    bool preload_good = check_preload(checks, layer), exports_good = check_exports(checks, layer);
    return path_good && preload_good && exports_good;
}

/* What the layer knows of each call is a matter of the build; what of it is there, of the
 * driver. */
static void check_coverage(json_t *checks)
{
    char text[512];
    bool complete = rp_coverage_unclassified() == 0;
    rp_coverage_text(text, sizeof(text));
    add(checks, "calls", complete ? OK : BROKEN, complete ? NULL : "rebuild: tools/dev build", "%s",
        text);
}

static void check_variables(json_t *checks)
{
    extern char **environ;
    static const char *const prefixes[] = {"REPRISE_", "CUDA_VISIBLE_DEVICES=", "LD_PRELOAD=",
                                           "LD_LIBRARY_PATH=", "NVTX_INJECTION"};
    for (char **entry = environ; entry && *entry; entry++)
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
            if (strncmp(*entry, prefixes[i], strlen(prefixes[i])) == 0)
                add(checks, "variable", OK, NULL, "%s", *entry);
}

/* ---- the table ---------------------------------------------------------------- */

static enum rp_tint tint_of(const char *state)
{
    if (strcmp(state, OK) == 0)
        return RP_TINT_GOOD;
    return strcmp(state, BROKEN) == 0 ? RP_TINT_BAD : RP_TINT_STRONG;
}

static void print_table(const struct rp_output *output, const json_t *checks)
{
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        const char *state = rp_member_text(check, "state");
        fprintf(output->file, "%s%-8s%s %-9s %s\n", rp_tint(output, tint_of(state)), state,
                rp_tint(output, RP_TINT_NONE), rp_member_text(check, "name"),
                rp_member_text(check, "text"));
        if (json_object_get(check, "remedy"))
            fprintf(output->file, "%-8s %-9s -> %s\n", "", "", rp_member_text(check, "remedy"));
    }
}

static int examine(struct rp_output *output, bool json, bool verbose)
{
    json_t *checks = json_array();

    check_machine(checks);
    bool layer = check_layer(checks);
    check_coverage(checks);
    bool real = check_real_driver(checks), soft = check_soft_device(checks);
    check_variables(checks);
    bool well = layer && (real || soft);
    struct rp_driver_choice choice;
    char none[256];
    bool chosen = rp_driver_choose("auto", &choice, none, sizeof(none));
    if (json) {
        json_t *document = json_pack("{ss si sb ss* sO}", "format", "reprise-doctor", "version", 1,
                                     "well", well, "device",
                                     !chosen ? NULL : choice.soft ? "soft" : "cuda", "checks",
                                     checks);
        json_object_set_new(document, "coverage", rp_coverage_json(verbose));
        json_dumpf(document, output->file, JSON_INDENT(1));
        fputc('\n', output->file);
        json_decref(document);
    } else {
        print_table(output, checks);
        if (verbose)
            rp_coverage_print(output->file);
        if (well)
            fprintf(output->file, "\na job can run under reprise here, on %s\n", choice.path);
        else
            fprintf(output->file, "\nno job can run under reprise here\n");
    }
    json_decref(checks);
    return well ? RP_EXIT_OK : RP_EXIT_NO;
}

int rp_cmd_doctor(int argc, char **argv)
{
    const struct rp_command *command = rp_command_find("doctor");
    struct rp_options options;
    struct rp_output output;
    int code;

    if (!rp_options_begin(command, argc, argv, false, &options, &code))
        return code;
    if (options.rest_count > 0)
        return rp_say_usage("doctor", "doctor takes no argument such as '%s'", options.rest[0]);
    rp_output_begin(&output, &options);
    return rp_output_end(&output, examine(&output, rp_option_given(&options, RP_OPT_JSON),
                                 rp_option_given(&options, RP_OPT_VERBOSE)));
}
