#include "analysis/stat/stat_stream.h"
#include "analysis/trace/span_store.h"
#include "analysis/trace/trace_read.h"

#include "support/cli_trace.h"
#include "support/test.h"
#include "support/under_qemu.h"

#include <dirent.h>
#include <errno.h>

#define PAIRS 1000 /* calls, each with a kernel that starts `distance` pairs later */

/* The contents of all segments of a file. */
struct seen {
    size_t spans, segments, margins, joined, kernels, events;
    uint64_t last_start, last_number;
    size_t largest;
    char error[128];
};

static enum status take(void *context, struct trace *segment, struct error *err)
{
    struct seen *seen = context;
    (void)err;
    seen->segments++;
    if (segment->span_count > seen->largest)
        seen->largest = segment->span_count;
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        if (i > 0)
            assert_true(span->start_ns >= segment->spans[i - 1].start_ns);
        if (span->is_margin) {
            seen->margins++;
            continue;
        }
        seen->spans++;
        assert_true(span->start_ns >= seen->last_start);
        assert_true(span->number == seen->last_number + 1);
        seen->last_start = span->start_ns;
        seen->last_number = span->number;
        seen->events += span->event_count;
        if (span->class != CLASS_KERNEL)
            continue;
        seen->kernels++;
        seen->joined += span->parent != TRACE_NONE && segment->spans[span->parent].class == CLASS_CALL &&
                        segment->spans[span->parent].id == span->parent_id;
    }
    return STATUS_OK;
}

static char folder[] = "/tmp/cuspan-test-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/input", folder);
    return 0;
}

static int remove_folder(void **state)
{
    unlink(path);
    return rmdir(folder);
}

static void write_file(const void *bytes, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

static enum status read_file(size_t segment, size_t margin, size_t buffer, struct seen *seen,
                             struct trace_facts *facts)
{
    const char *paths[] = {path};
    struct trace_input input = {.paths = paths,
                                .path_count = 1,
                                .segment_spans = segment,
                                .margin_spans = margin,
                                .buffer_bytes = buffer};
    struct error err = {""};
    struct trace trace;
    *seen = (struct seen){0};
    enum status status = trace_read(&input, &trace, take, seen, facts, &err);
    snprintf(seen->error, sizeof seen->error, "%.127s", err.text);
    trace_deinit(&trace);
    return status;
}

/* The lines come last first, so that sorting has something to do. */
static void write_pairs(unsigned distance)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (unsigned i = PAIRS; i-- > 0;) {
        fprintf(
            file,
            "{\"resourceSpans\":[{" GPU_RESOURCE ",\"scopeSpans\":[{\"spans\":[{\"traceId\":\"" TRACE_A
            "\",\"spanId\":\"%016x\",\"parentSpanId\":\"%016x\",\"name\":\"k\",\"startTimeUnixNano\":\"%u\","
            "\"endTimeUnixNano\":\"%u\",\"attributes\":[" ATTR_TEXT("cuda.activity", "kernel") "]}]}]}]}\n",
            i + 0x100000, i + 1, (i + distance) * 100 + 1050, (i + distance) * 100 + 1060);
        fprintf(
            file,
            "{\"resourceSpans\":[{" PROCESS_RESOURCE ",\"scopeSpans\":[{\"spans\":[{\"traceId\":\"" TRACE_A
            "\",\"spanId\":\"%016x\",\"name\":\"c\",\"startTimeUnixNano\":\"%u\",\"endTimeUnixNano\":\"%u\","
            "\"attributes\":[" ATTR_TEXT("cuda.api", "runtime") "," ATTR_TEXT("cuda.arg.ptr",
                                                                              "0x%x") "]}]}]}]}\n",
            i + 1, i * 100 + 1000, i * 100 + 1010, i);
    }
    fclose(file);
}

static void test_each_span_is_in_one_segment_and_finds_its_parent(void **state)
{
    static const size_t segments[] = {40, 47, 100, 5000}, buffers[] = {1, 5000, 1 << 20};
    struct seen seen;
    struct trace_facts facts;
    write_pairs(20);
    for (size_t s = 0; s < 4; s++) {
        for (size_t b = 0; b < 3; b++) {
            assert_int_equal(read_file(segments[s], 40, buffers[b], &seen, &facts), STATUS_OK);
            assert_int_equal(seen.spans, 2 * PAIRS);
            assert_int_equal(facts.spans, 2 * PAIRS);
            assert_int_equal(seen.kernels, PAIRS);
            assert_int_equal(seen.joined, PAIRS);
            assert_int_equal(facts.joins_missed, 0);
            assert_int_equal(seen.segments, (2 * PAIRS + segments[s] - 1) / segments[s]);
            assert_true(seen.largest <= segments[s] + 2 * 40 + 1);
            assert_true((seen.margins > 0) == (segments[s] < 2 * PAIRS));
        }
    }
}

static void test_a_parent_beyond_the_margin_is_counted(void **state)
{
    struct seen seen;
    struct trace_facts facts;
    write_pairs(200);
    assert_int_equal(read_file(50, 20, 10000, &seen, &facts), STATUS_OK);
    assert_int_equal(seen.spans, 2 * PAIRS);
    assert_true(seen.joined < PAIRS / 2);
    assert_int_equal(facts.joins_missed, PAIRS - seen.joined);
}

/* Processes that run one after the other need no larger margin than one. */
static void test_the_margin_depends_on_processes_at_the_same_time(void **state)
{
    enum { PROCESSES = 150, SPANS = 500 };
    struct seen seen;
    struct trace_facts facts;
    for (unsigned together = 0; together < 2; together++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (unsigned p = 0; p < PROCESSES; p++) {
            fprintf(file,
                    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" ATTR_TEXT(
                        "service.instance.id", "%u") "]},\"scopeSpans\":[{\"spans\":[",
                    p);
            for (unsigned i = 0; i < SPANS; i++) {
                unsigned start = 1 + i + (together ? 0 : p * SPANS);
                fprintf(file,
                        "%s{\"traceId\":\"" TRACE_A "\",\"spanId\":\"%016x\",\"name\":\"c\","
                        "\"startTimeUnixNano\":\"%u\",\"endTimeUnixNano\":\"%u\"}",
                        i ? "," : "", 1 + p * SPANS + i, start, start);
            }
            fprintf(file, "]}]}]}\n");
        }
        fclose(file);
        assert_int_equal(read_file(0, 0, 0, &seen, &facts), STATUS_OK);
        assert_int_equal(seen.spans, PROCESSES * SPANS);
        assert_int_equal(seen.segments > 1, !together);
        assert_int_equal(seen.largest < PROCESSES * SPANS, !together);
    }
}

/* A parent that is nowhere in the input is not missed. */
static void test_a_parent_elsewhere_is_not_missed(void **state)
{
    struct seen seen;
    struct trace_facts facts;
    write_pairs(0);
    FILE *file = fopen(path, "a");
    fputs(LINE(GPU_RESOURCE,
               SPAN(TRACE_A, "00000000000000ff", "ffffffffffffffff", "x", "000000100", "000000900", "")),
          file);
    fclose(file);
    assert_int_equal(read_file(50, 20, 10000, &seen, &facts), STATUS_OK);
    assert_int_equal(seen.spans, 2 * PAIRS + 1);
    assert_int_equal(facts.joins_missed, 0);
}

static const char one_span[] = LINE(
    PROCESS_RESOURCE, SPAN(TRACE_A, "00000000000000a1", "00000000000000b2", "name", "000000100", "000000900",
                           ATTRS(ATTR_TEXT("text", "t") "," ATTR_NUMBER("n", "-7")) FAILED
                           ",\"events\":[{\"timeUnixNano\":\"1700000000000000600\",\"name\":\"e\"}]"));

/* A message with the same span. */
static const unsigned char one_message[] = {
    0,    0,  0,    77, /* length */
    0x0a, 75,           /* resource_spans */
    0x0a, 0,            /* resource */
    0x12, 71, 0x12, 69, /* scope_spans, spans */
    0x0a, 16, 1,    2,  3,    4,    5, 6,    7, 8,   9, 10, 11, 12,
    13,   14, 15,   16, 0x12, 8,    1, 2,    3, 4,   5, 6,  7,  8, /* span_id */
    0x2a, 1,  'n',                                                 /* name */
    0x39, 1,  0,    0,  0,    0,    0, 0,    1,                    /* start */
    0x41, 9,  0,    0,  0,    0,    0, 0,    1,                    /* end */
    0x4a, 8,  0x0a, 1,  'k',  0x12, 3, 0x0a, 1, 'v',               /* attributes */
    0x5a, 4,  0x12, 2,  'e',  'e',                                 /* an event without a time is dropped */
    0x7a, 2,  0x18, 2};                                            /* status */

/* Cut or changed anywhere, it is read, or one line names the file. */
static void damage(const unsigned char *bytes, size_t len)
{
    struct seen seen;
    struct trace_facts facts;
    unsigned char *copy = malloc(len);
    assert_non_null(copy);
    write_file(bytes, len);
    assert_int_equal(read_file(0, 0, 0, &seen, &facts), STATUS_OK);
    assert_int_equal(seen.spans, 1);
    for (size_t i = 0; i < len; i++) {
        write_file(bytes, i);
        enum status status = read_file(0, 0, 0, &seen, &facts);
        assert_true(status == STATUS_OK ? seen.spans == 1 : strstr(seen.error, path) != NULL);
    }
    for (size_t i = 0; i < len; i++) {
        memcpy(copy, bytes, len);
        for (size_t bit = 0; bit < 3; bit++) {
            copy[i] = (unsigned char)(bytes[i] ^ (bit == 0 ? 1 : bit == 1 ? 0x80 : 0xff));
            write_file(copy, len);
            if (read_file(0, 0, 0, &seen, &facts) != STATUS_OK)
                assert_non_null(strstr(seen.error, path));
        }
    }
    free(copy);
}

static void test_damage_anywhere_is_survived(void **state)
{
    if (is_under_qemu()) { /* it keeps a megabyte of each thread that has ended, and each read has one */
        print_message("skipped: thousands of threads under qemu-user\n");
        skip();
    }
    damage((const unsigned char *)one_span, sizeof one_span - 1);
    damage(one_message, sizeof one_message);
}

static void test_fields_of_a_message(void **state)
{
    struct trace trace;
    struct error err = {""};
    assert_int_equal(read_bytes((const char *)one_message, sizeof one_message, NULL, &trace, &err),
                     STATUS_OK);
    const struct trace_span *span = &trace.spans[0];
    assert_string_equal(trace_string(&trace, trace.id), "0102030405060708090a0b0c0d0e0f10");
    assert_true(span->id == 0x0102030405060708);
    assert_true(span->end_ns - span->start_ns == 8);
    assert_string_equal(trace_span_attr(&trace, span, "k"), "v");
    assert_string_equal(trace_string(&trace, span->error), "error");
    assert_int_equal(span->event_count, 0);
    trace_deinit(&trace);
}

/* Also after the last one: the reader once looked for the end forever. */
static void test_empty_messages_are_passed_over(void **state)
{
    enum { ONE = sizeof one_message, EMPTY = 4 };
    unsigned char file[2 * ONE + 2 * EMPTY] = {0};
    struct seen seen;
    struct trace_facts facts;
    memcpy(file, one_message, ONE);
    memcpy(file + ONE + EMPTY, one_message, ONE);
    for (size_t cut = 0; cut <= EMPTY; cut += EMPTY) {
        write_file(file, sizeof file - cut);
        assert_int_equal(read_file(0, 0, 0, &seen, &facts), STATUS_OK);
        assert_int_equal(seen.spans, 2);
    }
}

static enum status check_consecutive(void *next_start, struct trace *segment, struct error *err)
{
    uint64_t *next = next_start;
    (void)err;
    for (size_t i = 0; i < segment->span_count; i++) {
        if (!segment->spans[i].is_margin)
            assert_true(segment->spans[i].start_ns == (*next)++);
    }
    return STATUS_OK;
}

static void write_line(FILE *file, unsigned first, unsigned spans)
{
    fputs("{\"resourceSpans\":[{" PROCESS_RESOURCE ",\"scopeSpans\":[{\"spans\":[", file);
    for (unsigned i = first; i < first + spans; i++)
        fprintf(file,
                "%s{\"traceId\":\"" TRACE_A "\",\"spanId\":\"%016x\",\"name\":\"c\","
                "\"startTimeUnixNano\":\"%u\",\"endTimeUnixNano\":\"%u\"}",
                i > first ? "," : "", i + 1, i, i + 1);
    fputs("]}]}]}\n", file);
}

/* Some are longer than what the reader has of those behind them, and leave it their buffer. */
static void test_long_and_short_documents(void **state)
{
    static const unsigned lengths[] = {1, 9000, 1, 1, 40, 3000, 2500, 700, 1, 20000, 1, 1500, 1500, 60, 9000};
    const char *paths[] = {path};
    struct trace_input input = {.paths = paths, .path_count = 1};
    struct trace trace;
    struct trace_facts facts;
    struct error err = {""};
    unsigned spans = 0;
    uint64_t next = 0;
    FILE *file = fopen(path, "w");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; spans += lengths[i++])
        write_line(file, spans, lengths[i]);
    fclose(file);
    assert_int_equal(trace_read(&input, &trace, check_consecutive, &next, &facts, &err), STATUS_OK);
    assert_int_equal(facts.spans, spans);
    assert_int_equal(next, spans);
    trace_deinit(&trace);
}

static void test_long_and_short_messages(void **state)
{
    static const unsigned repeats[] = {1, 9000, 1, 3, 6000, 5000, 1, 1, 30000, 2};
    const size_t body = sizeof one_message - 4;
    struct seen seen;
    struct trace_facts facts;
    unsigned spans = 0;
    FILE *file = fopen(path, "w");
    for (size_t i = 0; i < sizeof repeats / sizeof *repeats; spans += repeats[i++]) {
        size_t len = body * repeats[i];
        const unsigned char head[4] = {(unsigned char)(len >> 24), (unsigned char)(len >> 16),
                                       (unsigned char)(len >> 8), (unsigned char)len};
        fwrite(head, 1, sizeof head, file);
        for (unsigned k = 0; k < repeats[i]; k++)
            fwrite(one_message + 4, 1, body, file);
    }
    fclose(file);
    assert_int_equal(read_file(0, 0, 0, &seen, &facts), STATUS_OK);
    assert_int_equal(seen.spans, spans);
}

/* The other thread has read further by then. */
static void test_an_odd_span_between_documents(void **state)
{
    struct seen seen;
    struct trace_facts facts;
    FILE *file = fopen(path, "w");
    for (unsigned line = 1; line <= 100; line++) {
        if (line == 50)
            fputs("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"no ID\"}]}]}]}\n", file);
        else
            write_line(file, line * 100, 100);
    }
    fclose(file);
    assert_int_equal(read_file(0, 0, 0, &seen, &facts), STATUS_OK);
    assert_int_equal(facts.spans, 99 * 100);
    assert_int_equal(facts.odd_spans.count, 1);
    assert_non_null(strstr(facts.odd_spans.first, ":50: a span has a traceId"));
}

static enum status check_wanted(void *context, struct trace *segment, struct error *err)
{
    (void)context;
    (void)err;
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        char expected[24];
        snprintf(expected, sizeof expected, "0x%" PRIx64, (span->start_ns - 1000) / 100);
        const char *pointer = trace_span_attr(segment, span, "cuda.arg.ptr");
        if (span->class == CLASS_CALL)
            assert_string_equal(pointer, expected);
        assert_int_equal(span->attr_count, 1 + (span->class == CLASS_CALL));
    }
    return STATUS_OK;
}

/* More values of an attribute than become long-lived strings. */
static void test_attributes_with_many_values(void **state)
{
    const char *paths[20];
    static const char *const wanted[] = {"cuda.arg.*", NULL};
    struct trace_input input = {
        .paths = paths, .wanted = wanted, .segment_spans = 300, .buffer_bytes = 50000};
    struct trace trace;
    struct trace_facts facts;
    struct error err = {""};
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < 6000; i++)
        fprintf(
            file,
            "{\"resourceSpans\":[{" PROCESS_RESOURCE ",\"scopeSpans\":[{\"spans\":[{\"traceId\":\"" TRACE_A
            "\",\"spanId\":\"%016x\",\"name\":\"c\",\"startTimeUnixNano\":\"%u\",\"endTimeUnixNano\":\"%u\","
            "\"attributes\":[" ATTR_TEXT("cuda.api", "runtime") "," ATTR_TEXT("unwanted", "x") "," ATTR_TEXT(
                "cuda.arg.ptr", "0x%x") "]}]}]}]}\n",
            i + 1, i * 100 + 1000, i * 100 + 1010, i);
    fclose(file);
    paths[0] = path;
    input.path_count = 1;
    assert_int_equal(trace_read(&input, &trace, check_wanted, NULL, &facts, &err), STATUS_OK);
    assert_int_equal(facts.spans, 6000);
    assert_int_equal(trace_find_string(&trace, "x"), MAP_NONE);
    trace_deinit(&trace);
}

#define SORTED 5000

static enum status check_order(void *context, struct trace *segment, struct error *err)
{
    struct trace_span *last = context;
    (void)err;
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        if (span->is_margin)
            continue;
        bool is_later = span->start_ns != last->start_ns ? span->start_ns > last->start_ns
                        : span->end_ns != last->end_ns   ? span->end_ns < last->end_ns
                                                         : span->id > last->id;
        assert_true(is_later);
        *last = *span;
    }
    return STATUS_OK;
}

static void write_unsorted(uint64_t factor)
{
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < SORTED; i++) {
        uint64_t start = (i * 7919u % 1000 + 1) * factor;
        fprintf(file,
                "%s{\"traceId\":\"" TRACE_A "\",\"spanId\":\"%016x\",\"name\":\"c\",\"startTimeUnixNano\":"
                "\"%" PRIu64 "\",\"endTimeUnixNano\":\"%" PRIu64 "\"}%s",
                i % 500 ? "," : "{\"resourceSpans\":[{" PROCESS_RESOURCE ",\"scopeSpans\":[{\"spans\":[",
                i + 1, start, start + i % 3, i % 500 == 499 ? "]}]}]}\n" : "");
    }
    fclose(file);
}

/* By start, then longest first, then in the order of arrival (which the span IDs have): in memory, and in
 * runs of many and of few records. */
static void test_order_of_spans(void **state)
{
    static const size_t buffers[] = {0, 400000, 20000};
    /* Few starts; starts that differ in their upper bits; starts without order. */
    static const uint64_t factors[] = {1, UINT64_C(1) << 50, 0x2545f4914f6cdd1d};
    for (size_t f = 0; f < 3; f++) {
        write_unsorted(factors[f]);
        for (size_t b = 0; b < 3; b++) {
            const char *paths[] = {path};
            struct trace_input input = {.paths = paths,
                                        .path_count = 1,
                                        .buffer_bytes = buffers[b],
                                        .segment_spans = 400,
                                        .margin_spans = 9};
            struct trace_span last = {0};
            struct trace trace;
            struct trace_facts facts;
            struct error err = {""};
            assert_int_equal(trace_read(&input, &trace, check_order, &last, &facts, &err), STATUS_OK);
            assert_int_equal(facts.spans, SORTED);
            assert_int_equal(last.number, SORTED);
            trace_deinit(&trace);
        }
    }
}

/* Of each error, the reading ends with the first one, and no thread is left. */
static enum status refuse(void *context, struct trace *segment, struct error *err)
{
    size_t *left = context;
    (void)segment;
    return (*left)-- ? STATUS_OK : error_set(err, STATUS_IO, "refused");
}

static void test_an_error_while_segments_are_taken(void **state)
{
    write_pairs(3);
    for (size_t segment = 0; segment < 4; segment++) {
        const char *paths[] = {path};
        struct trace_input input = {
            .paths = paths, .path_count = 1, .segment_spans = 300, .margin_spans = 20, .buffer_bytes = 30000};
        size_t left = segment;
        struct trace trace;
        struct trace_facts facts;
        struct error err = {""};
        assert_int_equal(trace_read(&input, &trace, refuse, &left, &facts, &err), STATUS_IO);
        assert_string_equal(err.text, "refused");
        assert_int_equal(facts.segments, segment + 1);
        trace_deinit(&trace);
    }
}

/* Makes the temporary file with the sorted spans empty. */
static enum status empty_file(void *context, struct trace *segment, struct error *err)
{
    size_t *segments = context;
    struct dirent *entry;
    char name[64], target[256];
    (void)segment;
    (void)err;
    ++*segments;
    DIR *files = opendir("/proc/self/fd");
    assert_non_null(files);
    while ((entry = readdir(files))) {
        snprintf(name, sizeof name, "/proc/self/fd/%.20s", entry->d_name);
        ssize_t len = readlink(name, target, sizeof target - 1);
        if (len > 0 && (target[len] = 0, strstr(target, "/cuspan-spans-")))
            assert_return_code(ftruncate((int)strtol(entry->d_name, NULL, 10), 0), errno);
    }
    closedir(files);
    return STATUS_OK;
}

/* The thread that builds segments fails. Larger runs than their buffers, so that it has to read. */
static void test_an_error_while_segments_are_built(void **state)
{
    const char *paths[] = {path};
    struct trace_input input = {
        .paths = paths, .path_count = 1, .segment_spans = 1000, .margin_spans = 10, .buffer_bytes = 3000000};
    struct trace trace;
    struct trace_facts facts;
    struct error err = {""};
    size_t segments = 0;
    FILE *file = fopen(path, "w");
    for (unsigned line = 0; line < 60; line++)
        write_line(file, line * 1000, 1000);
    fclose(file);
    assert_int_equal(trace_read(&input, &trace, empty_file, &segments, &facts, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "cannot read a temporary file"));
    assert_in_range(segments, 1, 59);
    trace_deinit(&trace);
}

/* The folder for temporary files is missing: the thread that writes notices it. */
static void test_no_place_to_sort(void **state)
{
    struct seen seen;
    struct trace_facts facts;
    char *before = getenv("TMPDIR");
    before = before ? strdup(before) : NULL;
    write_pairs(3);
    setenv("TMPDIR", "/nonexistent/folder", 1);
    assert_int_equal(read_file(300, 20, 30000, &seen, &facts), STATUS_IO);
    assert_non_null(strstr(seen.error, "cannot create a temporary file in /nonexistent/folder"));
    assert_int_equal(read_file(300, 20, 0, &seen, &facts), STATUS_OK);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

#define TRACES 50

static enum status count_rest(void *context, struct trace *segment, struct error *err)
{
    size_t *rest = context;
    (void)err;
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_span *span = &segment->spans[i];
        bool is_other = strcmp(trace_string(segment, span->name), STORE_OTHER_NAMES) == 0;
        rest[0] += trace_is_rest(segment, span->trace);
        rest[1] += is_other;
        if (!is_other) {
            char name[24];
            snprintf(name, sizeof name, "name %u", (unsigned)(span->id - 1) % TRACES);
            assert_string_equal(trace_string(segment, span->name), name);
        }
    }
    return STATUS_OK;
}

/* Two spans of each trace; in each one, another name. */
static void write_traces(const char *attributes)
{
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < 2 * TRACES; i++)
        fprintf(file,
                "{\"resourceSpans\":[{" PROCESS_RESOURCE ",\"scopeSpans\":[{\"spans\":[{\"traceId\":"
                "\"%032x\",\"spanId\":\"%016x\",\"name\":\"name %u\",\"startTimeUnixNano\":\"%u\","
                "\"endTimeUnixNano\":\"%u\",\"attributes\":[%s]}]}]}]}\n",
                i % TRACES + 1, i + 1, i % TRACES, i * 100 + 1000, i * 100 + 1010, attributes);
    fclose(file);
}

static struct trace_facts read_traces(const char *const *wanted, size_t traces_max, size_t name_bytes_max,
                                      size_t rest[2], size_t *traces)
{
    const char *paths[] = {path};
    struct trace_input input = {.paths = paths,
                                .path_count = 1,
                                .wanted = wanted,
                                .traces_max = traces_max,
                                .name_bytes_max = name_bytes_max};
    struct trace trace;
    struct trace_facts facts;
    struct error err = {""};
    rest[0] = rest[1] = 0;
    assert_int_equal(trace_read(&input, &trace, count_rest, rest, &facts, &err), STATUS_OK);
    assert_int_equal(facts.spans, 2 * TRACES);
    *traces = trace.list_count;
    trace_deinit(&trace);
    return facts;
}

static enum status count_resources(void *others, struct trace *segment, struct error *err)
{
    size_t *count = others;
    (void)err;
    for (size_t i = 0; i < segment->span_count; i++) {
        const struct trace_resource *resource = &segment->resources[segment->spans[i].resource];
        bool is_other = strcmp(trace_string(segment, resource->service), STORE_OTHER_RESOURCES) == 0;
        count[resource->device != 0] += is_other;
    }
    return STATUS_OK;
}

/* Beyond the limit, processes count as one, and so do devices. */
static void test_many_processes(void **state)
{
    enum { RESOURCES = 20, MAX = 6 };
    static const char *const wanted[] = {"x", NULL};
    const char *paths[] = {path};
    struct trace_input input = {.paths = paths, .path_count = 1, .wanted = wanted, .resources_max = MAX};
    struct trace trace;
    struct trace_facts facts;
    struct error err = {""};
    size_t others[2] = {0, 0};
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < 2 * RESOURCES; i++)
        fprintf(
            file,
            "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"%s\",\"value\":{\"stringValue\":"
            "\"%u\"}}]},\"scopeSpans\":[{\"spans\":[{\"traceId\":\"" TRACE_A
            "\",\"spanId\":\"%016x\",\"startTimeUnixNano\":\"%u\"}]}]}]}\n",
            i % 2 ? "cuda.device.id" : "service.name", i % RESOURCES, i + 1, i + 1);
    fclose(file);
    assert_int_equal(trace_read(&input, &trace, count_resources, others, &facts, &err), STATUS_OK);
    assert_true(facts.has_other_resources);
    assert_int_equal(trace.resource_count, MAX + 2);
    assert_int_equal(others[0], RESOURCES - MAX);
    assert_int_equal(others[1], RESOURCES - MAX);
    trace_deinit(&trace);
}

/* Beyond the limits, traces and names count as one. */
static void test_many_traces_and_names(void **state)
{
    static const char *const wanted[] = {"x", NULL};
    size_t rest[2], traces;
    write_traces("");
    struct trace_facts facts = read_traces(wanted, 0, 0, rest, &traces);
    assert_false(facts.has_rest || facts.has_other_names);
    assert_int_equal(rest[0] + rest[1], 0);
    assert_int_equal(traces, TRACES);
    facts = read_traces(wanted, TRACES, TRACES * (STORE_NAME_BYTES + 8), rest, &traces);
    assert_false(facts.has_rest || facts.has_other_names);
    assert_int_equal(rest[0] + rest[1], 0);
    facts = read_traces(wanted, 20, 0, rest, &traces);
    assert_true(facts.has_rest && !facts.has_other_names);
    assert_int_equal(rest[0], 2 * (TRACES - 20));
    assert_int_equal(rest[1], 0);
    assert_int_equal(traces, 21);
    facts = read_traces(wanted, 0, 10 * (STORE_NAME_BYTES + 6), rest, &traces);
    assert_true(!facts.has_rest && facts.has_other_names);
    assert_int_equal(rest[0], 0);
    assert_int_equal(rest[1], 2 * (TRACES - 10));
}

static enum status take_for_report(void *context, struct trace *segment, struct error *err)
{
    (void)err;
    stat_stream_take(context, segment);
    return STATUS_OK;
}

static const char *text_at(const struct stat_table *table, size_t row, size_t column)
{
    return table->values[row * table->column_count + column].text;
}

/* Of 50 requests with two calls each, 20 are groups, and all others are one. */
static void test_groups_of_too_many_requests(void **state)
{
    const char *paths[] = {path};
    struct trace_input input = {.paths = paths, .path_count = 1, .wanted = stat_wanted, .traces_max = 20};
    struct stat_stream *stream = stat_stream_create(STAT_BY_REQUEST, STAT_CODE_BY_LINE);
    struct stat_report report;
    struct trace trace;
    struct trace_facts facts;
    struct error err = {""};
    size_t groups = 0, others = 0;
    write_traces(ATTR_TEXT("cuda.api", "runtime"));
    assert_int_equal(trace_read(&input, &trace, take_for_report, stream, &facts, &err), STATUS_OK);
    stat_stream_report(stream, 0, NULL, &report);
    for (size_t t = 0; t < report.count; t++) {
        const struct stat_table *table = &report.tables[t];
        if (strcmp(table->key, "headline") != 0)
            continue;
        for (size_t r = 0; r < table->row_count; r++) {
            bool is_other = strcmp(text_at(table, r, 0), "(other requests)") == 0;
            groups += !is_other && strlen(text_at(table, r, 0)) == 32;
            others += is_other;
        }
    }
    assert_int_equal(groups, 20);
    assert_int_equal(others, 1);
    stat_report_deinit(&report);
    stat_stream_destroy(stream);
    trace_deinit(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_too_many_requests),
        cmocka_unit_test(test_order_of_spans),
        cmocka_unit_test(test_an_error_while_segments_are_taken),
        cmocka_unit_test(test_an_error_while_segments_are_built),
        cmocka_unit_test(test_no_place_to_sort),
        cmocka_unit_test(test_many_traces_and_names),
        cmocka_unit_test(test_many_processes),
        cmocka_unit_test(test_each_span_is_in_one_segment_and_finds_its_parent),
        cmocka_unit_test(test_a_parent_beyond_the_margin_is_counted),
        cmocka_unit_test(test_the_margin_depends_on_processes_at_the_same_time),
        cmocka_unit_test(test_a_parent_elsewhere_is_not_missed),
        cmocka_unit_test(test_damage_anywhere_is_survived),
        cmocka_unit_test(test_fields_of_a_message),
        cmocka_unit_test(test_empty_messages_are_passed_over),
        cmocka_unit_test(test_attributes_with_many_values),
        cmocka_unit_test(test_long_and_short_documents),
        cmocka_unit_test(test_long_and_short_messages),
        cmocka_unit_test(test_an_odd_span_between_documents),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
