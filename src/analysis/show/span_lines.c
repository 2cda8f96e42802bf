#include "analysis/show/span_lines.h"

#include "cli/util/text.h"

#include <inttypes.h>
#include <string.h>

#define WHERE_COLUMNS 20
#define NAME_COLUMNS  32

/* ns as µs with three decimals: exact, and aligned up to a day. */
static void add_us(struct text *text, uint64_t ns)
{
    text_add_format(text, "%12" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

static void add_padded(struct text *text, const char *string, size_t columns, bool utf8)
{
    size_t used = text_columns(string, utf8);
    text_add_clean(text, string, utf8);
    text_add_char(text, ' ', used < columns ? columns - used : 0);
}

static void add_where(struct text *text, const struct trace *trace, const struct trace_span *span, bool utf8)
{
    char where[256] = "-";
    if (span->lane != TRACE_NONE) {
        const struct trace_lane *lane = &trace->lanes[span->lane];
        snprintf(where, sizeof where, "gpu:%.120s/stream:%.40s",
                 trace_string(trace, trace->resources[lane->resource].device),
                 trace_string(trace, lane->stream));
    } else if (span->thread != TRACE_NONE) {
        snprintf(where, sizeof where, "thread:%.60s", trace_string(trace, trace->threads[span->thread].id));
    }
    add_padded(text, where, WHERE_COLUMNS, utf8);
}

/* Quotes a value that is empty or has spaces or quotes, so that fields can be split. */
static void add_value(struct text *text, const char *value, bool utf8)
{
    if (*value && !strpbrk(value, " \t\n\"=")) {
        text_add_clean(text, value, utf8);
        return;
    }
    struct text escaped = {0};
    struct json_writer json = JSON_TEXT(&escaped);
    json_write_text(&json, NULL, value);
    text_add_clean(text, escaped.data, utf8);
    text_deinit(&escaped);
}

static void add_span(struct text *text, const struct trace *trace, const struct trace_span *span, bool utf8)
{
    add_us(text, span->start_ns - trace->start_ns);
    text_add(text, " ");
    add_us(text, span->end_ns - span->start_ns);
    text_add_format(text, "  %-7s  %-5s  ", trace_class_name(span->class), span->error ? "error" : "ok");
    add_where(text, trace, span, utf8);
    text_add_format(text, "  %016" PRIx64 "  ", span->id);
    if (span->parent_id)
        text_add_format(text, "%016" PRIx64 "  ", span->parent_id);
    else
        text_add_format(text, "%-16s  ", "-");
    add_padded(text, trace_string(trace, span->name), NAME_COLUMNS, utf8);
    text_add(text, "\t");
    for (uint32_t i = span->attr_first; i < span->attr_first + span->attr_count; i++) {
        text_add(text, i == span->attr_first ? "" : " ");
        text_add_clean(text, trace_string(trace, trace->attrs[i].key), utf8);
        text_add(text, "=");
        add_value(text, trace_attr_text(trace, &trace->attrs[i]), utf8);
    }
    text_add(text, "\n");
}

void span_lines_write(FILE *out, const struct trace *trace, bool utf8)
{
    struct text line = {0};
    fprintf(out, "#%15s %16s  %-7s  %-5s  %-*s  %-16s  %-16s  %-*s\t%s\n", "start_us", "duration_us", "class",
            "state", WHERE_COLUMNS, "where", "span", "parent", NAME_COLUMNS, "name", "attributes");
    for (size_t i = 0; i < trace->span_count; i++) {
        text_clear(&line);
        add_span(&line, trace, &trace->spans[i], utf8);
        fwrite(line.data, 1, line.len, out);
    }
    text_deinit(&line);
}
