/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the software device: one table, read once. */
#include "cuda/soft/api/soft.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_number(const char *text, uint64_t *value, const char **end)
{
    char *stop = NULL;
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *value = strtoull(text, &stop, 0);
    *end = stop;
    return errno == 0;
}

static bool parse_plain(const char *text, uint64_t *value)
{
    const char *end;
    return parse_number(text, value, &end) && *end == '\0';
}

static bool parse_size(const char *text, uint64_t *value)
{
    static const struct {
        const char *unit;
        unsigned shift;
    } units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    const char *end;

    if (!parse_number(text, value, &end))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        if (*value > UINT64_MAX >> units[i].shift)
            return false;
        *value <<= units[i].shift;
        return true;
    }
    return false;
}

/* "8.6" is 86. */
static bool parse_capability(const char *text, uint64_t *value)
{
    const char *end;
    uint64_t minor;
    if (!parse_number(text, value, &end) || *end != '.' || *value > 99)
        return false;
    if (!parse_plain(end + 1, &minor) || minor > 9)
        return false;
    *value = 10 * *value + minor;
    return true;
}

/* Half of the machine, and at most 8 GiB. */
static uint64_t default_memory(void)
{
    const uint64_t most = UINT64_C(8) << 30;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return most;
    uint64_t half = (uint64_t)pages * (uint64_t)page / 2;
    return half < most ? half : most;
}

static uint64_t default_workers(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint64_t)cores : 1;
}

/* What a page of the host's can show, and a GPU's driver might ask for. */
static bool parse_granularity(const char *text, uint64_t *value)
{
    return parse_size(text, value) && (*value & (*value - 1)) == 0;
}

struct option {
    const char *name, *wants;
    bool (*parse)(const char *text, uint64_t *value);
    uint64_t lowest, highest;
    size_t offset; /* of the value in struct soft_options */
};

#define FIELD(name) offsetof(struct soft_options, name)
static const struct option table[] = {
    {"REPRISE_SOFT_DEVICES", "a number from 0 to 16", parse_plain, 0, SOFT_MAX_DEVICES,
     FIELD(devices)},
    {"REPRISE_SOFT_CAPABILITY", "a compute capability from 5.0 to 12.1", parse_capability, 50, 121,
     FIELD(capability)},
    {"REPRISE_SOFT_MEMORY", "a size from 1MiB to 1TiB", parse_size, UINT64_C(1) << 20,
     UINT64_C(1) << 40, FIELD(memory_bytes)},
    {"REPRISE_SOFT_WORKERS", "a number from 1 to 256", parse_plain, 1, 256, FIELD(workers)},
    {"REPRISE_SOFT_GRANULARITY", "a power of two from 4KiB to 2MiB", parse_granularity, 4096,
     UINT64_C(2) << 20, FIELD(granularity)},
    {"REPRISE_SOFT_TIMEOUT", "milliseconds, 0 for none", parse_plain, 0, UINT32_MAX,
     FIELD(timeout_ms)},
    {"REPRISE_SOFT_SCHEDULE", "a number", parse_plain, 0, UINT64_MAX, FIELD(seed)},
};
#undef FIELD

bool soft_options_read(struct soft_options *options)
{
    *options = (struct soft_options){
        .devices = 1,
        .capability = 80,
        .memory_bytes = default_memory(),
        .granularity = UINT64_C(2) << 20,
        .workers = default_workers(),
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct option *option = &table[i];
        const char *text = secure_getenv(option->name);
        uint64_t value;
        if (text == NULL || *text == '\0')
            continue;
        if (!option->parse(text, &value) || value < option->lowest || value > option->highest) {
            soft_say("%s=%s: expected %s", option->name, text, option->wants);
            return false;
        }
        memcpy((char *)options + option->offset, &value, sizeof value);
        if (option->offset == offsetof(struct soft_options, seed))
            options->seeded = true;
    }
    return true;
}
