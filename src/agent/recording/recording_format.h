/* The file format of recordings, private to the writer and the reader. Numbers are little-endian.
 *
 *  file   = header block* end
 *  header = magic[8] major:u16 minor:u16 zero:u32 crc:u32
 *  block  = mark:u32 raw:u32 stored:u32 events:u32 crc:u32 data
 *  end    = a block with another mark; its data are events:u64 blocks:u64 of the whole file
 *  event  = type:varint bytes:varint payload
 *
 * A crc covers the 16 bytes before it and, for blocks, the data. A block's data are `stored` bytes of zlib
 * output that decompress to `raw` bytes; the end's data are not compressed. No event crosses blocks, and
 * nothing follows the end.
 *
 * Payloads consist of varints (LEB128); signed differences are zigzag-encoded. A number is stored as its
 * difference from the same number in the previous event of the same kind, which gives zlib runs of small
 * bytes. A string is 0, length, bytes at first, and later its index + 2; 1 is NULL. Both states span the
 * whole file.
 *
 * One SCHEMA event precedes the activity records of a kind. It lists which fields are strings or bytes and
 * which repeat members of the record itself, so that the file can be read with any version of CUPTI's
 * tables. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <zlib.h>

#define FORMAT_MAGIC                                                                                         \
    "\x89"                                                                                                   \
    "CUSPAN\n"
#define FORMAT_MAGIC_BYTES 8
#define FORMAT_MAJOR       1
#define FORMAT_MINOR                                                                                         \
    5 /* 1: resources may be graph nodes; 2: hardware counters; 3: steps; 4: code of calls and graph nodes;  \
       * 5: serving engines */
#define FORMAT_MARK_BLOCK 0x4b4c4243u /* "CBLK" */
#define FORMAT_MARK_END   0x444e4543u /* "CEND" */
#define FORMAT_SCHEMA     8           /* event type */

#define FORMAT_RAW_MAX           (256 * 1024) /* uncompressed bytes of a block */
#define FORMAT_STRING_MAX        (32 * 1024)  /* longer strings are truncated */
#define FORMAT_STRINGS_MAX       65536        /* interned; further strings are stored in full */
#define FORMAT_STRINGS_BYTES_MAX (8 * 1024 * 1024)

static_assert(FORMAT_RAW_MAX >= 4 * FORMAT_STRING_MAX, "an event with a long name fits into a block");

/* As in the file, because both supported machines are little-endian. */
struct format_header {
    char magic[FORMAT_MAGIC_BYTES];
    uint16_t major, minor;
    uint32_t zero;
    uint32_t crc;
};

struct format_block {
    uint32_t mark, raw, stored, events;
    uint32_t crc;
};

struct format_end {
    uint64_t events, blocks;
};

static_assert(sizeof(struct format_header) == 20 && sizeof(struct format_block) == 20, "no padding");

/* `head`: a header or a block. */
static inline uint32_t format_crc(const void *head, const void *data, uint32_t bytes)
{
    uLong crc = crc32(crc32(0, NULL, 0), head, 16);
    return (uint32_t)(bytes ? crc32(crc, data, bytes) : crc);
}

static inline uint64_t format_zigzag(uint64_t difference)
{
    return (difference << 1) ^ (uint64_t) - (int64_t)(difference >> 63);
}

static inline uint64_t format_unzigzag(uint64_t value)
{
    return (value >> 1) ^ (uint64_t) - (int64_t)(value & 1);
}
