/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas name the same keys as the readers, no more and no less. A reader that meets a key
 * it doesn't know lists those that it knows. */
#include "tests/planner/instance.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A document in which the object stands that a definition of the schema is about. */
struct place {
    const char *definition, *before, *after;
};

#define HEAD "{\"version\": 1, \"base_bytes\": 0, "
#define FIGURE "{\"value\": 1, \"source\": \"stated\"}"
#define SEGMENT HEAD "\"segments\": [{\"name\": \"s\", "

static const struct place profile_places[] = {
    {"profile", "{\"version\": 1, ", "}"},
    {"made_for", HEAD "\"segments\": [], \"made_for\": {", "}}"},
    {"copy", HEAD "\"segments\": [], \"copy\": {", "}}"},
    {"buffer", HEAD "\"segments\": [], \"buffers\": [{", "}]}"},
    {"segment", HEAD "\"segments\": [{", "}]}"},
    {"options", SEGMENT "\"options\": {", "}}]}"},
    {"row", SEGMENT "\"options\": {\"retain\": {", "}}}]}"},
    {"full", SEGMENT "\"options\": {\"retain\": {\"terms\": {}, ", "}}}]}"},
    {"masked", SEGMENT "\"options\": {\"retain\": {\"masked\": \"x\", ", "}}}]}"},
    {"terms", SEGMENT "\"options\": {\"retain\": {\"terms\": {", "}}}}]}"},
    {"later", SEGMENT "\"options\": {\"retain\": {\"terms\": {\"peak_forward_bytes\": " FIGURE ", "
              "\"peak_backward_bytes\": " FIGURE ", \"forward_ns\": " FIGURE ", "
              "\"backward_ns\": " FIGURE ", \"hold_bytes\": " FIGURE "}, \"later\": [{",
     "}]}}}]}"},
    {"measure",
     SEGMENT "\"options\": {\"retain\": {\"terms\": {\"peak_forward_bytes\": {}, "
             "\"peak_backward_bytes\": {}, \"forward_ns\": {}, \"backward_ns\": {}, "
             "\"hold_bytes\": {",
     "}}}}}]}"},
    {"facts", SEGMENT "\"facts\": {", "}}]}"},
    {"range",
     HEAD "\"buffers\": [{\"name\": \"b\", \"bytes\": 1}], \"segments\": [{\"name\": \"s\", "
          "\"facts\": {\"no_replay\": \"x\", \"forward_ns\": {\"value\": 1, \"source\": "
          "\"stated\"}, \"backward_ns\": {\"value\": 1, \"source\": \"stated\"}, "
          "\"activation_bytes\": {\"value\": 1, \"source\": \"stated\"}, "
          "\"forward_workspace_bytes\": {\"value\": 1, \"source\": \"stated\"}, "
          "\"backward_workspace_bytes\": {\"value\": 1, \"source\": \"stated\"}, \"writes\": [], "
          "\"backward_writes\": [], \"reads\": [{",
     "}]}}]}"},
};

#define PLAN "{\"format\": \"reprise-plan\", \"version\": 1, \"status\": \"optimal\", " \
             "\"model\": \"nested\", \"budget_bytes\": 1, \"truncated\": false, " \
             "\"peak_bytes\": 1, \"time_ns\": 1, "

static const struct place plan_places[] = {
    {"plan", "{\"version\": 1, ", "}"},
    {"made_for", PLAN "\"segments\": [], \"made_for\": {", "}}"},
    {"segment", PLAN "\"made_for\": {}, \"choices\": [\"retain\"], \"segments\": [{", "}]}"},
    {"moment", PLAN "\"made_for\": {}, \"segments\": [], \"binding\": {", "}}"},
    {"measure", PLAN "\"made_for\": {}, \"choices\": [\"retain\"], \"segments\": [{\"name\": "
                     "\"s\", \"choice\": \"retain\", \"terms\": {\"hold_bytes\": {",
     "}}}]}"},
};

static void complaint_of_profile(const char *text, char *message, size_t size)
{
    struct rp_profile *profile;

    assert_int_equal(rp_profile_parse(text, strlen(text), "p", &profile, message, size),
                     RP_INVALID);
}

static void complaint_of_plan(const char *text, char *message, size_t size)
{
    char path[] = "/tmp/reprise-plan-XXXXXX";
    int fd = mkstemp(path);
    struct rp_plan *plan;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    assert_int_equal(rp_plan_load(path, &plan, message, size), RP_INVALID);
    unlink(path);
}

static void check_place(json_t *schema, const struct place *place,
                        void (*complain)(const char *, char *, size_t))
{
    json_t *definition = json_object_get(json_object_get(schema, "$defs"), place->definition);
    json_t *properties = json_object_get(definition, "properties"), *value;
    char text[1500], message[1000], quoted[80];
    const char *key;
    size_t listed = 0;

    assert_non_null(properties);
    snprintf(text, sizeof(text), "%s\"zzzzzzzzzz\": 0%s", place->before, place->after);
    complain(text, message, sizeof(message));
    const char *list = strstr(message, "unknown key \"zzzzzzzzzz\" in ");
    if (list == NULL)
        fail_msg("%s: %s", place->definition, message);
    list = strstr(message, "its keys are ");
    assert_non_null(list);
    for (const char *at = list; (at = strchr(at, '"')) != NULL; at++)
        listed++;
    json_object_foreach (properties, key, value) {
        snprintf(quoted, sizeof(quoted), "\"%s\"", key);
        if (strstr(list, quoted) == NULL)
            fail_msg("%s: the reader doesn't know %s", place->definition, quoted);
    }
    assert_int_equal(listed / 2, json_object_size(properties));
    assert_true(json_is_false(json_object_get(definition, "additionalProperties")));
}

static void the_profile_schema_has_the_keys_of_the_reader(void **state)
{
    json_t *schema = instance_load("../../tools/profile.schema.json");

    (void)state;
    for (size_t i = 0; i < sizeof(profile_places) / sizeof(*profile_places); i++)
        check_place(schema, &profile_places[i], complaint_of_profile);
    json_decref(schema);
}

static void the_plan_schema_has_the_keys_of_the_reader(void **state)
{
    json_t *schema = instance_load("../../tools/plan.schema.json");

    (void)state;
    for (size_t i = 0; i < sizeof(plan_places) / sizeof(*plan_places); i++)
        check_place(schema, &plan_places[i], complaint_of_plan);
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_profile_schema_has_the_keys_of_the_reader),
        cmocka_unit_test(the_plan_schema_has_the_keys_of_the_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
