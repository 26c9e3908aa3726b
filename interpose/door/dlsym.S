/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym and dlvsym as the job sees them. The decision is made in lookup.c; what is written
 * here is what C can't promise: that a forwarded look-up arrives with the caller's own
 * return address, which RTLD_NEXT and RTLD_DEFAULT are answered by. */

#if defined(__x86_64__)

    .text
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdx             /* the caller */
    call rp_lookup_dlsym            /* rax: forward, rdx: answer */
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    je 1f
    jmpq *%rax
1:  movq %rdx, %rax
    ret
    .cfi_endproc
    .size dlsym, . - dlsym

    .globl dlvsym
    .type dlvsym, @function
dlvsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rcx
    call rp_lookup_dlvsym
    movq %rdx, %rcx
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    je 1f
    jmpq *%rax
1:  movq %rcx, %rax
    ret
    .cfi_endproc
    .size dlvsym, . - dlvsym

#elif defined(__aarch64__)

    .text
    .globl dlsym
    .type dlsym, %function
dlsym:
    .cfi_startproc
    hint #34                        /* bti c */
    stp x29, x30, [sp, #-32]!
    .cfi_def_cfa_offset 32
    .cfi_offset 29, -32
    .cfi_offset 30, -24
    mov x29, sp
    stp x0, x1, [sp, #16]
    mov x2, x30                     /* the caller */
    bl rp_lookup_dlsym              /* x0: forward, x1: answer */
    mov x16, x0
    mov x17, x1
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    cbz x16, 1f
    br x16
1:  mov x0, x17
    ret
    .cfi_endproc
    .size dlsym, . - dlsym

    .globl dlvsym
    .type dlvsym, %function
dlvsym:
    .cfi_startproc
    hint #34
    stp x29, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset 29, -48
    .cfi_offset 30, -40
    mov x29, sp
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    mov x3, x30
    bl rp_lookup_dlvsym
    mov x16, x0
    mov x17, x1
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    cbz x16, 1f
    br x16
1:  mov x0, x17
    ret
    .cfi_endproc
    .size dlvsym, . - dlvsym

#else
#error "dlsym is not written for this machine"
#endif

    .section .note.GNU-stack, "", %progbits
