/* The ranks of a training step: who waited for whom, and how they are drawn. */
#include "analysis/show/step_ranks.h"

#include "analysis/show/perfetto.h"
#include "analysis/show/picture.h"
#include "analysis/show/rank_rows.h"
#include "analysis/stat/clock_offsets.h"

#include "support/cli_trace.h"
#include "support/test.h"

#include <locale.h>

#define STEP_NS 100000000ull

static struct trace trace;
static struct step_ranks ranks;
static struct text input;
static unsigned next_id;
static uint64_t shift_ns; /* of the host's clock */
static unsigned members;  /* of each collective */

static int setup(void **state)
{
    next_id = 0x100;
    shift_ns = 0;
    members = 2;
    text_clear(&input);
    return 0;
}

static int teardown(void **state)
{
    step_ranks_deinit(&ranks);
    trace_deinit(&trace);
    text_deinit(&input);
    return 0;
}

/* Of a whole step's rank. */
#define STEP_ATTRS                                                                                           \
    ATTR_NUMBER("training.step.number", "8")                                                                 \
    "," ATTR_NUMBER("training.step.gpu_backlog", "0") "," ATTR_TEXT("cuda.session.end_reason", "step")

static void add_span(unsigned id, unsigned parent, const char *name, uint64_t start_ns, uint64_t end_ns,
                     const char *attrs)
{
    text_add_format(&input,
                    "{\"traceId\":\"" TRACE_A
                    "\",\"spanId\":\"%016x\",\"parentSpanId\":\"%016x\",\"name\":\"%s\","
                    "\"startTimeUnixNano\":\"%llu\",\"endTimeUnixNano\":\"%llu\",\"attributes\":[%s]}",
                    id, parent, name, 1700000000000000000ull + shift_ns + start_ns,
                    1700000000000000000ull + shift_ns + end_ns, attrs);
}

/* Computes from the start, then communicates in an AllReduce with this key until the end; 20 % of the step is
 * a copy.
 */
static void add_rank(unsigned number, const char *host, uint64_t compute_ns, const char *key)
{
    unsigned rank = ++next_id, collective = ++next_id;
    char name[16], attrs[512];
    snprintf(name, sizeof name, "rank %u", number);
    text_add_format(
        &input,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" ATTR_TEXT(
            "service.name", "trainer") ",{\"key\":\"process.pid\",\"value\":{\"intValue\":\"%u\"}},{\"key\":"
                                       "\"host.name\",\"value\":{\"stringValue\":\"%s\"}},{\"key\":"
                                       "\"cuda.process.rank\",\"value\":{\"intValue\":\"%u\"}}]},"
                                       "\"scopeSpans\":[{\"spans\":[",
        1000 + number, host, number);
    add_span(rank, 1, name, 0, STEP_NS, STEP_ATTRS);
    text_add(&input, ",");
    add_span(++next_id, rank, "gemm", 0, compute_ns,
             ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER("cuda.stream.id", "7"));
    text_add(&input, ",");
    snprintf(attrs, sizeof attrs,
             ATTR_NUMBER("cuda.stream.id", "8") "," ATTR_TEXT("cuda.activity", "collective") "," ATTR_TEXT(
                 "collective.operation", "all_reduce") "," ATTR_TEXT("collective.communicator",
                                                                     "0xc0") ",{\"key\":\"collective."
                                                                             "key\",\"value\":{"
                                                                             "\"stringValue\":\"%s\"}},"
                                                                             "{\"key\":\"collective."
                                                                             "ranks\",\"value\":{"
                                                                             "\"intValue\":\"%u\"}}",
             key, members);
    add_span(collective, rank, "AllReduce", compute_ns, STEP_NS * 8 / 10, attrs);
    text_add(&input, ",");
    add_span(++next_id, collective, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", compute_ns, STEP_NS * 8 / 10,
             ATTR_TEXT("cuda.activity", "kernel") "," ATTR_NUMBER("cuda.stream.id", "8"));
    text_add(&input, ",");
    add_span(++next_id, rank, "memcpy", STEP_NS * 8 / 10, STEP_NS,
             ATTR_TEXT("cuda.activity", "memcpy") "," ATTR_NUMBER("cuda.stream.id", "7"));
    text_add(&input, "]}]}]}\n");
}

static void find(void)
{
    trace = trace_of(input.data);
    step_ranks_find(&ranks, &trace);
}

static void test_the_late_rank(void **state)
{
    members = 3;
    add_rank(1, "a", STEP_NS * 7 / 10, "0xa1");
    add_rank(0, "a", STEP_NS * 3 / 10, "0xa1");
    add_rank(2, "b", STEP_NS * 4 / 10, "0xa1");
    find();
    assert_int_equal(ranks.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ranks.items[i].number, i);
        assert_int_equal(ranks.items[i].is_late, i == 1);
        assert_int_equal(ranks.items[i].counts[RANK_COMPUTE], 1); /* not the kernel of the collective */
        assert_int_equal(ranks.items[i].counts[RANK_COPIES], 1);
    }
    assert_int_equal(ranks.items[1].compute_ns, STEP_NS * 7 / 10);
    assert_int_equal(ranks.items[1].communication_ns, STEP_NS / 10);
    assert_int_equal(ranks.items[1].wait_ns, 0);
    assert_int_equal(ranks.items[1].delay_ns, STEP_NS * 35 / 100); /* 90 % of the step; 50 and 60 % */
    assert_int_equal(ranks.items[0].wait_ns, STEP_NS * 4 / 10);
    assert_int_equal(ranks.items[2].wait_ns, STEP_NS * 3 / 10);
    assert_string_equal(trace_string(&trace, ranks.items[2].host), "b");
}

/* Different collectives say nothing about each other. */
static void test_nobody_is_late(void **state)
{
    add_rank(0, "a", STEP_NS * 3 / 10, "0xa1");
    add_rank(1, "a", STEP_NS * 7 / 10, "0xb1");
    find();
    assert_false(ranks.items[0].is_late || ranks.items[1].is_late);
}

static void test_no_step(void **state)
{
    text_add(&input, LINE(PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "", "rank 5 of something",
                                                 "000000000", "000100000", "")));
    find();
    assert_int_equal(ranks.count, 0);
}

static void test_one_rank_stays(void **state)
{
    add_rank(0, "a", STEP_NS * 3 / 10, "0xa1");
    add_rank(1, "a", STEP_NS * 7 / 10, "0xa1");
    trace = trace_of(input.data);
    assert_false(step_ranks_keep(&trace, 7));
    assert_int_equal(trace.span_count, 10);
    assert_true(step_ranks_keep(&trace, 1));
    assert_int_equal(trace.span_count, 5);
    step_ranks_find(&ranks, &trace);
    assert_int_equal(ranks.count, 1);
    assert_int_equal(ranks.items[0].number, 1);
}

static char *draw(size_t rows_max, bool utf8)
{
    struct picture_options options = {.columns = 80, .rows_max = rows_max, .utf8 = utf8};
    FILE *file = tmpfile();
    picture_draw(file, &trace, &options);
    char *text = contents_of(file);
    fclose(file);
    return text;
}

/* 64 ranks on 8 hosts; rank 49 is late. */
static void add_job(void)
{
    members = 64;
    char host[] = "node-0";
    for (unsigned i = 0; i < 64; i++) {
        host[5] = (char)('0' + i / 8);
        add_rank(i, host, STEP_NS * (i == 49 ? 7 : 4) / 10 + i * 1000, "0xa1");
    }
}

static void test_many_ranks_fit(void **state)
{
    add_job();
    trace = trace_of(input.data);
    char *picture = draw(40, true);
    assert_non_null(
        strstr(picture, "\n"
                        "                                  compute    comm.     wait ╷0        ╷50 ms\n"
                        "ranks 0–48  7 hosts               40.0 ms  40.0 ms  30.0 ms ████████░░░░░░░░▒▒▒▒\n"
                        "rank 49  late by 30.0 ms  node-6  70.0 ms  9.95 ms     0 ns ██████████████░░▒▒▒▒\n"
                        "ranks 50–63  2 hosts              40.1 ms  39.9 ms  30.0 ms ████████░░░░░░░░▒▒▒▒\n"
                        "█ compute  ░ communication  ▒ copies  · no GPU work\n"
                        "--rank N draws the spans of one rank\n"));
    assert_null(strstr(picture, "gemm"));
    free(picture);
}

static void test_each_rank_on_request(void **state)
{
    add_job();
    trace = trace_of(input.data);
    char *picture = draw(0, false);
    for (unsigned i = 0; i < 64; i++) {
        char label[16];
        snprintf(label, sizeof label, "\nrank %u ", i);
        assert_non_null(strstr(picture, label));
    }
    for (const char *c = picture; *c; c++)
        assert_true((unsigned char)*c < 0x80);
    free(picture);
}

/* However different they are. */
static void test_all_different_ranks_fit(void **state)
{
    struct rank_rows rows;
    members = 64;
    for (unsigned i = 0; i < 64; i++)
        add_rank(i, "a", STEP_NS / 100 + STEP_NS * (i * 37 % 64) / 100, "0xa1");
    find();
    for (size_t rows_max = 3; rows_max <= 64; rows_max++) {
        rank_rows_fold(&rows, &ranks, &trace, rows_max);
        assert_in_range(rows.count, 1, rows_max);
        size_t count = 0;
        for (size_t i = 0; i < rows.count; i++) {
            assert_int_equal(rows.items[i].first, count);
            count += rows.items[i].count;
            if (ranks.items[rows.items[i].first].is_late)
                assert_int_equal(rows.items[i].count, 1);
        }
        assert_int_equal(count, 64);
        rank_rows_deinit(&rows);
    }
}

static void align_clocks(void)
{
    struct clock_offsets *offsets = clock_offsets_of_trace(&trace);
    clock_offsets_apply(offsets, &trace);
    clock_offsets_destroy(offsets);
}

/* Three collectives with other hosts: fewer do not tell a clock. */
static void add_ranks_of_hosts(void)
{
    static const char *const keys[3][3] = {
        {"0xa1", "0xb1", "0xc1"}, {"0xa2", "0xb2", "0xc2"}, {"0xa3", "0xb3", "0xc3"}};
    for (unsigned i = 0; i < 3; i++) {
        shift_ns = 0;
        add_rank(0, "a", STEP_NS * 3 / 10, keys[i][0]);
        shift_ns = 5000000;
        add_rank(1, "b", STEP_NS * 7 / 10, keys[i][0]);
        add_rank(2, "b", STEP_NS * 2 / 10, keys[i][1]);
        shift_ns = 3000000;
        add_rank(3, "c", STEP_NS * 4 / 10, keys[i][1]);
        shift_ns = 1000000;
        add_rank(4, "d", STEP_NS * 4 / 10, keys[i][2]);
    }
}

/* Host c is joined with a only through b; d has no collective in common with the others. */
static void test_clocks_of_hosts(void **state)
{
    unsigned seen = 0;
    add_ranks_of_hosts();
    trace = trace_of(input.data);
    align_clocks();
    for (size_t i = 0; i < trace.span_count; i++) {
        const char *name = trace_string(&trace, trace.spans[i].name);
        if (strncmp(name, "rank ", 5) != 0)
            continue;
        assert_int_equal(trace.spans[i].start_ns, 1700000000000000000ull + (name[5] == '4' ? 1000000 : 0));
        seen++;
    }
    assert_int_equal(seen, 15);
    assert_int_equal(trace.end_ns - trace.start_ns, STEP_NS + 1000000);
}

static void test_clocks_of_one_host(void **state)
{
    add_rank(0, "a", STEP_NS * 3 / 10, "0xa1");
    add_rank(1, "a", STEP_NS * 7 / 10, "0xa1");
    trace = trace_of(input.data);
    uint64_t start_ns = trace.start_ns, end_ns = trace.end_ns;
    align_clocks();
    assert_int_equal(trace.start_ns, start_ns);
    assert_int_equal(trace.end_ns, end_ns);
}

/* Few ranks: their spans, too. */
static void test_two_ranks_and_their_spans(void **state)
{
    add_rank(0, "a", STEP_NS * 3 / 10, "0xa1");
    add_rank(1, "a", STEP_NS * 7 / 10, "0xa1");
    trace = trace_of(input.data);
    char *picture = draw(40, true);
    assert_non_null(strstr(picture, "\nrank 1  late by 40.0 ms  a "));
    assert_non_null(strstr(picture, "gemm"));
    assert_null(strstr(picture, "--rank"));
    free(picture);
}

/* Each rank is on a host of its own, and shares collectives with the ranks before and after it. With MANY
 * ranks, a search through all ranks, processes or spans for each of them would take far more steps than a
 * test has time for. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ /* with them, 100,000 take minutes */
#define MANY 10000
#else
#define MANY 100000
#endif

static void add_chained_rank(unsigned number)
{
    unsigned rank = ++next_id;
    char name[16];
    snprintf(name, sizeof name, "rank %u", number);
    text_add_format(&input,
                    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"process.pid\",\"value\":{"
                    "\"intValue\":\"42\"}},{\"key\":\"host.name\",\"value\":{\"stringValue\":\"h%u\"}}]},"
                    "\"scopeSpans\":[{\"spans\":[",
                    number);
    add_span(rank, 1, name, 0, STEP_NS, STEP_ATTRS);
    for (unsigned i = 0; i < 2; i++) {
        char attrs[512];
        snprintf(
            attrs, sizeof attrs,
            ATTR_NUMBER("cuda.stream.id", "8") "," ATTR_TEXT("cuda.activity", "collective") "," ATTR_TEXT(
                "collective.operation", "all_reduce") "," ATTR_NUMBER("collective.ranks",
                                                                      "2") ",{\"key\":\"collective.key\","
                                                                           "\"value\":{\"stringValue\":"
                                                                           "\"0x%x\"}},"
                                                                           "{\"key\":"
                                                                           "\"collective.communicator\","
                                                                           "\"value\":{\"stringValue\":"
                                                                           "\"0x%x\"}}",
            number + i, number + i);
        text_add(&input, ",");
        add_span(++next_id, rank, "AllReduce", STEP_NS * i / 4, STEP_NS * (i + 1) / 4, attrs);
    }
    text_add(&input, "]}]}]}\n");
}

static void test_very_many_ranks(void **state)
{
    for (unsigned i = 0; i < MANY; i++) {
        shift_ns = i;
        add_chained_rank(i);
    }
    trace = trace_of(input.data);
    align_clocks();
    step_ranks_find(&ranks, &trace);
    assert_int_equal(ranks.count, MANY);
    for (size_t i = 0; i < trace.span_count; i++)
        assert_in_range(ranks.owners[i], 0, MANY - 1);
    char *picture = draw(40, false);
    assert_non_null(strstr(picture, "--rank N draws the spans of one rank"));
    free(picture);
    FILE *file = tmpfile();
    perfetto_write(file, &trace);
    assert_true(ftell(file) > MANY);
    fclose(file);
}

/* Each span is in the one that follows it. */
static void test_very_deep_calls(void **state)
{
    text_add(&input, "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[");
    for (unsigned i = 1; i < MANY; i++) {
        add_span(i, i + 1, "call", i, STEP_NS, "");
        text_add(&input, ",");
    }
    add_span(MANY, 0, "rank 3", MANY, STEP_NS, ATTR_NUMBER("training.step.number", "8"));
    text_add(&input, "]}]}]}\n");
    find();
    assert_int_equal(ranks.count, 1);
    assert_int_equal(trace.span_count, MANY);
    for (size_t i = 0; i < trace.span_count; i++)
        assert_int_equal(ranks.owners[i], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {TEST(test_the_late_rank),
                                       TEST(test_nobody_is_late),
                                       TEST(test_no_step),
                                       TEST(test_one_rank_stays),
                                       TEST(test_many_ranks_fit),
                                       TEST(test_each_rank_on_request),
                                       TEST(test_all_different_ranks_fit),
                                       TEST(test_clocks_of_hosts),
                                       TEST(test_clocks_of_one_host),
                                       TEST(test_two_ranks_and_their_spans),
                                       TEST(test_very_many_ranks),
                                       TEST(test_very_deep_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
