/* SPDX-License-Identifier: Apache-2.0 */
/* Small kernels, written by hand, for the tests of launches and graphs. */
#ifndef RP_TESTS_SOFT_API_KERNELS_H
#define RP_TESTS_SOFT_API_KERNELS_H

#define PTX_HEADER                                                                                 \
    ".version 7.0\n"                                                                               \
    ".target sm_52\n"                                                                              \
    ".address_size 64\n"

/* store(out, value): out[global thread] = value + shift, a variable of the module. */
/* add(a, b, n): a[i] += b[i] for i < n. */
/* twist(s8, s64, s16, out): parameters of mixed sizes, to see that offsets are right. */
/* spin(flag): waits until *flag is not 0. */
/* poke(address): writes 7 there. */
/* odd(address): a 4-byte read wherever it points. */
/* count(counter): atomically adds 1 for each thread. */
/* dynamic(out, n): goes through n words of dynamic shared memory. */
static const char kernels[] = PTX_HEADER
    ".visible .global .align 4 .u32 shift = 100;\n"
    ".visible .const .align 4 .u32 table[4] = {1, 2, 3, 4};\n"
    ".extern .shared .align 16 .b8 dyn[];\n"

    ".visible .entry store(.param .u64 out, .param .u32 value)\n"
    "{\n"
    "    .reg .u32 %r<8>;\n"
    "    .reg .u64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.param.u32 %r1, [value];\n"
    "    ld.global.u32 %r2, [shift];\n"
    "    add.u32 %r1, %r1, %r2;\n"
    "    mov.u32 %r3, %ctaid.x;\n"
    "    mov.u32 %r4, %ntid.x;\n"
    "    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.u32 %r6, %r3, %r4, %r5;\n"
    "    mul.wide.u32 %rd2, %r6, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n"
    "    st.global.u32 [%rd3], %r1;\n"
    "    ret;\n"
    "}\n"

    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .u32 %r<9>;\n"
    "    .reg .u64 %rd<6>;\n"
    "    ld.param.u64 %rd1, [a];\n"
    "    ld.param.u64 %rd2, [b];\n"
    "    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r3, %ctaid.x;\n"
    "    mov.u32 %r4, %ntid.x;\n"
    "    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.u32 %r6, %r3, %r4, %r5;\n"
    "    setp.ge.u32 %p, %r6, %r1;\n"
    "    @%p bra DONE;\n"
    "    mul.wide.u32 %rd3, %r6, 4;\n"
    "    add.u64 %rd4, %rd1, %rd3;\n"
    "    add.u64 %rd5, %rd2, %rd3;\n"
    "    ld.global.u32 %r7, [%rd4];\n"
    "    ld.global.u32 %r8, [%rd5];\n"
    "    add.u32 %r7, %r7, %r8;\n"
    "    st.global.u32 [%rd4], %r7;\n"
    "DONE:\n"
    "    ret;\n"
    "}\n"

    ".visible .entry twist(.param .u8 small, .param .u64 large, .param .u16 middle, .param .u64 "
    "out)\n"
    "{\n"
    "    .reg .u32 %r<3>;\n"
    "    .reg .u16 %h<3>;\n"
    "    .reg .u64 %rd<5>;\n"
    "    ld.param.u8 %h1, [small];\n"
    "    ld.param.u64 %rd1, [large];\n"
    "    ld.param.u16 %h2, [middle];\n"
    "    ld.param.u64 %rd2, [out];\n"
    "    cvt.u64.u16 %rd3, %h1;\n"
    "    cvt.u64.u16 %rd4, %h2;\n"
    "    st.global.u64 [%rd2], %rd3;\n"
    "    st.global.u64 [%rd2+8], %rd1;\n"
    "    st.global.u64 [%rd2+16], %rd4;\n"
    "    ret;\n"
    "}\n"

    ".visible .entry spin(.param .u64 flag)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .u32 %r<2>;\n"
    "    .reg .u64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [flag];\n"
    "AGAIN:\n"
    "    ld.volatile.global.u32 %r1, [%rd1];\n"
    "    setp.eq.u32 %p, %r1, 0;\n"
    "    @%p bra AGAIN;\n"
    "    ret;\n"
    "}\n"

    ".visible .entry poke(.param .u64 address)\n"
    "{\n"
    "    .reg .u32 %r<2>;\n"
    "    .reg .u64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [address];\n"
    "    mov.u32 %r1, 7;\n"
    "    st.global.u32 [%rd1], %r1;\n"
    "    ret;\n"
    "}\n"

    ".visible .entry odd(.param .u64 address)\n"
    "{\n"
    "    .reg .u32 %r<2>;\n"
    "    .reg .u64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [address];\n"
    "    ld.global.u32 %r1, [%rd1];\n"
    "    ret;\n"
    "}\n"

    ".visible .entry count(.param .u64 counter)\n"
    "{\n"
    "    .reg .u32 %r<2>;\n"
    "    .reg .u64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [counter];\n"
    "    atom.global.add.u32 %r1, [%rd1], 1;\n"
    "    ret;\n"
    "}\n"

    ".visible .entry dynamic(.param .u64 out, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n"
    "    .reg .u32 %r<8>;\n"
    "    .reg .u64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, 0;\n"
    "    mov.u32 %r3, dyn;\n"
    "FILL:\n"
    "    st.shared.u32 [%r3], %r2;\n"
    "    add.u32 %r3, %r3, 4;\n"
    "    add.u32 %r2, %r2, 1;\n"
    "    setp.lt.u32 %p, %r2, %r1;\n"
    "    @%p bra FILL;\n"
    "    ld.shared.u32 %r4, [%r3+-4];\n"
    "    st.global.u32 [%rd1], %r4;\n"
    "    ret;\n"
    "}\n"

    ".visible .entry bounded(.param .u64 out)\n"
    ".maxntid 64, 1, 1\n"
    "{\n"
    "    ret;\n"
    "}\n";

#endif
