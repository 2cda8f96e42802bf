#include "agent/recording/recording.h"

#include "base/accounting/counters.h"
#include "base/files.h"
#include "base/process/guarded_fd.h"
#include "base/log/write_signals.h"
#include "agent/recording/recording_events.h"
#include "agent/recording/recording_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAYLOAD_MAX (FORMAT_RAW_MAX - 2 * FORMAT_VARINT_BYTES_MAX)

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
    size_t stored_max;
    uint8_t *raw;     /* FORMAT_RAW_MAX */
    uint8_t *payload; /* FORMAT_RAW_MAX: the event in progress */
    uint8_t *stored;
    z_stream deflater;
    bool has_deflater;
    struct recording_events parts;
};

static enum status fail(struct recording_writer *writer, enum status status, const char *what)
{
    writer->failed = status;
    return error_set(&writer->error, status, "%s: %s: %s; the recording ends here", writer->path, what,
                     status == STATUS_IO ? strerror(errno) : status_text(status));
}

/* The header is written on a thread of the host. */
static enum status write_all(struct recording_writer *writer, const void *bytes, size_t count)
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

/* Fills in the place for a header before the data in `stored`, and writes both. */
static enum status write_block(struct recording_writer *writer, struct format_block head)
{
    if (writer->end_at && cut_end(writer) != STATUS_OK)
        return writer->failed;
    head.crc = format_crc(&head, writer->stored + sizeof head, head.stored);
    memcpy(writer->stored, &head, sizeof head);
    return write_all(writer, writer->stored, sizeof head + head.stored);
}

static enum status compress_block(struct recording_writer *writer, uint32_t *stored)
{
    z_stream *z = &writer->deflater;
    if (deflateReset(z) != Z_OK)
        return fail(writer, STATUS_NO_MEMORY, "can't compress");
    z->next_in = writer->raw;
    z->avail_in = (uInt)writer->raw_bytes;
    z->next_out = writer->stored + sizeof(struct format_block);
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
    struct format_block head = {
        .mark = FORMAT_MARK_BLOCK, .raw = (uint32_t)writer->raw_bytes, .events = writer->block_events};
    enum status status = compress_block(writer, &head.stored);
    if (status == STATUS_OK)
        status = write_block(writer, head);
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

/* Counts an event that cannot be stored, or that comes after a failure. */
static enum status refuse(const struct recording_writer *writer)
{
    counter_add(COUNTER_lost_recording, 1);
    return writer->failed ? STATUS_OK : STATUS_INVALID;
}

/* Adds the event whose payload has been made. */
static enum status add(struct recording_writer *writer, uint64_t type, uint64_t bytes)
{
    struct recording_events *parts = &writer->parts;
    enum status status = writer->failed;
    if (status == STATUS_OK && writer->raw_bytes + 2 * FORMAT_VARINT_BYTES_MAX + bytes > FORMAT_RAW_MAX)
        status = recording_writer_flush(writer);
    if (status != STATUS_OK) {
        counter_add(COUNTER_lost_recording, 1);
        return status;
    }
    parts->at = writer->raw + writer->raw_bytes;
    recording_events_head(parts, &type, &bytes);
    memcpy(parts->at, writer->payload, bytes);
    writer->raw_bytes = (size_t)(parts->at - writer->raw) + bytes;
    writer->block_events++;
    return STATUS_OK;
}

static enum status write_event(struct recording_writer *writer, struct recording_event event)
{
    struct recording_events *parts = &writer->parts;
    parts->at = writer->payload;
    parts->end = writer->payload + PAYLOAD_MAX;
    recording_events_exchange(parts, &event);
    if (parts->unallocated) {
        char what[64];
        snprintf(what, sizeof what, "cannot store %s", parts->unallocated);
        (void)fail(writer, STATUS_NO_MEMORY, what);
    }
    return add(writer, event.type, (size_t)(parts->at - writer->payload));
}

/* One schema precedes the records of a kind. */
static enum status write_schema(struct recording_writer *writer, const struct activity_record *activity)
{
    if (writer->failed || activity->kind >= ACTIVITY_KINDS_MAX ||
        writer->parts.state.schemas[activity->kind].is_known)
        return STATUS_OK;
    return write_event(writer, (struct recording_event){.type = FORMAT_SCHEMA, .activity = activity});
}

enum status recording_write(struct recording_writer *writer, const struct recording_event *event)
{
    enum status status =
        event->type == RECORDING_ACTIVITY ? write_schema(writer, event->activity) : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    if (writer->failed || !recording_events_can_store(&writer->parts, event, PAYLOAD_MAX))
        return refuse(writer);
    return write_event(writer, *event);
}

enum status recording_write_raw(struct recording_writer *writer, unsigned type, const void *payload,
                                size_t bytes)
{
    if (writer->failed || bytes > PAYLOAD_MAX)
        return refuse(writer);
    memcpy(writer->payload, payload, bytes);
    return add(writer, type, bytes);
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
    recording_events_deinit(&writer->parts);
    free(writer->raw);
    free(writer->payload);
    free(writer->stored);
    free(writer->path);
    free(writer);
}

static enum status write_header(struct recording_writer *writer)
{
    struct format_header header = {.major = FORMAT_MAJOR, .minor = FORMAT_MINOR};
    memcpy(header.magic, FORMAT_MAGIC, sizeof header.magic);
    header.crc = format_crc(&header, NULL, 0);
    return write_all(writer, &header, sizeof header);
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
    writer->stored = malloc(sizeof(struct format_block) + writer->stored_max);
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
    const struct format_end end = {writer->file_events, writer->file_blocks};
    memcpy(writer->stored + sizeof(struct format_block), &end, sizeof end);
    return write_block(
        writer, (struct format_block){.mark = FORMAT_MARK_END, .raw = sizeof end, .stored = sizeof end});
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
