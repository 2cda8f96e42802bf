#include "analysis/trace/trace_read.h"

#include "base/text/sanitize.h"
#include "analysis/trace/documents.h"
#include "analysis/trace/otlp_json.h"
#include "analysis/trace/otlp_protobuf.h"
#include "analysis/trace/parse_ahead.h"
#include "analysis/trace/span_store.h"
#include "analysis/trace/trace_files.h"
#include "analysis/trace/trace_segments.h"
#include "analysis/trace/trace_source.h"
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
    struct trace_facts facts;
    /* By file: spans from a pipe or a recording, for a second pass; NULL: the file can be opened again. */
    FILE **kept;
    size_t spans_seen; /* in the files so far */
    /* Of the current file. */
    const char *name;
    struct documents *documents;
    struct progress progress;
    uint64_t file_bytes;
};

/* Of all traces, also if only one is kept. */
static size_t spans_of(const struct store *store)
{
    size_t spans = 0;
    for (size_t i = 0; i < store->trace->list_count; i++)
        spans += store->trace->list[i].spans;
    return spans;
}

/* --- one document --- */

/* Of the current file. */
struct file_state {
    bool is_cut;         /* its last line is incomplete */
    uint64_t cut_number; /* that line */
    struct error whole;  /* why the file is not JSON on many lines; empty: it was not tried */
};

static void note(const struct reader *reader, struct trace_note *note, const struct document *document,
                 size_t column, const char *what)
{
    char place[64] = "";
    if (column)
        snprintf(place, sizeof place, " at column %zu", column);
    if (documents_are_messages(reader->documents))
        trace_note_add(note, "%.200s: message %llu (offset %llu): %.150s", reader->name,
                       (unsigned long long)document->number, (unsigned long long)document->offset, what);
    else
        trace_note_add(note, "%.200s:%llu: %.150s%s", reader->name, (unsigned long long)document->number,
                       what, place);
}

static size_t column_of(const struct otlp_json *json)
{
    return json->error_at == SIZE_MAX ? 0 : json->error_at + 1;
}

/* After each document: skips it if it is INVALID, and notes its odd spans. `column`: from 1, or 0. */
static enum status finish_document(struct reader *reader, const struct document *document, size_t column,
                                   enum status status, const struct error *err)
{
    size_t skipped = reader->store.skipped;
    if (skipped) {
        note(reader, &reader->facts.odd_spans, document, 0, reader->store.skip_reason);
        reader->facts.odd_spans.count += skipped - 1;
        reader->store.skipped = 0;
        *reader->store.skip_reason = 0;
    }
    if (status != STATUS_INVALID)
        return status;
    note(reader, &reader->facts.documents, document, column, err->text);
    return STATUS_OK;
}

static enum status take_protobuf(struct reader *reader, const struct document *document, struct error *err)
{
    enum status status = otlp_protobuf_read(&reader->protobuf, &reader->json, document->bytes, document->len,
                                            &reader->store, err);
    return finish_document(reader, document, 0, status, err);
}

/* `status`: of parsing `document` into `json`. */
static enum status take_json(struct reader *reader, struct file_state *state, struct otlp_json *json,
                             const struct document *document, enum status status, struct error *err)
{
    /* Zeros are what a file system leaves of the end after a crash. */
    if (status != STATUS_OK && !document->is_complete && (json->ends_early || !*document->bytes)) {
        state->is_cut = true; /* the writer was killed, or is still writing */
        state->cut_number = document->number;
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        status = otlp_json_take(json, &reader->store, err);
    return finish_document(reader, document, column_of(json), status, err);
}

/* --- JSON on many lines --- */

static void complain_whole(const struct reader *reader, struct file_state *state,
                           const struct document *document, size_t taken)
{
    const struct otlp_json *json = &reader->json;
    size_t line = document->number, at = json->error_at == SIZE_MAX ? 0 : json->error_at;
    for (size_t i = 0; i < taken + at && i < document->len; i++)
        line += document->bytes[i] == '\n';
    const char *what = json->error_at == SIZE_MAX ? "no resourceSpans: this is not a trace in OTLP JSON"
                       : json->ends_early ? "the file is truncated: its JSON document ends here, incomplete"
                                          : "invalid JSON from this line on";
    (void)error_set(&state->whole, STATUS_INVALID, "%.300s:%zu: %s", reader->name, line, what);
}

/* The first line is the start of valid JSON, so the file may be JSON on many lines. If not, the rest is read
 * by lines. */
static enum status read_whole(struct reader *reader, struct file_state *state, struct document *document,
                              struct error *err)
{
    size_t taken = 0, lines = 0;
    enum status status = documents_join_rest(reader->documents, document, err);
    if (status == STATUS_OK)
        status =
            otlp_json_take_all(&reader->json, document->bytes, document->len, &reader->store, &taken, err);
    else if (status == STATUS_INVALID)
        state->whole = *err;
    if (status != STATUS_OK && status != STATUS_INVALID)
        return status;
    enum status finished = finish_document(reader, document, 0, STATUS_OK, err);
    for (size_t i = 0; i < taken && i < document->len; i++)
        lines += document->bytes[i] == '\n';
    if (status == STATUS_INVALID && !*state->whole.text)
        complain_whole(reader, state, document, taken);
    bool is_cut = status == STATUS_INVALID && taken && reader->json.ends_early;
    if (status == STATUS_INVALID && taken && !is_cut)
        trace_note_add(&reader->facts.documents, "%s", state->whole.text);
    state->is_cut |= is_cut;
    state->cut_number = document->number + lines;
    documents_drop_lines(reader->documents, document,
                         status == STATUS_OK || is_cut ? SIZE_MAX : lines + (taken > 0));
    return finished;
}

static enum status read_first_line(struct reader *reader, struct file_state *state, struct document *document,
                                   struct error *err)
{
    char *copy = xcalloc(document->len + DOCUMENT_PADDING, 1);
    memcpy(copy, document->bytes, document->len);
    enum status status = otlp_json_parse(&reader->json, copy, document->len, err);
    bool may_go_on = status == STATUS_INVALID &&
                     (reader->json.has_more || (reader->json.ends_early && document->is_complete));
    status = may_go_on ? read_whole(reader, state, document, err)
                       : take_json(reader, state, &reader->json, document, status, err);
    free(copy);
    return status;
}

/* --- files --- */

/* Of a file of lines: it may be JSON on many lines, so it is read without the other thread. */
static enum status read_first(struct reader *reader, struct file_state *state, bool *is_end,
                              struct error *err)
{
    struct document document;
    enum status status = documents_next(reader->documents, &document, err);
    *is_end = status == STATUS_OK && document.len == 0;
    return status != STATUS_OK || *is_end ? status : read_first_line(reader, state, &document, err);
}

static enum status read_others(struct reader *reader, struct file_state *state, struct error *err)
{
    enum status status = parse_ahead_start(reader->ahead, reader->documents, err);
    while (status == STATUS_OK) {
        struct parsed *parsed = parse_ahead_next(reader->ahead);
        const struct document *document = &parsed->document;
        *err = parsed->err;
        if (parsed->status != STATUS_OK && parsed->status != STATUS_CORRUPT)
            status = parsed->status;
        else if (parsed->status == STATUS_CORRUPT)
            status = finish_document(reader, document, 0, STATUS_INVALID, err);
        else if (document->len == 0)
            break;
        else if (document->is_json)
            status = take_json(reader, state, &parsed->json, document, parsed->json_status, err);
        else
            status = take_protobuf(reader, document, err);
        progress_update(&reader->progress, parsed->read_bytes, reader->file_bytes);
    }
    parse_ahead_stop(reader->ahead);
    return status;
}

/* Why the end of the file is missing. */
static void note_end(struct reader *reader, const struct file_state *state)
{
    struct trace_facts *facts = &reader->facts;
    const char *damage = documents_damage(reader->documents);
    bool is_cut = damage ? documents_are_cut(reader->documents) : state->is_cut;
    if (damage && !is_cut)
        trace_note_add(&facts->damaged, "%.200s: %s", reader->name, damage);
    if (is_cut && !facts->cut.count) {
        snprintf(facts->cut_file, sizeof facts->cut_file, "%s", reader->name);
        sanitize_in_place(facts->cut_file);
    }
    if (is_cut && damage)
        trace_note_add(&facts->cut, "%s", damage);
    else if (is_cut)
        trace_note_add(&facts->cut, "line %llu", (unsigned long long)state->cut_number);
}

static bool has_notes(const struct trace_facts *facts)
{
    return facts->cut.count || facts->damaged.count || facts->documents.count || facts->odd_spans.count;
}

static enum status read_documents(struct reader *reader, struct error *err)
{
    struct file_state state = {.is_cut = false};
    struct trace_facts before = reader->facts;
    size_t spans_before = reader->spans_seen;
    bool are_messages = documents_are_messages(reader->documents), is_end = false;
    const char *other = are_messages ? NULL : documents_other_kind(reader->documents);
    if (other) {
        trace_note_add(&reader->facts.documents, "%.200s: %s", reader->name, other);
        return STATUS_OK;
    }
    enum status status = are_messages ? STATUS_OK : read_first(reader, &state, &is_end, err);
    if (status == STATUS_OK && !is_end)
        status = read_others(reader, &state, err);
    if (status != STATUS_OK)
        return status;
    note_end(reader, &state);
    reader->spans_seen = spans_of(&reader->store);
    if (reader->spans_seen == spans_before && *state.whole.text && has_notes(&reader->facts)) {
        reader->facts = before; /* its lines are not worth a word */
        trace_note_add(&reader->facts.documents, "%s", state.whole.text);
    }
    return STATUS_OK;
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

/* The first reason that no span could be read. */
static enum status complain_empty(const struct reader *reader, struct error *err)
{
    const struct trace_facts *facts = &reader->facts;
    const char *name = reader->files.count ? trace_source_name(reader->files.paths[0]) : "the input";
    const struct trace_note *first = facts->documents.count ? &facts->documents
                                     : facts->damaged.count ? &facts->damaged
                                                            : &facts->odd_spans;
    if (first->count)
        return error_set(err, STATUS_INVALID, "%s%s", first->first,
                         first->count > 1 && first == &facts->odd_spans ? "; no span can be used" : "");
    if (facts->cut.count)
        return error_set(
            err, STATUS_NOT_FOUND,
            "%.250s: the file is truncated before the end of its first line or message (%.100s), "
            "so no span can be read; its writer was killed or is still writing",
            facts->cut_file, facts->cut.first);
    return error_set(err, STATUS_NOT_FOUND, "%.300s: %s", name,
                     reader->files.count == 1 ? "it has no spans"
                                              : "neither it nor the other files have spans");
}

static enum status read_files(struct reader *reader, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < reader->files.count && status == STATUS_OK; i++)
        status = read_file(reader, i, err);
    reader->facts.is_empty = status == STATUS_OK && spans_of(&reader->store) == 0;
    if (reader->facts.is_empty)
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
    reader->store.take_logs = input->take_logs;
    reader->store.logs_context = input->logs_context;
    if (input->traces_max)
        reader->store.traces_max = input->traces_max;
    if (input->name_bytes_max)
        reader->store.name_bytes_max = input->name_bytes_max;
    if (input->resources_max)
        reader->store.resources_max = input->resources_max;
    for (size_t i = 0; i < input->path_count && status == STATUS_OK; i++)
        status = trace_files_add(&reader->files, input->paths[i], err);
    reader->facts.left_out = reader->files.left_out;
    reader->kept = xcalloc(reader->files.count + 1, sizeof(FILE *));
    reader->kept[0] = input->file;
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
    trace->resource_attrs = trace->attr_count;
    parse_ahead_destroy(reader->ahead); /* makes room for the segments */
    reader->ahead = NULL;
    otlp_json_deinit(&reader->json);
    otlp_protobuf_deinit(&reader->protobuf);
    return span_sort_finish(reader->sort, err);
}

static void fill_facts(const struct reader *reader, struct trace_facts *facts)
{
    *facts = reader->facts;
    facts->spans = reader->store.spans;
    facts->files = reader->files.count;
    facts->replaced = reader->store.omissions.replaced;
    facts->backwards = reader->store.omissions.backwards;
    facts->has_rest = reader->store.has_rest;
    facts->has_other_names = reader->store.has_other_names;
    facts->has_other_resources = reader->store.has_other_resources;
}

/* `started`: by start(). */
static enum status read_all(struct reader *reader, enum status started, struct trace_facts *facts,
                            struct error *err)
{
    enum status status = started == STATUS_OK ? read_files(reader, err) : started;
    if (status == STATUS_OK)
        status = finish_reading(reader, err);
    fill_facts(reader, facts);
    return status;
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
    status = read_all(&reader, status, facts, err);
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
    reader.store.wants_fields = true;
    reader.store.traces_max = 1; /* records have their trace's ID */
    reader.store.name_bytes_max = or_default(input->name_bytes_max, TRACE_RECORD_NAME_BYTES);
    span_sort_by_resource(reader.sort);
    status = read_all(&reader, status, facts, err);
    facts->has_rest = facts->has_other_names = false; /* the records have all of them */
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
    reader->facts = (struct trace_facts){.files = 0};
    reader->store.omissions = (struct store_omissions){0};
    reader->spans_seen = 0;
    trace->id = trace_intern(trace, trace_id_text(trace, chosen));
}

static enum status take_nothing(void *context, struct trace *segment, struct error *err)
{
    return STATUS_OK;
}

enum status trace_read_one(const struct trace_input *input, const char *trace_id, struct trace *trace,
                           struct trace_facts *facts, struct error *err)
{
    struct reader reader;
    uint32_t chosen = TRACE_NONE;
    enum status status = start(&reader, input, trace, SIZE_MAX, err);
    reader.store.only_counts = true;
    if (status == STATUS_OK)
        status = read_files(&reader, err);
    if (status == STATUS_OK)
        status = choose(&reader, trace_id, &chosen, err);
    if (status == STATUS_OK)
        start_again(&reader, chosen);
    status = read_all(&reader, status, facts, err);
    if (status == STATUS_OK && trace->list[chosen].spans == 0)
        status = complain_empty(&reader, err);
    for (uint32_t i = 0; i < trace->list_count; i++)
        trace->others += i != chosen && trace->list[i].spans > 0;
    if (status == STATUS_OK)
        status = trace_segments_pass(reader.sort, trace, SIZE_MAX, 0, take_nothing, NULL, facts, err);
    end(&reader);
    return status;
}
