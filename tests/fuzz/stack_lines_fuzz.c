/* Texts of call stacks and of ranges, as the command line reads them from files that it does not control:
 * every frame, and the autograd node that it may name, is within the text, in order. */
#include "analysis/code/range_lines.h"

#include "fuzz.h"

static void require_within(struct frame_text text, const char *from, const char *to)
{
    require(text.at >= from && text.at <= to && text.len <= (size_t)(to - text.at), "a text is elsewhere");
}

static void check_ranges(const char *text, const char *end)
{
    uint64_t number;
    struct xla_frame frame;
    require_within(stack_lines_autograd_range(text), text, end);
    require_within(range_lines_xla_operation(text), text, end);
    range_lines_sequence(text, &number);
    for (const char *at = text, *before = at; range_lines_next_xla(&at, &frame); before = at) {
        require(at > before && at <= end, "the ranges' text does not advance");
        require(frame.depth > 0 && frame.file.len > 0, "a frame without depth or file");
        require_within(frame.file, before, at);
        require_within(frame.name, before, at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    require(text != NULL, "out of memory");
    memcpy(text, data, size);
    text[size] = 0;
    const char *at = text, *end = text + strlen(text);
    struct stack_frame frame;
    for (const char *before = at; stack_lines_next(&at, &frame); before = at) {
        require(at > before && at <= end, "the text does not advance");
        require_within(frame.file, before, at);
        require_within(frame.name, before, at);
        require_within(stack_lines_autograd(&frame), frame.name.at, frame.name.at + frame.name.len);
    }
    check_ranges(text, end);
    stack_lines_is_library(text);
    free(text);
    return 0;
}
