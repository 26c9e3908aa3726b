/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/switches.h"

#ifdef RP_TEST_SWITCHES

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[RP_SWITCH_COUNT] = {
    [RP_SWITCH_PRESERVE] = "preserve",       [RP_SWITCH_COPY_ON_SAVE] = "copy-on-save",
    [RP_SWITCH_RESTORE] = "restore",         [RP_SWITCH_REINSTATE] = "reinstate",
    [RP_SWITCH_LIVE_WRITES] = "live-writes", [RP_SWITCH_PAIRING] = "pairing",
    [RP_SWITCH_DOUBTS] = "doubts",           [RP_SWITCH_CROSSINGS] = "crossings",
    [RP_SWITCH_COPIES] = "copies",
    [RP_SWITCH_TURNS] = "turns",
    [RP_SWITCH_ABSENCE] = "absence",         [RP_SWITCH_ORDER] = "order",
    [RP_SWITCH_OUTPUTS] = "outputs",
    [RP_SWITCH_REFUGE] = "refuge",
    [RP_SWITCH_REJECTION] = "rejection",     [RP_SWITCH_GRAPHS] = "graphs",
    [RP_SWITCH_THREADS] = "threads",
    [RP_SWITCH_IMAGES] = "images",           [RP_SWITCH_SOFT_KNOWLEDGE] = "soft-knowledge",
    [RP_SWITCH_RECALL] = "recall",           [RP_SWITCH_INFLIGHT] = "in-flight",
    [RP_SWITCH_INPUTS] = "inputs",           [RP_SWITCH_WAIT] = "wait",
    [RP_SWITCH_PLENTY] = "plenty",           [RP_SWITCH_BEHIND] = "behind",
    [RP_SWITCH_REPEATS] = "repeats",         [RP_SWITCH_CHANGES] = "changes",
    [RP_SWITCH_CLAIM] = "claim",             [RP_SWITCH_ROOM] = "room",
    [RP_SWITCH_EXILE] = "exile",             [RP_SWITCH_WORTH] = "worth",
    [RP_SWITCH_LODGING] = "lodging",         [RP_SWITCH_TOGETHER] = "together",
    [RP_SWITCH_GATES] = "gates",             [RP_SWITCH_ADVICE] = "advice",
    [RP_SWITCH_HALVES] = "halves",
    [RP_SWITCH_GRAINS] = "grains",           [RP_SWITCH_WALKS] = "walks",
    [RP_SWITCH_PARTING] = "parting",
    [RP_SWITCH_TABLES] = "tables",           [RP_SWITCH_OVERTAKEN] = "overtaken",
    [RP_SWITCH_TRIALS] = "trials",           [RP_SWITCH_LATER] = "later",
    [RP_SWITCH_TRADES] = "trades",           [RP_SWITCH_RACES] = "races",
    [RP_SWITCH_HASTE] = "haste",             [RP_SWITCH_SHORTAGES] = "shortages",
    [RP_SWITCH_PLAIN_STEPS] = "plain-steps",
    [RP_SWITCH_MEMO] = "memo",
    [RP_SWITCH_WHOLE_CLAIMS] = "whole-claims", [RP_SWITCH_LINKED_TEXT] = "linked-text",
};

static bool off[RP_SWITCH_COUNT];

static bool lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static void read_environment(void)
{
    const char *list = secure_getenv("REPRISE_TEST_DISABLE");
    for (int i = 0; list && i < RP_SWITCH_COUNT; i++)
        off[i] = lists(list, names[i]);
}

bool rp_switch_on(enum rp_switch which)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return !off[which];
}

#else

/* ISO C wants a declaration in every translation unit. */
typedef int rp_switches_are_compiled_out;

#endif
