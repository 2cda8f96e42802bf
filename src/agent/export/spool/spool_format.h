/* The format of a spool's files. All numbers are little-endian.
 *
 * A source is what one output of one process wrote: a ledger and numbered segments.
 *   SOURCE.ledger          two slots, written in turn, so that one is always intact after a crash. The holder
 *                          of its lock delivers the source: the process itself or, after its end, another
 *   SOURCE-NUMBER.segment  a header followed by records
 * A record is a finished request body, exactly as sent. Endpoint and headers are not stored: they belong to
 * the sender's settings and may be secret. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_SEGMENT_BYTES sizeof(struct spool_segment) /* of the headers */
#define SPOOL_RECORD_BYTES  sizeof(struct spool_record)
#define SPOOL_SLOT_BYTES    sizeof(struct spool_ledger)
#define SPOOL_LEDGER_BYTES  (2 * SPOOL_SLOT_BYTES)
#define SPOOL_PROGRAM_BYTES 64
#define SPOOL_SOURCE_BYTES  64 /* of a source's name, NUL included */

/* Where a record starts. */
struct __attribute__((packed, aligned(4))) spool_position {
    uint64_t offset;
    uint32_t segment; /* from 1; 0: nothing written yet */
};

/* These are the layouts in the files. Before one is written, sealing sets magic, version and crc, the
 * checksum of all other bytes. */
struct spool_record {
    uint32_t magic;
    uint8_t version;
    uint8_t format;      /* enum batch_format */
    uint8_t compression; /* enum compression */
    uint8_t zero;
    uint32_t bytes; /* of the body, which follows: at most BATCH_BYTES_MAX */
    uint32_t spans;
    uint64_t time_ns; /* when it was written, since 1970 */
    uint32_t body_crc;
    uint32_t crc;
};

struct spool_segment {
    char magic[8];
    uint32_t number;
    uint32_t zero;
    uint64_t spans_before; /* spans of the source's earlier segments */
    uint32_t zero_too;
    uint32_t crc;
};

/* After the process has ended, the next deliverer continues the counts. */
struct spool_ledger {
    char magic[8];
    uint64_t sequence; /* incremented with each write: the slot with the higher one is valid */
    uint64_t start_ns; /* when the source was created, since 1970 */
    uint32_t pid;
    uint32_t output;
    uint64_t made;            /* spans created, as of the last write */
    uint64_t spooled;         /* of those made */
    uint64_t delivered;       /* of those spooled */
    uint64_t lost;            /* of those spooled: refused, rejected, damaged */
    struct spool_position at; /* next record to deliver */
    uint8_t has_ended;        /* normally: the process reported its own losses */
    uint8_t zero[3];
    char program[SPOOL_PROGRAM_BYTES];
    uint8_t zero_too[44];
    uint32_t crc;
};

/* CRC-32C (Castagnoli). `crc` is 0, or the result for the preceding bytes. */
uint32_t spool_format_crc(uint32_t crc, const void *bytes, size_t count);

void spool_format_seal_segment(struct spool_segment *segment);
bool spool_format_is_segment(const struct spool_segment *segment);

void spool_format_seal_record(struct spool_record *record);
/* False if the header is damaged or invalid; then the position of the next record is unknown. */
bool spool_format_is_record(const struct spool_record *record);

void spool_format_seal_slot(struct spool_ledger *ledger);
/* Reads the newer of the intact slots. */
bool spool_format_read_ledger(const uint8_t *from, size_t bytes, struct spool_ledger *ledger);

/* A source's name starts with the time, so names sort by age. */
void spool_format_source_name(char to[SPOOL_SOURCE_BYTES], uint64_t start_ns, uint32_t pid, uint32_t random,
                              uint32_t output);
/* Whether the name is that of a ledger (`segment` 0) or of a segment. */
bool spool_format_parse_name(const char *name, char source[SPOOL_SOURCE_BYTES], uint32_t *output,
                             uint32_t *segment);
#define SPOOL_FILE_BYTES (SPOOL_SOURCE_BYTES + 24)
void spool_format_segment_name(char to[SPOOL_FILE_BYTES], const char *source, uint32_t segment);
void spool_format_ledger_name(char to[SPOOL_FILE_BYTES], const char *source);
