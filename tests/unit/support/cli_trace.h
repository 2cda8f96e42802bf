/* Traces for the tests of the command line: OTLP JSON given as text, read as `cuspan show` reads it, and what
 * a function writes to a FILE as a string. */
#pragma once

#include "analysis/trace/trace_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Reads the bytes as the file "input". */
static inline enum status read_bytes(const char *bytes, size_t len, const char *trace_id, struct trace *trace,
                                     struct error *err)
{
    char folder[] = "/tmp/cuspan-test-XXXXXX", path[sizeof folder + 8];
    if (!mkdtemp(folder))
        abort();
    snprintf(path, sizeof path, "%s/input", folder);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        abort();
    const char *paths[] = {path};
    struct trace_input input = {.paths = paths, .path_count = 1};
    struct trace_facts facts;
    enum status status = trace_read_one(&input, trace_id, trace, &facts, err);
    if (status != STATUS_OK)
        trace_deinit(trace);
    unlink(path);
    rmdir(folder);
    return status;
}

static inline enum status read_text(const char *text, const char *trace_id, struct trace *trace,
                                    struct error *err)
{
    return read_bytes(text, strlen(text), trace_id, trace, err);
}

/* Parses a text that must be valid. */
static inline struct trace trace_of(const char *text)
{
    struct trace trace;
    struct error err = {""};
    if (read_text(text, NULL, &trace, &err) != STATUS_OK) {
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
