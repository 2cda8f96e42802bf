/* Decodes, checks and repairs UTF-8. Each maximal ill-formed subsequence (Unicode, table 3-7 and chapter 3.9)
 * counts as one U+FFFD, as in the decoders of Python and of browsers.
 *
 * Nearly all of cuspan's strings are ASCII, so the hot path checks for it while it copies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UTF8_NO_LIMIT SIZE_MAX

struct utf8_step {
    uint8_t len; /* bytes of input, at least 1 */
    bool valid;  /* false: a maximal ill-formed subsequence */
};

/* The character or ill-formed subsequence at the start of `text`; `len` is at least 1. */
struct utf8_step utf8_next(const uint8_t *text, size_t len);

/* The code point of a valid character of `len` bytes. */
static inline uint32_t utf8_code(const uint8_t *text, size_t len)
{
    uint32_t code = len == 1 ? text[0] : text[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

#define UTF8_REPLACEMENT 0xfffdu

static inline bool utf8_is_character(uint32_t code)
{
    return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);
}

/* Writes a character, or UTF8_REPLACEMENT if the code point is none, and returns its bytes: at most 4. */
static inline uint32_t utf8_put(uint8_t *to, uint32_t code)
{
    static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    code = utf8_is_character(code) ? code : UTF8_REPLACEMENT;
    uint32_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (uint32_t i = bytes - 1; i > 0; i--, code >>= 6)
        to[i] = (uint8_t)(0x80 | (code & 0x3f));
    to[0] = (uint8_t)(marks[bytes] | code);
    return bytes;
}

/* Whether a NUL-terminated string is valid UTF-8. */
bool utf8_is_valid(const char *text);

/* Writes `len` bytes of `from`, repaired, and returns the number of bytes written. Stops before the character
 * that would exceed `chars_max` or `bytes_max`. With `to` NULL it only counts. */
size_t utf8_repair(uint8_t *to, const char *from, size_t len, size_t chars_max, size_t bytes_max);

typedef uint64_t utf8_block __attribute__((vector_size(16)));

static inline uint64_t utf8_copy_8(uint8_t *to, const char *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
    memcpy(to, &word, 8);
    return word;
}

static inline uint64_t utf8_copy_4(uint8_t *to, const char *from)
{
    uint32_t word;
    memcpy(&word, from, 4);
    memcpy(to, &word, 4);
    return word;
}

/* Copies `len` bytes, accessing no others, and returns whether all were ASCII. Two overlapping moves handle
 * each range of lengths without a loop over the rest. */
static inline bool utf8_copy_ascii(uint8_t *to, const char *from, size_t len)
{
    const uint64_t high_bits = 0x8080808080808080u;
    if (len > 16) {
        utf8_block all, block;
        memcpy(&all, from + len - 16, 16);
        memcpy(to + len - 16, &all, 16);
        for (size_t i = 0; i < len - 16; i += 16) {
            memcpy(&block, from + i, 16);
            memcpy(to + i, &block, 16);
            all |= block;
        }
        return ((all[0] | all[1]) & high_bits) == 0;
    }
    if (len >= 8)
        return ((utf8_copy_8(to, from) | utf8_copy_8(to + len - 8, from + len - 8)) & high_bits) == 0;
    if (len >= 4)
        return ((utf8_copy_4(to, from) | utf8_copy_4(to + len - 4, from + len - 4)) & high_bits) == 0;
    uint8_t all = 0;
    for (size_t i = 0; i < len; i++) {
        to[i] = (uint8_t)from[i];
        all |= to[i];
    }
    return all < 0x80;
}
