/* SPDX-License-Identifier: Apache-2.0 */
/* The PTX parser: what compilers write, in all its oddities, and what is not PTX. */
#include "cuda/ptx/ptx.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static struct rp_ptx_module *parse(const char *text)
{
    struct rp_ptx_module *module;
    char message[160];
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)) != RP_OK)
        fail_msg("%s\n%s", message, text);
    return module;
}

/* A kernel k with the usual registers and `body`, from line 6 of the text on. */
static struct rp_ptx_module *parse_body(const char *body)
{
    char text[4096];
    snprintf(text, sizeof(text),
             "%s.entry k(.param .u64 p) {\n.reg .b32 %%r<9>; .reg .b64 %%rd<9>; "
             ".reg .pred %%p<9>; .reg .f32 %%f<9>;\n%s\n}\n",
             HEAD, body);
    return parse(text);
}

static const struct rp_ptx_instruction *code(const struct rp_ptx_module *module, size_t index)
{
    const struct rp_ptx_function *k = rp_ptx_find(module, "k");
    assert_non_null(k);
    assert_true(index < k->code_count);
    return &k->code[index];
}

static const char *reg_name(const struct rp_ptx_module *module, uint32_t reg)
{
    return rp_ptx_find(module, "k")->regs[reg].name;
}

/* ---- modules ------------------------------------------------------------------ */

static void headers(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse("\n\n// x\n.version 6.3\n.target sm_90a, debug\n"
                                         ".address_size 64\n");
    assert_int_equal(module->version_major, 6);
    assert_int_equal(module->version_minor, 3);
    assert_string_equal(module->target, "sm_90a");
    assert_int_equal(module->sm, 90);
    assert_int_equal(module->address_size, 64);
    rp_ptx_destroy(module);
}

/* Text that ends where its length says: not at a zero, and padding zeros do not count. */
static void text_without_a_terminating_zero(void **state)
{
    (void)state;
    const char text[] = HEAD ".entry k() { ret; }";
    struct rp_ptx_module *module;
    size_t length = sizeof(text) - 1;
    char *exact = malloc(length), message[160];
    memcpy(exact, text, length);
    assert_int_equal(rp_ptx_parse(exact, length, &module, message, sizeof(message)), RP_OK);
    rp_ptx_destroy(module);
    assert_int_equal(rp_ptx_parse(exact, length - 1, &module, message, sizeof(message)),
                     RP_INVALID);
    assert_null(module);
    assert_string_equal(message, "4:19: expected an instruction, found the end of the text");
    free(exact);
    char padded[200] = {0};
    memcpy(padded, text, sizeof(text));
    assert_int_equal(rp_ptx_parse(padded, sizeof(padded), &module, message, sizeof(message)),
                     RP_OK);
    rp_ptx_destroy(module);
}

static void module_variables(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse(
        HEAD ".extern .shared .align 16 .b8 dynamic[];\n"
             ".visible .global .align 8 .u64 pointers[3] = {other, generic(grid)+8, 5};\n"
             ".global .align 4 .f32 floats[] = {0f3F800000, 1.5, -2, 0d4000000000000000};\n"
             ".global .align 1 .b8 bytes[9] = {7, 0xFF(generic(other)), 0xFF00(generic(other)),\n"
             "0xFF0000(generic(other)), 0xFF000000(generic(other)), 0xFF00000000(generic(other)),\n"
             "0xFF0000000000(generic(other)), 0xFF000000000000(generic(other)),\n"
             "0xFF00000000000000(generic(other))};\n"
             ".global .align 4 .u32 grid[2][3] = {{1, 2}, {4, 5, 6}};\n"
             ".const .align 4 .v2 .f32 pair = {0f00000000, 0f3F800000};\n"
             ".extern .global .b32 late; .global .b32 late = (1 << 4) | (7 / 2) ^ ~-1; .global "
             ".texref image;\n"
             ".global .attribute(.managed) .s16 other;\n");
    assert_int_equal(module->global_count, 9);
    const struct rp_ptx_var *v = module->globals;
    assert_true(v[0].is_extern && v[0].is_array && v[0].space == RP_PTX_SHARED);
    assert_int_equal(v[0].elements, 0);
    assert_int_equal(v[0].align, 16);
    assert_true(v[1].is_visible);
    assert_int_equal(v[1].bytes, 24);
    assert_int_equal(v[1].reloc_count, 2);
    assert_string_equal(v[1].relocs[1].symbol, "grid");
    assert_int_equal(v[1].relocs[1].offset, 8);
    assert_int_equal(v[1].relocs[1].addend, 8);
    assert_true(v[1].relocs[1].generic && !v[1].relocs[0].generic);
    assert_int_equal(v[1].initial[16], 5);
    float floats[4];
    assert_int_equal(v[2].bytes, sizeof(floats));
    memcpy(floats, v[2].initial, sizeof(floats));
    assert_true(floats[0] == 1.0f && floats[1] == 1.5f && floats[2] == -2.0f && floats[3] == 2.0f);
    assert_int_equal(v[3].initial[0], 7);
    assert_int_equal(v[3].reloc_count, 1);
    assert_int_equal(v[3].relocs[0].offset, 1);
    uint32_t grid[6];
    memcpy(grid, v[4].initial, sizeof(grid));
    assert_int_equal(grid[1], 2);
    assert_int_equal(grid[2], 0);
    assert_int_equal(grid[3], 4);
    assert_int_equal(v[5].space, RP_PTX_CONST);
    assert_int_equal(v[5].elements, 2);
    assert_string_equal(v[6].name, "late");
    assert_false(v[6].is_extern);
    assert_int_equal(v[6].initial[0], 16 | 3);
    assert_int_equal(v[7].bytes, 8);
    assert_int_equal(v[8].type, RP_PTX_S16);
    rp_ptx_destroy(module);
}

static void functions_are_declared_and_defined(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse(
        HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
             ".visible .func later (.param .b32 x);\n"
             ".weak .func (.reg .u32 %out) plus (.reg .u32 %a, .reg.u32 %b) { add.u32 %out, %a, "
             "%b; ret; }\n"
             ".visible .entry main$_omp_fn$0 (.param.u64 %in_ar0) .maxntid 32, 2 .minnctapersm 3\n"
             "{ .reg.u64 %r; ld.param.u64 %r, [%in_ar0]; ret; }\n"
             ".visible .func later (.param .b32 x) .noreturn { trap; }\n.alias other, later;\n");
    assert_int_equal(module->function_count, 4);
    const struct rp_ptx_function *later = rp_ptx_find(module, "later");
    assert_true(later->is_defined && later->is_visible && !later->is_entry);
    assert_false(rp_ptx_find(module, "vprintf")->is_defined);
    const struct rp_ptx_function *plus = rp_ptx_find(module, "plus");
    assert_true(plus->is_weak);
    assert_int_equal(plus->return_count, 1);
    assert_int_equal(plus->param_count, 2);
    assert_string_equal(plus->regs[plus->code[0].operands[2].reg].name, "%b");
    const struct rp_ptx_function *entry = rp_ptx_find(module, "main$_omp_fn$0");
    assert_true(entry->is_entry);
    assert_int_equal(entry->maxntid[0], 32);
    assert_int_equal(entry->maxntid[1], 2);
    assert_int_equal(entry->maxntid[2], 1);
    assert_int_equal(entry->reqntid[0], 0);
    assert_null(rp_ptx_find(module, "nobody"));
    rp_ptx_destroy(module);
}

static void parameters_have_the_offsets_of_a_struct(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse(HEAD
        ".entry k (.param .u8 a, .param .u64 .ptr .global .align 16 b, .param .u16 c,\n"
        ".param .align 8 .b8 d[24], .param .u32 e, .param .align 16 .b8 f[5], .param .f64 g,\n"
        ".param .u64 .ptr .align 1 h) { ret; }\n");
    const struct rp_ptx_function *k = rp_ptx_find(module, "k");
    static const uint64_t offsets[] = {0, 8, 16, 24, 48, 64, 72, 80};
    assert_int_equal(k->param_count, 8);
    for (size_t i = 0; i < k->param_count; i++)
        assert_int_equal(k->params[i].offset, offsets[i]);
    assert_int_equal(k->param_bytes, 88);
    assert_true(k->params[1].is_pointer && k->params[1].pointee == RP_PTX_GLOBAL);
    assert_true(k->params[7].is_pointer && k->params[7].pointee == RP_PTX_GENERIC);
    assert_false(k->params[0].is_pointer);
    rp_ptx_destroy(module);
}

/* ---- bodies ------------------------------------------------------------------- */

static void opcodes_keep_their_modifiers(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse_body(
        "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f0, %f1, %f2, _}, [%rd1+-16];\n"
        "@!%p1 st.shared::cta.b32 [p], %r1;\nsetp.lt.and.s32 %p2|%p3, %r1, -5, !%p1;\n"
        "cvt.rn.f16x2.f32 %r1, %f1, %f2;");
    const struct rp_ptx_instruction *ld = code(module, 0), *st = code(module, 1);
    assert_string_equal(ld->op, "ld");
    assert_int_equal(ld->modifier_count, 6);
    assert_string_equal(ld->modifiers[2], "L1::no_allocate");
    assert_int_equal(ld->vector, 4);
    assert_int_equal(ld->space, RP_PTX_GLOBAL);
    assert_int_equal(ld->type_count, 1);
    assert_int_equal(ld->type[0], RP_PTX_F32);
    assert_true(rp_ptx_has(ld, "nc"));
    assert_false(rp_ptx_has(ld, "n"));
    assert_int_equal(ld->line, 6);
    assert_int_equal(ld->column, 1);
    assert_int_equal(ld->operands[0].kind, RP_PTX_OPERAND_VECTOR);
    assert_int_equal(ld->operands[0].items[3].kind, RP_PTX_OPERAND_SINK);
    assert_int_equal(ld->operands[1].kind, RP_PTX_OPERAND_ADDRESS);
    assert_int_equal(ld->operands[1].imm, -16);
    assert_true(st->guarded && st->guard_negated);
    assert_string_equal(reg_name(module, st->guard), "%p1");
    assert_int_equal(st->space, RP_PTX_SHARED);
    assert_int_equal(st->operands[0].base, RP_PTX_OPERAND_VAR);
    assert_string_equal(st->operands[0].var->name, "p");
    const struct rp_ptx_operand *setp = code(module, 2)->operands;
    assert_string_equal(reg_name(module, setp[0].paired - 1), "%p3");
    assert_int_equal(setp[2].imm, -5);
    assert_true(setp[3].negated);
    assert_int_equal(code(module, 3)->type[0], RP_PTX_F16X2);
    assert_int_equal(code(module, 3)->type[1], RP_PTX_F32);
    rp_ptx_destroy(module);
}

static void numbers_in_every_notation(void **state)
{
    (void)state;
    struct rp_ptx_module *module =
        parse_body("mov.u32 %r1, 0x1F; mov.u32 %r1, 017; mov.u32 %r1, 0b101U; mov.u32 %r1, 42U;\n"
                   "mov.u32 %r1, 0; mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF; mov.u32 %r1, 4*(5+1)-1; "
                   "mov.u32 %r1, WARP_SZ;\n"
                   "mov.f32 %f1, 0f3FC00000; mov.f32 %f1, 0d3FF8000000000000; mov.f32 %f1, -1.5e1; "
                   "mov.f32 %f1, 2.;\n"
                   "mov.u32 %r1, 3 > 2 ? 7 : 8; mov.u32 %r1, (.s64) -8 / 3; mov.u32 %r1, !0;");
    static const int64_t integers[] = {31, 15, 5, 42, 0, -1, 23, 32};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(code(module, i)->operands[1].kind, RP_PTX_OPERAND_IMM);
        assert_int_equal(code(module, i)->operands[1].imm, integers[i]);
    }
    const struct rp_ptx_operand *single = &code(module, 8)->operands[1];
    assert_true(single->is_float && single->is_f32 && single->imm == 0x3FC00000);
    static const double doubles[] = {1.5, -15.0, 2.0};
    for (size_t i = 0; i < 3; i++) {
        const struct rp_ptx_operand *operand = &code(module, 9 + i)->operands[1];
        double value;
        memcpy(&value, &operand->imm, sizeof(value));
        assert_true(operand->is_float && !operand->is_f32 && value == doubles[i]);
    }
    assert_int_equal(code(module, 12)->operands[1].imm, 7);
    assert_int_equal(code(module, 13)->operands[1].imm, -2);
    assert_int_equal(code(module, 14)->operands[1].imm, 1);
    rp_ptx_destroy(module);
}

static void scopes_rename_registers_and_labels(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse_body(
        "mov.u32 %r1, 1;\nbra A;\n{ .reg .b32 %r1; mov.u32 %r1, %r2; bra A; A: }\n"
        "{ .reg .b32 %r<3>; mov.u32 %r1, %r8; { .reg .b32 %r12; mov.u32 %r12, %r2; } }\n"
        "A: mov.u32 %r1, 2; bra B; B:");
    const struct rp_ptx_function *k = rp_ptx_find(module, "k");
    uint32_t outer = code(module, 0)->operands[0].reg, inner = code(module, 2)->operands[0].reg;
    assert_int_not_equal(outer, inner);
    assert_string_equal(k->regs[inner].name, "%r1");
    assert_int_equal(code(module, 1)->operands[0].target, 6);
    assert_int_equal(code(module, 3)->operands[0].target, 4); /* the inner A */
    assert_int_not_equal(code(module, 4)->operands[0].reg, outer);
    assert_string_equal(k->regs[code(module, 4)->operands[1].reg].name,
                        "%r8"); /* of the outer range */
    assert_string_equal(k->regs[code(module, 5)->operands[0].reg].name, "%r12");
    assert_int_equal(code(module, 6)->operands[0].reg, outer);
    assert_int_equal(code(module, 7)->operands[0].target, k->code_count); /* the end */
    rp_ptx_destroy(module);
}

static void operands_of_all_kinds(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse_body(
        ".local .align 16 .b32 depot[16]; .reg .v4 .f32 %v; .shared .b8 tile[64];\n"
        "mov.u64 %rd1, depot+16; mov.u64 %rd1, depot[3]; mov.b64 {%r1, %r2}, %rd1; mov.f32 %v.y, "
        "%f1;\n"
        "st.global.v4.f32 [4096], %v; mov.u32 %r1, %tid.x; mov.u32 %r1, %envreg7; mov.u32 %r1, "
        "%laneid;\n"
        "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [p, {%f1, %f2}]; elect.sync _|%p1, -1;\n"
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [tile+8];");
    assert_int_equal(code(module, 0)->operands[1].imm, 16);
    assert_int_equal(code(module, 0)->operands[1].var->space, RP_PTX_LOCAL);
    assert_int_equal(code(module, 1)->operands[1].imm, 12);
    assert_int_equal(code(module, 2)->operands[0].item_count, 2);
    assert_string_equal(reg_name(module, code(module, 3)->operands[0].reg), "%v.y");
    assert_int_equal(code(module, 4)->operands[0].base, RP_PTX_OPERAND_IMM);
    assert_int_equal(code(module, 4)->operands[0].imm, 4096);
    assert_int_equal(code(module, 4)->operands[1].item_count, 4);
    assert_int_equal(code(module, 5)->operands[1].sreg, RP_PTX_TID_X);
    assert_int_equal(code(module, 6)->operands[1].sreg, RP_PTX_SREG_OTHER);
    assert_string_equal(code(module, 6)->operands[1].name, "%envreg7");
    assert_int_equal(code(module, 7)->operands[1].sreg, RP_PTX_LANEID);
    assert_int_equal(code(module, 8)->operands[1].item_count, 1);
    assert_int_equal(code(module, 8)->operands[1].items[0].item_count, 2);
    assert_int_equal(code(module, 9)->operands[0].kind, RP_PTX_OPERAND_SINK);
    assert_string_equal(reg_name(module, code(module, 9)->operands[0].paired - 1), "%p1");
    assert_int_equal(code(module, 10)->operands[0].items[0].kind, RP_PTX_OPERAND_VECTOR);
    assert_string_equal(code(module, 10)->operands[1].var->name, "tile");
    rp_ptx_destroy(module);
}

static void calls_and_lists(void **state)
{
    (void)state;
    struct rp_ptx_module *module =
        parse(HEAD ".func (.param .b32 r) f (.param .b32 x);\n"
                   ".entry k() { .reg .b64 %rd<2>; .reg .b32 %r<3>; .reg .pred %p;\n"
                   "{ .param .b32 a; .param .b32 v; call.uni (v), f, (a); }\n"
                   "call f;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _) .noreturn;\n"
                   "mov.u64 %rd1, f; @%p call (%r1), %rd1, (%r2, 7), proto;\n"
                   "jumps: .branchtargets L, M; brx.idx %r1, jumps;\nL: ret;\nM: ret; names: "
                   ".calltargets f; }\n");
    const struct rp_ptx_function *k = rp_ptx_find(module, "k");
    const struct rp_ptx_instruction *call = code(module, 0), *indirect = code(module, 3);
    assert_int_equal(call->returns, 1);
    assert_int_equal(call->operand_count, 3);
    assert_string_equal(call->operands[0].var->name, "v");
    assert_int_equal(call->operands[1].kind, RP_PTX_OPERAND_FUNCTION);
    assert_string_equal(call->operands[1].name, "f");
    assert_int_equal(code(module, 1)->operand_count, 1);
    assert_int_equal(code(module, 2)->operands[1].kind, RP_PTX_OPERAND_FUNCTION);
    assert_int_equal(indirect->operand_count, 5);
    assert_int_equal(indirect->operands[1].kind, RP_PTX_OPERAND_REG);
    assert_string_equal(indirect->operands[4].name, "proto");
    assert_int_equal(k->list_count, 3);
    assert_string_equal(k->lists[0].kind, "callprototype");
    assert_string_equal(k->lists[0].items[0], "(.param .b32 _) _ (.param .b32 _) .noreturn");
    assert_string_equal(k->lists[1].name, "jumps");
    assert_int_equal(k->lists[1].targets[0], 5);
    assert_int_equal(k->lists[1].targets[1], 6);
    assert_string_equal(k->lists[2].items[0], "f");
    rp_ptx_destroy(module);
}

static void debugging_matter_is_skipped(void **state)
{
    (void)state;
    struct rp_ptx_module *module = parse(HEAD
        ".file 1 \"/a \\\"b\\\".cu\", 123, 456\n# 1 \"x\"\n@@DWARF .byte 1\n/* a\ncomment */\n"
        ".entry k() {\n.loc 1 23 5\n.loc 1 3 1, function_name $L__info0 + 4, inlined_at 1 2 3\n"
        ".pragma \"nounroll\";\nret;\n}\n.section .debug_str {\nlabel: .b8 1, 2\n.b64 label-4\n}\n"
        ".pragma \"a\", \"b\";\n");
    assert_int_equal(rp_ptx_find(module, "k")->code_count, 1);
    assert_int_equal(code(module, 0)->line, 13);
    rp_ptx_destroy(module);
}

/* ---- errors ------------------------------------------------------------------- */

static void errors_say_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "1:1: expected '.version', found the end of the text"},
        {"\x7f"
         "ELF",
         "1:1: unexpected byte 0x7f"},
        {".version 8\n", "1:10: expected a version such as 8.0, found '8'"},
        {HEAD ".entry k() { ret }", "4:18: expected an operand, found '}'"},
        {HEAD ".entry k() {\n  add.s32 %r1, %r2, 1;\n}", "5:11: register '%r1' is not declared"},
        {HEAD ".entry k() {\n bra nowhere;\n}", "5:6: there is no label 'nowhere' in this scope"},
        {HEAD ".entry k() {\n{ L: } bra L;\n}", "5:12: there is no label 'L' in this scope"},
        {HEAD ".entry k() { L: ret; L: ret; }", "4:22: 'L' is declared twice"},
        {HEAD ".entry k() { .reg .b32 a; .reg .b64 a; }", "4:37: 'a' is declared twice"},
        {HEAD ".entry k() { .reg .b32 r; mov.u32 r, thing; }", "4:38: 'thing' is not declared"},
        {HEAD ".entry k() { .reg .b33 r; }", "4:19: '.b33' is not a type"},
        {HEAD ".entry k() { .reg .f32.pred r; }",
         "4:23: expected a name, for it has a type, found '.pred'"},
        {HEAD ".entry k() { .reg .b32 r; @r ret; }", "4:28: 'r' is not a predicate"},
        {HEAD ".entry k() { ret; } .entry k() { ret; }", "4:28: 'k' is defined twice"},
        {HEAD ".global .b32 x = 08;", "4:19: '8' is not a digit of a number of base 8"},
        {HEAD ".global .f32 x = 0f123;", "4:18: 0f needs 8 hexadecimal digits"},
        {HEAD ".global .b32 x = 1/0;", "4:19: division by zero"},
        {HEAD ".global .b64 x = 99999999999999999999;", "4:18: this number exceeds 64 bits"},
        {HEAD ".global .b32 x[2] = {1, 2, 3};", "4:28: more values than 'x' has elements"},
        {HEAD ".global .b64 x[99999999999999];", "4:14: 'x' is too large"},
        {HEAD ".global .align 3 .b8 x;", "4:16: an alignment must be a power of two"},
        {HEAD ".local .b8 x;", "4:1: '.local' stands outside of a function"},
        {HEAD "/* no end", "4:1: this comment has no end"},
        {HEAD ".file 1 \"x\n\"", "4:9: this text has no closing quote"},
        {HEAD ".entry k() { .reg .b32 %r<99999999>; }", "4:24: more than 1048576 registers"},
        {HEAD ".entry k() { .reg .b32 r; ld.u32 r, [r+1.5; }", "4:43: expected ']', found ';'"},
        {HEAD ".entry k() {\n.reg .b32 r; mov.u32 r, \"x\"; }",
         "5:25: expected an operand, found 'x'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rp_ptx_module *module;
        char message[160], small[8];
        enum rp_status status = rp_ptx_parse(cases[i].text, strlen(cases[i].text), &module, message,
                                             sizeof(message));
        if (status != RP_INVALID || module || strcmp(message, cases[i].message))
            fail_msg("case %zu: \"%s\", not \"%s\"", i, message, cases[i].message);
        (void)rp_ptx_parse(cases[i].text, strlen(cases[i].text), &module, small, sizeof(small));
        assert_true(strlen(small) < sizeof(small));
        (void)rp_ptx_parse(cases[i].text, strlen(cases[i].text), &module, NULL, 0);
    }
}

static char *repeated(const char *before, const char *unit, size_t count, const char *after)
{
    char *text = malloc(strlen(before) + strlen(unit) * count + strlen(after) + 1);
    char *at = stpcpy(text, before);
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, unit);
    strcpy(at, after);
    return text;
}

/* Nesting and memory are bounded, whatever the text. */
static void hostile_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *before, *unit, *after;
    } cases[] = {
        {HEAD ".entry k() {", "{", ""},
        {HEAD ".global .b32 x = ", "(", "1"},
        {HEAD ".global .b32 x = ", "-", "1"},
        {HEAD ".global .b32 x = ", "1?", "1"},
        {HEAD ".global .b8 x[9] = ", "{", ""},
        {HEAD ".entry k() { mov.u32 ", "{", ""},
        {HEAD ".entry k() { mov.u32 ", "[", ""},
        {HEAD ".entry k() { x", ".y", "; }"},
        {HEAD ".entry k() { ", ".reg .b32 %r<1000000>; ", ""},
        {HEAD, ".entry k() { .reg .b32 %r<1000000>; } ", ""},
        {HEAD, ".global .b8 x[268435456] = {1}; ", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rp_ptx_module *module;
        char message[160];
        char *text = repeated(cases[i].before, cases[i].unit, 3000, cases[i].after);
        if (rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)) != RP_INVALID)
            fail_msg("case %zu was taken", i);
        free(text);
    }
}

/* Random damage to a real kernel: any answer is right, if it comes. */
static void damaged_text_is_survived(void **state)
{
    (void)state;
    static const char pieces[][12] = {"{",  "}",  "[",  "]",        ";",   "%r1", ".reg",
                                      "0f", "\"", "/*", "(",        "<9>", "@",   ".align",
                                      "|",  "0x", ":",  ".entry k", "-",   "."};
    const char text[] =
        HEAD ".visible .entry k(.param .u64 p, .param .u32 n) .maxntid 32 {\n"
             ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>; .shared .align 4 .b8 s[16];\n"
             "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; setp.ge.s32 %p1|%p2, %r1, 0x10; @!%p1 "
             "bra L;\n"
             "{ .reg .b32 t; mad.lo.s32 t, %r1, 4, %r2; st.global.v2.u32 [%rd1+4], {t, _}; }\nL: "
             "ret; }\n"
             ".global .align 8 .u64 g[2] = {generic(h)+8, 0x5}; .global .b32 h = 1 + (2 << 3);\n";
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char copy[sizeof(text) + 64], message[160];
        size_t length = sizeof(text) - 1;
        memcpy(copy, text, sizeof(text));
        for (int j = 0; j < 3; j++) {
            seed = seed * 1664525 + 1013904223;
            size_t at = (seed >> 8) % length;
            const char *piece = pieces[(seed >> 3) % 20];
            if (seed >> 30 == 0) {
                copy[at] = (char)(seed >> 16);
            } else if (seed >> 30 == 1) {
                memmove(copy + at, copy + at + 1, length - at);
                length--;
            } else if (length + strlen(piece) < sizeof(copy)) {
                memmove(copy + at + strlen(piece), copy + at, length - at);
                memcpy(copy + at, piece, strlen(piece));
                length += strlen(piece);
            }
        }
        struct rp_ptx_module *module;
        char *exact = malloc(length); /* so that reading past it is noticed */
        memcpy(exact, copy, length);
        (void)rp_ptx_parse(exact, length, &module, message, sizeof(message));
        rp_ptx_destroy(module);
        free(exact);
    }
}

/* ---- whole files -------------------------------------------------------------- */

/* What nvcc made of the training kernels. */
static void compiled_kernels_are_read(void **state)
{
    (void)state;
    static const char *const files[] = {
        "01_sgemm_tiled",    "02_matmul_naive", "03_layernorm", "04_softmax", "05_gelu",
        "06_dropout_philox", "07_embedding",    "08_adam",      "12_ring",    "13_reduce",
        "14_half",           "15_int8",         "16_tensor",    "17_mlp"};
    static const size_t entries[] = {2, 3, 2, 3, 4, 2, 3, 4, 4, 5, 6, 4, 4, 3};
    const char *folder = getenv("KERNELS");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[512], message[160];
        snprintf(path, sizeof(path), "%s/%s.ptx", folder ? folder : "tests/kernels", files[i]);
        FILE *file = fopen(path, "rb");
        if (!file)
            fail_msg("cannot read %s", path);
        char *text = malloc(1 << 20);
        size_t length = fread(text, 1, 1 << 20, file), count = 0;
        fclose(file);
        struct rp_ptx_module *module;
        if (rp_ptx_parse(text, length, &module, message, sizeof(message)) != RP_OK)
            fail_msg("%s:%s", path, message);
        for (size_t j = 0; j < module->function_count; j++)
            count += module->functions[j].is_entry && module->functions[j].code_count > 5;
        assert_true(count >= entries[i]);
        rp_ptx_destroy(module);
        free(text);
    }
}

static void names_of_types(void **state)
{
    (void)state;
    assert_int_equal(rp_ptx_type_bytes(RP_PTX_B128), 16);
    assert_int_equal(rp_ptx_type_bytes(RP_PTX_PRED), 0);
    assert_string_equal(rp_ptx_type_name(RP_PTX_BF16X2), "bf16x2");
    for (int type = RP_PTX_NONE + 1; type < RP_PTX_TYPE_COUNT; type++)
        assert_true(strlen(rp_ptx_type_name((enum rp_ptx_type)type)) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(text_without_a_terminating_zero),
        cmocka_unit_test(module_variables),
        cmocka_unit_test(functions_are_declared_and_defined),
        cmocka_unit_test(parameters_have_the_offsets_of_a_struct),
        cmocka_unit_test(opcodes_keep_their_modifiers),
        cmocka_unit_test(numbers_in_every_notation),
        cmocka_unit_test(scopes_rename_registers_and_labels),
        cmocka_unit_test(operands_of_all_kinds),
        cmocka_unit_test(calls_and_lists),
        cmocka_unit_test(debugging_matter_is_skipped),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(hostile_text_is_refused),
        cmocka_unit_test(damaged_text_is_survived),
        cmocka_unit_test(compiled_kernels_are_read),
        cmocka_unit_test(names_of_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
