#include "analysis/hang/hang_read.h"

#include "cli/util/sort.h"
#include "cli/util/text.h"
#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

/* The members of a rank, a communicator and a call, which are written and read here. A report of an agent
 * (agent/watch/hang_report.h) has the same names, and times before it. */

enum kind { NUMBER, SIGNED, HEX, BIT, PLUS_ONE, TEXT, WORD };

struct member {
    const char *key;
    enum kind kind;
    size_t at, size;
    uint64_t unknown; /* read if there is none, and not written. BIT: the mask */
    bool is_always;   /* written in any case */
    const char *(*word)(uint32_t);
    uint32_t words;
};

static const char *watch_word(uint32_t watch)
{
    static const char *const words[] = {"not_watched", "moving", "still", "stalled", "over"};
    return words[watch];
}

static const char *gpu_word(uint32_t gpu)
{
    static const char *const words[] = {"unknown", "compute", "collective"};
    return words[gpu];
}

#define WORDS(type, name, key, unknown, is_always, word, words)                                              \
    {                                                                                                        \
        key, WORD, offsetof(struct type, name), sizeof(((struct type *)0)->name), unknown, is_always, word,  \
            words                                                                                            \
    }
#define MEMBER(type, name, key, kind, unknown, is_always)                                                    \
    {                                                                                                        \
        key, kind, offsetof(struct type, name), sizeof(((struct type *)0)->name), unknown, is_always, NULL,  \
            0                                                                                                \
    }

static const struct member call_members[] = {
    MEMBER(live_call_view, number, "number", NUMBER, 0, true),
    MEMBER(live_call_view, ordinal, "ordinal", NUMBER, 0, true),
    MEMBER(live_call_view, enqueued_ns, "at_ns", NUMBER, 0, false),
    WORDS(live_call_view, operation, "operation", COLLECTIVE_UNKNOWN, false, hang_operation_word,
          COLLECTIVE_COUNT),
    MEMBER(live_call_view, bytes, "bytes", NUMBER, UINT64_MAX, false),
    MEMBER(live_call_view, datatype, "datatype", PLUS_ONE, 0, false),
    MEMBER(live_call_view, peer, "peer", SIGNED, (uint64_t)LIVE_NO_PEER, false),
    MEMBER(live_call_view, thread, "thread", NUMBER, 0, false),
    MEMBER(live_call_view, line, "line", TEXT, 0, false),
    MEMBER(live_call_view, flags, "returned", BIT, LIVE_RETURNED, true),
    MEMBER(live_call_view, flags, "ended", BIT, LIVE_ENDED, true)};

static const struct member seat_members[] = {MEMBER(hang_seat, id, "id", HEX, 0, true),
                                             MEMBER(hang_seat, size, "ranks", NUMBER, 0, false),
                                             MEMBER(hang_seat, rank, "rank", NUMBER, HANG_NONE, false),
                                             MEMBER(hang_seat, local_ranks, "local_ranks", NUMBER, 1, false),
                                             MEMBER(hang_seat, enqueued, "enqueued", NUMBER, 0, true),
                                             MEMBER(hang_seat, completed, "completed", NUMBER, 0, true),
                                             MEMBER(hang_seat, is_exact, "exact", BIT, 1, true)};

#define CULPRIT_MEMBERS 6 /* of a rank in a verdict */
static const struct member rank_members[] = {
    MEMBER(hang_rank, rank, "rank", SIGNED, UINT64_MAX, true),
    MEMBER(hang_rank, host, "host", TEXT, 0, true),
    MEMBER(hang_rank, pid, "pid", SIGNED, 0, true),
    WORDS(hang_rank, where, "where", HANG_UNKNOWN, true, hang_where_word, HANG_WHERE_COUNT),
    MEMBER(hang_rank, function, "function", TEXT, 0, false),
    MEMBER(hang_rank, line, "line", TEXT, 0, false),
    MEMBER(hang_rank, world_size, "world_size", SIGNED, UINT64_MAX, true),
    MEMBER(hang_rank, user, "user", NUMBER, 0, true),
    MEMBER(hang_rank, started_ticks, "started_ticks", NUMBER, 0, false),
    WORDS(hang_rank, end, "end", HANG_UNKNOWN, false, hang_where_word, HANG_WHERE_COUNT),
    MEMBER(hang_rank, looked_ns, "looked_ns", NUMBER, 0, false),
    WORDS(hang_rank, watch, "watch", LIVE_NOT_WATCHED, true, watch_word, LIVE_OVER + 1),
    MEMBER(hang_rank, is_still, "still", BIT, 1, true),
    MEMBER(hang_rank, stalled_ns, "stalled_ns", NUMBER, 0, false),
    MEMBER(hang_rank, step, "step_number", SIGNED, UINT64_MAX, false),
    WORDS(hang_rank, gpu, "gpu", HANG_GPU_UNKNOWN, false, gpu_word, HANG_GPU_COLLECTIVE + 1)};

#define COUNT(members) (sizeof(members) / sizeof *(members))

/* All of our processors have the low byte first. */
static uint64_t get(const struct member *member, const void *from)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)from + member->at, member->size);
    return member->kind == SIGNED && member->size == sizeof(int32_t) ? (uint64_t)(int64_t)(int32_t)value
                                                                     : value;
}

static void write_members(struct json_writer *json, const struct member *members, size_t count,
                          const void *from)
{
    char id[20];
    for (const struct member *member = members; member < members + count; member++) {
        uint64_t value = get(member, from);
        const char *text;
        if (member->kind == BIT)
            json_write_bool(json, member->key, value & member->unknown);
        else if (value == member->unknown && !member->is_always)
            continue;
        else if (member->kind == SIGNED)
            json_write_signed(json, member->key, (int64_t)value);
        else if (member->kind == NUMBER || member->kind == PLUS_ONE)
            json_write_unsigned(json, member->key, value - (member->kind == PLUS_ONE));
        else if (member->kind == HEX && snprintf(id, sizeof id, "%" PRIx64, value) > 0)
            json_write_text(json, member->key, id);
        else if (member->kind == WORD)
            json_write_text(json, member->key, member->word((uint32_t)value));
        else if (memcpy(&text, (const char *)from + member->at, sizeof text))
            json_write_text(json, member->key, text ? text : "");
    }
}

/* A value that is missing, of another type or too large is unknown. */
static uint64_t value_of(struct hang_model *model, const struct member *member, yyjson_val *json)
{
    uint64_t limit = UINT64_MAX >> (64 - 8 * member->size);
    const char *text = yyjson_get_str(json);
    if (member->kind == TEXT)
        return (uint64_t)(uintptr_t)hang_keep(model, text);
    if (member->kind == HEX)
        return text ? strtoull(text, NULL, 16) : member->unknown;
    for (uint32_t i = member->words; text && i-- > 0;)
        if (strcmp(text, member->word(i)) == 0)
            return i;
    int64_t number = yyjson_get_sint(json);
    if (member->kind == SIGNED && yyjson_is_int(json) &&
        (member->size > sizeof(int32_t) || number == (int32_t)number))
        return (uint64_t)number;
    bool is_number = member->kind == NUMBER || member->kind == PLUS_ONE;
    uint64_t plus = member->kind == PLUS_ONE;
    return is_number && yyjson_is_uint(json) && yyjson_get_uint(json) <= limit - plus
               ? yyjson_get_uint(json) + plus
               : member->unknown;
}

static void read_members(struct hang_model *model, const struct member *members, size_t count,
                         yyjson_val *from, void *to)
{
    for (const struct member *member = members; member < members + count; member++) {
        yyjson_val *json = yyjson_obj_get(from, member->key);
        uint64_t value = member->kind == BIT ? get(member, to) | (yyjson_is_true(json) ? member->unknown : 0)
                                             : value_of(model, member, json);
        memcpy((char *)to + member->at, &value, member->size);
    }
}

void hang_write_culprit(struct json_writer *json, const struct hang_rank *rank)
{
    json_write_object(json, NULL);
    write_members(json, rank_members, CULPRIT_MEMBERS, rank);
    json_write_object_end(json);
}

static void write_seat(struct json_writer *json, const struct hang_seat *seat)
{
    json_write_object(json, NULL);
    write_members(json, seat_members, COUNT(seat_members), seat);
    json_write_array(json, "calls");
    for (uint32_t i = 0; i < seat->call_count; i++) {
        json_write_object(json, NULL);
        write_members(json, call_members, COUNT(call_members), &seat->calls[i]);
        json_write_object_end(json);
    }
    json_write_array_end(json);
    json_write_object_end(json);
}

void hang_write_ranks(struct json_writer *json, const struct hang_model *model)
{
    json_write_array(json, "ranks");
    for (size_t i = 0; i < model->rank_count; i++) {
        const struct hang_rank *rank = &model->ranks[i];
        json_write_object(json, NULL);
        write_members(json, rank_members, COUNT(rank_members), rank);
        json_write_array(json, "communicators");
        for (uint32_t s = 0; s < rank->seat_count; s++)
            write_seat(json, &rank->seats[s]);
        json_write_array_end(json);
        json_write_object_end(json);
    }
    json_write_array_end(json);
}

static uint64_t ns_of(yyjson_val *object, const char *key)
{
    double seconds = yyjson_get_num(yyjson_obj_get(object, key));
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

static int by_number(const void *a, const void *b)
{
    return ORDER(((const struct live_call_view *)a)->number, ((const struct live_call_view *)b)->number);
}

static void read_seat(struct hang_model *model, struct hang_seat *seat, yyjson_val *json, uint64_t now_ns)
{
    yyjson_val *calls = yyjson_obj_get(json, "calls"), *item;
    size_t i, count;
    read_members(model, seat_members, COUNT(seat_members), json, seat);
    seat->calls = xcalloc(LIVE_ENTRIES + 1, sizeof *seat->calls);
    yyjson_arr_foreach(calls, i, count, item)
    {
        if (seat->call_count == LIVE_ENTRIES)
            break;
        struct live_call_view *call = &seat->calls[seat->call_count++];
        read_members(model, call_members, COUNT(call_members), item, call);
        if (call->peer < 0 || call->peer >= HANG_RANKS_MAX)
            call->peer = LIVE_NO_PEER;
        if (now_ns > ns_of(item, "seconds"))
            call->enqueued_ns = now_ns - ns_of(item, "seconds");
    }
    sort_array(seat->calls, seat->call_count, sizeof *seat->calls,
               by_number); /* reports end with the oldest */
}

/* A report was made at `now_ns`; 0: it is none. */
static void read_rank(struct hang_model *model, struct hang_rank *rank, yyjson_val *json, uint64_t now_ns)
{
    yyjson_val *seats = yyjson_obj_get(json, "communicators"), *seat;
    size_t i, count;
    read_members(model, rank_members, COUNT(rank_members), json, rank);
    rank->seats = xcalloc(LIVE_COMMUNICATORS, sizeof *rank->seats);
    yyjson_arr_foreach(seats, i, count, seat)
    {
        if (rank->seat_count < LIVE_COMMUNICATORS)
            read_seat(model, &rank->seats[rank->seat_count++], seat, now_ns);
    }
}

/* Reports of agents, in log records of OTLP. */

/* The object of the list for the thread; with `any`, the first one if there is none. */
static yyjson_val *of_thread(yyjson_val *list, int64_t thread, bool any)
{
    yyjson_val *item;
    size_t i, count;
    yyjson_arr_foreach(list, i, count, item)
    {
        if (yyjson_get_sint(yyjson_obj_get(item, "thread")) == thread)
            return item;
    }
    return any ? yyjson_arr_get_first(list) : NULL;
}

/* Where the main thread is, or else one in a call; the line of its innermost frame, "train.py:7 step". */
static void read_place(struct hang_model *model, struct hang_rank *rank, yyjson_val *json)
{
    yyjson_val *call = of_thread(yyjson_obj_get(json, "calls"), rank->pid, true);
    const char *name = yyjson_get_str(yyjson_obj_get(call, "call"));
    int64_t tid = call ? yyjson_get_sint(yyjson_obj_get(call, "thread")) : rank->pid;
    yyjson_val *thread = of_thread(yyjson_obj_get(json, "threads"), tid, false);
    const char *frame = yyjson_get_str(yyjson_arr_get_first(yyjson_obj_get(thread, "python")));
    const char *state = yyjson_get_str(yyjson_obj_get(thread, "state"));
    const char *wait = yyjson_get_str(yyjson_obj_get(thread, "wait"));
    rank->where = name     ? hang_where_in_call(name)
                  : !state ? HANG_HOST
                  : frame && strstr(frame, "dataloader.py")
                      ? HANG_LOADER
                      : hang_where_in_kernel(*state, wait ? wait : "", false);
    rank->function = hang_keep(model, name);
    hang_set_line(model, rank, frame);
}

/* The latest report of a process counts. */
static void read_report(struct hang_model *model, const char *host, yyjson_val *json)
{
    uint64_t now_ns = yyjson_get_uint(yyjson_obj_get(json, "time_ns"));
    int64_t pid = yyjson_get_sint(yyjson_obj_get(json, "pid"));
    bool has_ended = yyjson_equals_str(yyjson_obj_get(json, "state"), "ended");
    size_t i = 0;
    while (i < model->rank_count &&
           (model->ranks[i].pid != pid || model->ranks[i].host != host || model->ranks[i].started_ticks))
        i++;
    struct hang_rank *rank = i < model->rank_count ? &model->ranks[i] : hang_add(model);
    if (now_ns < rank->looked_ns)
        return;
    hang_rank_deinit(rank);
    *rank = (struct hang_rank){0};
    read_rank(model, rank, json, now_ns);
    rank->host = host;
    rank->looked_ns = now_ns;
    rank->watch = has_ended ? LIVE_MOVING : LIVE_STALLED;
    rank->is_still = !has_ended;
    rank->stalled_ns = ns_of(json, "seconds");
    yyjson_val *step = yyjson_obj_get(yyjson_obj_get(json, "step"), "number");
    rank->step = yyjson_is_int(step) ? yyjson_get_sint(step) : -1;
    yyjson_val *work = yyjson_obj_get(yyjson_obj_get(json, "oldest_work"), "kind");
    rank->gpu = yyjson_equals_str(work, "kernel")       ? HANG_GPU_COMPUTE
                : yyjson_equals_str(work, "collective") ? HANG_GPU_COLLECTIVE
                                                        : HANG_GPU_UNKNOWN;
    read_place(model, rank, json);
}

static const char *attribute_of(yyjson_val *of, const char *key)
{
    yyjson_val *attribute;
    size_t i, count;
    yyjson_arr_foreach(yyjson_obj_get(of, "attributes"), i, count, attribute)
    {
        if (yyjson_equals_str(yyjson_obj_get(attribute, "key"), key))
            return yyjson_get_str(yyjson_obj_get(yyjson_obj_get(attribute, "value"), "stringValue"));
    }
    return NULL;
}

void hang_read_logs(struct hang_model *model, yyjson_val *root)
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
            {
                const char *report = attribute_of(record, SEMCONV_CUSPAN_HANG_REPORT);
                yyjson_doc *document = report ? yyjson_read(report, strlen(report), 0) : NULL;
                if (document)
                    read_report(model, host, yyjson_doc_get_root(document));
                yyjson_doc_free(document);
            }
        }
    }
}

static enum status read_document(struct hang_model *model, yyjson_val *root, struct error *err)
{
    static const char *const others[] = {"resourceLogs", "resourceSpans", "resourceMetrics",
                                         "resourceProfiles"};
    yyjson_val *ranks = yyjson_obj_get(root, "ranks"), *rank;
    size_t i, count;
    hang_read_logs(model, root);
    for (i = 0; i < COUNT(others); i++)
        if (yyjson_obj_get(root, others[i]))
            return STATUS_OK;
    if (hang_read_ras(model, root))
        return STATUS_OK;
    if (yyjson_get_uint(yyjson_obj_get(root, "cuspan_hang")) != 1 || !yyjson_is_arr(ranks) ||
        yyjson_arr_size(ranks) > HANG_RANKS_MAX)
        return error_set(err, STATUS_INVALID,
                         "neither OTLP nor what `cuspan hang --json --this-host` prints");
    yyjson_arr_foreach(ranks, i, count, rank) read_rank(model, hang_add(model), rank, 0);
    return STATUS_OK;
}

enum status hang_read_json(struct hang_model *model, char *text, size_t len, struct error *err)
{
    enum status status = STATUS_OK;
    size_t at = 0, documents = 0;
    while (status == STATUS_OK && at < len && (documents == 0 || text[at + strspn(text + at, " \t\r\n")])) {
        yyjson_read_err wrong;
        yyjson_doc *document =
            yyjson_read_opts(text + at, len - at, YYJSON_READ_STOP_WHEN_DONE, NULL, &wrong);
        if (!document)
            return error_set(err, STATUS_INVALID, "neither a live state nor JSON (byte %zu: %s)",
                             at + wrong.pos, wrong.msg);
        status = read_document(model, yyjson_doc_get_root(document), err);
        at += yyjson_doc_get_read_size(document);
        documents++;
        yyjson_doc_free(document);
    }
    return documents ? status : error_set(err, STATUS_INVALID, "the file is empty");
}
