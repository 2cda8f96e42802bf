#include "cli/util/text.h"

#include "base/text/utf8.h"
#include "cli/util/xalloc.h"

#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define REPLACEMENT 0xfffdu

static void make_room(struct text *text, size_t more)
{
    text->data = xgrow(text->data, &text->capacity, text->len + more + 1, 1);
}

void text_add_bytes(struct text *text, const char *bytes, size_t len)
{
    make_room(text, len);
    memcpy(text->data + text->len, bytes, len);
    text->len += len;
    text->data[text->len] = 0;
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(struct text *text, char c, size_t times)
{
    make_room(text, times);
    memset(text->data + text->len, c, times);
    text->len += times;
    text->data[text->len] = 0;
}

void text_add_format(struct text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len > 0) {
        make_room(text, (size_t)len);
        vsnprintf(text->data + text->len, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    }
    va_end(again);
}

void text_clear(struct text *text)
{
    make_room(text, 0);
    text->len = 0;
    text->data[0] = 0;
}

void text_deinit(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

uint32_t text_next_char(const char **string)
{
    const uint8_t *at = (const uint8_t *)*string;
    struct utf8_step step = utf8_next(at, *at ? strnlen(*string, 4) : 1);
    *string += step.valid ? step.len : 1;
    return step.valid ? utf8_code(at, step.len) : REPLACEMENT;
}

/* The character at `from` as displayed() replaces it. */
static void add_displayed(struct text *text, const char *from, const char *end, uint32_t code)
{
    if (code == REPLACEMENT)
        text_add(text, "\xef\xbf\xbd"); /* also for invalid bytes */
    else if (code == '?')
        text_add(text, "?");
    else
        text_add_bytes(text, from, (size_t)(end - from));
}

bool text_ends_with(const char *string, const char *end)
{
    size_t len = strlen(string), end_len = strlen(end);
    return len >= end_len && strcmp(string + len - end_len, end) == 0;
}

bool text_locale_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* The replacement of the character on the terminal, and its width in columns. Characters that change the
 * direction of writing break columns as control characters do. */
static uint32_t displayed(uint32_t code, bool utf8, size_t *columns)
{
    *columns = 1;
    bool is_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    if (code < 0x20 || code == 0x7f || (code >= 0x80 && !utf8) || is_direction)
        return '?';
    if (code < 0x7f)
        return code;
    int width = wcwidth((wchar_t)code);
    if (width < 0)
        return code < 0xa0 ? '?' : REPLACEMENT;
    *columns = (size_t)width;
    return code;
}

size_t text_columns(const char *string, bool utf8)
{
    size_t total = 0, columns;
    while (*string) {
        displayed(text_next_char(&string), utf8, &columns);
        total += columns;
    }
    return total;
}

void text_add_clean(struct text *text, const char *string, bool utf8)
{
    size_t columns;
    for (const char *from = string; *string; from = string) {
        uint32_t code = displayed(text_next_char(&string), utf8, &columns);
        add_displayed(text, from, string, code);
    }
}

size_t text_add_fitted(struct text *text, const char *string, size_t columns, bool utf8)
{
    if (text_columns(string, utf8) <= columns) {
        size_t used = text_columns(string, utf8);
        text_add_clean(text, string, utf8);
        return used;
    }
    const char *mark = utf8 ? "…" : "...";
    size_t mark_columns = utf8 ? 1 : 3;
    if (columns < mark_columns) {
        text_add_char(text, '.', columns);
        return columns;
    }
    size_t used = 0, width;
    for (const char *from = string; *string; from = string) {
        uint32_t code = displayed(text_next_char(&string), utf8, &width);
        if (used + width + mark_columns > columns)
            break;
        add_displayed(text, from, string, code);
        used += width;
    }
    text_add(text, mark);
    return used + mark_columns;
}

void text_add_column(struct text *text, const char *string, size_t columns, bool to_the_right, bool utf8)
{
    size_t width = text_columns(string, utf8);
    if (to_the_right && width < columns)
        text_add_char(text, ' ', columns - width);
    size_t used = text_add_fitted(text, string, columns, utf8);
    if (!to_the_right && used < columns)
        text_add_char(text, ' ', columns - used);
}

void text_put_json(void *text, const char *bytes, size_t len)
{
    text_add_bytes(text, bytes, len);
}

/* Three significant digits. */
static void three_digits(char out[TEXT_NUMBER_BYTES], double value, const char *unit)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out, TEXT_NUMBER_BYTES, "%.*f %s", decimals, value, unit);
}

const char *text_duration(char out[TEXT_NUMBER_BYTES], uint64_t ns, bool utf8)
{
    double value = (double)ns;
    if (ns < 1000)
        snprintf(out, TEXT_NUMBER_BYTES, "%u ns", (unsigned)ns);
    else if (value < 999.5e3)
        three_digits(out, value / 1e3, utf8 ? "µs" : "us");
    else if (value < 999.5e6)
        three_digits(out, value / 1e6, "ms");
    else
        three_digits(out, value / 1e9, "s");
    return out;
}

const char *text_bytes(char out[TEXT_NUMBER_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(out, TEXT_NUMBER_BYTES, "%.*f %s", fabs(value - nearbyint(value)) < 0.05 || value >= 100 ? 0 : 1,
             value, units[unit]);
    return out;
}

const char *text_count(char out[TEXT_NUMBER_BYTES], uint64_t count)
{
    char digits[TEXT_NUMBER_BYTES];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    size_t used = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
    return out;
}

const char *text_share(char out[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole)
{
    double share = whole ? 100.0 * (double)part / (double)whole : 0;
    snprintf(out, TEXT_NUMBER_BYTES, "%.*f %%", share > 0 && share < 9.95 ? (share < 0.095 ? 2 : 1) : 0,
             share);
    return out;
}

char *text_read_end(FILE *file, size_t bytes_max)
{
    char *text = xcalloc(bytes_max + 1, 1);
    fseek(file, 0, SEEK_END);
    long size = ftell(file), begin = size - (long)bytes_max;
    fseek(file, begin > 0 ? begin : 0, SEEK_SET);
    size_t got = fread(text, 1, bytes_max, file);
    for (size_t i = 0; i < got; i++)
        text[i] = text[i] ? text[i] : '?';
    return text;
}
