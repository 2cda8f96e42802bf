#include "analysis/code/range_lines.h"

#include <string.h>

#define NUMBER_DIGITS_MAX 18
#define LINE_DIGITS_MAX   9

static struct frame_text part(const char *from, const char *to)
{
    return (struct frame_text){from, (size_t)(to - from)};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The end of the digits at `at`; NULL: there are none, or too many. */
static const char *read_digits(const char *at, const char *end, int digits_max, uint64_t *number)
{
    const char *digit = at;
    for (*number = 0; digit < end && is_digit(*digit) && digit - at < digits_max; digit++)
        *number = *number * 10 + (uint64_t)(*digit - '0');
    return digit == at || (digit < end && is_digit(*digit)) ? NULL : digit;
}

bool range_lines_sequence(const char *name, uint64_t *number)
{
    static const char word[] = ", seq = ";
    const char *at = strstr(name, word);
    if (!at)
        return false;
    at += sizeof word - 1;
    const char *end = read_digits(at, at + strlen(at), NUMBER_DIGITS_MAX, number);
    return end && (!*end || *end == ',');
}

/* --- XLA --- */

/* Where ":88" or ":88:4" starts, at the end of "train.py:88:4"; NULL: there is none. */
static const char *find_position(const char *at, const char *end)
{
    const char *position = NULL;
    for (int numbers = 0; numbers < 2; numbers++) {
        const char *digit = end;
        while (digit > at && is_digit(digit[-1]))
            digit--;
        if (digit == end || digit == at || digit[-1] != ':')
            break;
        end = position = digit - 1;
    }
    return position;
}

/* PATH:LINE[:COLUMN][[FUNCTION]][ OPERATION]. A path may have blanks and brackets, so the first place counts
 * that a position ends at. */
static bool read_frame(const char *at, const char *end, struct xla_frame *frame)
{
    for (const char *stop = at; stop <= end; stop++) {
        if (stop < end && *stop != '[' && *stop != ' ')
            continue;
        const char *position = find_position(at, stop), *close;
        uint64_t line;
        if (!position || position == at)
            continue;
        frame->file = part(at, position);
        frame->line = read_digits(position + 1, stop, LINE_DIGITS_MAX, &line) ? (uint32_t)line : 0;
        frame->name = part(stop, stop);
        if (stop < end && *stop == '[' && (close = memchr(stop, ']', (size_t)(end - stop))))
            frame->name = part(stop + 1, close);
        return true;
    }
    return false;
}

bool range_lines_next_xla(const char **at, struct xla_frame *frame)
{
    while (**at) {
        const char *line = *at, *end = line + strcspn(line, "\n");
        bool is_whole = *end;
        *at = is_whole ? end + 1 : end;
        size_t depth = strspn(line, "-");
        /* A line that does not end was cut. */
        if (!is_whole || !depth || line[depth] != ' ' || !read_frame(line + depth + 1, end, frame))
            continue;
        frame->depth = (uint32_t)depth;
        return true;
    }
    return false;
}

struct frame_text range_lines_xla_operation(const char *name)
{
    static const char thunk[] = "Thunk:#", given[] = "name=", other[] = "hlo_op=";
    const char *at = name;
    if (strncmp(at, thunk, sizeof thunk - 1) != 0)
        return part(name, name);
    at += sizeof thunk - 1;
    if (strncmp(at, given, sizeof given - 1) == 0)
        at += sizeof given - 1;
    else if (strncmp(at, other, sizeof other - 1) == 0)
        at += sizeof other - 1;
    const char *end = strstr(at, ",hlo_op=");
    return part(at, end ? end : at + strcspn(at, ",#"));
}
