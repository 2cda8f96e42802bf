#include "base/text/utf8.h"

static const uint8_t replacement[3] = {0xef, 0xbf, 0xbd}; /* U+FFFD */

/* The bytes that follow a lead byte: their number, and the range of the first (the others: 80..BF). */
struct trail {
    uint8_t count;
    uint8_t low;
    uint8_t high;
};

static struct trail trail_of(uint8_t lead)
{
    if (lead >= 0xc2 && lead <= 0xdf)
        return (struct trail){1, 0x80, 0xbf};
    if (lead >= 0xe0 && lead <= 0xef)
        return (struct trail){2, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf};
    if (lead >= 0xf0 && lead <= 0xf4)
        return (struct trail){3, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf};
    return (struct trail){0, 0, 0};
}

struct utf8_step utf8_next(const uint8_t *text, size_t len)
{
    if (text[0] < 0x80)
        return (struct utf8_step){1, true};
    struct trail trail = trail_of(text[0]);
    uint8_t have = 0;
    while (have < trail.count && have + 1u < len) {
        uint8_t byte = text[have + 1];
        if (byte < trail.low || byte > trail.high)
            break;
        trail.low = 0x80;
        trail.high = 0xbf;
        have++;
    }
    return (struct utf8_step){(uint8_t)(have + 1), trail.count > 0 && have == trail.count};
}

bool utf8_is_valid(const char *text)
{
    for (size_t left = strlen(text); left;) {
        struct utf8_step step = utf8_next((const uint8_t *)text, left);
        if (!step.valid)
            return false;
        text += step.len;
        left -= step.len;
    }
    return true;
}

/* Length of the leading ASCII run. */
static size_t ascii_run(const uint8_t *text, size_t len)
{
    size_t i = 0;
    for (uint64_t word; i + 8 <= len; i += 8) {
        memcpy(&word, text + i, 8);
        if (word & 0x8080808080808080u)
            break;
    }
    while (i < len && text[i] < 0x80)
        i++;
    return i;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t utf8_repair(uint8_t *to, const char *from, size_t len, size_t chars_max, size_t bytes_max)
{
    const uint8_t *text = (const uint8_t *)from;
    size_t written = 0, chars = 0;
    while (len && chars < chars_max) {
        size_t run = smaller(ascii_run(text, len), smaller(chars_max - chars, bytes_max - written));
        if (to && run)
            memcpy(to + written, text, run);
        written += run;
        chars += run;
        text += run;
        len -= run;
        if (!len || chars == chars_max)
            break;
        struct utf8_step step = utf8_next(text, len);
        size_t size = step.valid ? step.len : sizeof replacement;
        if (size > bytes_max - written)
            break;
        if (to)
            memcpy(to + written, step.valid ? text : replacement, size);
        written += size;
        chars++;
        text += step.len;
        len -= step.len;
    }
    return written;
}
