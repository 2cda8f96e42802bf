#include "cli/trace/trace_read.h"

#include "cli/trace/documents.h"
#include "cli/trace/otlp_json.h"
#include "cli/trace/otlp_protobuf.h"
#include "cli/trace/parse_ahead.h"
#include "cli/trace/span_store.h"
#include "cli/trace/trace_files.h"
#include "cli/trace/trace_segments.h"
#include "cli/trace/trace_source.h"
#include "cli/util/progress.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRESS_RECORDS 8192

struct reader {
    struct trace_files files;
    struct store store;
    struct span_sort *sort;
    struct otlp_json json;
    struct otlp_protobuf protobuf;
    struct parse_ahead *ahead;
    size_t cut_files;
    /* By file: spans from a pipe or a recording, for a second pass; NULL: the file can be opened again. */
    FILE **kept;
    /* Of the current file. */
    const char *name;
    struct documents *documents;
    struct progress progress;
    uint64_t file_bytes;
};

/* --- one document --- */

static enum status complain(const struct reader *reader, const struct document *document, const char *what,
                            size_t column, struct error *err)
{
    char place[64] = "";
    if (documents_are_messages(reader->documents))
        return error_set(err, STATUS_INVALID, "%.300s: message %llu (offset %llu): %.200s", reader->name,
                         (unsigned long long)document->number, (unsigned long long)document->offset, what);
    if (column)
        snprintf(place, sizeof place, " at column %zu", column);
    return error_set(err, STATUS_INVALID, "%.300s:%llu: %.200s%s", reader->name,
                     (unsigned long long)document->number, what, place);
}

/* A failure that is not the document's keeps its own words. `column`: from 1, or 0. */
static enum status place_error(const struct reader *reader, const struct document *document, size_t column,
                               enum status status, struct error *err)
{
    struct error inner = *err;
    if (status != STATUS_INVALID)
        return status;
    return complain(reader, document, inner.text, column, err);
}

static enum status read_json(struct reader *reader, char *bytes, size_t len, struct error *err)
{
    enum status status = otlp_json_parse(&reader->json, bytes, len, err);
    return status == STATUS_OK ? otlp_json_take(&reader->json, &reader->store, err) : status;
}

static size_t column_of(const struct otlp_json *json)
{
    return json->error_at == SIZE_MAX ? 0 : json->error_at + 1;
}

/* The first line is not valid JSON: the file may be one document on many lines. */
static enum status read_whole(struct reader *reader, struct document *document, size_t first_error,
                              struct error *err)
{
    enum status status = documents_join_rest(reader->documents, document, err);
    if (status != STATUS_OK)
        return status;
    char *copy = xcalloc(document->len + DOCUMENT_PADDING, 1); /* reading overwrites it */
    memcpy(copy, document->bytes, document->len);
    status = read_json(reader, copy, document->len, err);
    size_t at = reader->json.error_at, line = 1;
    free(copy);
    if (status != STATUS_INVALID)
        return status;
    for (size_t i = 0; at != SIZE_MAX && i < at && i < document->len; i++)
        line += document->bytes[i] == '\n';
    if (at == SIZE_MAX)
        return place_error(reader, document, 0, status, err);
    if (reader->json.ends_early)
        return error_set(err, STATUS_INVALID,
                         "%.300s:%zu: the file is truncated: its JSON document ends here, incomplete",
                         reader->name, line);
    if (line == 1)
        return complain(reader, document, "invalid JSON", first_error + 1, err);
    return error_set(err, STATUS_INVALID, "%.300s:%zu: invalid JSON from this line on", reader->name, line);
}

static enum status read_first_line(struct reader *reader, struct document *document, struct error *err)
{
    char *copy = xcalloc(document->len + DOCUMENT_PADDING, 1);
    memcpy(copy, document->bytes, document->len);
    enum status status = read_json(reader, copy, document->len, err);
    free(copy);
    bool is_no_json = status == STATUS_INVALID && reader->json.error_at != SIZE_MAX;
    if (is_no_json && document->is_complete)
        return read_whole(reader, document, reader->json.error_at, err);
    if (is_no_json && reader->json.ends_early) {
        reader->cut_files++;
        return STATUS_OK;
    }
    return place_error(reader, document, column_of(&reader->json), status, err);
}

static enum status take_protobuf(struct reader *reader, const struct document *document, struct error *err)
{
    enum status status =
        otlp_protobuf_read(&reader->protobuf, document->bytes, document->len, &reader->store, err);
    return place_error(reader, document, 0, status, err);
}

static enum status take_json(struct reader *reader, struct parsed *parsed, struct error *err)
{
    enum status status = parsed->json_status;
    if (status != STATUS_OK && !parsed->document.is_complete) {
        reader->cut_files++; /* the writer was killed, or is still writing */
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        *err = parsed->err;
    else
        status = otlp_json_take(&parsed->json, &reader->store, err);
    return place_error(reader, &parsed->document, column_of(&parsed->json), status, err);
}

/* --- files --- */

/* May be JSON on many lines, so it is read without the other thread. */
static enum status read_first(struct reader *reader, bool *is_end, struct error *err)
{
    struct document document;
    enum status status = documents_next(reader->documents, &document, err);
    *is_end = document.len == 0;
    if (status != STATUS_OK || *is_end)
        return status;
    if (!document.is_json)
        return take_protobuf(reader, &document, err);
    if (!documents_are_messages(reader->documents))
        return read_first_line(reader, &document, err);
    status = read_json(reader, document.bytes, document.len, err);
    return place_error(reader, &document, column_of(&reader->json), status, err);
}

static enum status read_others(struct reader *reader, struct error *err)
{
    enum status status = parse_ahead_start(reader->ahead, reader->documents, err);
    while (status == STATUS_OK) {
        struct parsed *parsed = parse_ahead_next(reader->ahead);
        status = parsed->status;
        if (status != STATUS_OK)
            *err = parsed->err;
        if (status != STATUS_OK || parsed->document.len == 0)
            break;
        status = parsed->document.is_json ? take_json(reader, parsed, err)
                                          : take_protobuf(reader, &parsed->document, err);
        progress_update(&reader->progress, parsed->read_bytes, reader->file_bytes);
    }
    parse_ahead_stop(reader->ahead);
    return status;
}

static enum status read_documents(struct reader *reader, struct error *err)
{
    size_t cut_before = reader->cut_files;
    bool is_end;
    enum status status = read_first(reader, &is_end, err);
    if (status == STATUS_OK && !is_end)
        status = read_others(reader, err);
    if (status == STATUS_OK && documents_are_cut(reader->documents) && reader->cut_files == cut_before)
        reader->cut_files++;
    return status;
}

/* Whether opening `path` again would not give the same bytes. */
static bool is_transient(FILE *file, const char *path)
{
    struct stat opened, named;
    bool is_named = strcmp(path, "-") != 0 && stat(path, &named) == 0 && S_ISREG(named.st_mode);
    return !is_named || fstat(fileno(file), &opened) != 0 || opened.st_ino != named.st_ino ||
           opened.st_dev != named.st_dev;
}

static enum status open_file(struct reader *reader, size_t i, FILE **file, struct error *err)
{
    const char *path = reader->files.paths[i];
    enum status status = STATUS_OK;
    *file = reader->kept[i];
    if (!*file) {
        status = trace_source_open(path, file, err);
        if (status == STATUS_OK && is_transient(*file, path))
            reader->kept[i] = *file;
    }
    /* stdio has read the first bytes, and a first pass all of them. */
    if (status == STATUS_OK && lseek(fileno(*file), 0, SEEK_SET) != 0)
        status = error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    return status;
}

static enum status read_file(struct reader *reader, size_t i, struct error *err)
{
    struct stat facts;
    FILE *file = NULL;
    enum status status = open_file(reader, i, &file, err);
    if (status != STATUS_OK)
        return status;
    reader->name = trace_source_name(reader->files.paths[i]);
    reader->file_bytes = fstat(fileno(file), &facts) == 0 && facts.st_size > 0 ? (uint64_t)facts.st_size : 0;
    char *what = xasprintf("reading %s", reader->name);
    progress_begin(&reader->progress, what);
    status = documents_open(fileno(file), reader->name, &reader->documents, err);
    if (status == STATUS_OK)
        status = read_documents(reader, err);
    documents_close(reader->documents);
    reader->documents = NULL;
    progress_end(&reader->progress);
    free(what);
    if (file != reader->kept[i])
        fclose(file);
    return status;
}

static enum status complain_empty(const struct reader *reader, struct error *err)
{
    bool is_one = reader->files.count == 1;
    const char *why = is_one ? "it has no spans" : "neither it nor the other files have spans";
    if (reader->cut_files && is_one)
        why =
            "the file is truncated before the end of its first line or message, so no span can be read; its "
            "writer was killed or is still writing";
    return error_set(err, STATUS_NOT_FOUND, "%.300s: %s", trace_source_name(reader->files.paths[0]), why);
}

static enum status read_files(struct reader *reader, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < reader->files.count && status == STATUS_OK; i++)
        status = read_file(reader, i, err);
    if (status == STATUS_OK && reader->store.trace->list_count == 0)
        status = complain_empty(reader, err);
    return status;
}

static enum status start(struct reader *reader, const struct trace_input *input, struct trace *trace,
                         size_t buffer_bytes, struct error *err)
{
    enum status status = STATUS_OK;
    *reader = (struct reader){.sort = span_sort_create(buffer_bytes), .ahead = parse_ahead_create()};
    trace_init(trace);
    store_init(&reader->store, trace, reader->sort, input->wanted);
    if (input->traces_max)
        reader->store.traces_max = input->traces_max;
    if (input->name_bytes_max)
        reader->store.name_bytes_max = input->name_bytes_max;
    for (size_t i = 0; i < input->path_count && status == STATUS_OK; i++)
        status = trace_files_add(&reader->files, input->paths[i], err);
    reader->kept = xcalloc(reader->files.count + 1, sizeof(FILE *));
    return status;
}

static void end(struct reader *reader)
{
    for (size_t i = 0; i < reader->files.count; i++) {
        if (reader->kept[i])
            fclose(reader->kept[i]);
    }
    free(reader->kept);
    parse_ahead_destroy(reader->ahead);
    trace_files_deinit(&reader->files);
    store_deinit(&reader->store);
    span_sort_destroy(reader->sort);
    otlp_json_deinit(&reader->json);
    otlp_protobuf_deinit(&reader->protobuf);
}

/* After the last file. */
static enum status finish_reading(struct reader *reader, struct error *err)
{
    struct trace *trace = reader->store.trace;
    trace->start_ns = reader->store.start_ns;
    trace->end_ns = reader->store.end_ns;
    trace->is_cut = reader->cut_files > 0;
    trace->resource_attrs = trace->attr_count;
    parse_ahead_destroy(reader->ahead); /* makes room for the segments */
    reader->ahead = NULL;
    otlp_json_deinit(&reader->json);
    otlp_protobuf_deinit(&reader->protobuf);
    return span_sort_finish(reader->sort, err);
}

static size_t or_default(size_t limit, size_t otherwise)
{
    return limit ? limit : otherwise;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The most processes that have spans at the same time. */
static size_t processes_at_once(const struct trace *trace)
{
    size_t count = 0, ended = 0, most = 0;
    uint64_t *starts = xcalloc(2 * trace->resource_count + 1, sizeof *starts);
    uint64_t *ends = starts + trace->resource_count;
    for (size_t i = 0; i < trace->resource_count; i++) {
        const struct trace_resource *resource = &trace->resources[i];
        if (resource->device || resource->start_ns > resource->end_ns)
            continue;
        starts[count] = resource->start_ns;
        ends[count++] = resource->end_ns;
    }
    qsort(starts, count, sizeof *starts, compare_times);
    qsort(ends, count, sizeof *ends, compare_times);
    for (size_t i = 0; i < count; i++) {
        while (ends[ended] < starts[i])
            ended++;
        most = i + 1 - ended > most ? i + 1 - ended : most;
    }
    free(starts);
    return most;
}

static size_t default_margin(const struct trace *trace)
{
    size_t margin = TRACE_MARGIN_SPANS + TRACE_MARGIN_SPANS_PER_PROCESS * processes_at_once(trace);
    return margin < TRACE_MARGIN_SPANS_MAX ? margin : TRACE_MARGIN_SPANS_MAX;
}

enum status trace_read(const struct trace_input *input, struct trace *trace, trace_segment_fn *take,
                       void *context, struct trace_facts *facts, struct error *err)
{
    struct reader reader;
    enum status status =
        start(&reader, input, trace, or_default(input->buffer_bytes, TRACE_BUFFER_BYTES), err);
    *facts = (struct trace_facts){0};
    if (status == STATUS_OK)
        status = read_files(&reader, err);
    if (status == STATUS_OK)
        status = finish_reading(&reader, err);
    facts->spans = reader.store.spans;
    facts->files = reader.files.count;
    facts->cut_files = reader.cut_files;
    facts->has_rest = reader.store.has_rest;
    facts->has_other_names = reader.store.has_other_names;
    size_t margin = or_default(input->margin_spans, default_margin(trace));
    size_t segment = margin > TRACE_SEGMENT_SPANS ? margin : TRACE_SEGMENT_SPANS;
    if (status == STATUS_OK)
        status = trace_segments_pass(reader.sort, trace, or_default(input->segment_spans, segment), margin,
                                     take, context, facts, err);
    end(&reader);
    return status;
}

/* --- records --- */

static enum status take_records(struct reader *reader, trace_record_fn *take, void *context,
                                struct error *err)
{
    const struct span_record *record;
    enum status status;
    uint64_t taken = 0;
    progress_begin(&reader->progress, "writing");
    while ((status = span_sort_next(reader->sort, &record, err)) == STATUS_OK && record) {
        status = take(context, record, err);
        if (status != STATUS_OK)
            break;
        if (++taken % PROGRESS_RECORDS == 0)
            progress_update(&reader->progress, taken, reader->store.spans);
    }
    progress_end(&reader->progress);
    return status;
}

enum status trace_read_records(const struct trace_input *input, struct trace *trace, trace_record_fn *take,
                               void *context, struct trace_facts *facts, struct store_omissions *omissions,
                               struct error *err)
{
    struct reader reader;
    enum status status =
        start(&reader, input, trace, or_default(input->buffer_bytes, TRACE_BUFFER_BYTES), err);
    *facts = (struct trace_facts){0};
    reader.store.wants_details = true;
    reader.store.traces_max = 1; /* records have their trace's ID */
    reader.store.name_bytes_max = or_default(input->name_bytes_max, TRACE_RECORD_NAME_BYTES);
    span_sort_by_resource(reader.sort);
    if (status == STATUS_OK)
        status = read_files(&reader, err);
    if (status == STATUS_OK)
        status = finish_reading(&reader, err);
    facts->spans = reader.store.spans;
    facts->files = reader.files.count;
    facts->cut_files = reader.cut_files;
    *omissions = reader.store.omissions;
    if (status == STATUS_OK)
        status = take_records(&reader, take, context, err);
    end(&reader);
    return status;
}

/* --- one trace --- */

/* Of the traces with the most spans, the last one: runs are appended to a file. */
static uint32_t largest_trace(const struct trace *trace, const char *prefix, size_t *matches)
{
    uint32_t largest = TRACE_NONE;
    *matches = 0;
    for (size_t i = 0; i < trace->list_count; i++) {
        char id[TRACE_ID_CHARS];
        trace_write_id(&trace->list[i], id);
        if (strncmp(id, prefix, strlen(prefix)) != 0)
            continue;
        ++*matches;
        if (largest == TRACE_NONE || trace->list[i].spans >= trace->list[largest].spans)
            largest = (uint32_t)i;
    }
    return largest;
}

static enum status choose(const struct reader *reader, const char *trace_id, uint32_t *chosen,
                          struct error *err)
{
    const struct trace *trace = reader->store.trace;
    const char *name = trace_source_name(reader->files.paths[0]);
    size_t matches, all;
    *chosen = largest_trace(trace, trace_id ? trace_id : "", &matches);
    if (matches == 0)
        return error_set(err, STATUS_NOT_FOUND, "%.200s: none of its %zu traces is %.40s; the largest is %s",
                         name, trace->list_count, trace_id,
                         trace_id_text(trace, largest_trace(trace, "", &all)));
    if (trace_id && matches > 1)
        return error_set(err, STATUS_INVALID, "%.200s: %zu traces start with %.40s; give more digits", name,
                         matches, trace_id);
    return STATUS_OK;
}

/* The second time, only the chosen trace is kept. */
static void start_again(struct reader *reader, uint32_t chosen)
{
    struct trace *trace = reader->store.trace;
    for (size_t i = 0; i < trace->list_count; i++)
        trace->list[i].spans = 0;
    reader->store.only_counts = false;
    reader->store.only_trace = chosen;
    reader->cut_files = 0;
    trace->id = trace_intern(trace, trace_id_text(trace, chosen));
    trace->others = trace->list_count - 1;
}

static enum status take_nothing(void *context, struct trace *segment, struct error *err)
{
    (void)context;
    (void)segment;
    (void)err;
    return STATUS_OK;
}

enum status trace_read_one(const struct trace_input *input, const char *trace_id, struct trace *trace,
                           struct error *err)
{
    struct reader reader;
    struct trace_facts facts;
    uint32_t chosen = TRACE_NONE;
    enum status status = start(&reader, input, trace, SIZE_MAX, err);
    reader.store.only_counts = true;
    if (status == STATUS_OK)
        status = read_files(&reader, err);
    if (status == STATUS_OK)
        status = choose(&reader, trace_id, &chosen, err);
    if (status == STATUS_OK) {
        start_again(&reader, chosen);
        status = read_files(&reader, err);
    }
    if (status == STATUS_OK)
        status = finish_reading(&reader, err);
    if (status == STATUS_OK)
        status = trace_segments_pass(reader.sort, trace, SIZE_MAX, 0, take_nothing, NULL, &facts, err);
    end(&reader);
    return status;
}
