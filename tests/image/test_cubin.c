/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code: layouts.cu as three compilers of different devices lay its parameters out. */
#include "cuda/image/cubin.h"
#include "tests/image/image_file.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const files[] = {"layouts_sm_80.cubin", "layouts_sm_90.cubin",
                                    "layouts_sm_100.cubin"};
enum { DEVICES = 3 };

struct expected {
    const char *kernel;
    uint32_t count;
    struct rp_cubin_param params[3];
    bool escapes;
};

/* Alike on every device, since nothing wants more than 16 bytes of alignment. */
static const struct expected alike[] = {
    {"block_256", 1, {{0, 256}}, false},
    {"block_320", 1, {{0, 320}}, false},
    {"block_4096", 1, {{0, 4096}}, false},
    {"block_4344", 1, {{0, 4344}}, false},
    {"block_4352", 1, {{0, 4352}}, false}, /* the last that the older records tell of */
    {"block_16384", 1, {{0, 16384}}, false},
    {"block_32752", 1, {{0, 32752}}, false},
    {"two_blocks", 2, {{0, 4352}, {4352, 8}}, false},
    {"no_tail", 2, {{0, 8}, {8, 2}}, false},
    {"count", 0, {{0, 0}}, false},
    {"scale", 1, {{0, 8}}, false},
    {"say", 1, {{0, 8}}, true},
    {"reserve", 1, {{0, 8}}, true},
};

/* Not so these: a C structure would have 32 and 64, 0 and 128. */
static const struct expected wide[DEVICES] = {
    {"wide_second", 3, {{0, 4}, {32, 32}, {64, 8}}, false},
    {"wide_second", 3, {{0, 4}, {16, 32}, {48, 8}}, false},
    {"wide_second", 3, {{0, 4}, {32, 32}, {64, 8}}, false},
};
static const struct expected first[DEVICES] = {
    {"map_first", 2, {{32, 128}, {160, 8}}, false},
    {"map_first", 2, {{112, 128}, {240, 8}}, false},
    {"map_first", 2, {{0, 128}, {128, 8}}, false},
};

static const struct rp_cubin_kernel *find(const struct rp_cubin *cubin, const char *name)
{
    for (size_t i = 0; i < cubin->kernel_count; i++)
        if (strcmp(cubin->kernels[i].name, name) == 0)
            return &cubin->kernels[i];
    fail_msg("there is no kernel %s", name);
    return NULL;
}

static void expect(const struct rp_cubin *cubin, const struct expected *expected)
{
    const struct rp_cubin_kernel *kernel = find(cubin, expected->kernel);
    uint32_t ultimate = expected->count ? expected->count - 1 : 0;
    const struct rp_cubin_param *last = &expected->params[ultimate];
    assert_true(kernel->layout_known);
    assert_int_equal(kernel->param_count, expected->count);
    assert_int_equal(kernel->param_bytes, last->offset + last->bytes);
    for (uint32_t i = 0; i < expected->count; i++) {
        assert_int_equal(kernel->params[i].offset, expected->params[i].offset);
        assert_int_equal(kernel->params[i].bytes, expected->params[i].bytes);
    }
    assert_int_equal(kernel->escapes != NULL, expected->escapes);
}

static void parameters_lie_where_the_device_has_them(void **state)
{
    (void)state;
    for (int device = 0; device < DEVICES; device++) {
        struct rp_cubin cubin;
        size_t bytes;
        unsigned char *image = image_file(files[device], &bytes);
        assert_int_equal(rp_cubin_bytes(image), bytes);
        assert_int_equal(rp_cubin_read(image, bytes, &cubin), RP_OK);
        assert_int_equal(cubin.kernel_count, sizeof alike / sizeof *alike + 2);
        for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
            expect(&cubin, &alike[i]);
        expect(&cubin, &wide[device]);
        expect(&cubin, &first[device]);
        rp_cubin_release(&cubin);
        free(image);
    }
}

static void variables_are_listed_with_their_sizes(void **state)
{
    (void)state;
    static const struct rp_cubin_global variables[] = {
        {"counter", 4}, {"table", 256}, {"factors", 32}};
    struct rp_cubin cubin;
    size_t bytes;
    unsigned char *image = image_file(files[0], &bytes);
    assert_int_equal(rp_cubin_read(image, bytes, &cubin), RP_OK);
    assert_true(cubin.takes_addresses);
    for (size_t i = 0; i < 3; i++) {
        size_t at = 0;
        while (at < cubin.global_count && strcmp(cubin.globals[at].name, variables[i].name) != 0)
            at++;
        assert_true(at < cubin.global_count);
        assert_int_equal(cubin.globals[at].bytes, variables[i].bytes);
    }
    rp_cubin_release(&cubin);
    free(image);
}

/* Where the records of a kernel start in the file. */
static unsigned char *records_of(unsigned char *image, const char *kernel, size_t *bytes)
{
    Elf64_Ehdr header;
    Elf64_Shdr names, section;
    char wanted[64] = ".nv.info.";
    strncat(wanted, kernel, sizeof wanted - 16);
    memcpy(&header, image, sizeof header);
    memcpy(&names, image + header.e_shoff + header.e_shstrndx * sizeof names, sizeof names);
    for (unsigned i = 0; i < header.e_shnum; i++) {
        memcpy(&section, image + header.e_shoff + i * sizeof section, sizeof section);
        *bytes = section.sh_size;
        if (strcmp((char *)image + names.sh_offset + section.sh_name, wanted) == 0)
            return image + section.sh_offset;
    }
    fail_msg("%s has no records", kernel);
    return NULL;
}

/* Changes one byte of the first record with this attribute. */
static void change_record(unsigned char *image, const char *kernel, uint8_t attribute,
                          size_t offset, uint8_t value)
{
    size_t bytes = 0;
    unsigned char *at = records_of(image, kernel, &bytes), *end = at + bytes;
    while (at < end && at[1] != attribute)
        at += 4 + (at[0] == 4 ? at[2] + at[3] * 256 : 0);
    assert_true(at < end);
    at[offset] = value;
}

/* Unknown is never safe: whatever in the records is not understood, the kernel may do
 * anything, and its parameters can't be told. */
static void records_that_are_not_understood_move_the_verdict_up(void **state)
{
    (void)state;
    static const struct {
        uint8_t attribute;
        size_t offset;
        uint8_t value;
        bool layout_known;
    } changes[] = {
        {0x17, 0, 9, false},    /* a format that is not known */
        {0x17, 0, 0, false},
        {0x1b, 1, 0xf0, true},  /* an attribute that is not known */
        {0x17, 1, 0x1d, false}, /* a parameter of which nothing is told */
        {0x17, 2, 200, false},  /* a record longer than all of them */
        {0x17, 2, 8, false},    /* and one too short for its contents */
        {0x17, 10, 0x40, false},/* parameters that overlap, or leave the block */
        {0x19, 2, 9, false},    /* a block that ends elsewhere */
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct rp_cubin cubin;
        size_t bytes;
        unsigned char *image = image_file(files[0], &bytes);
        change_record(image, "no_tail", changes[i].attribute, changes[i].offset,
                      changes[i].value);
        assert_int_equal(rp_cubin_read(image, bytes, &cubin), RP_OK);
        const struct rp_cubin_kernel *kernel = find(&cubin, "no_tail");
        assert_non_null(kernel->escapes);
        assert_int_equal(kernel->layout_known, changes[i].layout_known);
        assert_null(find(&cubin, "scale")->escapes); /* others are not touched by it */
        rp_cubin_release(&cubin);
        free(image);
    }
}

static void a_kernel_without_records_may_do_anything(void **state)
{
    (void)state;
    struct rp_cubin cubin;
    size_t bytes;
    unsigned char *image = image_file(files[1], &bytes);
    size_t found = 0;
    for (size_t i = 0; i + 16 < bytes; i++) /* under another name */
        if (memcmp(image + i, ".nv.info.no_tail", 17) == 0) {
            image[i + 15] = 'x';
            found++;
        }
    assert_true(found >= 1); /* symbols may have the name too */
    assert_int_equal(rp_cubin_read(image, bytes, &cubin), RP_OK);
    assert_non_null(find(&cubin, "no_tail")->escapes);
    assert_false(find(&cubin, "no_tail")->layout_known);
    rp_cubin_release(&cubin);
    free(image);
}

static void read_copy(const unsigned char *image, size_t bytes)
{
    struct rp_cubin cubin;
    unsigned char *copy = malloc(bytes ? bytes : 1); /* so that no byte behind it is read */
    assert_non_null(copy);
    memcpy(copy, image, bytes);
    if (rp_cubin_read(copy, bytes, &cubin) == RP_OK)
        for (size_t i = 0; i < cubin.kernel_count; i++)
            assert_true(cubin.kernels[i].layout_known || cubin.kernels[i].escapes);
    rp_cubin_release(&cubin);
    free(copy);
}

static void damage_is_survived(void **state)
{
    (void)state;
    unsigned random = 5;
    size_t bytes;
    unsigned char *image = image_file(files[1], &bytes);
    print_message("seed %u\n", random);
    for (size_t cut = 0; cut < bytes; cut += cut < 2000 ? 7 : 997)
        read_copy(image, cut);
    for (int round = 0; round < 1000; round++) {
        unsigned char *copy = malloc(bytes);
        memcpy(copy, image, bytes);
        for (int flips = 0; flips < 8; flips++) {
            random = random * 1664525u + 1013904223u;
            /* mostly in the headers, the records and the symbols */
            size_t range = random >> 30 ? 20000 : bytes;
            size_t at = (random >> 8) % range;
            copy[flips & 1 ? bytes - 1 - at % 4000 : at] ^= (unsigned char)(1u << (random & 7));
        }
        read_copy(copy, bytes);
        free(copy);
    }
    free(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_lie_where_the_device_has_them),
        cmocka_unit_test(variables_are_listed_with_their_sizes),
        cmocka_unit_test(records_that_are_not_understood_move_the_verdict_up),
        cmocka_unit_test(a_kernel_without_records_may_do_anything),
        cmocka_unit_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
