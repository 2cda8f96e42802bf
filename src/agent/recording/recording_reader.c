#include "agent/recording/recording.h"

#include "base/files.h"
#include "agent/recording/recording_format.h"
#include "agent/recording/recording_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define STORED_MAX (2 * FORMAT_RAW_MAX) /* an upper bound for zlib's output */

/* A string that did not fit into the table. */
struct loose_string {
    struct loose_string *next;
    char text[];
};

struct recording {
    int fd;
    char *path;
    uint64_t offset;       /* of the next read */
    uint64_t block_offset; /* of the current block */
    uint64_t blocks;
    uint64_t events;
    uint32_t block_events; /* not yet returned */
    enum status ended;     /* OK: more to read */
    struct error ended_error;
    uint8_t *stored;
    uint8_t *raw;
    const uint8_t *at; /* the next event in raw */
    const uint8_t *raw_end;
    struct strings strings;
    struct format_state state;
    struct loose_string *loose;
    /* Storage of the last event. */
    uint64_t call_words[CALL_RECORD_BYTES / 8];
    struct resource_record resource;
    uint64_t annotation_words[FORMAT_ANNOTATION_BYTES_MAX / 8];
    struct {
        struct gpu_counters_record record;
        double values[GPU_COUNTERS_MAX];
    } gpu_counters;
    union {
        struct code_record record;
        uint64_t words[CODE_RECORD_BYTES_MAX / 8];
    } code;
    struct step_boundary step;
    struct activity_record activity;
    uint8_t arrays[ACTIVITY_FIELDS_MAX][UINT8_MAX + 1];
};

/* The payload of one event. Reading past its end yields zeros and sets is_bad. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool is_bad;
};

static enum status end_with(struct recording *recording, enum status status, struct error *err)
{
    recording->ended = status;
    if (status != STATUS_END)
        error_set(err, status, "%s", recording->ended_error.text);
    return status;
}

static enum status corrupt(struct recording *recording, uint64_t offset, const char *what, struct error *err)
{
    error_set(&recording->ended_error, STATUS_CORRUPT,
              "%s: corrupt at offset %" PRIu64 ": %s; record it again", recording->path, offset, what);
    return end_with(recording, STATUS_CORRUPT, err);
}

static enum status truncated(struct recording *recording, struct error *err)
{
    error_set(&recording->ended_error, STATUS_CORRUPT,
              "%s: truncated at offset %" PRIu64 ": it ends after %" PRIu64
              " events, without the end mark written at process exit; record it again",
              recording->path, recording->offset, recording->events);
    return end_with(recording, STATUS_CORRUPT, err);
}

/* OK with all `count` bytes, END at the end of the file, IO. */
static enum status read_all(struct recording *recording, uint8_t *to, size_t count, struct error *err)
{
    size_t got = 0;
    while (got < count) {
        ssize_t n = read(recording->fd, to + got, count - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            error_set(&recording->ended_error, STATUS_IO, "%s: cannot read at offset %" PRIu64 ": %s",
                      recording->path, recording->offset + got, strerror(errno));
            return end_with(recording, STATUS_IO, err);
        }
        if (n == 0) {
            recording->offset += got;
            return STATUS_END;
        }
        got += (size_t)n;
    }
    recording->offset += got;
    return STATUS_OK;
}

static uint64_t get(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (cursor->at == cursor->end)
            break;
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->is_bad = true;
    return 0;
}

static uint64_t get_difference(struct cursor *cursor, uint64_t before)
{
    return before + format_unzigzag(get(cursor));
}

static uint32_t get_difference32(struct cursor *cursor, uint32_t before)
{
    return before + (uint32_t)format_unzigzag(get(cursor));
}

static const uint8_t *get_bytes(struct cursor *cursor, uint64_t count)
{
    if (cursor->is_bad || count > (uint64_t)(cursor->end - cursor->at)) {
        cursor->is_bad = true;
        return NULL;
    }
    cursor->at += count;
    return cursor->at - count;
}

static const char *loose_string(struct recording *recording, const uint8_t *text, size_t length)
{
    struct loose_string *copy = malloc(sizeof *copy + length + 1);
    if (!copy)
        return NULL;
    memcpy(copy->text, text, length);
    copy->text[length] = '\0';
    copy->next = recording->loose;
    recording->loose = copy;
    return copy->text;
}

static const char *new_string(struct recording *recording, struct cursor *cursor)
{
    uint64_t length = get(cursor);
    const uint8_t *text = length <= FORMAT_STRING_MAX ? get_bytes(cursor, length) : NULL;
    const char *string = NULL;
    if (text && !recording_strings_has_room(&recording->strings, length))
        string = loose_string(recording, text, length);
    else if (text && recording_strings_add(&recording->strings, (const char *)text, length))
        string = recording_strings_get(&recording->strings, recording->strings.count - 1);
    if (!string)
        cursor->is_bad = true;
    return string;
}

static const char *get_string(struct recording *recording, struct cursor *cursor)
{
    uint64_t reference = get(cursor);
    if (cursor->is_bad || reference == 1)
        return NULL;
    if (reference == 0)
        return new_string(recording, cursor);
    const char *string = recording_strings_get(&recording->strings, reference - 2);
    if (!string)
        cursor->is_bad = true;
    return string;
}

static const char *get_text(struct recording *recording, struct cursor *cursor)
{
    const char *text = get_string(recording, cursor);
    return text ? text : "";
}

/* This build's tables may list other parameters for a call than those of the recording build. */
static bool parameters_fit(const struct call_record *call, size_t words)
{
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    size_t at = 0;
    for (unsigned i = 0; info && i < CALL_PARAMS_MAX; i++) {
        if (!(call->present >> i & 1))
            continue;
        if (i >= info->param_count || at >= words)
            return false;
        const struct call_param *param = &call_params[info->param + i];
        if (param->type == PARAM_STRING && call->values[at] > CALL_STRING_BYTES)
            return false;
        at += call_param_words(param, &call->values[at]);
    }
    return info && at == words;
}

static void get_call(struct recording *recording, struct cursor *cursor, struct recording_event *event)
{
    struct format_state *state = &recording->state;
    struct call_record *call = (struct call_record *)(void *)recording->call_words;
    uint64_t domain = get(cursor), cbid = get(cursor);
    struct format_call *before = NULL;
    if (domain <= UINT8_MAX && cbid < FORMAT_CBIDS_MAX &&
        format_call_is_valid((uint8_t)domain, (uint16_t)cbid))
        before = format_state_call(state, (uint8_t)domain, (uint16_t)cbid);
    if (!before) {
        cursor->is_bad = true;
        return;
    }
    event->tid = state->tid = get_difference(cursor, state->tid);
    call->start_ns = get_difference(cursor, state->time_ns);
    call->end_ns = state->time_ns = get_difference(cursor, call->start_ns);
    call->correlation_id = state->correlation_id = get_difference32(cursor, state->correlation_id);
    call->context_id = before->context_id = get_difference32(cursor, before->context_id);
    call->result = (int32_t)get_difference32(cursor, 0);
    call->present = (uint32_t)get(cursor);
    uint64_t words = get(cursor);
    if (words > CALL_VALUES_MAX) {
        cursor->is_bad = true;
        return;
    }
    for (size_t i = 0; i < words; i++)
        call->values[i] = get_difference(cursor, i < before->words ? before->values[i] : 0);
    memcpy(before->values, call->values, words * sizeof(uint64_t));
    before->words = (uint32_t)words;
    call->head = (struct record_head){.type = RECORD_CALL, .domain = (uint8_t)domain, .cbid = (uint16_t)cbid};
    if (!parameters_fit(call, words)) {
        call->present = 0;
        words = 0;
    }
    call->head.bytes = (uint32_t)(sizeof *call + words * sizeof(uint64_t));
    event->call = call;
}

static void get_resource(struct recording *recording, struct cursor *cursor, struct recording_event *event)
{
    struct format_state *state = &recording->state;
    struct resource_record *before = &state->resource;
    struct resource_record *resource = &recording->resource;
    uint64_t cbid = get(cursor);
    if (cbid > UINT16_MAX)
        cursor->is_bad = true;
    event->tid = state->tid = get_difference(cursor, state->tid);
    resource->time_ns = state->time_ns = get_difference(cursor, state->time_ns);
    resource->context_id = get_difference32(cursor, before->context_id);
    resource->device_id = get_difference32(cursor, before->device_id);
    resource->id = get_difference32(cursor, before->id);
    resource->bytes = get_difference32(cursor, before->bytes);
    resource->handle = get_difference(cursor, before->handle);
    resource->original = before->original;
    if (cbid == FORMAT_CBID_NODE_CLONED)
        resource->original = get_difference(cursor, before->original);
    resource->head =
        (struct record_head){.bytes = sizeof *resource, .type = RECORD_RESOURCE, .cbid = (uint16_t)cbid};
    *before = *resource;
    if (cbid != FORMAT_CBID_NODE_CLONED)
        resource->original = 0;
    if (cbid == FORMAT_CBID_NODE_CREATED && cursor->at < cursor->end)
        resource->code = get(cursor);
    event->resource = resource;
}

static void get_annotation(struct recording *recording, struct cursor *cursor, struct recording_event *event)
{
    struct format_state *state = &recording->state;
    struct resource_record *record =
        (struct resource_record *)(void *)recording->annotation_words; /* head and time */
    uint64_t type = get(cursor), cbid = get(cursor);
    event->tid = state->tid = get_difference(cursor, state->tid);
    state->time_ns = get_difference(cursor, state->time_ns);
    uint64_t bytes = get(cursor);
    const uint8_t *data =
        bytes <= FORMAT_ANNOTATION_BYTES_MAX - FORMAT_ANNOTATION_SKIPPED ? get_bytes(cursor, bytes) : NULL;
    if (!data || type > UINT8_MAX || cbid > UINT16_MAX) {
        cursor->is_bad = true;
        return;
    }
    record->head =
        (struct record_head){(uint32_t)bytes + FORMAT_ANNOTATION_SKIPPED, (uint8_t)type, 0, (uint16_t)cbid};
    record->time_ns = state->time_ns;
    memcpy((char *)recording->annotation_words + FORMAT_ANNOTATION_SKIPPED, data, bytes);
    if (!format_annotation_is_valid(&record->head))
        cursor->is_bad = true;
    event->annotation = &record->head;
}

static double get_double(struct cursor *cursor)
{
    double number;
    const uint8_t *value = get_bytes(cursor, sizeof number);
    uint64_t bits = value ? format_get_u64(value) : 0;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void get_gpu_counters(struct recording *recording, struct cursor *cursor,
                             struct recording_event *event)
{
    struct gpu_counters_record *record = &recording->gpu_counters.record;
    event->tid = get(cursor);
    record->time_ns = get(cursor);
    uint64_t correlation_id = get(cursor), count = get(cursor);
    if (correlation_id > UINT32_MAX || count > GPU_COUNTERS_MAX) {
        cursor->is_bad = true;
        return;
    }
    record->range_ns = get_double(cursor);
    for (size_t i = 0; i < count; i++)
        recording->gpu_counters.values[i] = get_double(cursor);
    record->correlation_id = (uint32_t)correlation_id;
    record->count = (uint32_t)count;
    record->head =
        (struct record_head){(uint32_t)(sizeof *record + count * sizeof(double)), RECORD_GPU_COUNTERS, 0, 0};
    event->gpu_counters = record;
}

static void get_code(struct recording *recording, struct cursor *cursor, struct recording_event *event)
{
    struct code_record *record = &recording->code.record;
    uint64_t correlation_id = get(cursor);
    record->id = get(cursor);
    uint64_t count = get(cursor), flags = get(cursor), bytes = get(cursor);
    const uint8_t *frames =
        bytes <= CODE_RECORD_BYTES_MAX - sizeof *record ? get_bytes(cursor, (size_t)bytes) : NULL;
    if (!frames || bytes % 8 || correlation_id > UINT32_MAX || count > CODE_FRAMES_MAX ||
        flags > UINT32_MAX) {
        cursor->is_bad = true;
        return;
    }
    memcpy(record->frames, frames, (size_t)bytes);
    record->head = (struct record_head){(uint32_t)(sizeof *record + bytes), RECORD_CODE, 0, 0};
    record->frame_count = (uint32_t)count;
    record->flags = (uint32_t)flags;
    cursor->is_bad |= !format_code_is_valid(record);
    event->correlation_id = (uint32_t)correlation_id;
    event->code = record;
}

/* False: a kind or source of a later version. */
static bool get_step(struct recording *recording, struct cursor *cursor, struct recording_event *event)
{
    struct step_boundary *step = &recording->step;
    step->time = get(cursor);
    step->number = (int64_t)format_unzigzag(get(cursor));
    uint64_t kind = get(cursor), source = get(cursor);
    step->nonce = get(cursor);
    step->kind = (uint8_t)kind;
    step->source = (uint8_t)source;
    event->step = step;
    return kind <= STEP_NONE && source < STEP_BY_NONE;
}

/* Fields whose types in the file match this build's; otherwise a number could be used as a pointer. */
static uint64_t fields_usable(const struct format_schema *schema, uint64_t kind)
{
    const struct activity_info *info = &activity_table[kind];
    uint64_t usable = 0;
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        uint8_t type = info->fields && f < info->field_count ? info->fields[f].type : FIELD_UINT;
        bool is_array = type == FIELD_BYTES && info->fields[f].size > 0;
        if ((schema->strings >> f & 1) == (type == FIELD_STRING) && (schema->bytes >> f & 1) == is_array)
            usable |= 1ull << f;
    }
    return usable;
}

static void get_schema(struct recording *recording, struct cursor *cursor)
{
    uint64_t kind = get(cursor);
    struct format_schema schema = {.is_known = true};
    schema.strings = get(cursor);
    schema.bytes = get(cursor);
    if (kind >= ACTIVITY_KINDS_MAX || (schema.strings & schema.bytes) != 0) {
        cursor->is_bad = true;
        return;
    }
    for (unsigned role = ROLE_NONE + 1; role < FORMAT_ROLES; role++) {
        uint64_t field = get(cursor);
        bool is_string = field > 0 && field <= ACTIVITY_FIELDS_MAX && (schema.strings >> (field - 1) & 1);
        bool is_array = field > 0 && field <= ACTIVITY_FIELDS_MAX && (schema.bytes >> (field - 1) & 1);
        if (field > ACTIVITY_FIELDS_MAX || is_array || (field > 0 && is_string != (role == ROLE_NAME)))
            cursor->is_bad = true;
        schema.role[role] = (uint8_t)field;
    }
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (!(schema.bytes >> f & 1))
            continue;
        uint64_t size = get(cursor);
        if (size > UINT8_MAX)
            cursor->is_bad = true;
        schema.size[f] = (uint8_t)size;
    }
    schema.usable = fields_usable(&schema, kind);
    if (!cursor->is_bad)
        recording->state.schemas[kind] = schema;
}

static uint64_t fields_implied(const struct format_schema *schema, uint64_t present)
{
    uint64_t fields = 0;
    for (unsigned role = ROLE_NONE + 1; role < FORMAT_ROLES; role++) {
        if (schema->role[role])
            fields |= 1ull << (schema->role[role] - 1);
    }
    return fields & present;
}

static void set_implied(const struct format_schema *schema, struct activity_record *activity)
{
    for (unsigned role = ROLE_NONE + 1; role < FORMAT_ROLES; role++) {
        if (schema->role[role] == 0)
            continue;
        unsigned f = schema->role[role] - 1u;
        if (activity->present >> f & 1)
            activity->values[f] =
                role == ROLE_NAME ? (uint64_t)(uintptr_t)activity->name : format_role_get(activity, role);
    }
}

static void get_field(struct recording *recording, struct cursor *cursor, const struct format_schema *schema,
                      const struct activity_record *before, unsigned f)
{
    struct activity_record *activity = &recording->activity;
    if (schema->strings >> f & 1) {
        activity->values[f] = (uint64_t)(uintptr_t)get_string(recording, cursor);
    } else if (schema->bytes >> f & 1) {
        const uint8_t *bytes = get_bytes(cursor, schema->size[f]);
        if (bytes)
            memcpy(recording->arrays[f], bytes, schema->size[f]);
        activity->values[f] = (uint64_t)(uintptr_t)recording->arrays[f];
    } else {
        activity->values[f] = get_difference(cursor, before->values[f]);
    }
}

static void get_members(struct recording *recording, struct cursor *cursor,
                        const struct activity_record *before)
{
    struct activity_record *activity = &recording->activity;
    activity->present = get(cursor) ^ before->present;
    activity->start_ns = get_difference(cursor, before->start_ns);
    activity->end_ns = get_difference(cursor, activity->start_ns);
    activity->graph_node_id = get_difference(cursor, before->graph_node_id);
    activity->graph_id = get_difference32(cursor, before->graph_id);
    activity->correlation_id = get_difference32(cursor, before->correlation_id);
    activity->device_id = get_difference32(cursor, before->device_id);
    activity->context_id = get_difference32(cursor, before->context_id);
    activity->stream_id = get_difference32(cursor, before->stream_id);
    activity->name = get_string(recording, cursor);
}

static void get_activity(struct recording *recording, struct cursor *cursor, struct recording_event *event)
{
    uint64_t kind = get(cursor);
    bool has_implied = get(cursor) & 1;
    struct activity_record *before = NULL;
    if (kind < ACTIVITY_KINDS_MAX && recording->state.schemas[kind].is_known)
        before = format_state_activity(&recording->state, (uint16_t)kind);
    if (!before) {
        cursor->is_bad = true;
        return;
    }
    struct activity_record *activity = &recording->activity;
    const struct format_schema *schema = &recording->state.schemas[kind];
    memset(activity->values, 0, sizeof activity->values);
    activity->kind = (uint16_t)kind;
    get_members(recording, cursor, before);
    uint64_t implied = has_implied ? fields_implied(schema, activity->present) : 0;
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX && !cursor->is_bad; f++) {
        if (activity->present >> f & 1 & ~(implied >> f))
            get_field(recording, cursor, schema, before, f);
    }
    if (has_implied)
        set_implied(schema, activity);
    *before = *activity;
    activity->present &= schema->usable;
    event->activity = activity;
}

/* False: the event is skipped. */
static bool get_event(struct recording *recording, uint64_t type, struct cursor *cursor,
                      struct recording_event *event)
{
    *event = (struct recording_event){.type = (enum recording_event_type)type};
    switch (type) {
    case RECORDING_INFO:
        event->name = get_text(recording, cursor);
        event->text = get_text(recording, cursor);
        return true;
    case RECORDING_LOSS:
        event->name = get_text(recording, cursor);
        event->count = get(cursor);
        return true;
    case RECORDING_THREAD:
    case RECORDING_THREAD_END:
        event->tid = get(cursor);
        event->time_ns = get(cursor);
        if (type == RECORDING_THREAD)
            event->name = get_text(recording, cursor);
        return true;
    case RECORDING_CALL:
        get_call(recording, cursor, event);
        return true;
    case RECORDING_RESOURCE:
        get_resource(recording, cursor, event);
        return true;
    case RECORDING_ANNOTATION:
        get_annotation(recording, cursor, event);
        return true;
    case RECORDING_ACTIVITY:
        get_activity(recording, cursor, event);
        return true;
    case RECORDING_GPU_COUNTERS:
        get_gpu_counters(recording, cursor, event);
        return true;
    case RECORDING_CODE:
        get_code(recording, cursor, event);
        return true;
    case RECORDING_STEP:
        return get_step(recording, cursor, event);
    case FORMAT_SCHEMA:
        get_schema(recording, cursor);
        return false;
    default:
        return false; /* from a later minor version */
    }
}

static enum status read_end(struct recording *recording, const uint8_t *data, struct error *err)
{
    uint8_t more;
    if (format_get_u64(data) != recording->events || format_get_u64(data + 8) != recording->blocks)
        return corrupt(recording, recording->block_offset, "the event counts in the end mark are wrong", err);
    uint64_t offset = recording->offset;
    enum status status = read_all(recording, &more, 1, err);
    if (status == STATUS_OK)
        return corrupt(recording, offset, "data after the end mark", err);
    return status == STATUS_END ? end_with(recording, STATUS_END, err) : status;
}

static enum status unpack(struct recording *recording, uint32_t raw, uint32_t stored, struct error *err)
{
    uLongf bytes = FORMAT_RAW_MAX;
    if (uncompress(recording->raw, &bytes, recording->stored + FORMAT_BLOCK_BYTES, stored) != Z_OK ||
        bytes != raw)
        return corrupt(recording, recording->block_offset, "a block cannot be decompressed", err);
    recording->at = recording->raw;
    recording->raw_end = recording->raw + bytes;
    return STATUS_OK;
}

/* Reads the next block into raw; END after the end mark. */
static enum status read_block(struct recording *recording, struct error *err)
{
    uint8_t *head = recording->stored;
    recording->block_offset = recording->offset;
    enum status status = read_all(recording, head, FORMAT_BLOCK_BYTES, err);
    if (status != STATUS_OK)
        return status == STATUS_END ? truncated(recording, err) : status;
    uint32_t mark = format_get_u32(head), raw = format_get_u32(head + 4), stored = format_get_u32(head + 8);
    bool is_end = mark == FORMAT_MARK_END && raw == FORMAT_END_BYTES && stored == FORMAT_END_BYTES;
    bool is_block = mark == FORMAT_MARK_BLOCK && raw > 0 && raw <= FORMAT_RAW_MAX && stored <= STORED_MAX;
    if (!is_end && !is_block)
        return corrupt(recording, recording->block_offset, "no block starts here", err);
    status = read_all(recording, head + FORMAT_BLOCK_BYTES, stored, err);
    if (status != STATUS_OK)
        return status == STATUS_END ? truncated(recording, err) : status;
    uLong crc = crc32(crc32(0, NULL, 0), head, 16);
    if (crc32(crc, head + FORMAT_BLOCK_BYTES, stored) != format_get_u32(head + 16)) {
        char what[64];
        snprintf(what, sizeof what, "checksum of block %" PRIu64 " differs", recording->blocks);
        return corrupt(recording, recording->block_offset, what, err);
    }
    if (is_end)
        return read_end(recording, head + FORMAT_BLOCK_BYTES, err);
    recording->blocks++;
    recording->block_events = format_get_u32(head + 12);
    return unpack(recording, raw, stored, err);
}

/* Reads one event from the block. */
static enum status next_in_block(struct recording *recording, struct recording_event *event, bool *is_event,
                                 struct error *err)
{
    struct cursor cursor = {.at = recording->at, .end = recording->raw_end};
    uint64_t type = get(&cursor), bytes = get(&cursor);
    const uint8_t *payload = get_bytes(&cursor, bytes);
    if (!payload || recording->block_events == 0)
        return corrupt(recording, recording->block_offset, "the events of a block exceed it", err);
    recording->at = cursor.at;
    recording->block_events--;
    recording->events++;
    cursor = (struct cursor){.at = payload, .end = payload + bytes};
    *is_event = get_event(recording, type, &cursor, event);
    if (cursor.is_bad) {
        char what[64];
        snprintf(what, sizeof what, "event %" PRIu64 " of type %" PRIu64 " cannot be read", recording->events,
                 type);
        return corrupt(recording, recording->block_offset, what, err);
    }
    return STATUS_OK;
}

enum status recording_next(struct recording *recording, struct recording_event *event, struct error *err)
{
    if (recording->ended != STATUS_OK)
        return end_with(recording, recording->ended, err);
    bool is_event = false;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !is_event) {
        if (recording->at < recording->raw_end)
            status = next_in_block(recording, event, &is_event, err);
        else if (recording->block_events != 0)
            status =
                corrupt(recording, recording->block_offset, "a block has fewer events than announced", err);
        else
            status = read_block(recording, err);
    }
    return status;
}

static enum status check_header(struct recording *recording, struct error *err)
{
    uint8_t header[FORMAT_HEADER_BYTES];
    enum status status = read_all(recording, header, sizeof header, err);
    if (status == STATUS_IO)
        return status;
    if (recording->offset < FORMAT_MAGIC_BYTES || memcmp(header, FORMAT_MAGIC, FORMAT_MAGIC_BYTES) != 0)
        return error_set(err, STATUS_CORRUPT, "%s: not a cuspan recording (wrong magic at offset 0)",
                         recording->path);
    if (status != STATUS_OK)
        return truncated(recording, err);
    unsigned major = format_get_u16(header + 8), minor = format_get_u16(header + 10);
    if (major != FORMAT_MAJOR)
        return error_set(err, STATUS_UNSUPPORTED,
                         "%s: recording format %u.%u is not supported, this build reads %d.x (offset 8); use "
                         "the cuspan that made it, or record it again",
                         recording->path, major, minor, FORMAT_MAJOR);
    if (crc32(crc32(0, NULL, 0), header, 16) != format_get_u32(header + 16))
        return corrupt(recording, 0, "wrong checksum of the header", err);
    return STATUS_OK;
}

static enum status open_file(struct recording *recording, struct error *err)
{
    recording->fd = files_open(recording->path, O_RDONLY);
    if (recording->fd < 0)
        return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO,
                         "%s: cannot open the recording: %s", recording->path, strerror(errno));
    return check_header(recording, err);
}

enum status recording_open(const char *path, struct recording **out, struct error *err)
{
    *out = NULL;
    struct recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return error_set(err, STATUS_NO_MEMORY, "%s: cannot allocate memory to read a recording", path);
    recording->fd = -1;
    recording->path = strdup(path);
    recording->stored = malloc(FORMAT_BLOCK_BYTES + STORED_MAX);
    recording->raw = malloc(FORMAT_RAW_MAX);
    enum status status;
    if (recording->path && recording->stored && recording->raw)
        status = open_file(recording, err);
    else
        status = error_set(err, STATUS_NO_MEMORY, "%s: cannot allocate memory to read a recording", path);
    if (status == STATUS_OK)
        *out = recording;
    else
        recording_close(recording);
    return status;
}

void recording_close(struct recording *recording)
{
    if (!recording)
        return;
    if (recording->fd >= 0)
        close(recording->fd);
    while (recording->loose) {
        struct loose_string *next = recording->loose->next;
        free(recording->loose);
        recording->loose = next;
    }
    recording_strings_deinit(&recording->strings);
    format_state_deinit(&recording->state);
    free(recording->stored);
    free(recording->raw);
    free(recording->path);
    free(recording);
}
