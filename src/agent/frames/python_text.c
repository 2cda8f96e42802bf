#include "agent/frames/python_text.h"

#include "base/text/utf8.h"

#include <string.h>

/* ---- Lines ---- */

struct table {
    const uint8_t *at, *end;
};

/* Extends the sign of a byte, in two's complement; sums of lines may wrap. */
static uint32_t signed_byte(uint8_t byte)
{
    return byte - 2 * (byte & 0x80u);
}

/* Decodes the table of 3.9: pairs of a number of code bytes and a number of lines to advance. */
static uint32_t line_of_pairs(struct table table, uint32_t position, uint32_t line)
{
    uint32_t start = 0;
    for (; table.end - table.at >= 2; table.at += 2) {
        start += table.at[0];
        if (start > position)
            break;
        line += signed_byte(table.at[1]);
    }
    return line;
}

/* Decodes the table of 3.10: pairs of a number of code bytes and the number of lines by which their line is
 * further; -128: no line. */
static uint32_t line_of_ranges(struct table table, uint32_t position, uint32_t line)
{
    uint32_t end = 0;
    for (; table.end - table.at >= 2; table.at += 2) {
        bool has_line = table.at[1] != 0x80;
        end += table.at[0];
        line += has_line ? signed_byte(table.at[1]) : 0;
        if (position < end)
            return has_line ? line : 0;
    }
    return 0;
}

/* Reads a number in groups of 6 bits, the lowest first; its lowest bit is the sign. */
static uint32_t read_signed(struct table *table)
{
    uint32_t value = 0, shift = 0;
    while (table->at < table->end) {
        uint8_t byte = *table->at++;
        if (shift < 32)
            value |= (byte & 63u) << shift;
        shift += 6;
        if (!(byte & 64))
            break;
    }
    return value & 1 ? 0u - (value >> 1) : value >> 1;
}

/* Decodes the table from 3.11 on: entries for 1 to 8 code units each. Only the first byte of an entry has its
 * top bit set. */
static uint32_t line_of_entries(struct table table, uint32_t position, uint32_t line)
{
    uint32_t end = 0;
    while (table.at < table.end && *table.at & 0x80) {
        uint8_t first = *table.at++;
        unsigned kind = first >> 3 & 15;
        if (kind == 13 || kind == 14)
            line += read_signed(&table);
        else if (kind >= 10 && kind <= 12)
            line += kind - 10;
        end += (first & 7u) + 1;
        if (position < end)
            return kind == 15 ? 0 : line;
        while (table.at < table.end && !(*table.at & 0x80))
            table.at++;
    }
    return 0;
}

uint32_t python_text_line(const struct python_layout *layout, const uint8_t *bytes, size_t length,
                          uint32_t position, uint32_t first)
{
    struct table table = {bytes, bytes + length};
    if (layout->minor >= 11)
        position = (position - layout->at[PYTHON_CODE_START]) / 2;
    else if (layout->minor == 10)
        position *= 2;
    if (position > INT32_MAX / 2) /* before the first instruction */
        return first;
    return layout->minor >= 11   ? line_of_entries(table, position, first)
           : layout->minor == 10 ? line_of_ranges(table, position, first)
                                 : line_of_pairs(table, position, first);
}

/* ---- Strings ---- */

bool python_text_kind(const struct python_layout *layout, uint32_t state, struct python_string *string,
                      size_t *start)
{
    const uint16_t *at = layout->at;
    string->kind = state >> at[PYTHON_KIND_BIT] & 7;
    bool is_ascii = state >> at[PYTHON_ASCII_BIT] & 1;
    *start = at[is_ascii ? PYTHON_STRING_ASCII : PYTHON_STRING_OTHER];
    return (state >> at[PYTHON_COMPACT_BIT] & 1) &&
           (string->kind == 1 || string->kind == 2 || string->kind == 4) && !(is_ascii && string->kind != 1);
}

static uint32_t char_at(const struct python_string *string, size_t index)
{
    uint32_t code = 0;
    memcpy(&code, string->data + index * string->kind,
           string->kind); /* both architectures are little-endian */
    return utf8_is_character(code) ? code : UTF8_REPLACEMENT;
}

void python_text_end(struct python_string *string, size_t max)
{
    if (string->kind == 1)
        string->chars = strnlen(string->data, max);
    else
        for (string->chars = 0; string->chars < max && char_at(string, string->chars);)
            string->chars++;
}

static size_t utf8_bytes(uint32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/* Copies the characters from `from` on, as many as fit. */
static size_t copy_chars(const struct python_string *string, size_t from, char *to, size_t max)
{
    size_t length = string->chars - from < max ? string->chars - from : max;
    if (string->kind == 1 && utf8_copy_ascii((uint8_t *)to, string->data + from, length))
        return length;
    length = 0;
    for (size_t i = from; i < string->chars; i++) {
        uint32_t code = char_at(string, i);
        size_t bytes = utf8_bytes(code);
        if (bytes > max - length)
            break;
        utf8_put((uint8_t *)to + length, code);
        length += bytes;
    }
    return length;
}

/* Returns the index of the first character of the longest end that fits into `max` bytes. */
static size_t start_of_end(const struct python_string *string, size_t max)
{
    size_t start = string->chars, length = 0;
    while (start > 0 && (length += utf8_bytes(char_at(string, start - 1))) <= max)
        start--;
    return start;
}

size_t python_text_copy(const struct python_string *string, char *to, size_t max)
{
    return copy_chars(string, 0, to, max);
}

size_t python_text_copy_path(const struct python_string *string, char *to, size_t max)
{
    static const char dots[] = {'.', '.', '.'};
    if (string->kind == 1 && string->chars <= max &&
        utf8_copy_ascii((uint8_t *)to, string->data, string->chars))
        return string->chars;
    if (max <= sizeof dots || start_of_end(string, max) == 0)
        return copy_chars(string, 0, to, max);
    memcpy(to, dots, sizeof dots);
    size_t start = start_of_end(string, max - sizeof dots);
    return sizeof dots + copy_chars(string, start, to + sizeof dots, max - sizeof dots);
}
