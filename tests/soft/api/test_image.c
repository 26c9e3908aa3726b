/* SPDX-License-Identifier: Apache-2.0 */
/* Images: containers of PTX, plain and compressed, whole and damaged. The containers are made
 * here, so that no toolkit is needed; their layout is that of CUDA 13.0's fatbinary. */
#include "tests/soft/api/soft_test.h"

#include "cuda/image/fatbin.h"
#include "tests/image/container.h"
#include "tests/soft/api/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel whose name tells for which architecture it was. */
static const char *text_for(uint32_t arch)
{
    static char text[256];
    snprintf(text, sizeof text, PTX_HEADER ".visible .entry for_%u()\n{\n    ret;\n}\n", arch);
    return text;
}

static void add_ptx(struct container *container, uint32_t arch, enum packing packing)
{
    const char *text = text_for(arch);
    container_add(container, 1, arch, packing, text, strlen(text) + 1);
}

static void expect_kernel(const void *image, const char *name)
{
    CUmodule module;
    CUfunction function;
    ok(cuModuleLoadData(&module, image));
    ok(cuModuleGetFunction(&function, module, name));
    ok(cuModuleUnload(module));
}

static struct container container;

static void the_best_ptx_is_chosen_however_it_is_packed(void **state)
{
    (void)state;
    for (enum packing packing = PLAIN; packing <= PACKED_ZSTD; packing++) {
        container_begin(&container);
        container_add(&container, 2, 80, PLAIN, "\177ELF machine code", 17);
        add_ptx(&container, 60, packing);
        add_ptx(&container, 80, packing);
        add_ptx(&container, 75, packing);
        add_ptx(&container, 90, packing); /* newer than the device */
        container_add(&container, 8, 80, PLAIN, "other", 5);
        expect_kernel(container.bytes, "for_80");
    }
}

static void a_wrapper_leads_to_its_container(void **state)
{
    (void)state;
    struct {
        uint32_t magic, version;
        const void *data;
        void *reserved;
    } wrapper = {0x466243b1u, 1, container.bytes, NULL};
    CUmodule module;
    container_begin(&container);
    add_ptx(&container, 70, PACKED_LZ4);
    expect_kernel(&wrapper, "for_70");
    ok(cuModuleLoadFatBinary(&module, &wrapper));
    ok(cuModuleUnload(module));
}

static void what_can_not_run_here_is_said(void **state)
{
    (void)state;
    char log[256];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUmodule module;

    container_begin(&container);
    container_add(&container, 2, 80, PLAIN, "\177ELF machine code", 17);
    expect(CUDA_ERROR_NO_BINARY_FOR_GPU,
           cuModuleLoadDataEx(&module, container.bytes, 2, options, values));
    assert_non_null(strstr(log, "machine code only"));
    values[1] = (void *)(uintptr_t)sizeof log;
    add_ptx(&container, 90, PLAIN);
    expect(CUDA_ERROR_NO_BINARY_FOR_GPU,
           cuModuleLoadDataEx(&module, container.bytes, 2, options, values));
    assert_non_null(strstr(log, "newer devices"));
}

/* Reads all of a container as far as it goes. */
static enum rp_status walk(const void *image, size_t *entries)
{
    struct rp_fatbin fatbin;
    struct rp_fatbin_entry entry;
    enum rp_status status = rp_fatbin_open(image, &fatbin);
    *entries = 0;
    while (status == RP_OK && (status = rp_fatbin_next(&fatbin, &entry)) == RP_OK) {
        if (entry.plain_bytes <= 1 << 20) {
            void *out = malloc(entry.plain_bytes + 1);
            assert_non_null(out);
            (void)rp_fatbin_unpack(&entry, out);
            free(out);
        }
        ++*entries;
    }
    return status;
}

/* The container lies at the end of its memory, so that the address sanitizer sees whoever
 * reads past it. */
static void damage_is_noticed_and_nothing_outside_is_read(void **state)
{
    (void)state;
    const unsigned seed = 99;
    unsigned random = seed;
    size_t entries;

    print_message("seed %u\n", seed);
    container_begin(&container);
    add_ptx(&container, 60, PACKED_ZSTD);
    add_ptx(&container, 70, PACKED_LZ4);
    add_ptx(&container, 80, PLAIN);
    assert_int_equal(walk(container.bytes, &entries), RP_END);
    assert_int_equal(entries, 3);
    for (int round = 0; round < 20000; round++) {
        unsigned char *copy = malloc(container.used);
        assert_non_null(copy);
        memcpy(copy, container.bytes, container.used);
        for (int flips = 0; flips < 3; flips++) {
            random = random * 1664525u + 1013904223u;
            size_t at = 16 + (random >> 8) % (container.used - 16);
            copy[at] ^= (unsigned char)(1u << (random & 7));
        }
        enum rp_status status = walk(copy, &entries);
        assert_true(status == RP_END || status == RP_DAMAGED);
        free(copy);
    }
    /* A header that promises an entry which is not all there. */
    uint64_t bytes = 63;
    container_put(&container, 8, &bytes, 8);
    assert_int_equal(walk(container.bytes, &entries), RP_DAMAGED);
    container_put(&container, 4, &(uint16_t){2}, 2);
    assert_int_equal(walk(container.bytes, &entries), RP_DAMAGED);
}

static void first_bytes_tell_the_kind(void **state)
{
    (void)state;
    assert_int_equal(rp_image_kind("\n\n  .version 7.0"), RP_IMAGE_PTX);
    assert_int_equal(rp_image_kind("// made by hand"), RP_IMAGE_PTX);
    assert_int_equal(rp_image_kind("\177ELF"), RP_IMAGE_CUBIN);
    assert_int_equal(rp_image_kind(""), RP_IMAGE_UNKNOWN);
    assert_int_equal(rp_image_kind("\177EL"), RP_IMAGE_UNKNOWN);
    assert_int_equal(rp_image_kind("hello"), RP_IMAGE_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_ptx_is_chosen_however_it_is_packed),
        cmocka_unit_test(a_wrapper_leads_to_its_container),
        cmocka_unit_test(what_can_not_run_here_is_said),
        cmocka_unit_test(damage_is_noticed_and_nothing_outside_is_read),
        cmocka_unit_test(first_bytes_tell_the_kind),
    };
    return cmocka_run_group_tests(tests, context_up, context_down);
}
