#include "agent/export/spool/spool_format.h"

#include "base/limits.h"
#include "model/batch.h"
#include "model/settings/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_MAGIC  "CSPNSEG1"
#define LEDGER_MAGIC   "CSPNLED1"
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

/* Tables for eight bytes at a time, because not every CPU has the CRC-32C instruction. */
uint32_t spool_format_crc(uint32_t crc, const void *bytes, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint8_t *at = bytes;
    pthread_once(&once, make_crc_table);
    crc = ~crc;
    for (; count >= 8; count -= 8, at += 8) {
        uint32_t low, high;
        memcpy(&low, at, sizeof low);
        memcpy(&high, at + 4, sizeof high);
        low ^= crc;
        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^ crc_table[5][low >> 16 & 0xff] ^
              crc_table[4][low >> 24] ^ crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
              crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
    }
    for (; count > 0; count--)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
    return ~crc;
}

static_assert(sizeof(struct spool_segment) == 32 && sizeof(struct spool_record) == 32 &&
                  sizeof(struct spool_ledger) == 192 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the structs are the format of the files");

/* The checksum is in the last four bytes. */
static uint32_t crc_of(const void *bytes, size_t count)
{
    return spool_format_crc(0, bytes, count - sizeof(uint32_t));
}

void spool_format_seal_segment(struct spool_segment *segment)
{
    memcpy(segment->magic, SEGMENT_MAGIC, sizeof segment->magic);
    segment->crc = crc_of(segment, sizeof *segment);
}

bool spool_format_is_segment(const struct spool_segment *segment)
{
    return memcmp(segment->magic, SEGMENT_MAGIC, sizeof segment->magic) == 0 &&
           segment->crc == crc_of(segment, sizeof *segment);
}

void spool_format_seal_record(struct spool_record *record)
{
    record->magic = RECORD_MAGIC;
    record->version = RECORD_VERSION;
    record->crc = crc_of(record, sizeof *record);
}

bool spool_format_is_record(const struct spool_record *record)
{
    return record->magic == RECORD_MAGIC && record->version == RECORD_VERSION &&
           record->crc == crc_of(record, sizeof *record) && record->bytes > 0 &&
           record->bytes <= BATCH_BYTES_MAX && record->format <= BATCH_JSON &&
           record->compression <= COMPRESSION_ZSTD;
}

void spool_format_seal_slot(struct spool_ledger *ledger)
{
    memcpy(ledger->magic, LEDGER_MAGIC, sizeof ledger->magic);
    ledger->crc = crc_of(ledger, sizeof *ledger);
}

bool spool_format_read_ledger(const uint8_t *from, size_t bytes, struct spool_ledger *ledger)
{
    struct spool_ledger slot;
    bool found = false;
    for (size_t at = 0; at < SPOOL_LEDGER_BYTES && at + SPOOL_SLOT_BYTES <= bytes; at += SPOOL_SLOT_BYTES) {
        memcpy(&slot, from + at, sizeof slot);
        if (memcmp(slot.magic, LEDGER_MAGIC, sizeof slot.magic) != 0 ||
            slot.crc != crc_of(&slot, sizeof slot) || (found && slot.sequence < ledger->sequence))
            continue;
        *ledger = slot;
        ledger->program[SPOOL_PROGRAM_BYTES - 1] = '\0';
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
