#include "support/correlate_harness.h"
#include "support/stderr_text.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/call_spans.h"

static void test_a_kernel_hangs_below_its_call(void **state)
{
    begin();
    launch(1, 1000);
    kernel("_Z3addi", 1, 1500, 1900);
    assert_int_equal(span_count, 2);
    correlate_finish(correlate);
    assert_int_equal(span_count, 3);
    const struct kept *call = only("cudaLaunchKernel"), *work = only("add"), *session = only("program");
    expect_child(call, session);
    expect_child(work, call);
    assert_int_equal(call->span.resource, RESOURCE_PROCESS);
    assert_int_equal(work->span.resource, RESOURCE_DEVICE(0));
    assert_int_equal(work->span.start_ns, BASE_NS + 1500);
    assert_int_equal(work->span.end_ns, BASE_NS + 1900);
    assert_int_equal(work->span.kind, SPAN_KIND_INTERNAL);
    assert_int_equal(work->span.status, SPAN_STATUS_UNSET);
    assert_int_equal(work->span.flags, session->span.flags);
    assert_int_equal(attr_int(work, "cuda.start_delay"), 500);
    expect_text(work, "cuda.kernel.name", "add(int)");
    expect_text(work, "cuda.activity", "kernel");
    assert_int_equal(attr_int(work, "cuda.stream.id"), 7);
    assert_null(attr(work, "cuda.orphan"));
    assert_null(attr(work, "cuda.zero_length"));
    assert_int_equal(call->span.start_ns, BASE_NS + 1000);
    assert_int_equal(call->span.end_ns, BASE_NS + 1100);
    expect_text(call, "cuda.api", "runtime");
    expect_text(call, "thread.name", "main");
    assert_int_equal(attr_int(call, "cuspan.thread.id"), 42);
    assert_int_equal(attr_int(call, "cuda.correlation.id"), 1);
    assert_int_equal(session->span.start_ns, BASE_NS + 1000);
    assert_int_equal(session->span.end_ns, BASE_NS + 1900);
    assert_int_equal(counter_get(COUNTER_spans_created), 3);
    assert_int_equal(counters_lost(), 0);
}

static void test_a_record_may_come_before_its_call(void **state)
{
    begin();
    kernel("early", 5, 1500, 1900);
    assert_int_equal(span_count, 0);
    launch(5, 1000);
    tick_after(20);
    const struct kept *work = only("early");
    expect_child(work, only("cudaLaunchKernel"));
    assert_int_equal(attr_int(work, "cuda.start_delay"), 500);
    assert_int_equal(attr_int(work, "cuda.stream.id"), 7); /* kept with the waiting record */
    assert_int_equal(counter_get(COUNTER_orphans), 0);
    tick_after(1000);
    correlate_finish(correlate);
    only("early");
}

static void test_records_before_the_first_tick_wait_as_long_as_others(void **state)
{
    struct correlate_options options = usual_options();
    begin_before_the_first_tick(&options);
    kernel("early", 5, 1500, 1900);
    tick_after(50);
    assert_int_equal(span_count, 0);
    launch(5, 1000);
    tick_after(20);
    expect_child(only("early"), only("cudaLaunchKernel"));
}

static void test_a_graph_launch_has_many_children(void **state)
{
    begin();
    kernel("node0", 9, 1200, 1300);
    call_full(CALL_RUNTIME, "cudaGraphLaunch", 9, 1000, 1100, 0);
    for (int i = 1; i < 100; i++) {
        static char names[100][16]; /* each name at its own address, as in CUPTI */
        const char *name = names[i];
        snprintf(names[i], sizeof names[i], "node%d", i);
        struct activity_record record = make_kernel(name, 9, 1300 + (uint64_t)i, 1400 + (uint64_t)i);
        record.graph_node_id = (uint64_t)i;
        set_field(&record, "cuda.graph.node.id", (uint64_t)i);
        gpu_join_add(correlate, &record);
        expect_child(only(name), only("cudaGraphLaunch"));
        assert_int_equal(attr_int(only(name), "cuda.graph.node.id"), i);
    }
    tick_after(20);
    expect_child(only("node0"), only("cudaGraphLaunch"));
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

static void graph_event(uint16_t cbid, uint64_t handle, uint32_t nodes, uint64_t original, uint64_t at)
{
    struct resource_record record = {.head = {sizeof record, RECORD_RESOURCE, 0, cbid},
                                     .time_ns = BASE_NS + at,
                                     .handle = handle,
                                     .nodes = nodes,
                                     .original = original};
    call_spans_resource(correlate, &thread, &record);
}

static void launch_graph(uint32_t id, uint64_t start, uint64_t exec)
{
    union {
        struct call_record record;
        uint64_t words[sizeof(struct call_record) / 8 + 2];
    } call = {.record = {.head = {sizeof call, RECORD_CALL, CALL_RUNTIME,
                                  find_call(CALL_RUNTIME, "cudaGraphLaunch")},
                         .start_ns = BASE_NS + start,
                         .end_ns = BASE_NS + start + 100,
                         .correlation_id = id,
                         .present = 3}};
    call.words[sizeof(struct call_record) / 8] = exec;
    call_spans_add(correlate, &thread, &call.record);
}

static void test_a_graph_s_execution_has_its_number_of_nodes(void **state)
{
    begin();
    graph_event(CUPTI_RESOURCE_GRAPHEXEC_CREATED, 0xe0, 6, 0, 500);
    launch_graph(1, 1000, 0xe0);
    launch_graph(2, 2000, 0xe1);
    for (uint32_t id = 1; id <= 2; id++) {
        struct activity_record record = make(ACTIVITY_GRAPH_TRACE, id, 1000 * id + 200, 1000 * id + 300);
        record.graph_node_id = 0;
        gpu_join_add(correlate, &record);
    }
    kernel("beside", 1, 1300, 1400);
    assert_int_equal(attr_int(&spans[2], "cuda.graph.nodes"), 6);
    assert_null(attr(&spans[3], "cuda.graph.nodes"));
    assert_null(attr(only("beside"), "cuda.graph.nodes"));
}

static void test_a_graph_s_node_leads_to_the_call_that_captured_it(void **state)
{
    settings.detail = DETAIL_GRAPH_NODES;
    begin();
    graph_event(CUPTI_RESOURCE_GRAPHNODE_CREATED, 100, 1, 0, 150);
    launch(1, 100);
    graph_event(CUPTI_RESOURCE_GRAPHNODE_CLONED, 500, 1, 100, 250);
    call_full(CALL_RUNTIME, "cudaGraphInstantiate", 2, 200, 300, 0);
    launch_graph(3, 1000, 0xe0);
    for (uint64_t node = 500; node < 502; node++) {
        struct activity_record record = make_kernel(node == 500 ? "known" : "unknown", 3, 1200, 1300);
        record.graph_node_id = node;
        gpu_join_add(correlate, &record);
    }
    const struct kept *node = only("known"), *capture = only("cudaLaunchKernel");
    expect_child(node, only("cudaGraphLaunch"));
    assert_int_equal(node->span.link_count, 1);
    assert_memory_equal(node->links[0].span_id, capture->span.span_id, 8);
    assert_memory_equal(node->links[0].trace_id, capture->span.trace_id, 16);
    assert_int_equal(node->links[0].flags, capture->span.flags);
    assert_string_equal(node->links[0].attr.key->name, "cuda.link");
    assert_string_equal(node->links[0].attr.s, "capture");
    assert_int_equal(only("unknown")->span.link_count, 0);
    assert_int_equal(capture->span.link_count, 0);
    assert_int_equal(counter_get(COUNTER_graph_nodes_unlinked), 1);
    assert_int_equal(counters_lost(), 0);
}

static void run_node(const char *name, uint64_t node)
{
    struct activity_record record = make_kernel(name, 3, 1200, 1300);
    record.graph_node_id = node;
    gpu_join_add(correlate, &record);
}

static void test_a_graph_s_node_has_the_code_that_captured_it(void **state)
{
    settings.detail = DETAIL_GRAPH_NODES;
    settings.capture.launch_stacks = LAUNCH_STACKS_PYTHON;
    begin();
    describe_code(71, 9, CODE_IS_OF_NODES);
    graph_event(CUPTI_RESOURCE_GRAPHNODE_CREATED, 100, 2, 71, 150);
    launch(1, 100);
    graph_event(CUPTI_RESOURCE_GRAPHNODE_CREATED, 102, 1, 72, 180); /* whose text is lost */
    graph_event(CUPTI_RESOURCE_GRAPHNODE_CLONED, 500, 3, 100, 250);
    describe_code(73, 20, 0);
    call_full(CALL_RUNTIME, "cudaGraphInstantiate", 2, 200, 300, 0);
    launch_graph(3, 1000, 0xe0);
    assert_int_equal(counter_get(COUNTER_code_unknown), 1);
    run_node("first", 500);
    run_node("second", 501);
    run_node("lost", 502);
    run_node("unknown", 503);
    const struct kept *first = only("first"), *second = only("second"), *lost = only("lost");
    expect_text(first, "code.stacktrace", "File \"graph.py\", line 9, in capture");
    for (int i = 0; i < 2; i++) {
        expect_text(i ? second : first, "cuspan.stack.id", "0000000000000047");
        expect_text(i ? second : first, "code.file.path", "graph.py");
        expect_text(i ? second : first, "code.function.name", "capture");
        assert_int_equal(attr_int(i ? second : first, "code.line.number"), 9);
        assert_int_equal((i ? second : first)->span.link_count, 1);
    }
    assert_null(attr(second, "code.stacktrace"));
    expect_text(lost, "cuspan.stack.id", "0000000000000048");
    assert_null(attr(lost, "code.file.path"));
    assert_null(attr(only("unknown"), "cuspan.stack.id"));
    assert_null(attr(only("cudaLaunchKernel"), "cuspan.stack.id")); /* not of the call that came next */
    assert_int_equal(attr_int(only("cudaGraphInstantiate"), "code.line.number"), 20);
    assert_null(attr(only("cudaGraphLaunch"), "cuspan.stack.id"));
    settings.capture.launch_stacks = LAUNCH_STACKS_NONE;
}

static void test_the_code_of_a_call_that_fell_asleep_is_of_no_other_call(void **state)
{
    struct call_record asleep = {.correlation_id = 1, .start_ns = 100, .end_ns = 200};
    asleep.head = (struct record_head){sizeof asleep, RECORD_CALL_ASLEEP, CALL_RUNTIME,
                                       find_call(CALL_RUNTIME, "cudaLaunchKernel")};
    settings.capture.launch_stacks = LAUNCH_STACKS_PYTHON;
    begin();
    describe_code(71, 9, 0);
    call_spans_add_asleep(correlate, &thread, &asleep);
    launch(2, 1000);
    assert_null(attr(only("cudaLaunchKernel"), "cuspan.stack.id"));
    settings.capture.launch_stacks = LAUNCH_STACKS_NONE;
}

static void test_a_record_waits_only_so_long(void **state)
{
    begin();
    kernel("lonely", 3, 1500, 1900);
    tick_after(90);
    assert_int_equal(span_count, 0);
    tick_after(20);
    const struct kept *work = only("lonely");
    assert_int_equal(attr(work, "cuda.orphan")->type, ATTR_BOOL);
    assert_int_equal(attr_int(work, "cuda.orphan"), 1);
    assert_null(attr(work, "cuda.start_delay"));
    assert_int_equal(counter_get(COUNTER_orphans), 1);
    correlate_finish(correlate);
    expect_child(work, only("program"));
}

static void counts(uint32_t correlation_id, uint32_t count, double value)
{
    struct {
        struct gpu_counters_record record;
        double values[1];
    } record = {{.correlation_id = correlation_id, .count = count}, {value}};
    correlate_gpu_counters(correlate, &record.record);
}

static void begin_counting(void)
{
    static char read[] = "dram.read", *metrics[] = {read};
    settings.counters.metrics = (struct pattern_list){1, metrics};
    begin();
}

static void test_a_counted_kernel_waits_for_its_counts(void **state)
{
    begin_counting();
    counts(3, 0, 0);
    launch(3, 1000);
    launch(4, 1100);
    kernel("counted", 3, 1500, 1900);
    kernel("other", 4, 2000, 2100);
    tick_after(3000);
    assert_int_equal(span_count, 3); /* two launches and one other kernel */
    expect_child(only("other"), &spans[1]);
    counts(3, 1, 4096);
    tick_after(20);
    assert_true(attr(only("counted"), "cuda.counter.dram.read")->d == 4096);
    expect_child(only("counted"), &spans[0]);
    assert_null(attr(only("other"), "cuda.counter.dram.read"));
}

static void test_counts_are_waited_for_only_so_long(void **state)
{
    begin_counting();
    counts(3, 0, 0);
    launch(3, 1000);
    kernel("counted", 3, 1500, 1900);
    tick_after(4900);
    assert_int_equal(span_count, 1);
    tick_after(200);
    assert_null(attr(only("counted"), "cuda.counter.dram.read"));
    counts(5, 0, 0);
    launch(5, 3000);
    kernel("last", 5, 3500, 3900);
    correlate_finish(correlate);
    assert_null(attr(only("last"), "cuda.counter.dram.read"));
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

static void test_the_profiler_s_own_kernel_is_none_of_the_program_s(void **state)
{
    begin_counting();
    counts(3, 1, 4096);
    launch(3, 1000);
    kernel("WaitNs", 3, 1400, 1440);
    kernel("counted", 3, 1500, 1900);
    assert_int_equal(span_count, 2);
    assert_true(attr(only("counted"), "cuda.counter.dram.read")->d == 4096);
    assert_int_equal(counter_get(COUNTER_spans_filtered), 1);
}

static void test_a_kernel_of_that_name_is_one_where_nothing_is_counted(void **state)
{
    begin();
    launch(3, 1000);
    kernel("WaitNs", 3, 1400, 1440);
    expect_child(only("WaitNs"), only("cudaLaunchKernel"));
}

static void test_at_the_end_nothing_waits(void **state)
{
    begin();
    kernel("found", 3, 1500, 1900);
    kernel("lonely", 4, 1500, 1900);
    launch(3, 1000);
    correlate_finish(correlate);
    expect_child(only("found"), only("cudaLaunchKernel"));
    expect_child(only("lonely"), only("program"));
    assert_int_equal(counter_get(COUNTER_orphans), 1);
}

static void test_nothing_waits_where_calls_are_not_traced(void **state)
{
    struct correlate_options options = usual_options();
    options.expects_calls = false;
    begin_as(&options);
    kernel("alone", 3, 1500, 1900);
    assert_int_equal(span_count, 1);
    assert_int_equal(counter_get(COUNTER_orphans), 1);
}

static void test_when_too_many_wait_the_rest_become_orphans(void **state)
{
    enum { MANY = 200000 };
    begin();
    for (uint32_t id = 1; id <= MANY && span_count < 10; id++)
        kernel("crowd", id, 1500, 1900);
    assert_int_equal(span_count, 10);
    assert_int_equal(counter_get(COUNTER_orphans), 10);
    span_count = SPANS_MAX; /* only their number matters */
    correlate_destroy(correlate);
    correlate = NULL;
}

static void test_host_activity_is_no_orphan(void **state)
{
    struct activity_record record = make(ACTIVITY_OVERHEAD, 0, 100, 200);
    begin();
    set_field(&record, "cuda.overhead.kind", 65536);
    gpu_join_add(correlate, &record);
    assert_null(attr(only("overhead cupti_buffer_flush"), "cuda.orphan"));
    assert_int_equal(only("overhead cupti_buffer_flush")->span.resource, RESOURCE_PROCESS);
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

/* CUPTI gives such work the ID of the calls that it makes. */
static void test_host_activity_that_contains_its_call_hangs_beside_it(void **state)
{
    static const uint16_t kinds[] = {ACTIVITY_OVERHEAD, ACTIVITY_JIT};
    begin();
    launch(3, 1000);
    for (unsigned i = 0; i < 2; i++) {
        struct activity_record around = make(kinds[i], 3, 900, 1050), inside = make(kinds[i], 3, 1000, 1050);
        gpu_join_add(correlate, &around);
        gpu_join_add(correlate, &inside);
    }
    kernel("add", 3, 1060, 1900);
    correlate_finish(correlate);
    const struct kept *call = only("cudaLaunchKernel"), *session = only("program");
    for (uint32_t i = 1; i <= 4; i++)
        expect_child(&spans[i], i % 2 ? session : call);
    expect_child(only("add"), call);
    assert_int_equal(session->span.start_ns, BASE_NS + 900);
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

/* A graph launch without a record is lost, whatever else CUPTI reports with its ID. */
static void test_host_activity_is_not_what_a_launch_waits_for(void **state)
{
    struct correlate_options options = usual_options();
    options.expects_graphs = true;
    begin_as(&options);
    call_full(CALL_RUNTIME, "cudaGraphLaunch", 9, 1000, 1100, 0);
    struct activity_record inside = make(ACTIVITY_OVERHEAD, 9, 1010, 1050);
    gpu_join_add(correlate, &inside);
    correlate_finish(correlate);
    assert_int_equal(counter_get(COUNTER_lost_graph_record), 1);
}

static void test_zero_timestamps_are_lost_and_counted(void **state)
{
    struct activity_record record = make_kernel("k", 1, 0, 0);
    begin();
    record.start_ns = 0;
    gpu_join_add(correlate, &record);
    record = make_kernel("k", 1, 5, 0);
    record.end_ns = 0;
    gpu_join_add(correlate, &record);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 2);
}

static void test_a_fault_on_the_host_has_no_end_and_is_a_moment(void **state)
{
    struct activity_record record = make(ACTIVITY_UNIFIED_MEMORY, 0, 500, 0);
    begin();
    record.end_ns = 0;
    gpu_join_add(correlate, &record);
    assert_int_equal(span_count, 1);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 0);
    assert_int_equal(only("unified_memory")->span.end_ns, BASE_NS + 501);
    assert_non_null(attr(only("unified_memory"), "cuda.instant"));
}

static void test_an_end_before_the_start_is_lost_and_told_once(void **state)
{
    begin();
    stderr_begin();
    kernel("k", 1, 10, 5);
    kernel("k", 1, 10, 9);
    char *text = stderr_end();
    assert_int_equal(times_in(text, "\n"), 1);
    free(text);
    assert_int_equal(counter_get(COUNTER_lost_backwards), 2);
    assert_int_equal(span_count, 0);
}

/* Several threads launch the same executable graph: its executions share the memory of their timestamps. */
static void test_an_execution_of_a_graph_without_times_is_a_span(void **state)
{
    static const struct {
        uint64_t start, end; /* 0: none */
        uint64_t at;         /* where the span is; the call is from 1000 to 1100 */
    } cases[] = {{0, 0, 1000},      {0, 1900, 1900},  {1800, 0, 1800}, {1800, 1700, 1700},
                 {1800, 900, 1800}, {950, 900, 1000}, {0, 900, 1000}};
    begin();
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct activity_record record = make(ACTIVITY_GRAPH_TRACE, i + 1, cases[i].start, cases[i].end);
        record.start_ns = cases[i].start ? record.start_ns : 0;
        record.end_ns = cases[i].end ? record.end_ns : 0;
        uint32_t before = span_count;
        if (i % 2) /* before its call, too */
            gpu_join_add(correlate, &record);
        assert_int_equal(span_count, before);
        call_full(CALL_RUNTIME, "cudaGraphLaunch", i + 1, 1000, 1100, 0);
        if (i % 2)
            tick_after(20);
        else
            gpu_join_add(correlate, &record);
        const struct kept *graph = &spans[before + 1];
        expect_child(graph, &spans[before]);
        assert_int_equal(graph->span.start_ns, BASE_NS + cases[i].at);
        assert_int_equal(graph->span.end_ns, BASE_NS + cases[i].at + 1);
        assert_non_null(attr(graph, "cuda.time_unknown"));
        assert_null(attr(graph, "cuda.start_delay"));
        assert_null(attr(graph, "cuda.zero_length"));
        assert_null(attr(graph, "cuda.orphan"));
    }
    assert_int_equal(counters_lost(), 0);
    assert_int_equal(counter_get(COUNTER_graph_times_unknown), sizeof cases / sizeof *cases);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("program"), "cuda.total.graphs"), sizeof cases / sizeof *cases);
    assert_int_equal(attr_int(only("program"), "cuda.total.gpu_time"), 0);
}

/* Of no known call: where one of its times is known. */
static void test_an_execution_of_an_unknown_call_has_one_of_its_times(void **state)
{
    struct correlate_options options = usual_options();
    options.expects_calls = false;
    begin_as(&options);
    struct activity_record record = make(ACTIVITY_GRAPH_TRACE, 5, 1800, 1700), none = record;
    none.start_ns = none.end_ns = 0;
    gpu_join_add(correlate, &record);
    gpu_join_add(correlate, &none);
    assert_int_equal(only("graph")->span.start_ns, BASE_NS + 1700);
    assert_non_null(attr(only("graph"), "cuda.time_unknown"));
    assert_non_null(attr(only("graph"), "cuda.orphan"));
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 1);
}

static void test_no_length_becomes_one_ns_and_is_marked(void **state)
{
    begin();
    launch(1, 1000);
    kernel("k", 1, 1500, 1500);
    assert_int_equal(only("k")->span.end_ns, BASE_NS + 1501);
    assert_int_equal(attr_int(only("k"), "cuda.zero_length"), 1);
    assert_int_equal(counter_get(COUNTER_zero_length), 1);
    struct activity_record record = make(ACTIVITY_MEMORY2, 0, 2000, 2000); /* an instant by its kind */
    gpu_join_add(correlate, &record);
    assert_null(attr(only("memory"), "cuda.zero_length"));
    assert_int_equal(attr_int(only("memory"), "cuda.instant"), 1);
    assert_int_equal(counter_get(COUNTER_zero_length), 1);
}

static void test_clock_skew_is_kept_and_counted(void **state)
{
    begin();
    launch(1, 1000);
    launch(2, 1000);
    launch(3, 1000);
    kernel("a", 1, 990, 1200);
    kernel("b", 2, 700, 1200);
    kernel("c", 3, 999, 1200);
    assert_int_equal(only("b")->span.start_ns, BASE_NS + 700);
    assert_int_equal(attr_int(only("b"), "cuda.start_delay"), -300);
    assert_int_equal(counter_get(COUNTER_clock_skew), 3);
    assert_int_equal(counter_get(COUNTER_clock_skew_max_ns), 300);
    correlate_finish(correlate);
    assert_int_equal(only("program")->span.start_ns, BASE_NS + 700);
}

/* Records without a time by their kind, as in the detail full, are not losses. */
static void test_facts_are_no_spans_and_no_losses(void **state)
{
    static const uint16_t kinds[] = {ACTIVITY_NAME, ACTIVITY_MARKER_DATA, ACTIVITY_STREAM, 39, 59};
    begin();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct activity_record record = {.kind = kinds[i]};
        assert_non_null(activity_table[kinds[i]].name);
        gpu_join_add(correlate, &record);
    }
    assert_int_equal(span_count, 0);
    assert_int_equal(counters_lost(), 0);
}

static void test_kernels_are_filtered_by_either_name(void **state)
{
    char *allow[] = {"ns::*", "*<float>*"}, *deny[] = {"ns::secret"};
    settings.capture.kernels = (struct filter){.allow = {2, allow}, .deny = {1, deny}};
    begin();
    launch(1, 1000);
    kernel("_ZN2ns3addEi", 1, 1500, 1600);
    kernel("_ZN2ns6secretEi", 1, 1500, 1600);
    kernel("_Z4axpyIfEvT_", 1, 1500, 1600);
    kernel("_Z4axpyIdEvT_", 1, 1500, 1600);
    assert_int_equal(span_count, 3);
    only("ns::add");
    only("axpy");
    assert_int_equal(counter_get(COUNTER_spans_filtered), 2);
    struct activity_record copy =
        make(ACTIVITY_MEMCPY, 1, 1500, 1600); /* not a kernel: the filter does not apply */
    gpu_join_add(correlate, &copy);
    assert_int_equal(span_count, 4);
}

static void test_kinds_that_nobody_asked_for_are_left_out(void **state)
{
    char *deny[] = {"memset"};
    settings.capture.activities.deny = (struct pattern_list){1, deny};
    begin();
    struct activity_record record = make(ACTIVITY_MEMSET, 0, 1500, 1600);
    gpu_join_add(correlate, &record);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_spans_filtered), 1);
}

static bool slept_before_3000(uint64_t from_ns, uint64_t until_ns)
{
    (void)until_ns;
    return from_ns < BASE_NS + 3000;
}

/* During a sleep and at its edges, CUPTI gives records whose calls were not captured, sometimes without
 * times. */
static void test_work_that_was_launched_in_sleep_is_left_out(void **state)
{
    struct correlate_options options = usual_options();
    options.slept_between = slept_before_3000;
    begin_as(&options);
    counter_add(COUNTER_sleeps, 1);
    kernel("launched in sleep", 9, 2000, 2100);
    kernel("timeless", 10, -BASE_NS, -BASE_NS);
    assert_int_equal(counter_get(COUNTER_asleep_records), 1); /* does not wait for a call */
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 0);
    launch(11, 1000);
    kernel("launched before", 11, 2000, 2100);
    expect_child(only("launched before"), only("cudaLaunchKernel"));
    kernel("launched in sleep, run later", 12, 4000, 4100);
    correlate_finish(correlate);
    assert_int_equal(counter_get(COUNTER_asleep_records), 2);
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

static void test_times_that_are_missing_are_a_loss_where_the_call_is_known(void **state)
{
    begin();
    counter_add(COUNTER_sleeps, 1);
    launch(12, 4000);
    kernel("timeless", 12, -BASE_NS, -BASE_NS);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 1);
}

static void test_copies_are_named_by_their_direction(void **state)
{
    struct activity_record copy = make(ACTIVITY_MEMCPY, 0, 1500, 1600);
    begin();
    set_field(&copy, "cuda.memcpy.kind", 1);
    set_field(&copy, "cuda.memcpy.bytes", 1ull << 40);
    gpu_join_add(correlate, &copy);
    assert_int_equal(attr_int(only("memcpy HostToDevice"), "cuda.memcpy.bytes"), 1ll << 40);
    expect_text(only("memcpy HostToDevice"), "cuda.memcpy.kind", "HostToDevice");
    set_field(&copy, "cuda.memcpy.kind", 200);
    gpu_join_add(correlate, &copy);
    assert_int_equal(attr_int(only("memcpy"), "cuda.memcpy.kind"), 200);
    struct activity_record fill = make(ACTIVITY_MEMSET, 0, 1500, 1600);
    gpu_join_add(correlate, &fill);
    only("memset");
    kernel(NULL, 0, 1500, 1600);
    only("kernel");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_kernel_hangs_below_its_call),
        TEST(test_a_record_may_come_before_its_call),
        TEST(test_records_before_the_first_tick_wait_as_long_as_others),
        TEST(test_a_graph_launch_has_many_children),
        TEST(test_a_graph_s_execution_has_its_number_of_nodes),
        TEST(test_a_graph_s_node_leads_to_the_call_that_captured_it),
        TEST(test_a_graph_s_node_has_the_code_that_captured_it),
        TEST(test_the_code_of_a_call_that_fell_asleep_is_of_no_other_call),
        TEST(test_a_record_waits_only_so_long),
        TEST(test_a_counted_kernel_waits_for_its_counts),
        TEST(test_counts_are_waited_for_only_so_long),
        TEST(test_the_profiler_s_own_kernel_is_none_of_the_program_s),
        TEST(test_a_kernel_of_that_name_is_one_where_nothing_is_counted),
        TEST(test_at_the_end_nothing_waits),
        TEST(test_nothing_waits_where_calls_are_not_traced),
        TEST(test_when_too_many_wait_the_rest_become_orphans),
        TEST(test_host_activity_is_no_orphan),
        TEST(test_host_activity_that_contains_its_call_hangs_beside_it),
        TEST(test_host_activity_is_not_what_a_launch_waits_for),
        TEST(test_zero_timestamps_are_lost_and_counted),
        TEST(test_a_fault_on_the_host_has_no_end_and_is_a_moment),
        TEST(test_an_end_before_the_start_is_lost_and_told_once),
        TEST(test_an_execution_of_a_graph_without_times_is_a_span),
        TEST(test_an_execution_of_an_unknown_call_has_one_of_its_times),
        TEST(test_no_length_becomes_one_ns_and_is_marked),
        TEST(test_clock_skew_is_kept_and_counted),
        TEST(test_facts_are_no_spans_and_no_losses),
        TEST(test_kernels_are_filtered_by_either_name),
        TEST(test_kinds_that_nobody_asked_for_are_left_out),
        TEST(test_work_that_was_launched_in_sleep_is_left_out),
        TEST(test_times_that_are_missing_are_a_loss_where_the_call_is_known),
        TEST(test_copies_are_named_by_their_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
