#include "analysis/trace/json_clean.h"

#include "base/text/utf8.h"

#include <stdlib.h>

#define ESCAPE_CHARS 6 /* \ud800 */

/* Nearly all bytes are ASCII without escapes. */
static size_t plain_run(const char *text, size_t len)
{
    size_t i = 0;
    for (uint64_t word; i + 8 <= len; i += 8) {
        memcpy(&word, text + i, 8);
        uint64_t escapes = word ^ 0x5c5c5c5c5c5c5c5cu;
        if ((word | ((escapes - 0x0101010101010101u) & ~escapes)) & 0x8080808080808080u)
            break;
    }
    while (i < len && (unsigned char)text[i] < 0x80 && text[i] != '\\')
        i++;
    return i;
}

/* The UTF-16 unit of an escape, or 0. */
static unsigned unit_at(const char *at, size_t len)
{
    char digits[5] = "", *end;
    if (len < ESCAPE_CHARS || at[0] != '\\' || at[1] != 'u')
        return 0;
    memcpy(digits, at + 2, 4);
    unsigned unit = (unsigned)strtoul(digits, &end, 16);
    return end == digits + 4 ? unit : 0;
}

static bool is_surrogate(unsigned unit, unsigned first)
{
    return unit >= first && unit < first + 0x400;
}

/* Returns its length. */
static size_t clean_escape(char *at, size_t len, size_t *replaced)
{
    unsigned unit = unit_at(at, len);
    if (!is_surrogate(unit, 0xd800) && !is_surrogate(unit, 0xdc00))
        return len < 2 ? len : 2;
    if (is_surrogate(unit, 0xd800) && is_surrogate(unit_at(at + ESCAPE_CHARS, len - ESCAPE_CHARS), 0xdc00))
        return 2 * (size_t)ESCAPE_CHARS;
    memcpy(at + 2, "fffd", 4);
    ++*replaced;
    return ESCAPE_CHARS;
}

size_t json_clean(char *bytes, size_t len, size_t *grown)
{
    size_t replaced = 0, ill_formed = 0;
    for (size_t i = 0; i < len;) {
        i += plain_run(bytes + i, len - i);
        if (i < len && bytes[i] == '\\') {
            i += clean_escape(bytes + i, len - i, &replaced);
        } else if (i < len) {
            struct utf8_step step = utf8_next((const uint8_t *)bytes + i, len - i);
            ill_formed += !step.valid;
            i += step.len;
        }
    }
    *grown = ill_formed ? utf8_repair(NULL, bytes, len, UTF8_NO_LIMIT, UTF8_NO_LIMIT) : 0;
    return replaced + ill_formed;
}

void json_clean_copy(char *to, const char *bytes, size_t len)
{
    utf8_repair((uint8_t *)to, bytes, len, UTF8_NO_LIMIT, UTF8_NO_LIMIT);
}
