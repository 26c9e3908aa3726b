/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/recompute/shelf.h"

#include "interpose/run/core.h"

#include <stdlib.h>

struct rp_shelf {
    struct rp_block block;
    rp_stream line; /* the last that wrote or read there */
    size_t parts;
};

static enum rp_status copy_out(const struct rp_workbench *bench, uint64_t address, uint64_t bytes,
                               struct rp_shelf *shelf)
{
    enum rp_status status = rp_store_take(bench->store, bytes, shelf->line, &shelf->block);
    if (status != RP_OK)
        return status;
    status = bench->driver->copy(bench->driver->self, shelf->block.at, address, bytes,
                                 shelf->line);
    if (status != RP_OK)
        rp_store_give(bench->store, &shelf->block, shelf->line);
    return status;
}

enum rp_status rp_shelf_fill(const struct rp_workbench *bench, uint64_t address, uint64_t bytes,
                             rp_stream line, struct rp_shelf **out)
{
    struct rp_shelf *shelf = malloc(sizeof *shelf);
    if (!shelf)
        return RP_NO_MEMORY;
    *shelf = (struct rp_shelf){.line = line, .parts = 1};
    enum rp_status status = copy_out(bench, address, bytes, shelf);
    if (status == RP_OK)
        *out = shelf;
    else
        free(shelf);
    return status;
}

void rp_shelf_divide(struct rp_shelf *shelf)
{
    shelf->parts++;
}

enum rp_status rp_shelf_copy(struct rp_shelf *shelf, uint64_t offset, uint64_t bytes,
                             uint64_t address, rp_stream stream)
{
    const struct rp_driver *driver = rp_core.bench.driver;
    enum rp_status status = rp_order_after(rp_core.bench.order, stream, shelf->line);
    if (status == RP_OK)
        status = driver->copy(driver->self, address, shelf->block.at + offset, bytes, stream);
    if (status == RP_OK)
        shelf->line = stream;
    return status;
}

void rp_shelf_give(struct rp_shelf *shelf, const struct rp_workbench *bench)
{
    if (--shelf->parts)
        return;
    if (bench)
        rp_store_give(bench->store, &shelf->block, shelf->line);
    free(shelf);
}
