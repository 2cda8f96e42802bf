/* What lies in a spool's directory, byte by byte; all numbers little-endian.
 *
 * A source is what one output of one process has written: a ledger and numbered segments.
 *   SOURCE.ledger            two slots, written in turn, so that one is whole whenever the machine stops;
 * whoever holds its lock is the one that delivers: the process itself, or after its end another
 *   SOURCE-NUMBER.segment    a header, and records one after the other
 * A record is a finished request body, as it goes to a collector. Where it goes and with which headers is not
 * written: those are the sender's settings, and may be secret. */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_FORMAT_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_SEGMENT_BYTES 32 /* of the headers */
#define SPOOL_RECORD_BYTES  32
#define SPOOL_SLOT_BYTES    192
#define SPOOL_LEDGER_BYTES  (2 * SPOOL_SLOT_BYTES)
#define SPOOL_PROGRAM_BYTES 64
#define SPOOL_SOURCE_BYTES  64 /* of a source's name, NUL included */

/* Where a record begins. */
struct spool_position {
    uint32_t segment; /* from 1; 0: nothing is written yet */
    uint64_t offset;
};

struct spool_record {
    uint64_t time_ns; /* when it was written, since 1970 */
    uint32_t bytes;   /* of the body, which follows: at most BATCH_BYTES_MAX */
    uint32_t spans;
    uint32_t body_crc;
    uint8_t format;      /* enum batch_format */
    uint8_t compression; /* enum compression */
};

struct spool_segment {
    uint32_t number;
    uint64_t spans_before; /* that the source had written before this segment */
};

/* The counts run on after the process is gone, with whoever delivers the rest. */
struct spool_ledger {
    uint64_t sequence; /* of the writing: the higher one counts */
    uint64_t start_ns; /* when the process began to write, since 1970 */
    uint32_t pid;
    uint32_t output;
    bool has_ended;           /* in order: it has said itself what it lost */
    uint64_t made;            /* spans, as far as was known at the last writing */
    uint64_t spooled;         /* of them */
    uint64_t delivered;       /* of those spooled */
    uint64_t lost;            /* of those spooled: refused, rejected, damaged */
    struct spool_position at; /* what comes next */
    char program[SPOOL_PROGRAM_BYTES];
};

/* CRC-32C (Castagnoli). `crc` is 0, or the result for what came before. */
uint32_t spool_crc(uint32_t crc, const void *bytes, size_t count);

void spool_segment_format(const struct spool_segment *segment, uint8_t to[SPOOL_SEGMENT_BYTES]);
bool spool_segment_parse(const uint8_t from[SPOOL_SEGMENT_BYTES], struct spool_segment *segment);

void spool_record_format(const struct spool_record *record, uint8_t to[SPOOL_RECORD_BYTES]);
/* False where the header itself fails its check or says what no writer writes: then nothing is known of where
 * the next one begins. */
bool spool_record_parse(const uint8_t from[SPOOL_RECORD_BYTES], struct spool_record *record);

void spool_slot_format(const struct spool_ledger *ledger, uint8_t to[SPOOL_SLOT_BYTES]);
/* The later of those slots that are whole. */
bool spool_ledger_parse(const uint8_t *from, size_t bytes, struct spool_ledger *ledger);

/* Names. A source's begins with the time, so they sort by age. */
void spool_source_name(char to[SPOOL_SOURCE_BYTES], uint64_t start_ns, uint32_t pid, uint32_t random,
                       uint32_t output);
/* Whether a file's name is that of a ledger (`segment` 0) or of a segment. */
bool spool_file_parse(const char *name, char source[SPOOL_SOURCE_BYTES], uint32_t *output, uint32_t *segment);
#define SPOOL_FILE_BYTES (SPOOL_SOURCE_BYTES + 24)
void spool_segment_name(char to[SPOOL_FILE_BYTES], const char *source, uint32_t segment);
void spool_ledger_name(char to[SPOOL_FILE_BYTES], const char *source);

#endif
