/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that belong to no context, and linking of several PTX texts. */
#include "tests/soft/api/soft_test.h"

#include "tests/soft/api/kernels.h"

#include <string.h>

static CUlibrary load(void)
{
    CUlibrary library = NULL;
    ok(cuLibraryLoadData(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static void a_library_is_there_without_a_context(void **state)
{
    (void)state;
    CUcontext context;
    CUlibrary library;
    CUkernel kernel, list[16];
    unsigned count;
    const char *name;

    ok(cuCtxPopCurrent(&context));
    library = load();
    ok(cuLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 9);
    ok(cuLibraryGetKernel(&kernel, library, "store"));
    ok(cuLibraryEnumerateKernels(list, 16, library));
    assert_ptr_equal(list[0], kernel);
    assert_null(list[9]);
    ok(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "store");
    expect(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "absent"));
    CUfunction function;
    expect(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction(&function, list[0]));
    ok(cuCtxPushCurrent(context));
    ok(cuLibraryUnload(library));
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, list[0]));
}

/* Each context has its own variables and functions of the same kernel. */
static void kernels_run_in_whatever_context_is_current(void **state)
{
    (void)state;
    CUlibrary library = load();
    CUkernel kernel;
    CUcontext first, second;
    CUdeviceptr shifts[2], out;
    CUfunction functions[2];
    uint32_t value = 1;
    void *arguments[] = {&out, &value};

    ok(cuLibraryGetKernel(&kernel, library, "store"));
    ok(cuCtxGetCurrent(&first));
    ok(cuLibraryGetGlobal(&shifts[0], NULL, library, "shift"));
    ok(cuKernelGetFunction(&functions[0], kernel));
    ok(cuCtxCreate(&second, NULL, 0, 0));
    ok(cuLibraryGetGlobal(&shifts[1], NULL, library, "shift"));
    ok(cuKernelGetFunction(&functions[1], kernel));
    assert_int_not_equal(shifts[0], shifts[1]);
    assert_ptr_not_equal(functions[0], functions[1]);
    ok(cuMemsetD32(shifts[1], 50, 1));
    out = words(4, 0);
    ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL));
    expect_words(out, 4, 51);
    ok(cuCtxDestroy(second)); /* takes its module along */
    out = words(4, 0);
    ok(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL));
    expect_words(out, 4, 101);
    ok(cuMemFree(out));
    CUmodule module;
    ok(cuLibraryGetModule(&module, library));
    expect(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload(module));
    ok(cuLibraryUnload(library));
    expect(CUDA_ERROR_INVALID_HANDLE,
           cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 4, 1, 1, 0, NULL, arguments, NULL));
}

static void attributes_follow_the_kernel_into_later_contexts(void **state)
{
    (void)state;
    CUlibrary library = load();
    CUkernel kernel;
    CUcontext later;
    CUfunction function;
    size_t offset, bytes;
    int value;

    ok(cuLibraryGetKernel(&kernel, library, "dynamic"));
    ok(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 70000, kernel, 0));
    ok(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    assert_int_equal(value, 70000);
    expect(CUDA_ERROR_INVALID_DEVICE,
           cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 7));
    ok(cuCtxCreate(&later, NULL, 0, 0));
    ok(cuKernelGetFunction(&function, kernel));
    ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 70000);
    ok(cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
    assert_int_equal(offset, 8);
    assert_int_equal(bytes, 4);
    ok(cuCtxDestroy(later));
    ok(cuLibraryUnload(library));
}

/* ---- linking ----------------------------------------------------------------------- */

static const char caller[] =
    "\n// made by hand\n.version 6.0\n.target sm_30\n.address_size 64\n"
    ".extern .func (.param .u32 r) twice(.param .u32 a);\n"
    ".visible .entry use(.param .u64 out, .param .u32 value)\n"
    "{\n"
    "    .reg .u32 %r<3>;\n"
    "    .reg .u64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [out];\n"
    "    ld.param.u32 %r1, [value];\n"
    "    {\n"
    "    .param .u32 a;\n"
    "    .param .u32 r;\n"
    "    st.param.u32 [a], %r1;\n"
    "    call (r), twice, (a);\n"
    "    ld.param.u32 %r2, [r];\n"
    "    }\n"
    "    st.global.u32 [%rd1], %r2;\n"
    "    ret;\n"
    "}\n";
static const char callee[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .func (.param .u32 r) twice(.param .u32 a)\n"
    "{\n"
    "    .reg .u32 %r<3>;\n"
    "    ld.param.u32 %r1, [a];\n"
    "    add.u32 %r2, %r1, %r1;\n"
    "    st.param.u32 [r], %r2;\n"
    "    ret;\n"
    "}\n";

static void pieces_link_in_any_order(void **state)
{
    (void)state;
    const char *pieces[2] = {caller, callee};
    for (int order = 0; order < 2; order++) {
        CUlinkState link;
        CUmodule module;
        CUfunction use;
        CUdeviceptr out = words(1, 0);
        uint32_t value = 21;
        void *image, *arguments[] = {&out, &value};
        size_t bytes;

        ok(cuLinkCreate(0, NULL, NULL, &link));
        for (int i = 0; i < 2; i++) {
            /* Without the zero at the end, or with more than one. */
            char data[2048] = {0};
            const char *piece = pieces[(i + order) % 2];
            memcpy(data, piece, strlen(piece));
            ok(cuLinkAddData(link, CU_JIT_INPUT_PTX, data, strlen(piece) + (i == 0 ? 0 : 5),
                             "piece", 0, NULL, NULL));
        }
        ok(cuLinkComplete(link, &image, &bytes));
        ok(cuModuleLoadData(&module, image));
        ok(cuLinkDestroy(link));
        ok(cuModuleGetFunction(&use, module, "use"));
        ok(cuLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
        expect_words(out, 1, 42);
        ok(cuModuleUnload(module));
        ok(cuMemFree(out));
    }
}

static void errors_name_the_piece(void **state)
{
    (void)state;
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    char bad[] = PTX_HEADER "nonsense\n", machine[] = "\177ELF not PTX";
    CUlinkState link;
    void *image;
    size_t bytes;

    ok(cuLinkCreate(2, options, values, &link));
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(link, &image, &bytes)); /* nothing in it */
    expect(CUDA_ERROR_INVALID_PTX,
           cuLinkAddData(link, CU_JIT_INPUT_PTX, bad, sizeof bad, "bad.ptx", 0, NULL, NULL));
    assert_int_equal(strncmp(log, "bad.ptx:4:", 10), 0);
    expect(CUDA_ERROR_NO_BINARY_FOR_GPU,
           cuLinkAddData(link, CU_JIT_INPUT_CUBIN, machine, sizeof machine, NULL, 0, NULL, NULL));
    expect(CUDA_ERROR_FILE_NOT_FOUND,
           cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nonexistent.ptx", 0, NULL, NULL));
    ok(cuLinkDestroy(link));
    expect(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(link));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_is_there_without_a_context),
        cmocka_unit_test(kernels_run_in_whatever_context_is_current),
        cmocka_unit_test(attributes_follow_the_kernel_into_later_contexts),
        cmocka_unit_test(pieces_link_in_any_order),
        cmocka_unit_test(errors_name_the_piece),
    };
    return cmocka_run_group_tests(tests, context_up, context_down);
}
