#include "agent/export/spool/spool_writer.h"

#include "base/files.h"
#include "base/limits.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIST_AGAIN_NS (200 * NS_PER_MS)

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static char own_sources[2 * OUTPUTS_MAX][SPOOL_SOURCE_BYTES];

static void register_own(const char *from, const char *to)
{
    pthread_mutex_lock(&own_lock);
    for (size_t i = 0; i < 2 * OUTPUTS_MAX; i++) {
        if (strcmp(own_sources[i], from) != 0)
            continue;
        snprintf(own_sources[i], sizeof own_sources[i], "%s", to);
        break;
    }
    pthread_mutex_unlock(&own_lock);
}

bool spool_writer_owns(const char *source)
{
    bool owns = false;
    pthread_mutex_lock(&own_lock);
    for (size_t i = 0; i < 2 * OUTPUTS_MAX; i++)
        owns |= strcmp(own_sources[i], source) == 0;
    pthread_mutex_unlock(&own_lock);
    return owns;
}

void spool_writer_init(struct spool_writer *writer, const char *path, uint64_t bytes_max)
{
    uint64_t share = bytes_max / 16;
    *writer = (struct spool_writer){.path = path, .bytes_max = bytes_max, .segment = GUARDED_FD_NONE};
    writer->segment_bytes = share < SPOOL_SEGMENT_MIN   ? SPOOL_SEGMENT_MIN
                            : share > SPOOL_SEGMENT_MAX ? SPOOL_SEGMENT_MAX
                                                        : share;
}

static enum status fail(const struct spool_writer *writer, struct error *err)
{
    return error_set(err, STATUS_IO, "cannot write to the spool %.300s (%m)", writer->path);
}

static void update_used(struct spool_writer *writer, int folder)
{
    struct spool_list list;
    if (spool_files_list(folder, SPOOL_LIST_NONE, &list) != STATUS_OK)
        return;
    writer->used = list.bytes;
    writer->listed_at_ns = clock_monotonic_ns();
    spool_files_list_deinit(&list);
}

static void forget_source(struct spool_writer *writer, struct spool_source *source)
{
    guarded_fd_close(&writer->segment);
    guarded_fd_close(&source->segment); /* not the body: the spool's thread may be sending it */
    guarded_fd_close(&source->ledger_file);
    register_own(source->name, "");
    *source->name = 0;
    writer->end = (struct spool_end){0};
    writer->taken += spool_source_waiting(source);
    writer->spooled_before += source->ledger.spooled;
    source->ledger = (struct spool_ledger){.made = source->ledger.made - source->ledger.spooled};
}

enum status spool_writer_hold(struct spool_writer *writer, struct spool_source *source, int folder)
{
    enum status status = *source->name ? spool_source_take_again(source, folder) : STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        (void)spool_source_write_ledger(source);
    if (status == STATUS_NOT_FOUND && *source->name)
        forget_source(writer, source);
    return status;
}

static enum status create_source(struct spool_writer *writer, struct spool_source *source, int folder,
                                 unsigned output, struct error *err)
{
    char file[SPOOL_FILE_BYTES], temporary[SPOOL_FILE_BYTES + 8];
    uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
    uint32_t pid = (uint32_t)getpid();
    spool_format_source_name(source->name, now_ns, pid, files_random(), output);
    register_own("", source->name);
    source->ledger =
        (struct spool_ledger){.start_ns = now_ns, .pid = pid, .output = output, .made = source->ledger.made};
    snprintf(source->ledger.program, SPOOL_PROGRAM_BYTES, "%s", program_invocation_short_name);
    /* Rename it after locking, so that no other process finds it unlocked. */
    spool_format_ledger_name(file, source->name);
    snprintf(temporary, sizeof temporary, "%s.new", file);
    if (!spool_file_open(&source->ledger_file, folder, temporary, O_RDWR | O_CREAT | O_EXCL))
        return fail(writer, err);
    if (spool_file_lock(&source->ledger_file) && spool_source_write_ledger(source) &&
        spool_source_write_ledger(source) && renameat(folder, temporary, folder, file) == 0)
        return STATUS_OK;
    fail(writer, err);
    unlinkat(folder, temporary, 0);
    guarded_fd_close(&source->ledger_file);
    return STATUS_IO;
}

static enum status hold_or_create(struct spool_writer *writer, struct spool_source *source, int folder,
                                  unsigned output, struct error *err)
{
    enum status status = spool_writer_hold(writer, source, folder);
    if (status == STATUS_NOT_FOUND)
        return create_source(writer, source, folder, output, err);
    return status == STATUS_OK ? STATUS_OK : fail(writer, err);
}

static enum status create_segment(struct spool_writer *writer, struct spool_source *source, int folder,
                                  struct error *err)
{
    struct spool_segment segment = {.number = writer->end.at.segment + 1,
                                    .spans_before = source->ledger.spooled};
    guarded_fd_close(&writer->segment);
    update_used(writer, folder);
    if (!spool_file_open_segment(&writer->segment, folder, source->name, segment.number,
                                 O_RDWR | O_CREAT | O_EXCL))
        return fail(writer, err);
    spool_format_seal_segment(&segment);
    if (!spool_file_write(&writer->segment, &segment, sizeof segment, 0)) {
        fail(writer, err);
        guarded_fd_close(&writer->segment);
        spool_files_remove_segment(folder, source->name, segment.number);
        return STATUS_IO;
    }
    writer->end.at = (struct spool_position){SPOOL_SEGMENT_BYTES, segment.number};
    writer->used += SPOOL_SEGMENT_BYTES;
    return STATUS_OK;
}

static enum status prepare(struct spool_writer *writer, struct spool_source *source, unsigned output,
                           uint64_t bytes, struct error *err)
{
    enum status status = STATUS_OK;
    bool has_source = spool_file_is_held(&source->ledger_file);
    const struct spool_position *at = &source->ledger.at, *end = &writer->end.at;
    bool is_caught_up = at->segment == end->segment && at->offset == end->offset;
    bool is_used_up = end->offset >= (is_caught_up ? SPOOL_SEGMENT_CAUGHT_UP : writer->segment_bytes);
    bool has_segment = has_source && spool_file_is_held(&writer->segment) && !is_used_up;
    bool is_full = writer->used + bytes > writer->bytes_max;
    if (has_segment && !is_full)
        return STATUS_OK;
    if (is_full && writer->listed_at_ns && clock_monotonic_ns() - writer->listed_at_ns < LIST_AGAIN_NS)
        return STATUS_FULL;
    int folder = spool_files_open_folder(writer->path, true, err);
    if (folder < 0)
        return STATUS_IO;
    update_used(writer, folder);
    if (writer->used + bytes > writer->bytes_max)
        status = STATUS_FULL;
    if (status == STATUS_OK && !has_source)
        status = hold_or_create(writer, source, folder, output, err);
    if (status == STATUS_OK && !has_segment)
        status = create_segment(writer, source, folder, err);
    close(folder);
    return status;
}

/* Writes the header last, so that a header implies a complete body. */
static bool write_record(struct spool_writer *writer, struct spool_record *record, const struct iovec *parts,
                         size_t part_count)
{
    uint64_t offset = writer->end.at.offset + SPOOL_RECORD_BYTES;
    for (size_t i = 0; i < part_count; i++) {
        if (!spool_file_write(&writer->segment, parts[i].iov_base, parts[i].iov_len, offset))
            return false;
        offset += parts[i].iov_len;
    }
    spool_format_seal_record(record);
    return spool_file_write(&writer->segment, record, sizeof *record, writer->end.at.offset);
}

enum status spool_writer_append(struct spool_writer *writer, struct spool_source *source, unsigned output,
                                struct spool_record *record, const struct iovec *parts, size_t part_count,
                                struct error *err)
{
    record->bytes = record->body_crc = 0;
    for (size_t i = 0; i < part_count; i++) {
        record->bytes += (uint32_t)parts[i].iov_len;
        record->body_crc = spool_format_crc(record->body_crc, parts[i].iov_base, parts[i].iov_len);
    }
    uint64_t bytes = SPOOL_RECORD_BYTES + record->bytes;
    enum status status = prepare(writer, source, output, bytes, err);
    if (status != STATUS_OK)
        return status;
    if (!write_record(writer, record, parts, part_count)) {
        status = fail(writer, err);
        /* Without a header, the rest is not a record. Free the space. */
        (void)!ftruncate(writer->segment.number, (off_t)writer->end.at.offset);
        return status;
    }
    source->ledger.spooled += record->spans;
    writer->end.at.offset += bytes;
    writer->end.spans = source->ledger.spooled;
    writer->used += bytes;
    (void)spool_source_write_ledger(source);
    return STATUS_OK;
}

bool spool_writer_set_made(const struct spool_writer *writer, struct spool_source *source, uint64_t made)
{
    uint64_t before = source->ledger.made;
    source->ledger.made = made - writer->spooled_before;
    return source->ledger.made != before;
}

void spool_writer_deinit(struct spool_writer *writer, const char *source)
{
    guarded_fd_close(&writer->segment);
    register_own(source, "");
    writer->end = (struct spool_end){0};
}
