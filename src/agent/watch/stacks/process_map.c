#include "agent/watch/stacks/process_map.h"

#include "base/files.h"
#include "base/process/self_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADERS_MAX      32
#define DYNAMIC_MAX      64
#define CHAIN_MAX        4096 /* symbols with one hash bucket */
#define SYMBOL_BYTES_MAX 64

/* ---- The map ------------------------------------------------------------------------------------------- */

static void add_library(struct process_map *map, uint64_t base, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name) + 1;
    if (map->library_count == MAP_LIBRARIES_MAX)
        return;
    struct map_library *library = &map->libraries[map->library_count++];
    *library = (struct map_library){.base = base};
    if (length > MAP_NAME_BYTES - map->name_bytes)
        return;
    library->name = map->name_bytes;
    memcpy(map->names + map->name_bytes, name, length);
    map->name_bytes += (uint32_t)length;
}

/* The text behind `count` fields and the spaces after them. */
static const char *behind_fields(const char *at, int count)
{
    for (; count > 0; count--) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return at;
}

void process_map_add(struct process_map *map, char *line)
{
    char *rest;
    uint64_t begin = strtoull(line, &rest, 16);
    uint64_t end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
    if (end <= begin || *rest != ' ')
        return;
    const char *rights = rest + 1, *path = behind_fields(rest + 1, 4);
    uint64_t offset = strtoull(behind_fields(rights, 1), NULL, 16);
    bool is_file = *path == '/' || strcmp(path, "[vdso]") == 0;
    if (is_file && offset == 0 && rights[0] == 'r')
        add_library(map, begin, path);
    if (rights[0] == '\0' || rights[1] == '\0' || rights[2] != 'x' || map->range_count == MAP_RANGES_MAX)
        return;
    /* A file's other parts follow its first one, because the loader reserves the whole range at once. */
    const struct map_library *last = map->library_count ? &map->libraries[map->library_count - 1] : NULL;
    const char *slash = strrchr(path, '/');
    bool is_part = is_file && last && strcmp(map->names + last->name, slash ? slash + 1 : path) == 0;
    map->ranges[map->range_count++] =
        (struct map_range){begin, end, is_part ? map->library_count - 1 : MAP_LIBRARIES_MAX};
}

void process_map_read(struct process_map *map)
{
    map->range_count = map->library_count = 0;
    map->names[0] = '\0';
    map->name_bytes = 1;
    int file = files_open("/proc/self/maps", O_RDONLY);
    size_t kept = 0;
    ssize_t count;
    while (file >= 0 && (count = read(file, map->lines + kept, sizeof map->lines - 1 - kept)) > 0) {
        char *at = map->lines, *end = map->lines + kept + count, *newline;
        while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
            *newline = '\0';
            process_map_add(map, at);
            at = newline + 1;
        }
        kept = (size_t)(end - at);
        if (kept >= sizeof map->lines - 1)
            kept = 0;
        memmove(map->lines, at, kept);
    }
    files_give_up(file);
}

const struct map_range *process_map_find(const struct process_map *map, uint64_t address)
{
    uint32_t low = 0, high = map->range_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (map->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < map->range_count && map->ranges[low].begin <= address ? &map->ranges[low] : NULL;
}

/* ---- Libraries ----------------------------------------------------------------------------------------- */

static void read_dynamic(struct map_library *library, uint64_t address, uint64_t bytes)
{
    Elf64_Dyn entries[DYNAMIC_MAX];
    uint64_t count = bytes / sizeof *entries < DYNAMIC_MAX ? bytes / sizeof *entries : DYNAMIC_MAX;
    if (!self_memory_read(address, entries, count * sizeof *entries))
        return;
    for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        /* glibc replaces offsets by addresses here; musl, and the kernel's vDSO, do not. */
        uint64_t value = entries[i].d_un.d_val, at = value < library->base ? value + library->bias : value;
        if (entries[i].d_tag == DT_SYMTAB)
            library->symbols = at;
        else if (entries[i].d_tag == DT_STRTAB)
            library->strings = at;
        else if (entries[i].d_tag == DT_GNU_HASH)
            library->hashes = at;
        else if (entries[i].d_tag == DT_STRSZ)
            library->string_bytes = value;
    }
}

static void read_library(struct map_library *library)
{
    Elf64_Ehdr header;
    Elf64_Phdr parts[HEADERS_MAX];
    const Elf64_Phdr *dynamic = NULL;
    if (!self_memory_read(library->base, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof *parts || header.e_phnum > HEADERS_MAX ||
        !self_memory_read(library->base + header.e_phoff, parts, header.e_phnum * sizeof *parts))
        return;
    library->is_elf = true;
    library->bias = library->base;
    for (int i = 0; i < header.e_phnum; i++) {
        if (parts[i].p_type == PT_LOAD && parts[i].p_offset == 0)
            library->bias = library->base - parts[i].p_vaddr;
        else if (parts[i].p_type == PT_DYNAMIC)
            dynamic = &parts[i];
        else if (parts[i].p_type == PT_GNU_EH_FRAME)
            library->unwind = parts[i].p_vaddr;
    }
    if (library->unwind)
        library->unwind += library->bias;
    if (dynamic)
        read_dynamic(library, library->bias + dynamic->p_vaddr, dynamic->p_memsz);
}

const struct map_library *process_map_library(struct process_map *map, uint32_t number)
{
    if (number >= map->library_count)
        return NULL;
    struct map_library *library = &map->libraries[number];
    if (!library->is_read)
        read_library(library);
    library->is_read = true;
    return library->is_elf ? library : NULL;
}

/* ---- Symbols ------------------------------------------------------------------------------------------- */

static bool is_named(const struct map_library *library, uint64_t name, const char *expected, size_t bytes)
{
    char text[SYMBOL_BYTES_MAX];
    return name < library->string_bytes && self_memory_read(library->strings + name, text, bytes) &&
           memcmp(text, expected, bytes) == 0;
}

uint64_t process_map_symbol(const struct map_library *library, const char *name)
{
    struct {
        uint32_t buckets, first, bloom_words, shift;
    } table;
    uint32_t hash = 5381, index, chain;
    uint64_t bloom;
    size_t bytes = strlen(name) + 1;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (uint8_t)*at;
    if (!library->hashes || !library->symbols || bytes > SYMBOL_BYTES_MAX ||
        !self_memory_read(library->hashes, &table, sizeof table) || !table.buckets || !table.bloom_words)
        return 0;
    uint64_t at = library->hashes + sizeof table;
    if (!self_memory_read(at + (uint64_t)(hash / 64 % table.bloom_words) * 8, &bloom, sizeof bloom) ||
        !(bloom >> hash % 64 & bloom >> (hash >> (table.shift & 31)) % 64 & 1))
        return 0;
    at += (uint64_t)table.bloom_words * 8;
    if (!self_memory_read(at + (uint64_t)(hash % table.buckets) * 4, &index, sizeof index) ||
        index < table.first)
        return 0;
    at += (uint64_t)table.buckets * 4;
    for (int i = 0; i < CHAIN_MAX; i++, index++) {
        Elf64_Sym symbol;
        if (!self_memory_read(at + (uint64_t)(index - table.first) * 4, &chain, sizeof chain))
            return 0;
        if ((chain | 1) == (hash | 1) &&
            self_memory_read(library->symbols + (uint64_t)index * sizeof symbol, &symbol, sizeof symbol) &&
            is_named(library, symbol.st_name, name, bytes) && symbol.st_shndx != SHN_UNDEF)
            return library->bias + symbol.st_value;
        if (chain & 1)
            return 0;
    }
    return 0;
}

void process_map_functions(const struct map_library *library, uint64_t *budget,
                           void (*visit)(void *context, uint64_t address, uint64_t size, uint64_t name),
                           void *context)
{
    Elf64_Sym symbols[MAP_SYMBOLS_READ];
    /* The number of symbols is nowhere, but linkers put the strings, or something that is before them, behind
     * the symbols. */
    uint64_t at = library->symbols, end = library->strings;
    while (at && at < end && *budget >= sizeof symbols) {
        uint64_t bytes = end - at < sizeof symbols ? end - at : sizeof symbols;
        *budget -= bytes;
        if (!self_memory_read(at, symbols, bytes))
            return;
        for (uint64_t i = 0; i < bytes / sizeof *symbols; i++) {
            const Elf64_Sym *symbol = &symbols[i];
            unsigned type = ELF64_ST_TYPE(symbol->st_info);
            if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
                symbol->st_name < library->string_bytes)
                visit(context, library->bias + symbol->st_value, symbol->st_size,
                      library->strings + symbol->st_name);
        }
        at += bytes;
    }
}
