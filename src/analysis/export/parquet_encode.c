#include "analysis/export/parquet_encode.h"

#define GROUP_VALUES       8 /* a bit-packed run has a multiple of this */
#define BLOCK_VALUES       128
#define MINIBLOCKS         4
#define MINIBLOCK_VALUES   (BLOCK_VALUES / MINIBLOCKS)
#define DELTA_HEADER_BYTES 40

unsigned parquet_bit_width(uint64_t max)
{
    return max ? 64 - (unsigned)__builtin_clzll(max) : 0;
}

/* --- bits --- */

/* Appends values of `width` bits, the lowest bits first. */
struct packer {
    uint8_t *at;
    uint64_t bits;
    unsigned used; /* of `bits` */
};

static inline void pack(struct packer *packer, uint64_t value, unsigned width)
{
    packer->bits |= value << packer->used;
    unsigned kept = 64 - packer->used; /* bits of the value that fit */
    packer->used += width;
    if (packer->used >= 64) {
        uint64_t word = htole64(packer->bits);
        memcpy(packer->at, &word, sizeof word);
        packer->at += sizeof word;
        packer->bits = kept < 64 ? value >> kept : 0;
        packer->used -= 64;
    }
}

static uint8_t *finish_packing(struct packer *packer)
{
    for (; packer->used > 0; packer->bits >>= 8) {
        *packer->at++ = (uint8_t)packer->bits;
        packer->used -= packer->used < 8 ? packer->used : 8;
    }
    return packer->at;
}

/* --- runs --- */

static void add_packed(struct bytes *out, const uint32_t *values, size_t count, unsigned width)
{
    size_t groups = (count + GROUP_VALUES - 1) / GROUP_VALUES;
    if (groups == 0)
        return;
    bytes_add_varint(out, groups << 1 | 1);
    struct packer packer = {.at = bytes_room(out, groups * width + sizeof(uint64_t))};
    for (size_t i = 0; i < count; i++)
        pack(&packer, values[i], width);
    for (size_t i = count; i < groups * GROUP_VALUES; i++)
        pack(&packer, 0, width);
    out->len = (size_t)(finish_packing(&packer) - out->data);
}

void parquet_add_run(struct bytes *out, uint32_t value, size_t count, unsigned width)
{
    if (count == 0)
        return;
    bytes_add_varint(out, (uint64_t)count << 1);
    for (unsigned byte = 0; byte * 8 < width; byte++)
        bytes_add_byte(out, (uint8_t)(value >> 8 * byte));
}

void parquet_add_hybrid(struct bytes *out, const uint32_t *values, size_t count, unsigned width)
{
    size_t begin = 0; /* of the values that will be bit-packed */
    for (size_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && values[i + run] == values[i];)
            run++;
        size_t filling = (GROUP_VALUES - (i - begin) % GROUP_VALUES) % GROUP_VALUES;
        if (run < filling + GROUP_VALUES)
            continue;
        add_packed(out, values + begin, i + filling - begin, width);
        parquet_add_run(out, values[i], run - filling, width);
        begin = i + run;
    }
    add_packed(out, values + begin, count - begin, width);
}

/* --- deltas --- */

static void add_miniblock(struct bytes *out, const uint64_t *deltas, size_t count, uint64_t min,
                          unsigned width)
{
    struct packer packer = {.at = bytes_room(out, MINIBLOCK_VALUES * sizeof(uint64_t) + sizeof(uint64_t))};
    for (size_t i = 0; width && i < MINIBLOCK_VALUES; i++)
        pack(&packer, i < count ? deltas[i] - min : 0, width);
    out->len = (size_t)(finish_packing(&packer) - out->data);
}

static unsigned miniblock_width(const uint64_t *deltas, size_t count, uint64_t min)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all |= deltas[i] - min;
    return parquet_bit_width(all);
}

static size_t part_of(size_t count, size_t miniblock)
{
    size_t begin = miniblock * MINIBLOCK_VALUES;
    size_t rest = count > begin ? count - begin : 0;
    return rest < MINIBLOCK_VALUES ? rest : MINIBLOCK_VALUES;
}

static void add_block(struct bytes *out, const uint64_t *deltas, size_t count)
{
    int64_t min = INT64_MAX;
    uint8_t widths[MINIBLOCKS];
    for (size_t i = 0; i < count; i++)
        min = (int64_t)deltas[i] < min ? (int64_t)deltas[i] : min;
    bytes_add_zigzag(out, min);
    for (size_t m = 0; m < MINIBLOCKS; m++)
        widths[m] = (uint8_t)miniblock_width(deltas + m * MINIBLOCK_VALUES, part_of(count, m), (uint64_t)min);
    bytes_add(out, widths, sizeof widths);
    for (size_t m = 0; m < MINIBLOCKS; m++)
        add_miniblock(out, deltas + m * MINIBLOCK_VALUES, part_of(count, m), (uint64_t)min, widths[m]);
}

void parquet_add_delta(struct bytes *out, const uint64_t *values, size_t count)
{
    uint64_t deltas[BLOCK_VALUES];
    size_t filled = 0;
    bytes_room(out, DELTA_HEADER_BYTES);
    bytes_add_varint(out, BLOCK_VALUES);
    bytes_add_varint(out, MINIBLOCKS);
    bytes_add_varint(out, count);
    bytes_add_zigzag(out, count ? (int64_t)values[0] : 0);
    for (size_t i = 1; i < count; i++) {
        deltas[filled++] = values[i] - values[i - 1];
        if (filled == BLOCK_VALUES) {
            add_block(out, deltas, filled);
            filled = 0;
        }
    }
    if (filled)
        add_block(out, deltas, filled);
}
