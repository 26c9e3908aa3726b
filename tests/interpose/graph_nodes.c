/* SPDX-License-Identifier: Apache-2.0 */
/* Launches a graph of two nodes, of kinds that the software device does not have, or an empty one
 * while one of the driver's calls fails.
 *
 * usage: graph_nodes KERNELS KIND, with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake_job.h"

#include <string.h>

static const struct kind {
    const char *name;
    struct fake_node nodes[2];
    cuuint64_t flags;
} kinds[] = {
    {.name = "conditional",
     .nodes = {{.type = CU_GRAPH_NODE_TYPE_CONDITIONAL}, {.type = CU_GRAPH_NODE_TYPE_EMPTY}}},
    {.name = "strange",
     .nodes = {{.type = (CUgraphNodeType)77}, {.type = CU_GRAPH_NODE_TYPE_EMPTY}}},
    {.name = "updatable",
     .nodes = {{.type = CU_GRAPH_NODE_TYPE_KERNEL, .updatable = true},
               {.type = CU_GRAPH_NODE_TYPE_EMPTY}}},
    {.name = "memory",
     .nodes = {{.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC, .address = 0x70000000, .bytes = 4096},
               {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = 0x70000000}}},
    {.name = "device",
     .nodes = {{.type = CU_GRAPH_NODE_TYPE_EMPTY}, {.type = CU_GRAPH_NODE_TYPE_EMPTY}},
     .flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH},
};

static const struct failure {
    const char *name;
    enum rp_call_id call;
} failures[] = {{"rejected", RP_CALL_cuGraphLaunch}, {"nowhere", RP_CALL_cuStreamGetFlags}};

int main(int argc, char **argv)
{
    static struct door bare, layered;
    CUgraphExec exec = (CUgraphExec)0x3000;
    if (argc != 3)
        return 2;
    struct fake_state *fake = fake_job_doors(&bare, &layered);
    fake_job_begin(&layered, argv[1]);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, argv[2]) != 0)
            continue;
        memcpy(fake->nodes, kinds[i].nodes, sizeof(kinds[i].nodes));
        fake->node_count = 2;
        fake->graph_flags = kinds[i].flags;
    }
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        if (strcmp(failures[i].name, argv[2]) == 0)
            fake->failing = failures[i].call;
    layered.calls.cuGraphInstantiateWithFlags(&exec, NULL, 0);
    layered.calls.cuGraphLaunch(exec, NULL);
    layered.calls.cuGraphLaunch(exec, NULL);
    return 0;
}
