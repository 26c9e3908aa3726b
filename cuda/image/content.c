/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/image/content.h"

#include "cuda/image/cubin.h"
#include "cuda/image/fatbin.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PLAIN_BYTES (UINT64_C(1) << 28) /* no compiler's output comes near */

static struct rp_content_part *add_part(struct rp_content_part **parts, size_t *count,
                                        size_t bytes, unsigned arch)
{
    struct rp_content_part *bigger = realloc(*parts, (*count + 1) * sizeof *bigger);
    if (!bigger)
        return NULL;
    *parts = bigger;
    struct rp_content_part part = {.bytes = malloc(bytes + 1), .size = bytes, .arch = arch};
    if (!part.bytes)
        return NULL;
    part.bytes[bytes] = '\0';
    bigger[*count] = part;
    return &bigger[(*count)++];
}

static enum rp_status add_copy(struct rp_content_part **parts, size_t *count, const void *bytes,
                               size_t size)
{
    struct rp_content_part *part = add_part(parts, count, size, 0);
    if (part)
        memcpy(part->bytes, bytes, size);
    return part ? RP_OK : RP_NO_MEMORY;
}

static bool may_run(const struct rp_fatbin_entry *entry, const struct rp_target *target)
{
    return target->runs_machine_code &&
           (!target->arch ||
            (entry->arch / 10 == target->arch / 10 && entry->arch <= target->arch));
}

static bool may_compile(const struct rp_fatbin_entry *entry, const struct rp_target *target)
{
    return !target->arch || entry->arch <= target->arch;
}

static enum rp_status add_entry(struct rp_content *content, const struct rp_fatbin_entry *entry,
                                const struct rp_target *target)
{
    bool is_text = entry->kind == RP_FATBIN_PTX, is_code = entry->kind == RP_FATBIN_CUBIN;
    if (!is_text && !is_code) { /* what is compiled at load from other code than PTX */
        if (target->runs_machine_code)
            content->doubt = "its container holds a kind of code that is not known";
        return RP_OK;
    }
    if (is_text ? !may_compile(entry, target) : !may_run(entry, target))
        return RP_OK;
    if (entry->plain_bytes > MAX_PLAIN_BYTES) {
        content->doubt = "its container is damaged";
        return RP_OK;
    }
    struct rp_content_part *part =
        is_text ? add_part(&content->texts, &content->text_count, entry->plain_bytes, entry->arch)
                : add_part(&content->codes, &content->code_count, entry->plain_bytes, entry->arch);
    if (!part)
        return RP_NO_MEMORY;
    if (rp_fatbin_unpack(entry, part->bytes) != RP_OK) {
        content->doubt = "code in its container can't be unpacked";
        part->size = 0;
        part->bytes[0] = '\0';
    }
    if (is_text)
        part->size = strlen((const char *)part->bytes); /* padded with zeros */
    return RP_OK;
}

/* Only the newest, of equals the first: the others are never compiled. */
static void keep_newest(struct rp_content *content)
{
    struct rp_content_part *texts = content->texts;
    for (size_t i = 1; i < content->text_count; i++) {
        struct rp_content_part other = texts[i];
        if (other.arch > texts[0].arch) {
            other = texts[0];
            texts[0] = texts[i];
        }
        free(other.bytes);
    }
    content->text_count = content->text_count ? 1 : 0;
}

static enum rp_status read_container(const void *image, size_t bytes,
                                     const struct rp_target *target, struct rp_content *content)
{
    struct rp_fatbin fatbin;
    struct rp_fatbin_entry entry;
    enum rp_status status = RP_DAMAGED, added = RP_OK;
    content->kind = "fatbin";
    if ((!bytes || rp_image_fits(image, bytes)) && rp_fatbin_open(image, &fatbin) == RP_OK)
        while (added == RP_OK && (status = rp_fatbin_next(&fatbin, &entry)) == RP_OK)
            added = add_entry(content, &entry, target);
    if (status != RP_END)
        content->doubt = "its container is damaged";
    if (target->takes_newest_ptx)
        keep_newest(content);
    return added;
}

static enum rp_status read_code(const void *image, size_t bytes, struct rp_content *content)
{
    size_t claimed = bytes && bytes < 64 ? 0 : rp_cubin_bytes(image);
    content->kind = "cubin";
    if (!claimed || claimed > MAX_PLAIN_BYTES || (bytes && claimed > bytes)) {
        content->doubt = "its machine code can't be read";
        return RP_OK;
    }
    return add_copy(&content->codes, &content->code_count, image, claimed);
}

enum rp_status rp_content_read(const void *image, size_t bytes, const struct rp_target *target,
                               struct rp_content *content)
{
    enum rp_status status = RP_OK;
    *content = (struct rp_content){.kind = "unknown"};
    switch (rp_image_kind(image)) {
    case RP_IMAGE_PTX:
        content->kind = "PTX";
        status = add_copy(&content->texts, &content->text_count, image,
                          bytes ? strnlen(image, bytes) : strlen(image));
        break;
    case RP_IMAGE_CUBIN: status = read_code(image, bytes, content); break;
    case RP_IMAGE_WRAPPER:
        if (bytes) { /* a file holds no address of this process's */
            content->doubt = "its image is of no known kind";
            break;
        }
        status = read_container(image, bytes, target, content);
        break;
    case RP_IMAGE_FATBIN: status = read_container(image, bytes, target, content); break;
    case RP_IMAGE_UNKNOWN: content->doubt = "its image is of no known kind"; break;
    }
    if (status != RP_OK)
        rp_content_release(content);
    return status;
}

enum rp_status rp_content_read_linked(const void *image, const struct rp_linked *linked,
                                      struct rp_content *content)
{
    static const struct rp_target any = {.runs_machine_code = true};
    enum rp_status status = RP_OK;
    *content = (struct rp_content){.kind = "linked"};
    if (rp_image_kind(image) == RP_IMAGE_CUBIN)
        status = rp_content_read(image, 0, &any, content);
    if (status != RP_OK)
        return status; /* and nothing is left in `content` */
    for (size_t i = 0; status == RP_OK && i < linked->text_count; i++)
        status = add_copy(&content->texts, &content->text_count, linked->texts[i].bytes,
                          linked->texts[i].size);
    content->kind = "linked";
    content->linked = linked;
    if (status != RP_OK)
        rp_content_release(content);
    return status;
}

static void release_parts(struct rp_content_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(parts[i].bytes);
    free(parts);
}

void rp_content_release(struct rp_content *content)
{
    release_parts(content->texts, content->text_count);
    release_parts(content->codes, content->code_count);
    *content = (struct rp_content){.kind = "unknown"};
}
