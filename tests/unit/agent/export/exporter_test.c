/* The queue and the thread of a file exporter. Its file is a FIFO, so it blocks until the test reads. */
#include "agent/export/exporter.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "support/batches.h"
#include "support/one_exporter.h"
#include "support/stderr_text.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define PATIENCE_MS 60000 /* a test that reaches it has failed */

static struct chunk_pool *pool;
static char folder[64];
static char fifo[128];

static int setup(void **state)
{
    counters_reset();
    strcpy(folder, "/tmp/cuspan_exporter_test.XXXXXX");
    if (!mkdtemp(folder) || chunk_pool_create(64, &pool) != STATUS_OK)
        return -1;
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    return mkfifo(fifo, 0600);
}

static int teardown(void **state)
{
    unlink(fifo);
    rmdir(folder);
    /* An abandoned thread still holds its batch. */
    if (chunk_pool_free(pool) == chunk_pool_size(pool))
        chunk_pool_destroy(pool);
    return 0;
}

static struct exporter *start(uint32_t queue_spans_max)
{
    struct output_settings settings = {.queue_spans_max = queue_spans_max,
                                       .exporter = {.kind = EXPORTER_FILE, .endpoint = fifo}};
    struct output_environment environment = {.module_path = "/nowhere"};
    struct exporter *exporter;
    assert_int_equal(exporter_create(&settings, &environment, &exporter), STATUS_OK);
    return exporter;
}

static void submit(struct exporter *exporter, uint32_t spans)
{
    exporter_submit(exporter, make_batch(pool, BATCH_JSON, "{}", 2, spans));
}

static uint64_t in_ms(uint64_t ms)
{
    return clock_monotonic_ns() + ms * NS_PER_MS;
}

static void *read_to_the_end(void *argument)
{
    int fd = open(fifo, O_RDONLY);
    char text[256];
    while (read(fd, text, sizeof text) > 0)
        ;
    close(fd);
    return NULL;
}

static void test_over_its_bound_the_new_batch_is_dropped_and_told_once(void **state)
{
    pthread_t reader;
    stderr_begin();
    struct exporter *exporter = start(10); /* the thread waits in open(): nothing leaves the queue */
    assert_int_equal(exporter_state(exporter).room, 10);
    submit(exporter, 6);
    assert_int_equal(exporter_state(exporter).room, 4);
    submit(exporter, 4);
    assert_int_equal(exporter_state(exporter).room, 0);
    submit(exporter, 1);
    submit(exporter, 2);
    assert_int_equal(counter_get(COUNTER_lost_queue_full), 3);
    pthread_create(&reader, NULL, read_to_the_end, NULL);
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    pthread_join(reader, NULL);
    char *told = stderr_end();
    assert_true(stopped);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 10);
    assert_int_equal(times_in(told, "max_queue_size"), 1);
    assert_non_null(strstr(told, fifo));
    free(told);
}

static void test_fates_are_counted_by_output(void **state)
{
    struct output_settings settings = {.queue_spans_max = 10,
                                       .exporter = {.kind = EXPORTER_FILE, .endpoint = fifo}};
    struct output_environment environment = {.module_path = "/nowhere", .output = 2};
    struct exporter *exporter;
    pthread_t reader;
    stderr_begin();
    assert_int_equal(exporter_create(&settings, &environment, &exporter), STATUS_OK);
    submit(exporter, 7);
    submit(exporter, 6);
    pthread_create(&reader, NULL, read_to_the_end, NULL);
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    pthread_join(reader, NULL);
    free(stderr_end());
    assert_true(stopped);
    assert_int_equal(counter_output_get(2).delivered + counter_output_get(2).lost, 13);
    assert_int_equal(counter_output_get(2).delivered, counter_get(COUNTER_spans_delivered));
    assert_int_equal(counter_output_get(2).lost, counters_lost());
    assert_int_equal(counter_output_get(0).delivered, 0);
}

static void test_an_empty_queue_takes_a_batch_of_any_size(void **state)
{
    pthread_t reader;
    struct exporter *exporter = start(10);
    submit(exporter, 50);
    assert_int_equal(exporter_state(exporter).room, 0);
    pthread_create(&reader, NULL, read_to_the_end, NULL);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    pthread_join(reader, NULL);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 50);
}

static void test_it_moves_while_it_has_begun_a_batch_of_late(void **state)
{
    pthread_t reader;
    uint64_t long_ns = 60 * NS_PER_SECOND;
    struct exporter *exporter = start(10);
    assert_false(exporter_is_moving(exporter, clock_monotonic_ns(), long_ns)); /* idle */
    submit(exporter, 1);
    submit(exporter, 1);
    uint64_t now_ns = clock_monotonic_ns();
    assert_true(exporter_is_moving(exporter, now_ns, long_ns));
    /* It may have entered open() some time after now_ns. */
    assert_false(exporter_is_moving(exporter, now_ns + 2 * long_ns, long_ns));
    pthread_create(&reader, NULL, read_to_the_end, NULL);
    assert_int_equal(exporter_flush(exporter, in_ms(PATIENCE_MS)), STATUS_OK);
    assert_false(exporter_is_moving(exporter, clock_monotonic_ns(), long_ns));
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    pthread_join(reader, NULL);
}

static void test_an_empty_batch_is_not_sent(void **state)
{
    pthread_t reader;
    struct exporter *exporter = start(10);
    submit(exporter, 0);
    assert_int_equal(exporter_state(exporter).room, 10);
    pthread_create(&reader, NULL, read_to_the_end, NULL);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    pthread_join(reader, NULL);
    assert_int_equal(counter_get(COUNTER_batches_sent), 0);
    assert_int_equal(chunk_pool_free(pool), 64);
}

static void test_a_flush_waits_and_gives_up_in_time(void **state)
{
    pthread_t reader;
    struct exporter *exporter = start(10);
    submit(exporter, 1);
    uint64_t before_ns = clock_monotonic_ns();
    assert_int_equal(exporter_flush(exporter, in_ms(50)), STATUS_TIMEOUT);
    assert_true(clock_monotonic_ns() - before_ns >= 50 * NS_PER_MS);
    pthread_create(&reader, NULL, read_to_the_end, NULL);
    assert_int_equal(exporter_flush(exporter, in_ms(PATIENCE_MS)), STATUS_OK);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 1);
    assert_int_equal(exporter_flush(exporter, 0), STATUS_OK); /* nothing is left to wait for */
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    pthread_join(reader, NULL);
}

static void test_a_thread_that_cannot_be_stopped_is_left(void **state)
{
    static struct exporter *exporter; /* leaks by design; leak checkers do not report what is reachable */
    exporter = start(10);
    submit(exporter, 3);
    submit(exporter, 4);
    assert_false(exporter_destroy(exporter, in_ms(50)));
    assert_int_equal(counter_get(COUNTER_lost_deadline), 7);
    /* The thread continues. It neither counts twice nor returns chunks to a pool that may be freed. */
    int fd = open(fifo, O_RDONLY | O_NONBLOCK);
    usleep(100000);
    close(fd);
    assert_int_equal(counter_get(COUNTER_lost_deadline), 7);
    assert_int_equal(counter_get(COUNTER_spans_delivered), 0);
    assert_int_equal(chunk_pool_free(pool), 62);
}

/* Reads one number of /proc/self/task/TID/status for the thread called cuspan/sender. */
static uint64_t status_of_sender(const char *key)
{
    DIR *tasks = opendir("/proc/self/task");
    uint64_t value = 0;
    for (struct dirent *task; (task = readdir(tasks));) {
        char name[300];
        char text[4096] = "";
        snprintf(name, sizeof name, "/proc/self/task/%s/status", task->d_name);
        int fd = open(name, O_RDONLY);
        if (fd < 0)
            continue;
        if (read(fd, text, sizeof text - 1) > 0 && strstr(text, "Name:\tcuspan/sender") && strstr(text, key))
            value = strtoull(strstr(text, key) + strlen(key), NULL, 16);
        close(fd);
    }
    closedir(tasks);
    return value;
}

static void test_the_thread_has_a_name_and_takes_no_signal(void **state)
{
    if (is_under_qemu())
        skip();
    pthread_t reader;
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    struct exporter *exporter = start(10);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < NSIG; i++)
        assert_int_equal(sigismember(&before, i), sigismember(&after, i));
    uint64_t blocked = 0;
    for (; !blocked; usleep(1000))
        blocked = status_of_sender("SigBlk:\t");
    const int signals[] = {SIGINT, SIGTERM, SIGPIPE, SIGUSR1, SIGPROF, SIGALRM, SIGCHLD, SIGSEGV};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        assert_true(blocked >> (signals[i] - 1) & 1);
    pthread_create(&reader, NULL, read_to_the_end, NULL);
    assert_true(exporter_destroy(exporter, in_ms(PATIENCE_MS)));
    pthread_join(reader, NULL);
}

static void test_a_missing_module_is_told_and_counted(void **state)
{
    char url[] = "http://user:hunter2@localhost:1/v1/traces";
    struct output_settings settings = {.queue_spans_max = 10,
                                       .exporter = {.kind = EXPORTER_OTLP_HTTP, .endpoint = url}};
    struct output_environment environment = {.module_path = "/nowhere/libcuspan-export.so"};
    struct exporter *exporter;
    stderr_begin();
    enum status created = exporter_create(&settings, &environment, &exporter);
    exporter_submit(exporter, make_batch(pool, BATCH_PROTOBUF, "xy", 2, 5));
    exporter_submit(exporter, make_batch(pool, BATCH_PROTOBUF, "xy", 2, 5));
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    char *told = stderr_end();
    assert_int_equal(created, STATUS_OK);
    assert_true(stopped);
    assert_int_equal(times_in(told, "\n"), 1);
    assert_non_null(strstr(told, "/nowhere/libcuspan-export.so"));
    assert_non_null(strstr(told, "install cuspan"));
    assert_null(strstr(told, "hunter2"));
    free(told);
    assert_int_equal(counter_get(COUNTER_lost_unreachable), 10);
    assert_int_equal(chunk_pool_free(pool), 64);
}

static void test_a_library_of_another_kind_is_no_module(void **state)
{
    char url[] = "http://localhost:1/";
    struct output_settings settings = {.queue_spans_max = 10,
                                       .exporter = {.kind = EXPORTER_OTLP_HTTP, .endpoint = url}};
    struct output_environment environment = {.module_path = "libc.so.6"};
    struct exporter *exporter;
    stderr_begin();
    enum status created = exporter_create(&settings, &environment, &exporter);
    bool stopped = exporter_destroy(exporter, in_ms(PATIENCE_MS));
    char *told = stderr_end();
    assert_int_equal(created, STATUS_OK);
    assert_true(stopped);
    assert_non_null(strstr(told, "its version differs"));
    free(told);
}

static void test_nothing_to_destroy_is_fine(void **state)
{
    assert_true(exporter_destroy(NULL, 0));
}

#define EXPORTER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EXPORTER_TEST(test_over_its_bound_the_new_batch_is_dropped_and_told_once),
        EXPORTER_TEST(test_an_empty_queue_takes_a_batch_of_any_size),
        EXPORTER_TEST(test_fates_are_counted_by_output),
        EXPORTER_TEST(test_it_moves_while_it_has_begun_a_batch_of_late),
        EXPORTER_TEST(test_an_empty_batch_is_not_sent),
        EXPORTER_TEST(test_a_flush_waits_and_gives_up_in_time),
        EXPORTER_TEST(test_the_thread_has_a_name_and_takes_no_signal),
        EXPORTER_TEST(test_a_missing_module_is_told_and_counted),
        EXPORTER_TEST(test_a_library_of_another_kind_is_no_module),
        EXPORTER_TEST(test_nothing_to_destroy_is_fine),
        EXPORTER_TEST(test_a_thread_that_cannot_be_stopped_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
