/* Tests the metrics of serving engines: which requests and iterations they count, and when. */
#include "support/correlate_harness.h"

#include "agent/correlate/engine_spans.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/trace/engine_requests.h"
#include "base/accounting/counters.h"

#include <stdlib.h>

#define SEED      11
#define SAMPLED   1
#define UNSAMPLED 0
#define UNKNOWN   UINT64_MAX

static struct step_rules rules;
static const char *engine;
static int32_t rank;
static uint8_t kind;

static int setup_engine(void **state)
{
    rules = (struct step_rules){.own = 9, .rank = -1, .world_size = -1};
    engine = "vllm";
    rank = 0;
    kind = ITERATION_FORWARD;
    setup_metrics(state, &rules);
    settings.output_count = 1;
    settings.memory_bytes_max = 64 << 20;
    return 0;
}

#define METRICS_TEST(name) cmocka_unit_test_setup_teardown(name, setup_engine, teardown_metrics)

static uint64_t at(uint64_t time)
{
    return time == UNKNOWN ? 0 : BASE_NS + time;
}

static void request_at(uint64_t number, uint8_t flags, uint64_t arrived, uint64_t time)
{
    struct engine_event event = {.type = ENGINE_REQUEST, .bytes = sizeof event};
    event.request =
        (struct engine_request){.number = number, .flags = flags, .arrived_ns = at(arrived), .id = "r"};
    memset(event.request.context, (int)number, sizeof event.request.context);
    engine_spans_note(correlate, &event, at(time));
}

static void request(uint64_t number, uint8_t flags)
{
    request_at(number, flags, 100, 200);
}

static void end_as(uint64_t number, uint64_t time, uint32_t reason, uint32_t tokens)
{
    struct engine_event event = {.type = ENGINE_REQUEST_END, .bytes = sizeof event};
    event.end = (struct engine_request_end){.number = number, .reason = reason, .tokens = tokens};
    engine_spans_note(correlate, &event, at(time));
}

static void begin_iteration(int64_t number, uint64_t time, const struct iteration_part *parts, uint32_t count)
{
    struct engine_event *event = calloc(1, sizeof *event + count * sizeof *parts);
    event->type = ENGINE_ITERATION;
    event->bytes = sizeof *event + count * sizeof *parts;
    event->iteration = (struct iteration){
        .seed = SEED, .number = number, .kind = kind, .rank = rank, .ranks = 2, .part_count = count};
    snprintf(event->iteration.engine, sizeof event->iteration.engine, "%s", engine);
    if (count)
        memcpy(event->parts, parts, count * sizeof *parts);
    struct step_boundary boundary = {.time = at(time), .kind = STEP_NONE, .event = event};
    session_spans_step(correlate, &boundary);
}

static void end_iteration(uint64_t time)
{
    struct step_boundary boundary = {.time = at(time), .kind = STEP_NONE, .source = STEP_BY_NONE};
    session_spans_step(correlate, &boundary);
}

/* An iteration of one request. */
static void work(uint64_t request, uint16_t phase, uint32_t tokens, uint64_t begin, uint64_t end)
{
    static int64_t number;
    struct iteration_part part = {.request = request, .phase = phase, .tokens = tokens};
    begin_iteration(++number, begin, &part, 1);
    end_iteration(end);
}

static const struct engine_figures *figures(unsigned index)
{
    const struct engine_figures *engines = correlate_live_stats(correlate)->engines;
    assert_non_null(engines);
    return &engines[index];
}

static void expect(const struct histogram *histogram, uint64_t count, uint64_t sum)
{
    if (count == 0) {
        assert_null(histogram);
        return;
    }
    assert_non_null(histogram);
    assert_int_equal(histogram->count, count);
    assert_int_equal(histogram->sum_ns, sum);
}

/* Arrived at 100, first iteration at 1000, first token at 2000, last of three tokens at 5000. */
static void serve(uint64_t number, uint8_t flags)
{
    request(number, flags);
    work(number, REQUEST_PREFILL, 20, 1000, 2000);
    work(number, REQUEST_DECODE, 1, 2500, 3500);
    work(number, REQUEST_DECODE, 1, 4000, 5000);
}

static void test_requests_count_sampled_or_not(void **state)
{
    serve(2, UNSAMPLED);
    assert_int_equal(figures(0)->active, 1);
    end_as(2, 6000, REQUEST_FINISHED, 3); /* reported later than it was */
    serve(4, SAMPLED);
    end_as(4, 6000, REQUEST_FINISHED, 3);
    assert_string_equal(figures(0)->name, "vllm");
    assert_int_equal(figures(0)->active, 0);
    expect(figures(0)->requests[REQUEST_FINISHED], 2, 2 * 4900);
    expect(figures(0)->first_token, 2, 2 * 1900);
    expect(figures(0)->per_token, 2, 2 * 1500);
    expect(figures(0)->queue, 2, 2 * 900);
    expect(figures(0)->iterations[ITERATION_FORWARD], 6, 6 * 1000);
    assert_int_equal(figures(0)->tokens[REQUEST_PREFILL], 40);
    assert_int_equal(figures(0)->tokens[REQUEST_DECODE], 4);
}

static void test_failed_and_aborted_requests_have_a_duration_only(void **state)
{
    serve(2, SAMPLED);
    end_as(2, 6000, REQUEST_ABORTED, 3);
    serve(4, UNSAMPLED);
    end_as(4, 7000, REQUEST_FAILED, 3);
    expect(figures(0)->requests[REQUEST_FINISHED], 0, 0);
    expect(figures(0)->requests[REQUEST_ABORTED], 1, 5900);
    expect(figures(0)->requests[REQUEST_FAILED], 1, 6900);
    expect(figures(0)->first_token, 0, 0);
    expect(figures(0)->per_token, 0, 0);
    assert_int_equal(figures(0)->active, 0);
}

static void test_requests_without_an_end_are_not_active_for_ever(void **state)
{
    serve(2, SAMPLED);
    for (int i = 0; i < 3; i++)
        tick_after(20);
    engine_spans_sweep(correlate, BASE_NS + 2 * REQUEST_IDLE_S * NS_PER_SECOND);
    assert_int_equal(figures(0)->active, 1);
    engine_spans_sweep(correlate, BASE_NS + 3 * REQUEST_IDLE_S * NS_PER_SECOND);
    assert_int_equal(figures(0)->active, 0);
    end_as(2, 6000, REQUEST_FINISHED, 3); /* after all */
    assert_int_equal(figures(0)->active, 0);
    for (unsigned end = 0; end < REQUEST_ENDS; end++)
        expect(figures(0)->requests[end], 0, 0);
}

static void test_the_last_chunk_of_the_prompt_brings_the_first_token(void **state)
{
    request(2, UNSAMPLED);
    work(2, REQUEST_PREFILL, 20, 1000, 2000);
    work(2, REQUEST_PREFILL, 20, 2000, 3000);
    work(2, REQUEST_DECODE, 1, 3000, 4000);
    work(2, REQUEST_PREFILL, 41, 5000, 6000); /* again, after a preemption */
    end_as(2, 6500, REQUEST_FINISHED, 3);
    expect(figures(0)->first_token, 1, 2900);
    expect(figures(0)->per_token, 1, 1500);
}

static void test_a_request_may_end_in_its_iteration(void **state)
{
    struct iteration_part part = {.request = 2, .phase = REQUEST_PREFILL, .tokens = 20};
    request(2, SAMPLED);
    work(2, REQUEST_PREFILL, 20, 1000, 2000);
    begin_iteration(7, 2000, &part, 1);
    end_as(2, 2700, REQUEST_FINISHED, 1);
    end_iteration(3000);
    expect(figures(0)->requests[REQUEST_FINISHED], 1, 2600);
    expect(figures(0)->first_token, 1, 2600);
    expect(figures(0)->per_token, 0, 0);
}

static void test_the_prompt_may_have_been_computed_elsewhere(void **state)
{
    request(2, UNSAMPLED);
    work(2, REQUEST_DECODE, 1, 1000, 2000);
    work(2, REQUEST_DECODE, 1, 2000, 3000);
    end_as(2, 4000, REQUEST_FINISHED, 2);
    expect(figures(0)->first_token, 1, 1900);
    expect(figures(0)->per_token, 1, 1000);
}

static void test_no_tokens_no_first_token(void **state)
{
    request(2, UNSAMPLED);
    work(2, REQUEST_PREFILL, 20, 1000, 2000);
    end_as(2, 2500, REQUEST_FINISHED, 0);
    expect(figures(0)->requests[REQUEST_FINISHED], 1, 1900);
    expect(figures(0)->first_token, 0, 0);
}

static void test_a_request_counts_once(void **state)
{
    struct iteration_part part = {.request = 2, .phase = REQUEST_DECODE, .tokens = 1};
    serve(2, SAMPLED);
    begin_iteration(9, 5500, &part, 1);
    end_as(2, 6000, REQUEST_ABORTED, 3);
    end_as(2, 6100, REQUEST_ABORTED, 3); /* its span waits for the iteration */
    end_as(8, 6200, REQUEST_FINISHED, 3);
    end_iteration(6500);
    work(8, REQUEST_DECODE, 1, 7000, 7500);
    expect(figures(0)->requests[REQUEST_ABORTED], 1, 5900);
    expect(figures(0)->requests[REQUEST_FINISHED], 0, 0);
    assert_int_equal(figures(0)->active, 0);
    assert_int_equal(figures(0)->tokens[REQUEST_DECODE], 4); /* also of unknown requests */
}

static void test_a_place_is_used_again(void **state)
{
    struct iteration_part part = {.request = 2, .phase = REQUEST_PREFILL, .tokens = 20};
    request(2, UNSAMPLED);
    begin_iteration(1, 1000, &part, 1);
    end_as(2, 1500, REQUEST_FINISHED, 1);
    request_at(4, UNSAMPLED, 1600, 1600); /* at the place of the first one */
    end_iteration(2000);
    end_as(4, 2600, REQUEST_ABORTED, 0);
    expect(figures(0)->requests[REQUEST_FINISHED], 1, 1400);
    expect(figures(0)->requests[REQUEST_ABORTED], 1, 1000); /* without an iteration, of the only engine */
    expect(figures(0)->queue, 1, 900);
}

static void test_unknown_times(void **state)
{
    request_at(2, UNSAMPLED, UNKNOWN, 300); /* then it begins when it was reported */
    request_at(4, UNSAMPLED, UNKNOWN, UNKNOWN);
    request_at(6, UNSAMPLED, 9000, 300); /* another clock */
    work(2, REQUEST_PREFILL, 20, 1000, 2000);
    work(4, REQUEST_PREFILL, 20, UNKNOWN, 3000);
    work(6, REQUEST_PREFILL, 20, 3000, 4000);
    request(8, UNSAMPLED);
    work(8, REQUEST_PREFILL, 20, UNKNOWN, 4500);
    end_as(2, 5000, REQUEST_FINISHED, 1);
    end_as(4, 5000, REQUEST_FINISHED, 1);
    end_as(6, UNKNOWN, REQUEST_FAILED, 1);
    expect(figures(0)->requests[REQUEST_FINISHED], 1, 1700);
    expect(figures(0)->requests[REQUEST_FAILED], 0, 0);
    expect(figures(0)->queue, 2, 700);
    expect(figures(0)->per_token, 0, 0); /* of one token */
    expect(figures(0)->iterations[ITERATION_FORWARD], 2, 2000);
    assert_int_equal(figures(0)->active, 1);
}

static void test_engines_and_kinds_have_their_own(void **state)
{
    work(2, REQUEST_DECODE, 1, 1000, 2000);
    kind = ITERATION_DUMMY;
    work(2, REQUEST_DECODE, 1, 2000, 4000);
    rank = 1;
    work(2, REQUEST_DECODE, 1, 4000, 7000);
    engine = "other";
    work(2, REQUEST_DECODE, 1, 7000, 11000);
    expect(figures(0)->iterations[ITERATION_FORWARD], 1, 1000);
    expect(figures(0)->iterations[ITERATION_DUMMY], 1, 2000);
    expect(figures(1)->iterations[ITERATION_DUMMY], 1, 3000);
    assert_int_equal(figures(1)->rank, 1);
    expect(figures(2)->iterations[ITERATION_DUMMY], 1, 4000);
    assert_string_equal(figures(2)->name, "other");
    assert_false(figures(3)->is_used);
}

static void test_engines_beyond_the_maximum_are_one(void **state)
{
    char name[8];
    for (unsigned i = 0; i < LIVE_STATS_ENGINES_MAX + 3; i++) {
        snprintf(name, sizeof name, "e%u", i);
        engine = name;
        work(2, REQUEST_DECODE, 1, 1000 * (i + 1), 1000 * (i + 1) + 500);
    }
    request(2, UNSAMPLED); /* of which engine is unknown */
    end_as(2, 8100, REQUEST_ABORTED, 0);
    for (unsigned i = 0; i < LIVE_STATS_ENGINES_MAX; i++)
        expect(figures(i)->iterations[ITERATION_FORWARD], 1, 500);
    const struct engine_figures *others = figures(LIVE_STATS_ENGINES_MAX);
    assert_true(others->is_others && others->is_used);
    expect(others->iterations[ITERATION_FORWARD], 3, 1500);
    expect(others->requests[REQUEST_ABORTED], 1, 8000);
}

static void test_requests_beyond_the_maximum_are_missing(void **state)
{
    for (uint64_t number = 2; number <= 2 * (ENGINE_REQUESTS_MAX + 2); number += 2)
        request(number, UNSAMPLED);
    work(2 * ENGINE_REQUESTS_MAX, REQUEST_PREFILL, 20, 1000, 2000);
    work(2 * (ENGINE_REQUESTS_MAX + 1), REQUEST_PREFILL, 20, 2000, 3000);
    assert_int_equal(figures(0)->active, 1);
    assert_int_equal(figures(0)->tokens[REQUEST_PREFILL], 40);
    for (uint64_t number = 2; number <= 2 * (ENGINE_REQUESTS_MAX + 2); number += 2)
        end_as(number, 4000, REQUEST_ABORTED, 0);
    expect(figures(0)->requests[REQUEST_ABORTED], ENGINE_REQUESTS_MAX, ENGINE_REQUESTS_MAX * 3900ull);
    assert_int_equal(counter_get(COUNTER_engine_requests_untraced), 2);
}

static void test_preemptions_and_gpu_time(void **state)
{
    struct iteration_part part = {.request = 2, .phase = REQUEST_PREFILL, .tokens = 9, .is_resumed = 1};
    rules.iteration_threshold = UINT64_MAX; /* not sampled */
    begin_iteration(1, 1000, &part, 1);
    launch(1, 1100);
    end_iteration(2000);
    kernel("k", 1, 1200, 2200);
    correlate_finish(correlate);
    assert_int_equal(figures(0)->preemptions, 1);
    assert_int_equal(figures(0)->gpu_ns[ITERATION_FORWARD], 1000);
    assert_int_equal(span_count, 0);
}

static const struct exemplar *exemplar_of(const struct histogram *histogram)
{
    for (unsigned i = 0; i < HISTOGRAM_EXEMPLARS; i++)
        if (histogram->exemplars[i].time_ns)
            return &histogram->exemplars[i];
    return NULL;
}

static void test_exemplars_are_spans_that_are_sent(void **state)
{
    serve(4, SAMPLED);
    end_as(4, 6000, REQUEST_FINISHED, 3);
    correlate_finish(correlate);
    const struct kept *sent = only("vllm request");
    const struct exemplar *exemplar = exemplar_of(figures(0)->requests[REQUEST_FINISHED]);
    assert_memory_equal(exemplar->trace_id, sent->span.trace_id, 16);
    assert_memory_equal(exemplar->span_id, sent->span.span_id, 8);
    exemplar = exemplar_of(figures(0)->iterations[ITERATION_FORWARD]);
    bool is_found = false;
    for (uint32_t i = 0; i < span_count; i++)
        is_found |= strcmp(spans[i].name, "rank 0") == 0 &&
                    memcmp(spans[i].span.span_id, exemplar->span_id, 8) == 0 &&
                    memcmp(spans[i].span.trace_id, exemplar->trace_id, 16) == 0;
    assert_true(is_found);
    correlate_begin_interval(correlate, false);
    assert_null(exemplar_of(figures(0)->iterations[ITERATION_FORWARD]));
    expect(figures(0)->requests[REQUEST_FINISHED], 1, 4900);
}

static void test_nothing_is_sent_without_an_output(void **state)
{
    settings.output_count = 0;
    work(2, REQUEST_DECODE, 1, 1000, 2000);
    assert_null(exemplar_of(figures(0)->iterations[ITERATION_FORWARD]));
}

static void test_a_delta_begins_anew(void **state)
{
    serve(2, UNSAMPLED);
    end_as(2, 6000, REQUEST_FINISHED, 3);
    correlate_begin_interval(correlate, true);
    assert_int_equal(figures(0)->requests[REQUEST_FINISHED]->count, 0);
    assert_int_equal(figures(0)->tokens[REQUEST_DECODE], 2);
}

static void test_without_metrics_nothing_is_measured(void **state)
{
    settings.metrics.is_on = false;
    serve(2, SAMPLED);
    end_as(2, 6000, REQUEST_FINISHED, 3);
    assert_null(correlate_live_stats(correlate)->engines);
}

static void test_without_memory_for_engines_nothing_is_measured(void **state)
{
    settings.memory_bytes_max = SETTINGS_FIXED_BYTES;
    serve(2, SAMPLED);
    end_as(2, 6000, REQUEST_FINISHED, 3);
    assert_null(correlate_live_stats(correlate)->engines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        METRICS_TEST(test_requests_count_sampled_or_not),
        METRICS_TEST(test_failed_and_aborted_requests_have_a_duration_only),
        METRICS_TEST(test_requests_without_an_end_are_not_active_for_ever),
        METRICS_TEST(test_the_last_chunk_of_the_prompt_brings_the_first_token),
        METRICS_TEST(test_a_request_may_end_in_its_iteration),
        METRICS_TEST(test_the_prompt_may_have_been_computed_elsewhere),
        METRICS_TEST(test_no_tokens_no_first_token),
        METRICS_TEST(test_a_request_counts_once),
        METRICS_TEST(test_a_place_is_used_again),
        METRICS_TEST(test_unknown_times),
        METRICS_TEST(test_engines_and_kinds_have_their_own),
        METRICS_TEST(test_engines_beyond_the_maximum_are_one),
        METRICS_TEST(test_requests_beyond_the_maximum_are_missing),
        METRICS_TEST(test_preemptions_and_gpu_time),
        METRICS_TEST(test_exemplars_are_spans_that_are_sent),
        METRICS_TEST(test_nothing_is_sent_without_an_output),
        METRICS_TEST(test_a_delta_begins_anew),
        METRICS_TEST(test_without_metrics_nothing_is_measured),
        METRICS_TEST(test_without_memory_for_engines_nothing_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
