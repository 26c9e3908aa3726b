/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/list.h"

#include "tools/say.h"
#include "tools/survey.h"

#include <string.h>

int rp_list_names(const char *what, const char *name)
{
    char path[PATH_MAX], *words[] = {path, NULL};
    struct rp_options options = {.rest = words, .rest_count = name ? 1 : 0};
    struct rp_source source;
    const char *key;
    json_t *value;

    if (strcmp(what, "kernels") != 0 && strcmp(what, "segments") != 0 &&
        strcmp(what, "buffers") != 0)
        return rp_say_usage(NULL, "--list-names: kernels, segments or buffers, not '%s'", what);
    snprintf(path, sizeof(path), "%s", name ? name : "");
    rp_say_hush(true);
    int code = rp_source_open(rp_command_find("info"), &options, &source);
    if (code != RP_EXIT_OK)
        return code;
    json_t *document = rp_survey(&source, NULL, &code);
    rp_source_close(&source);
    json_object_foreach(json_object_get(document, what), key, value)
        puts(key);
    json_decref(document);
    return code;
}
