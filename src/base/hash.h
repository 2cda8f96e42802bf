/* FNV-1a, 64 bits: fast for short keys, and stable, so a hash may stand in a file. It does not withstand keys
 * chosen by an adversary: every table that uses it has a bound and compares keys. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325u

/* 2^64 divided by the golden ratio: multiplied by it, a number has its differences in the upper bits. */
#define HASH_SPREAD 0x9e3779b97f4a7c15u

static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

/* Continues a hash; the first call gets HASH_START. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < length; i++)
        hash = hash_word(hash, at[i]);
    return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = hash_word(hash, (uint8_t)*text);
    return hash;
}

/* The finalizer of SplitMix64: each bit of the input changes each bit of the output with probability 1/2. */
static inline uint64_t hash_mix(uint64_t value)
{
    value += HASH_SPREAD;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}
