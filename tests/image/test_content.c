/* SPDX-License-Identifier: Apache-2.0 */
/* What a device may come to run of an image, and what may be said of its kernels. */
#include "cuda/image/content.h"
#include "interpose/calls/image.h"
#include "tests/image/container.h"
#include "tests/image/image_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct rp_target hopper = {.arch = 90, .runs_machine_code = true};
static const struct rp_target ampere = {.arch = 86, .runs_machine_code = true};
static const struct rp_target unknown = {.runs_machine_code = true};
static const struct rp_target compiler = {.arch = 80, .takes_newest_ptx = true};

static struct container container;

static void add_text(uint32_t arch, enum packing packing)
{
    char text[160];
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_%u\n.address_size 64\n"
             ".visible .entry k(.param .u64 p%u)\n{\n    ret;\n}\n", arch, arch);
    container_add(&container, 1, arch, packing, text, strlen(text) + 1);
}

static void add_code(uint32_t arch)
{
    container_add(&container, 2, arch, PLAIN, "\177ELF", 4);
}

static void expect_parts(const struct rp_target *target, size_t texts, size_t codes)
{
    struct rp_content content;
    assert_int_equal(rp_content_read(container.bytes, 0, target, &content), RP_OK);
    assert_int_equal(content.text_count, texts);
    assert_int_equal(content.code_count, codes);
    assert_null(content.doubt);
    rp_content_release(&content);
}

static void all_that_the_driver_may_choose_is_gathered(void **state)
{
    (void)state;
    container_begin(&container);
    add_code(80);
    add_code(86);
    add_code(89); /* a later minor number than any device here */
    add_code(90);
    add_text(75, PLAIN);
    add_text(80, PACKED_LZ4);
    add_text(100, PACKED_ZSTD);
    expect_parts(&hopper, 2, 1);
    expect_parts(&ampere, 2, 2);
    expect_parts(&unknown, 3, 4);
    expect_parts(&compiler, 1, 0);
}

static const struct rp_image_kernel *kernel_of(const void *image, size_t bytes,
                                               const struct rp_target *target, const char *name,
                                               bool trust)
{
    return rp_image_kernel(rp_image_read(image, bytes, target), name, trust);
}

static void several_texts_that_may_be_compiled_prove_nothing(void **state)
{
    (void)state;
    container_begin(&container);
    add_text(75, PLAIN);
    add_text(80, PLAIN);
    assert_null(kernel_of(container.bytes, 0, &hopper, "k", true)->proof);
    assert_non_null(kernel_of(container.bytes, 0, &compiler, "k", false)->proof);
}

/* The PTX of a container is proof only where it is what runs, or where the job's owner says
 * that it is the same program. A new image each time: a process has one contract. */
static void text_beside_code_is_proof_only_on_trust(void **state)
{
    (void)state;
    size_t bytes;
    unsigned char *image = image_file("ways_with_code.fatbin", &bytes);
    const struct rp_image_kernel *kernel = kernel_of(image, bytes, &ampere, "increase", false);
    assert_null(kernel->proof);
    assert_non_null(strstr(kernel->unproved, "trust_ptx"));
    assert_true(kernel->layout.known);
    assert_null(kernel->escapes);
    kernel = kernel_of(image, bytes, &ampere, "no_tail", true);
    assert_non_null(kernel->proof);
    kernel = kernel_of(image, bytes, &hopper, "increase", false); /* no code for this one */
    assert_non_null(kernel->proof);
    kernel = kernel_of(image, bytes, &compiler, "increase", false);
    assert_non_null(kernel->proof);
    free(image);
}

static void code_alone_tells_its_parameters(void **state)
{
    (void)state;
    size_t bytes;
    unsigned char *image = image_file("layouts_sm_90.cubin", &bytes);
    const struct rp_image_kernel *kernel = kernel_of(image, bytes, &hopper, "map_first", true);
    assert_null(kernel->proof);
    assert_int_equal(kernel->layout.count, 2);
    assert_int_equal(kernel->layout.params[0].offset, 112);
    assert_int_equal(kernel->layout.bytes, 248);
    assert_null(kernel->escapes);
    assert_non_null(kernel_of(image, bytes, &hopper, "say", true)->escapes);
    assert_null(kernel_of(image, bytes, &hopper, "missing", true));
    free(image);
}

/* Codes that lay out a block in different ways leave none to be told. */
static void codes_must_agree(void **state)
{
    (void)state;
    size_t bytes[2];
    unsigned char *first = image_file("layouts_sm_80.cubin", &bytes[0]);
    unsigned char *second = image_file("layouts_sm_90.cubin", &bytes[1]);
    container_begin(&container);
    container_add(&container, 2, 80, PACKED_ZSTD, first, bytes[0]);
    container_add(&container, 2, 90, PACKED_ZSTD, second, bytes[1]);
    assert_false(kernel_of(container.bytes, 0, &unknown, "map_first", false)->layout.known);
    assert_true(kernel_of(container.bytes, 0, &unknown, "no_tail", false)->layout.known);
    assert_true(kernel_of(container.bytes, 0, &hopper, "map_first", false)->layout.known);
    free(first);
    free(second);
}

#define TEXT(body) ".version 7.0\n.target sm_80\n.address_size 64\n" body
#define ENTRY(name) ".visible .entry " name "(.param .u64 x, .param .u16 v)\n{\nret;\n}\n"

static const struct rp_image *linked_image(const char *first, const char *second, bool others)
{
    struct rp_content_part parts[] = {
        {.bytes = (unsigned char *)(uintptr_t)first, .size = strlen(first)},
        {.bytes = (unsigned char *)(uintptr_t)second, .size = second ? strlen(second) : 0}};
    struct rp_linked linked = {parts, second ? 2 : 1, others};
    size_t bytes;
    unsigned char *code = image_file("layouts_sm_80.cubin", &bytes);
    const struct rp_image *image = rp_image_read_linked(code, &linked);
    free(code);
    return image;
}

static bool is_proved(const struct rp_image *image, const char *name)
{
    const struct rp_image_kernel *kernel = rp_image_kernel(image, name, false);
    assert_non_null(kernel);
    return kernel->proof != NULL;
}

/* Machine code that was linked from PTX is that PTX, compiled; the rest of it is not. */
static void linked_code_is_proved_by_its_texts(void **state)
{
    (void)state;
    const char *alone = TEXT(ENTRY("no_tail") ".global .u32 own;\n");
    const char *with_own = TEXT(ENTRY("scale") ".global .u32 own;\n");
    const char *with_weak = TEXT(ENTRY("scale") ".weak .func helper()\n{\nret;\n}\n");
    const char *plain = TEXT(ENTRY("scale") ".visible .global .u32 shown;\n");
    const char *again = TEXT(ENTRY("no_tail") "\n");
    const struct rp_image *image = linked_image(alone, NULL, false);
    assert_true(is_proved(image, "no_tail"));
    assert_false(is_proved(image, "count"));
    assert_string_equal(rp_image_kind_text(image), "linked");
    image = linked_image(again, plain, true);
    assert_true(is_proved(image, "no_tail") && is_proved(image, "scale"));
    /* names that may have been bound to what stands in another part */
    assert_false(is_proved(linked_image(again, with_own, false), "no_tail"));
    assert_false(is_proved(linked_image(with_own, NULL, true), "scale"));
    assert_false(is_proved(linked_image(again, with_weak, false), "scale"));
    assert_true(is_proved(linked_image(with_weak, NULL, false), "scale"));
    assert_false(is_proved(linked_image(again, TEXT(ENTRY("no_tail")), false), "no_tail"));
}

static void expect_doubt(const void *image, size_t bytes)
{
    const struct rp_image *read = rp_image_read(image, bytes, &hopper);
    const struct rp_image_kernel *kernel = rp_image_kernel(read, "k", true);
    assert_true(strlen(rp_image_doubt(read)) > 0);
    if (kernel)
        assert_null(kernel->proof);
}

/* Unknown is never safe. */
static void what_can_not_be_read_proves_nothing(void **state)
{
    (void)state;
    static const char wrapper[24] = "\xb1\x43\x62\x46\1\0\0\0\1\1\1\1\1\1\1\1";
    container_begin(&container);
    add_text(80, PLAIN);
    container_add(&container, 0x40, 80, PLAIN, "something else", 15);
    expect_doubt(container.bytes, 0); /* it may be compiled, too */
    assert_non_null(kernel_of(container.bytes, 0, &compiler, "k", false)->proof);

    container_begin(&container);
    add_text(80, PACKED_ZSTD);
    container.bytes[container.used - 12] ^= 0xff;
    expect_doubt(container.bytes, 0);

    container_begin(&container);
    add_text(80, PLAIN);
    container_put(&container, 8, &(uint64_t){container.used + 40}, 8);
    expect_doubt(container.bytes, container.used); /* longer than its file */

    container_begin(&container);
    add_text(80, PLAIN);
    add_code(90); /* no code at all */
    expect_doubt(container.bytes, 0);

    expect_doubt(".version 7.0\n.target sm_80\n.entry k() { what is this }", 0);
    expect_doubt("something", 9);
    expect_doubt("\177ELF", 4);
    expect_doubt(wrapper, sizeof wrapper); /* an address of another process, in a file */
    assert_non_null(rp_image_doubt(rp_image_unseen("it was not seen")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_the_driver_may_choose_is_gathered),
        cmocka_unit_test(several_texts_that_may_be_compiled_prove_nothing),
        cmocka_unit_test(text_beside_code_is_proof_only_on_trust),
        cmocka_unit_test(code_alone_tells_its_parameters),
        cmocka_unit_test(codes_must_agree),
        cmocka_unit_test(linked_code_is_proved_by_its_texts),
        cmocka_unit_test(what_can_not_be_read_proves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
