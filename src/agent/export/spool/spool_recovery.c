#include "agent/export/spool/spool_recovery.h"

#include "base/limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Reads the headers only; bodies are checked when they are sent. */
static void survey_segment(const struct guarded_fd *file, uint64_t offset, struct spool_recovery *recovery)
{
    uint8_t header[SPOOL_RECORD_BYTES];
    struct spool_record record;
    uint64_t size = spool_file_size(file);
    while (offset < size && size - offset >= sizeof header &&
           spool_file_read(file, header, sizeof header, offset) == sizeof header &&
           spool_format_read_record(header, &record) && size - offset - sizeof header >= record.bytes) {
        recovery->here += record.spans;
        recovery->bytes += record.bytes;
        offset += sizeof header + record.bytes;
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

/* The name comes from a file and must not contain control characters. */
static void show_program(const char *program, char shown[SPOOL_PROGRAM_BYTES])
{
    size_t i = 0;
    for (; program[i]; i++)
        shown[i] = (unsigned char)program[i] < ' ' || (unsigned char)program[i] >= 0x7f ? '?' : program[i];
    shown[i] = 0;
}

static void describe(const struct spool_ledger *ledger, struct spool_recovery *recovery)
{
    char program[SPOOL_PROGRAM_BYTES];
    const char *what = ledger->output == METRICS_OUTPUT ? "data points" : "spans";
    show_program(ledger->program, program);
    if (recovery->is_sudden)
        snprintf(recovery->line, sizeof recovery->line,
                 "process %u (%s) ended unexpectedly: of %llu %s that it is known to have created, %llu were "
                 "delivered, %llu are in the spool and will be sent now, %llu are lost",
                 ledger->pid, program, (unsigned long long)ledger->made, what,
                 (unsigned long long)ledger->delivered, (unsigned long long)recovery->here,
                 (unsigned long long)recovery->lost);
    else if (ledger->sequence)
        snprintf(recovery->line, sizeof recovery->line,
                 "sending %llu %s that process %u (%s) left in the spool", (unsigned long long)recovery->here,
                 what, ledger->pid, program);
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
