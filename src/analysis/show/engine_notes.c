#include "analysis/show/engine_notes.h"

#include "cli/util/text.h"
#include "model/semconv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SPANS_MAX     8  /* with notes */
#define ITEMS_MAX     24 /* requests or traces that are named */
#define TRACE_DIGITS  8  /* enough for --trace */
#define ITEM_BYTES    128
#define UNKNOWN       UINT64_MAX
#define REQUEST(word) SEMCONV_ENGINE_REQUEST_##word

struct notes {
    FILE *out;
    const struct trace *trace;
    size_t columns, used; /* of the line */
    bool utf8, is_first;  /* is_first: the line has only its title */
    unsigned spans;
};

static void write_text(struct notes *notes, const char *string)
{
    struct text text = {0};
    text_add_clean(&text, string, notes->utf8);
    fputs(text.data ? text.data : "", notes->out);
    notes->used += text_columns(string, notes->utf8);
    text_deinit(&text);
}

static void begin_line(struct notes *notes, const char *title)
{
    notes->used = 0;
    notes->is_first = true;
    write_text(notes, title);
}

/* Adds a fact to the line, on a new one if there is no room. */
__attribute__((format(printf, 2, 3))) static void add(struct notes *notes, const char *format, ...)
{
    char fact[ITEM_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(fact, sizeof fact, format, args);
    va_end(args);
    const char *before = notes->is_first ? ": " : ", ";
    if (notes->used + strlen(before) + text_columns(fact, notes->utf8) >= notes->columns) {
        fprintf(notes->out, "%s\n  ", notes->is_first ? ":" : ",");
        notes->used = 2;
        before = "";
    }
    notes->is_first = false;
    write_text(notes, before);
    write_text(notes, fact);
}

static uint64_t number_of(const struct notes *notes, const struct trace_span *span, const char *key)
{
    uint32_t string = trace_find_string(notes->trace, key);
    const struct trace_attr *attr = string == MAP_NONE ? NULL : trace_find_attr(notes->trace, span, string);
    return attr ? trace_attr_int(notes->trace, attr) : UNKNOWN;
}

/* `what` is in the plural. */
static void add_count(struct notes *notes, const struct trace_span *span, const char *key, const char *what)
{
    uint64_t count = number_of(notes, span, key);
    int len = (int)(strlen(what) - (count == 1 && text_ends_with(what, "s")));
    if (count != UNKNOWN && count > 0)
        add(notes, "%" PRIu64 " %.*s", count, len, what);
}

static void add_time(struct notes *notes, const struct trace_span *span, const char *key, const char *what)
{
    char number[TEXT_NUMBER_BYTES];
    uint64_t ns = number_of(notes, span, key);
    if (ns != UNKNOWN)
        add(notes, "%s %s", what, text_duration(number, ns, notes->utf8));
}

/* Returns the next text of a list in JSON, and moves `at` behind it; NULL: there is none. It stays escaped.
 */
static const char *next_item(const char **at, size_t *len)
{
    const char *start = *at ? strchr(*at, '"') : NULL, *end = start ? start + 1 : NULL;
    while (end && *end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    if (!end || !*end)
        return NULL;
    *at = end + 1;
    *len = (size_t)(end - start - 1);
    return start + 1;
}

static void write_parts(struct notes *notes, const struct trace_span *span)
{
    const char *at = trace_span_attr(notes->trace, span, SEMCONV_ENGINE_ITERATION_PARTS), *item;
    uint64_t requests = number_of(notes, span, SEMCONV_ENGINE_ITERATION_REQUESTS);
    size_t len, count = 0;
    if (!at)
        return;
    begin_line(notes, "requests");
    for (; count < ITEMS_MAX && (item = next_item(&at, &len)) != NULL; count++)
        add(notes, "%.*s", (int)len, item);
    if (requests != UNKNOWN && requests > count)
        add(notes, "and %" PRIu64 " more", requests - count);
    fputc('\n', notes->out);
}

/* Short IDs start with zeros. */
static int digits_of(const char *trace_id)
{
    return strspn(trace_id, "0") < TRACE_DIGITS ? TRACE_DIGITS : TRACE_ID_CHARS - 1;
}

/* Names the traces of the span's links to what the word says. */
static void write_links(struct notes *notes, const struct trace_span *span, const char *word)
{
    const char *at = trace_span_attr(notes->trace, span, "links"), *item;
    char title[64];
    size_t len, word_len = strlen(word), count = 0, more = 0;
    snprintf(title, sizeof title, "traces of %ss (--trace ID)", word);
    while ((item = next_item(&at, &len)) != NULL) {
        if (len != word_len + 1 + 32 || strncmp(item, word, word_len) != 0)
            continue;
        if (count == 0)
            begin_line(notes, title);
        if (count++ < ITEMS_MAX)
            add(notes, "%.*s", digits_of(item + word_len + 1), item + word_len + 1);
        else
            more++;
    }
    if (more)
        add(notes, "and %zu more", more);
    if (count)
        fputc('\n', notes->out);
}

static void write_iteration(struct notes *notes, const struct trace_span *span)
{
    begin_line(notes, trace_string(notes->trace, span->name));
    if (trace_span_attr(notes->trace, span, SEMCONV_ENGINE_ITERATION_SUMMARY))
        add(notes, "sent afterwards as a summary, without the spans of its work");
    add_count(notes, span, SEMCONV_ENGINE_ITERATION_REQUESTS, "requests");
    add_count(notes, span, SEMCONV_ENGINE_ITERATION_PREFILL_TOKENS, "prefill tokens");
    add_count(notes, span, SEMCONV_ENGINE_ITERATION_DECODE_TOKENS, "decode tokens");
    fputc('\n', notes->out);
    write_parts(notes, span);
    write_links(notes, span, "request"); /* files of earlier versions; now those of rank 0 */
    for (uint32_t i = span->first_child; i != TRACE_NONE; i = notes->trace->spans[i].next_sibling)
        write_links(notes, &notes->trace->spans[i], "request");
}

static void write_request(struct notes *notes, const struct trace_span *span)
{
    const char *id = trace_span_attr(notes->trace, span, SEMCONV_GEN_AI_REQUEST_ID);
    const char *end = trace_span_attr(notes->trace, span, REQUEST(END));
    uint64_t prefill_ns = number_of(notes, span, REQUEST(GPU_SHARE_PREFILL));
    uint64_t decode_ns = number_of(notes, span, REQUEST(GPU_SHARE_DECODE));
    uint64_t gpu_ns = number_of(notes, span, REQUEST(GPU_TIME));
    char cost[TEXT_NUMBER_BYTES], share[TEXT_NUMBER_BYTES];
    begin_line(notes, trace_string(notes->trace, span->name));
    if (id)
        add(notes, "%s", id);
    add(notes, "%s", end);
    add_time(notes, span, REQUEST(QUEUE_TIME), "queue");
    add_time(notes, span, REQUEST(PREFILL_TIME), "prefill");
    add_time(notes, span, REQUEST(DECODE_TIME), "decode");
    add_time(notes, span, REQUEST(TIME_PER_OUTPUT_TOKEN), "per token");
    add_count(notes, span, REQUEST(PROMPT_TOKENS), "prompt tokens");
    add_count(notes, span, REQUEST(CACHED_TOKENS), "cached");
    add_count(notes, span, REQUEST(GENERATED_TOKENS), "generated");
    add_count(notes, span, REQUEST(PREEMPTIONS), "preemptions");
    add_count(notes, span, REQUEST(ITERATIONS), "iterations");
    if (prefill_ns != UNKNOWN && decode_ns != UNKNOWN && gpu_ns != UNKNOWN)
        add(notes, "estimated GPU time %s (%s of its iterations)",
            text_duration(cost, prefill_ns + decode_ns, notes->utf8),
            text_share(share, prefill_ns + decode_ns, gpu_ns));
    fputc('\n', notes->out);
    write_links(notes, span, "iteration");
}

void engine_notes_write(FILE *out, const struct trace *trace, size_t columns, bool utf8)
{
    struct notes notes = {.out = out, .trace = trace, .columns = columns, .utf8 = utf8};
    for (size_t i = 0; i < trace->span_count && notes.spans < SPANS_MAX; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->class != CLASS_OTHER)
            continue;
        bool is_request = trace_span_attr(trace, span, REQUEST(END)) != NULL;
        if (!is_request && !trace_span_attr(trace, span, SEMCONV_ENGINE_ITERATION_REQUESTS))
            continue;
        if (!notes.spans++)
            fputc('\n', out);
        if (is_request)
            write_request(&notes, span);
        else
            write_iteration(&notes, span);
    }
}
