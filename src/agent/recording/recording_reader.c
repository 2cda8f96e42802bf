#include "agent/recording/recording.h"

#include "base/files.h"
#include "agent/recording/recording_events.h"
#include "agent/recording/recording_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORED_MAX (2 * FORMAT_RAW_MAX) /* an upper bound for zlib's output */

struct recording {
    int fd;
    char *path;
    uint64_t offset;       /* of the next read */
    uint64_t block_offset; /* of the current block */
    uint64_t blocks;
    uint64_t events;
    uint32_t block_events; /* not yet returned */
    enum status ended;     /* OK: more to read */
    struct error error;
    uint8_t *stored;
    uint8_t *raw;
    uint8_t *at; /* the next event in raw */
    uint8_t *raw_end;
    struct recording_events parts;
};

static enum status corrupt(struct recording *recording, uint64_t offset, const char *what)
{
    return error_set(&recording->error, STATUS_CORRUPT,
                     "%s: corrupt at offset %" PRIu64 ": %s; record it again", recording->path, offset, what);
}

static enum status truncated(struct recording *recording)
{
    return error_set(&recording->error, STATUS_CORRUPT,
                     "%s: truncated at offset %" PRIu64 ": it ends after %" PRIu64
                     " events, without the end mark written at process exit; record it again",
                     recording->path, recording->offset, recording->events);
}

/* OK with all `count` bytes, END at the end of the file, IO. */
static enum status read_all(struct recording *recording, void *to, size_t count)
{
    size_t got = 0;
    while (got < count) {
        ssize_t n = read(recording->fd, (uint8_t *)to + got, count - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(&recording->error, STATUS_IO, "%s: cannot read at offset %" PRIu64 ": %s",
                             recording->path, recording->offset + got, strerror(errno));
        if (n == 0) {
            recording->offset += got;
            return STATUS_END;
        }
        got += (size_t)n;
    }
    recording->offset += got;
    return STATUS_OK;
}

static enum status read_end(struct recording *recording)
{
    uint8_t more;
    struct format_end end;
    memcpy(&end, recording->stored, sizeof end);
    if (end.events != recording->events || end.blocks != recording->blocks)
        return corrupt(recording, recording->block_offset, "the event counts in the end mark are wrong");
    uint64_t offset = recording->offset;
    enum status status = read_all(recording, &more, 1);
    if (status == STATUS_OK)
        return corrupt(recording, offset, "data after the end mark");
    return status;
}

static enum status unpack(struct recording *recording, uint32_t raw, uint32_t stored)
{
    uLongf bytes = FORMAT_RAW_MAX;
    if (uncompress(recording->raw, &bytes, recording->stored, stored) != Z_OK || bytes != raw)
        return corrupt(recording, recording->block_offset, "a block cannot be decompressed");
    recording->at = recording->raw;
    recording->raw_end = recording->raw + bytes;
    return STATUS_OK;
}

/* Reads the next block into raw; END after the end mark. */
static enum status read_block(struct recording *recording)
{
    struct format_block head;
    recording->block_offset = recording->offset;
    enum status status = read_all(recording, &head, sizeof head);
    if (status != STATUS_OK)
        return status == STATUS_END ? truncated(recording) : status;
    bool is_end = head.mark == FORMAT_MARK_END && head.raw == sizeof(struct format_end) &&
                  head.stored == sizeof(struct format_end);
    bool is_block = head.mark == FORMAT_MARK_BLOCK && head.raw > 0 && head.raw <= FORMAT_RAW_MAX &&
                    head.stored <= STORED_MAX;
    if (!is_end && !is_block)
        return corrupt(recording, recording->block_offset, "no block starts here");
    status = read_all(recording, recording->stored, head.stored);
    if (status != STATUS_OK)
        return status == STATUS_END ? truncated(recording) : status;
    if (format_crc(&head, recording->stored, head.stored) != head.crc) {
        char what[64];
        snprintf(what, sizeof what, "checksum of block %" PRIu64 " differs", recording->blocks);
        return corrupt(recording, recording->block_offset, what);
    }
    if (is_end)
        return read_end(recording);
    recording->blocks++;
    recording->block_events = head.events;
    return unpack(recording, head.raw, head.stored);
}

/* Reads one event from the block. */
static enum status next_in_block(struct recording *recording, struct recording_event *event, bool *is_event)
{
    struct recording_events *parts = &recording->parts;
    uint64_t type = 0, bytes = 0;
    parts->at = recording->at;
    parts->end = recording->raw_end;
    recording_events_head(parts, &type, &bytes);
    if (parts->is_bad || bytes > (uint64_t)(parts->end - parts->at) || recording->block_events == 0)
        return corrupt(recording, recording->block_offset, "the events of a block exceed it");
    recording->at = parts->end = parts->at + bytes;
    recording->block_events--;
    recording->events++;
    *event = (struct recording_event){.type = (enum recording_event_type)type};
    *is_event = recording_events_exchange(parts, event);
    if (parts->is_bad) {
        char what[64];
        snprintf(what, sizeof what, "event %" PRIu64 " of type %" PRIu64 " cannot be read", recording->events,
                 type);
        return corrupt(recording, recording->block_offset, what);
    }
    return STATUS_OK;
}

enum status recording_next(struct recording *recording, struct recording_event *event, struct error *err)
{
    bool is_event = false;
    enum status status = recording->ended;
    while (status == STATUS_OK && !is_event) {
        if (recording->at < recording->raw_end)
            status = next_in_block(recording, event, &is_event);
        else if (recording->block_events != 0)
            status = corrupt(recording, recording->block_offset, "a block has fewer events than announced");
        else
            status = read_block(recording);
    }
    recording->ended = status;
    if (status != STATUS_OK && status != STATUS_END)
        error_set(err, status, "%s", recording->error.text);
    return status;
}

static enum status check_header(struct recording *recording)
{
    struct format_header header;
    enum status status = read_all(recording, &header, sizeof header);
    if (status == STATUS_IO)
        return status;
    if (recording->offset < FORMAT_MAGIC_BYTES || memcmp(header.magic, FORMAT_MAGIC, FORMAT_MAGIC_BYTES) != 0)
        return error_set(&recording->error, STATUS_CORRUPT,
                         "%s: not a cuspan recording (wrong magic at offset 0)", recording->path);
    if (status != STATUS_OK)
        return truncated(recording);
    if (header.major != FORMAT_MAJOR)
        return error_set(&recording->error, STATUS_UNSUPPORTED,
                         "%s: recording format %u.%u is not supported, this build reads %d.x (offset 8); use "
                         "the cuspan that made it, or record it again",
                         recording->path, header.major, header.minor, FORMAT_MAJOR);
    if (format_crc(&header, NULL, 0) != header.crc)
        return corrupt(recording, 0, "wrong checksum of the header");
    return STATUS_OK;
}

static enum status open_file(struct recording *recording)
{
    recording->fd = files_open(recording->path, O_RDONLY);
    if (recording->fd < 0)
        return error_set(&recording->error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO,
                         "%s: cannot open the recording: %s", recording->path, strerror(errno));
    return check_header(recording);
}

enum status recording_open(const char *path, struct recording **out, struct error *err)
{
    *out = NULL;
    struct recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return error_set(err, STATUS_NO_MEMORY, "%s: cannot allocate memory to read a recording", path);
    recording->fd = -1;
    recording->parts.is_reading = true;
    recording->path = strdup(path);
    recording->stored = malloc(STORED_MAX);
    recording->raw = malloc(FORMAT_RAW_MAX);
    enum status status;
    if (recording->path && recording->stored && recording->raw)
        status = open_file(recording);
    else
        status = error_set(&recording->error, STATUS_NO_MEMORY,
                           "%s: cannot allocate memory to read a recording", path);
    if (status == STATUS_OK) {
        *out = recording;
        return STATUS_OK;
    }
    error_set(err, status, "%s", recording->error.text);
    recording_close(recording);
    return status;
}

void recording_close(struct recording *recording)
{
    if (!recording)
        return;
    if (recording->fd >= 0)
        close(recording->fd);
    recording_events_deinit(&recording->parts);
    free(recording->stored);
    free(recording->raw);
    free(recording->path);
    free(recording);
}
