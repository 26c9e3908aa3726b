/* SPDX-License-Identifier: Apache-2.0 */
/* Switches that turn single mechanisms off, so that the tests can show that each of them is
 * needed. They exist only in builds with -Dtest_switches=true; elsewhere they are constants
 * and the compiler removes every trace of them. */
#ifndef RP_CUDA_SWITCHES_H
#define RP_CUDA_SWITCHES_H

#include <stdbool.h>

enum rp_switch {
    RP_SWITCH_PRESERVE,     /* copy clobbered bytes before the write */
    RP_SWITCH_COPY_ON_SAVE, /* keep content, not a pointer to where it stood */
    RP_SWITCH_RESTORE,      /* put the historical bytes back for the replay */
    RP_SWITCH_REINSTATE,    /* put the live bytes back after it */
    RP_SWITCH_LIVE_WRITES,  /* let writes from outside the replay survive reinstatement */
    RP_SWITCH_PAIRING,      /* replay the instance that the rule names */
    RP_SWITCH_ABSENCE,      /* take what was never written for a value like any other */
    RP_SWITCH_ORDER,        /* make streams wait for each other's copies */
    RP_SWITCH_CROSSINGS,    /* ... and for those of what others only may write */
    RP_SWITCH_RACES,        /* make others wait for what a replay's calls meet */
    RP_SWITCH_DOUBTS,       /* say where nothing tells state from output, or twin from twin */
    RP_SWITCH_COPIES,       /* know copied bytes again */
    RP_SWITCH_TURNS,        /* ... but not where the copy may run in another order */
    RP_SWITCH_THREADS,      /* tell the default streams of threads apart */
    RP_SWITCH_GRAPHS,       /* follow the nodes of a graph that is launched */
    RP_SWITCH_OUTPUTS,      /* keep the outputs that replays are served from */
    RP_SWITCH_REFUGE,       /* keep them in host memory where the device has none */
    RP_SWITCH_REJECTION,    /* forget what the driver rejected */
    RP_SWITCH_IMAGES,       /* read what a module was loaded from */
    RP_SWITCH_SOFT_KNOWLEDGE, /* know that the software device runs no machine code */
    RP_SWITCH_WHOLE_CLAIMS, /* claim all that a kernel was proved to write */
    RP_SWITCH_LINKED_TEXT,  /* take a linker's PTX for all there is to know */
    RP_SWITCH_RECALL,       /* make dropped bytes anew before they are used */
    RP_SWITCH_HASTE,        /* hand a call on as soon as it was seen to */
    RP_SWITCH_INFLIGHT,     /* leave the memory that a call under way meets, or wait for it */
    RP_SWITCH_INPUTS,       /* recall what a recipe reads before following it */
    RP_SWITCH_BEHIND,       /* start no kernel before those that make bytes anew have ended */
    RP_SWITCH_WAIT,         /* wait for the device before its memory goes */
    RP_SWITCH_PLENTY,       /* drop nothing as long as there is memory */
    RP_SWITCH_REPEATS,      /* tell briefly of what comes again */
    RP_SWITCH_CHANGES,      /* ... but not of what may mean something else by now */
    RP_SWITCH_GRAINS,       /* cut small launches up until they are affine */
    RP_SWITCH_WALKS,        /* ... and walk them thread by thread */
    RP_SWITCH_MEMO,         /* look up what was found of launches alike */
    RP_SWITCH_CLAIM,        /* make nothing anew that is about to be overwritten */
    RP_SWITCH_ROOM,         /* leave on the device what can't be made anew, where there is room */
    RP_SWITCH_EXILE,        /* move to host memory what can't be made anew */
    RP_SWITCH_GATES,        /* wait for nothing that the job may have to set off */
    RP_SWITCH_ADVICE,       /* let the planner say what is dropped */
    RP_SWITCH_TOGETHER,     /* drop what is made together, and inputs last */
    RP_SWITCH_WORTH,        /* keep nothing for outputs that give no more than that takes */
    RP_SWITCH_LODGING,      /* let blocks stand in larger ones where they fit each step */
    RP_SWITCH_HALVES,       /* preserve by two copies in some steps, for the price of one */
    RP_SWITCH_PLAIN_STEPS,  /* leave marks out of some steps, for what they take */
    RP_SWITCH_TRADES,       /* leave room for blocks of both sizes where trades would tell */
    RP_SWITCH_LATER,        /* tell what is kept later from what is kept from the forward on */
    RP_SWITCH_PARTING,      /* keep what is freed in a stream until that has come so far */
    RP_SWITCH_TABLES,       /* know the pointers that the host has copied to the device */
    RP_SWITCH_OVERTAKEN,    /* ... and who may write over them before a launch has looked */
    RP_SWITCH_TRIALS,       /* copy after a step, for the price of large copies */
    RP_SWITCH_SHORTAGES,    /* tell of each allocation of the layer's own that was refused */
    RP_SWITCH_COUNT
};

#ifdef RP_TEST_SWITCHES
/* True unless REPRISE_TEST_DISABLE names the mechanism (comma-separated, read once). */
bool rp_switch_on(enum rp_switch which);
#else
static inline bool rp_switch_on(enum rp_switch which)
{
    (void)which;
    return true;
}
#endif

#endif
