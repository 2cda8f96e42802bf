#include "agent/export/spool/spool_source.h"

#include "base/limits.h"
#include "base/text/sanitize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool spool_source_write_ledger(struct spool_source *source)
{
    if (!spool_file_is_held(&source->ledger_file)) {
        errno = EBADF;
        return false;
    }
    source->ledger.sequence++;
    spool_format_seal_slot(&source->ledger);
    return spool_file_write(&source->ledger_file, &source->ledger, sizeof source->ledger,
                            source->ledger.sequence % 2 * SPOOL_SLOT_BYTES);
}

/* If the ledger is missing or damaged, everything in the segments counts as not delivered. */
static struct spool_ledger read_ledger(const struct guarded_fd *file)
{
    uint8_t bytes[SPOOL_LEDGER_BYTES];
    struct spool_ledger ledger;
    ssize_t have = spool_file_read(file, bytes, sizeof bytes, 0);
    if (have > 0 && spool_format_read_ledger(bytes, (size_t)have, &ledger))
        return ledger;
    return (struct spool_ledger){.has_ended = true};
}

/* The previous holder of the lock may have finished the source and deleted the file. */
static bool is_linked(const struct guarded_fd *file, int folder, const char *name)
{
    struct stat facts;
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && facts.st_dev == file->device &&
           facts.st_ino == file->inode;
}

enum status spool_source_take(struct spool_source *source, int folder, const char *name,
                              uint32_t last_segment)
{
    char file[SPOOL_FILE_BYTES];
    *source = SPOOL_SOURCE_NONE;
    snprintf(source->name, sizeof source->name, "%s", name);
    spool_format_ledger_name(file, name);
    if (!spool_file_open(&source->ledger_file, folder, file, O_RDWR | O_CREAT))
        return STATUS_IO;
    bool is_locked = spool_file_lock(&source->ledger_file);
    bool is_current = is_linked(&source->ledger_file, folder, file);
    if (is_locked && is_current) {
        source->ledger = read_ledger(&source->ledger_file);
        source->last_segment = spool_files_last_segment(folder, name, last_segment);
        if (source->ledger.at.segment || spool_files_next_segment(folder, name, 1, source->last_segment))
            return STATUS_OK;
        unlinkat(folder, file, 0); /* O_CREAT has just created it: the source no longer exists */
        is_current = false;
    }
    guarded_fd_close(&source->ledger_file);
    return is_current ? STATUS_UNAVAILABLE : STATUS_NOT_FOUND;
}

/* A takeover is noted in the ledger: its process has ended. */
enum status spool_source_take_again(struct spool_source *source, int folder)
{
    char file[SPOOL_FILE_BYTES];
    guarded_fd_close(&source->ledger_file);
    spool_format_ledger_name(file, source->name);
    if (!spool_file_open(&source->ledger_file, folder, file, O_RDWR))
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? STATUS_IO : STATUS_NOT_FOUND;
    if (spool_file_lock(&source->ledger_file) && is_linked(&source->ledger_file, folder, file) &&
        !read_ledger(&source->ledger_file).has_ended)
        return STATUS_OK;
    guarded_fd_close(&source->ledger_file);
    return STATUS_NOT_FOUND;
}

uint64_t spool_source_waiting(const struct spool_source *source)
{
    const struct spool_ledger *ledger = &source->ledger;
    uint64_t known = ledger->delivered + ledger->lost;
    return ledger->spooled > known ? ledger->spooled - known : 0;
}

/* Spans written before this point that are neither delivered nor lost cannot be read any more. */
static void count_missing(struct spool_source *source, uint64_t spans_written, uint64_t *damaged)
{
    uint64_t known = source->ledger.delivered + source->ledger.lost;
    if (spans_written <= known)
        return;
    *damaged += spans_written - known;
    source->ledger.lost += spans_written - known;
}

/* Opens the segment at the position, or else the next one that exists, and moves to its start. */
static enum spool_turn open_segment(struct spool_source *source, int folder, const struct spool_end *end,
                                    uint64_t *damaged)
{
    struct spool_position *at = &source->ledger.at;
    struct spool_segment segment;
    uint32_t number = at->segment ? at->segment : 1;
    if (!spool_file_open_segment(&source->segment, folder, source->name, number, O_RDWR)) {
        if (errno != ENOENT)
            return SPOOL_ERROR;
        number = spool_files_next_segment(folder, source->name, number, source->last_segment);
        if (!number || (end && number > end->at.segment)) {
            count_missing(source, end ? end->spans : source->ledger.spooled, damaged);
            return SPOOL_NOTHING;
        }
        if (!spool_file_open_segment(&source->segment, folder, source->name, number, O_RDWR))
            return SPOOL_ERROR;
    }
    ssize_t have = spool_file_read(&source->segment, &segment, sizeof segment, 0);
    if (have < 0)
        return SPOOL_ERROR;
    bool is_good = have == sizeof segment && spool_format_is_segment(&segment) && segment.number == number;
    if (number != at->segment || at->offset < SPOOL_SEGMENT_BYTES)
        *at = (struct spool_position){SPOOL_SEGMENT_BYTES, number};
    if (is_good)
        count_missing(source, at->offset == SPOOL_SEGMENT_BYTES ? segment.spans_before : 0, damaged);
    else
        at->offset = UINT64_MAX; /* skip the segment */
    return SPOOL_RECORD;
}

static bool make_room(struct spool_source *source, size_t bytes)
{
    if (bytes <= source->body_capacity)
        return true;
    uint8_t *body = realloc(source->body, bytes);
    if (!body)
        return false;
    source->body = body;
    source->body_capacity = bytes;
    return true;
}

enum found { FOUND_RECORD, FOUND_DAMAGED, FOUND_END, FOUND_ERROR };

/* Reads the record at the position, within the first `limit` bytes of the segment. */
static enum found read_record(struct spool_source *source, uint64_t limit, struct spool_record *record)
{
    uint64_t offset = source->ledger.at.offset;
    if (offset >= limit || limit - offset < SPOOL_RECORD_BYTES)
        return FOUND_END;
    ssize_t have = spool_file_read(&source->segment, record, sizeof *record, offset);
    if (have < 0)
        return FOUND_ERROR;
    if (have < (ssize_t)sizeof *record || !spool_format_is_record(record) ||
        limit - offset - SPOOL_RECORD_BYTES < record->bytes)
        return FOUND_END;
    if (!make_room(source, record->bytes)) {
        errno = ENOMEM;
        return FOUND_ERROR;
    }
    have = spool_file_read(&source->segment, source->body, record->bytes, offset + SPOOL_RECORD_BYTES);
    if (have < 0)
        return FOUND_ERROR;
    bool is_whole =
        (size_t)have == record->bytes && spool_format_crc(0, source->body, record->bytes) == record->body_crc;
    return is_whole ? FOUND_RECORD : FOUND_DAMAGED;
}

enum spool_turn spool_source_next(struct spool_source *source, int folder, const struct spool_end *end,
                                  struct spool_record *record, uint64_t *damaged)
{
    struct spool_position *at = &source->ledger.at;
    for (;;) {
        if (!spool_file_is_held(&source->segment)) {
            enum spool_turn turn = open_segment(source, folder, end, damaged);
            if (turn != SPOOL_RECORD)
                return turn;
        }
        bool is_last = end && at->segment == end->at.segment;
        uint64_t limit = is_last ? end->at.offset : spool_file_size(&source->segment);
        switch (read_record(source, limit, record)) {
        case FOUND_RECORD:
            return SPOOL_RECORD;
        case FOUND_ERROR:
            return SPOOL_ERROR;
        case FOUND_DAMAGED: {
            uint64_t known = source->ledger.lost;
            spool_source_pass(source, record, 0);
            *damaged += source->ledger.lost - known;
            break;
        }
        case FOUND_END:
            if (is_last) {
                at->offset = limit;
                count_missing(source, end->spans, damaged);
                return SPOOL_NOTHING;
            }
            guarded_fd_close(&source->segment);
            spool_files_remove_segment(folder, source->name, at->segment);
            *at = (struct spool_position){SPOOL_SEGMENT_BYTES, at->segment + 1};
            break;
        }
    }
}

void spool_source_pass(struct spool_source *source, const struct spool_record *record, uint64_t delivered)
{
    uint64_t spans = record->spans;
    source->ledger.at.offset += SPOOL_RECORD_BYTES + record->bytes;
    source->ledger.delivered += delivered < spans ? delivered : spans;
    source->ledger.lost += delivered < spans ? spans - delivered : 0;
}

void spool_source_release(struct spool_source *source, int folder, bool remove)
{
    char file[SPOOL_FILE_BYTES];
    if (remove) {
        uint32_t number = source->ledger.at.segment;
        while ((number = spool_files_next_segment(folder, source->name, number, source->last_segment)) &&
               spool_files_remove_segment(folder, source->name, number)) {
        }
        spool_format_ledger_name(file, source->name);
        unlinkat(folder, file, 0);
    }
    guarded_fd_close(&source->segment);
    guarded_fd_close(&source->ledger_file);
    free(source->body);
    *source = SPOOL_SOURCE_NONE;
}

/* Reads the headers only; bodies are checked when they are sent. */
static void survey_segment(const struct guarded_fd *file, uint64_t offset, struct spool_recovery *recovery)
{
    struct spool_record record;
    uint64_t size = spool_file_size(file);
    while (offset < size && size - offset >= sizeof record &&
           spool_file_read(file, &record, sizeof record, offset) == sizeof record &&
           spool_format_is_record(&record) && size - offset - sizeof record >= record.bytes) {
        recovery->here += record.spans;
        recovery->bytes += record.bytes;
        offset += sizeof record + record.bytes;
    }
}

static void survey(const struct spool_source *source, int folder, struct spool_recovery *recovery)
{
    const struct spool_position *at = &source->ledger.at;
    struct guarded_fd file;
    uint32_t number = at->segment ? at->segment : 1;
    for (; (number = spool_files_next_segment(folder, source->name, number, source->last_segment));
         number++) {
        if (!spool_file_open_segment(&file, folder, source->name, number, O_RDONLY))
            continue;
        bool is_begun = number == at->segment && at->offset > SPOOL_SEGMENT_BYTES;
        survey_segment(&file, is_begun ? at->offset : SPOOL_SEGMENT_BYTES, recovery);
        guarded_fd_close(&file);
    }
}

static void describe(const struct spool_ledger *ledger, struct spool_recovery *recovery)
{
    const char *what = ledger->output == METRICS_OUTPUT ? "data points" : "spans";
    if (recovery->is_sudden)
        snprintf(recovery->line, sizeof recovery->line,
                 "process %u (%s) ended unexpectedly: of %llu %s that it is known to have created, %llu were "
                 "delivered, %llu are in the spool and will be sent now, %llu are lost",
                 ledger->pid, ledger->program, (unsigned long long)ledger->made, what,
                 (unsigned long long)ledger->delivered, (unsigned long long)recovery->here,
                 (unsigned long long)recovery->lost);
    else if (ledger->sequence)
        snprintf(recovery->line, sizeof recovery->line,
                 "sending %llu %s that process %u (%s) left in the spool", (unsigned long long)recovery->here,
                 what, ledger->pid, ledger->program);
    sanitize_in_place(recovery->line); /* the program's name comes from a file */
}

void spool_recovery_read(struct spool_source *source, int folder, struct spool_recovery *recovery)
{
    struct spool_ledger *ledger = &source->ledger;
    *recovery = (struct spool_recovery){0};
    survey(source, folder, recovery);
    uint64_t known = ledger->delivered + ledger->lost;
    if (ledger->spooled < known + recovery->here)
        ledger->spooled = known + recovery->here; /* a record is written before the ledger */
    if (ledger->made < ledger->delivered + ledger->lost + recovery->here)
        ledger->made = ledger->delivered + ledger->lost + recovery->here;
    if (!ledger->has_ended)
        recovery->lost = ledger->made - ledger->delivered - recovery->here;
    recovery->is_sudden = !ledger->has_ended && (recovery->lost || recovery->here);
    if (recovery->lost || recovery->here)
        describe(ledger, recovery);
    /* recovery->lost includes the damaged ones. */
    if (!ledger->has_ended && ledger->spooled > known + recovery->here)
        ledger->lost += ledger->spooled - known - recovery->here;
    ledger->has_ended = true;
    (void)spool_source_write_ledger(source);
}
