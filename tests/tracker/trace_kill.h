/* SPDX-License-Identifier: Apache-2.0 */
/* Writers in processes that are killed, and the shelter that what they had not yet written is
 * in. */
#ifndef RP_TESTS_TRACKER_TRACE_KILL_H
#define RP_TESTS_TRACKER_TRACE_KILL_H

#include "tests/tracker/trace_emit.h"

#include "tests/tracker/trace_child.h"

#include <signal.h>
#include <sys/mman.h>

static uint64_t *shared; /* how many events each of the child's threads has emitted */
static struct rp_trace_writer *inherited;
static struct rp_trace_options sheltered; /* with which the child opens it */
static char shelter_path[64];

static inline int make_shelter_folder(void **state)
{
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : make_folder_of_two(state);
}

static inline int remove_shelter_folder(void **state)
{
    munmap(shared, 4096);
    return remove_folder_of_two(state);
}

#define SHELTER_TEST(name)                                                                       \
    cmocka_unit_test_setup_teardown(name, make_shelter_folder, remove_shelter_folder)

/* A new shelter, for a child that opens its trace with these options besides. */
static inline int shelter_for(struct rp_trace_options options)
{
    int shelter = rp_trace_shelter_create(shelter_path, sizeof(shelter_path));

    assert_true(shelter >= 0);
    options.shelter = shelter_path;
    sheltered = options;
    return shelter;
}

/* Kills the child when its two threads have emitted so many events; how many they had then. */
static inline uint64_t kill_at(void (*body)(void), uint64_t count)
{
    int status = 0;

    shared[0] = shared[1] = 0;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    while (__atomic_load_n(shared, __ATOMIC_ACQUIRE) +
                   __atomic_load_n(shared + 1, __ATOMIC_ACQUIRE) < count &&
           waitpid(child, &status, WNOHANG) == 0)
        usleep(100);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    return shared[0] + shared[1];
}

#endif
