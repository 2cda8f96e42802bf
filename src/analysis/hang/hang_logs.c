#include "analysis/hang/hang_read.h"

#include "cli/util/text.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* Reports of agents: log records of OTLP, whose attribute cuspan.hang.report has the live state as JSON
 * (agent/watch/hang_report.h). */

static uint64_t number_of(yyjson_val *object, const char *key, uint64_t otherwise)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    return yyjson_is_uint(value) ? yyjson_get_uint(value) : otherwise;
}

static int64_t signed_of(yyjson_val *object, const char *key, int64_t otherwise)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    return yyjson_is_int(value) ? yyjson_get_sint(value) : otherwise;
}

static uint64_t ns_of(yyjson_val *object, const char *key)
{
    double seconds = yyjson_get_num(yyjson_obj_get(object, key));
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

static bool is_word(yyjson_val *object, const char *key, const char *word)
{
    return yyjson_equals_str(yyjson_obj_get(object, key), word);
}

static uint64_t id_of(yyjson_val *object, const char *key)
{
    const char *text = yyjson_get_str(yyjson_obj_get(object, key));
    return text ? strtoull(text, NULL, 16) : 0;
}

static struct hang_call read_call(yyjson_val *json, uint64_t now_ns)
{
    uint64_t datatype = number_of(json, "datatype", UINT64_MAX), ago_ns = ns_of(json, "seconds");
    int64_t peer = signed_of(json, "peer", LIVE_NO_PEER);
    const char *operation = yyjson_get_str(yyjson_obj_get(json, "operation"));
    return (struct hang_call){.number = number_of(json, "number", 0),
                              .ordinal = number_of(json, "ordinal", 0),
                              .enqueued_ns = ago_ns < now_ns ? now_ns - ago_ns : 0,
                              .bytes = number_of(json, "bytes", UINT64_MAX),
                              .thread = (uint32_t)number_of(json, "thread", 0),
                              .peer = peer >= 0 && peer < HANG_RANKS_MAX ? (int32_t)peer : LIVE_NO_PEER,
                              .operation = hang_operation_of(operation),
                              .datatype = datatype < UINT8_MAX ? (uint8_t)(datatype + 1) : 0,
                              .flags =
                                  (yyjson_is_true(yyjson_obj_get(json, "returned")) ? LIVE_RETURNED : 0) |
                                  (yyjson_is_true(yyjson_obj_get(json, "ended")) ? LIVE_ENDED : 0)};
}

static void read_seat(struct hang_seat *seat, yyjson_val *json, uint64_t now_ns)
{
    yyjson_val *calls = yyjson_obj_get(json, "calls"), *call;
    size_t i, count, total = yyjson_arr_size(calls);
    *seat = (struct hang_seat){.id = id_of(json, "id"),
                               .size = (uint32_t)number_of(json, "ranks", 0),
                               .rank = (uint32_t)number_of(json, "rank", HANG_NONE),
                               .local_ranks = (uint32_t)number_of(json, "local_ranks", 1),
                               .enqueued = number_of(json, "enqueued", 0),
                               .completed = number_of(json, "completed", 0),
                               .is_exact = yyjson_is_true(yyjson_obj_get(json, "exact")),
                               .calls = xcalloc(LIVE_ENTRIES + 1, sizeof *seat->calls)};
    seat->call_count = total < LIVE_ENTRIES ? (uint32_t)total : LIVE_ENTRIES;
    yyjson_arr_foreach(calls, i, count, call)
    {
        if (i < seat->call_count)
            seat->calls[seat->call_count - 1 - i] = read_call(call, now_ns); /* the newest comes first */
    }
}

/* The object of the list for the main thread; with `any`, the first one if there is none. */
static yyjson_val *of_main_thread(yyjson_val *list, int64_t pid, bool any)
{
    yyjson_val *item;
    size_t i, count;
    yyjson_arr_foreach(list, i, count, item)
    {
        if (signed_of(item, "thread", -1) == pid)
            return item;
    }
    return any ? yyjson_arr_get_first(list) : NULL;
}

static void read_place(struct hang_model *model, struct hang_rank *rank, yyjson_val *json)
{
    yyjson_val *call = of_main_thread(yyjson_obj_get(json, "calls"), rank->pid, true);
    const char *name = yyjson_get_str(yyjson_obj_get(call, "call"));
    int64_t tid = call ? signed_of(call, "thread", -1) : rank->pid;
    yyjson_val *thread = of_main_thread(yyjson_obj_get(json, "threads"), tid, false);
    const char *frame = yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(thread, "python")));
    const char *state = yyjson_get_str(yyjson_obj_get(thread, "state"));
    const char *wait = yyjson_get_str(yyjson_obj_get(thread, "wait"));
    rank->where = name ? hang_where_in_call(name) : HANG_HOST;
    rank->function = hang_keep(model, name);
    if (!name && state)
        rank->where = frame && strstr(frame, "dataloader.py")
                          ? HANG_LOADER
                          : hang_where_in_kernel(*state, wait ? wait : "", false);
    hang_set_line(model, rank, frame); /* the innermost one */
}

static struct hang_rank *rank_of_process(struct hang_model *model, const char *host, int32_t pid)
{
    for (size_t i = 0; i < model->rank_count; i++) {
        struct hang_rank *rank = &model->ranks[i];
        if (rank->pid == pid && rank->host == host && !rank->started_ticks)
            return rank;
    }
    struct hang_rank *added = hang_add(model);
    added->pid = pid;
    added->host = host;
    return added;
}

/* The latest report of a process counts. */
static void read_report(struct hang_model *model, const char *host, yyjson_val *json)
{
    yyjson_val *seats = yyjson_obj_get(json, "communicators"), *seat;
    yyjson_val *work = yyjson_obj_get(json, "oldest_work");
    size_t i, count;
    uint64_t now_ns = number_of(json, "time_ns", 0);
    struct hang_rank *rank = rank_of_process(model, host, (int32_t)signed_of(json, "pid", 0));
    if (now_ns < rank->looked_ns)
        return;
    hang_rank_deinit(rank);
    *rank = (struct hang_rank){.rank = signed_of(json, "rank", -1),
                               .world_size = signed_of(json, "world_size", -1),
                               .pid = rank->pid,
                               .host = host,
                               .looked_ns = now_ns,
                               .watch = is_word(json, "state", "ended") ? LIVE_MOVING : LIVE_STALLED,
                               .is_still = !is_word(json, "state", "ended"),
                               .stalled_ns = ns_of(json, "seconds"),
                               .step = signed_of(yyjson_obj_get(json, "step"), "number", -1),
                               .gpu = is_word(work, "kind", "kernel")       ? HANG_GPU_COMPUTE
                                      : is_word(work, "kind", "collective") ? HANG_GPU_COLLECTIVE
                                                                            : HANG_GPU_UNKNOWN,
                               .seats = xcalloc(LIVE_COMMUNICATORS, sizeof *rank->seats)};
    yyjson_arr_foreach(seats, i, count, seat)
    {
        if (rank->seat_count < LIVE_COMMUNICATORS)
            read_seat(&rank->seats[rank->seat_count++], seat, now_ns);
    }
    read_place(model, rank, json);
}

static const char *attribute_of(yyjson_val *of, const char *key)
{
    yyjson_val *attribute;
    size_t i, count;
    yyjson_arr_foreach(yyjson_obj_get(of, "attributes"), i, count, attribute)
    {
        if (is_word(attribute, "key", key))
            return yyjson_get_str(yyjson_obj_get(yyjson_obj_get(attribute, "value"), "stringValue"));
    }
    return NULL;
}

static void read_record(struct hang_model *model, const char *host, yyjson_val *record)
{
    const char *report = attribute_of(record, SEMCONV_CUSPAN_HANG_REPORT);
    yyjson_doc *document = report ? yyjson_read(report, strlen(report), 0) : NULL;
    if (document)
        read_report(model, host, yyjson_doc_get_root(document));
    yyjson_doc_free(document);
}

bool hang_read_logs(struct hang_model *model, struct yyjson_val *root)
{
    yyjson_val *resource, *scope, *record;
    size_t r, s, l, count, scopes, records;
    yyjson_arr_foreach(yyjson_obj_get(root, "resourceLogs"), r, count, resource)
    {
        const char *host =
            hang_keep(model, attribute_of(yyjson_obj_get(resource, "resource"), SEMCONV_HOST_NAME));
        yyjson_arr_foreach(yyjson_obj_get(resource, "scopeLogs"), s, scopes, scope)
        {
            yyjson_arr_foreach(yyjson_obj_get(scope, "logRecords"), l, records, record)
                read_record(model, host, record);
        }
    }
    return yyjson_obj_get(root, "resourceLogs") || yyjson_obj_get(root, "resourceSpans") ||
           yyjson_obj_get(root, "resourceMetrics") || yyjson_obj_get(root, "resourceProfiles");
}
