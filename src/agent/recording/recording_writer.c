#include "agent/recording/recording.h"

#include "base/accounting/counters.h"
#include "base/files.h"
#include "base/process/guarded_fd.h"
#include "base/log/write_signals.h"
#include "agent/recording/recording_format.h"
#include "agent/recording/recording_strings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define VARINT_BYTES_MAX 10

struct recording_writer {
    struct guarded_fd fd; /* the host may close it, and open its own file under the number */
    char *path;
    enum status failed; /* the first IO or NO_MEMORY; nothing is written after it */
    struct error error;
    off_t end_at; /* of the end that a checkpoint wrote; 0: none */
    uint64_t file_events;
    uint64_t file_blocks;
    uint32_t block_events;
    size_t raw_bytes;
    size_t payload_bytes;
    size_t stored_max;
    uint8_t *raw;     /* FORMAT_RAW_MAX */
    uint8_t *payload; /* FORMAT_RAW_MAX: the event in progress */
    uint8_t *stored;
    z_stream deflater;
    bool has_deflater;
    struct strings strings;
    struct format_state state;
};

static enum status fail(struct recording_writer *writer, enum status status, const char *what)
{
    writer->failed = status;
    return error_set(&writer->error, status, "%s: %s: %s; the recording ends here", writer->path, what,
                     status == STATUS_IO ? strerror(errno) : status_text(status));
}

/* The header is written on a thread of the host. */
static enum status write_all(struct recording_writer *writer, const uint8_t *bytes, size_t count)
{
    struct write_signals signals;
    errno = EBADF;
    if (!guarded_fd_is_ours(&writer->fd))
        return fail(writer, STATUS_IO, "can't write");
    write_signals_hold(&signals);
    bool is_written = files_write(writer->fd.number, bytes, count);
    write_signals_release(&signals);
    if (!is_written)
        return fail(writer, STATUS_IO, "can't write");
    return STATUS_OK;
}

/* Later blocks overwrite the end that a checkpoint has written. */
static enum status cut_end(struct recording_writer *writer)
{
    off_t at = writer->end_at;
    writer->end_at = 0;
    errno = EBADF;
    if (!guarded_fd_is_ours(&writer->fd) || ftruncate(writer->fd.number, at) != 0 ||
        lseek(writer->fd.number, at, SEEK_SET) != at)
        return fail(writer, STATUS_IO, "can't write");
    return STATUS_OK;
}

/* Fills in the block header reserved before `stored`, and writes both. */
static enum status write_block(struct recording_writer *writer, uint32_t mark, uint32_t raw, uint32_t stored,
                               uint32_t events)
{
    uint8_t *head = writer->stored;
    if (writer->end_at && cut_end(writer) != STATUS_OK)
        return writer->failed;
    format_put_u32(head, mark);
    format_put_u32(head + 4, raw);
    format_put_u32(head + 8, stored);
    format_put_u32(head + 12, events);
    uLong crc = crc32(crc32(0, NULL, 0), head, 16);
    format_put_u32(head + 16, (uint32_t)crc32(crc, head + FORMAT_BLOCK_BYTES, stored));
    return write_all(writer, head, FORMAT_BLOCK_BYTES + stored);
}

static enum status compress_block(struct recording_writer *writer, uint32_t *stored)
{
    z_stream *z = &writer->deflater;
    if (deflateReset(z) != Z_OK)
        return fail(writer, STATUS_NO_MEMORY, "can't compress");
    z->next_in = writer->raw;
    z->avail_in = (uInt)writer->raw_bytes;
    z->next_out = writer->stored + FORMAT_BLOCK_BYTES;
    z->avail_out = (uInt)writer->stored_max;
    if (deflate(z, Z_FINISH) != Z_STREAM_END)
        return fail(writer, STATUS_NO_MEMORY, "can't compress");
    *stored = (uint32_t)z->total_out;
    return STATUS_OK;
}

enum status recording_writer_flush(struct recording_writer *writer)
{
    if (writer->failed || writer->block_events == 0)
        return STATUS_OK;
    uint32_t stored = 0;
    enum status status = compress_block(writer, &stored);
    if (status == STATUS_OK)
        status =
            write_block(writer, FORMAT_MARK_BLOCK, (uint32_t)writer->raw_bytes, stored, writer->block_events);
    if (status == STATUS_OK) {
        counter_add(COUNTER_records_written, writer->block_events);
        writer->file_events += writer->block_events;
        writer->file_blocks++;
    } else {
        counter_add(COUNTER_lost_recording, writer->block_events);
    }
    writer->block_events = 0;
    writer->raw_bytes = 0;
    return status;
}

static size_t varint_put(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

/* The payload buffer has room: callers have checked the event's maximum size. */
static void put(struct recording_writer *writer, uint64_t value)
{
    writer->payload_bytes += varint_put(writer->payload + writer->payload_bytes, value);
}

static void put_difference(struct recording_writer *writer, uint64_t value, uint64_t before)
{
    put(writer, format_zigzag(value - before));
}

static void put_difference32(struct recording_writer *writer, uint32_t value, uint32_t before)
{
    put(writer, format_zigzag((uint64_t)(int32_t)(value - before)));
}

static void put_bytes(struct recording_writer *writer, const void *bytes, size_t count)
{
    memcpy(writer->payload + writer->payload_bytes, bytes, count);
    writer->payload_bytes += count;
}

static size_t string_length(const char *text)
{
    return text ? strnlen(text, FORMAT_STRING_MAX) : 0;
}

static size_t string_bytes_max(const char *text)
{
    return 2 * VARINT_BYTES_MAX + string_length(text);
}

static void put_string(struct recording_writer *writer, const char *text)
{
    if (!text) {
        put(writer, 1);
        return;
    }
    size_t length = string_length(text);
    uint32_t index;
    if (recording_strings_find(&writer->strings, text, length, &index)) {
        put(writer, (uint64_t)index + 2);
        return;
    }
    put(writer, 0);
    put(writer, length);
    put_bytes(writer, text, length);
    if (recording_strings_has_room(&writer->strings, length) &&
        !recording_strings_add(&writer->strings, text, length))
        (void)fail(writer, STATUS_NO_MEMORY, "cannot store a name");
}

/* Starts an event with a payload of at most `bytes_max` bytes. False: it cannot be stored, or the writer has
 * failed. */
static bool event_begin(struct recording_writer *writer, size_t bytes_max)
{
    writer->payload_bytes = 0;
    if (!writer->failed && bytes_max <= FORMAT_RAW_MAX - 2 * VARINT_BYTES_MAX)
        return true;
    counter_add(COUNTER_lost_recording, 1);
    return false;
}

/* The status to return after event_begin() returned false. */
static enum status event_refused(const struct recording_writer *writer)
{
    return writer->failed ? STATUS_OK : STATUS_INVALID;
}

static enum status event_end(struct recording_writer *writer, unsigned type)
{
    size_t bytes = 2 * VARINT_BYTES_MAX + writer->payload_bytes;
    enum status status = writer->failed;
    if (status == STATUS_OK && writer->raw_bytes + bytes > FORMAT_RAW_MAX)
        status = recording_writer_flush(writer);
    if (status != STATUS_OK) {
        counter_add(COUNTER_lost_recording, 1);
        return status;
    }
    uint8_t *to = writer->raw + writer->raw_bytes;
    to += varint_put(to, type);
    to += varint_put(to, writer->payload_bytes);
    memcpy(to, writer->payload, writer->payload_bytes);
    writer->raw_bytes = (size_t)(to - writer->raw) + writer->payload_bytes;
    writer->block_events++;
    return STATUS_OK;
}

enum status recording_write_raw(struct recording_writer *writer, unsigned type, const void *payload,
                                size_t bytes)
{
    if (!event_begin(writer, bytes))
        return event_refused(writer);
    put_bytes(writer, payload, bytes);
    return event_end(writer, type);
}

enum status recording_write_info(struct recording_writer *writer, const char *key, const char *value)
{
    if (!event_begin(writer, string_bytes_max(key) + string_bytes_max(value)))
        return event_refused(writer);
    put_string(writer, key);
    put_string(writer, value);
    return event_end(writer, RECORDING_INFO);
}

enum status recording_write_loss(struct recording_writer *writer, const char *counter, uint64_t count)
{
    if (!event_begin(writer, string_bytes_max(counter) + VARINT_BYTES_MAX))
        return event_refused(writer);
    put_string(writer, counter);
    put(writer, count);
    return event_end(writer, RECORDING_LOSS);
}

enum status recording_write_thread(struct recording_writer *writer, const struct thread_info *thread,
                                   uint64_t time_ns)
{
    char name[THREAD_NAME_BYTES];
    memcpy(name, thread->name, sizeof name);
    name[sizeof name - 1] = '\0';
    if (!event_begin(writer, 2 * VARINT_BYTES_MAX + string_bytes_max(name)))
        return event_refused(writer);
    put(writer, thread->tid);
    put(writer, time_ns);
    put_string(writer, name);
    return event_end(writer, RECORDING_THREAD);
}

enum status recording_write_thread_end(struct recording_writer *writer, uint64_t tid, uint64_t time_ns)
{
    if (!event_begin(writer, 2 * VARINT_BYTES_MAX))
        return event_refused(writer);
    put(writer, tid);
    put(writer, time_ns);
    return event_end(writer, RECORDING_THREAD_END);
}

/* Thread and time, common to calls and resources. */
static void put_place(struct recording_writer *writer, uint64_t tid, uint64_t time_ns)
{
    struct format_state *state = &writer->state;
    put_difference(writer, tid, state->tid);
    put_difference(writer, time_ns, state->time_ns);
    state->tid = tid;
    state->time_ns = time_ns;
}

enum status recording_write_call(struct recording_writer *writer, uint64_t tid,
                                 const struct call_record *call)
{
    size_t words = (call->head.bytes - sizeof *call) / sizeof(uint64_t);
    bool is_valid = call->head.bytes >= sizeof *call && words <= CALL_VALUES_MAX &&
                    format_call_is_valid(call->head.domain, call->head.cbid);
    if (!event_begin(writer, is_valid ? (16 + words) * VARINT_BYTES_MAX : SIZE_MAX))
        return event_refused(writer);
    struct format_state *state = &writer->state;
    struct format_call *before = format_state_call(state, call->head.domain, call->head.cbid);
    if (!before) {
        counter_add(COUNTER_lost_recording, 1);
        return fail(writer, STATUS_NO_MEMORY, "cannot store a call");
    }
    put(writer, call->head.domain);
    put(writer, call->head.cbid);
    put_place(writer, tid, call->start_ns);
    put_difference(writer, call->end_ns, call->start_ns);
    put_difference32(writer, call->correlation_id, state->correlation_id);
    put_difference32(writer, call->context_id, before->context_id);
    put_difference32(writer, (uint32_t)call->result, 0);
    put(writer, call->present);
    put(writer, words);
    for (size_t i = 0; i < words; i++)
        put_difference(writer, call->values[i], i < before->words ? before->values[i] : 0);
    state->time_ns = call->end_ns;
    state->correlation_id = call->correlation_id;
    before->context_id = call->context_id;
    before->words = (uint32_t)words;
    memcpy(before->values, call->values, words * sizeof(uint64_t));
    return event_end(writer, RECORDING_CALL);
}

enum status recording_write_resource(struct recording_writer *writer, uint64_t tid,
                                     const struct resource_record *resource)
{
    if (!event_begin(writer, 16 * VARINT_BYTES_MAX))
        return event_refused(writer);
    const struct resource_record *before = &writer->state.resource;
    put(writer, resource->head.cbid);
    put_place(writer, tid, resource->time_ns);
    put_difference32(writer, resource->context_id, before->context_id);
    put_difference32(writer, resource->device_id, before->device_id);
    put_difference32(writer, resource->id, before->id);
    put_difference32(writer, resource->bytes, before->bytes);
    put_difference(writer, resource->handle, before->handle);
    uint64_t original = before->original;
    if (resource->head.cbid == FORMAT_CBID_NODE_CLONED) {
        put_difference(writer, resource->original, original);
        original = resource->original;
    }
    if (resource->head.cbid == FORMAT_CBID_NODE_CREATED && resource->code)
        put(writer, resource->code);
    writer->state.resource = *resource;
    writer->state.resource.original = original;
    return event_end(writer, RECORDING_RESOURCE);
}

enum status recording_write_annotation(struct recording_writer *writer, uint64_t tid, uint64_t time_ns,
                                       const struct record_head *annotation)
{
    bool is_valid = format_annotation_is_valid(annotation);
    if (!event_begin(writer, is_valid ? 8 * VARINT_BYTES_MAX + annotation->bytes : SIZE_MAX))
        return event_refused(writer);
    size_t bytes = annotation->bytes - FORMAT_ANNOTATION_SKIPPED;
    put(writer, annotation->type);
    put(writer, annotation->cbid);
    put_place(writer, tid, time_ns);
    put(writer, bytes);
    put_bytes(writer, (const char *)annotation + FORMAT_ANNOTATION_SKIPPED, bytes);
    return event_end(writer, RECORDING_ANNOTATION);
}

static void put_double(struct recording_writer *writer, double number)
{
    uint8_t value[8];
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    format_put_u64(value, bits);
    put_bytes(writer, (const char *)value, sizeof value);
}

/* All numbers in full, so that readers may skip the event without missing a difference. */
enum status recording_write_gpu_counters(struct recording_writer *writer, uint64_t tid,
                                         const struct gpu_counters_record *counters)
{
    bool is_valid = counters->count <= GPU_COUNTERS_MAX;
    size_t bytes = (counters->count + 1) * sizeof *counters->values;
    if (!event_begin(writer, is_valid ? 4 * VARINT_BYTES_MAX + bytes : SIZE_MAX))
        return event_refused(writer);
    put(writer, tid);
    put(writer, counters->time_ns);
    put(writer, counters->correlation_id);
    put(writer, counters->count);
    put_double(writer, counters->range_ns);
    for (uint32_t i = 0; i < counters->count; i++)
        put_double(writer, counters->values[i]);
    return event_end(writer, RECORDING_GPU_COUNTERS);
}

/* All numbers in full, as above. The frames are stored as in memory, in little-endian. */
enum status recording_write_code(struct recording_writer *writer, uint32_t correlation_id,
                                 const struct code_record *code)
{
    size_t bytes = code->head.bytes - sizeof *code;
    if (!event_begin(writer, format_code_is_valid(code) ? 5 * VARINT_BYTES_MAX + bytes : SIZE_MAX))
        return event_refused(writer);
    put(writer, correlation_id);
    put(writer, code->id);
    put(writer, code->frame_count);
    put(writer, code->flags);
    put(writer, bytes);
    put_bytes(writer, code->frames, bytes);
    return event_end(writer, RECORDING_CODE);
}

/* All numbers in full, as above. */
enum status recording_write_step(struct recording_writer *writer, const struct step_boundary *step)
{
    if (!event_begin(writer, 5 * VARINT_BYTES_MAX))
        return event_refused(writer);
    put(writer, step->time);
    put(writer, format_zigzag((uint64_t)step->number));
    put(writer, step->kind);
    put(writer, step->source);
    put(writer, step->nonce);
    return event_end(writer, RECORDING_STEP);
}

static void schema_init(struct format_schema *schema, uint16_t kind)
{
    const struct activity_info *info = &activity_table[kind];
    *schema = (struct format_schema){.is_known = true};
    for (unsigned f = 0; info->fields && f < info->field_count && f < ACTIVITY_FIELDS_MAX; f++) {
        const struct activity_field *field = &info->fields[f];
        if (field->type == FIELD_STRING)
            schema->strings |= 1ull << f;
        if (field->type == FIELD_BYTES && field->size > 0) {
            schema->bytes |= 1ull << f;
            schema->size[f] = field->size;
        }
        if (field->role != ROLE_NONE && (field->type == FIELD_STRING) == (field->role == ROLE_NAME))
            schema->role[field->role] = (uint8_t)(f + 1);
    }
}

static enum status write_schema(struct recording_writer *writer, uint16_t kind)
{
    struct format_schema *schema = &writer->state.schemas[kind];
    if (schema->is_known || !event_begin(writer, (4 + FORMAT_ROLES + ACTIVITY_FIELDS_MAX) * VARINT_BYTES_MAX))
        return STATUS_OK;
    schema_init(schema, kind);
    put(writer, kind);
    put(writer, schema->strings);
    put(writer, schema->bytes);
    for (unsigned role = ROLE_NONE + 1; role < FORMAT_ROLES; role++)
        put(writer, schema->role[role]);
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (schema->bytes >> f & 1)
            put(writer, schema->size[f]);
    }
    return event_end(writer, FORMAT_SCHEMA);
}

static const char *field_string(const struct activity_record *activity, unsigned f)
{
    return (const char *)(uintptr_t)activity->values[f];
}

static bool strings_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Fields that repeat members of the record, and therefore need not be stored. */
static uint64_t fields_implied(const struct format_schema *schema, const struct activity_record *activity)
{
    uint64_t fields = 0;
    for (unsigned role = ROLE_NONE + 1; role < FORMAT_ROLES; role++) {
        if (schema->role[role] == 0)
            continue;
        unsigned f = schema->role[role] - 1u;
        if (!(activity->present >> f & 1))
            continue;
        bool is_same = role == ROLE_NAME ? strings_equal(field_string(activity, f), activity->name)
                                         : activity->values[f] == format_role_get(activity, role);
        if (!is_same)
            return 0;
        fields |= 1ull << f;
    }
    return fields;
}

static size_t activity_bytes_max(const struct format_schema *schema, const struct activity_record *activity)
{
    size_t bytes = 16 * VARINT_BYTES_MAX + string_bytes_max(activity->name);
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (!(activity->present >> f & 1))
            continue;
        if (schema->strings >> f & 1)
            bytes += string_bytes_max(field_string(activity, f));
        else
            bytes += VARINT_BYTES_MAX + schema->size[f];
    }
    return bytes;
}

static void put_field(struct recording_writer *writer, const struct format_schema *schema,
                      const struct activity_record *activity, const struct activity_record *before,
                      unsigned f)
{
    static const uint8_t zeros[UINT8_MAX];
    if (schema->strings >> f & 1) {
        put_string(writer, field_string(activity, f));
    } else if (schema->bytes >> f & 1) {
        const void *bytes = (const void *)(uintptr_t)activity->values[f];
        put_bytes(writer, bytes ? bytes : zeros, schema->size[f]);
    } else {
        put_difference(writer, activity->values[f], before->values[f]);
    }
}

static void put_activity(struct recording_writer *writer, const struct format_schema *schema,
                         const struct activity_record *activity, const struct activity_record *before)
{
    uint64_t implied = fields_implied(schema, activity);
    put(writer, activity->kind);
    put(writer, implied != 0);
    put(writer, activity->present ^ before->present);
    put_difference(writer, activity->start_ns, before->start_ns);
    put_difference(writer, activity->end_ns, activity->start_ns);
    put_difference(writer, activity->graph_node_id, before->graph_node_id);
    put_difference32(writer, activity->graph_id, before->graph_id);
    put_difference32(writer, activity->correlation_id, before->correlation_id);
    put_difference32(writer, activity->device_id, before->device_id);
    put_difference32(writer, activity->context_id, before->context_id);
    put_difference32(writer, activity->stream_id, before->stream_id);
    put_string(writer, activity->name);
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (activity->present >> f & 1 & ~(implied >> f))
            put_field(writer, schema, activity, before, f);
    }
}

/* As the reader has it: absent fields are zero. */
static void keep_activity(struct activity_record *before, const struct activity_record *activity)
{
    *before = *activity;
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (!(activity->present >> f & 1))
            before->values[f] = 0;
    }
}

enum status recording_write_activity(struct recording_writer *writer, const struct activity_record *activity)
{
    bool is_valid = activity->kind < ACTIVITY_KINDS_MAX;
    enum status status = is_valid ? write_schema(writer, activity->kind) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    const struct format_schema *schema = &writer->state.schemas[is_valid ? activity->kind : 0];
    if (!event_begin(writer, is_valid ? activity_bytes_max(schema, activity) : SIZE_MAX))
        return event_refused(writer);
    struct activity_record *before = format_state_activity(&writer->state, activity->kind);
    if (!before) {
        counter_add(COUNTER_lost_recording, 1);
        return fail(writer, STATUS_NO_MEMORY, "cannot store a record");
    }
    put_activity(writer, schema, activity, before);
    keep_activity(before, activity);
    return event_end(writer, RECORDING_ACTIVITY);
}

uint64_t recording_writer_events(const struct recording_writer *writer)
{
    return writer->file_events;
}

static void writer_destroy(struct recording_writer *writer)
{
    guarded_fd_close(&writer->fd);
    if (writer->has_deflater)
        deflateEnd(&writer->deflater);
    recording_strings_deinit(&writer->strings);
    format_state_deinit(&writer->state);
    free(writer->raw);
    free(writer->payload);
    free(writer->stored);
    free(writer->path);
    free(writer);
}

static enum status write_header(struct recording_writer *writer)
{
    uint8_t header[FORMAT_HEADER_BYTES] = {0};
    memcpy(header, FORMAT_MAGIC, FORMAT_MAGIC_BYTES);
    format_put_u16(header + 8, FORMAT_MAJOR);
    format_put_u16(header + 10, FORMAT_MINOR);
    format_put_u32(header + 16, (uint32_t)crc32(crc32(0, NULL, 0), header, 16));
    return write_all(writer, header, sizeof header);
}

static bool writer_allocate(struct recording_writer *writer, const char *path)
{
    writer->has_deflater = deflateInit(&writer->deflater, Z_DEFAULT_COMPRESSION) == Z_OK;
    if (!writer->has_deflater)
        return false;
    writer->stored_max = deflateBound(&writer->deflater, FORMAT_RAW_MAX);
    writer->path = strdup(path);
    writer->raw = malloc(FORMAT_RAW_MAX);
    writer->payload = malloc(FORMAT_RAW_MAX);
    writer->stored = malloc(FORMAT_BLOCK_BYTES + writer->stored_max);
    return writer->path && writer->raw && writer->payload && writer->stored;
}

/* Fails on a pipe without a reader instead of blocking, because this runs on a host thread. */
static int open_device(const char *path)
{
    int fd = files_open(path, O_WRONLY | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

/* Creates a new file instead of overwriting an old one, so that neither a current reader nor a link's target
 * is affected. Devices and pipes are opened as they are. */
static int create_file(const char *path)
{
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode) &&
        !S_ISDIR(there.st_mode))
        return open_device(path);
    return files_create(path);
}

enum status recording_writer_create(const char *path, struct recording_writer **out, struct error *err)
{
    *out = NULL;
    struct recording_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return error_set(err, STATUS_NO_MEMORY, "%s: cannot allocate memory for a recording", path);
    writer->fd = GUARDED_FD_NONE;
    enum status status;
    if (!writer_allocate(writer, path))
        status = error_set(err, STATUS_NO_MEMORY, "%s: cannot allocate memory for a recording", path);
    else if ((writer->fd = guarded_fd_of(create_file(path))).number < 0)
        status = error_set(err, STATUS_IO, "%s: cannot create the recording: %s", path, strerror(errno));
    else if ((status = write_header(writer)) != STATUS_OK)
        error_set(err, status, "%s", writer->error.text);
    if (status != STATUS_OK)
        writer_destroy(writer);
    else
        *out = writer;
    return status;
}

static enum status write_end(struct recording_writer *writer)
{
    enum status status = recording_writer_flush(writer);
    if (status != STATUS_OK || writer->failed)
        return writer->failed;
    format_put_u64(writer->stored + FORMAT_BLOCK_BYTES, writer->file_events);
    format_put_u64(writer->stored + FORMAT_BLOCK_BYTES + 8, writer->file_blocks);
    return write_block(writer, FORMAT_MARK_END, FORMAT_END_BYTES, FORMAT_END_BYTES, 0);
}

enum status recording_writer_checkpoint(struct recording_writer *writer)
{
    enum status status = recording_writer_flush(writer);
    bool may_end = !writer->failed && !writer->end_at && guarded_fd_is_ours(&writer->fd);
    off_t at = may_end ? lseek(writer->fd.number, 0, SEEK_CUR) : 0;
    if (at <= 0) /* a pipe can't take it back */
        return status;
    status = write_end(writer);
    if (status == STATUS_OK)
        writer->end_at = at;
    return status;
}

/* Another process may have taken the name, such as `cuspan record` in another container. */
static bool has_name(const struct recording_writer *writer)
{
    struct stat file;
    return fstat(writer->fd.number, &file) != 0 || file.st_nlink > 0;
}

enum status recording_writer_close(struct recording_writer *writer, struct error *err)
{
    if (!writer)
        return STATUS_OK;
    enum status status = write_end(writer);
    if (status == STATUS_OK && !has_name(writer)) {
        errno = ENOENT;
        status = fail(writer, STATUS_IO, "it was removed or replaced while it was written");
    }
    int fd = guarded_fd_is_ours(&writer->fd) ? writer->fd.number : -1;
    writer->fd = GUARDED_FD_NONE;
    if (fd >= 0 && close(fd) != 0 && status == STATUS_OK)
        status = fail(writer, STATUS_IO, "can't write"); /* a full disk may be reported only now */
    if (status != STATUS_OK)
        error_set(err, status, "%s", writer->error.text);
    writer_destroy(writer);
    return status;
}
