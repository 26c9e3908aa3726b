/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of two pointers begin with: %i is the thread's number in its block, %x where `out`
 * points and %y where `in` does. */
#ifndef RP_TESTS_SIMT_ENTRY_H
#define RP_TESTS_SIMT_ENTRY_H

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define REGISTERS                                                                               \
    ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<40>, %i; .reg .b64 %x, %y, %d<20>;\n"

#define KERNEL(name) ".visible .entry " name "(.param .u64 out, .param .u64 in)\n{\n" REGISTERS \
    "mov.u32 %i, %tid.x; ld.param.u64 %x, [out]; ld.param.u64 %y, [in];\n"

#endif
