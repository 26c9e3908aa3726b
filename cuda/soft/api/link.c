/* SPDX-License-Identifier: Apache-2.0 */
/* cuLink*: several PTX texts become one.
 *
 * Each piece is read on its own first, so that errors carry its name and its lines. Then the
 * pieces follow each other under one header, that of the newest version and target among
 * them; declarations and definitions of one symbol meet in the parser. Names that are local to
 * a piece share one space here, so two pieces that use the same one don't link. */
#include "cuda/image/fatbin.h"
#include "cuda/soft/api/context.h"
#include "cuda/soft/api/module.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_BYTES 512

struct soft_link {
    struct soft_jit jit;
    char *body; /* the pieces without their headers */
    size_t body_bytes;
    int version_major, version_minor, sm;
    char *text; /* the whole, once complete */
    size_t text_bytes;
};

/* ---- headers ----------------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            const char *end = strstr(at + 2, "*/");
            at = end != NULL ? end + 2 : at + strlen(at);
        } else {
            return at;
        }
    }
}

/* Behind the .version, .target and .address_size directives. */
static const char *skip_header(const char *text)
{
    static const char *const directives[] = {".version", ".target", ".address_size"};
    const char *at = skip_blanks(text);
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(directives[i]);
        if (strncmp(at, directives[i], length) == 0 && isspace((unsigned char)at[length]))
            at = skip_blanks(at + strcspn(at, "\n"));
    }
    return at;
}

/* ---- pieces ------------------------------------------------------------------------ */

static CUresult append(struct soft_link *link, const char *text)
{
    const char *body = skip_header(text);
    size_t bytes = strlen(body);
    char *grown = realloc(link->body, link->body_bytes + bytes + 2);
    if (grown == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(grown + link->body_bytes, body, bytes);
    link->body = grown;
    link->body_bytes += bytes;
    grown[link->body_bytes++] = '\n';
    grown[link->body_bytes] = '\0';
    return CUDA_SUCCESS;
}

static void raise_header(struct soft_link *link, const struct rp_ptx_module *ptx)
{
    if (ptx->version_major > link->version_major ||
        (ptx->version_major == link->version_major && ptx->version_minor > link->version_minor)) {
        link->version_major = ptx->version_major;
        link->version_minor = ptx->version_minor;
    }
    if (ptx->sm > link->sm)
        link->sm = ptx->sm;
}

static CUresult fail(struct soft_link *link, const char *name, const char *message,
                     CUresult result)
{
    char text[MESSAGE_BYTES + 128];
    snprintf(text, sizeof text, "%s%s%s", name != NULL ? name : "", name != NULL ? ":" : "",
             message);
    soft_jit_report(&link->jit, text);
    return result;
}

/* `data` is zero-terminated. */
static CUresult add_piece(struct soft_link *link, const void *data, const char *name)
{
    char message[MESSAGE_BYTES] = "", *text;
    struct rp_ptx_module *ptx;
    size_t length;

    CUresult result = soft_image_read(data, &text, &length, message, sizeof message);
    if (result != CUDA_SUCCESS)
        return fail(link, name, message, result);
    enum rp_status status = rp_ptx_parse(text, length, &ptx, message, sizeof message);
    if (status == RP_OK) {
        raise_header(link, ptx);
        rp_ptx_destroy(ptx);
        result = append(link, text);
    } else {
        result = fail(link, name, message,
                      status == RP_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX);
    }
    free(text);
    return result;
}

/* ---- entry points ------------------------------------------------------------------ */

CUresult CUDAAPI cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options,
                                 void **optionValues, CUlinkState *stateOut)
{
    struct soft_context *context;
    struct soft_jit jit;
    CUresult result = soft_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (stateOut == NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_jit_read(numOptions, options, optionValues, &jit);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    struct soft_link *link = calloc(1, sizeof *link);
    if (link == NULL || !soft_handle_add(link, SOFT_HANDLE_LINK)) {
        free(link);
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    link->jit = jit;
    *stateOut = link_handle(link);
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
                              CUlinkState *stateOut)
{
    return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

static CUresult enter(CUlinkState handle, struct soft_link **link)
{
    CUresult result = soft_enter_bare();
    if (result != CUDA_SUCCESS)
        return result;
    if (!soft_handle_is(handle, SOFT_HANDLE_LINK))
        return soft_leave(CUDA_ERROR_INVALID_HANDLE);
    *link = handle_link(handle);
    return CUDA_SUCCESS;
}

/* What `data` is, shows by itself; the type only has to be one that exists. */
CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                  const char *name, unsigned int numOptions, CUjit_option *options,
                                  void **optionValues)
{
    struct soft_link *link;
    struct soft_jit ignored;
    CUresult result = enter(state, &link);
    if (result != CUDA_SUCCESS)
        return result;
    if (data == NULL || size == 0 || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES ||
        link->text != NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_jit_read(numOptions, options, optionValues, &ignored);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    char *copy = malloc(size + 1); /* the program's bytes may lack the zero at the end */
    if (copy == NULL)
        return soft_leave(CUDA_ERROR_OUT_OF_MEMORY);
    memcpy(copy, data, size);
    copy[size] = '\0';
    result = rp_image_fits(copy, size) ? add_piece(link, copy, name) : CUDA_ERROR_INVALID_IMAGE;
    free(copy);
    return soft_leave(result);
}

CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                               const char *name, unsigned int numOptions, CUjit_option *options,
                               void **optionValues)
{
    return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                  unsigned int numOptions, CUjit_option *options,
                                  void **optionValues)
{
    struct soft_link *link;
    struct soft_jit ignored;
    char *image;
    CUresult result = enter(state, &link);
    if (result != CUDA_SUCCESS)
        return result;
    if (path == NULL || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES || link->text != NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = soft_jit_read(numOptions, options, optionValues, &ignored);
    if (result == CUDA_SUCCESS)
        result = soft_image_load(path, &image);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    result = add_piece(link, image, path);
    free(image);
    return soft_leave(result);
}

CUresult CUDAAPI cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                               unsigned int numOptions, CUjit_option *options,
                               void **optionValues)
{
    return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

static CUresult assemble(struct soft_link *link)
{
    const char *body = link->body != NULL ? link->body : "";
    size_t room = strlen(body) + 128;

    link->text = malloc(room);
    if (link->text == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    int length = snprintf(link->text, room, ".version %d.%d\n.target sm_%d\n.address_size 64\n%s",
                          link->version_major, link->version_minor, link->sm, body);
    link->text_bytes = (size_t)length + 1;
    return CUDA_SUCCESS;
}

/* The result is PTX, which cuModuleLoadData takes as it takes a cubin; it stays with the link
 * state. */
CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    char message[MESSAGE_BYTES] = "";
    struct rp_ptx_module *ptx;
    struct soft_link *link;
    CUresult result = enter(state, &link);
    if (result != CUDA_SUCCESS)
        return result;
    if (cubinOut == NULL || link->sm == 0 || link->text != NULL)
        return soft_leave(CUDA_ERROR_INVALID_VALUE);
    result = assemble(link);
    if (result != CUDA_SUCCESS)
        return soft_leave(result);
    if (rp_ptx_parse(link->text, link->text_bytes - 1, &ptx, message, sizeof message) != RP_OK)
        return soft_leave(fail(link, "linked", message, CUDA_ERROR_INVALID_PTX));
    rp_ptx_destroy(ptx);
    soft_jit_clear(&link->jit);
    *cubinOut = link->text;
    if (sizeOut != NULL)
        *sizeOut = link->text_bytes;
    return soft_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
    struct soft_link *link;
    CUresult result = enter(state, &link);
    if (result != CUDA_SUCCESS)
        return result;
    soft_handle_remove(link);
    free(link->body);
    free(link->text);
    free(link);
    return soft_leave(CUDA_SUCCESS);
}
