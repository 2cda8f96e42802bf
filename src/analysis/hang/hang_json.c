#include "analysis/hang/hang_read.h"

#include "cli/util/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

static const char *const watches[] = {"not_watched", "moving", "stalled", "over"};
static const char *const gpus[] = {"unknown", "compute", "collective"};

static void write_call(struct json_writer *json, const struct hang_call *call)
{
    json_write_object(json, NULL);
    json_write_unsigned(json, "n", call->number);
    json_write_unsigned(json, "o", call->ordinal);
    json_write_unsigned(json, "at", call->enqueued_ns);
    json_write_text(json, "op", hang_operation_word(call->operation));
    if (call->bytes != UINT64_MAX)
        json_write_unsigned(json, "bytes", call->bytes);
    if (call->datatype)
        json_write_unsigned(json, "type", call->datatype);
    if (call->peer != LIVE_NO_PEER)
        json_write_signed(json, "peer", call->peer);
    json_write_unsigned(json, "thread", call->thread);
    json_write_unsigned(json, "flags", call->flags);
    if (call->line)
        json_write_text(json, "line", call->line);
    json_write_object_end(json);
}

static void write_seat(struct json_writer *json, const struct hang_seat *seat)
{
    char id[20];
    snprintf(id, sizeof id, "%" PRIx64, seat->id);
    json_write_object(json, NULL);
    json_write_text(json, "id", id);
    json_write_unsigned(json, "size", seat->size);
    if (seat->rank != HANG_NONE)
        json_write_unsigned(json, "rank", seat->rank);
    json_write_unsigned(json, "local_ranks", seat->local_ranks);
    json_write_unsigned(json, "enqueued", seat->enqueued);
    json_write_unsigned(json, "completed", seat->completed);
    json_write_bool(json, "exact", seat->is_exact);
    json_write_array(json, "calls");
    for (uint32_t i = 0; i < seat->call_count; i++)
        write_call(json, &seat->calls[i]);
    json_write_array_end(json);
    json_write_object_end(json);
}

static void write_rank(struct json_writer *json, const struct hang_rank *rank)
{
    json_write_object(json, NULL);
    json_write_signed(json, "rank", rank->rank);
    json_write_signed(json, "world_size", rank->world_size);
    json_write_text(json, "host", rank->host ? rank->host : "");
    json_write_signed(json, "pid", rank->pid);
    json_write_unsigned(json, "user", rank->user);
    json_write_unsigned(json, "started_ticks", rank->started_ticks);
    json_write_text(json, "where", hang_where_word(rank->where));
    if (rank->end != HANG_UNKNOWN)
        json_write_text(json, "end", hang_where_word(rank->end));
    json_write_unsigned(json, "looked_ns", rank->looked_ns);
    if (rank->function)
        json_write_text(json, "function", rank->function);
    if (rank->line)
        json_write_text(json, "line", rank->line);
    json_write_text(json, "watch", watches[rank->watch]);
    json_write_bool(json, "still", rank->is_still);
    json_write_unsigned(json, "stalled_ns", rank->stalled_ns);
    json_write_signed(json, "step", rank->step);
    json_write_text(json, "gpu", gpus[rank->gpu]);
    json_write_array(json, "communicators");
    for (uint32_t s = 0; s < rank->seat_count; s++)
        write_seat(json, &rank->seats[s]);
    json_write_array_end(json);
    json_write_object_end(json);
}

void hang_write_ranks(struct json_writer *json, const struct hang_model *model)
{
    json_write_array(json, "ranks");
    for (size_t i = 0; i < model->rank_count; i++)
        write_rank(json, &model->ranks[i]);
    json_write_array_end(json);
}

/* Reading. Members that are missing or of another type are unknown. */

static int64_t read_signed(yyjson_val *object, const char *key, int64_t otherwise)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    return yyjson_is_int(value) ? yyjson_get_sint(value) : otherwise;
}

static uint64_t read_unsigned(yyjson_val *object, const char *key, uint64_t otherwise)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    return yyjson_is_uint(value) ? yyjson_get_uint(value) : otherwise;
}

static uint32_t read_u32(yyjson_val *object, const char *key, uint32_t otherwise)
{
    uint64_t value = read_unsigned(object, key, otherwise);
    return value <= UINT32_MAX ? (uint32_t)value : otherwise;
}

static size_t read_word(yyjson_val *object, const char *key, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (yyjson_equals_str(yyjson_obj_get(object, key), words[i]))
            return i;
    return 0;
}

static const char *keep_member(struct hang_model *model, yyjson_val *object, const char *key)
{
    return hang_keep(model, yyjson_get_str(yyjson_obj_get(object, key)));
}

static void read_seat(struct hang_model *model, struct hang_seat *seat, yyjson_val *json)
{
    const char *id = yyjson_get_str(yyjson_obj_get(json, "id"));
    yyjson_val *calls = yyjson_obj_get(json, "calls"), *call;
    size_t i, count;
    *seat = (struct hang_seat){.id = id ? strtoull(id, NULL, 16) : 0,
                               .size = read_u32(json, "size", 0),
                               .rank = read_u32(json, "rank", HANG_NONE),
                               .local_ranks = read_u32(json, "local_ranks", 1),
                               .enqueued = read_unsigned(json, "enqueued", 0),
                               .completed = read_unsigned(json, "completed", 0),
                               .is_exact = yyjson_is_true(yyjson_obj_get(json, "exact")),
                               .calls = xcalloc(LIVE_ENTRIES + 1, sizeof *seat->calls)};
    yyjson_arr_foreach(calls, i, count, call)
    {
        if (seat->call_count == LIVE_ENTRIES)
            break;
        int64_t peer = read_signed(call, "peer", LIVE_NO_PEER);
        seat->calls[seat->call_count++] =
            (struct hang_call){.number = read_unsigned(call, "n", 0),
                               .ordinal = read_unsigned(call, "o", 0),
                               .enqueued_ns = read_unsigned(call, "at", 0),
                               .bytes = read_unsigned(call, "bytes", UINT64_MAX),
                               .line = keep_member(model, call, "line"),
                               .thread = read_u32(call, "thread", 0),
                               .peer = peer >= 0 && peer < HANG_RANKS_MAX ? (int32_t)peer : LIVE_NO_PEER,
                               .operation = hang_operation_of(yyjson_get_str(yyjson_obj_get(call, "op"))),
                               .datatype = (uint8_t)read_u32(call, "type", 0),
                               .flags = (uint8_t)read_u32(call, "flags", 0)};
    }
}

static void read_rank(struct hang_model *model, yyjson_val *json)
{
    yyjson_val *seats = yyjson_obj_get(json, "communicators"), *seat;
    size_t i, count;
    struct hang_rank *rank = hang_add(model);
    rank->rank = read_signed(json, "rank", -1);
    rank->world_size = read_signed(json, "world_size", -1);
    rank->host = keep_member(model, json, "host");
    rank->pid = (int32_t)read_signed(json, "pid", 0);
    rank->user = read_u32(json, "user", 0);
    rank->started_ticks = read_unsigned(json, "started_ticks", 0);
    rank->where = hang_where_of(yyjson_get_str(yyjson_obj_get(json, "where")));
    rank->end = hang_where_of(yyjson_get_str(yyjson_obj_get(json, "end")));
    rank->looked_ns = read_unsigned(json, "looked_ns", 0);
    rank->function = keep_member(model, json, "function");
    rank->line = keep_member(model, json, "line");
    rank->watch = (enum live_watch)read_word(json, "watch", watches, sizeof watches / sizeof *watches);
    rank->is_still = yyjson_is_true(yyjson_obj_get(json, "still"));
    rank->stalled_ns = read_unsigned(json, "stalled_ns", 0);
    rank->step = read_signed(json, "step", -1);
    rank->gpu = (enum hang_gpu)read_word(json, "gpu", gpus, sizeof gpus / sizeof *gpus);
    rank->seats = xcalloc(LIVE_COMMUNICATORS, sizeof *rank->seats);
    yyjson_arr_foreach(seats, i, count, seat)
    {
        if (rank->seat_count < LIVE_COMMUNICATORS)
            read_seat(model, &rank->seats[rank->seat_count++], seat);
    }
}

static enum status read_document(struct hang_model *model, yyjson_val *root, struct error *err)
{
    yyjson_val *ranks = yyjson_obj_get(root, "ranks"), *rank;
    size_t i, count;
    if (hang_read_logs(model, root))
        return STATUS_OK;
    if (read_unsigned(root, "cuspan_hang", 0) != 1 || !yyjson_is_arr(ranks) ||
        yyjson_arr_size(ranks) > HANG_RANKS_MAX)
        return error_set(err, STATUS_INVALID,
                         "neither OTLP nor what `cuspan hang --json --this-host` prints");
    yyjson_arr_foreach(ranks, i, count, rank) read_rank(model, rank);
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
