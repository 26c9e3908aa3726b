/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/purpose.h"

#include "tracker/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *rp_purpose_contract(const char *text, size_t length, char hash[RP_PURPOSE_CONTRACT])
{
    static const char *const others[] = {"policy", "budget", "on_violation", "$schema"};
    json_t *root = json_loadb(text, length, 0, NULL);

    hash[0] = '\0';
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        json_object_del(root, others[i]);
    char *plain = json_is_object(root) ? json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (plain != NULL)
        snprintf(hash, RP_PURPOSE_CONTRACT, "0x%016" PRIx64,
                 rp_fingerprint_add(rp_fingerprint_begin(), plain));
    free(plain);
    json_decref(root);
    return hash;
}

static const char plain_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";

static bool is_plain(const char *word)
{
    return *word != '\0' && word[strspn(word, plain_bytes)] == '\0';
}

char *rp_purpose_job(const char *const *words, size_t count)
{
    size_t size = 1, used = 0;

    for (size_t i = 0; i < count; i++)
        size += 4 * strlen(words[i]) + 4;
    char *text = malloc(size);
    for (size_t i = 0; i < count && text != NULL; i++) {
        const char *space = i > 0 ? " " : "", *quote = is_plain(words[i]) ? "" : "\"";
        used += (size_t)sprintf(text + used, "%s%s", space, quote);
        rp_text_escape(text + used, size - used, words[i], strlen(words[i]));
        used += strlen(text + used);
        used += (size_t)sprintf(text + used, "%s", quote);
    }
    if (text != NULL)
        text[used] = '\0';
    return text;
}

/* Both stand behind one character of the pattern. */
struct walk {
    const char *pattern, *text;
    bool quoted;
};

static void step(struct walk *walk)
{
    walk->quoted ^= *walk->pattern == '"';
    walk->pattern++;
    walk->text++;
}

bool rp_purpose_covers(const char *made_for, const char *job)
{
    struct walk at = {made_for, job, false}, star = {NULL, NULL, false};

    for (;;) {
        if (*at.pattern == '*' && !at.quoted) {
            at.pattern++;
            star = at;
        } else if (*at.pattern != '\0' && *at.pattern == *at.text) {
            step(&at);
        } else if (*at.pattern == '\0' && *at.text == '\0') {
            return true;
        } else if (star.pattern != NULL && *star.text != '\0') {
            star.text++; /* the last star takes one character more */
            at = star;
        } else {
            return false;
        }
    }
}

/* ---- whose it is -------------------------------------------------------------- */

enum { TEXT_SIZE = 200 }; /* of a job in a message */

static char *shown(char text[TEXT_SIZE], const char *name)
{
    return rp_text_escape(text, TEXT_SIZE, name, strlen(name));
}

struct complaint {
    const char *what; /* is complained about */
    char *message;
    size_t size;
};

static enum rp_status refuse(const struct complaint *complaint, const char *of,
                             const char *made_for, const char *found)
{
    char one[TEXT_SIZE], other[TEXT_SIZE];

    snprintf(complaint->message, complaint->size,
             "the %s was made for the %s '%s', and this is '%s'", complaint->what, of,
             shown(one, made_for), shown(other, found));
    return RP_INVALID;
}

/* What says nothing of its job could be any job's. */
static enum rp_status fit_job(const struct complaint *complaint, const char *made_for,
                              const char *job)
{
    if (job == NULL || (made_for != NULL && rp_purpose_covers(made_for, job)))
        return RP_OK;
    if (made_for != NULL)
        return refuse(complaint, "job", made_for, job);
    snprintf(complaint->message, complaint->size,
             "the %s does not say what job it was made for; its profile, or the %s, must: "
             "\"made_for\": {\"job\": \"COMMAND...\"}", complaint->what, complaint->what);
    return RP_INVALID;
}

/* Only what both sides know can differ. */
static enum rp_status fit(const struct complaint *complaint, const char *of,
                          const char *made_for, const char *found)
{
    bool differs = made_for != NULL && found != NULL && strcmp(made_for, found) != 0;

    return differs ? refuse(complaint, of, made_for, found) : RP_OK;
}

enum rp_status rp_purpose_fits(const char *what, const struct rp_purpose *made_for,
                               const struct rp_purpose *purpose, char *message,
                               size_t message_size)
{
    const struct complaint complaint = {what, message, message_size};
    enum rp_status status = fit_job(&complaint, made_for->job, purpose->job);

    if (status == RP_OK)
        status = fit(&complaint, "device", made_for->device, purpose->device);
    if (status == RP_OK)
        status = fit(&complaint, "contract", made_for->contract, purpose->contract);
    return status;
}
