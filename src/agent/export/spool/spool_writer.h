/* The writer of a spool: appends records to segments of this process's own source, within the directory's
 * limit. It never calls fsync: the page cache outlives the process, and a power failure loses what the kernel
 * had not written yet (30 seconds by Linux's default).
 *
 * The limit holds for all processes together. It is checked when a segment is started or the directory seems
 * full, so several processes may exceed it by a segment each. When it is full, the newest requests are
 * refused: the order stays, and the start of an incident says more than its end. Files are never mapped,
 * because truncating one would then end the host. */
#pragma once

#include "agent/export/spool/spool_source.h"

#include <sys/uio.h>

#define SPOOL_SEGMENT_MAX (16 * 1024 * 1024)
#define SPOOL_SEGMENT_MIN (256 * 1024)
/* If everything is delivered, a segment of this size is closed, so that it can be deleted before the kernel
 * writes it to disk. */
#define SPOOL_SEGMENT_CAUGHT_UP (1024 * 1024)

struct spool_writer {
    const char *path;       /* of the directory; owned by the caller */
    uint64_t bytes_max;     /* of all segments in the directory, of any process */
    uint64_t segment_bytes; /* size at which the next segment is started */
    struct guarded_fd segment;
    struct spool_end end;
    uint64_t used; /* of bytes_max, as of the last listing, plus what we have written since */
    uint64_t listed_at_ns;
    uint64_t spooled_before; /* spans in earlier sources of this writer */
    uint64_t
        taken; /* spans that waited in a source when another process took it over; the caller resets it */
};

void spool_writer_init(struct spool_writer *writer, const char *path, uint64_t bytes_max);
/* Sets how many spans the process has created, those of earlier sources included. The next write of the
 * ledger includes it. False: no change. */
bool spool_writer_set_made(const struct spool_writer *writer, struct spool_source *source, uint64_t made);
/* Whether the source is held: if the program has closed its ledger, takes it again. NOT_FOUND: there is none,
 * or another process has taken it over, and delivers it; then it no longer has a name. IO sets errno. */
enum status spool_writer_hold(struct spool_writer *writer, struct spool_source *source,
                              int folder) MUST_CHECK;
/* Appends a record and writes the ledger. Creates a source for output number `output` if none is held. FULL:
 * the directory's limit is reached. IO sets `err`. Neither appends anything. Fills in the record's size and
 * checksum. */
enum status spool_writer_append(struct spool_writer *writer, struct spool_source *source, unsigned output,
                                struct spool_record *record, const struct iovec *parts, size_t part_count,
                                struct error *err) MUST_CHECK;
/* Whether this process writes the source of this name. Its own locks cannot tell: they do not exclude it. */
bool spool_writer_owns(const char *source);
void spool_writer_deinit(struct spool_writer *writer, const char *source);
