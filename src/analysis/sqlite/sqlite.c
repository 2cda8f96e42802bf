#include "analysis/sqlite/sqlite.h"

#include "base/files.h"
#include "cli/util/xalloc.h"
#include "analysis/sqlite/sqlite_tables.h"
#include "cli/util/text.h"
#include "model/semconv.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID    1668640622 /* "cusn", at byte 68 of each file that this program creates */
#define APPLICATION_ID_AT 68
#define ID_BITS           24 /* Nsight Systems packs a thread's number below its process's, 24 bits each */
#define ID_MASK           0xffffffu
#define BYTES_OF_KB       1000

struct sqlite_writer {
    struct trace *trace;
    char *path, *temporary; /* the file takes its name, and an older one's place, once it is whole */
    sqlite3 *db;
    sqlite3_stmt *rows[EXPORT_KIND_COUNT];
    sqlite3_stmt *span, *attribute, *string;
    struct int_map strings; /* that StringIds contains → 0 */
    uint32_t activity_key, range_key;
    sqlite_adjust_fn *adjust;
    void *adjust_context;
    bool has_failed;
    char problem[160]; /* of the first call that failed; the next call replaces SQLite's own text */
};

static void fail(struct sqlite_writer *w)
{
    w->has_failed = true;
    snprintf(w->problem, sizeof w->problem, "%s", w->db ? sqlite3_errmsg(w->db) : "no memory");
}

static void make(struct sqlite_writer *w, const char *sql)
{
    if (!w->has_failed && sqlite3_exec(w->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(w);
}

static sqlite3_stmt *prepare(struct sqlite_writer *w, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (!w->has_failed && sqlite3_prepare_v2(w->db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail(w);
    return statement;
}

static void step(struct sqlite_writer *w, sqlite3_stmt *statement)
{
    if (w->has_failed)
        return;
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail(w);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

static void bind_int(sqlite3_stmt *statement, int at, uint64_t number)
{
    sqlite3_bind_int64(statement, at, (sqlite3_int64)number);
}

/* Bound values stay in the trace until the row is written. */
static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

/* The string's number, which StringIds contains from now on. A string of only this segment becomes a
 * long-lived one. */
static void bind_string(struct sqlite_writer *w, sqlite3_stmt *statement, int at, uint32_t string)
{
    string = trace_intern(w->trace, trace_string(w->trace, string));
    sqlite3_bind_int64(statement, at, string);
    if (int_map_get(&w->strings, string) != MAP_NONE)
        return;
    int_map_set(&w->strings, string, 0);
    sqlite3_bind_int64(w->string, 1, string);
    bind_text(w->string, 2, trace_string(w->trace, string));
    step(w, w->string);
}

/* --- tables --- */

static void create_table(struct sqlite_writer *w, enum sqlite_kind kind)
{
    const struct sqlite_table *table = &sqlite_tables[kind];
    struct text create = {0}, insert = {0};
    text_add_format(&create, "CREATE TABLE %s (", table->name);
    text_add_format(&insert, "INSERT INTO %s VALUES (", table->name);
    for (size_t c = 0; c < table->column_count; c++) {
        text_add_format(&create, "%s\"%s\" %s", c ? ", " : "", table->columns[c].name,
                        table->columns[c].type);
        text_add(&insert, c ? ",?" : "?");
    }
    text_add(&create, ")");
    text_add(&insert, ")");
    make(w, create.data);
    w->rows[kind] = prepare(w, insert.data);
    text_deinit(&create);
    text_deinit(&insert);
}

static void create_tables(struct sqlite_writer *w)
{
    make(w, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
    make(w, "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
            "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
            "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
            "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
            "CREATE TABLE ThreadNames (nameId INTEGER NOT NULL REFERENCES StringIds(id), priority INTEGER, "
            "globalTid INTEGER);"
            "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, busLocation TEXT, totalMemory "
            "INTEGER, memoryBandwidth INTEGER, l2CacheSize INTEGER, clockRate INTEGER, smCount INTEGER, "
            "computeMajor INTEGER, computeMinor INTEGER, cudaId INTEGER, pid INTEGER);"
            "CREATE TABLE CUSPAN_SPANS (id INTEGER NOT NULL PRIMARY KEY, parentId INTEGER, traceId TEXT NOT "
            "NULL, spanId TEXT NOT NULL, kind TEXT NOT NULL, nameId INTEGER NOT NULL REFERENCES "
            "StringIds(id), start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, globalTid INTEGER, error TEXT);"
            "CREATE TABLE CUSPAN_ATTRIBUTES (spanId INTEGER NOT NULL REFERENCES CUSPAN_SPANS(id), keyId "
            "INTEGER NOT NULL REFERENCES StringIds(id), value)");
    make(w, sqlite_enums);
    for (size_t kind = 0; kind < EXPORT_KIND_COUNT; kind++)
        create_table(w, (enum sqlite_kind)kind);
    w->string = prepare(w, "INSERT INTO StringIds VALUES (?,?)");
    w->span = prepare(w, "INSERT INTO CUSPAN_SPANS VALUES (?,?,?,?,?,?,?,?,?,?)");
    w->attribute = prepare(w, "INSERT INTO CUSPAN_ATTRIBUTES VALUES (?,?,?)");
}

/* --- rows --- */

static uint64_t global_pid(const struct trace *trace, uint32_t resource)
{
    const char *pid = trace_string(trace, trace->resources[resource].pid);
    return (strtoull(pid, NULL, 10) & ID_MASK) << ID_BITS;
}

static uint64_t global_tid(const struct trace *trace, const struct trace_thread *thread)
{
    return global_pid(trace, thread->resource) |
           (strtoull(trace_string(trace, thread->id), NULL, 10) & ID_MASK);
}

static bool number_of_word(const char *words, const char *wanted, long *number)
{
    long at = 0;
    for (const char *word = words; *word; at++) {
        size_t whole = strcspn(word, " "), len = strcspn(word, " =");
        if (strlen(wanted) == len && strncmp(word, wanted, len) == 0) {
            *number = len < whole ? strtol(word + len + 1, NULL, 10) : at;
            return true;
        }
        word += whole + (word[whole] == ' ');
    }
    return false;
}

/* Element `at` of "[1,2,3]". */
static bool number_of_list(const char *list, size_t at, long long *number)
{
    const char *from = *list == '[' ? list + 1 : list;
    for (; at > 0; at--) {
        from = strchr(from, ',');
        if (!from)
            return false;
        from++;
    }
    char *end;
    *number = strtoll(from, &end, 10);
    return end != from;
}

static void bind_attribute(struct sqlite_writer *w, sqlite3_stmt *row, int at,
                           const struct sqlite_column *column, const char *value)
{
    enum sqlite_source source = column->source;
    long number;
    long long of_list;
    if (source == FROM_INT || source == FROM_INT_OR_0)
        sqlite3_bind_int64(row, at, strtoll(value, NULL, 10));
    else if (source == FROM_TEXT)
        bind_text(row, at, value);
    else if (source == FROM_STRING_ID)
        bind_string(w, row, at, (uint32_t)(value - w->trace->strings));
    else if (source == FROM_WORD && number_of_word(column->words, value, &number))
        sqlite3_bind_int64(row, at, number);
    else if (source >= FROM_X && source <= FROM_Z && number_of_list(value, source - FROM_X, &of_list))
        sqlite3_bind_int64(row, at, of_list);
}

static void bind_device(const struct sqlite_writer *w, sqlite3_stmt *row, int at,
                        const struct trace_span *span)
{
    const char *device =
        trace_resource_attr(w->trace, &w->trace->resources[span->resource], SEMCONV_CUDA_DEVICE_ID);
    if (device)
        sqlite3_bind_int64(row, at, strtoll(device, NULL, 10));
}

static void bind_thread(const struct sqlite_writer *w, sqlite3_stmt *row, int at,
                        const struct trace_span *span)
{
    if (span->thread != TRACE_NONE)
        bind_int(row, at, global_tid(w->trace, &w->trace->threads[span->thread]));
}

static const char *attribute(const struct sqlite_writer *w, const struct trace_span *span, uint32_t key)
{
    const struct trace_attr *attr = trace_find_attr(w->trace, span, key);
    return attr ? trace_attr_text(w->trace, attr) : "";
}

static bool is_mark(const struct sqlite_writer *w, const struct trace_span *span)
{
    return strcmp(attribute(w, span, w->range_key), "mark") == 0;
}

/* In CUSPAN_SPANS. */
static uint64_t row_of(const struct trace_span *span)
{
    return span->number;
}

static void bind_column(struct sqlite_writer *w, sqlite3_stmt *row, int at,
                        const struct sqlite_column *column, const struct trace_span *span)
{
    const struct trace *trace = w->trace;
    enum sqlite_source source = column->source;
    const char *value = column->attribute ? trace_span_attr(trace, span, column->attribute) : NULL;
    if (value)
        bind_attribute(w, row, at, column, value);
    else if (source == FROM_START)
        bind_int(row, at, span->start_ns - trace->start_ns);
    else if (source == FROM_END || (source == FROM_END_OR_NULL && !is_mark(w, span)))
        bind_int(row, at, span->end_ns - trace->start_ns);
    else if (source == FROM_INT_OR_0)
        bind_int(row, at, 0);
    else if (source == FROM_NAME_ID)
        bind_string(w, row, at, span->name);
    else if (source == FROM_NAME)
        bind_text(row, at, trace_string(trace, span->name));
    else if (source == FROM_DEVICE)
        bind_device(w, row, at, span);
    else if (source == FROM_GLOBAL_PID)
        bind_int(row, at, global_pid(trace, span->resource));
    else if (source == FROM_GLOBAL_TID)
        bind_thread(w, row, at, span);
    else if (source == FROM_SPAN)
        bind_int(row, at, row_of(span));
    /* otherwise an attribute that the span does not have: NULL */
}

/* EXPORT_KIND_COUNT: not in Nsight Systems' tables. */
static enum sqlite_kind kind_of(const struct sqlite_writer *w, const struct trace_span *span)
{
    const char *activity = attribute(w, span, w->activity_key);
    if (span->class == CLASS_KERNEL)
        return EXPORT_KERNEL;
    if (span->class == CLASS_COPY)
        return EXPORT_COPY;
    if (span->class == CLASS_FILL)
        return EXPORT_FILL;
    if (span->class == CLASS_CALL)
        return EXPORT_CALL;
    if (strcmp(activity, "graph") == 0)
        return EXPORT_GRAPH;
    if (strcmp(activity, "synchronization") == 0)
        return EXPORT_SYNCHRONIZATION;
    return *attribute(w, span, w->range_key) ? EXPORT_RANGE : EXPORT_KIND_COUNT;
}

static void add_row(struct sqlite_writer *w, const struct trace_span *span)
{
    enum sqlite_kind kind = kind_of(w, span);
    if (kind == EXPORT_KIND_COUNT)
        return;
    for (size_t c = 0; c < sqlite_tables[kind].column_count; c++)
        bind_column(w, w->rows[kind], (int)c + 1, &sqlite_tables[kind].columns[c], span);
    step(w, w->rows[kind]);
}

/* A mark that is an event of a range gets the same row as a mark with a span of its own: an instant on the
 * range's thread. */
static void add_mark(struct sqlite_writer *w, const struct trace_span *range, const struct trace_event *event)
{
    struct trace_span mark = *range;
    mark.start_ns = event->time_ns;
    mark.name = event->name;
    mark.attr_first = event->attr_first;
    mark.attr_count = event->attr_count;
    for (size_t c = 0; c < sqlite_tables[EXPORT_RANGE].column_count; c++) {
        const struct sqlite_column *column = &sqlite_tables[EXPORT_RANGE].columns[c];
        int at = (int)c + 1;
        if (column->source == FROM_SPAN)
            bind_column(w, w->rows[EXPORT_RANGE], at, column, range);
        else if (column->source == FROM_WORD)
            sqlite3_bind_int(w->rows[EXPORT_RANGE], at, SQLITE_EVENT_TYPE_MARK);
        else if (column->source != FROM_END_OR_NULL)
            bind_column(w, w->rows[EXPORT_RANGE], at, column, &mark);
    }
    step(w, w->rows[EXPORT_RANGE]);
}

static void add_marks(struct sqlite_writer *w, const struct trace_span *span)
{
    if (kind_of(w, span) != EXPORT_RANGE)
        return; /* events of calls and sessions are not marks */
    for (uint32_t i = 0; i < span->event_count; i++)
        add_mark(w, span, &w->trace->events[span->event_first + i]);
}

static void add_attributes(struct sqlite_writer *w, const struct trace_span *span)
{
    for (uint32_t i = span->attr_first; i < span->attr_first + span->attr_count; i++) {
        const struct trace_attr *attr = &w->trace->attrs[i];
        bind_int(w->attribute, 1, row_of(span));
        bind_string(w, w->attribute, 2, attr->key);
        if (attr->type == TRACE_INT)
            bind_int(w->attribute, 3, attr->value);
        else if (attr->type == TRACE_DOUBLE)
            sqlite3_bind_double(w->attribute, 3, trace_attr_double(w->trace, attr));
        else if (attr->type == TRACE_BOOL)
            sqlite3_bind_int(w->attribute, 3, attr->value != 0);
        else
            bind_text(w->attribute, 3, trace_attr_text(w->trace, attr));
        step(w, w->attribute);
    }
}

static void add_span(struct sqlite_writer *w, const struct trace_span *span)
{
    const struct trace *trace = w->trace;
    char id[17];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)span->id);
    bind_int(w->span, 1, row_of(span));
    if (span->parent != TRACE_NONE)
        bind_int(w->span, 2, trace->spans[span->parent].number);
    bind_text(w->span, 3, trace_id_text(trace, span->trace));
    sqlite3_bind_text(w->span, 4, id, -1, SQLITE_TRANSIENT);
    bind_text(w->span, 5, trace_class_name(span->class));
    bind_string(w, w->span, 6, span->name);
    bind_int(w->span, 7, span->start_ns - trace->start_ns);
    bind_int(w->span, 8, span->end_ns - trace->start_ns);
    bind_thread(w, w->span, 9, span);
    if (span->error)
        bind_text(w->span, 10, trace_string(trace, span->error));
    step(w, w->span);
}

/* --- what the spans have alike --- */

static void add_facts(struct sqlite_writer *w)
{
    sqlite3_stmt *start = prepare(w, "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)");
    bind_int(start, 1, w->trace->start_ns);
    step(w, start);
    sqlite3_finalize(start);
    make(w, "INSERT INTO META_DATA_EXPORT VALUES ('EXPORTER','cuspan " CUSPAN_VERSION "'),"
            "('CUSPAN_SCHEMA_VERSION','1')");
}

static void add_processes(struct sqlite_writer *w)
{
    const struct trace *trace = w->trace;
    struct int_map seen = {0};
    sqlite3_stmt *process = prepare(w, "INSERT INTO PROCESSES VALUES (?,?,?)");
    for (uint32_t i = 0; i < trace->resource_count; i++) {
        const struct trace_resource *resource = &trace->resources[i];
        if (int_map_get(&seen, resource->pid) != MAP_NONE)
            continue;
        int_map_set(&seen, resource->pid, 0);
        bind_int(process, 1, global_pid(trace, i));
        sqlite3_bind_int64(process, 2, strtoll(trace_string(trace, resource->pid), NULL, 10));
        bind_text(process, 3, trace_string(trace, resource->service));
        step(w, process);
    }
    sqlite3_finalize(process);
    int_map_deinit(&seen);
}

static void add_threads(struct sqlite_writer *w)
{
    sqlite3_stmt *thread = prepare(w, "INSERT INTO ThreadNames VALUES (?,NULL,?)");
    for (size_t i = 0; i < w->trace->thread_count; i++) {
        const struct trace_thread *of = &w->trace->threads[i];
        if (!of->name)
            continue;
        bind_string(w, thread, 1, of->name);
        bind_int(thread, 2, global_tid(w->trace, of));
        step(w, thread);
    }
    sqlite3_finalize(thread);
}

static void add_devices(struct sqlite_writer *w)
{
    static const struct {
        const char *attribute;
        bool is_text;
        int scale;
    } columns[] = {{SEMCONV_CUDA_DEVICE_ID, false, 1},
                   {SEMCONV_HW_NAME, true, 1},
                   {SEMCONV_HW_ID, true, 1},
                   {SEMCONV_CUDA_DEVICE_PCI_ADDRESS, true, 1},
                   {SEMCONV_CUDA_DEVICE_MEMORY_BYTES, false, 1},
                   {SEMCONV_CUDA_DEVICE_MEMORY_BANDWIDTH, false, BYTES_OF_KB},
                   {SEMCONV_CUDA_DEVICE_L2_CACHE_BYTES, false, 1},
                   {SEMCONV_CUDA_DEVICE_CLOCK, false, BYTES_OF_KB},
                   {SEMCONV_CUDA_DEVICE_MULTIPROCESSORS, false, 1},
                   {SEMCONV_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR, false, 1},
                   {SEMCONV_CUDA_DEVICE_COMPUTE_CAPABILITY_MINOR, false, 1},
                   {SEMCONV_CUDA_DEVICE_ID, false, 1},
                   {SEMCONV_PROCESS_PID, false, 1}};
    sqlite3_stmt *device = prepare(w, "INSERT INTO TARGET_INFO_GPU VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (size_t i = 0; i < w->trace->resource_count; i++) {
        const struct trace_resource *resource = &w->trace->resources[i];
        for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
            const char *value = trace_resource_attr(w->trace, resource, columns[c].attribute);
            if (value && columns[c].is_text)
                bind_text(device, (int)c + 1, value);
            else if (value)
                sqlite3_bind_int64(device, (int)c + 1, strtoll(value, NULL, 10) * columns[c].scale);
        }
        if (resource->device)
            step(w, device);
        sqlite3_clear_bindings(device);
    }
    sqlite3_finalize(device);
}

/* --- the file --- */

static bool is_ours(const char *path)
{
    unsigned char header[APPLICATION_ID_AT + 4] = {0};
    const unsigned char id[] = {APPLICATION_ID >> 24 & 0xff, APPLICATION_ID >> 16 & 0xff,
                                APPLICATION_ID >> 8 & 0xff, APPLICATION_ID & 0xff};
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(header, 1, sizeof header, file) : 0;
    if (file)
        fclose(file);
    return got == sizeof header && memcmp(header, "SQLite format 3", 16) == 0 &&
           memcmp(header + APPLICATION_ID_AT, id, sizeof id) == 0;
}

/* A mistyped name must not destroy a file. */
static enum status make_file(const char *path, const char *temporary, struct error *err)
{
    struct stat facts;
    bool is_there = stat(path, &facts) == 0;
    if (is_there && (!S_ISREG(facts.st_mode) || (facts.st_size > 0 && !is_ours(path))))
        return error_set(err, STATUS_INVALID,
                         "%.300s exists and was not written by --sqlite; remove it or choose another name",
                         path);
    int fd = files_create(temporary);
    if (fd < 0)
        return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    close(fd);
    return STATUS_OK;
}

static void start(struct sqlite_writer *w)
{
    char *id = xasprintf("PRAGMA application_id=%d", APPLICATION_ID);
    make(w, id);
    free(id);
    create_tables(w);
}

static void finish(struct sqlite_writer *w)
{
    add_facts(w);
    add_processes(w);
    add_threads(w);
    add_devices(w);
    make(w, "COMMIT");
}

static enum status complain(const struct sqlite_writer *w, struct error *err)
{
    return error_set(err, STATUS_IO, "%.300s: %s", w->path, w->problem);
}

/* Without a journal, a file that lacks its end is not a database. */
static enum status close_file(struct sqlite_writer *w, bool is_whole, struct error *err)
{
    enum status status = w->has_failed ? complain(w, err) : STATUS_OK;
    for (size_t kind = 0; kind < EXPORT_KIND_COUNT; kind++)
        sqlite3_finalize(w->rows[kind]);
    sqlite3_finalize(w->span);
    sqlite3_finalize(w->attribute);
    sqlite3_finalize(w->string);
    int_map_deinit(&w->strings);
    if (sqlite3_close(w->db) != SQLITE_OK && status == STATUS_OK)
        status = error_set(err, STATUS_IO, "%.300s: cannot be closed", w->path);
    if (status == STATUS_OK && is_whole && rename(w->temporary, w->path) != 0)
        status = error_set(err, STATUS_IO, "%.400s: %s", w->path, strerror(errno));
    if (status != STATUS_OK || !is_whole)
        unlink(w->temporary);
    free(w->temporary);
    free(w->path);
    free(w);
    return status;
}

static enum status begin(const char *path, struct sqlite_writer **writer, struct error *err)
{
    char *temporary = xasprintf("%s.tmp", path);
    enum status status = make_file(path, temporary, err);
    if (status != STATUS_OK) {
        free(temporary);
        return status;
    }
    struct sqlite_writer *w = xcalloc(1, sizeof *w);
    w->path = xstrdup(path);
    w->temporary = temporary;
    if (sqlite3_open_v2(temporary, &w->db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail(w);
    start(w);
    if (w->has_failed)
        return close_file(w, false, err);
    *writer = w;
    return STATUS_OK;
}

static enum status take(void *context, struct trace *segment, struct error *err)
{
    struct sqlite_writer *w = context;
    if (w->adjust)
        w->adjust(w->adjust_context, segment);
    w->trace = segment;
    w->activity_key = trace_find_string(segment, SEMCONV_CUDA_ACTIVITY);
    w->range_key = trace_find_string(segment, SEMCONV_CUDA_RANGE_KIND);
    for (size_t i = 0; i < segment->span_count && !w->has_failed; i++) {
        const struct trace_span *span = &segment->spans[i];
        if (span->is_margin)
            continue;
        add_span(w, span);
        add_attributes(w, span);
        add_row(w, span);
        add_marks(w, span);
    }
    return w->has_failed ? complain(w, err) : STATUS_OK;
}

enum status sqlite_write(const char *path, const struct trace_input *input, sqlite_adjust_fn *adjust,
                         void *context, struct trace_facts *facts, struct error *err)
{
    struct sqlite_writer *w = NULL;
    struct error close_err = {""};
    struct trace trace;
    enum status status = begin(path, &w, err);
    if (status != STATUS_OK)
        return status;
    w->adjust = adjust;
    w->adjust_context = context;
    status = trace_read(input, &trace, take, w, facts, err);
    w->trace = &trace;
    if (status == STATUS_OK)
        finish(w);
    enum status closed = close_file(w, status == STATUS_OK, &close_err);
    trace_deinit(&trace);
    if (status != STATUS_OK || closed == STATUS_OK)
        return status;
    *err = close_err;
    return closed;
}
