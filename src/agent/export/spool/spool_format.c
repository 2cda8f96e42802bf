#include "agent/export/spool/spool_format.h"

#include "base/limits.h"
#include "model/batch.h"
#include "model/settings/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_MAGIC  "CSPNSEG1"
#define LEDGER_MAGIC   "CSPNLED1"
#define MAGIC_BYTES    8
#define RECORD_MAGIC   0x4345524eu
#define RECORD_VERSION 1
#define CRC_POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t crc_table[8][256];

static void make_crc_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
        crc_table[0][i] = crc;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int slice = 1; slice < 8; slice++)
            crc_table[slice][i] = crc_table[slice - 1][i] >> 8 ^ crc_table[0][crc_table[slice - 1][i] & 0xff];
}

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static void put_u64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static uint64_t get_u64(const uint8_t *from)
{
    return get_u32(from) | (uint64_t)get_u32(from + 4) << 32;
}

/* Tables for eight bytes at a time, because not every CPU has the CRC-32C instruction. */
uint32_t spool_format_crc(uint32_t crc, const void *bytes, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint8_t *at = bytes;
    pthread_once(&once, make_crc_table);
    crc = ~crc;
    for (; count >= 8; count -= 8, at += 8) {
        uint32_t low = crc ^ get_u32(at), high = get_u32(at + 4);
        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^ crc_table[5][low >> 16 & 0xff] ^
              crc_table[4][low >> 24] ^ crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
              crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
    }
    for (; count > 0; count--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
    return ~crc;
}

/* Stores the checksum of all other bytes in the last four. */
static void seal(uint8_t *bytes, size_t count)
{
    put_u32(bytes + count - 4, spool_format_crc(0, bytes, count - 4));
}

static bool is_whole(const uint8_t *bytes, size_t count)
{
    return get_u32(bytes + count - 4) == spool_format_crc(0, bytes, count - 4);
}

void spool_format_write_segment(const struct spool_segment *segment, uint8_t to[SPOOL_SEGMENT_BYTES])
{
    memset(to, 0, SPOOL_SEGMENT_BYTES);
    memcpy(to, SEGMENT_MAGIC, MAGIC_BYTES);
    put_u32(to + 8, segment->number);
    put_u64(to + 16, segment->spans_before);
    seal(to, SPOOL_SEGMENT_BYTES);
}

bool spool_format_read_segment(const uint8_t from[SPOOL_SEGMENT_BYTES], struct spool_segment *segment)
{
    if (memcmp(from, SEGMENT_MAGIC, MAGIC_BYTES) != 0 || !is_whole(from, SPOOL_SEGMENT_BYTES))
        return false;
    *segment = (struct spool_segment){.number = get_u32(from + 8), .spans_before = get_u64(from + 16)};
    return true;
}

void spool_format_write_record(const struct spool_record *record, uint8_t to[SPOOL_RECORD_BYTES])
{
    put_u32(to, RECORD_MAGIC);
    to[4] = RECORD_VERSION;
    to[5] = record->format;
    to[6] = record->compression;
    to[7] = 0;
    put_u32(to + 8, record->bytes);
    put_u32(to + 12, record->spans);
    put_u64(to + 16, record->time_ns);
    put_u32(to + 24, record->body_crc);
    seal(to, SPOOL_RECORD_BYTES);
}

bool spool_format_read_record(const uint8_t from[SPOOL_RECORD_BYTES], struct spool_record *record)
{
    if (get_u32(from) != RECORD_MAGIC || from[4] != RECORD_VERSION || !is_whole(from, SPOOL_RECORD_BYTES))
        return false;
    *record = (struct spool_record){.format = from[5],
                                    .compression = from[6],
                                    .bytes = get_u32(from + 8),
                                    .spans = get_u32(from + 12),
                                    .time_ns = get_u64(from + 16),
                                    .body_crc = get_u32(from + 24)};
    return record->bytes > 0 && record->bytes <= BATCH_BYTES_MAX && record->format <= BATCH_JSON &&
           record->compression <= COMPRESSION_ZSTD;
}

void spool_format_write_slot(const struct spool_ledger *ledger, uint8_t to[SPOOL_SLOT_BYTES])
{
    memset(to, 0, SPOOL_SLOT_BYTES);
    memcpy(to, LEDGER_MAGIC, MAGIC_BYTES);
    put_u64(to + 8, ledger->sequence);
    put_u64(to + 16, ledger->start_ns);
    put_u32(to + 24, ledger->pid);
    put_u32(to + 28, ledger->output);
    put_u64(to + 32, ledger->made);
    put_u64(to + 40, ledger->spooled);
    put_u64(to + 48, ledger->delivered);
    put_u64(to + 56, ledger->lost);
    put_u64(to + 64, ledger->at.offset);
    put_u32(to + 72, ledger->at.segment);
    to[76] = ledger->has_ended;
    memcpy(to + 80, ledger->program, strnlen(ledger->program, SPOOL_PROGRAM_BYTES - 1));
    seal(to, SPOOL_SLOT_BYTES);
}

static bool parse_slot(const uint8_t *from, struct spool_ledger *ledger)
{
    if (memcmp(from, LEDGER_MAGIC, MAGIC_BYTES) != 0 || !is_whole(from, SPOOL_SLOT_BYTES))
        return false;
    *ledger = (struct spool_ledger){
        .sequence = get_u64(from + 8),
        .start_ns = get_u64(from + 16),
        .pid = get_u32(from + 24),
        .output = get_u32(from + 28),
        .made = get_u64(from + 32),
        .spooled = get_u64(from + 40),
        .delivered = get_u64(from + 48),
        .lost = get_u64(from + 56),
        .at = {.offset = get_u64(from + 64), .segment = get_u32(from + 72)},
        .has_ended = from[76],
    };
    memcpy(ledger->program, from + 80, SPOOL_PROGRAM_BYTES - 1);
    return true;
}

bool spool_format_read_ledger(const uint8_t *from, size_t bytes, struct spool_ledger *ledger)
{
    struct spool_ledger slot;
    bool found = false;
    for (size_t at = 0; at < SPOOL_LEDGER_BYTES && at + SPOOL_SLOT_BYTES <= bytes; at += SPOOL_SLOT_BYTES) {
        if (!parse_slot(from + at, &slot) || (found && slot.sequence < ledger->sequence))
            continue;
        *ledger = slot;
        found = true;
    }
    return found;
}

void spool_format_source_name(char to[SPOOL_SOURCE_BYTES], uint64_t start_ns, uint32_t pid, uint32_t random,
                              uint32_t output)
{
    snprintf(to, SPOOL_SOURCE_BYTES, "%016llx-%u-%08x-%u", (unsigned long long)start_ns, pid, random, output);
}

/* Formats the parsed values again and compares: any other name belongs to a foreign file. */
bool spool_format_parse_name(const char *name, char source[SPOOL_SOURCE_BYTES], uint32_t *output,
                             uint32_t *segment)
{
    unsigned long long start_ns;
    unsigned pid, random, number;
    char again[SPOOL_FILE_BYTES];
    *segment = 0;
    int found = sscanf(name, "%16llx-%u-%8x-%u-%u.", &start_ns, &pid, &random, output, &number);
    if (found < 4)
        return false;
    spool_format_source_name(source, start_ns, pid, random, *output);
    if (found == 5 && number > 0)
        spool_format_segment_name(again, source, *segment = number);
    else
        spool_format_ledger_name(again, source);
    return strcmp(name, again) == 0;
}

void spool_format_segment_name(char to[SPOOL_FILE_BYTES], const char *source, uint32_t segment)
{
    snprintf(to, SPOOL_FILE_BYTES, "%s-%06u.segment", source, segment);
}

void spool_format_ledger_name(char to[SPOOL_FILE_BYTES], const char *source)
{
    snprintf(to, SPOOL_FILE_BYTES, "%s.ledger", source);
}
