/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_TOOLS_CMD_PLAN_H
#define RP_TOOLS_CMD_PLAN_H

int rp_cmd_plan(int argc, char **argv);

#endif
