/* Reading a spool with any content terminates, accesses only its own memory, and counts no span twice. The
 * first byte selects how the rest is used: as a ledger, a segment, a segment with valid checksums in the
 * records' headers (which random bytes never have), or a line of OTLP JSON. */
#include "agent/export/spool/spool_source.h"
#include "agent/export/spool/spool_drain.h"

#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#define BYTES_MAX 4096

static char source[SPOOL_SOURCE_BYTES];
static int folder = -1;
static char path[] = "/tmp/spool_fuzz.XXXXXX";

static void end(void)
{
    char name[SPOOL_FILE_BYTES];
    spool_format_ledger_name(name, source);
    unlinkat(folder, name, 0);
    spool_format_segment_name(name, source, 1);
    unlinkat(folder, name, 0);
    rmdir(path);
}

static void begin(void)
{
    struct error err;
    if (!mkdtemp(path) || (folder = spool_files_open_folder(path, false, &err)) < 0)
        abort();
    atexit(end);
    spool_format_source_name(source, 1, 2, 3, 0);
}

static void put(const char *name, const void *bytes, size_t count)
{
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
        abort();
    close(fd);
}

/* The first two bytes of the data give each record's size and spans. */
static size_t make_segment(uint8_t *to, const uint8_t *data, size_t size)
{
    struct spool_segment segment = {.number = 1, .spans_before = size ? data[0] : 0};
    spool_format_seal_segment(&segment);
    memcpy(to, &segment, sizeof segment);
    size_t made = SPOOL_SEGMENT_BYTES;
    while (size > 2) {
        struct spool_record record = {.bytes = data[0], .spans = data[1], .format = data[1] & 1};
        data += 2, size -= 2;
        size_t count = record.bytes < size ? record.bytes : size;
        record.body_crc = spool_format_crc(0, data, count);
        spool_format_seal_record(&record);
        memcpy(to + made, &record, sizeof record);
        memcpy(to + made + SPOOL_RECORD_BYTES, data, count);
        made += SPOOL_RECORD_BYTES + count;
        data += count, size -= count;
    }
    return made;
}

static void look(void)
{
    struct spool_source taken;
    struct spool_recovery estate;
    struct spool_record record;
    uint64_t damaged = 0, came = 0, records = 0;
    if (spool_source_take(&taken, folder, source, 0) != STATUS_OK)
        return;
    spool_recovery_read(&taken, folder, &estate);
    if (strlen(estate.line) >= sizeof estate.line || strpbrk(estate.line, "\n\033"))
        abort();
    while (spool_source_next(&taken, folder, NULL, &record, &damaged) == SPOOL_RECORD) {
        if (spool_format_crc(0, taken.body, record.bytes) != record.body_crc || ++records > BYTES_MAX)
            abort();
        spool_source_pass(&taken, &record, record.spans);
        came += record.spans;
    }
    if (came > estate.here)
        abort();
    spool_source_release(&taken, folder, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[BYTES_MAX * 32];
    char ledger[SPOOL_FILE_BYTES], segment[SPOOL_FILE_BYTES];
    if (folder < 0)
        begin();
    if (size < 1 || size > BYTES_MAX)
        return 0;
    unsigned way = *data++ % 4;
    size--;
    spool_format_ledger_name(ledger, source);
    spool_format_segment_name(segment, source, 1);
    if (way == 3) {
        int64_t spans = json_spans_count((const char *)data, size);
        if (spans > (int64_t)size)
            abort();
        return 0;
    }
    put(ledger, data, way == 0 ? size : 0);
    size_t made = way == 0 ? 0 : size;
    if (way != 1)
        made = make_segment(bytes, data, size);
    put(segment, way == 1 ? data : bytes, made);
    look();
    return 0;
}
