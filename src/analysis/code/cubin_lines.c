#include "analysis/code/cubin_lines.h"

#include "cli/util/xalloc.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX  65536 /* of a line table; later ones are ignored */
#define SYMBOL_MAX 65536 /* bytes of a symbol; longer ones are ignored */

struct part {
    const uint8_t *at;
    size_t len;
};

struct relocation {
    uint64_t offset; /* in .debug_line */
    uint64_t symbol;
};

struct cubin {
    const uint8_t *bytes;
    size_t len;
    Elf64_Ehdr header;
    struct part lines, symbols, names;
    struct relocation *relocations; /* by offset */
    size_t relocation_count;
    cubin_line_fn *take;
    void *context;
};

/* --- sections --- */

static bool read_section(const struct cubin *cubin, size_t number, Elf64_Shdr *section)
{
    size_t at = (size_t)cubin->header.e_shoff;
    if (number >= cubin->header.e_shnum)
        return false;
    memcpy(section, cubin->bytes + at + number * sizeof *section, sizeof *section);
    return section->sh_type != SHT_NOBITS && section->sh_offset <= cubin->len &&
           section->sh_size <= cubin->len - section->sh_offset;
}

static struct part part_of(const struct cubin *cubin, const Elf64_Shdr *section)
{
    return (struct part){cubin->bytes + section->sh_offset, (size_t)section->sh_size};
}

/* The text at an offset, or "" if it does not end within the part, or is too long. */
static const char *text_at(struct part part, uint64_t offset)
{
    size_t room = offset < part.len ? part.len - (size_t)offset : 0;
    if (!room || !memchr(part.at + offset, 0, room < SYMBOL_MAX ? room : SYMBOL_MAX))
        return "";
    return (const char *)part.at + offset;
}

static int compare_relocations(const void *a, const void *b)
{
    const struct relocation *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void read_relocations(struct cubin *cubin, const Elf64_Shdr *section)
{
    size_t entry = section->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    struct part part = part_of(cubin, section);
    size_t count = part.len / entry;
    cubin->relocations = xcalloc(count + 1, sizeof *cubin->relocations);
    for (size_t i = 0; i < count; i++) {
        Elf64_Rel relocation; /* an Elf64_Rela begins like it */
        memcpy(&relocation, part.at + i * entry, sizeof relocation);
        cubin->relocations[i] = (struct relocation){relocation.r_offset, ELF64_R_SYM(relocation.r_info)};
    }
    cubin->relocation_count = count;
    if (count > 1)
        qsort(cubin->relocations, count, sizeof *cubin->relocations, compare_relocations);
}

/* False: something is missing. */
static bool find_sections(struct cubin *cubin)
{
    Elf64_Shdr names, section, symbols, strings;
    size_t lines = SIZE_MAX;
    if (!read_section(cubin, cubin->header.e_shstrndx, &names))
        return false;
    for (size_t i = 0; i < cubin->header.e_shnum; i++) {
        if (read_section(cubin, i, &section) && section.sh_type == SHT_PROGBITS &&
            strcmp(text_at(part_of(cubin, &names), section.sh_name), ".debug_line") == 0) {
            lines = i;
            cubin->lines = part_of(cubin, &section);
        }
    }
    for (size_t i = 0; lines != SIZE_MAX && i < cubin->header.e_shnum; i++) {
        bool is_relocations =
            read_section(cubin, i, &section) && (section.sh_type == SHT_REL || section.sh_type == SHT_RELA);
        if (!is_relocations || section.sh_info != lines || !read_section(cubin, section.sh_link, &symbols) ||
            !read_section(cubin, symbols.sh_link, &strings))
            continue;
        cubin->symbols = part_of(cubin, &symbols);
        cubin->names = part_of(cubin, &strings);
        read_relocations(cubin, &section);
        return true;
    }
    return false;
}

/* The symbol whose address belongs at this offset of .debug_line, or "". */
static const char *symbol_at(const struct cubin *cubin, uint64_t offset)
{
    const struct relocation wanted = {.offset = offset};
    const struct relocation *found =
        bsearch(&wanted, cubin->relocations, cubin->relocation_count, sizeof wanted, compare_relocations);
    Elf64_Sym symbol;
    if (!found || found->symbol >= cubin->symbols.len / sizeof symbol)
        return "";
    memcpy(&symbol, cubin->symbols.at + (size_t)found->symbol * sizeof symbol, sizeof symbol);
    return text_at(cubin->names, symbol.st_name);
}

/* --- a line table --- */

struct reader {
    const uint8_t *at, *end;
    bool is_bad; /* it ended too early */
};

static uint64_t read_bytes(struct reader *reader, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->is_bad = true;
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, bytes); /* both supported machines are little-endian */
    reader->at += bytes;
    return value;
}

static uint64_t read_leb(struct reader *reader, bool is_signed)
{
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;
    while (byte & 0x80 && !reader->is_bad) {
        byte = read_bytes(reader, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
    }
    if (is_signed && shift < 64 && byte & 0x40)
        value |= ~0ull << shift;
    return value;
}

static const char *read_text(struct reader *reader)
{
    const uint8_t *start = reader->at, *nul = memchr(start, 0, (size_t)(reader->end - start));
    if (!nul) {
        reader->is_bad = true;
        reader->at = reader->end;
        return "";
    }
    reader->at = nul + 1;
    return (const char *)start;
}

struct file {
    const char *name;
    uint64_t folder;
};

struct table {
    uint8_t line_range, opcode_base, lengths[256];
    int8_t line_base;
    bool has_operations; /* of several in an instruction: from version 4 on */
    const char **folders;
    size_t folder_count, folder_capacity;
    struct file *files;
    size_t file_count, file_capacity;
};

static void read_names(struct reader *reader, struct table *table)
{
    const char *name;
    while (!reader->is_bad && *(name = read_text(reader)) && table->folder_count < FILES_MAX) {
        *XADD(table->folders, table->folder_count, table->folder_capacity) = name;
    }
    while (!reader->is_bad && *(name = read_text(reader)) && table->file_count < FILES_MAX) {
        uint64_t folder = read_leb(reader, false);
        read_leb(reader, false); /* its time, and its size */
        read_leb(reader, false);
        *XADD(table->files, table->file_count, table->file_capacity) = (struct file){name, folder};
    }
}

struct state {
    const char *symbol; /* ""; nothing is to be told */
    uint64_t file, line;
};

static void tell(const struct cubin *cubin, const struct table *table, struct state *state)
{
    if (*state->symbol && state->file && state->file <= table->file_count && state->line &&
        state->line <= INT32_MAX) {
        const struct file *file = &table->files[state->file - 1];
        bool has_folder = file->folder && file->folder <= table->folder_count && *file->name != '/';
        cubin->take(cubin->context, state->symbol, has_folder ? table->folders[file->folder - 1] : "",
                    file->name, (uint32_t)state->line);
    }
    state->symbol = "";
}

static void run_extended(const struct cubin *cubin, struct reader *reader, struct state *state)
{
    uint64_t len = read_leb(reader, false);
    if (len > (uint64_t)(reader->end - reader->at)) {
        reader->is_bad = true;
        return;
    }
    const uint8_t *next = reader->at + len;
    uint64_t opcode = len ? read_bytes(reader, 1) : 0;
    if (opcode == 1) /* the end of a sequence */
        *state = (struct state){.symbol = "", .file = 1, .line = 1};
    if (opcode == 2) /* an address */
        state->symbol = symbol_at(cubin, (uint64_t)(reader->at - cubin->lines.at));
    reader->at = next;
}

static void run_standard(const struct cubin *cubin, const struct table *table, struct reader *reader,
                         struct state *state, uint8_t opcode)
{
    switch (opcode) {
    case 1: /* a row */
        tell(cubin, table, state);
        break;
    case 3:
        state->line += read_leb(reader, true);
        break;
    case 4:
        state->file = read_leb(reader, false);
        break;
    case 9:
        read_bytes(reader, 2);
        break;
    default:
        for (uint8_t i = 0; i < table->lengths[opcode]; i++)
            read_leb(reader, false);
    }
}

static void run(const struct cubin *cubin, const struct table *table, struct reader *reader)
{
    struct state state = {.symbol = "", .file = 1, .line = 1};
    while (reader->at < reader->end && !reader->is_bad) {
        uint8_t opcode = (uint8_t)read_bytes(reader, 1);
        if (opcode == 0) {
            run_extended(cubin, reader, &state);
        } else if (opcode < table->opcode_base) {
            run_standard(cubin, table, reader, &state, opcode);
        } else {
            state.line += (uint64_t)(table->line_base + (opcode - table->opcode_base) % table->line_range);
            tell(cubin, table, &state);
        }
    }
}

/* The program of one unit, without its length. */
static void read_unit(const struct cubin *cubin, struct reader *reader)
{
    struct table table = {0};
    uint64_t version = read_bytes(reader, 2), header = read_bytes(reader, 4);
    if (version < 2 || version > 4 || header > (uint64_t)(reader->end - reader->at))
        return;
    struct reader program = {.at = reader->at + header, .end = reader->end};
    read_bytes(reader, version == 4 ? 3 : 2); /* the lengths of instructions, and is_stmt */
    table.line_base = (int8_t)read_bytes(reader, 1);
    table.line_range = (uint8_t)read_bytes(reader, 1);
    table.opcode_base = (uint8_t)read_bytes(reader, 1);
    for (unsigned i = 1; i < table.opcode_base; i++)
        table.lengths[i] = (uint8_t)read_bytes(reader, 1);
    read_names(reader, &table);
    if (!reader->is_bad && table.line_range)
        run(cubin, &table, &program);
    free(table.folders);
    free(table.files);
}

void cubin_lines_visit(const uint8_t *bytes, size_t len, cubin_line_fn *take, void *context)
{
    struct cubin cubin = {.bytes = bytes, .len = len, .take = take, .context = context};
    if (len < sizeof cubin.header)
        return;
    memcpy(&cubin.header, bytes, sizeof cubin.header);
    if (memcmp(cubin.header.e_ident, ELFMAG, SELFMAG) != 0 || cubin.header.e_ident[EI_CLASS] != ELFCLASS64 ||
        cubin.header.e_shentsize != sizeof(Elf64_Shdr) || cubin.header.e_shoff > len ||
        (len - cubin.header.e_shoff) / sizeof(Elf64_Shdr) < cubin.header.e_shnum || !find_sections(&cubin))
        return;
    struct reader reader = {.at = cubin.lines.at, .end = cubin.lines.at + cubin.lines.len};
    while (reader.at < reader.end && !reader.is_bad) {
        uint64_t unit = read_bytes(&reader, 4);
        if (unit > (uint64_t)(reader.end - reader.at))
            break; /* damaged, or of 64-bit DWARF */
        struct reader inner = {.at = reader.at, .end = reader.at + unit};
        read_unit(&cubin, &inner);
        reader.at += unit;
    }
    free(cubin.relocations);
}
