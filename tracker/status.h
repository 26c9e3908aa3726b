/* SPDX-License-Identifier: Apache-2.0 */
/* The one error idiom of the project: functions return an rp_status, results go
 * through pointers. CUDA codes never mix with these. */
#ifndef RP_TRACKER_STATUS_H
#define RP_TRACKER_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The compiler tells of a call whose status nobody looks at; (void) drops one on purpose. */
#if defined __clang__
#define RP_MUST_BE_SEEN __attribute__((warn_unused_result))
#elif __GNUC__ >= 11
#define RP_MUST_BE_SEEN [[nodiscard]]
#else
#define RP_MUST_BE_SEEN
#endif

__extension__ enum RP_MUST_BE_SEEN rp_status {
    RP_OK = 0,
    RP_NO_MEMORY,   /* the host is out of memory */
    RP_NOT_FOUND,   /* the thing asked for is not there */
    RP_INVALID,     /* an argument or an input file is wrong; see the detail text */
    RP_UNSUPPORTED, /* right in itself, but not something this build can do */
    RP_IO,          /* the operating system refused; errno says why */
    RP_DAMAGED,     /* a file is truncated, corrupt or from a newer version */
    RP_END,         /* no more items: the ordinary end of a reading loop */
};

/* A short English phrase, never NULL. */
const char *rp_status_text(enum rp_status status);

#ifdef __cplusplus
}
#endif

#endif
