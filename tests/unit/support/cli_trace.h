/* Traces for the tests of the command line: OTLP JSON given as text, read as `cuspan show` reads it, and what
 * a function writes to a FILE as a string. */
#ifndef TESTS_SUPPORT_CLI_TRACE_H
#define TESTS_SUPPORT_CLI_TRACE_H

#include "cli/trace/otlp_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACE_A "0af7651916cd43dd8448eb211c80319c"
#define TRACE_B "4bf92f3577b34da6a3ce929d0e0e4736"

#define PROCESS_RESOURCE                                                                                     \
    "\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"app\"}},"          \
    "{\"key\":\"process.pid\",\"value\":{\"intValue\":\"42\"}}]}"
#define GPU_RESOURCE                                                                                         \
    "\"resource\":{\"attributes\":[{\"key\":\"cuda.device.id\",\"value\":{\"intValue\":\"0\"}},"             \
    "{\"key\":\"hw.name\",\"value\":{\"stringValue\":\"NVIDIA H200\"}}]}"

/* One line with the spans (joined by commas) of one resource. */
#define LINE(resource, spans)                                                                                \
    "{\"resourceSpans\":[{" resource ",\"scopeSpans\":[{\"spans\":[" spans "]}]}]}\n"

/* Times are literals in ns after a common second. */
#define SPAN(trace, id, parent, name, start, end, more)                                                      \
    "{\"traceId\":\"" trace "\",\"spanId\":\"" id "\",\"parentSpanId\":\"" parent "\",\"name\":\"" name      \
    "\",\"startTimeUnixNano\":\"1700000000" start "\",\"endTimeUnixNano\":\"1700000000" end "\"" more "}"
#define ATTRS(list)          ",\"attributes\":[" list "]"
#define ATTR_TEXT(key, text) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" text "\"}}"
#define ATTR_NUMBER(key, n)  "{\"key\":\"" key "\",\"value\":{\"intValue\":\"" n "\"}}"
#define FAILED               ",\"status\":{\"code\":2}"

static inline FILE *file_with(const char *text)
{
    FILE *file = tmpfile();
    if (!file || fwrite(text, 1, strlen(text), file) != strlen(text) || fflush(file) != 0)
        abort();
    return file;
}

static inline enum status read_text(const char *text, const char *trace_id, size_t spans_max,
                                    struct trace *trace, struct error *err)
{
    struct otlp_choice choice = {trace_id, spans_max};
    FILE *file = file_with(text);
    enum status status = otlp_read(file, "input", &choice, trace, err);
    fclose(file);
    return status;
}

/* Parses a text that must be valid. */
static inline struct trace trace_of(const char *text)
{
    struct trace trace;
    struct error err = {""};
    if (read_text(text, NULL, 100000, &trace, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return trace;
}

/* Returns the content of a file, NUL-terminated; the caller frees it. */
static inline char *contents_of(FILE *file)
{
    long size = ftell(file);
    char *text = calloc((size_t)size + 1, 1);
    rewind(file);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size)
        abort();
    return text;
}

#endif
