#include "analysis/show/perfetto.h"

#include "analysis/show/output_file.h"
#include "cli/util/xalloc.h"
#include "cli/util/progress.h"
#include "cli/util/text.h"
#include "model/semconv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers above every pid and tid of Linux, so that no GPU or stream looks like a process or a thread. */
#define GPU_PID_FIRST  10000000u
#define LANE_TID_FIRST 10000000u
/* JavaScript cannot represent integers with more digits: they are written as strings. */
#define SAFE_DIGITS     15
#define NESTING_MAX     512 /* open slices per track */
#define SPREAD_TID_STEP 100000000u
/* Spans that overlap even more go to the last track, where the viewer truncates them. */
#define SPREAD_MAX 40
/* Ranks come first, in order, each followed by its GPUs; then other processes, then other GPUs. */
#define ORDER_OTHERS 1000000u

/* Slices of one track must nest. Overlapping spans go to additional tracks. */
struct track {
    uint64_t key;    /* process << 32 | thread */
    uint32_t next;   /* the next additional track, or TRACE_NONE */
    uint32_t spread; /* 0 for the track itself, 1 for the first additional one */
    size_t depth;
    uint64_t ends[NESTING_MAX];
};

struct writer {
    const struct trace *trace;
    struct json_writer json;
    uint32_t *pids; /* by resource */
    struct track *tracks;
    size_t track_count, track_capacity;
    struct int_map track_map;
};

static struct json_writer *begin_event(struct writer *writer, const char *phase)
{
    json_write_space(&writer->json, "\n");
    json_write_object(&writer->json, NULL);
    json_write_text(&writer->json, "ph", phase);
    return &writer->json;
}

static void write_track(struct json_writer *json, uint64_t key)
{
    json_write_unsigned(json, "pid", key >> 32);
    json_write_unsigned(json, "tid", key & UINT32_MAX);
}

/* Times count from the trace's start: ns since 1970 exceed JSON's numbers. */
static void write_time(struct json_writer *json, const char *key, uint64_t ns)
{
    char us[32];
    int len = snprintf(us, sizeof us, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    json_write_raw(json, key, us, (size_t)len);
}

static bool is_safe_integer(const char *value)
{
    size_t digits = strspn(value + (*value == '-'), "0123456789");
    const char *first = value + (*value == '-');
    return digits > 0 && digits <= SAFE_DIGITS && first[digits] == 0 && (first[0] != '0' || digits == 1);
}

static bool is_safe_real(const char *value)
{
    char *end;
    const char *first = value + (*value == '-');
    if (!isdigit((unsigned char)*first) || strpbrk(value, "xXnN"))
        return false;
    bool has_leading_zero = first[0] == '0' && isdigit((unsigned char)first[1]);
    double number = strtod(value, &end);
    return isfinite(number) && *end == 0 && end[-1] != '.' && !has_leading_zero;
}

static void write_argument(struct json_writer *json, const char *key, const char *value, uint32_t type)
{
    bool is_raw = (type == TRACE_INT && is_safe_integer(value)) ||
                  (type == TRACE_DOUBLE && is_safe_real(value)) ||
                  (type == TRACE_BOOL && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0));
    (is_raw ? json_write_raw : json_write_bytes)(json, key, value, strlen(value));
}

/* The call that submitted GPU work has the attributes of the program's line. */
static void write_code(struct writer *writer, const struct trace_span *work)
{
    static const char *const keys[] = {SEMCONV_CODE_FILE_PATH, SEMCONV_CODE_LINE_NUMBER,
                                       SEMCONV_CODE_FUNCTION_NAME};
    const struct trace *trace = writer->trace;
    uint32_t at = work->parent;
    bool has_own = trace_span_attr(trace, work, keys[0]) || trace_span_attr(trace, work, keys[2]);
    if (at == TRACE_NONE || trace->spans[at].class != CLASS_CALL || has_own)
        return;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = trace_span_attr(trace, &trace->spans[at], keys[i]);
        if (value)
            write_argument(&writer->json, keys[i], value, i == 1 ? TRACE_INT : TRACE_STRING);
    }
}

static void write_id(struct json_writer *json, const char *key, uint64_t id)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, id);
    json_write_text(json, key, digits);
}

static void write_arguments(struct writer *writer, const struct trace_span *span)
{
    const struct trace *trace = writer->trace;
    struct json_writer *json = &writer->json;
    json_write_object(json, "args");
    write_id(json, "span_id", span->id);
    if (span->error)
        json_write_text(json, "error", trace_string(trace, span->error));
    for (uint32_t i = span->attr_first; i < span->attr_first + span->attr_count; i++) {
        const struct trace_attr *attr = &trace->attrs[i];
        write_argument(json, trace_string(trace, attr->key), trace_attr_text(trace, attr), attr->type);
    }
    if (trace_class_is_gpu(span->class))
        write_code(writer, span);
    json_write_object_end(json);
}

static void begin_metadata(struct writer *writer, uint64_t track, const char *name)
{
    struct json_writer *json = begin_event(writer, "M");
    write_track(json, track);
    json_write_text(json, "name", name);
    json_write_object(json, "args");
}

static void write_name(struct writer *writer, uint64_t track, bool is_process, const char *name, size_t order)
{
    struct json_writer *json = &writer->json;
    begin_metadata(writer, track, is_process ? "process_name" : "thread_name");
    json_write_text(json, "name", name);
    json_write_object_end(json);
    json_write_object_end(json);
    begin_metadata(writer, track, is_process ? "process_sort_index" : "thread_sort_index");
    json_write_unsigned(json, "sort_index", order);
    json_write_object_end(json);
    json_write_object_end(json);
}

static bool has_same(const struct trace *trace, const struct trace_resource *a,
                     const struct trace_resource *b, const char *key)
{
    const char *one = trace_resource_attr(trace, a, key), *other = trace_resource_attr(trace, b, key);
    return one && other ? strcmp(one, other) == 0 : !one && !other;
}

/* A PID belongs to the first process that has it. Others with it are on other hosts or in other containers.
 */
static bool is_pid_taken(const struct trace *trace, struct int_map *pids, uint32_t resource)
{
    const struct trace_resource *own = &trace->resources[resource];
    uint32_t first = int_map_get(pids, own->pid);
    if (first == MAP_NONE) {
        int_map_set(pids, own->pid, resource);
        return false;
    }
    const struct trace_resource *other = &trace->resources[first];
    return !(has_same(trace, own, other, SEMCONV_HOST_NAME) &&
             has_same(trace, own, other, SEMCONV_CONTAINER_ID) &&
             has_same(trace, own, other, SEMCONV_CUDA_PROCESS_RANK));
}

static uint32_t find_pid(const struct trace *trace, struct int_map *pids, uint32_t resource)
{
    const struct trace_resource *r = &trace->resources[resource];
    unsigned long pid = r->device ? 0 : strtoul(trace_string(trace, r->pid), NULL, 10);
    bool is_usable = pid && pid < GPU_PID_FIRST && !is_pid_taken(trace, pids, resource);
    return is_usable ? (uint32_t)pid : GPU_PID_FIRST + resource;
}

static uint64_t track_key(const struct writer *writer, const struct trace_span *span)
{
    const struct trace *trace = writer->trace;
    uint32_t tid = 0;
    if (span->lane != TRACE_NONE) {
        tid = LANE_TID_FIRST + span->lane;
    } else if (span->thread != TRACE_NONE) {
        unsigned long id = strtoul(trace_string(trace, trace->threads[span->thread].id), NULL, 10);
        tid = id && id < LANE_TID_FIRST ? (uint32_t)id : LANE_TID_FIRST / 2 + span->thread;
    }
    return (uint64_t)writer->pids[span->resource] << 32 | tid;
}

static uint32_t add_new_track(struct writer *writer, uint64_t key, uint32_t spread)
{
    struct track *track = XADD(writer->tracks, writer->track_count, writer->track_capacity);
    track->key = key + (uint64_t)spread * SPREAD_TID_STEP;
    track->next = TRACE_NONE;
    track->spread = spread;
    track->depth = 0;
    return (uint32_t)writer->track_count - 1;
}

/* Opens the span as the innermost slice of the track if it nests there. */
static bool nest(struct track *track, const struct trace_span *span)
{
    while (track->depth > 0 && track->ends[track->depth - 1] <= span->start_ns)
        track->depth--;
    bool fits = track->depth == 0 || span->end_ns <= track->ends[track->depth - 1];
    if (!fits || track->depth == NESTING_MAX)
        return false;
    track->ends[track->depth++] = span->end_ns;
    return true;
}

static void name_track(struct writer *writer, const struct trace_span *span, const struct track *track)
{
    const struct trace *trace = writer->trace;
    struct text name = {0};
    if (span->lane != TRACE_NONE) {
        const struct trace_lane *lane = &trace->lanes[span->lane];
        text_add_format(&name, "stream %s", trace_string(trace, lane->stream));
        if (lane->context)
            text_add_format(&name, " (context %s)", trace_string(trace, lane->context));
    } else if (span->thread != TRACE_NONE) {
        const struct trace_thread *thread = &trace->threads[span->thread];
        text_add_format(&name, "%s", thread->name ? trace_string(trace, thread->name) : "thread");
        text_add_format(&name, " %s", trace_string(trace, thread->id));
    } else {
        text_add(&name, "session");
    }
    if (track->spread)
        text_add_format(&name, ", overlapping (%u)", track->spread);
    write_name(writer, track->key, false, name.data, writer->track_count);
    text_deinit(&name);
}

static uint64_t find_track(struct writer *writer, const struct trace_span *span)
{
    uint64_t key = track_key(writer, span);
    uint32_t index = int_map_get(&writer->track_map, key), last = TRACE_NONE, spread = 0;
    while (index != TRACE_NONE && !nest(&writer->tracks[index], span)) {
        last = index;
        spread = writer->tracks[index].spread + 1;
        index = writer->tracks[index].next;
    }
    if (index == TRACE_NONE && spread > SPREAD_MAX)
        return writer->tracks[last].key;
    if (index == TRACE_NONE) {
        index = add_new_track(writer, key, spread);
        if (last == TRACE_NONE)
            int_map_set(&writer->track_map, key, index);
        else
            writer->tracks[last].next = index;
        nest(&writer->tracks[index], span);
        name_track(writer, span, &writer->tracks[index]);
    }
    return writer->tracks[index].key;
}

/* "rank 3 node-1 trainer", "rank 3 GPU 0 NVIDIA H100". Without a rank: "trainer", "GPU 0 NVIDIA H100". */
static void write_process(struct writer *writer, uint32_t index)
{
    const struct trace *trace = writer->trace;
    const struct trace_resource *resource = &trace->resources[index];
    const char *rank = trace_resource_attr(trace, resource, SEMCONV_CUDA_PROCESS_RANK);
    const char *host = trace_resource_attr(trace, resource, SEMCONV_HOST_NAME);
    size_t order = rank ? 2 * strtoul(rank, NULL, 10) + (resource->device != 0)
                        : index + (resource->device ? 2 : 1) * (size_t)ORDER_OTHERS;
    struct text name = {0};
    text_clear(&name);
    if (rank)
        text_add_format(&name, "rank %s ", rank);
    if (resource->device)
        text_add_format(&name, "GPU %s %s", trace_string(trace, resource->device),
                        trace_string(trace, resource->device_name));
    else if (rank && host)
        text_add_format(&name, "%s ", host);
    if (!resource->device)
        text_add(&name, resource->service ? trace_string(trace, resource->service) : "process");
    write_name(writer, (uint64_t)writer->pids[index] << 32, true, name.data, order);
    text_deinit(&name);
}

/* From inside the call's slice to the start of the GPU's slice. */
static void write_arrow(struct writer *writer, const struct trace_span *from, const struct trace_span *to,
                        uint64_t from_track, uint64_t to_track)
{
    const struct trace *trace = writer->trace;
    struct json_writer *json = &writer->json;
    for (int is_end = 0; is_end <= 1; is_end++) {
        begin_event(writer, is_end ? "f" : "s");
        json_write_text(json, "cat", "cuda");
        json_write_text(json, "name", "causes");
        write_id(json, "id", to->id);
        if (is_end)
            json_write_text(json, "bp", "e");
        write_track(json, is_end ? to_track : from_track);
        write_time(json, "ts", (is_end ? to : from)->start_ns - trace->start_ns);
        json_write_object_end(json);
    }
}

static void write_span(struct writer *writer, uint32_t index, uint64_t *tracks)
{
    const struct trace *trace = writer->trace;
    const struct trace_span *span = &trace->spans[index];
    tracks[index] = find_track(writer, span);
    struct json_writer *json = begin_event(writer, "X");
    json_write_text(json, "name", trace_string(trace, span->name));
    json_write_text(json, "cat", trace_class_name(span->class));
    write_track(json, tracks[index]);
    write_time(json, "ts", span->start_ns - trace->start_ns);
    write_time(json, "dur", span->end_ns - span->start_ns);
    if (span->error)
        json_write_text(json, "cname", "terrible");
    write_arguments(writer, span);
    json_write_object_end(json);
}

static void write_head(struct writer *writer)
{
    const struct trace *trace = writer->trace;
    struct json_writer *json = &writer->json;
    char start[24];
    snprintf(start, sizeof start, "%" PRIu64, trace->start_ns);
    json_write_object(json, NULL);
    json_write_text(json, "displayTimeUnit", "ns");
    json_write_object(json, "otherData");
    json_write_text(json, "trace_id", trace_string(trace, trace->id));
    json_write_text(json, "start_unix_ns", start);
    json_write_text(json, "producer", "cuspan " CUSPAN_VERSION);
    json_write_object_end(json);
    json_write_space(json, "\n");
    json_write_array(json, "traceEvents");
}

void perfetto_write(FILE *out, const struct trace *trace)
{
    struct writer writer = {.json = JSON_WRITER(out), .trace = trace};
    uint64_t *tracks = xcalloc(trace->span_count, sizeof *tracks);
    struct int_map pids = {0}; /* by string: the first resource */
    struct progress progress;
    progress_begin(&progress, "writing for Perfetto");
    writer.pids = xcalloc(trace->resource_count, sizeof *writer.pids);
    for (uint32_t i = 0; i < trace->resource_count; i++)
        writer.pids[i] = find_pid(trace, &pids, i);
    int_map_deinit(&pids);
    write_head(&writer);
    for (uint32_t i = 0; i < trace->resource_count; i++)
        write_process(&writer, i);
    for (uint32_t i = 0; i < trace->span_count; i++) {
        write_span(&writer, i, tracks);
        progress_update(&progress, i, trace->span_count * 2);
    }
    for (uint32_t i = 0; i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (span->lane != TRACE_NONE && span->parent != TRACE_NONE &&
            trace->spans[span->parent].lane == TRACE_NONE)
            write_arrow(&writer, &trace->spans[span->parent], span, tracks[span->parent], tracks[i]);
        progress_update(&progress, trace->span_count + i, trace->span_count * 2);
    }
    fputc('\n', out);
    json_write_array_end(&writer.json);
    json_write_object_end(&writer.json);
    fputc('\n', out);
    progress_end(&progress);
    free(tracks);
    free(writer.tracks);
    free(writer.pids);
    int_map_deinit(&writer.track_map);
}

/* --- files --- */

static void say_written(const char *path, const struct trace *trace, const char *command)
{
    fprintf(stderr, "cuspan %s: %s: %zu spans; open it at https://ui.perfetto.dev\n", command, path,
            trace->span_count);
    if (trace->others)
        fprintf(stderr,
                "cuspan %s: it has one trace, %.8s; the %zu other%s of the input %s not in it (choose with "
                "--trace ID; cuspan show names them)\n",
                command, trace_string(trace, trace->id), trace->others, trace->others == 1 ? "" : "s",
                trace->others == 1 ? "is" : "are");
}

enum status perfetto_write_file(const char *path, const struct trace *trace, const char *command,
                                bool is_quiet, struct error *err)
{
    bool is_stdout = strcmp(path, "-") == 0;
    FILE *out = output_file_open(path, text_ends_with(path, ".gz"));
    if (out)
        perfetto_write(out, trace);
    if (!out || !output_file_close(out))
        return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    if (!is_quiet && (!is_stdout || trace->others))
        say_written(is_stdout ? "standard output" : path, trace, command);
    return STATUS_OK;
}
