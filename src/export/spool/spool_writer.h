/* The side of a spool that writes: records of this process, appended to segments of its own source, within
 * what the directory may hold. Nothing is forced to the disk: the page cache outlives the process, and a
 * power cut costs what the kernel had not written yet (30 seconds by Linux's default). */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_WRITER_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_WRITER_H

#include "export/spool/spool_source.h"

#include <sys/uio.h>

#define SPOOL_SEGMENT_MAX (16 * 1024 * 1024)
#define SPOOL_SEGMENT_MIN (256 * 1024)
/* A segment of this size is left where all is delivered: it goes before the kernel has taken it to the disk.
 */
#define SPOOL_SEGMENT_CAUGHT_UP (1024 * 1024)

struct spool_writer {
    const char *path;       /* of the directory; the caller's */
    uint64_t bytes_max;     /* of all segments in the directory, whoever's */
    uint64_t segment_bytes; /* after which the next one is begun */
    struct spool_file segment;
    struct spool_end end;
    uint64_t used; /* of bytes_max, when it was looked at last, and what we have written since */
    uint64_t looked_at_ns;
};

void spool_writer_init(struct spool_writer *writer, const char *path, uint64_t bytes_max);
/* Appends, and writes the ledger; where there is no source yet, or the lock of it was lost, begins one for
 * the output of that number. FULL: the directory holds all that it may. IO, and `err` says why: nothing is
 * appended. The record's size and checksum are filled in. */
enum status spool_writer_append(struct spool_writer *writer, struct spool_source *source, unsigned output,
                                struct spool_record *record, const struct iovec *parts, size_t part_count,
                                struct error *err) MUST_CHECK;
/* Whether a source of this name is being written by this process: its own locks don't keep it out. */
bool spool_writer_owns(const char *source);
void spool_writer_deinit(struct spool_writer *writer, const char *source);

#endif
