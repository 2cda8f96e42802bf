#include "agent/export/exporter.h"

#include "base/clock.h"
#include "base/log/standard_fd.h"
#include "base/accounting/counters.h"
#include "support/batches.h"
#include "support/one_exporter.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct chunk_pool *pool;
static char folder[64];
static char path[128];

static int setup(void **state)
{
    counters_reset();
    strcpy(folder, "/tmp/cuspan_file_test.XXXXXX");
    if (!mkdtemp(folder) || chunk_pool_create(64, &pool) != STATUS_OK)
        return -1;
    snprintf(path, sizeof path, "%s/spans.jsonl", folder);
    return 0;
}

static int teardown(void **state)
{
    size_t free_chunks = chunk_pool_free(pool);
    unlink(path);
    rmdir(folder);
    chunk_pool_destroy(pool);
    return free_chunks == 64 ? 0 : -1;
}

/* A test that reaches it has failed. */
#define PATIENCE_MS 60000

static struct exporter *start(enum exporter_kind kind, char *endpoint)
{
    struct output_settings settings = {
        .queue_spans_max = 1000, .exporter = {.kind = kind, .encoding = ENCODING_JSON, .endpoint = endpoint}};
    struct output_environment environment = {.module_path = "/nowhere", .stop_grace_ms = PATIENCE_MS};
    struct exporter *exporter;
    assert_int_equal(exporter_create(&settings, &environment, &exporter), STATUS_OK);
    return exporter;
}

static void submit(struct exporter *exporter, const char *line)
{
    exporter_submit(exporter, make_batch(pool, BATCH_JSON, line, strlen(line), 3));
}

static uint64_t in_ms(uint64_t ms)
{
    return clock_monotonic_ns() + ms * NS_PER_MS;
}

static char *content(const char *of, size_t *bytes)
{
    int fd = open(of, O_RDONLY);
    struct stat stat;
    assert_true(fd >= 0 && fstat(fd, &stat) == 0);
    char *text = calloc(1, (size_t)stat.st_size + 1);
    assert_int_equal(read(fd, text, (size_t)stat.st_size), stat.st_size);
    close(fd);
    *bytes = (size_t)stat.st_size;
    return text;
}

static void test_batches_become_lines(void **state)
{
    size_t bytes;
    struct stat stat_of_file;
    struct exporter *exporter = start(EXPORTER_FILE, path);
    submit(exporter, "{\"a\":1}");
    submit(exporter, "{\"b\":2}");
    assert_int_equal(exporter_flush(exporter, in_ms(PATIENCE_MS)), STATUS_OK);
    char *text = content(path, &bytes);
    assert_string_equal(text, "{\"a\":1}\n{\"b\":2}\n");
    free(text);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    /* A second agent appends. */
    exporter = start(EXPORTER_FILE, path);
    submit(exporter, "{\"c\":3}");
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    text = content(path, &bytes);
    assert_string_equal(text, "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n");
    free(text);
    assert_int_equal(stat(path, &stat_of_file), 0);
    assert_int_equal(stat_of_file.st_mode & 0777, 0600);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 9);
    assert_int_equal(counter_get(COUNTER_batches_sent), 3);
    assert_int_equal(counter_get(COUNTER_bytes_sent), 24);
}

static void test_a_line_of_many_chunks_is_whole(void **state)
{
    size_t bytes;
    size_t length = 20 * CHUNK_BYTES;
    char *line = malloc(length + 1);
    for (size_t i = 0; i < length; i++)
        line[i] = (char)('a' + i % 26);
    line[length] = '\0';
    struct exporter *exporter = start(EXPORTER_FILE, path);
    submit(exporter, line);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    char *text = content(path, &bytes);
    assert_int_equal(bytes, length + 1);
    assert_memory_equal(text, line, length);
    assert_int_equal(text[length], '\n');
    free(text);
    free(line);
}

static void test_a_path_that_cannot_be_opened_is_told_once(void **state)
{
    char wrong[] = "/nonexistent/spans.jsonl";
    stderr_begin();
    struct exporter *exporter = start(EXPORTER_FILE, wrong);
    submit(exporter, "{}");
    submit(exporter, "{}");
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    char *told = stderr_end();
    assert_true(stopped);
    assert_int_equal(times_in(told, "\n"), 1);
    assert_non_null(strstr(told, wrong));
    assert_non_null(strstr(told, "No such file"));
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_output), 6);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 0);
}

/* A limit on the file's size truncates a write, as a full disk does. */
static void test_a_full_disk_loses_one_line_and_recovers(void **state)
{
    size_t bytes;
    struct rlimit before;
    struct rlimit tight;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    tight = before;
    tight.rlim_cur = 12;
    struct exporter *exporter = start(EXPORTER_FILE, path);
    setrlimit(RLIMIT_FSIZE, &tight);
    submit(exporter, "{\"a\":1}");
    submit(exporter, "{\"b\":2}");
    submit(exporter, "{\"c\":3}");
    enum status flushed = exporter_flush(exporter, in_ms(PATIENCE_MS));
    setrlimit(RLIMIT_FSIZE, &before);
    submit(exporter, "{\"d\":4}");
    assert_int_equal(flushed, STATUS_OK);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    char *text = content(path, &bytes);
    assert_string_equal(text, "{\"a\":1}\n{\"b\"\n{\"d\":4}\n"); /* a newline ends the truncated line */
    free(text);
    assert_int_equal(counter_get(COUNTER_lost_output), 6);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 6);
}

/* A process before this one was killed, or its disk was full. */
static void test_an_incomplete_line_of_another_process_ends(void **state)
{
    static const char *const before[] = {"", "{\"a\":1}\n", "{\"a\":1}\n{\"b\""};
    static const char *const after[] = {"{}\n", "{\"a\":1}\n{}\n", "{\"a\":1}\n{\"b\"\n{}\n"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t bytes;
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, before[i], strlen(before[i])), strlen(before[i]));
        close(fd);
        struct exporter *exporter = start(EXPORTER_FILE, path);
        submit(exporter, "{}");
        assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
        char *text = content(path, &bytes);
        assert_string_equal(text, after[i]);
        free(text);
    }
}

static void test_the_console_is_standard_output(void **state)
{
    size_t bytes;
    int saved = dup(STDOUT_FILENO);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    fflush(stdout);
    dup2(fd, STDOUT_FILENO);
    standard_fd_remember();
    struct exporter *exporter = start(EXPORTER_CONSOLE, NULL);
    submit(exporter, "{\"a\":1}");
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    bool still_open = fcntl(STDOUT_FILENO, F_GETFD) >= 0;
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(fd);
    assert_true(stopped);
    assert_true(still_open);
    char *text = content(path, &bytes);
    assert_string_equal(text, "{\"a\":1}\n");
    free(text);
}

/* Standard output is a pipe whose reader has closed it, or does not read. */
static struct exporter *start_on_pipe(int *saved, int ends[2], int flags)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC | flags), 0);
    fflush(stdout);
    *saved = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    standard_fd_remember();
    close(ends[1]);
    return start(EXPORTER_CONSOLE, NULL);
}

static void test_a_closed_pipe_kills_nobody(void **state)
{
    int saved;
    int ends[2];
    stderr_begin();
    struct exporter *exporter = start_on_pipe(&saved, ends, 0);
    close(ends[0]);
    submit(exporter, "{}"); /* SIGPIPE would end this process */
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    dup2(saved, STDOUT_FILENO);
    close(saved);
    char *told = stderr_end();
    assert_true(stopped);
    assert_int_equal(times_in(told, "Broken pipe"), 1);
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_output), 3);
}

static void test_a_full_pipe_holds_nobody_up(void **state)
{
    int saved;
    int ends[2];
    char line[20000];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    stderr_begin();
    struct exporter *exporter = start_on_pipe(&saved, ends, O_NONBLOCK);
    for (int i = 0; i < 8; i++)
        submit(exporter, line);
    bool stopped = exporter_destroy(exporter, in_ms(200));
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(ends[0]);
    free(stderr_end());
    assert_true(stopped);
    assert_int_equal(counter_get(COUNTER_spans_delivered) + counters_lost(), 24);
    assert_true(counter_get(COUNTER_lost_deadline) > 0);
}

static void test_protobuf_is_not_written_to_a_file_of_lines(void **state)
{
    struct exporter *exporter = start(EXPORTER_FILE, path);
    exporter_submit(exporter, make_batch(pool, BATCH_PROTOBUF, "\x0a\x00", 2, 1));
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    assert_int_equal(counter_get(COUNTER_lost_output), 1);
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_batches_become_lines),
        FILE_TEST(test_a_line_of_many_chunks_is_whole),
        FILE_TEST(test_a_path_that_cannot_be_opened_is_told_once),
        FILE_TEST(test_a_full_disk_loses_one_line_and_recovers),
        FILE_TEST(test_an_incomplete_line_of_another_process_ends),
        FILE_TEST(test_the_console_is_standard_output),
        FILE_TEST(test_a_closed_pipe_kills_nobody),
        FILE_TEST(test_a_full_pipe_holds_nobody_up),
        FILE_TEST(test_protobuf_is_not_written_to_a_file_of_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
