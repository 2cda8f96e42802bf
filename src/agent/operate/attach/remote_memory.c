#include "agent/operate/attach/remote_memory.h"

#include "cli/util/xalloc.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* --- mappings --- */

const char *remote_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool starts(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Old versions of glibc have parts of it in files of their own. */
static enum remote_part part_of(const char *path)
{
    static const struct {
        const char *start;
        enum remote_part part;
    } parts[] = {{"libc.so.6", REMOTE_LIBC},
                 {"libc-2.", REMOTE_LIBC},
                 {"libpthread", REMOTE_LIBC},
                 {"libdl.so", REMOTE_LIBC},
                 {"libdl-2.", REMOTE_LIBC},
                 {"ld-linux-", REMOTE_LOADER},
                 {"ld-2.", REMOTE_LOADER},
                 {"libjemalloc", REMOTE_ALLOCATOR},
                 {"libtcmalloc", REMOTE_ALLOCATOR},
                 {"libmimalloc", REMOTE_ALLOCATOR},
                 {"libtbbmalloc", REMOTE_ALLOCATOR},
                 {"libhoard", REMOTE_ALLOCATOR},
                 {"libhardened_malloc", REMOTE_ALLOCATOR},
                 {"[vdso]", REMOTE_VDSO}};
    const char *name = remote_file_name(path);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (starts(name, parts[i].start))
            return parts[i].part;
    return REMOTE_OTHER;
}

/* The variables of a library that are zero at the start are behind its file, in a mapping without a name. */
static enum remote_part part_behind(const struct remote_maps *maps, const struct remote_mapping *mapping)
{
    const struct remote_mapping *before = maps->count ? &maps->items[maps->count - 1] : NULL;
    bool is_behind = before && !*mapping->name && before->end == mapping->start && mapping->is_writable;
    return is_behind && before->is_writable && *before->name ? before->part : part_of(mapping->name);
}

bool remote_maps_read(struct remote_maps *maps, FILE *file)
{
    char *line = NULL;
    size_t size = 0;
    maps->count = 0;
    while (getline(&line, &size, file) > 0) {
        struct remote_mapping mapping = {0};
        char flags[5] = "";
        int at = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &mapping.start, &mapping.end, flags, &at) != 3 ||
            at == 0)
            continue;
        mapping.is_code = flags[2] == 'x';
        mapping.is_writable = flags[1] == 'w';
        mapping.name = line + at;
        mapping.part = part_behind(maps, &mapping);
        mapping.name = xstrdup(mapping.name);
        maps->items = xgrow(maps->items, &maps->capacity, maps->count + 1, sizeof *maps->items);
        maps->items[maps->count++] = mapping;
    }
    free(line);
    return maps->count > 0;
}

void remote_maps_deinit(struct remote_maps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        free(maps->items[i].name);
    free(maps->items);
    *maps = (struct remote_maps){0};
}

const struct remote_mapping *remote_maps_at(const struct remote_maps *maps, uint64_t address)
{
    size_t low = 0, high = maps->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (address < maps->items[middle].start)
            high = middle;
        else if (address >= maps->items[middle].end)
            low = middle + 1;
        else
            return &maps->items[middle];
    }
    return NULL;
}

const struct remote_mapping *remote_maps_find(const struct remote_maps *maps, const char *file)
{
    for (size_t i = 0; i < maps->count; i++)
        if (starts(remote_file_name(maps->items[i].name), file))
            return &maps->items[i];
    return NULL;
}

/* --- bytes --- */

bool remote_read(pid_t process, uint64_t at, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)at, bytes};
    return process_vm_readv(process, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool remote_write(pid_t process, uint64_t at, const void *from, size_t bytes)
{
    struct iovec here = {(void *)(uintptr_t)from, bytes}, there = {(void *)at, bytes};
    return process_vm_writev(process, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* --- symbols --- */

#define HEADERS_MAX  64
#define ENTRIES_MAX  128
#define TABLES_BYTES (8u << 20)

struct tables {
    uint64_t symbols, names, name_bytes;
};

/* The loader has added the base to addresses in writable sections only. */
static uint64_t moved(uint64_t base, uint64_t address)
{
    return address && address < base ? address + base : address;
}

static bool read_tables(pid_t process, uint64_t base, struct tables *tables)
{
    Elf64_Ehdr head;
    Elf64_Phdr parts[HEADERS_MAX];
    Elf64_Dyn entries[ENTRIES_MAX] = {{0}};
    if (!remote_read(process, base, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phnum > HEADERS_MAX ||
        !remote_read(process, base + head.e_phoff, parts, head.e_phnum * sizeof *parts))
        return false;
    *tables = (struct tables){0};
    for (int i = 0; i < head.e_phnum; i++) {
        size_t bytes = parts[i].p_memsz < sizeof entries ? parts[i].p_memsz : sizeof entries;
        if (parts[i].p_type == PT_DYNAMIC && !remote_read(process, base + parts[i].p_vaddr, entries, bytes))
            return false;
    }
    for (int i = 0; i < ENTRIES_MAX && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_SYMTAB)
            tables->symbols = moved(base, entries[i].d_un.d_ptr);
        else if (entries[i].d_tag == DT_STRTAB)
            tables->names = moved(base, entries[i].d_un.d_ptr);
        else if (entries[i].d_tag == DT_STRSZ)
            tables->name_bytes = entries[i].d_un.d_val;
    }
    return tables->symbols && tables->names > tables->symbols && tables->name_bytes &&
           tables->names - tables->symbols + tables->name_bytes < TABLES_BYTES;
}

/* The names follow the symbols, whose number no entry tells. */
static uint64_t symbol_in(pid_t process, uint64_t base, const char *name)
{
    struct tables tables;
    if (!read_tables(process, base, &tables))
        return 0;
    size_t symbol_bytes = tables.names - tables.symbols;
    char *bytes = xcalloc(symbol_bytes + tables.name_bytes + 1, 1);
    uint64_t found = 0;
    bool is_read = remote_read(process, tables.symbols, bytes, symbol_bytes + tables.name_bytes);
    const Elf64_Sym *symbols = (const Elf64_Sym *)bytes;
    for (size_t i = 0; is_read && !found && i < symbol_bytes / sizeof *symbols; i++)
        if (symbols[i].st_shndx && ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
            symbols[i].st_name < tables.name_bytes &&
            strcmp(bytes + symbol_bytes + symbols[i].st_name, name) == 0)
            found = base + symbols[i].st_value;
    free(bytes);
    return found;
}

uint64_t remote_symbol(pid_t process, const struct remote_maps *maps, const char *name)
{
    uint64_t found = 0;
    for (size_t i = 0; i < maps->count && !found; i++) {
        const struct remote_mapping *mapping = &maps->items[i];
        bool is_first = *mapping->name && (i == 0 || strcmp(mapping->name, maps->items[i - 1].name) != 0);
        if (mapping->part == REMOTE_LIBC && is_first)
            found = symbol_in(process, mapping->start, name);
    }
    return found;
}

uint64_t remote_find_code(pid_t process, const struct remote_maps *maps, enum remote_part part,
                          const uint8_t *pattern, size_t count)
{
    uint64_t found = 0;
    for (size_t i = 0; i < maps->count && !found; i++) {
        const struct remote_mapping *mapping = &maps->items[i];
        size_t size = mapping->end - mapping->start;
        if (mapping->part != part || !mapping->is_code || size > TABLES_BYTES)
            continue;
        uint8_t *code = xcalloc(size, 1);
        const uint8_t *at =
            remote_read(process, mapping->start, code, size) ? memmem(code, size, pattern, count) : NULL;
        found = at ? mapping->start + (uint64_t)(at - code) : 0;
        free(code);
    }
    return found;
}
