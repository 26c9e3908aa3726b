/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, mipmaps, texture and surface objects. */
#include "tests/soft/api/soft_test.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 6, DEPTH = 3, CELLS = WIDTH * HEIGHT * DEPTH };

static CUarray array_of(size_t width, size_t height, size_t depth, unsigned flags)
{
    CUarray made = NULL;
    const CUDA_ARRAY3D_DESCRIPTOR is = {.Width = width,
                                        .Height = height,
                                        .Depth = depth,
                                        .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                        .NumChannels = 1,
                                        .Flags = flags};
    ok(cuArray3DCreate(&made, &is));
    return made;
}

/* 0, 1, 2, ... */
static void count(uint32_t *cells, size_t number)
{
    for (size_t i = 0; i < number; i++)
        cells[i] = (uint32_t)i;
}

static CUDA_MEMCPY3D box(size_t width, size_t height, size_t depth)
{
    return (CUDA_MEMCPY3D){.WidthInBytes = 4 * width, .Height = height, .Depth = depth};
}

static void from_host(CUDA_MEMCPY3D *copy, const void *host, size_t width, size_t height)
{
    copy->srcMemoryType = CU_MEMORYTYPE_HOST;
    copy->srcHost = host;
    copy->srcPitch = 4 * width;
    copy->srcHeight = height;
}

static void to_host(CUDA_MEMCPY3D *copy, void *host, size_t width, size_t height)
{
    copy->dstMemoryType = CU_MEMORYTYPE_HOST;
    copy->dstHost = host;
    copy->dstPitch = 4 * width;
    copy->dstHeight = height;
}

static void from_array(CUDA_MEMCPY3D *copy, CUarray array, size_t x, size_t y, size_t z)
{
    copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->srcArray = array;
    copy->srcXInBytes = 4 * x;
    copy->srcY = y;
    copy->srcZ = z;
}

static void to_array(CUDA_MEMCPY3D *copy, CUarray array, size_t x, size_t y, size_t z)
{
    copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy->dstArray = array;
    copy->dstXInBytes = 4 * x;
    copy->dstY = y;
    copy->dstZ = z;
}

/* The array with 0, 1, 2, ... in it. */
static void fill(CUarray array)
{
    uint32_t cells[CELLS];
    CUDA_MEMCPY3D copy = box(WIDTH, HEIGHT, DEPTH);
    count(cells, CELLS);
    from_host(&copy, cells, WIDTH, HEIGHT);
    to_array(&copy, array, 0, 0, 0);
    ok(cuMemcpy3D(&copy));
}

static void an_array_says_what_it_is(void **state)
{
    (void)state;
    CUDA_ARRAY3D_DESCRIPTOR is;
    CUDA_ARRAY_DESCRIPTOR flat;
    size_t before, with, after, total;
    ok(cuMemGetInfo(&before, &total));
    CUarray array = array_of(WIDTH, HEIGHT, DEPTH, CUDA_ARRAY3D_SURFACE_LDST);

    ok(cuArray3DGetDescriptor(&is, array));
    assert_int_equal(is.Width, WIDTH);
    assert_int_equal(is.Depth, DEPTH);
    assert_int_equal(is.Flags, CUDA_ARRAY3D_SURFACE_LDST);
    ok(cuArrayGetDescriptor(&flat, array));
    assert_int_equal(flat.Height, HEIGHT);
    ok(cuMemGetInfo(&with, &total));
    assert_true(before - with >= 4 * CELLS);
    ok(cuArrayDestroy(array));
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
    expect(CUDA_ERROR_INVALID_HANDLE, cuArrayGetDescriptor(&flat, array));
    expect(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
}

static void impossible_arrays_are_refused(void **state)
{
    (void)state;
    CUarray array;
    CUDA_ARRAY3D_DESCRIPTOR is = {
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 3};
    expect(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &is)); /* three channels */
    is.NumChannels = 4;
    is.Width = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &is));
    is.Width = 1u << 20;
    expect(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &is));
    is.Width = 16;
    is.Height = 0;
    is.Depth = 4;
    expect(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &is)); /* depth without height */
    is.Depth = 5;
    is.Height = 16;
    is.Flags = CUDA_ARRAY3D_CUBEMAP;
    expect(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &is)); /* five faces */
    is.Flags = CUDA_ARRAY3D_SPARSE;
    expect(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate(&array, &is));
    is.Flags = 0;
    is.Format = CU_AD_FORMAT_NV12;
    expect(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate(&array, &is));
    is = (CUDA_ARRAY3D_DESCRIPTOR){.Width = 16384,
                                   .Height = 16384,
                                   .Depth = 16384,
                                   .Format = CU_AD_FORMAT_FLOAT,
                                   .NumChannels = 4};
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuArray3DCreate(&array, &is));
}

static void boxes_go_in_and_come_out(void **state)
{
    (void)state;
    CUarray array = array_of(WIDTH, HEIGHT, DEPTH, 0);
    uint32_t out[2 * 3 * 5];
    CUDA_MEMCPY3D copy = box(5, 3, 2);

    fill(array);
    from_array(&copy, array, 7, 2, 1);
    to_host(&copy, out, 5, 3);
    ok(cuMemcpy3D(&copy));
    for (uint32_t z = 0; z < 2; z++)
        for (uint32_t y = 0; y < 3; y++)
            for (uint32_t x = 0; x < 5; x++)
                assert_int_equal(out[(z * 3 + y) * 5 + x],
                                 ((z + 1) * HEIGHT + y + 2) * WIDTH + x + 7);
    copy.Depth = 3; /* past the last slice */
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
    copy.Depth = 1;
    copy.srcXInBytes = 4 * 16; /* past the end of a row */
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
    copy.srcXInBytes = 2; /* within an element */
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
    ok(cuArrayDestroy(array));
}

static void flat_copies_reach_arrays_and_pitched_memory(void **state)
{
    (void)state;
    CUarray array = array_of(WIDTH, HEIGHT, 0, 0);
    uint32_t cells[WIDTH * HEIGHT], out[WIDTH * HEIGHT] = {0};
    CUdeviceptr linear;
    size_t pitch;
    CUstream stream;

    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemAllocPitch(&linear, &pitch, 4 * WIDTH, HEIGHT, 4));
    count(cells, WIDTH * HEIGHT);
    const CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                              .srcHost = cells,
                              .srcPitch = 4 * WIDTH,
                              .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                              .dstArray = array,
                              .WidthInBytes = 4 * WIDTH,
                              .Height = HEIGHT};
    const CUDA_MEMCPY2D over = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = array,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = linear,
                                .dstPitch = pitch,
                                .WidthInBytes = 4 * WIDTH,
                                .Height = HEIGHT};
    const CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = linear,
                                .srcPitch = pitch,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = out,
                                .dstPitch = 4 * WIDTH,
                                .WidthInBytes = 4 * WIDTH,
                                .Height = HEIGHT};
    ok(cuMemcpy2DAsync(&in, stream));
    ok(cuMemcpy2DAsync(&over, stream));
    ok(cuMemcpy2DAsync(&back, stream));
    ok(cuStreamSynchronize(stream));
    assert_memory_equal(out, cells, sizeof cells);
    ok(cuMemFree(linear));
    ok(cuArrayDestroy(array));
    ok(cuStreamDestroy(stream));
}

static void lines_run_through_an_array(void **state)
{
    (void)state;
    CUarray one = array_of(64, 0, 0, 0), two = array_of(64, 0, 0, 0);
    uint32_t cells[64], out[64] = {0};
    CUdeviceptr linear = words(64, 9);
    CUstream stream;

    ok(cuStreamCreate(&stream, CU_STREAM_DEFAULT)); /* after what stands in the legacy stream */
    count(cells, 64);
    ok(cuMemcpyHtoA(one, 0, cells, sizeof cells));
    ok(cuMemcpyAtoA(two, 4 * 10, one, 4 * 20, 4 * 8));
    ok(cuMemcpyAtoH(out, two, 4 * 10, 4 * 8));
    assert_memory_equal(out, cells + 20, 4 * 8);
    ok(cuMemcpyAtoD(linear + 8, one, 4 * 3, 4 * 5));
    ok(cuMemcpyDtoA(two, 0, linear, 4 * 8));
    ok(cuMemcpyAtoHAsync(out, two, 0, 4 * 8, stream));
    ok(cuStreamSynchronize(stream));
    const uint32_t expected[8] = {9, 9, 3, 4, 5, 6, 7, 9};
    assert_memory_equal(out, expected, sizeof expected);
    ok(cuMemcpyHtoAAsync(two, 0, cells, 4 * 64, stream));
    ok(cuStreamSynchronize(stream));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA(one, 4 * 60, cells, 4 * 5));
    expect(CUDA_ERROR_INVALID_HANDLE, cuMemcpyHtoA(NULL, 0, cells, 4));
    ok(cuArrayDestroy(one));
    ok(cuArrayDestroy(two));
    ok(cuMemFree(linear));
    ok(cuStreamDestroy(stream));
}

static void layers_are_slices(void **state)
{
    (void)state;
    CUarray layers = array_of(8, 0, 4, CUDA_ARRAY3D_LAYERED);
    uint32_t cells[8], out[8];
    CUDA_MEMCPY3D in = box(8, 1, 1), back = box(8, 1, 1);

    count(cells, 8);
    from_host(&in, cells, 8, 1);
    to_array(&in, layers, 0, 0, 3);
    ok(cuMemcpy3D(&in));
    from_array(&back, layers, 0, 0, 3);
    to_host(&back, out, 8, 1);
    ok(cuMemcpy3D(&back));
    assert_memory_equal(out, cells, sizeof cells);
    in.dstZ = 4;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&in));
    ok(cuArrayDestroy(layers));
}

static void a_mipmap_has_levels(void **state)
{
    (void)state;
    const CUDA_ARRAY3D_DESCRIPTOR is = {
        .Width = 16, .Height = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
    CUDA_ARRAY3D_DESCRIPTOR level_is;
    CUmipmappedArray mipmap;
    CUarray first, last;
    uint32_t cells[16 * 8], one = 77, out = 0;

    ok(cuMipmappedArrayCreate(&mipmap, &is, 5));
    ok(cuMipmappedArrayGetLevel(&first, mipmap, 0));
    ok(cuMipmappedArrayGetLevel(&last, mipmap, 4));
    expect(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&last, mipmap, 5));
    ok(cuArray3DGetDescriptor(&level_is, last));
    assert_int_equal(level_is.Width, 1);
    assert_int_equal(level_is.Height, 1);
    count(cells, 16 * 8);
    ok(cuMemcpyHtoA(last, 0, &one, 4));
    ok(cuMemcpyHtoA(first, 0, cells, sizeof cells)); /* levels do not overlap */
    ok(cuMemcpyAtoH(&out, last, 0, 4));
    assert_int_equal(out, 77);
    expect(CUDA_ERROR_INVALID_VALUE, cuArrayDestroy(last));
    ok(cuMipmappedArrayDestroy(mipmap));
    expect(CUDA_ERROR_INVALID_HANDLE, cuMemcpyAtoH(&out, last, 0, 4));
}

/* The storage has no address for the program: what lies near its device memory is unknown. */
static void no_address_leads_into_an_array(void **state)
{
    (void)state;
    CUdeviceptr before = words(128, 1), base;
    size_t bytes;
    CUarray array = array_of(128, 0, 0, 0);
    CUdeviceptr inside = before + 512; /* where the storage happens to lie */
    uint32_t word;

    expect(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, inside));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&word, inside, 4));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree(inside));
    unsigned type = 77;
    CUpointer_attribute which = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *place = &type;
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, which, inside));
    ok(cuPointerGetAttributes(1, &which, &place, inside)); /* of which nothing is known */
    assert_int_equal(type, 0);
    ok(cuArrayDestroy(array));
    ok(cuMemFree(before));
}

static void graphs_copy_arrays(void **state)
{
    (void)state;
    CUarray array = array_of(WIDTH, HEIGHT, DEPTH, 0);
    uint32_t out[CELLS] = {0}, cells[CELLS];
    CUDA_MEMCPY3D copy = box(WIDTH, HEIGHT, 1), told;
    CUcontext context;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    fill(array);
    ok(cuCtxGetCurrent(&context));
    from_array(&copy, array, 0, 0, 2);
    to_host(&copy, out, WIDTH, HEIGHT);
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    ok(cuGraphMemcpyNodeGetParams(node, &told));
    assert_int_equal(told.srcMemoryType, CU_MEMORYTYPE_ARRAY);
    assert_ptr_equal(told.srcArray, array);
    assert_int_equal(told.srcZ, 2);
    ok(cuGraphInstantiate(&exec, graph, 0));
    ok(cuGraphLaunch(exec, NULL));
    ok(cuCtxSynchronize());
    count(cells, CELLS);
    assert_memory_equal(out, cells + 2 * WIDTH * HEIGHT, 4 * WIDTH * HEIGHT);
    ok(cuGraphExecDestroy(exec));
    ok(cuGraphDestroy(graph));
    ok(cuArrayDestroy(array));
}

static void batches_count_in_elements(void **state)
{
    (void)state;
    CUarray array = array_of(WIDTH, HEIGHT, DEPTH, 0);
    CUdeviceptr linear = words(6, 0);
    uint32_t out[6];
    CUstream stream;
    CUDA_MEMCPY3D_BATCH_OP op = {
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_ARRAY, .op.array = {array, {4, 1, 2}}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = linear}},
        .extent = {3, 2, 1},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};

    fill(array);
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemcpy3DBatchAsync(1, &op, 0, stream));
    ok(cuStreamSynchronize(stream));
    ok(cuMemcpyDtoH(out, linear, sizeof out));
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(out[i], (2 * HEIGHT + 1 + i / 3) * WIDTH + 4 + i % 3);
    op.extent.width = WIDTH;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(1, &op, 0, stream));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync(1, &op, 0, NULL));
    ok(cuStreamDestroy(stream));
    ok(cuMemFree(linear));
    ok(cuArrayDestroy(array));
}

static void textures_stand_for_memory(void **state)
{
    (void)state;
    CUarray array = array_of(WIDTH, HEIGHT, 0, 0);
    CUdeviceptr linear = words(256, 1);
    const CUDA_TEXTURE_DESC how = {.addressMode = {CU_TR_ADDRESS_MODE_CLAMP},
                                   .filterMode = CU_TR_FILTER_MODE_POINT};
    CUDA_RESOURCE_DESC is = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array}, told;
    CUDA_TEXTURE_DESC how_told;
    CUDA_RESOURCE_VIEW_DESC view;
    CUtexObject texture;

    ok(cuTexObjectCreate(&texture, &is, &how, NULL));
    ok(cuTexObjectGetResourceDesc(&told, texture));
    assert_ptr_equal(told.res.array.hArray, array);
    ok(cuTexObjectGetTextureDesc(&how_told, texture));
    assert_int_equal(how_told.addressMode[0], CU_TR_ADDRESS_MODE_CLAMP);
    expect(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceViewDesc(&view, texture));
    ok(cuTexObjectDestroy(texture));
    expect(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(texture));

    is = (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                              .res.linear = {linear, CU_AD_FORMAT_FLOAT, 1, 1024}};
    ok(cuTexObjectCreate(&texture, &is, &how, NULL));
    ok(cuTexObjectDestroy(texture));
    is.res.linear.sizeInBytes = 1028; /* past the allocation */
    expect(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, &is, &how, NULL));
    is.res.linear = (__typeof__(is.res.linear)){linear + 4, CU_AD_FORMAT_FLOAT, 1, 64};
    expect(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, &is, &how, NULL));
    expect(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, &is, NULL, NULL));
    ok(cuMemFree(linear));
    ok(cuArrayDestroy(array));
}

static void surfaces_want_arrays_made_for_them(void **state)
{
    (void)state;
    CUarray plain = array_of(WIDTH, HEIGHT, 0, 0);
    CUarray writable = array_of(WIDTH, HEIGHT, 0, CUDA_ARRAY3D_SURFACE_LDST);
    CUDA_RESOURCE_DESC is = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = plain}, told;
    CUsurfObject surface;

    expect(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&surface, &is));
    is.res.array.hArray = writable;
    ok(cuSurfObjectCreate(&surface, &is));
    ok(cuSurfObjectGetResourceDesc(&told, surface));
    assert_ptr_equal(told.res.array.hArray, writable);
    expect(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(surface)); /* it is no texture */
    ok(cuSurfObjectDestroy(surface));
    ok(cuArrayDestroy(plain));
    ok(cuArrayDestroy(writable));
}

/* What a program leaves behind goes with its context. */
static void a_context_takes_its_arrays_along(void **state)
{
    (void)state;
    size_t before, after, total;
    CUcontext own;
    CUtexObject texture;
    const CUDA_TEXTURE_DESC how = {.filterMode = CU_TR_FILTER_MODE_POINT};

    ok(cuMemGetInfo(&before, &total));
    ok(cuCtxCreate(&own, NULL, 0, 0));
    CUarray array = array_of(WIDTH, HEIGHT, DEPTH, 0);
    const CUDA_RESOURCE_DESC is = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    ok(cuTexObjectCreate(&texture, &is, &how, NULL));
    ok(cuCtxDestroy(own));
    ok(cuMemGetInfo(&after, &total));
    assert_int_equal(after, before);
    expect(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
    expect(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(texture));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_says_what_it_is),
        cmocka_unit_test(impossible_arrays_are_refused),
        cmocka_unit_test(boxes_go_in_and_come_out),
        cmocka_unit_test(flat_copies_reach_arrays_and_pitched_memory),
        cmocka_unit_test(lines_run_through_an_array),
        cmocka_unit_test(layers_are_slices),
        cmocka_unit_test(a_mipmap_has_levels),
        cmocka_unit_test(no_address_leads_into_an_array),
        cmocka_unit_test(graphs_copy_arrays),
        cmocka_unit_test(batches_count_in_elements),
        cmocka_unit_test(textures_stand_for_memory),
        cmocka_unit_test(surfaces_want_arrays_made_for_them),
        cmocka_unit_test(a_context_takes_its_arrays_along),
    };
    return cmocka_run_group_tests(tests, context_up, context_down);
}
