/* SPDX-License-Identifier: Apache-2.0 */
/* Device and host memory: limit, reuse of addresses, what is at an address, copies and fills. */
#include "tests/soft/api/soft_test.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY "64MiB"
#define MEMORY_BYTES ((size_t)64 << 20)

static unsigned long long buffer_id(CUdeviceptr address)
{
    unsigned long long id = 0;
    ok(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    return id;
}

static void addresses_are_aligned_and_distinct(void **state)
{
    (void)state;
    CUdeviceptr made[32];
    for (int i = 0; i < 32; i++) {
        ok(cuMemAlloc(&made[i], (size_t)(1 + 37 * i)));
        assert_int_equal(made[i] % 512, 0);
        for (int j = 0; j < i; j++)
            assert_true(made[j] + (size_t)(1 + 37 * j) <= made[i] ||
                        made[i] + (size_t)(1 + 37 * i) <= made[j]);
    }
    for (int i = 0; i < 32; i++)
        ok(cuMemFree(made[i]));
}

/* Large ones begin on a device page, whatever small ones lie around. */
static void large_allocations_begin_on_a_page(void **state)
{
    (void)state;
    CUdeviceptr small, large, next;
    ok(cuMemAlloc(&small, 512));
    ok(cuMemAlloc(&large, (1u << 20) + 512));
    ok(cuMemAlloc(&next, 3u << 20));
    assert_int_equal(large % (2u << 20), 0);
    assert_int_equal(next % (2u << 20), 0);
    ok(cuMemFree(next));
    ok(cuMemFree(large));
    ok(cuMemFree(small));
}

static void freed_memory_is_the_next_choice(void **state)
{
    (void)state;
    CUdeviceptr keep, first, again, other;
    ok(cuMemAlloc(&keep, 4096));
    ok(cuMemAlloc(&first, 4096));
    ok(cuMemAlloc(&other, 4096));
    unsigned long long id = buffer_id(first);
    ok(cuMemFree(first));
    ok(cuMemAlloc(&again, 4096));
    assert_int_equal(again, first);
    assert_int_not_equal(buffer_id(again), id);
    ok(cuMemFree(again));
    ok(cuMemFree(keep));
    ok(cuMemFree(other));
}

static void the_limit_is_enforced_and_given_back(void **state)
{
    (void)state;
    CUdeviceptr half, rest, more;
    size_t free_before, free_now, total;

    ok(cuMemGetInfo(&free_before, &total));
    assert_int_equal(total, MEMORY_BYTES);
    ok(cuMemAlloc(&half, MEMORY_BYTES / 2));
    ok(cuMemGetInfo(&free_now, NULL));
    assert_int_equal(free_before - free_now, MEMORY_BYTES / 2);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, MEMORY_BYTES / 2 + 512));
    ok(cuMemAlloc(&rest, free_now));
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, 1));
    ok(cuMemFree(half));
    ok(cuMemAlloc(&more, 1));
    ok(cuMemFree(more));
    ok(cuMemFree(rest));
    ok(cuMemGetInfo(&free_now, NULL));
    assert_int_equal(free_now, free_before);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&more, SIZE_MAX / 2));
}

static void wrong_frees_are_refused(void **state)
{
    (void)state;
    CUdeviceptr a;
    void *host;
    ok(cuMemAlloc(&a, 4096));
    ok(cuMemFree(0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree(a + 4));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree(0x1234));
    ok(cuMemHostAlloc(&host, 64, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree((CUdeviceptr)(uintptr_t)host));
    ok(cuMemFreeHost(host));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(host));
    ok(cuMemFree(a));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&a, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(NULL, 4));
}

static void fresh_memory_holds_the_same_garbage_every_time(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        CUdeviceptr a;
        ok(cuMemAlloc(&a, 4096));
        expect_words(a, 1024, 0x7fc0dead);
        ok(cuMemsetD8(a, 0, 4096));
        ok(cuMemFree(a));
    }
}

static void an_address_range_is_known_by_any_address_in_it(void **state)
{
    (void)state;
    CUdeviceptr a, base = 0;
    size_t bytes = 0;
    ok(cuMemAlloc(&a, 1000));
    ok(cuMemGetAddressRange(&base, &bytes, a + 999));
    assert_int_equal(base, a);
    assert_int_equal(bytes, 1000);
    ok(cuMemGetAddressRange(NULL, NULL, a));
    expect(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, a + 1000));
    ok(cuMemFree(a));
    expect(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, a));
}

static void pointer_attributes_tell_what_is_there(void **state)
{
    (void)state;
    CUdeviceptr device, managed, start;
    void *host, *address;
    unsigned type;
    int flag, ordinal;
    size_t bytes;
    CUcontext context, current;

    ok(cuMemAlloc(&device, 1000));
    ok(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    ok(cuMemHostAlloc(&host, 1000, CU_MEMHOSTALLOC_DEVICEMAP));
    CUdeviceptr pinned = (CUdeviceptr)(uintptr_t)host;

    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 5));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    ok(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pinned));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    ok(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
    assert_int_equal(flag, 1);
    ok(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_IS_MANAGED, device));
    assert_int_equal(flag, 0);
    ok(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 999));
    ok(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 999));
    assert_int_equal(start, device);
    assert_int_equal(bytes, 1000);
    ok(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, device));
    ok(cuCtxGetCurrent(&current));
    assert_ptr_equal(context, current);
    ok(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device));
    assert_int_equal(ordinal, 0);
    ok(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_HOST_POINTER, pinned + 8));
    assert_ptr_equal(address, (char *)host + 8);
    expect(CUDA_ERROR_INVALID_VALUE,
           cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_HOST_POINTER, device));

    int local;
    CUdeviceptr unknown = (CUdeviceptr)(uintptr_t)&local;
    expect(CUDA_ERROR_INVALID_VALUE,
           cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unknown));
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *data[] = {&type, &ordinal};
    type = 77;
    ok(cuPointerGetAttributes(2, which, data, unknown));
    assert_int_equal(type, 0);
    assert_int_equal(ordinal, -2);
    ok(cuPointerGetAttributes(2, which, data, device));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(ordinal, 0);

    ok(cuMemFree(device));
    ok(cuMemFree(managed));
    ok(cuMemFreeHost(host));
    expect(CUDA_ERROR_INVALID_VALUE,
           cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device));
}

static void registered_memory_is_the_programs_own(void **state)
{
    (void)state;
    static uint32_t own[64];
    CUdeviceptr address;
    unsigned flags;

    expect(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
    ok(cuMemHostRegister(own, sizeof own, CU_MEMHOSTREGISTER_DEVICEMAP));
    expect(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(own + 1, 8, 0));
    ok(cuMemHostGetDevicePointer(&address, own + 4, 0));
    ok(cuMemsetD32(address, 5, 2));
    ok(cuCtxSynchronize());
    assert_int_equal(own[3], 0);
    assert_int_equal(own[4], 5);
    assert_int_equal(own[5], 5);
    assert_int_equal(own[6], 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, own));
    ok(cuMemHostUnregister(own));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&address, own, 0));
}

static void copies_outside_of_memory_are_refused(void **state)
{
    (void)state;
    char bytes[64] = {0};
    CUdeviceptr a;
    ok(cuMemAlloc(&a, 32));
    ok(cuMemcpyHtoD(a, bytes, 32));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, bytes, 33));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a + 1, bytes, 32));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(bytes, a, 33));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(a, a + 32, 1));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(0, bytes, 1));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, NULL, 1));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(a, 0, 33));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a + 2, 0, 1));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD16(a + 1, 0, 1));
    ok(cuMemcpyHtoD(a, bytes, 0));
    ok(cuMemsetD8(a, 0, 0));
    ok(cuMemFree(a));
}

/* Every kind of fill against a plain model. */
static void fills_touch_exactly_their_bytes(void **state)
{
    (void)state;
    enum { BYTES = 1024, PITCH = 64 };
    static unsigned char got[BYTES], want[BYTES];
    CUdeviceptr a;

    ok(cuMemAlloc(&a, BYTES));
    ok(cuMemsetD8(a, 0xee, BYTES));
    memset(want, 0xee, BYTES);
    ok(cuMemsetD8(a + 3, 0x11, 5));
    memset(want + 3, 0x11, 5);
    ok(cuMemsetD16(a + 64, 0x2233, 3));
    for (int i = 0; i < 3; i++)
        memcpy(want + 64 + 2 * i, &(uint16_t){0x2233}, 2);
    ok(cuMemsetD32(a + 128, 0x44556677, 3));
    for (int i = 0; i < 3; i++)
        memcpy(want + 128 + 4 * i, &(uint32_t){0x44556677}, 4);
    ok(cuMemsetD2D8(a + 193, PITCH, 0x88, 7, 3));
    ok(cuMemsetD2D16(a + 512, PITCH, 0x99aa, 4, 2));
    ok(cuMemsetD2D32(a + 768, PITCH, 0xbbccddee, 2, 3));
    for (int row = 0; row < 3; row++) {
        memset(want + 193 + PITCH * row, 0x88, 7);
        for (int i = 0; i < 4 && row < 2; i++)
            memcpy(want + 512 + PITCH * row + 2 * i, &(uint16_t){0x99aa}, 2);
        for (int i = 0; i < 2; i++)
            memcpy(want + 768 + PITCH * row + 4 * i, &(uint32_t){0xbbccddee}, 4);
    }
    ok(cuMemcpyDtoH(got, a, BYTES));
    assert_memory_equal(got, want, BYTES);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8(a, 6, 0, 7, 3)); /* rows overlap */
    ok(cuMemFree(a));
}

/* Boxes of all sizes and places, in both directions, against a byte-by-byte model. */
static void three_dimensional_copies_equal_a_model(void **state)
{
    (void)state;
    enum { PITCH = 32, ROWS = 6, SLICES = 4, BYTES = PITCH * ROWS * SLICES };
    static unsigned char from[BYTES], got[BYTES], want[BYTES];
    CUdeviceptr a, b;
    unsigned seed = 7;

    ok(cuMemAlloc(&a, BYTES));
    ok(cuMemAlloc(&b, BYTES));
    for (int i = 0; i < BYTES; i++)
        from[i] = (unsigned char)(i * 7 + 1);
    for (int round = 0; round < 50; round++) {
        unsigned w = 1 + (seed = seed * 1664525u + 1013904223u) % 16;
        unsigned h = 1 + (seed >> 8) % 4, d = 1 + (seed >> 12) % 3;
        unsigned x = (seed >> 16) % (PITCH - w), y = (seed >> 20) % (ROWS - h);
        unsigned z = (seed >> 24) % (SLICES - d);
        CUDA_MEMCPY3D copy = {
            .srcXInBytes = x, .srcY = y, .srcZ = z, .srcPitch = PITCH, .srcHeight = ROWS,
            .dstXInBytes = PITCH - w - x, .dstY = ROWS - h - y, .dstZ = SLICES - d - z,
            .dstPitch = PITCH, .dstHeight = ROWS, .WidthInBytes = w, .Height = h, .Depth = d};
        memset(want, 0x55, BYTES);
        for (unsigned k = 0; k < d; k++)
            for (unsigned j = 0; j < h; j++)
                memcpy(want + (copy.dstZ + k) * PITCH * ROWS + (copy.dstY + j) * PITCH +
                           copy.dstXInBytes,
                       from + (z + k) * PITCH * ROWS + (y + j) * PITCH + x, w);
        ok(cuMemsetD8(a, 0x55, BYTES));
        ok(cuMemcpyHtoD(b, from, BYTES));
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = from;
        copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = a;
        ok(cuMemcpy3D(&copy));
        ok(cuMemcpyDtoH(got, a, BYTES));
        assert_memory_equal(got, want, BYTES);
        ok(cuMemsetD8(a, 0x55, BYTES));
        copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = b;
        ok(cuMemcpy3DAsync(&copy, NULL));
        memset(got, 0x55, BYTES);
        ok(cuMemcpyDtoH(got, a, BYTES));
        assert_memory_equal(got, want, BYTES);
        copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED; /* a host address behind a device field */
        copy.dstDevice = (CUdeviceptr)(uintptr_t)got;
        memset(got, 0x55, BYTES);
        ok(cuMemcpy3D(&copy));
        assert_memory_equal(got, want, BYTES);
    }
    ok(cuMemFree(a));
    ok(cuMemFree(b));
}

static void two_dimensional_copies_and_pitch(void **state)
{
    (void)state;
    CUdeviceptr a;
    size_t pitch;
    unsigned char host[4 * 5], back[4 * 5];

    ok(cuMemAllocPitch(&a, &pitch, 5, 4, 4));
    assert_int_equal(pitch, 512);
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (unsigned char)i;
    CUDA_MEMCPY2D up = {.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 5,
                        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = a, .dstPitch = pitch,
                        .WidthInBytes = 5, .Height = 4};
    ok(cuMemcpy2D(&up));
    CUDA_MEMCPY2D down = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = a, .srcPitch = pitch,
                          .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = back, .dstPitch = 5,
                          .WidthInBytes = 5, .Height = 4};
    ok(cuMemcpy2DUnaligned(&down));
    assert_memory_equal(host, back, sizeof host);
    up.dstPitch = 4; /* narrower than the rows */
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&up));
    up.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    expect(CUDA_ERROR_INVALID_HANDLE, cuMemcpy2D(&up)); /* no array */
    ok(cuMemFree(a));
}

static void unified_copies_find_out_where_memory_is(void **state)
{
    (void)state;
    CUdeviceptr a = words(4, 9), b = words(4, 1);
    uint32_t host[4] = {0};
    ok(cuMemcpy((CUdeviceptr)(uintptr_t)host, a, 16));
    assert_int_equal(host[3], 9);
    host[0] = host[1] = host[2] = host[3] = 6;
    ok(cuMemcpyAsync(b, (CUdeviceptr)(uintptr_t)host, 16, NULL));
    expect_words(b, 4, 6);
    ok(cuMemcpyPeer(a, NULL, b, NULL, 16));
    expect_words(a, 4, 6);
    ok(cuMemFree(a));
    ok(cuMemFree(b));
}

/* Random allocation against a model: nothing overlaps, sizes and ids are right, all comes back. */
static void random_allocations_keep_the_books(void **state)
{
    (void)state;
    enum { SLOTS = 64, ROUNDS = 4000 };
    struct {
        CUdeviceptr address;
        size_t bytes;
        unsigned long long id;
    } slots[SLOTS] = {{0}};
    unsigned seed = 12345;
    unsigned long long last_id = 0;
    size_t before, after;

    print_message("seed %u\n", seed);
    ok(cuMemGetInfo(&before, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        unsigned slot = (seed = seed * 1664525u + 1013904223u) >> 8;
        slot %= SLOTS;
        if (slots[slot].address != 0) {
            CUdeviceptr base;
            size_t bytes;
            ok(cuMemGetAddressRange(&base, &bytes, slots[slot].address + slots[slot].bytes - 1));
            assert_int_equal(base, slots[slot].address);
            assert_int_equal(bytes, slots[slot].bytes);
            assert_int_equal(buffer_id(base), slots[slot].id);
            ok(cuMemFree(base));
            slots[slot].address = 0;
            continue;
        }
        slots[slot].bytes = 1 + (seed >> 16) % 5000;
        ok(cuMemAlloc(&slots[slot].address, slots[slot].bytes));
        slots[slot].id = buffer_id(slots[slot].address);
        assert_true(slots[slot].id > last_id); /* so it was never given before */
        last_id = slots[slot].id;
        for (unsigned other = 0; other < SLOTS; other++)
            if (other != slot && slots[other].address != 0)
                assert_true(slots[other].address + slots[other].bytes <= slots[slot].address ||
                            slots[slot].address + slots[slot].bytes <= slots[other].address);
    }
    for (unsigned slot = 0; slot < SLOTS; slot++)
        ok(cuMemFree(slots[slot].address));
    ok(cuMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_aligned_and_distinct),
        cmocka_unit_test(large_allocations_begin_on_a_page),
        cmocka_unit_test(freed_memory_is_the_next_choice),
        cmocka_unit_test(the_limit_is_enforced_and_given_back),
        cmocka_unit_test(wrong_frees_are_refused),
        cmocka_unit_test(fresh_memory_holds_the_same_garbage_every_time),
        cmocka_unit_test(an_address_range_is_known_by_any_address_in_it),
        cmocka_unit_test(pointer_attributes_tell_what_is_there),
        cmocka_unit_test(registered_memory_is_the_programs_own),
        cmocka_unit_test(copies_outside_of_memory_are_refused),
        cmocka_unit_test(fills_touch_exactly_their_bytes),
        cmocka_unit_test(three_dimensional_copies_equal_a_model),
        cmocka_unit_test(two_dimensional_copies_and_pitch),
        cmocka_unit_test(unified_copies_find_out_where_memory_is),
        cmocka_unit_test(random_allocations_keep_the_books),
    };
    setenv("REPRISE_SOFT_MEMORY", MEMORY, 1);
    return cmocka_run_group_tests(tests, context_up, context_down);
}
