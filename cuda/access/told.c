/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/told.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static uint64_t pointer_of(const struct rp_launch *launch, uint32_t param)
{
    uint64_t pointer = 0;
    if (param != UINT32_MAX)
        memcpy(&pointer, launch->params + param, sizeof pointer);
    return pointer;
}

static void take(const struct rp_run *run, const struct rp_window *window, struct rp_told *told)
{
    uint64_t bytes = window->hi - window->lo;
    uint64_t kept = window->refused ? 0 : bytes;
    if (kept > RP_TOLD_BYTES - told->bytes) {
        told->overfull = true;
        return;
    }
    uint32_t param = window->of_params ? UINT32_MAX : rp_run_root_param(run, window->root);
    told->windows[told->count++] = (struct rp_told_window){
        .at = window->lo - pointer_of(run->launch, param), .bytes = bytes, .root_param = param,
        .of_params = window->of_params, .refused = window->refused};
    if (kept)
        memcpy(told->content + told->bytes, window->bytes, kept);
    told->bytes += (uint32_t)kept;
}

void rp_told_take(const struct rp_run *run, struct rp_told *told)
{
    told->count = told->bytes = 0;
    told->overfull = told->unheard = false;
    uint32_t refused = 0;
    for (uint32_t i = 0; i < run->window_count; i++)
        if (run->windows[i].bytes || (run->windows[i].refused && refused++ < RP_TOLD_REFUSED))
            take(run, &run->windows[i], told);
}

void rp_told_dismiss(const struct rp_run *run, struct rp_told *told)
{
    told->unheard = true;
    for (uint32_t i = 0; i < run->window_count; i++) {
        const struct rp_window *window = &run->windows[i];
        bool known = !window->bytes;
        for (uint32_t j = 0; j < told->count && !known; j++)
            known = told->windows[j].of_params && window->of_params &&
                    told->windows[j].at == window->lo &&
                    told->windows[j].bytes == window->hi - window->lo;
        if (!known && told->count < RP_MAX_WINDOWS)
            take(run, window, told);
        else
            told->overfull |= !known;
    }
}

struct rp_told *rp_told_keep(const struct rp_told *told)
{
    size_t bytes = offsetof(struct rp_told, content) + told->bytes;
    struct rp_told *kept = malloc(bytes);
    if (kept)
        memcpy(kept, told, bytes);
    return kept;
}

static bool stands(const struct rp_told_window *window, const struct rp_launch *launch,
                   const unsigned char *content)
{
    unsigned char now[RP_WINDOW_BYTES];
    if (window->of_params)
        return window->at + window->bytes <= launch->param_bytes &&
               memcmp(launch->params + window->at, content, window->bytes) == 0;
    bool known = launch->known &&
                 launch->known(launch->known_ctx,
                               window->at + pointer_of(launch, window->root_param), window->bytes,
                               now);
    return window->refused ? !known : known && memcmp(now, content, window->bytes) == 0;
}

bool rp_told_holds(const struct rp_told *told, const struct rp_launch *launch)
{
    const unsigned char *content = told->content;
    for (uint32_t i = 0; i < told->count; i++) {
        if (!stands(&told->windows[i], launch, content))
            return false;
        if (!told->windows[i].refused)
            content += told->windows[i].bytes;
    }
    return true;
}

bool rp_told_meets(const struct rp_told *told, const struct rp_launch *launch, uint64_t lo,
                   uint64_t hi)
{
    for (uint32_t i = 0; i < told->count; i++) {
        const struct rp_told_window *window = &told->windows[i];
        uint64_t at = window->at + pointer_of(launch, window->root_param);
        if (!window->of_params && !window->refused && lo < at + window->bytes && at < hi)
            return true;
    }
    return false;
}
