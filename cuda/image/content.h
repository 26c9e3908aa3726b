/* SPDX-License-Identifier: Apache-2.0 */
/* What an image holds that a given device may come to run.
 *
 * A driver picks one entry of a container, and which one nobody sees. Its rules are partly
 * written down (CUDA C++ Programming Guide, "Binary Compatibility" and "PTX Compatibility"):
 * machine code runs on its own major architecture from its own minor number on; PTX compiles
 * for its own architecture and any later one, and is taken only where no machine code will
 * do. So all that the rules leave possible is gathered, and what is said of the image must
 * hold for each of it. */
#ifndef RP_CUDA_IMAGE_CONTENT_H
#define RP_CUDA_IMAGE_CONTENT_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The device that the image is for. */
struct rp_target {
    unsigned arch;           /* 90 for compute capability 9.0; 0: not known */
    bool runs_machine_code;  /* false: it compiles PTX and nothing else */
    bool takes_newest_ptx;   /* of several PTX texts that are not too new for `arch`, for certain */
};

struct rp_content_part {
    unsigned char *bytes; /* a copy; PTX ends with a zero that does not count */
    size_t size;
    unsigned arch;        /* of the container's entry; 0 without one */
};

/* What a driver's linker made an image of. */
struct rp_linked {
    struct rp_content_part *texts;
    size_t text_count;
    bool has_others; /* code that was not PTX, too */
};

struct rp_content {
    struct rp_content_part *texts, *codes; /* PTX; machine code */
    size_t text_count, code_count;
    const struct rp_linked *linked; /* the codes were compiled from these texts; or NULL */
    const char *kind;  /* "PTX", "cubin", "fatbin", "linked", "unknown" */
    const char *doubt; /* why the parts may not be all there is, or NULL */
};

/* `bytes` is the image's size where that is known, else 0: then the image speaks for its own
 * size, as it does to the driver. RP_NO_MEMORY is the only error. */
enum rp_status rp_content_read(const void *image, size_t bytes, const struct rp_target *target,
                               struct rp_content *content);
/* The same for what the linker made: the texts are those that it was given, and they are what
 * runs. `linked` must outlive `content`. */
enum rp_status rp_content_read_linked(const void *image, const struct rp_linked *linked,
                                      struct rp_content *content);
void rp_content_release(struct rp_content *content);

#endif
