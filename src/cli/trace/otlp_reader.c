#include "cli/trace/otlp_reader.h"

#include "cli/util/xalloc.h"
#include "cli/trace/otlp_span.h"
#include "cli/util/progress.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DOCUMENT_BYTES_MAX (1ll << 30) /* a document that is not JSON lines must fit into memory */

struct reader {
    FILE *file;
    const char *name;
    char *line;
    size_t line_capacity;
    size_t line_number;
    uint64_t bytes_read, bytes_whole;
    struct progress progress;
    char *what; /* the current activity, for the progress line */
    struct otlp_sink sink;
};

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == 0;
}

/* The column where parsing stopped, from 1. */
static size_t column_of(const struct reader *reader, const char *at)
{
    return at && at >= reader->line ? (size_t)(at - reader->line) + 1 : 1;
}

static enum status take_document(struct reader *reader, cJSON *document, struct error *err)
{
    struct error inner = {""};
    enum status status = otlp_take_document(&reader->sink, document, &inner);
    cJSON_Delete(document);
    if (status != STATUS_OK)
        return error_set(err, status, "%.200s:%zu: %.250s", reader->name, reader->line_number, inner.text);
    return STATUS_OK;
}

static enum status complain_not_json(const struct reader *reader, const char *at, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%.300s:%zu: invalid JSON at column %zu", reader->name,
                     reader->line_number, column_of(reader, at));
}

/* If the first line is not valid JSON, the input may be one document on many lines. */
static enum status read_whole_document(struct reader *reader, const char *stopped_at, struct error *err)
{
    size_t size = (size_t)reader->bytes_whole, got;
    if (size == 0 || size > DOCUMENT_BYTES_MAX)
        return complain_not_json(reader, stopped_at, err);
    char *text = xcalloc(size + 1, 1);
    rewind(reader->file);
    got = fread(text, 1, size, reader->file);
    const char *end = NULL;
    cJSON *document = cJSON_ParseWithLengthOpts(text, got + 1, &end, 1);
    size_t line = 1;
    for (const char *at = text; end && at < end; at++)
        line += *at == '\n';
    free(text);
    if (!document && line <= 1)
        return complain_not_json(reader, stopped_at, err);
    if (!document) {
        reader->line_number = line;
        return error_set(err, STATUS_INVALID, "%.300s:%zu: invalid JSON from this line on", reader->name,
                         line);
    }
    return take_document(reader, document, err);
}

static enum status take_line(struct reader *reader, size_t len, bool *is_end, struct error *err)
{
    char *text = reader->line;
    if (reader->line_number == 1 && strncmp(text, "\xef\xbb\xbf", 3) == 0)
        memset(text, ' ', 3);
    if (is_blank(text))
        return STATUS_OK;
    const char *stopped_at = NULL;
    cJSON *document = cJSON_ParseWithLengthOpts(text, len + 1, &stopped_at, 1);
    if (document)
        return take_document(reader, document, err);
    bool is_complete = text[len - 1] == '\n';
    bool is_first = reader->sink.documents == 0;
    if (is_first && is_complete) {
        *is_end = true;
        return read_whole_document(reader, stopped_at, err);
    }
    if (!is_complete && !is_first) {
        reader->sink.trace->is_cut = true; /* the writer was killed, or is still writing */
        return STATUS_OK;
    }
    return complain_not_json(reader, stopped_at, err);
}

static enum status read_pass(struct reader *reader, struct error *err)
{
    ssize_t len;
    bool is_end = false;
    enum status status = STATUS_OK;
    rewind(reader->file);
    reader->line_number = 0;
    reader->bytes_read = 0;
    while (status == STATUS_OK && !is_end &&
           (len = getline(&reader->line, &reader->line_capacity, reader->file)) > 0) {
        reader->line_number++;
        reader->bytes_read += (uint64_t)len;
        status = take_line(reader, (size_t)len, &is_end, err);
        progress_update(&reader->progress, reader->bytes_read, reader->bytes_whole);
    }
    if (status == STATUS_OK && ferror(reader->file))
        status = error_set(err, STATUS_IO, "%.300s: %s", reader->name, strerror(errno));
    return status;
}

/* Of the traces with the most spans, the last one: runs are appended to a file. */
static const char *largest_trace(const struct trace *trace)
{
    size_t largest = 0;
    for (size_t i = 1; i < trace->list_count; i++) {
        if (trace->list[i].spans >= trace->list[largest].spans)
            largest = i;
    }
    return trace_string(trace, trace->list[largest].id);
}

static enum status choose(const struct reader *reader, const struct otlp_choice *choice, uint32_t *chosen,
                          struct error *err)
{
    const struct trace *trace = reader->sink.trace;
    size_t prefix_len = choice->trace_id ? strlen(choice->trace_id) : 0, matches = 0;
    *chosen = TRACE_NONE;
    for (size_t i = 0; i < trace->list_count; i++) {
        if (prefix_len && strncmp(trace_string(trace, trace->list[i].id), choice->trace_id, prefix_len) != 0)
            continue;
        matches++;
        if (*chosen == TRACE_NONE || trace->list[i].spans >= trace->list[*chosen].spans)
            *chosen = (uint32_t)i;
    }
    if (trace->list_count == 0)
        return error_set(err, STATUS_NOT_FOUND, "%.300s: it has no spans", reader->name);
    if (matches == 0)
        return error_set(err, STATUS_NOT_FOUND, "%.200s: none of its %zu traces is %.40s; the largest is %s",
                         reader->name, trace->list_count, choice->trace_id, largest_trace(trace));
    if (prefix_len && matches > 1)
        return error_set(err, STATUS_INVALID, "%.200s: %zu traces start with %.40s; give more digits",
                         reader->name, matches, choice->trace_id);
    return STATUS_OK;
}

/* Keeps only the spans of the chosen trace. */
static void keep_only(struct trace *trace, uint32_t chosen)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->span_count; i++) {
        if (trace->spans[i].trace == chosen)
            trace->spans[kept++] = trace->spans[i];
    }
    trace->span_count = kept;
    trace->id = trace->list[chosen].id;
    trace->left_out = trace->list[chosen].spans - kept;
    trace->others = trace->list_count - 1;
}

/* The second pass starts with only the list of traces. */
static enum status read_again(struct reader *reader, uint32_t chosen, struct error *err)
{
    struct trace *trace = reader->sink.trace;
    for (size_t i = 0; i < trace->list_count; i++)
        trace->list[i].spans = trace->list[i].kept = 0;
    trace->span_count = trace->attr_count = trace->event_count = trace->resource_count = 0;
    otlp_sink_restart(&reader->sink, chosen);
    return read_pass(reader, err);
}

/* Reads the input up to the limit. The caller calls end(). */
static enum status begin(struct reader *reader, FILE *file, const char *name, size_t spans_max,
                         struct trace *trace, struct error *err)
{
    struct stat facts;
    *reader = (struct reader){.file = file, .name = name, .what = xasprintf("reading %s", name)};
    trace_init(trace);
    if (fstat(fileno(file), &facts) == 0 && facts.st_size > 0)
        reader->bytes_whole = (uint64_t)facts.st_size;
    otlp_sink_init(&reader->sink, trace, spans_max);
    progress_begin(&reader->progress, reader->what);
    return read_pass(reader, err);
}

static enum status end(struct reader *reader, enum status status)
{
    struct trace *trace = reader->sink.trace;
    if (status == STATUS_OK)
        trace_finish(trace);
    progress_end(&reader->progress);
    otlp_sink_deinit(&reader->sink);
    free(reader->line);
    free(reader->what);
    if (status != STATUS_OK)
        trace_deinit(trace);
    return status;
}

enum status otlp_read(FILE *file, const char *name, const struct otlp_choice *choice, struct trace *trace,
                      struct error *err)
{
    struct reader reader;
    uint32_t chosen = TRACE_NONE;
    enum status status = begin(&reader, file, name, choice->spans_max, trace, err);
    if (status == STATUS_OK)
        status = choose(&reader, choice, &chosen, err);
    if (status == STATUS_OK && trace->list[chosen].kept < trace->list[chosen].spans)
        status = read_again(&reader, chosen, err);
    if (status == STATUS_OK)
        keep_only(trace, chosen);
    return end(&reader, status);
}

enum status otlp_read_all(FILE *file, const char *name, size_t spans_max, struct trace *trace,
                          struct error *err)
{
    struct reader reader;
    enum status status = begin(&reader, file, name, spans_max, trace, err);
    if (status == STATUS_OK && trace->list_count == 0)
        status = error_set(err, STATUS_NOT_FOUND, "%.300s: it has no spans", name);
    for (size_t i = 0; status == STATUS_OK && i < trace->list_count; i++)
        trace->left_out += trace->list[i].spans - trace->list[i].kept;
    return end(&reader, status);
}
