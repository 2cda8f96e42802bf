#include "analysis/code/fatbin.h"

#include "cli/util/xalloc.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MAGIC       0xba55ed50u
#define EM_CUDA_ELF 190
#define KIND_ELF    2
#define FLAG_LZ4    0x2000u
#define FLAG_ZSTD   0x8000u

struct fatbin_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes; /* of all entries */
};

struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* in the file */
    uint32_t compressed_bytes;
    uint32_t options;
    uint16_t minor, major;
    uint32_t architecture;
    uint32_t name_at, name_bytes;
    uint64_t flags;
    uint64_t reserved;
    uint64_t plain_bytes;
};

struct visit {
    fatbin_cubin_fn *take;
    void *context;
};

/* A block of LZ4. False: it is damaged, or has another size. */
static bool unpack_lz4(const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len)
{
    const uint8_t *at = from, *end = from + from_len;
    size_t out = 0;
    while (at < end) {
        uint8_t token = *at++;
        size_t literals = token >> 4, match = token & 15;
        for (uint8_t more = 255; literals >= 15 && more == 255 && at < end; literals += more)
            more = *at++;
        if (literals > (size_t)(end - at) || literals > to_len - out)
            return false;
        memcpy(to + out, at, literals);
        at += literals;
        out += literals;
        if (at == end)
            break; /* the last sequence has no match */
        if (end - at < 2)
            return false;
        size_t distance = at[0] | (size_t)at[1] << 8;
        at += 2;
        for (uint8_t more = 255; match >= 15 && more == 255 && at < end; match += more)
            more = *at++;
        match += 4;
        if (!distance || distance > out || match > to_len - out)
            return false;
        for (; match; match--, out++) /* the ranges may overlap */
            to[out] = to[out - distance];
    }
    return out == to_len;
}

static void take_entry(const struct visit *visit, const struct fatbin_entry *entry, const uint8_t *bytes)
{
    bool is_packed = entry->flags & (FLAG_LZ4 | FLAG_ZSTD);
    if (entry->kind != KIND_ELF)
        return;
    if (!is_packed) {
        visit->take(visit->context, bytes, (size_t)entry->bytes);
        return;
    }
    size_t packed = entry->compressed_bytes, plain = (size_t)entry->plain_bytes;
    if (packed > entry->bytes || !plain || entry->plain_bytes > FATBIN_CUBIN_BYTES_MAX)
        return;
    uint8_t *to = xcalloc(plain, 1);
    bool is_good = entry->flags & FLAG_ZSTD ? ZSTD_decompress(to, plain, bytes, packed) == plain
                                            : unpack_lz4(bytes, packed, to, plain);
    if (is_good)
        visit->take(visit->context, to, plain);
    free(to);
}

/* Returns its size; 0: none is here. */
static size_t visit_fatbin(const struct visit *visit, const uint8_t *bytes, size_t len)
{
    struct fatbin_header header;
    if (len < sizeof header)
        return 0;
    memcpy(&header, bytes, sizeof header);
    if (header.magic != MAGIC || header.header_bytes < sizeof header || header.header_bytes > len ||
        header.bytes > len - header.header_bytes)
        return 0;
    size_t at = header.header_bytes, end = at + (size_t)header.bytes;
    while (end - at >= sizeof(struct fatbin_entry)) {
        struct fatbin_entry entry;
        memcpy(&entry, bytes + at, sizeof entry);
        if (entry.header_bytes < sizeof entry || entry.header_bytes > end - at ||
            entry.bytes > end - at - entry.header_bytes)
            break;
        take_entry(visit, &entry, bytes + at + entry.header_bytes);
        at += entry.header_bytes + (size_t)entry.bytes;
    }
    return end;
}

/* Fatbins follow each other, with padding. */
static void visit_section(const struct visit *visit, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t size = visit_fatbin(visit, bytes + at, len - at);
        at += size ? (size + 7) / 8 * 8 : 8;
    }
}

static void visit_sections(const struct visit *visit, const uint8_t *bytes, size_t len,
                           const Elf64_Ehdr *header)
{
    Elf64_Shdr names, section;
    size_t count = header->e_shnum, at = (size_t)header->e_shoff;
    if (header->e_shentsize != sizeof section || at > len || (len - at) / sizeof section < count ||
        header->e_shstrndx >= count)
        return;
    memcpy(&names, bytes + at + header->e_shstrndx * sizeof section, sizeof names);
    if (names.sh_offset > len || names.sh_size > len - names.sh_offset)
        return;
    for (size_t i = 0; i < count; i++) {
        static const char *const wanted[] = {".nv_fatbin", "__nv_relfatbin"};
        memcpy(&section, bytes + at + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_NOBITS || section.sh_offset > len ||
            section.sh_size > len - section.sh_offset || section.sh_name >= names.sh_size)
            continue;
        const char *name = (const char *)bytes + names.sh_offset + section.sh_name;
        size_t room = (size_t)(names.sh_size - section.sh_name);
        for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
            size_t size = strlen(wanted[w]) + 1;
            if (room >= size && memcmp(name, wanted[w], size) == 0)
                visit_section(visit, bytes + section.sh_offset, (size_t)section.sh_size);
        }
    }
}

void fatbin_visit(const uint8_t *bytes, size_t len, fatbin_cubin_fn *take, void *context)
{
    const struct visit visit = {take, context};
    Elf64_Ehdr header;
    if (visit_fatbin(&visit, bytes, len) || len < sizeof header)
        return;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    if (header.e_machine == EM_CUDA_ELF)
        take(context, bytes, len);
    else
        visit_sections(&visit, bytes, len, &header);
}
