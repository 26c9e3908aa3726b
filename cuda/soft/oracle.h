/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle: the exact bytes of device-visible memory that each operation read and wrote.
 *
 * REPRISE_SOFT_ORACLE=FILE makes the software device write it; `%p` in the name becomes the
 * process's id. It is the ground truth for access sets: no analysis, only what happened.
 *
 * The file is the text "reprise oracle 1\n" and then records, in the order in which operations
 * ended. All numbers are unsigned LEB128 (seven bits a byte, the lowest first):
 *
 *     record  = bytes seq stream device name reads writes     bytes: length of what follows
 *     name    = length, 255 at most, and that many characters: a kernel's name, "copy", "fill",
 *               "value write", "value wait"; of stream-ordered memory "allocation", which
 *               writes all of it (the bytes become indeterminate), and "free"
 *     reads, writes = count and that many ranges, sorted, apart from each other
 *     range   = gap length                   gap: from the end of the range before, from 0
 *
 * `seq` is the operation's place in the order of submission, and `stream` the id that
 * cuStreamGetId tells. Shared and local memory, parameters and pageable host memory are left
 * out. An operation that a fault kept from running has no record; one that faulted has what it
 * touched until then. A record that a killed process left unfinished ends the file.
 *
 * This reader needs neither cuda.h nor the device. It is not thread-safe. Other programs get it
 * by `pkg-config reprise-oracle`:
 *
 *     #include <cuda/soft/oracle.h>
 *
 *     const struct soft_oracle_record *record;
 *     while (soft_oracle_next(reader, &record) == RP_OK)
 *         printf("%s wrote %zu ranges\n", record->name, record->writes.count); */
#ifndef RP_CUDA_SOFT_ORACLE_H
#define RP_CUDA_SOFT_ORACLE_H

#include "tracker/span.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct soft_oracle_record {
    uint64_t seq, stream, device;
    char name[256];
    struct rp_spans reads, writes; /* device addresses */
};

struct soft_oracle_reader;

/* RP_IO when the file can't be opened, RP_DAMAGED when it is something else. */
enum rp_status soft_oracle_open(const char *path, struct soft_oracle_reader **out);
/* The next record, valid until the next call; RP_END after the last (until the file grows),
 * RP_DAMAGED where it makes no sense. */
enum rp_status soft_oracle_next(struct soft_oracle_reader *reader,
                                const struct soft_oracle_record **out);
void soft_oracle_close(struct soft_oracle_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
