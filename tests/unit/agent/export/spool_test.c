/* The spool's files: what is written comes back, in order, and whatever happens to the bytes, each span is
 * delivered as it was or counted. */
#include "agent/export/spool/spool_writer.h"

#include "base/accounting/counters.h"
#include "agent/export/spool/spool_source.h"
#include "model/batch.h"
#include "model/settings/settings.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS    5
#define BODY_BYTES 40
#define BYTES_MAX  (4u * 1024 * 1024)

static char path[64];
static int folder;
static struct spool_writer writer;
static struct spool_source own;

static void empty_folder(void)
{
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s' 2>/dev/null; rm -rf '%s'", path, path);
    assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
    struct error err;
    counters_reset();
    strcpy(path, "/tmp/cuspan_spool_test.XXXXXX");
    if (!mkdtemp(path))
        return -1;
    folder = spool_files_open_folder(path, false, &err);
    own = SPOOL_SOURCE_NONE;
    spool_writer_init(&writer, path, BYTES_MAX);
    return folder < 0;
}

static void end_writing(bool in_order)
{
    char name[SPOOL_SOURCE_BYTES];
    memcpy(name, own.name, sizeof name);
    own.ledger.has_ended = in_order;
    (void)!spool_source_write_ledger(&own);
    spool_source_release(&own, folder, false);
    spool_writer_deinit(&writer, name);
}

static int teardown(void **state)
{
    end_writing(true);
    close(folder);
    empty_folder();
    return 0;
}

/* Record i has i + 1 spans and its number in its body. */
static void fill(char *body, uint32_t i)
{
    memset(body, 'a' + (int)(i % 26), BODY_BYTES);
    snprintf(body, BODY_BYTES, "%u", i);
}

static enum status append(uint32_t i, const void *body, size_t bytes)
{
    struct error err = {""};
    struct spool_record record = {
        .time_ns = i, .spans = i + 1, .format = BATCH_JSON, .compression = COMPRESSION_GZIP};
    const struct iovec parts[] = {
        {.iov_base = (void *)(uintptr_t)body, .iov_len = bytes / 2},
        {.iov_base = (char *)(uintptr_t)body + bytes / 2, .iov_len = bytes - bytes / 2}};
    return spool_writer_append(&writer, &own, 1, &record, parts, 2, &err);
}

static void append_all(uint32_t count)
{
    char body[BODY_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        fill(body, i);
        assert_int_equal(append(i, body, BODY_BYTES), STATUS_OK);
    }
}

static uint64_t spans_of(uint32_t records)
{
    return records * (records + 1ull) / 2;
}

/* Reads a source to its end: each record must be one that was written, later than the one before. Spans that
 * came; those counted as damaged are added. */
static uint64_t read_all(struct spool_source *source, const struct spool_end *end, uint64_t *damaged)
{
    struct spool_record record;
    enum spool_turn turn;
    uint64_t spans = 0;
    uint32_t next = 0;
    while ((turn = spool_source_next(source, folder, end, &record, damaged)) == SPOOL_RECORD) {
        char body[BODY_BYTES];
        uint32_t i = record.spans - 1;
        assert_true(i >= next);
        fill(body, i);
        assert_int_equal(record.bytes, BODY_BYTES);
        assert_memory_equal(source->body, body, BODY_BYTES);
        assert_int_equal(record.time_ns, i);
        assert_int_equal(record.format, BATCH_JSON);
        assert_int_equal(record.compression, COMPRESSION_GZIP);
        spool_source_pass(source, &record, record.spans);
        spans += record.spans;
        next = i + 1;
    }
    assert_int_equal(turn, SPOOL_NOTHING);
    return spans;
}

/* Like read_all(), for what two calls of append_all() have written. */
static uint64_t read_both(uint64_t *damaged)
{
    struct spool_record record;
    uint64_t spans = 0;
    while (spool_source_next(&own, folder, &writer.end, &record, damaged) == SPOOL_RECORD) {
        spool_source_pass(&own, &record, record.spans);
        spans += record.spans;
    }
    return spans;
}

static void test_the_checksum_is_crc_32c(void **state)
{
    assert_int_equal(spool_format_crc(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(spool_format_crc(spool_format_crc(0, "1234", 4), "56789", 5), 0xe3069283u);
    uint8_t zeros[32] = {0};
    assert_int_equal(spool_format_crc(0, zeros, sizeof zeros), 0x8a9136aau);
}

static void test_names_are_ours_or_not(void **state)
{
    char name[SPOOL_SOURCE_BYTES], source[SPOOL_SOURCE_BYTES], file[SPOOL_FILE_BYTES];
    uint32_t output, segment;
    spool_format_source_name(name, 0x18ea5046, 4711, 0xdeadbeef, 3);
    spool_format_segment_name(file, name, 12);
    assert_true(spool_format_parse_name(file, source, &output, &segment));
    assert_string_equal(source, name);
    assert_int_equal(output, 3);
    assert_int_equal(segment, 12);
    spool_format_segment_name(file, name, 12345678);
    assert_true(spool_format_parse_name(file, source, &output, &segment));
    spool_format_ledger_name(file, name);
    assert_true(spool_format_parse_name(file, source, &output, &segment));
    assert_int_equal(segment, 0);
    static const char *const foreign[] = {"",
                                          ".",
                                          "x.ledger",
                                          "0000000018ea5046-4711-deadbeef-3",
                                          "0000000018ea5046-4711-deadbeef-3.ledger.part",
                                          "0000000018ea5046-4711-deadbeef-3-000000.segment",
                                          "0000000018ea5046-4711-deadbeef-3-12.segment",
                                          "0000000018ea5046-+4711-deadbeef-3.ledger",
                                          "18ea5046-4711-deadbeef-3.ledger",
                                          "0000000018ea5046-4711-deadbeef-3-000001.segment/../x"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_false(spool_format_parse_name(foreign[i], source, &output, &segment));
}

static void test_what_is_written_comes_back_in_order(void **state)
{
    uint64_t damaged = 0;
    append_all(RECORDS);
    assert_int_equal(spool_source_waiting(&own), spans_of(RECORDS));
    assert_int_equal(read_all(&own, &writer.end, &damaged), spans_of(RECORDS));
    assert_int_equal(damaged, 0);
    assert_int_equal(spool_source_waiting(&own), 0);
    append_all(2); /* continues after the last record */
    assert_int_equal(read_all(&own, &writer.end, &damaged), spans_of(2));
    assert_int_equal(damaged, 0);
}

static void test_files_are_for_us_alone(void **state)
{
    struct stat facts;
    struct spool_list list;
    char file[SPOOL_FILE_BYTES];
    mode_t before = umask(0);
    append_all(1);
    umask(before);
    spool_format_segment_name(file, own.name, 1);
    assert_int_equal(fstatat(folder, file, &facts, 0), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    spool_format_ledger_name(file, own.name);
    assert_int_equal(fstatat(folder, file, &facts, 0), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    assert_int_equal(fcntl(writer.segment.number, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(spool_files_list(folder, "", &list), STATUS_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.sources[0].output, 1);
    spool_files_list_deinit(&list);
}

static struct spool_source taken;

static void take(const char *name)
{
    assert_int_equal(spool_source_take(&taken, folder, name, 0), STATUS_OK);
}

static void test_another_takes_what_was_left(void **state)
{
    char name[SPOOL_SOURCE_BYTES];
    uint64_t damaged = 0;
    struct spool_recovery recovery;
    struct spool_record record;
    append_all(RECORDS);
    assert_int_equal(spool_source_next(&own, folder, &writer.end, &record, &damaged), SPOOL_RECORD);
    spool_source_pass(&own, &record, 1);
    memcpy(name, own.name, sizeof name);
    counter_add(COUNTER_spans_created, spans_of(RECORDS) + 4); /* four were never spooled */
    own.ledger.made = counter_get(COUNTER_spans_created);
    end_writing(false);
    take(name);
    spool_recovery_read(&taken, folder, &recovery);
    assert_int_equal(recovery.here, spans_of(RECORDS) - 1);
    assert_int_equal(recovery.lost, 4);
    assert_true(recovery.is_sudden);
    assert_non_null(
        strstr(recovery.line, "of 19 spans that it is known to have created, 1 were delivered, 14 are"));
    spool_source_release(&taken, folder, false);
    take(name); /* not reported again */
    spool_recovery_read(&taken, folder, &recovery);
    assert_int_equal(recovery.lost, 0);
    assert_false(recovery.is_sudden);
    assert_int_equal(read_all(&taken, NULL, &damaged), spans_of(RECORDS) - 1);
    assert_int_equal(damaged, 0);
    spool_source_release(&taken, folder, true);
    assert_int_equal(spool_source_take(&taken, folder, name, 0), STATUS_NOT_FOUND);
    struct spool_list list;
    assert_int_equal(spool_files_list(folder, "", &list), STATUS_OK);
    assert_int_equal(list.count, 0);
    spool_files_list_deinit(&list);
}

static void test_who_lives_keeps_his_own(void **state)
{
    append_all(1);
    assert_true(spool_writer_owns(own.name));
    pid_t child = fork();
    if (child == 0) /* inherits descriptors but no lock */
        _exit(spool_source_take(&taken, folder, own.name, 0) == STATUS_UNAVAILABLE ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A file as it was when the machine stopped: `bytes` of the segment, one byte altered. */
static void damage(const char *name, const uint8_t *whole, size_t bytes, size_t at, uint8_t flip)
{
    char file[SPOOL_FILE_BYTES];
    spool_format_segment_name(file, name, 1);
    int fd = openat(folder, file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, whole, bytes, 0), bytes);
    if (flip) {
        uint8_t other = whole[at] ^ flip;
        assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
    }
    close(fd);
}

#define WHOLE_BYTES (SPOOL_SEGMENT_BYTES + RECORDS * (SPOOL_RECORD_BYTES + BODY_BYTES))

static void write_and_copy(char name[SPOOL_SOURCE_BYTES], uint8_t whole[WHOLE_BYTES], uint8_t *ledger)
{
    char file[SPOOL_FILE_BYTES];
    append_all(RECORDS);
    own.ledger.made = spans_of(RECORDS);
    memcpy(name, own.name, SPOOL_SOURCE_BYTES);
    assert_int_equal(pread(writer.segment.number, whole, WHOLE_BYTES, 0), WHOLE_BYTES);
    end_writing(false);
    spool_format_ledger_name(file, name);
    int fd = openat(folder, file, O_RDONLY);
    assert_int_equal(read(fd, ledger, SPOOL_LEDGER_BYTES), SPOOL_LEDGER_BYTES);
    close(fd);
}

static void put_ledger(const char *name, const uint8_t *bytes, size_t count)
{
    char file[SPOOL_FILE_BYTES];
    spool_format_ledger_name(file, name);
    int fd = openat(folder, file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

/* Counts delivered and lost spans when reading the files in their current state. */
static uint64_t found(const char *name, uint64_t *came)
{
    struct spool_recovery recovery;
    uint64_t damaged = 0;
    take(name);
    spool_recovery_read(&taken, folder, &recovery);
    *came = read_all(&taken, NULL, &damaged);
    spool_source_release(&taken, folder, true);
    return *came + damaged + recovery.lost;
}

static void test_torn_at_every_byte(void **state)
{
    char name[SPOOL_SOURCE_BYTES];
    uint8_t whole[WHOLE_BYTES], ledger[SPOOL_LEDGER_BYTES];
    uint64_t came;
    write_and_copy(name, whole, ledger);
    for (size_t bytes = 0; bytes <= WHOLE_BYTES; bytes++) {
        size_t records = bytes < SPOOL_SEGMENT_BYTES
                             ? 0
                             : (bytes - SPOOL_SEGMENT_BYTES) / (SPOOL_RECORD_BYTES + BODY_BYTES);
        put_ledger(name, ledger, sizeof ledger);
        damage(name, whole, bytes, 0, 0);
        assert_int_equal(found(name, &came), spans_of(RECORDS));
        assert_int_equal(came, spans_of((uint32_t)records));
    }
}

static void test_every_bit_flipped(void **state)
{
    char name[SPOOL_SOURCE_BYTES];
    uint8_t whole[WHOLE_BYTES], ledger[SPOOL_LEDGER_BYTES];
    uint64_t came;
    write_and_copy(name, whole, ledger);
    for (size_t at = 0; at < WHOLE_BYTES; at++) {
        for (int bit = 0; bit < 8; bit++) {
            put_ledger(name, ledger, sizeof ledger);
            damage(name, whole, WHOLE_BYTES, at, (uint8_t)(1 << bit));
            assert_int_equal(found(name, &came), spans_of(RECORDS));
            assert_true(came < spans_of(RECORDS));
            /* A damaged body loses only its own record. */
            size_t in_record =
                at < SPOOL_SEGMENT_BYTES ? 0 : (at - SPOOL_SEGMENT_BYTES) % (SPOOL_RECORD_BYTES + BODY_BYTES);
            if (in_record >= SPOOL_RECORD_BYTES) {
                size_t record = (at - SPOOL_SEGMENT_BYTES) / (SPOOL_RECORD_BYTES + BODY_BYTES);
                assert_int_equal(came, spans_of(RECORDS) - record - 1);
            }
        }
    }
}

static void test_a_ledger_that_lies(void **state)
{
    char name[SPOOL_SOURCE_BYTES];
    uint8_t whole[WHOLE_BYTES], ledger[SPOOL_LEDGER_BYTES], slot[SPOOL_SLOT_BYTES];
    uint64_t came;
    write_and_copy(name, whole, ledger);
    /* Missing, empty, truncated or damaged: all records count as not delivered. */
    for (size_t bytes = 0; bytes < SPOOL_SLOT_BYTES; bytes += 17) {
        damage(name, whole, WHOLE_BYTES, 0, 0);
        put_ledger(name, ledger, bytes);
        assert_int_equal(found(name, &came), spans_of(RECORDS));
        assert_int_equal(came, spans_of(RECORDS));
    }
    /* One intact slot is enough. */
    for (size_t at = 0; at < SPOOL_LEDGER_BYTES; at += SPOOL_SLOT_BYTES) {
        uint8_t half[SPOOL_LEDGER_BYTES];
        memcpy(half, ledger, sizeof half);
        half[at + 40] ^= 1;
        damage(name, whole, WHOLE_BYTES, 0, 0);
        put_ledger(name, half, sizeof half);
        assert_int_equal(found(name, &came), spans_of(RECORDS));
    }
    /* Positions and counts of all sizes, with a checksum that is right. */
    for (unsigned i = 0; i < 64; i++) {
        struct spool_ledger wild = {.sequence = 1,
                                    .at = {.segment = i % 3, .offset = 1ull << i},
                                    .spooled = 1ull << (63 - i),
                                    .made = i % 2 ? UINT64_MAX : 0,
                                    .delivered = i % 5 ? 0 : UINT64_MAX};
        struct spool_recovery recovery;
        struct spool_record record;
        uint64_t damaged = 0;
        spool_format_seal_slot(&wild);
        memcpy(slot, &wild, sizeof wild);
        damage(name, whole, WHOLE_BYTES, 0, 0);
        put_ledger(name, slot, sizeof slot);
        take(name);
        spool_recovery_read(&taken, folder, &recovery);
        while (spool_source_next(&taken, folder, NULL, &record, &damaged) == SPOOL_RECORD)
            spool_source_pass(&taken, &record, record.spans);
        spool_source_release(&taken, folder, true);
    }
}

static void test_lengths_that_cant_be(void **state)
{
    static const uint32_t lengths[] = {0, BATCH_BYTES_MAX + 1, BATCH_BYTES_MAX, 0x7fffffff, 0xffffffff, 41};
    char name[SPOOL_SOURCE_BYTES];
    uint8_t whole[WHOLE_BYTES], ledger[SPOOL_LEDGER_BYTES];
    uint64_t came;
    write_and_copy(name, whole, ledger);
    size_t third = SPOOL_SEGMENT_BYTES + 2 * (SPOOL_RECORD_BYTES + BODY_BYTES);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct spool_record record = {.bytes = lengths[i], .spans = 3, .format = BATCH_JSON};
        spool_format_seal_record(&record);
        memcpy(whole + third, &record, sizeof record);
        put_ledger(name, ledger, sizeof ledger);
        damage(name, whole, WHOLE_BYTES, 0, 0);
        assert_int_equal(found(name, &came), spans_of(RECORDS));
        assert_int_equal(came, spans_of(2));
    }
}

static void test_nothing_but_zeros(void **state)
{
    char name[SPOOL_SOURCE_BYTES];
    uint8_t whole[WHOLE_BYTES], ledger[SPOOL_LEDGER_BYTES];
    uint64_t came;
    write_and_copy(name, whole, ledger);
    memset(whole, 0, sizeof whole); /* as some file systems leave a file after a power cut */
    damage(name, whole, WHOLE_BYTES, 0, 0);
    assert_int_equal(found(name, &came), spans_of(RECORDS));
    assert_int_equal(came, 0);
}

static void test_segments_come_and_go(void **state)
{
    static char body[100 * 1024];
    char name[SPOOL_SOURCE_BYTES];
    struct spool_record record;
    uint64_t damaged = 0, spans = 0;
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(append(i, body, sizeof body), STATUS_OK);
    assert_true(writer.end.at.segment >= 5);
    for (uint32_t i = 0; i < 20; i++) {
        assert_int_equal(spool_source_next(&own, folder, &writer.end, &record, &damaged), SPOOL_RECORD);
        assert_int_equal(record.spans, i + 1);
        spool_source_pass(&own, &record, record.spans);
        spans += record.spans;
        /* Segments that were read are deleted. */
        assert_int_equal(spool_files_next_segment(folder, own.name, 1, 0), own.ledger.at.segment);
    }
    assert_int_equal(spans, spans_of(20));
    assert_int_equal(damaged, 0);
    /* The next segment's header tells how many spans a deleted one had. */
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(append(i, body, sizeof body), STATUS_OK);
    char file[SPOOL_FILE_BYTES];
    memcpy(name, own.name, sizeof name);
    spool_format_segment_name(file, name, own.ledger.at.segment + 2);
    assert_int_equal(unlinkat(folder, file, 0), 0);
    end_writing(true);
    take(name);
    for (spans = 0; spool_source_next(&taken, folder, NULL, &record, &damaged) == SPOOL_RECORD;) {
        spool_source_pass(&taken, &record, record.spans);
        spans += record.spans;
    }
    assert_true(damaged > 0);
    assert_int_equal(spans + damaged, spans_of(20));
    spool_source_release(&taken, folder, true);
}

static uint64_t bytes_there(void)
{
    struct spool_list list;
    assert_int_equal(spool_files_list(folder, "", &list), STATUS_OK);
    uint64_t bytes = list.bytes;
    spool_files_list_deinit(&list);
    return bytes;
}

static void test_the_directory_is_bounded(void **state)
{
    static char body[100 * 1024];
    struct spool_record record;
    uint64_t damaged = 0;
    enum status status = STATUS_OK;
    uint32_t count = 0;
    while (status == STATUS_OK && count < 1000)
        status = append(count++, body, sizeof body);
    assert_int_equal(status, STATUS_FULL);
    assert_true(count > 35 && count < 42);
    assert_true(bytes_there() <= BYTES_MAX && bytes_there() > BYTES_MAX - 2 * sizeof body);
    usleep(250 * 1000); /* so that the directory is listed again */
    assert_int_equal(append(count, body, sizeof body), STATUS_FULL);
    assert_true(bytes_there() <= BYTES_MAX);
    /* The oldest records stay; deleting them frees space. */
    for (int i = 0; i < 10; i++) {
        assert_int_equal(spool_source_next(&own, folder, &writer.end, &record, &damaged), SPOOL_RECORD);
        assert_int_equal(record.spans, i + 1);
        spool_source_pass(&own, &record, record.spans);
    }
    usleep(250 * 1000);
    assert_int_equal(append(count, body, sizeof body), STATUS_OK);
}

/* The limit of a program that runs for days while everything is delivered. */
static void test_a_segment_is_left_when_all_is_delivered(void **state)
{
    static char body[100 * 1024];
    struct spool_record record;
    uint64_t damaged = 0;
    spool_writer_init(&writer, path, 1024ull * BYTES_MAX);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(append(i, body, sizeof body), STATUS_OK);
        assert_int_equal(spool_source_next(&own, folder, &writer.end, &record, &damaged), SPOOL_RECORD);
        spool_source_pass(&own, &record, record.spans);
        assert_true(bytes_there() <= SPOOL_SEGMENT_CAUGHT_UP + 2 * sizeof body);
    }
    assert_int_equal(damaged, 0);
}

static void test_a_full_disk_leaves_no_half_record(void **state)
{
    static char body[100 * 1024];
    struct rlimit before, small;
    uint64_t damaged = 0;
    append_all(RECORDS);
    uint64_t offset = writer.end.at.offset;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = offset + 50000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN); /* our threads block it */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(append(100, body, sizeof body), STATUS_IO);
    assert_int_equal(writer.end.at.offset, offset);
    assert_int_equal(spool_file_size(&writer.segment), offset);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    append_all(1);
    assert_int_equal(read_all(&own, &(struct spool_end){{offset, 1}, spans_of(RECORDS)}, &damaged),
                     spans_of(RECORDS));
    assert_int_equal(read_all(&own, &writer.end, &damaged), 1);
    assert_int_equal(damaged, 0);
}

static void test_directories_that_are_refused(void **state)
{
    char at[100], link[100];
    struct error err;
    snprintf(at, sizeof at, "%s/inner", path);
    snprintf(link, sizeof link, "%s/link", path);
    assert_int_equal(spool_files_open_folder(at, false, &err), -1); /* not there */
    int inner = spool_files_open_folder(at, true, &err);
    struct stat facts;
    assert_true(inner >= 0);
    assert_int_equal(fstat(inner, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    close(inner);
    assert_int_equal(symlink(at, link), 0);
    assert_int_equal(spool_files_open_folder(link, true, &err), -1);
    assert_non_null(strstr(err.text, "symbolic link"));
    assert_int_equal(chmod(at, 0770), 0);
    assert_int_equal(spool_files_open_folder(at, true, &err), -1);
    assert_non_null(strstr(err.text, "writable by others"));
    assert_int_equal(chmod(at, 0755), 0); /* readable by others: the files are not */
    inner = spool_files_open_folder(at, true, &err);
    assert_true(inner >= 0);
    close(inner);
    assert_int_equal(spool_files_open_folder("/tmp", true, &err), -1);
    assert_int_equal(spool_files_open_folder("/nowhere/at/all", true, &err), -1);
    snprintf(at, sizeof at, "%s/file", path);
    close(open(at, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(spool_files_open_folder(at, true, &err), -1);
}

static void test_links_and_foreign_files_are_left_alone(void **state)
{
    char name[SPOOL_SOURCE_BYTES], file[SPOOL_FILE_BYTES], target[100];
    struct guarded_fd held;
    struct spool_list list;
    snprintf(target, sizeof target, "%s/precious", path);
    close(open(target, O_CREAT | O_WRONLY, 0600));
    spool_format_source_name(name, 1, 2, 3, 0);
    spool_format_ledger_name(file, name);
    assert_int_equal(symlinkat(target, folder, file), 0);
    assert_int_equal(spool_source_take(&taken, folder, name, 0), STATUS_IO);
    spool_format_segment_name(file, name, 1);
    assert_int_equal(mkfifoat(folder, file, 0600), 0);
    assert_false(spool_file_open(&held, folder, file, O_RDWR));
    assert_int_equal(spool_files_list(folder, "", &list), STATUS_OK);
    assert_int_equal(list.count, 0);
    spool_files_list_deinit(&list);
}

/* Another process tries to take over our source. */
static bool is_free(void)
{
    pid_t child = fork();
    int ended;
    if (child == 0)
        _exit(spool_source_take(&taken, folder, own.name, 0) == STATUS_OK ? 0 : 1);
    assert_int_equal(waitpid(child, &ended, 0), child);
    return WEXITSTATUS(ended) == 0;
}

/* The host closes all descriptors and opens its own files: we must not write to them. */
static void test_a_host_closes_everything(void **state)
{
    char theirs[100], name[SPOOL_SOURCE_BYTES];
    struct stat facts;
    uint64_t damaged = 0;
    append_all(2);
    memcpy(name, own.name, sizeof name);
    assert_false(is_free());
    int ledger = own.ledger_file.number, segment = writer.segment.number;
    close(ledger);
    close(segment);
    assert_true(is_free());
    snprintf(theirs, sizeof theirs, "%s/theirs", path);
    int fd = open(theirs, O_CREAT | O_RDWR, 0600);
    assert_true(dup2(fd, ledger) == ledger && dup2(fd, segment) == segment);
    append_all(3);
    assert_string_equal(own.name, name);
    assert_false(is_free());
    assert_int_equal(read_both(&damaged), spans_of(2) + spans_of(3));
    assert_int_equal(fstat(fd, &facts), 0);
    assert_int_equal(facts.st_size, 0);
    assert_int_equal(damaged, 0);
    assert_int_equal(writer.taken, 0);
    assert_int_equal(fcntl(segment, F_GETFD), 0); /* the host's files stay open */
    close(fd);
    close(ledger);
    close(segment);
}

/* Then what is written goes to a new source, and the ledger of that has its own numbers. */
static void test_a_source_that_another_has_taken(void **state)
{
    char name[SPOOL_SOURCE_BYTES];
    struct spool_recovery recovery;
    uint64_t damaged = 0;
    append_all(2);
    memcpy(name, own.name, sizeof name);
    close(own.ledger_file.number);
    take(name);
    spool_recovery_read(&taken, folder, &recovery);
    (void)spool_writer_set_made(&writer, &own, spans_of(2) + spans_of(3) + 1);
    append_all(3);
    assert_string_not_equal(own.name, name);
    assert_false(spool_writer_owns(name));
    assert_int_equal(writer.taken, spans_of(2));
    (void)spool_writer_set_made(&writer, &own, spans_of(2) + spans_of(3) + 1);
    assert_int_equal(own.ledger.made, spans_of(3) + 1);
    assert_int_equal(read_all(&taken, NULL, &damaged), spans_of(2));
    spool_source_release(&taken, folder, true);
    assert_int_equal(read_all(&own, &writer.end, &damaged), spans_of(3));
    assert_int_equal(damaged, 0);
}

#define MANY (4 * SPOOL_LIST_MAX + 16)

static void put_segment(uint32_t source, uint32_t segment)
{
    char name[SPOOL_SOURCE_BYTES], file[SPOOL_FILE_BYTES];
    spool_format_source_name(name, 1 + source * 7919u % MANY, 1, 2, 1); /* not in the order of their names */
    spool_format_segment_name(file, name, segment);
    int fd = openat(folder, file, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "12345", 5), 5);
    close(fd);
}

/* After an outage. The list comes in parts, and each source is in one of them. */
static void test_many_sources(void **state)
{
    char after[SPOOL_SOURCE_BYTES] = "";
    size_t count = 0, parts = 0;
    struct spool_list list;
    for (uint32_t i = 0; i < MANY; i++)
        put_segment(i, 1);
    put_segment(0, 3);
    for (bool has_more = true; has_more; parts++) {
        assert_int_equal(spool_files_list(folder, after, &list), STATUS_OK);
        assert_int_equal(list.bytes, (MANY + 1) * 5);
        assert_in_range(list.count, 1, SPOOL_LIST_MAX);
        for (size_t i = 0; i < list.count; i++) {
            assert_true(strcmp(list.sources[i].name, after) > 0);
            memcpy(after, list.sources[i].name, sizeof after);
            bool has_two = count++ == 0;
            assert_int_equal(list.sources[i].last_segment, has_two ? 3 : 1);
            assert_int_equal(list.sources[i].bytes, has_two ? 10 : 5);
        }
        has_more = list.has_more;
        spool_files_list_deinit(&list);
    }
    assert_int_equal(count, MANY);
    assert_int_equal(parts, 5);
    assert_int_equal(spool_files_list(folder, SPOOL_LIST_NONE, &list), STATUS_OK);
    assert_int_equal(list.bytes, (MANY + 1) * 5);
    assert_int_equal(list.count, 0);
    spool_files_list_deinit(&list);
}

static void test_the_next_segment(void **state)
{
    char name[SPOOL_SOURCE_BYTES];
    put_segment(0, 2);
    put_segment(0, 4);
    put_segment(0, 5);
    spool_format_source_name(name, 1, 1, 2, 1);
    for (uint32_t last = 0; last <= 5; last += 5) {
        assert_int_equal(spool_files_next_segment(folder, name, 1, last), 2);
        assert_int_equal(spool_files_next_segment(folder, name, 3, last), 4);
        assert_int_equal(spool_files_next_segment(folder, name, 6, last), 0);
    }
    assert_int_equal(spool_files_next_segment(folder, name, 1, UINT32_MAX), 2);
    assert_int_equal(spool_files_next_segment(folder, name, 6, UINT32_MAX),
                     0); /* the number is a forged one */
    assert_int_equal(spool_files_last_segment(folder, name, 0), 0);
    assert_int_equal(spool_files_last_segment(folder, name, 4), 5); /* written since */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_checksum_is_crc_32c),
        cmocka_unit_test(test_names_are_ours_or_not),
        TEST(test_what_is_written_comes_back_in_order),
        TEST(test_files_are_for_us_alone),
        TEST(test_another_takes_what_was_left),
        TEST(test_who_lives_keeps_his_own),
        TEST(test_torn_at_every_byte),
        TEST(test_every_bit_flipped),
        TEST(test_a_ledger_that_lies),
        TEST(test_lengths_that_cant_be),
        TEST(test_nothing_but_zeros),
        TEST(test_segments_come_and_go),
        TEST(test_the_directory_is_bounded),
        TEST(test_a_segment_is_left_when_all_is_delivered),
        TEST(test_a_full_disk_leaves_no_half_record),
        TEST(test_directories_that_are_refused),
        TEST(test_links_and_foreign_files_are_left_alone),
        TEST(test_a_host_closes_everything),
        TEST(test_a_source_that_another_has_taken),
        TEST(test_many_sources),
        TEST(test_the_next_segment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
