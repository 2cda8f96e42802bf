#include "agent/export/spool/json_spans.h"

#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX 128

/* Just enough JSON to tell whether the text is complete and to count the objects in arrays named "spans". */
struct walk {
    const char *at;
    const char *end;
    int depth;
    int spans_depth; /* of the array that is being counted; 0: none */
    bool after_spans_key;
    bool has_resource_spans;
    int64_t spans;
};

/* Skips a string. False if it is not terminated. */
static bool take_string(struct walk *walk)
{
    const char *begin = ++walk->at;
    while (walk->at < walk->end && *walk->at != '"')
        walk->at += *walk->at == '\\' ? 2 : 1;
    if (walk->at >= walk->end)
        return false;
    size_t length = (size_t)(walk->at - begin);
    walk->after_spans_key = length == 5 && memcmp(begin, "spans", 5) == 0;
    walk->has_resource_spans |= walk->depth == 1 && length == 13 && memcmp(begin, "resourceSpans", 13) == 0;
    return true;
}

static bool take(struct walk *walk)
{
    switch (*walk->at) {
    case '"':
        return take_string(walk);
    case '{':
        walk->spans += walk->spans_depth && walk->depth == walk->spans_depth;
        walk->depth++;
        break;
    case '[':
        walk->depth++;
        if (walk->after_spans_key && !walk->spans_depth)
            walk->spans_depth = walk->depth;
        break;
    case '}':
    case ']':
        if (walk->spans_depth == walk->depth)
            walk->spans_depth = 0;
        walk->depth--;
        break;
    case ':':
    case ' ':
    case '\t':
        return true; /* the next value still belongs to the key */
    default:
        break;
    }
    walk->after_spans_key = false;
    return walk->depth >= 0 && walk->depth <= DEPTH_MAX;
}

int64_t json_spans_count(const char *line, size_t bytes)
{
    struct walk walk = {.at = line, .end = line + bytes};
    if (bytes == 0 || *line != '{')
        return -1;
    for (; walk.at < walk.end; walk.at++)
        if (!take(&walk))
            return -1;
    return walk.depth == 0 && walk.has_resource_spans ? walk.spans : -1;
}
