/* From spans to batches, and spans that find no space: with a file output whose file is a FIFO, so that the
 * test decides when there is space. */
#include "agent/core/outputs/outputs.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_BYTES (1024 * 1024)
#define QUEUE_SPANS 262144
#define TEXT_BYTES  (2 * 1024) /* of a span */
#define SPANS       2000       /* four times what the queue holds */
#define SOON_NS     (20 * NS_PER_SECOND)
#define NEVER_NS    UINT64_MAX
#define ATTEMPTS    50 /* other load spoils some attempts; a fault spoils all of them */

static char folder[64];
static char fifo[128];
static struct settings settings;
static struct outputs *outputs;
static bool is_queue_small; /* of 8 spans */
static pthread_t reader;
static bool has_reader;
static atomic_int asked; /* how often the outputs asked whether a span may wait */
static const struct attr_key key_text = ATTR_KEY("text");

static int setup(void **state)
{
    counters_reset();
    stderr_begin();
    has_reader = false;
    atomic_store(&asked, 0);
    strcpy(folder, "/tmp/cuspan_outputs_test.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    settings = (struct settings){.attribute_value_length_limit = UINT32_MAX,
                                 .attribute_count_limit = 128,
                                 .event_count_limit = 128,
                                 .link_count_limit = 128,
                                 .output_count = 1,
                                 .outputs[0] = {.schedule_delay_ms = 1000,
                                                .queue_spans_max = QUEUE_SPANS,
                                                .batch_spans_max = 8192,
                                                .exporter = {.kind = EXPORTER_FILE, .endpoint = fifo}}};
    settings.memory_bytes_max = settings_buffer_bytes(&settings) + QUEUE_BYTES;
    return mkfifo(fifo, 0600);
}

static void start(void)
{
    struct error err;
    if (is_queue_small)
        settings.outputs[0].queue_spans_max = settings.outputs[0].batch_spans_max = 8;
    assert_int_equal(outputs_create(&settings, "/nowhere", &outputs, &err), STATUS_OK);
}

/* Slower than spans are made on an idle machine, but it makes progress: a batch takes some 30 ms. */
static void *read_to_the_end(void *unused)
{
    int fd = open(fifo, O_RDONLY);
    static char text[64 * 1024];
    while (read(fd, text, sizeof text) > 0)
        nanosleep(&(struct timespec){0, (long)NS_PER_MS * 5}, NULL);
    close(fd);
    return unused;
}

static void begin_to_read(void)
{
    has_reader = pthread_create(&reader, NULL, read_to_the_end, NULL) == 0;
    assert_true(has_reader);
}

static int teardown(void **state)
{
    if (!has_reader)
        begin_to_read();
    outputs_destroy(outputs, clock_monotonic_ns() + SOON_NS);
    pthread_join(reader, NULL);
    unlink(fifo);
    rmdir(folder);
    free(stderr_end());
    return 0;
}

static void add_span(void)
{
    static char text[TEXT_BYTES];
    if (!text[0])
        memset(text, 'x', sizeof text);
    struct span span = {.name = "kernel", .name_len = 6, .attr_count = 1};
    span.attrs[0] = (struct span_attr){.key = &key_text, .type = ATTR_STRING, .s = text, .len = sizeof text};
    outputs_add(outputs, &span);
}

static void add_spans(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        add_span();
}

static bool it_can(void)
{
    atomic_fetch_add(&asked, 1);
    return true;
}

static bool it_cannot(void)
{
    atomic_fetch_add(&asked, 1);
    return false;
}

static uint64_t lost(void)
{
    return counter_get(COUNTER_lost_queue_full);
}

static void test_a_batch_leaves_room_for_those_behind_it(void **state)
{
    uint64_t sent[OUTPUT_NUMBERS] = {0}, bytes, free_bytes;
    start();
    for (unsigned i = 0; i < SPANS && !sent[0]; i++) {
        add_span();
        outputs_sent(outputs, sent);
    }
    outputs_memory(outputs, &bytes, &free_bytes);
    assert_int_equal(sent[0], 1);
    assert_true(free_bytes > bytes / 2);
    assert_int_equal(lost(), 0);
}

/* More spans than the queue holds, while the output's file is read. */
static void try_until(bool (*is_as_expected)(void), void **state, uint64_t pause_ns, bool (*can_wait)(void))
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (attempt > 0) {
            assert_int_equal(teardown(state), 0);
            assert_int_equal(setup(state), 0);
        }
        start();
        begin_to_read();
        outputs_set_pause(outputs, pause_ns, can_wait);
        add_spans(SPANS);
        if (is_as_expected())
            return;
    }
    fail();
}

static bool all_waited(void)
{
    return lost() == 0 && atomic_load(&asked) > 0;
}

static bool some_are_lost(void)
{
    return lost() > 0;
}

static bool some_are_lost_after_asking(void)
{
    return lost() > 0 && atomic_load(&asked) > 0;
}

static void test_where_nothing_may_wait_it_is_lost(void **state)
{
    try_until(some_are_lost, state, 0, NULL);
}

static void test_a_span_waits_while_its_exporter_gets_on(void **state)
{
    try_until(all_waited, state, NEVER_NS, it_can);
}

static void test_a_batch_waits_for_a_queue_of_few_spans(void **state)
{
    is_queue_small = true;
    try_until(all_waited, state, NEVER_NS, it_can);
    is_queue_small = false;
}

static void test_none_waits_while_rings_fill_up(void **state)
{
    try_until(some_are_lost_after_asking, state, NEVER_NS, it_cannot);
}

static void test_none_waits_longer_than_the_pause(void **state)
{
    try_until(some_are_lost, state, clock_monotonic_ns(), it_can);
    assert_int_equal(atomic_load(&asked), 0);
}

/* Nobody reads: only the first span waits, without success. A span that waited for the pause to end would
 * hang. */
static void test_none_waits_for_an_exporter_that_is_stuck(void **state)
{
    start();
    outputs_set_pause(outputs, NEVER_NS, it_can);
    add_spans(SPANS);
    assert_true(lost() > SPANS / 2);
}

#define OUTPUTS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OUTPUTS_TEST(test_a_batch_leaves_room_for_those_behind_it),
        OUTPUTS_TEST(test_where_nothing_may_wait_it_is_lost),
        OUTPUTS_TEST(test_a_span_waits_while_its_exporter_gets_on),
        OUTPUTS_TEST(test_a_batch_waits_for_a_queue_of_few_spans),
        OUTPUTS_TEST(test_none_waits_while_rings_fill_up),
        OUTPUTS_TEST(test_none_waits_longer_than_the_pause),
        OUTPUTS_TEST(test_none_waits_for_an_exporter_that_is_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
