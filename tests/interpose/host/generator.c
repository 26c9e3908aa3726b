/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a generator of the host's. KIND is how its state lies there. */
#define WRITABLE 0
#define CONSTANT 1
#define RELOCATED 2
#define VERSIONED 3

#ifndef KIND
#define KIND WRITABLE
#endif
#ifndef STORAGE
#define STORAGE
#endif

#pragma GCC visibility push(default)
unsigned host_draw(void);

#if KIND == CONSTANT
const unsigned host_state[4] = {7};
#define STATE (unsigned[]){host_state[0]}
#elif KIND == RELOCATED
static unsigned seed = 7;
unsigned *const host_state[] = {&seed};
#define STATE host_state[0]
#elif KIND == VERSIONED
unsigned old_state[4] = {1}, new_state[4] = {7};
__asm__(".symver old_state,host_state@V1");
__asm__(".symver new_state,host_state@@V2");
#define STATE new_state
#else
STORAGE unsigned host_state[4] = {7};
#define STATE host_state
#endif

unsigned host_draw(void)
{
    unsigned *state = STATE;
    return *state = *state * 1664525u + 1013904223u;
}
