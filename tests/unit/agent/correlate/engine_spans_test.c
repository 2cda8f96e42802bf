/* Tests the spans of serving engines: iterations, their ranks, requests, and the links between them. */
#include "support/correlate_harness.h"

#include "agent/correlate/engine_spans.h"
#include "agent/correlate/session_spans.h"
#include "agent/correlate/thread_events.h"
#include "agent/correlate/trace/steps.h"

#include <stdlib.h>

#define SEED 11

static struct step_rules rules;
static unsigned released;
static uint64_t clock_ns;

static void release_hold(void)
{
    released++;
}

static uint64_t moved_clock(void)
{
    return clock_ns;
}

static void begin_engine(uint64_t threshold)
{
    released = 0;
    rules = (struct step_rules){.own = 9, .rank = -1, .world_size = -1, .iteration_threshold = threshold};
    settings.memory_bytes_max = 64 << 20;
    struct correlate_options options = usual_options();
    options.steps = &rules;
    options.release_hold = release_hold;
    begin_as(&options);
}

static void request_with(uint64_t number, const char *id, uint8_t trace, uint8_t flags, const char *headers,
                         uint32_t header_bytes)
{
    struct engine_event *event = calloc(1, sizeof *event + header_bytes);
    event->type = ENGINE_REQUEST;
    event->request = (struct engine_request){.number = number,
                                             .flags = flags,
                                             .arrived_ns = BASE_NS + 100,
                                             .prompt_tokens = 30,
                                             .cached_tokens = 10,
                                             .header_bytes = header_bytes};
    memset(event->request.context, trace, 24 * (trace != 0));
    snprintf(event->request.id, sizeof event->request.id, "%s", id);
    memcpy(engine_event_headers(event), headers, header_bytes);
    engine_spans_note(correlate, event, BASE_NS + 100);
    free(event);
}

static void request(uint64_t number, const char *id, uint8_t trace, uint8_t flags)
{
    request_with(number, id, trace, flags, "", 0);
}

static void end_request_as(uint64_t number, uint64_t time, uint32_t reason, uint32_t tokens)
{
    struct engine_event event = {.type = ENGINE_REQUEST_END, .bytes = sizeof event};
    event.end = (struct engine_request_end){.number = number, .reason = reason, .tokens = tokens};
    engine_spans_note(correlate, &event, BASE_NS + time);
}

static void iteration_on(int32_t rank, int64_t number, uint64_t time, const struct iteration_part *parts,
                         uint32_t count)
{
    struct engine_event *event = calloc(1, sizeof *event + count * sizeof *parts);
    event->type = ENGINE_ITERATION;
    event->bytes = sizeof *event + count * sizeof *parts;
    event->iteration = (struct iteration){.seed = SEED,
                                          .number = number,
                                          .engine = "vllm",
                                          .rank = rank,
                                          .ranks = 2,
                                          .requests = count,
                                          .part_count = count};
    if (count)
        memcpy(event->parts, parts, count * sizeof *parts);
    struct step_boundary at = {.time = BASE_NS + time, .kind = STEP_NONE, .event = event};
    session_spans_step(correlate, &at);
    assert_null(at.event);
}

static void iteration(int64_t number, uint64_t time, const struct iteration_part *parts, uint32_t count)
{
    iteration_on(0, number, time, parts, count);
}

static void end_iteration(uint64_t time)
{
    struct step_boundary at = {.time = BASE_NS + time, .kind = STEP_NONE, .source = STEP_BY_NONE};
    session_spans_step(correlate, &at);
}

static void want_summary_on(int32_t rank, int64_t number)
{
    struct engine_event event = {.type = ENGINE_SUMMARY, .bytes = sizeof event};
    event.iteration =
        (struct iteration){.seed = SEED, .number = number, .engine = "vllm", .rank = rank, .ranks = 2};
    engine_spans_note(correlate, &event, BASE_NS + 9000);
}

static void want_summary(int64_t number)
{
    want_summary_on(0, number);
}

static struct iteration_part part(uint64_t request, uint16_t phase, uint32_t tokens)
{
    return (struct iteration_part){.request = request, .phase = phase, .tokens = tokens};
}

/* The prefill of two requests, then a decode of both, with a kernel each. */
static void serve(void)
{
    struct iteration_part first[] = {part(2, REQUEST_PREFILL, 20), part(4, REQUEST_PREFILL, 60)};
    struct iteration_part second[] = {part(2, REQUEST_DECODE, 1), part(4, REQUEST_DECODE, 1)};
    request(2, "r1", 1, 1);
    request(4, "r2", 2, 1);
    iteration(1, 1000, first, 2);
    launch(1, 1100);
    end_iteration(2000);
    iteration(2, 3000, second, 2);
    launch(2, 3100);
    end_iteration(4000);
    end_request_as(2, 4100, REQUEST_FINISHED, 2);
    kernel("prefill", 1, 1200, 2200);
    kernel("decode", 2, 3200, 3400);
}

static const struct kept *request_span(uint8_t trace)
{
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, "vllm request") == 0 && spans[i].span.trace_id[0] == trace)
            return &spans[i];
    fail_msg("no request of trace %d", trace);
    return NULL;
}

/* The span of rank 0 in the iteration's trace. */
static const struct kept *rank_of(int64_t number)
{
    struct step_identity identity = iteration_identify(SEED, number);
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, "rank 0") == 0 &&
            memcmp(spans[i].span.trace_id, identity.trace_id, 16) == 0)
            return &spans[i];
    fail_msg("iteration %d has no rank", (int)number);
    return NULL;
}

static bool has_link(const struct kept *from, const struct kept *to)
{
    for (uint32_t i = 0; i < from->span.link_count; i++)
        if (memcmp(from->links[i].trace_id, to->span.trace_id, 16) == 0 &&
            memcmp(from->links[i].span_id, to->span.span_id, 8) == 0)
            return true;
    return false;
}

static void test_iteration_is_a_trace_with_its_rank_and_calls(void **state)
{
    begin_engine(0);
    serve();
    correlate_finish(correlate);
    const struct kept *root = only("iteration 1");
    struct step_identity identity = iteration_identify(SEED, 1);
    assert_memory_equal(root->span.trace_id, identity.trace_id, 16);
    assert_memory_equal(root->span.span_id, identity.span_id, 8);
    expect_text(root, "engine.iteration.kind", "forward");
    assert_int_equal(attr_int(root, "engine.iteration.requests"), 2);
    assert_int_equal(attr_int(root, "engine.iteration.prefill_tokens"), 80);
    assert_int_equal(attr_int(root, "engine.iteration.decode_tokens"), 0);
    const struct kept *rank = rank_of(1);
    expect_child(rank, root);
    expect_text(rank, "engine.name", "vllm"); /* that of the root was freed */
    assert_int_equal(rank->span.start_ns, BASE_NS + 1000);
    assert_int_equal(rank->span.end_ns, BASE_NS + 2200); /* with its GPU work */
    assert_int_equal(attr_int(rank, "cuda.total.kernels"), 1);
    assert_memory_equal(only("prefill")->span.trace_id, identity.trace_id, 16);
}

static void test_request_has_its_times_tokens_and_shares(void **state)
{
    begin_engine(0);
    serve();
    correlate_finish(correlate);
    const struct kept *first = request_span(1);
    assert_int_equal(first->span.start_ns, BASE_NS + 1000);
    assert_int_equal(first->span.end_ns, BASE_NS + 4000); /* of its last iteration */
    assert_int_equal(first->span.parent_span_id[0], 1);
    expect_text(first, "gen_ai.request.id", "r1");
    expect_text(first, "engine.request.end", "finished");
    assert_int_equal(attr_int(first, "engine.request.queue_time"), 900);
    assert_int_equal(attr_int(first, "engine.request.prefill_time"), 1000);
    assert_int_equal(attr_int(first, "engine.request.decode_time"), 2000);
    assert_int_equal(attr_int(first, "engine.request.time_per_output_token"), 2000);
    assert_int_equal(attr_int(first, "engine.request.prefill_tokens"), 20);
    assert_int_equal(attr_int(first, "engine.request.decode_tokens"), 1);
    assert_int_equal(attr_int(first, "engine.request.cached_tokens"), 10);
    assert_int_equal(attr_int(first, "engine.request.iterations"), 2);
    assert_int_equal(attr_int(first, "engine.request.iterations_measured"), 2);
    assert_int_equal(attr_int(first, "engine.request.iteration_time"), 2000);
    assert_int_equal(attr_int(first, "engine.request.gpu_time"), 1200);
    assert_int_equal(attr_int(first, "engine.request.gpu_share.prefill"), 250); /* 20 of 80 tokens */
    assert_int_equal(attr_int(first, "engine.request.gpu_share.decode"), 100);
    expect_text(request_span(2), "engine.request.end", "unfinished");
    assert_int_equal(attr_int(request_span(2), "engine.request.gpu_share.prefill"), 750);
}

static void test_links_lead_both_ways(void **state)
{
    begin_engine(0);
    serve();
    correlate_finish(correlate);
    for (uint8_t trace = 1; trace <= 2; trace++) {
        assert_true(has_link(request_span(trace), only("iteration 1")));
        assert_true(has_link(request_span(trace), only("iteration 2")));
        assert_true(has_link(rank_of(1), request_span(trace)));
        assert_true(has_link(rank_of(2), request_span(trace)));
    }
    assert_int_equal(only("iteration 1")->span.link_count, 0);
    assert_int_equal(rank_of(1)->span.link_count, 2);
}

/* All links to requests precede the one to the process, which an exporter with a limit of 128 drops. */
static void test_links_of_a_large_iteration(void **state)
{
    static struct iteration_part parts[130];
    parent = (struct trace_context){.trace_id = {0x55}, .span_id = {0x66}, .flags = TRACE_FLAG_SAMPLED};
    begin_engine(0);
    for (uint32_t i = 0; i < 130; i++) {
        request(2 * i + 2, "r", (uint8_t)(i + 1), 1);
        parts[i] = part(2 * i + 2, REQUEST_DECODE, 1);
    }
    iteration(1, 1000, parts, 130);
    end_iteration(2000);
    correlate_finish(correlate);
    const struct kept *rank = rank_of(1);
    assert_int_equal(rank->span.link_count, 129);
    for (uint8_t trace = 1; trace <= 128; trace++)
        assert_true(has_link(rank, request_span(trace)));
    assert_memory_equal(rank->links[128].trace_id, parent.trace_id, 16);
    assert_int_equal(attr_int(only("iteration 1"), "engine.iteration.links_left_out"), 2);
}

static void test_iterations_that_are_not_sampled_still_count(void **state)
{
    begin_engine(1ull << 56);
    serve();
    correlate_finish(correlate);
    assert_int_equal(span_count, 2);
    assert_int_equal(request_span(1)->span.link_count, 0);
    assert_int_equal(attr_int(request_span(1), "engine.request.iterations_recorded"), 0);
    assert_int_equal(attr_int(request_span(1), "engine.request.gpu_time"), 1200);
    assert_int_equal(attr_int(request_span(1), "engine.request.gpu_share.prefill"), 250);
}

static void test_requests_that_are_not_sampled_have_no_span_and_no_link(void **state)
{
    struct iteration_part parts[] = {part(2, REQUEST_PREFILL, 5), part(4, REQUEST_DECODE, 3)};
    begin_engine(0);
    request(2, "r1", 1, 0);
    request(4, "r2", 2, 1);
    iteration(7, 1000, parts, 2);
    end_iteration(2000);
    end_request_as(2, 2100, REQUEST_FINISHED, 1);
    end_request_as(4, 2100, REQUEST_ABORTED, 3);
    correlate_finish(correlate);
    assert_int_equal(rank_of(7)->span.link_count, 1);
    assert_true(has_link(rank_of(7), only("vllm request")));
    expect_text(only("vllm request"), "engine.request.end", "aborted");
    assert_int_equal(attr(only("iteration 7"), "engine.iteration.parts")->len, 2); /* both are seen */
}

static void test_other_ranks_send_their_span_only(void **state)
{
    begin_engine(0);
    iteration_on(1, 5, 1000, NULL, 0);
    launch(1, 1100);
    end_iteration(2000);
    kernel("work", 1, 1200, 1300);
    correlate_finish(correlate);
    struct step_identity identity = iteration_identify(SEED, 5);
    const struct kept *rank = only("rank 1");
    assert_memory_equal(rank->span.trace_id, identity.trace_id, 16);
    assert_memory_equal(rank->span.parent_span_id, identity.span_id, 8);
    assert_int_equal(span_count, 3);
}

static void test_work_between_iterations_belongs_to_the_session(void **state)
{
    begin_engine(0);
    iteration(1, 1000, NULL, 0);
    end_iteration(2000);
    launch(1, 2100);
    correlate_finish(correlate);
    expect_child(only("cudaLaunchKernel"), only("program"));
}

static void test_request_ends_when_its_last_gpu_work_is_known(void **state)
{
    struct iteration_part one = part(2, REQUEST_PREFILL, 4);
    begin_engine(0);
    request(2, "r1", 1, 1);
    iteration(1, 1000, &one, 1);
    launch(1, 1100);
    end_iteration(1200);
    end_request_as(2, 1300, REQUEST_FINISHED, 1);
    for (int i = 0; i < 3; i++)
        tick_after(20);
    assert_int_equal(span_count, 1); /* the call */
    kernel("late", 1, 5000, 6000);
    tick_after(20);
    assert_int_equal(attr_int(only("vllm request"), "engine.request.gpu_share.prefill"), 1000);
}

static void attach_iteration(int64_t number, uint64_t time)
{
    struct context_record attached = {.time_ns = BASE_NS + time, .flags = 1};
    memcpy(attached.trace_id, iteration_identify(SEED, number).trace_id, 16);
    iteration_rank_span(SEED, number, 0, attached.span_id);
    thread_events_context(correlate, &thread, &attached);
}

static void test_a_thread_can_work_for_another_iteration(void **state)
{
    struct iteration_part one = part(2, REQUEST_PREFILL, 4);
    begin_engine(0);
    request(2, "r1", 1, 1);
    iteration(1, 1000, &one, 1);
    attach_iteration(1, 1050);
    struct step_identity identity = iteration_identify(SEED, 1);
    end_iteration(1100);
    iteration(2, 1200, NULL, 0);
    launch(1, 1300);
    kernel("copy", 1, 1400, 1500);
    correlate_finish(correlate);
    assert_memory_equal(only("cudaLaunchKernel")->span.trace_id, identity.trace_id, 16);
    assert_int_equal(attr_int(request_span(1), "engine.request.gpu_time"), 100);
}

/* Serves an iteration, sampled or not, with or without a call in it. The thread copies its results after it,
 * before and after the time in which this counts. */
static void copy_results_late(uint64_t threshold, bool has_call)
{
    struct iteration_part one = part(2, REQUEST_PREFILL, 4);
    begin_engine(threshold);
    clock_source = moved_clock;
    clock_ns = BASE_NS + 2000;
    request(2, "r1", 1, 1);
    iteration(1, 1000, &one, 1);
    if (has_call)
        call_full(CALL_RUNTIME, "cudaStreamSynchronize", 9, 1100, 1200, 0);
    end_iteration(2000);
    for (int i = 0; i < 3; i++)
        tick_after(20); /* rounds of a slow machine: little of the program's time passes */
    uint64_t last = 2000 + STEPS_GRACE_NS;
    attach_iteration(1, last - 110);
    launch(1, last - 100); /* returns at `last` */
    launch(2, last - 90);
    attach_iteration(1, last + 20);
    launch(3, last + 30);
    struct context_record none = {.time_ns = BASE_NS + last + 140};
    thread_events_context(correlate, &thread, &none);
    call_full(CALL_RUNTIME, "cudaLaunchKernel", 4, 1500, last + 200, 0);
    for (uint32_t id = 1; id <= 4; id++)
        kernel("copy", id, last + 1000 * id, last + 1000 * id + (1u << id));
    end_request_as(2, 30000, REQUEST_FINISHED, 1);
    assert_int_equal(counter_get(COUNTER_engine_request_spans), 0); /* the iteration is open */
    clock_ns = BASE_NS + last + 1;
    for (int i = 0; i < 3; i++)
        tick_after(20);
    assert_int_equal(attr_int(request_span(1), "engine.request.gpu_time"), 2);
}

static void expect_late_copies(bool has_call)
{
    copy_results_late(0, has_call);
    const struct kept *rank = rank_of(1);
    assert_int_equal(attr_int(rank, "cuda.total.calls"), 1 + has_call);
    assert_int_equal(rank->span.end_ns, BASE_NS + 2000 + STEPS_GRACE_NS + 1000 + 2); /* of the first copy */
    unsigned calls = 0;
    for (uint32_t i = 0; i < span_count; i++)
        calls += strcmp(spans[i].name, "cudaLaunchKernel") == 0 &&
                 memcmp(spans[i].span.trace_id, rank->span.trace_id, 16) == 0;
    assert_int_equal(calls, 4); /* all are in the trace */
}

static void test_work_for_an_iteration_counts_shortly_after_it(void **state)
{
    expect_late_copies(true);
}

static void test_work_for_an_iteration_without_calls_counts_shortly_after_it(void **state)
{
    expect_late_copies(false);
}

static void test_work_for_an_unsampled_iteration_counts_shortly_after_it(void **state)
{
    copy_results_late(UINT64_MAX, true);
}

static void test_ids_and_neighbors_follow_the_settings(void **state)
{
    struct iteration_part one = part(2, REQUEST_PREFILL, 4);
    settings.engine.request_ids = REQUEST_IDS_HASH;
    settings.engine.neighbors = NEIGHBORS_COUNTS;
    begin_engine(0);
    request(2, "ann@example", 1, 1);
    iteration(1, 1000, &one, 1);
    end_iteration(1100);
    correlate_finish(correlate);
    assert_int_equal(attr(request_span(1), "gen_ai.request.id")->len, 16);
    assert_null(attr(only("iteration 1"), "engine.iteration.parts"));
    assert_int_equal(rank_of(1)->span.link_count, 0);
    assert_int_equal(attr_int(only("iteration 1"), "engine.iteration.requests"), 1);
}

static void test_ids_are_sanitized(void **state)
{
    begin_engine(0);
    request(2, "a\x1b[31m\xff b", 1, 1);
    end_request_as(2, 2000, REQUEST_ABORTED, 0);
    const struct kept *span = only("engine request");
    expect_text(span, "gen_ai.request.id", "a?[31m??b");
    assert_null(attr(span, "engine.request.queue_time"));
}

static void test_headers_are_attributes(void **state)
{
    static const char headers[] = "x-tenant\0a b\0x-empty\0"; /* and its NUL */
    begin_engine(0);
    request_with(2, "r1", 1, 1, headers, sizeof headers);
    end_request_as(2, 2000, REQUEST_FINISHED, 1);
    const struct kept *span = only("engine request");
    const struct span_attr *tenant = attr(span, "engine.request.header.x-tenant");
    assert_int_equal(tenant->len, 3);
    assert_int_equal(attr(span, "engine.request.header.x-empty")->len, 0);
    assert_int_equal(counter_get(COUNTER_engine_headers_lost), 0);
}

static void test_headers_have_a_limit(void **state)
{
    static char headers[512] = "x";
    memset(headers + 2, 'v', sizeof headers - 3);
    begin_engine(0);
    for (uint64_t round = 0; round < 2; round++) { /* what ended makes room */
        for (uint64_t number = 1; number <= 130; number++)
            request_with(2 * number, "r", 1, 1, headers, sizeof headers);
        assert_int_equal(counter_get(COUNTER_engine_headers_lost), 2 * (round + 1));
        for (uint64_t number = 1; number <= 130; number++)
            end_request_as(2 * number, 2000, REQUEST_FINISHED, 1);
    }
    unsigned with = 0;
    for (uint32_t i = 0; i < span_count; i++)
        with += attr(&spans[i], "engine.request.header.x") != NULL;
    assert_int_equal(with, 256);
}

static void test_requests_without_a_context_have_a_trace(void **state)
{
    begin_engine(0);
    request(2, "r1", 0, 0);
    request(4, "r2", 0, 0);
    end_request_as(2, 2000, REQUEST_FINISHED, 1);
    end_request_as(4, 2000, REQUEST_FAILED, 0);
    static const uint8_t none[8];
    assert_int_equal(span_count, 2);
    assert_memory_equal(spans[0].span.parent_span_id, none, 8);
    assert_memory_not_equal(spans[0].span.trace_id, spans[1].span.trace_id, 16);
    assert_int_equal(spans[1].span.status, SPAN_STATUS_ERROR);
}

static void test_preemptions_and_drafts_are_counted(void **state)
{
    struct iteration_part parts[] = {{.request = 2, .phase = REQUEST_PREFILL, .tokens = 9, .is_resumed = 1},
                                     {.request = 4, .phase = REQUEST_DECODE, .tokens = 4, .drafts = 3}};
    begin_engine(0);
    request(2, "r1", 1, 1);
    request(4, "r2", 2, 1);
    iteration(1, 1000, parts, 2);
    end_iteration(2000);
    correlate_finish(correlate);
    assert_int_equal(attr_int(request_span(1), "engine.request.preemptions"), 1);
    assert_int_equal(attr_int(request_span(2), "engine.request.drafts"), 3);
}

static void test_iterations_do_not_cut_the_session_or_a_step(void **state)
{
    begin_engine(0);
    launch(1, 500);
    for (int64_t number = 1; number < 20; number++) {
        iteration(number, 1000 * (uint64_t)number, NULL, 0);
        end_iteration(1000 * (uint64_t)number + 500);
    }
    launch(2, 30000);
    correlate_finish(correlate);
    only("program"); /* one session */
}

/* Boundaries arrive at once, and the calls of a round after all of them. */
static void test_many_iterations_in_one_round(void **state)
{
    struct iteration_part one = part(2, REQUEST_DECODE, 1);
    begin_engine(0);
    request(2, "r1", 1, 1);
    for (uint64_t number = 1; number <= 20; number++) {
        iteration((int64_t)number, 1000 * number, &one, 1);
        end_iteration(1000 * number + 500);
    }
    for (uint32_t number = 1; number <= 20; number++)
        launch(number, 1000 * number + 100);
    for (uint32_t number = 1; number <= 20; number++)
        kernel("decode", number, 1000 * number + 200, 1000 * number + 300);
    end_request_as(2, 30000, REQUEST_FINISHED, 20);
    correlate_finish(correlate);
    unsigned ranks = 0;
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, "rank 0") == 0) {
            assert_int_equal(attr_int(&spans[i], "cuda.total.kernels"), 1);
            ranks++;
        }
    assert_int_equal(ranks, 20);
    assert_int_equal(attr_int(request_span(1), "engine.request.gpu_time"), 2000);
}

static void test_without_memory_there_are_no_spans(void **state)
{
    begin_engine(0);
    settings.memory_bytes_max = SETTINGS_FIXED_BYTES;
    serve();
    correlate_finish(correlate);
    assert_int_equal(counter_get(COUNTER_iterations), 2);
    for (uint32_t i = 0; i < span_count; i++)
        assert_null(attr(&spans[i], "engine.name"));
}

static void test_an_iteration_without_calls_has_its_spans(void **state)
{
    begin_engine(0);
    iteration(1, 1000, NULL, 0);
    end_iteration(2500);
    correlate_finish(correlate);
    assert_int_equal(span_count, 2);
    assert_int_equal(only("iteration 1")->span.end_ns, BASE_NS + 2500);
    assert_int_equal(only("rank 0")->span.start_ns, BASE_NS + 1000);
}

/* Two requests prefill, and the GPU's work is known, but nothing was recorded. */
static void serve_unrecorded(void)
{
    struct iteration_part parts[] = {part(2, REQUEST_PREFILL, 20), part(4, REQUEST_PREFILL, 60)};
    request(2, "r1", 1, 1);
    request(4, "r2", 2, 1);
    iteration(1, 1000, parts, 2);
    launch(1, 1100);
    end_iteration(2000);
}

static void complete(void)
{
    kernel("prefill", 1, 1200, 2200);
    for (int i = 0; i < 3; i++)
        tick_after(20);
}

static void expect_summary_of_first(void)
{
    const struct kept *root = only("iteration 1"), *rank = only("rank 0");
    struct step_identity identity = iteration_identify(SEED, 1);
    uint8_t rank_id[8];
    iteration_rank_span(SEED, 1, 0, rank_id);
    assert_memory_equal(root->span.trace_id, identity.trace_id, 16);
    assert_memory_equal(root->span.span_id, identity.span_id, 8);
    expect_child(rank, root);
    assert_memory_equal(rank->span.span_id, rank_id, 8);
    assert_int_equal(attr_int(root, "engine.iteration.summary"), 1);
    assert_int_equal(attr_int(rank, "engine.iteration.summary"), 1);
    expect_text(root, "engine.name", "vllm");
    expect_text(rank, "engine.name", "vllm");
    assert_int_equal(attr_int(root, "engine.iteration.prefill_tokens"), 80);
    assert_int_equal(attr_int(root, "engine.iteration.requests"), 2);
    assert_int_equal(root->span.start_ns, BASE_NS + 1000);
    assert_int_equal(rank->span.end_ns, BASE_NS + 2200); /* with its GPU work */
    assert_int_equal(root->span.link_count, 0);
    assert_int_equal(rank->span.link_count, 2);
    assert_int_equal(attr_int(rank, "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(rank, "cuda.total.gpu_time"), 1000);
    assert_int_equal(attr(rank, "cuda.total.slowest.kernels")->len, 1);
}

static void test_a_summary_is_sent_afterwards_and_linked(void **state)
{
    begin_engine(1ull << 56);
    serve_unrecorded();
    complete();
    want_summary(1);
    want_summary(1); /* once */
    end_request_as(2, 9100, REQUEST_FINISHED, 1);
    end_request_as(4, 9100, REQUEST_FINISHED, 1);
    correlate_finish(correlate);
    assert_int_equal(span_count, 4);
    expect_summary_of_first();
    assert_int_equal(attr(only("iteration 1"), "engine.iteration.parts")->len, 2);
    for (uint8_t trace = 1; trace <= 2; trace++) {
        assert_true(has_link(request_span(trace), only("iteration 1")));
        assert_true(has_link(rank_of(1), request_span(trace)));
        assert_int_equal(attr_int(request_span(trace), "engine.request.iterations_recorded"), 1);
    }
    assert_int_equal(counter_get(COUNTER_iteration_summaries), 1);
    assert_int_equal(counter_get(COUNTER_iteration_summaries_gone), 0);
}

/* It is wanted, and its requests end, before its GPU records arrive. */
static void test_a_summary_waits_until_the_iteration_is_complete(void **state)
{
    begin_engine(1ull << 56);
    serve_unrecorded();
    want_summary(1);
    end_request_as(2, 2100, REQUEST_FINISHED, 1);
    end_request_as(4, 2100, REQUEST_FINISHED, 1);
    assert_int_equal(span_count, 0);
    complete();
    assert_int_equal(span_count, 4);
    expect_summary_of_first();
    for (uint8_t trace = 1; trace <= 2; trace++) {
        assert_true(has_link(request_span(trace), only("iteration 1")));
        assert_true(has_link(rank_of(1), request_span(trace)));
    }
}

static void test_a_recorded_iteration_has_no_summary(void **state)
{
    begin_engine(0);
    serve();
    want_summary(1);
    correlate_finish(correlate);
    assert_null(attr(only("iteration 1"), "engine.iteration.summary"));
    assert_int_equal(counter_get(COUNTER_iteration_summaries), 0);
    assert_int_equal(counter_get(COUNTER_iteration_summaries_gone), 0);
}

static void test_a_summary_that_is_gone_is_counted_and_not_linked(void **state)
{
    begin_engine(1ull << 56);
    serve_unrecorded();
    complete();
    for (int64_t number = 2; number < 1000; number++) {
        iteration(number, 10000 * (uint64_t)number, NULL, 0);
        end_iteration(10000 * (uint64_t)number + 100);
        tick_after(20);
    }
    want_summary(1);
    want_summary(1000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 2);
    assert_int_equal(request_span(1)->span.link_count, 0);
    assert_int_equal(counter_get(COUNTER_iteration_summaries_gone), 2);
}

/* The entry of a request that has ended may have another one, which did not take part. */
static void test_a_summary_links_to_no_later_request(void **state)
{
    begin_engine(1ull << 56);
    serve_unrecorded();
    complete();
    end_request_as(2, 9000, REQUEST_FINISHED, 1);
    struct iteration_part later = part(6, REQUEST_PREFILL, 5);
    request(6, "r3", 3, 1);
    iteration(2, 10000, &later, 1);
    end_iteration(11000);
    tick_after(20);
    want_summary(1);
    correlate_finish(correlate);
    assert_int_equal(rank_of(1)->span.link_count, 1);
    assert_true(has_link(rank_of(1), request_span(2)));
    assert_int_equal(request_span(3)->span.link_count, 0);
}

static void test_other_ranks_send_their_part_of_a_summary(void **state)
{
    begin_engine(1ull << 56);
    iteration_on(1, 1, 1000, NULL, 0);
    end_iteration(2000);
    want_summary_on(1, 1);
    correlate_finish(correlate);
    struct step_identity identity = iteration_identify(SEED, 1);
    assert_int_equal(span_count, 1);
    assert_memory_equal(only("rank 1")->span.parent_span_id, identity.span_id, 8);
}

static bool always_slept(uint64_t from_ns, uint64_t until_ns)
{
    return true;
}

static void test_a_summary_says_if_capture_slept(void **state)
{
    begin_engine(1ull << 56);
    struct correlate_options options = usual_options();
    correlate_destroy(correlate);
    options.steps = &rules;
    options.slept_between = always_slept;
    begin_as(&options);
    iteration(1, 1000, NULL, 0);
    end_iteration(2000);
    want_summary(1);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("rank 0"), "cuda.total.incomplete"), 1);
    assert_null(attr(only("rank 0"), "cuda.total.gpu_time"));
}

static void test_a_summary_hides_neighbors_if_asked_to(void **state)
{
    settings.engine.neighbors = NEIGHBORS_COUNTS;
    begin_engine(1ull << 56);
    serve_unrecorded();
    complete();
    want_summary(1);
    correlate_finish(correlate);
    assert_int_equal(rank_of(1)->span.link_count, 0);
    assert_null(attr(only("iteration 1"), "engine.iteration.parts"));
    assert_true(has_link(request_span(1), only("iteration 1")));
}

static void test_a_summary_has_a_limit_of_links(void **state)
{
    static struct iteration_part parts[200];
    begin_engine(1ull << 56);
    for (uint32_t i = 0; i < 200; i++) {
        request(2 * i + 2, "r", (uint8_t)(i + 1), 1);
        parts[i] = part(2 * i + 2, REQUEST_DECODE, 1);
    }
    iteration(1, 1000, parts, 200);
    end_iteration(2000);
    want_summary(1);
    correlate_finish(correlate);
    assert_int_equal(rank_of(1)->span.link_count, 128);
    assert_int_equal(attr_int(only("iteration 1"), "engine.iteration.links_left_out"), 72);
    assert_int_equal(attr_int(only("iteration 1"), "engine.iteration.requests"), 200);
}

#define MINUTES(n) (60 * NS_PER_SECOND * (n))

static void sweep(uint64_t minutes)
{
    engine_spans_sweep(correlate, BASE_NS + MINUTES(minutes));
}

/* The sweep goes by the time of the one before, because later events may be on their way. */
static void test_requests_without_an_end_are_given_up(void **state)
{
    struct iteration_part parts[] = {part(3, REQUEST_PREFILL, 4), part(4, REQUEST_DECODE, 1),
                                     part(8, REQUEST_DECODE, 1)};
    begin_engine(1ull << 56);
    request(3, "lost", 1, 1); /* keeps capture awake */
    request(4, "unsampled", 2, 0);
    request(6, "queued", 3, 1);
    request(8, "busy", 4, 1);
    iteration(1, 1000, parts, 3);
    end_iteration(2000);
    iteration(2, MINUTES(5), &parts[2], 1);
    end_iteration(MINUTES(5) + 1000);
    for (int i = 0; i < 3; i++)
        tick_after(20);
    sweep(11);
    engine_spans_sweep(correlate, BASE_NS + MINUTES(11) + NS_PER_SECOND); /* too early */
    assert_int_equal(span_count, 0);
    sweep(12);
    assert_int_equal(span_count, 2);
    assert_int_equal(counter_get(COUNTER_engine_requests_unfinished), 3);
    assert_int_equal(released, 1);
    expect_text(request_span(1), "engine.request.end", "unfinished");
    assert_int_equal(request_span(1)->span.end_ns, BASE_NS + 2000);
    expect_text(only("engine request"), "gen_ai.request.id", "queued");
    assert_int_equal(only("engine request")->span.start_ns, BASE_NS + NS_PER_SECOND);
    end_request_as(3, MINUTES(12), REQUEST_FINISHED, 9); /* after all */
    end_request_as(8, MINUTES(12), REQUEST_FINISHED, 9);
    correlate_finish(correlate);
    assert_int_equal(span_count, 3);
    expect_text(request_span(4), "engine.request.end", "finished");
}

static void test_requests_in_an_iteration_are_not_given_up(void **state)
{
    struct iteration_part one = part(2, REQUEST_PREFILL, 4);
    begin_engine(1ull << 56);
    request(2, "r1", 1, 1);
    iteration(1, 1000, &one, 1);
    sweep(30);
    sweep(31);
    assert_int_equal(counter_get(COUNTER_engine_requests_unfinished), 0);
    end_iteration(MINUTES(40));
    for (int i = 0; i < 3; i++)
        tick_after(20);
    sweep(41);
    sweep(42);
    assert_int_equal(request_span(1)->span.end_ns, BASE_NS + MINUTES(40));
    assert_int_equal(counter_get(COUNTER_engine_requests_unfinished), 1);
}

static void test_requests_of_unknown_times_are_kept(void **state)
{
    struct engine_event event = {.type = ENGINE_REQUEST, .bytes = sizeof event, .request = {.number = 2}};
    begin_engine(0);
    engine_spans_note(correlate, &event, 0); /* before capture starts */
    sweep(30);
    sweep(31);
    assert_int_equal(counter_get(COUNTER_engine_requests_unfinished), 0);
}

/* Of all requests in progress, ENGINE_REQUESTS_TRACED_MAX have spans. */
static void test_requests_that_are_given_up_make_room(void **state)
{
    begin_engine(0);
    for (uint64_t number = 1; number <= 450; number++)
        request(2 * number, "r", 1, 1);
    assert_int_equal(counter_get(COUNTER_engine_requests_untraced), 2);
    sweep(11);
    sweep(12);
    assert_int_equal(span_count, 448);
    assert_int_equal(counter_get(COUNTER_engine_requests_unfinished), 450);
    request(1000, "r", 9, 1);
    end_request_as(1000, MINUTES(12), REQUEST_FINISHED, 1);
    assert_int_equal(counter_get(COUNTER_engine_requests_untraced), 2);
    assert_int_equal(spans[448].span.trace_id[0], 9);
}

static void test_requests_are_given_up_while_no_event_comes(void **state)
{
    begin_engine(0);
    request(2, "r1", 1, 1);
    clock_source = moved_clock;
    for (uint64_t minutes = 0; minutes < 12; minutes++) {
        clock_ns = BASE_NS + MINUTES(minutes);
        tick_after(20);
        assert_int_equal(span_count, 0);
    }
    clock_ns = BASE_NS + MINUTES(12);
    tick_after(20);
    only("engine request");
}

/* At exit, too, it has a time. */
static void test_requests_without_an_iteration_have_a_time(void **state)
{
    begin_engine(0);
    request(2, "r1", 1, 1);
    correlate_finish(correlate);
    assert_int_equal(only("engine request")->span.start_ns, BASE_NS + NS_PER_SECOND);
    assert_int_equal(counter_get(COUNTER_engine_requests_unfinished), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_iteration_is_a_trace_with_its_rank_and_calls),
        TEST(test_request_has_its_times_tokens_and_shares),
        TEST(test_links_lead_both_ways),
        TEST(test_links_of_a_large_iteration),
        TEST(test_iterations_that_are_not_sampled_still_count),
        TEST(test_requests_that_are_not_sampled_have_no_span_and_no_link),
        TEST(test_other_ranks_send_their_span_only),
        TEST(test_work_between_iterations_belongs_to_the_session),
        TEST(test_request_ends_when_its_last_gpu_work_is_known),
        TEST(test_a_thread_can_work_for_another_iteration),
        TEST(test_work_for_an_iteration_counts_shortly_after_it),
        TEST(test_work_for_an_iteration_without_calls_counts_shortly_after_it),
        TEST(test_work_for_an_unsampled_iteration_counts_shortly_after_it),
        TEST(test_ids_and_neighbors_follow_the_settings),
        TEST(test_ids_are_sanitized),
        TEST(test_requests_without_a_context_have_a_trace),
        TEST(test_headers_are_attributes),
        TEST(test_headers_have_a_limit),
        TEST(test_preemptions_and_drafts_are_counted),
        TEST(test_iterations_do_not_cut_the_session_or_a_step),
        TEST(test_many_iterations_in_one_round),
        TEST(test_an_iteration_without_calls_has_its_spans),
        TEST(test_without_memory_there_are_no_spans),
        TEST(test_a_summary_is_sent_afterwards_and_linked),
        TEST(test_a_summary_waits_until_the_iteration_is_complete),
        TEST(test_a_recorded_iteration_has_no_summary),
        TEST(test_a_summary_that_is_gone_is_counted_and_not_linked),
        TEST(test_a_summary_links_to_no_later_request),
        TEST(test_other_ranks_send_their_part_of_a_summary),
        TEST(test_a_summary_says_if_capture_slept),
        TEST(test_a_summary_hides_neighbors_if_asked_to),
        TEST(test_a_summary_has_a_limit_of_links),
        TEST(test_requests_without_an_end_are_given_up),
        TEST(test_requests_in_an_iteration_are_not_given_up),
        TEST(test_requests_of_unknown_times_are_kept),
        TEST(test_requests_that_are_given_up_make_room),
        TEST(test_requests_are_given_up_while_no_event_comes),
        TEST(test_requests_without_an_iteration_have_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
