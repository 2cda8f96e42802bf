#include "correlate/correlate.h"
#include "correlate/totals/summaries.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "../support/stderr_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define SPANS_MAX 512
#define BASE_NS   1700000000000000000ull

static struct settings settings;
static struct trace_context parent;
static struct correlate *correlate;
static uint64_t monotonic_ns;
static const uint8_t zeros[16];

/* --- what came out
 * ------------------------------------------------------------------------------------------------- */

struct kept {
    struct span span;
    char name[256];
    struct span_event events[16];
    struct span_link links[SPAN_LINKS_MAX];
};
static struct kept spans[SPANS_MAX];
static uint32_t span_count;
static struct {
    uint16_t index;
    char name[64];
    char label[64];
} devices[16];
static uint32_t device_count;

static void on_span(void *context, const struct span *span)
{
    assert_ptr_equal(context, &spans);
    assert_true(span_count < SPANS_MAX);
    struct kept *kept = &spans[span_count++];
    kept->span = *span;
    kept->span.shared = NULL; /* flat, as those who read it expect */
    kept->span.attr_count = span_attr_total(span);
    for (uint32_t i = 0; i < kept->span.attr_count; i++)
        kept->span.attrs[i] = *span_attr_at(span, i);
    snprintf(kept->name, sizeof kept->name, "%.*s", (int)span->name_len, span->name);
    assert_true(span->event_count <= 16);
    if (span->event_count)
        memcpy(kept->events, span->events, span->event_count * sizeof *span->events);
    if (span->link_count)
        memcpy(kept->links, span->links, span->link_count * sizeof *span->links);
    assert_true(span->end_ns > span->start_ns);
    assert_memory_not_equal(span->span_id, zeros, 8);
    assert_memory_not_equal(span->trace_id, zeros, 16);
}

static void on_device(void *context, uint16_t index, const struct resource *resource)
{
    const struct resource_attr *name = resource_find(resource, "hw.name");
    assert_ptr_equal(context, &spans);
    assert_true(device_count < 16);
    assert_string_equal(resource_find(resource, "hw.type")->string, "gpu");
    devices[device_count].index = index;
    const struct resource_attr *label = resource_find(resource, "cuda.device.label");
    snprintf(devices[device_count].label, sizeof devices[0].label, "%s", label ? label->string : "");
    snprintf(devices[device_count++].name, sizeof devices[0].name, "%s", name ? name->string : "");
}

static const struct span_attr *attr(const struct kept *kept, const char *key)
{
    for (uint32_t i = 0; i < kept->span.attr_count; i++)
        if (strcmp(kept->span.attrs[i].key->name, key) == 0)
            return &kept->span.attrs[i];
    return NULL;
}

static int64_t attr_int(const struct kept *kept, const char *key)
{
    const struct span_attr *found = attr(kept, key);
    assert_non_null(found);
    return found->i;
}

static void expect_text(const struct kept *kept, const char *key, const char *want)
{
    const struct span_attr *found = attr(kept, key);
    assert_non_null(found);
    assert_int_equal(found->type, ATTR_STRING);
    assert_int_equal(found->len, strlen(want));
    assert_memory_equal(found->s, want, found->len);
}

static struct kept *only(const char *name)
{
    struct kept *found = NULL;
    for (uint32_t i = 0; i < span_count; i++) {
        if (strcmp(spans[i].name, name) == 0) {
            assert_null(found);
            found = &spans[i];
        }
    }
    if (!found)
        fail_msg("no span %s", name);
    return found;
}

static void expect_child(const struct kept *child, const struct kept *of)
{
    assert_memory_equal(child->span.trace_id, of->span.trace_id, 16);
    assert_memory_equal(child->span.parent_span_id, of->span.span_id, 8);
    assert_memory_not_equal(child->span.span_id, of->span.span_id, 8);
}

/* For tests with more spans than are kept. */
static uint32_t counted_spans, counted_incomplete;

static void count_span(void *context, const struct span *span)
{
    (void)context;
    counted_spans++;
    for (uint32_t i = 0; i < span->attr_count; i++)
        counted_incomplete += strcmp(span->attrs[i].key->name, "cuda.total.incomplete") == 0;
}

/* The span that is the parent of this one. */
static const struct kept *session_of(const struct kept *child)
{
    for (uint32_t i = 0; i < span_count; i++)
        if (memcmp(spans[i].span.span_id, child->span.parent_span_id, 8) == 0)
            return &spans[i];
    fail_msg("%s is below nothing", child->name);
    return NULL;
}

/* --- what goes in
 * -------------------------------------------------------------------------------------------------- */

static const struct thread_info thread = {.tid = 42, .name = "main"};

static uint16_t find_call(enum call_domain domain, const char *name)
{
    uint16_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (uint16_t cbid = 1; cbid < count; cbid++)
        if (call_info(domain, cbid) && strcmp(call_name(call_info(domain, cbid)), name) == 0)
            return cbid;
    fail_msg("no call %s", name);
    return 0;
}

static void call_full(enum call_domain domain, const char *name, uint32_t id, uint64_t start, uint64_t end,
                      int32_t result)
{
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, (uint8_t)domain, find_call(domain, name)},
        .start_ns = BASE_NS + start,
        .end_ns = BASE_NS + end,
        .correlation_id = id,
        .context_id = 1,
        .result = result};
    correlate_call(correlate, &thread, &record);
}

static void launch(uint32_t id, uint64_t start)
{
    call_full(CALL_RUNTIME, "cudaLaunchKernel", id, start, start + 100, 0);
}

static uint8_t field(uint16_t kind, const char *key)
{
    for (uint8_t i = 0; i < activity_table[kind].field_count; i++)
        if (strcmp(activity_table[kind].fields[i].key.name, key) == 0)
            return i;
    fail_msg("kind %u has no field %s", kind, key);
    return 0;
}

static void set_field(struct activity_record *record, const char *key, uint64_t value)
{
    uint8_t i = field(record->kind, key);
    record->present |= 1ull << i;
    record->values[i] = value;
}

static struct activity_record make(uint16_t kind, uint32_t id, uint64_t start, uint64_t end)
{
    struct activity_record record = {.kind = kind,
                                     .correlation_id = id,
                                     .start_ns = BASE_NS + start,
                                     .end_ns = BASE_NS + end,
                                     .context_id = 1,
                                     .stream_id = 7};
    return record;
}

static struct activity_record make_kernel(const char *name, uint32_t id, uint64_t start, uint64_t end)
{
    struct activity_record record = make(ACTIVITY_KERNEL, id, start, end);
    record.name = name;
    set_field(&record, "cuda.stream.id", 7);
    return record;
}

static void kernel(const char *name, uint32_t id, uint64_t start, uint64_t end)
{
    struct activity_record record = make_kernel(name, id, start, end);
    correlate_activity(correlate, &record);
}

static void tick_after(uint64_t ms)
{
    monotonic_ns += ms * NS_PER_MS;
    correlate_tick(correlate, monotonic_ns);
}

static uint64_t fixed_clock(void)
{
    return BASE_NS;
}

static struct correlate_options usual_options(void)
{
    return (struct correlate_options){.settings = &settings,
                                      .program = "program",
                                      .parent = parent.flags || parent.trace_id[0] ? &parent : NULL,
                                      .expects_calls = true,
                                      .sink = {&spans, on_span, on_device}};
}

static void begin_as(const struct correlate_options *options)
{
    assert_int_equal(correlate_create(options, &correlate), STATUS_OK);
    monotonic_ns = clock_monotonic_ns();
    correlate_tick(correlate, monotonic_ns); /* so that waiting is measured by our clock alone */
}

static void begin(void)
{
    struct correlate_options options = usual_options();
    begin_as(&options);
}

/* For tests with more spans than are kept. */
static void begin_counting_spans(void)
{
    struct correlate_options options = usual_options();
    options.sink.on_span = count_span;
    begin_as(&options);
}

static int setup(void **state)
{
    (void)state;
    settings = (struct settings){.sampler = SAMPLER_ALWAYS_ON,
                                 .sampler_parent_based = true,
                                 .correlation = {.pending_max = 1024, .wait_ms = 100},
                                 .session = {.spans_max = 1000, .age_max_ms = 3600000}};
    parent = (struct trace_context){.flags = 0};
    span_count = device_count = counted_spans = counted_incomplete = 0;
    counters_reset();
    clock_source = fixed_clock; /* the session's age as the tick sees it */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    correlate_destroy(correlate);
    correlate = NULL;
    return 0;
}

/* --- calls and their work
 * ------------------------------------------------------------------------------------------ */

static void test_a_kernel_hangs_below_its_call(void **state)
{
    (void)state;
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
    assert_int_equal(attr_int(call, "thread.id"), 42);
    assert_int_equal(attr_int(call, "cuda.correlation.id"), 1);
    assert_int_equal(session->span.start_ns, BASE_NS + 1000);
    assert_int_equal(session->span.end_ns, BASE_NS + 1900);
    assert_int_equal(counter_get(COUNTER_spans_created), 3);
    assert_int_equal(counters_lost(), 0);
}

static void test_a_record_may_come_before_its_call(void **state)
{
    (void)state;
    begin();
    kernel("early", 5, 1500, 1900);
    assert_int_equal(span_count, 0);
    launch(5, 1000);
    tick_after(20);
    const struct kept *work = only("early");
    expect_child(work, only("cudaLaunchKernel"));
    assert_int_equal(attr_int(work, "cuda.start_delay"), 500);
    assert_int_equal(attr_int(work, "cuda.stream.id"), 7); /* its fields waited with it */
    assert_int_equal(counter_get(COUNTER_orphans), 0);
    tick_after(1000);
    correlate_finish(correlate);
    only("early");
}

static void test_records_before_the_first_tick_wait_as_long_as_others(void **state)
{
    (void)state;
    begin();
    kernel("early", 5, 1500, 1900);
    tick_after(50);
    assert_int_equal(span_count, 0);
    launch(5, 1000);
    tick_after(20);
    expect_child(only("early"), only("cudaLaunchKernel"));
}

static void test_a_graph_launch_has_many_children(void **state)
{
    (void)state;
    begin();
    kernel("node0", 9, 1200, 1300);
    call_full(CALL_RUNTIME, "cudaGraphLaunch", 9, 1000, 1100, 0);
    for (int i = 1; i < 100; i++) {
        static char names[100][16]; /* each at an address of its own, as CUPTI's are */
        const char *name = names[i];
        snprintf(names[i], sizeof names[i], "node%d", i);
        struct activity_record record = make_kernel(name, 9, 1300 + (uint64_t)i, 1400 + (uint64_t)i);
        record.graph_node_id = (uint64_t)i;
        set_field(&record, "cuda.graph.node.id", (uint64_t)i);
        correlate_activity(correlate, &record);
        expect_child(only(name), only("cudaGraphLaunch"));
        assert_int_equal(attr_int(only(name), "cuda.graph.node.id"), i);
    }
    tick_after(20);
    expect_child(only("node0"), only("cudaGraphLaunch"));
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

/* --- graphs
 * ------------------------------------------------------------------------------------------------------------
 */

static void graph_event(uint16_t cbid, uint64_t handle, uint32_t nodes, uint64_t original, uint64_t at)
{
    struct resource_record record = {.head = {sizeof record, RECORD_RESOURCE, 0, cbid},
                                     .time_ns = BASE_NS + at,
                                     .handle = handle,
                                     .nodes = nodes,
                                     .original = original};
    correlate_resource(correlate, &thread, &record);
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
    correlate_call(correlate, &thread, &call.record);
}

static void test_a_graph_s_execution_has_its_number_of_nodes(void **state)
{
    (void)state;
    begin();
    graph_event(18, 0xe0, 6, 0, 500); /* GRAPHEXEC_CREATED */
    launch_graph(1, 1000, 0xe0);
    launch_graph(2, 2000, 0xe1);
    for (uint32_t id = 1; id <= 2; id++) {
        struct activity_record record = make(ACTIVITY_GRAPH_TRACE, id, 1000 * id + 200, 1000 * id + 300);
        record.graph_node_id = 0;
        correlate_activity(correlate, &record);
    }
    kernel("beside", 1, 1300, 1400);
    assert_int_equal(attr_int(&spans[2], "cuda.graph.nodes"), 6);
    assert_null(attr(&spans[3], "cuda.graph.nodes"));
    assert_null(attr(only("beside"), "cuda.graph.nodes"));
}

static void test_a_graph_s_node_leads_to_the_call_that_captured_it(void **state)
{
    (void)state;
    settings.detail = DETAIL_GRAPH_NODES;
    begin();
    graph_event(13, 100, 1, 0, 150); /* GRAPHNODE_CREATED */
    launch(1, 100);
    graph_event(20, 500, 1, 100, 250); /* GRAPHNODE_CLONED */
    call_full(CALL_RUNTIME, "cudaGraphInstantiate", 2, 200, 300, 0);
    launch_graph(3, 1000, 0xe0);
    for (uint64_t node = 500; node < 502; node++) {
        struct activity_record record = make_kernel(node == 500 ? "known" : "unknown", 3, 1200, 1300);
        record.graph_node_id = node;
        correlate_activity(correlate, &record);
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

static void test_ids_come_round(void **state)
{
    (void)state;
    const uint64_t hours = 3600 * NS_PER_SECOND;
    settings.session.age_max_ms = UINT32_MAX;
    begin();
    launch(UINT32_MAX, 1000);
    kernel("last", UINT32_MAX, 1500, 1600);
    launch(1, 2000);
    kernel("first", 1, 2500, 2600);
    expect_child(only("last"), &spans[0]);
    expect_child(only("first"), &spans[2]);
    /* Hours later ID 1 again: its record comes first, and the call of old is not its parent. */
    kernel("again", 1, 12 * hours + 500, 12 * hours + 600);
    assert_int_equal(span_count, 4);
    launch(1, 12 * hours);
    tick_after(20);
    expect_child(only("again"), &spans[4]);
    assert_int_equal(attr_int(only("again"), "cuda.start_delay"), 500);
}

static void test_calls_that_never_get_a_record_are_given_up(void **state)
{
    (void)state;
    settings.correlation.pending_max = 8;
    begin();
    for (uint32_t id = 1; id <= 20; id++)
        launch(id, 1000 * id);
    assert_int_equal(counter_get(COUNTER_pending_evicted), 12);
    kernel("late", 2, 30000, 30001); /* its call is forgotten */
    kernel("kept", 20, 30000, 30001);
    assert_non_null(only("kept"));
    correlate_finish(correlate);
    assert_int_equal(counter_get(COUNTER_orphans), 1);
    expect_child(only("late"), only("program"));
}

static void test_calls_without_gpu_work_do_not_wait(void **state)
{
    (void)state;
    settings.correlation.pending_max = 4;
    begin();
    launch(1, 1000);
    for (uint32_t id = 2; id < 50; id++)
        call_full(CALL_RUNTIME, "cudaStreamSynchronize", id, 1000 * id, 1000 * id + 1, 0);
    for (uint32_t id = 50; id < 60; id++)
        call_full(CALL_RUNTIME, "cudaLaunchKernel", id, 1000 * id, 1000 * id + 1,
                  1); /* failed: no record comes */
    assert_int_equal(counter_get(COUNTER_pending_evicted), 0);
    kernel("work", 1, 70000, 70001);
    expect_child(only("work"), &spans[0]);
}

/* --- calls that fail
 * ----------------------------------------------------------------------------------------------- */

static void test_a_failed_call_says_so(void **state)
{
    (void)state;
    begin();
    call_full(CALL_RUNTIME, "cudaMalloc", 1, 1000, 1001, 2);
    call_full(CALL_DRIVER, "cuModuleLoad", 2, 2000, 2001, 301);
    call_full(CALL_RUNTIME, "cudaFree", 3, 3000, 3001, 987654);
    const struct kept *failed = only("cudaMalloc");
    assert_int_equal(failed->span.status, SPAN_STATUS_ERROR);
    assert_string_equal(failed->span.status_message, "cudaErrorMemoryAllocation");
    expect_text(failed, "error.type", "cudaErrorMemoryAllocation");
    assert_int_equal(attr_int(failed, "cuda.error.code"), 2);
    failed = only("cuModuleLoad");
    expect_text(failed, "error.type", "CUDA_ERROR_FILE_NOT_FOUND");
    expect_text(failed, "cuda.api", "driver");
    failed = only("cudaFree");
    expect_text(failed, "error.type", "_OTHER");
    assert_null(failed->span.status_message);
    assert_int_equal(attr_int(failed, "cuda.error.code"), 987654);
}

static void test_odd_calls(void **state)
{
    (void)state;
    struct call_record unknown = {.head = {sizeof unknown, RECORD_CALL, CALL_RUNTIME, 65535}};
    begin();
    correlate_call(correlate, &thread, &unknown);
    assert_int_equal(span_count, 0);
    call_full(CALL_RUNTIME, "cudaMalloc", 0, 1000, 1000, 0); /* no ID, no length */
    assert_int_equal(only("cudaMalloc")->span.end_ns, BASE_NS + 1001);
    kernel("unrelated", 0, 2000, 2001);
    correlate_finish(correlate);
    expect_child(only("unrelated"), only("program"));
}

/* --- orphans
 * ------------------------------------------------------------------------------------------------------- */

static void test_a_record_waits_only_so_long(void **state)
{
    (void)state;
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

/* --- hardware counters --- */

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
    (void)state;
    begin_counting();
    counts(3, 0, 0);
    launch(3, 1000);
    launch(4, 1100);
    kernel("counted", 3, 1500, 1900);
    kernel("other", 4, 2000, 2100);
    tick_after(3000);
    assert_int_equal(span_count, 3); /* two launches and the other one */
    expect_child(only("other"), &spans[1]);
    counts(3, 1, 4096);
    tick_after(20);
    assert_true(attr(only("counted"), "cuda.counter.dram.read")->d == 4096);
    expect_child(only("counted"), &spans[0]);
    assert_null(attr(only("other"), "cuda.counter.dram.read"));
}

static void test_counts_are_waited_for_only_so_long(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    begin();
    launch(3, 1000);
    kernel("WaitNs", 3, 1400, 1440);
    expect_child(only("WaitNs"), only("cudaLaunchKernel"));
}

static void test_at_the_end_nothing_waits(void **state)
{
    (void)state;
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
    (void)state;
    struct correlate_options options = usual_options();
    options.expects_calls = false;
    begin_as(&options);
    kernel("alone", 3, 1500, 1900);
    assert_int_equal(span_count, 1);
    assert_int_equal(counter_get(COUNTER_orphans), 1);
}

static void test_when_too_many_wait_the_rest_become_orphans(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    begin();
    for (uint32_t id = 1; id <= MANY && span_count < 10; id++)
        kernel("crowd", id, 1500, 1900);
    assert_int_equal(span_count, 10);
    assert_int_equal(counter_get(COUNTER_orphans), 10);
    span_count = SPANS_MAX; /* of the others only the count matters */
    correlate_destroy(correlate);
    correlate = NULL;
}

static void test_host_activity_is_no_orphan(void **state)
{
    (void)state;
    struct activity_record record = make(ACTIVITY_OVERHEAD, 0, 100, 200);
    begin();
    set_field(&record, "cuda.overhead.kind", 65536);
    correlate_activity(correlate, &record);
    assert_null(attr(only("overhead cupti_buffer_flush"), "cuda.orphan"));
    assert_int_equal(only("overhead cupti_buffer_flush")->span.resource, RESOURCE_PROCESS);
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

static void take_own(struct own_figures *figures)
{
    *figures = (struct own_figures){.callback_ns = 70, .callback_calls = 3, .pipeline_ns = 500};
}

/* Each what came in it. */
static void test_sessions_say_what_tracing_took(void **state)
{
    struct activity_record record = make(ACTIVITY_OVERHEAD, 0, 1000, 1200);
    (void)state;
    settings.session.spans_max = 1;
    struct correlate_options options = usual_options();
    options.take_own = take_own;
    begin_as(&options);
    set_field(&record, "cuda.overhead.kind", 131072);
    correlate_activity(correlate, &record);
    record.start_ns = 2000;
    record.end_ns = 2050;
    correlate_activity(correlate, &record);
    correlate_finish(correlate);
    struct kept *sessions[2] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < span_count; i++)
        if (attr(&spans[i], "cuda.session.number") && count < 2)
            sessions[count++] = &spans[i];
    assert_int_equal(count, 2);
    assert_int_equal(attr_int(sessions[0], "cuspan.cupti.instrumentation_time"), 200);
    assert_int_equal(attr_int(sessions[1], "cuspan.cupti.instrumentation_time"), 50);
    assert_int_equal(attr_int(sessions[0], "cuspan.own.callback_time"), 70);
    assert_int_equal(attr_int(sessions[0], "cuspan.own.pipeline_time"), 500);
    assert_int_equal(attr_int(sessions[1], "cuspan.own.callback_time"), 0);
}

/* A replay: what it takes isn't what the recorded run took. */
static void test_without_figures_of_its_own(void **state)
{
    struct activity_record record = make(ACTIVITY_OVERHEAD, 0, 1000, 1200);
    (void)state;
    begin();
    correlate_activity(correlate, &record);
    correlate_finish(correlate);
    assert_null(attr(only("program"), "cuspan.own.pipeline_time"));
}

/* --- times
 * ---------------------------------------------------------------------------------------------------------
 */

static void test_zero_timestamps_are_lost_and_counted(void **state)
{
    (void)state;
    struct activity_record record = make_kernel("k", 1, 0, 0);
    begin();
    record.start_ns = 0;
    correlate_activity(correlate, &record);
    record = make_kernel("k", 1, 5, 0);
    record.end_ns = 0;
    correlate_activity(correlate, &record);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 2);
}

/* --- work that a fatal error of its context has stopped --- */

enum { ILLEGAL_ADDRESS = 700, ASSERTED = 710 };

static void synchronize(uint64_t end, int32_t result)
{
    call_full(CALL_RUNTIME, "cudaDeviceSynchronize", 0, end - 100, end, result);
}

static void kernel_without_end(const char *name, uint32_t id, uint64_t start)
{
    struct activity_record record = make_kernel(name, id, start, 0);
    record.end_ns = 0;
    correlate_activity(correlate, &record);
}

static void kernel_without_times(const char *name, uint32_t id)
{
    kernel(name, id, -BASE_NS, -BASE_NS);
}

static void test_stopped_work_without_times_is_lost_to_the_error(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    launch(2, 1200);
    stderr_begin();
    synchronize(5000, ASSERTED);
    kernel_without_times("asserts", 1);
    kernel_without_times("queued behind it", 2);
    char *text = stderr_end();
    assert_int_equal(times_in(text, "cudaErrorAssert"), 1);
    assert_int_equal(times_in(text, "\n"), 1);
    free(text);
    assert_int_equal(counter_get(COUNTER_lost_context_error), 2);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 0);
    assert_int_equal(counters_lost(), 2);
}

static void test_stopped_work_with_a_start_ends_when_a_call_reported_the_error(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    synchronize(5000, ASSERTED);
    synchronize(9000, ASSERTED);
    kernel_without_end("asserts", 1, 1500);
    const struct kept *work = only("asserts");
    expect_child(work, only("cudaLaunchKernel"));
    assert_int_equal(work->span.start_ns, BASE_NS + 1500);
    assert_int_equal(work->span.end_ns, BASE_NS + 5000);
    assert_int_equal(work->span.status, SPAN_STATUS_ERROR);
    assert_string_equal(work->span.status_message, "cudaErrorAssert");
    expect_text(work, "error.type", "cudaErrorAssert");
    assert_int_equal(attr_int(work, "cuda.error.code"), ASSERTED);
    assert_int_equal(attr_int(work, "cuda.unfinished"), 1);
    assert_int_equal(counters_lost(), 0);
}

/* Threads' calls are drained ring by ring, so the first report may come last. */
static void test_the_earliest_report_counts(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    synchronize(9000, ILLEGAL_ADDRESS);
    synchronize(5000, ILLEGAL_ADDRESS);
    kernel_without_end("wild", 1, 1500);
    assert_int_equal(only("wild")->span.end_ns, BASE_NS + 5000);
}

/* Nor does an error that leaves the context usable, such as an invalid value. */
static void test_other_contexts_errors_explain_nothing(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    synchronize(5000, 1);
    kernel_without_times("no buffer", 1);
    struct activity_record record = make_kernel("elsewhere", 2, 0, 0);
    launch(2, 6000);
    synchronize(7000, ASSERTED);
    record.start_ns = record.end_ns = 0;
    record.context_id = 2;
    correlate_activity(correlate, &record);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 2);
    assert_int_equal(counter_get(COUNTER_lost_context_error), 0);
}

/* cudaDeviceReset makes the device usable again, perhaps under the same number of a context. */
static void test_work_launched_after_the_error_is_not_stopped_by_it(void **state)
{
    (void)state;
    begin();
    synchronize(5000, ASSERTED);
    launch(1, 6000);
    kernel_without_times("no buffer", 1);
    launch(2, 6200);
    kernel("later", 2, 7000, 7100);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 1);
    assert_int_equal(only("later")->span.status, SPAN_STATUS_UNSET);
}

static void test_driver_calls_report_errors_too(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    call_full(CALL_DRIVER, "cuCtxSynchronize", 0, 4000, 5000, ILLEGAL_ADDRESS);
    kernel_without_end("wild", 1, 1500);
    expect_text(only("wild"), "error.type", "CUDA_ERROR_ILLEGAL_ADDRESS");
}

/* Work that ended before the error keeps its own end. */
static void test_work_with_both_times_is_whole(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    synchronize(5000, ASSERTED);
    kernel("done", 1, 1500, 1900);
    assert_int_equal(only("done")->span.end_ns, BASE_NS + 1900);
    assert_int_equal(only("done")->span.status, SPAN_STATUS_UNSET);
}

static void test_a_fault_on_the_host_has_no_end_and_is_a_moment(void **state)
{
    (void)state;
    struct activity_record record = make(ACTIVITY_UNIFIED_MEMORY, 0, 500, 0);
    begin();
    record.end_ns = 0;
    correlate_activity(correlate, &record);
    assert_int_equal(span_count, 1);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 0);
    assert_int_equal(only("unified_memory")->span.end_ns, BASE_NS + 501);
    assert_non_null(attr(only("unified_memory"), "cuda.instant"));
}

static void test_an_end_before_the_start_is_lost_and_told_once(void **state)
{
    (void)state;
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

static void test_no_length_becomes_one_ns_and_is_marked(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    kernel("k", 1, 1500, 1500);
    assert_int_equal(only("k")->span.end_ns, BASE_NS + 1501);
    assert_int_equal(attr_int(only("k"), "cuda.zero_length"), 1);
    assert_int_equal(counter_get(COUNTER_zero_length), 1);
    struct activity_record record = make(ACTIVITY_MEMORY2, 0, 2000, 2000); /* has no length by its nature */
    correlate_activity(correlate, &record);
    assert_null(attr(only("memory"), "cuda.zero_length"));
    assert_int_equal(attr_int(only("memory"), "cuda.instant"), 1);
    assert_int_equal(counter_get(COUNTER_zero_length), 1);
}

static void test_clock_skew_is_kept_and_counted(void **state)
{
    (void)state;
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

/* At full detail CUPTI tells of things that have no time: they are no losses. */
static void test_facts_are_no_spans_and_no_losses(void **state)
{
    (void)state;
    static const uint16_t kinds[] = {ACTIVITY_NAME, ACTIVITY_MARKER_DATA, ACTIVITY_STREAM, 39, 59};
    begin();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct activity_record record = {.kind = kinds[i]};
        assert_non_null(activity_table[kinds[i]].name);
        correlate_activity(correlate, &record);
    }
    assert_int_equal(span_count, 0);
    assert_int_equal(counters_lost(), 0);
}

/* --- sessions
 * ------------------------------------------------------------------------------------------------------ */

static void test_a_session_is_cut_by_spans(void **state)
{
    (void)state;
    settings.session.spans_max = 3;
    begin();
    for (uint32_t id = 1; id <= 7; id++)
        call_full(CALL_RUNTIME, "cudaStreamSynchronize", id, 1000 * id, 1000 * id + 10, 0);
    correlate_finish(correlate);
    struct kept *sessions[3];
    uint32_t found = 0;
    for (uint32_t i = 0; i < span_count; i++)
        if (strcmp(spans[i].name, "program") == 0)
            sessions[found++] = &spans[i];
    assert_int_equal(found, 3);
    expect_text(sessions[0], "cuda.session.end_reason", "spans");
    expect_text(sessions[2], "cuda.session.end_reason", "exit");
    assert_int_equal(attr_int(sessions[0], "cuda.session.spans"), 3);
    assert_int_equal(attr_int(sessions[2], "cuda.session.spans"), 1);
    assert_int_equal(sessions[0]->span.link_count, 0);
    assert_int_equal(sessions[1]->span.link_count, 1);
    assert_memory_equal(sessions[1]->links[0].trace_id, sessions[0]->span.trace_id, 16);
    assert_memory_equal(sessions[1]->links[0].span_id, sessions[0]->span.span_id, 8);
    assert_memory_equal(sessions[2]->links[0].trace_id, sessions[1]->span.trace_id, 16);
    assert_memory_not_equal(sessions[0]->span.trace_id, sessions[1]->span.trace_id, 16);
    uint8_t traces[16][16];
    uint32_t total;
    assert_int_equal(correlate_traces(correlate, traces, 16, &total), 3);
    assert_int_equal(total, 3);
    assert_memory_equal(traces[1], sessions[1]->span.trace_id, 16);
    assert_int_equal(correlate_traces(correlate, traces, 2, &total), 2);
    assert_int_equal(counter_get(COUNTER_sessions), 3);
}

static void test_a_session_is_cut_by_age(void **state)
{
    (void)state;
    settings.session.age_max_ms = 1000;
    begin();
    call_full(CALL_RUNTIME, "cudaStreamSynchronize", 1, 0, 10, 0);
    call_full(CALL_RUNTIME, "cudaStreamSynchronize", 2, NS_PER_SECOND + 1, NS_PER_SECOND + 10, 0);
    assert_int_equal(span_count, 3);
    expect_text(only("program"), "cuda.session.end_reason", "age");
    assert_int_equal(only("program")->span.end_ns, BASE_NS + 10);
}

static uint64_t later_clock(void)
{
    return BASE_NS + 2 * NS_PER_SECOND;
}

static void test_an_idle_session_is_cut_by_the_tick_and_none_is_begun(void **state)
{
    (void)state;
    settings.session.age_max_ms = 1000;
    begin();
    launch(1, 0);
    tick_after(20);
    assert_int_equal(span_count, 1);
    clock_source = later_clock;
    tick_after(20);
    assert_int_equal(span_count, 1); /* it counts the kernel, and waits for it */
    /* The kernel belongs to the trace of its call; no session is begun for it. */
    kernel("late", 1, 2 * NS_PER_SECOND, 2 * NS_PER_SECOND + 5);
    expect_child(only("late"), only("cudaLaunchKernel"));
    tick_after(20);
    assert_int_equal(only("program")->span.end_ns, BASE_NS + 2 * NS_PER_SECOND + 5);
    correlate_finish(correlate);
    only("program");
    assert_int_equal(counter_get(COUNTER_sessions), 1);
}

static void test_work_of_a_session_that_was_cut_stays_in_its_trace(void **state)
{
    (void)state;
    settings.session.spans_max = 1;
    begin();
    launch(1, 1000);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 2000, 2001, 0);
    kernel("late", 1, 3000, 3001);
    expect_child(only("late"), only("cudaLaunchKernel"));
    assert_memory_not_equal(only("late")->span.trace_id, only("cudaMalloc")->span.trace_id, 16);
    correlate_finish(correlate);
    assert_int_equal(span_count, 5);
    assert_int_equal(session_of(only("cudaMalloc"))->span.end_ns,
                     BASE_NS + 2001); /* it is not stretched over the other's */
    assert_int_equal(session_of(only("cudaLaunchKernel"))->span.end_ns, BASE_NS + 3001);
}

static void test_the_process_s_context_is_the_parent(void **state)
{
    (void)state;
    assert_true(
        trace_context_parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "v=1", &parent));
    begin();
    memset(parent.trace_state, 'x', 3); /* copied */
    launch(1, 1000);
    kernel("k", 1, 1500, 1600);
    correlate_finish(correlate);
    assert_memory_equal(only("program")->span.trace_id, parent.trace_id, 16);
    assert_memory_equal(only("program")->span.parent_span_id, parent.span_id, 8);
    assert_int_equal(only("program")->span.flags, 0x301);
    assert_string_equal(only("program")->span.trace_state, "v=1");
    assert_string_equal(only("cudaLaunchKernel")->span.trace_state, "v=1");
    assert_string_equal(only("k")->span.trace_state, "v=1");
    assert_int_equal(only("k")->span.flags, 0x101);
}

static void test_an_idle_process_sends_nothing(void **state)
{
    (void)state;
    begin();
    tick_after(1000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_sessions), 0);
}

/* --- sampling
 * ------------------------------------------------------------------------------------------------------ */

static void test_what_is_not_sampled_is_counted(void **state)
{
    (void)state;
    settings.sampler = SAMPLER_ALWAYS_OFF;
    begin();
    launch(1, 1000);
    kernel("k", 1, 1500, 1600);
    kernel("k", 2, 1500, 1600);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 3);
    assert_int_equal(counter_get(COUNTER_spans_created), 0);
    assert_int_equal(counters_lost(), 0);
}

static void test_the_parent_s_flag_goes_before_the_sampler(void **state)
{
    (void)state;
    assert_true(
        trace_context_parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", NULL, &parent));
    begin();
    launch(1, 1000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    correlate_destroy(correlate);
    settings.sampler_parent_based = false;
    begin();
    launch(1, 1000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 2);
    assert_int_equal(only("program")->span.flags, 0x301);
}

static void test_a_ratio_of_sessions(void **state)
{
    (void)state;
    settings.sampler = SAMPLER_TRACE_ID_RATIO;
    settings.sampler_ratio = 0.5;
    settings.session.spans_max = 1;
    settings.session.age_max_ms = 1;
    begin();
    for (uint32_t id = 1; id <= 200; id++) {
        launch(id, id * 10 * NS_PER_MS);
        kernel("k", id, id * 10 * NS_PER_MS + 1, id * 10 * NS_PER_MS + 2);
    }
    correlate_finish(correlate);
    assert_int_equal(span_count % 3, 0); /* call, kernel and session: all or none */
    assert_in_range(span_count / 3, 60, 140);
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 400 - span_count / 3 * 2);
}

/* --- filters
 * ------------------------------------------------------------------------------------------------------- */

static void test_kernels_are_filtered_by_either_name(void **state)
{
    (void)state;
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
        make(ACTIVITY_MEMCPY, 1, 1500, 1600); /* no kernel: no business of the filter */
    correlate_activity(correlate, &copy);
    assert_int_equal(span_count, 4);
}

static void test_kinds_that_nobody_asked_for_are_left_out(void **state)
{
    (void)state;
    char *deny[] = {"memset"};
    settings.capture.activities.deny = (struct pattern_list){1, deny};
    begin();
    struct activity_record record = make(ACTIVITY_MEMSET, 0, 1500, 1600);
    correlate_activity(correlate, &record);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_spans_filtered), 1);
}

/* --- what happens inside a call
 * ------------------------------------------------------------------------------------ */

static void resource_on(uint64_t tid, uint16_t cbid, uint64_t time)
{
    struct thread_info other = {.tid = tid};
    struct resource_record record = {.head = {sizeof record, RECORD_RESOURCE, 3, cbid},
                                     .time_ns = BASE_NS + time,
                                     .id = 5,
                                     .bytes = 4096,
                                     .handle = 0x7000};
    correlate_resource(correlate, &other, &record);
}

static void test_a_module_loaded_inside_a_call_is_its_event(void **state)
{
    (void)state;
    begin();
    resource_on(42, 6, 1050);
    resource_on(43, 6, 1050);  /* on another thread */
    resource_on(42, 99, 1050); /* of no interest */
    launch(1, 1000);
    const struct kept *call = only("cudaLaunchKernel");
    assert_int_equal(call->span.event_count, 1);
    assert_string_equal(call->events[0].name, "cuda.module.loaded");
    assert_int_equal(call->events[0].time_ns, BASE_NS + 1050);
    assert_string_equal(call->events[0].attrs[0].key->name, "cuda.module.id");
    assert_int_equal(call->events[0].attrs[0].i, 5);
    assert_int_equal(call->events[0].attrs[1].i, 4096);
    launch(2, 2000);
    assert_int_equal(spans[1].span.event_count, 0);
    correlate_finish(correlate);
    assert_int_equal(only("program")->span.event_count, 1); /* the other thread's */
}

static void test_what_happens_outside_a_call_is_the_session_s(void **state)
{
    (void)state;
    begin();
    resource_on(42, 1, 500);
    resource_on(42, 2, 5000); /* not yet: the call after this one may have it */
    launch(1, 1000);
    assert_int_equal(only("cudaLaunchKernel")->span.event_count, 0);
    correlate_finish(correlate);
    const struct kept *session = only("program");
    assert_int_equal(session->span.event_count, 2);
    assert_string_equal(session->events[0].name, "cuda.context.created");
    assert_string_equal(session->events[1].name, "cuda.context.destroyed");
    assert_int_equal(session->events[0].attrs[0].type, ATTR_POINTER);
    assert_int_equal(session->events[0].attrs[0].i, 0x7000);
}

static void test_many_events_inside_a_call(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 40; i++) /* more than are held: the rest goes to the session */
        resource_on(42, 6, 1050);
    launch(1, 1000);
    assert_int_equal(only("cudaLaunchKernel")->span.event_count, 8);
    assert_int_equal(only("cudaLaunchKernel")->span.events_dropped, 24);
    resource_on(42, 6, 2050); /* there is room again */
    launch(2, 2000);
    assert_int_equal(spans[1].span.event_count, 1);
    correlate_finish(correlate);
    assert_int_equal(only("program")->span.event_count, 8);
}

/* --- devices and contexts
 * ------------------------------------------------------------------------------------------ */

static void tell_device(uint32_t id, const char *name)
{
    struct activity_record record = {.kind = ACTIVITY_DEVICE};
    set_field(&record, "cuda.device.id", id);
    set_field(&record, "cuda.device.name", (uint64_t)(uintptr_t)name);
    correlate_activity(correlate, &record);
}

static void test_work_waits_for_its_devices_description(void **state)
{
    (void)state;
    struct correlate_options options = usual_options();
    options.expects_devices = true;
    begin_as(&options);
    assert_false(correlate_wants_records(correlate));
    launch(1, 1000);
    kernel("first", 1, 2000, 2100);
    assert_true(correlate_wants_records(correlate));
    assert_false(correlate_wants_records(correlate)); /* once is enough */
    tick_after(20);
    assert_int_equal(device_count, 0);
    tell_device(0, "H200");
    tick_after(20);
    expect_child(only("first"), only("cudaLaunchKernel"));
    assert_int_equal(device_count, 1);
    assert_string_equal(devices[0].name, "H200");
    launch(2, 3000);
    kernel("second", 2, 4000, 4100);
    only("second");
}

static void test_a_device_that_nobody_describes_keeps_no_work_back(void **state)
{
    (void)state;
    struct correlate_options options = usual_options();
    options.expects_devices = true;
    begin_as(&options);
    launch(1, 1000);
    kernel("first", 1, 2000, 2100);
    tick_after(90); /* wait_ms is 100 */
    assert_int_equal(device_count, 0);
    tick_after(20);
    only("first");
    assert_int_equal(device_count, 1);
    assert_string_equal(devices[0].name, "");
    launch(2, 3000);
    kernel("second", 2, 4000, 4100);
    only("second");
}

static bool slept_before_3000(uint64_t time_ns)
{
    return time_ns < BASE_NS + 3000;
}

/* In sleep, and across its edge, CUPTI gives records whose calls nobody saw, now and then without times. */
static void test_work_that_was_launched_in_sleep_is_left_out(void **state)
{
    (void)state;
    struct correlate_options options = usual_options();
    options.slept_at = slept_before_3000;
    begin_as(&options);
    counter_add(COUNTER_sleeps, 1);
    kernel("launched in sleep", 9, 2000, 2100);
    kernel("timeless", 10, -BASE_NS, -BASE_NS);
    assert_int_equal(counter_get(COUNTER_asleep_records), 1); /* it waits for no call */
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
    (void)state;
    begin();
    counter_add(COUNTER_sleeps, 1);
    launch(12, 4000);
    kernel("timeless", 12, -BASE_NS, -BASE_NS);
    assert_int_equal(counter_get(COUNTER_lost_zero_timestamps), 1);
}

static void test_a_device_is_told_once(void **state)
{
    (void)state;
    begin();
    tell_device(3, "H200");
    assert_int_equal(device_count, 1);
    assert_int_equal(devices[0].index, RESOURCE_DEVICE(3));
    assert_string_equal(devices[0].name, "H200");
    launch(1, 1000);
    for (int i = 0; i < 3; i++) {
        struct activity_record record = make_kernel("k", 1, 1500, 1600);
        record.device_id = 3;
        correlate_activity(correlate, &record);
    }
    assert_int_equal(device_count, 1);
    assert_int_equal(spans[3].span.resource, RESOURCE_DEVICE(3));
    for (int i = 0; i < 3; i++)
        kernel("k", 1, 1500, 1600); /* device 0, of which nothing was told */
    assert_int_equal(device_count, 2);
    assert_int_equal(devices[1].index, RESOURCE_DEVICE(0));
    assert_string_equal(devices[1].name, "");
    tell_device(0, "late");
    assert_int_equal(device_count, 3);
    assert_string_equal(devices[2].name, "late");
}

static void test_devices_beyond_the_table(void **state)
{
    (void)state;
    begin();
    tell_device(DEVICES_MAX, "too many");
    tell_device(UINT32_MAX, "unknown");
    struct activity_record record = make_kernel("k", 0, 1500, 1600);
    record.device_id = DEVICES_MAX;
    correlate_activity(correlate, &record);
    record.device_id = UINT32_MAX;
    correlate_activity(correlate, &record);
    assert_int_equal(device_count, 0);
    assert_int_equal(spans[0].span.resource, RESOURCE_PROCESS);
    assert_int_equal(spans[1].span.resource, RESOURCE_PROCESS);
}

static void test_the_null_stream_is_marked(void **state)
{
    (void)state;
    struct activity_record context = {.kind = ACTIVITY_CONTEXT, .context_id = 1};
    begin();
    context.present = 1 << 4;
    context.values[4] = 7;
    correlate_activity(correlate, &context);
    kernel("on_null", 0, 1500, 1600);
    assert_int_equal(attr_int(only("on_null"), "cuda.stream.default"), 1);
    struct activity_record record = make_kernel("on_other", 0, 1500, 1600);
    record.stream_id = 8;
    correlate_activity(correlate, &record);
    assert_null(attr(only("on_other"), "cuda.stream.default"));
    record = make_kernel("of_other", 0, 1500, 1600);
    record.context_id = 2;
    correlate_activity(correlate, &record);
    assert_null(attr(only("of_other"), "cuda.stream.default"));
}

/* --- names
 * ---------------------------------------------------------------------------------------------------------
 */

static void test_copies_are_named_by_their_direction(void **state)
{
    (void)state;
    struct activity_record copy = make(ACTIVITY_MEMCPY, 0, 1500, 1600);
    begin();
    set_field(&copy, "cuda.memcpy.kind", 1);
    set_field(&copy, "cuda.memcpy.bytes", 1ull << 40);
    correlate_activity(correlate, &copy);
    assert_int_equal(attr_int(only("memcpy HostToDevice"), "cuda.memcpy.bytes"), 1ll << 40);
    expect_text(only("memcpy HostToDevice"), "cuda.memcpy.kind", "HostToDevice");
    set_field(&copy, "cuda.memcpy.kind", 200);
    correlate_activity(correlate, &copy);
    assert_int_equal(attr_int(only("memcpy"), "cuda.memcpy.kind"), 200);
    struct activity_record fill = make(ACTIVITY_MEMSET, 0, 1500, 1600);
    correlate_activity(correlate, &fill);
    only("memset");
    kernel(NULL, 0, 1500, 1600);
    only("kernel");
}

/* --- contexts and ranges
 * ------------------------------------------------------------------------------------------- */

static const struct thread_info other_thread = {.tid = 43, .name = "other", .serial = 7, .slot = 1};
static const struct thread_info next_thread = {.tid = 44, .name = "next", .serial = 8, .slot = 1};

static void attach_flags(const struct thread_info *on, uint8_t number, uint8_t flags, const char *state)
{
    union {
        struct context_record record;
        char bytes[256];
    } context = {
        .record = {.head = {sizeof context, RECORD_CONTEXT, 0, 0}, .time_ns = BASE_NS, .flags = flags}};
    memset(context.record.trace_id, number, 16);
    memset(context.record.span_id, number, 8);
    context.record.state_bytes = (uint16_t)strlen(state);
    memcpy(context.record.state, state, strlen(state));
    correlate_context(correlate, on, &context.record);
}

static void attach(uint8_t number)
{
    attach_flags(&thread, number, TRACE_FLAG_SAMPLED, "");
}

/* `attr`: of type int, named "answer"; 0: none. */
static void say(const struct thread_info *on, enum record_type type, uint64_t id, uint64_t time,
                const char *name, uint8_t flags, int64_t attr)
{
    union {
        struct range_record record;
        char bytes[RANGE_RECORD_BYTES];
    } range = {.record = {.head = {sizeof range, (uint8_t)type, 0, 0}, .time_ns = BASE_NS + time, .id = id}};
    struct range_attr_head head = {ATTR_INT, 6, 8};
    char *at = range.record.text + strlen(name);
    range.record.flags = flags;
    range.record.name_bytes = (uint16_t)strlen(name);
    memcpy(range.record.text, name, strlen(name));
    if (attr) {
        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, "answer", 6);
        memcpy(at + sizeof head + 6, &attr, 8);
        at += sizeof head + 14;
        range.record.attr_count = 1;
    }
    range.record.text_bytes = (uint32_t)(at - range.record.text);
    correlate_range(correlate, on, &range.record);
}

static void push(uint64_t id, uint64_t time, const char *name)
{
    say(&thread, RECORD_RANGE_BEGIN, id, time, name, RANGE_ON_THREAD, 0);
}

static void end(uint64_t id, uint64_t time)
{
    say(&thread, RECORD_RANGE_END, id, time, "", 0, 0);
}

static void expect_below(const struct kept *span, uint8_t trace, uint64_t parent_id)
{
    uint8_t trace_id[16];
    memset(trace_id, trace, 16);
    assert_memory_equal(span->span.trace_id, trace_id, 16);
    assert_memory_equal(span->span.parent_span_id, &parent_id, 8);
}

#define SPAN_OF(number) (0x0101010101010101ull * (number))

static void test_a_call_belongs_to_its_threads_context(void **state)
{
    (void)state;
    begin();
    attach(5);
    call_full(CALL_RUNTIME, "cudaLaunchKernel", 1, 1000, 1100, 0);
    attach(0); /* detached: the work comes later all the same */
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 2000, 2100, 0);
    kernel("late", 1, 5000, 5100);
    correlate_finish(correlate);
    expect_below(only("cudaLaunchKernel"), 5, SPAN_OF(5));
    expect_child(only("late"), only("cudaLaunchKernel"));
    expect_child(only("cudaMalloc"), only("program"));
    assert_int_equal(only("cudaLaunchKernel")->span.flags,
                     TRACE_FLAG_SAMPLED); /* it may be remote: not known */
    assert_int_equal(only("late")->span.flags, 0x100 | TRACE_FLAG_SAMPLED);
    assert_int_equal(attr_int(only("program"), "cuda.session.spans"), 1);
}

static void test_contexts_are_of_one_thread(void **state)
{
    (void)state;
    begin();
    attach(5);
    attach_flags(&other_thread, 6, TRACE_FLAG_SAMPLED, "");
    launch(1, 1000);
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaMalloc")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    correlate_call(correlate, &other_thread, &record);
    expect_below(only("cudaLaunchKernel"), 5, SPAN_OF(5));
    expect_below(only("cudaMalloc"), 6, SPAN_OF(6));
    span_count = 0;
    correlate_call(correlate, &next_thread, &record); /* the same slot, another thread */
    correlate_finish(correlate);
    expect_child(only("cudaMalloc"), only("program"));
}

static void test_what_is_not_sampled_is_dropped_and_no_orphan(void **state)
{
    (void)state;
    begin();
    attach_flags(&thread, 5, 0, "");
    push(77, 900, "range");
    launch(1, 1000);
    end(77, 1200);
    kernel("work", 1, 2000, 2100);
    correlate_finish(correlate);
    assert_int_equal(span_count, 0);
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 3);
    assert_int_equal(counter_get(COUNTER_orphans), 0);
}

static void test_what_happened_outside_of_calls_is_the_sessions(void **state)
{
    (void)state;
    struct resource_record loaded = {.head = {sizeof loaded, RECORD_RESOURCE, 0, 6},
                                     .time_ns = BASE_NS + 500};
    begin();
    attach(5); /* all work is a request's: there is no session yet */
    correlate_resource(correlate, &thread, &loaded);
    launch(1, 1000);
    correlate_finish(correlate);
    assert_int_equal(only("program")->span.event_count, 1);
    assert_int_equal(only("cudaLaunchKernel")->span.event_count, 0);
}

static void test_the_tracestate_goes_along(void **state)
{
    (void)state;
    begin();
    attach_flags(&thread, 5, TRACE_FLAG_SAMPLED, "vendor=a");
    launch(1, 1000);
    assert_string_equal(only("cudaLaunchKernel")->span.trace_state, "vendor=a");
    for (unsigned i = 0; i < 600; i++) /* as many other requests as are remembered */
        attach_flags(&thread, (uint8_t)(6 + i % 2), TRACE_FLAG_SAMPLED, "other=b");
    kernel("work", 1, 2000, 2100);
    assert_null(only("work")->span.trace_state);
}

static void test_ranges_nest(void **state)
{
    (void)state;
    begin();
    attach(5);
    push(100, 900, "outer");
    push(200, 950, "inner");
    launch(1, 1000);
    end(200, 1200);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 0);
    end(100, 1500);
    assert_int_equal(span_count, 2); /* both ranges wait for the kernel that they count */
    kernel("work", 1, 2000, 2100);
    tick_after(20);
    expect_below(only("outer"), 5, SPAN_OF(5));
    expect_below(only("inner"), 5, 100);
    expect_below(only("cudaLaunchKernel"), 5, 200);
    expect_below(only("cudaMalloc"), 5, 100);
    expect_child(only("work"), only("cudaLaunchKernel"));
    assert_int_equal(only("outer")->span.start_ns, BASE_NS + 900);
    assert_int_equal(only("outer")->span.end_ns, BASE_NS + 1500);
    expect_text(only("outer"), "cuda.range", "range");
    assert_int_equal(attr_int(only("outer"), "thread.id"), 42);
}

static void test_a_range_counts_while_its_context_is_there(void **state)
{
    (void)state;
    begin();
    attach(5);
    push(100, 900, "of five");
    attach(6);
    launch(1, 1000);
    expect_below(only("cudaLaunchKernel"), 6, SPAN_OF(6));
    push(200, 1100, "of six");
    attach(5);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 0);
    expect_below(only("cudaMalloc"), 5, 100); /* the inner one is of another context */
}

static void test_ranges_without_a_context_are_the_sessions(void **state)
{
    (void)state;
    begin();
    push(100, 900, "range");
    launch(1, 1000);
    end(100, 1200);
    correlate_finish(correlate);
    expect_child(only("range"), only("program"));
    expect_child(only("cudaLaunchKernel"), only("range"));
    assert_int_equal(attr_int(only("program"), "cuda.session.spans"), 2);
    assert_int_equal(only("program")->span.start_ns, BASE_NS + 900);
}

static void test_ranges_may_end_in_any_order_and_place(void **state)
{
    (void)state;
    begin();
    attach(5);
    push(100, 900, "outer");
    push(200, 950, "inner");
    end(100, 1000);
    launch(1, 1100);
    expect_below(only("cudaLaunchKernel"), 5, 200);
    say(&other_thread, RECORD_RANGE_END, 200, 1200, "", 0, 0);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 0);
    expect_below(only("cudaMalloc"), 5, SPAN_OF(5));
    say(&other_thread, RECORD_RANGE_END, 300, 1500, "", 0, 0); /* before its begin is handed over */
    say(&thread, RECORD_RANGE_BEGIN, 300, 1450, "span", 0, 0);
    assert_int_equal(only("span")->span.end_ns, BASE_NS + 1500);
    expect_text(only("span"), "cuda.range", "span");
    end(999, 1600); /* nobody's */
    correlate_finish(correlate);
    assert_int_equal(span_count, 5);
}

static void test_what_nobody_ends_says_so(void **state)
{
    (void)state;
    begin();
    push(100, 900, "of the process");
    say(&other_thread, RECORD_RANGE_BEGIN, 200, 950, "of a thread", RANGE_ON_THREAD, 0);
    say(&next_thread, RECORD_MARK, 0, 1000, "next", 0, 0);
    assert_int_equal(attr(only("of a thread"), "cuda.range.unended")->i, 1);
    assert_int_equal(attr(only("next"), "cuda.instant")->i, 1);
    correlate_finish(correlate);
    assert_int_equal(attr(only("of the process"), "cuda.range.unended")->i, 1);
}

static void test_ranges_have_attributes_status_and_events(void **state)
{
    (void)state;
    begin();
    say(&thread, RECORD_RANGE_BEGIN, 100, 900, "range", RANGE_ON_THREAD, 42);
    say(&thread, RECORD_MARK, 0, 950, "half", 0, 43);
    for (unsigned i = 0; i < 40; i++)
        say(&thread, RECORD_MARK, 0, 960 + i, "more", 0, 0);
    struct range_record failed = {.head = {sizeof failed, RECORD_RANGE_END, 0, 0},
                                  .id = 100,
                                  .time_ns = BASE_NS + 1500,
                                  .status = SPAN_STATUS_ERROR};
    correlate_range(correlate, &thread, &failed);
    const struct kept *range = only("range");
    assert_int_equal(attr_int(range, "answer"), 42);
    assert_int_equal(range->span.status, SPAN_STATUS_ERROR);
    assert_null(range->span.status_message);
    assert_string_equal(range->events[0].name, "half");
    assert_int_equal(range->events[0].attrs[0].i, 43);
    assert_int_equal(range->events[0].time_ns, BASE_NS + 950);
    assert_int_equal(range->span.event_count + range->span.events_dropped, 41);
}

static void test_too_many_open_ranges_are_counted(void **state)
{
    (void)state;
    begin();
    attach(5);
    for (uint64_t id = 1; id <= RANGES_OPEN_MAX + 3; id++)
        push(id, 900, "range");
    assert_int_equal(counter_get(COUNTER_lost_range), 3);
    launch(1, 1000); /* deeper than anyone nests */
    expect_below(only("cudaLaunchKernel"), 5, RANGE_PARENTS_MAX);
    end(RANGES_OPEN_MAX, 1100);
    push(9999, 1200, "again");
    assert_int_equal(counter_get(COUNTER_lost_range), 3);
    end(9999, 1300);
    only("again");
}

static void name(enum named_object object, uint64_t handle, const char *text)
{
    union {
        struct name_record record;
        char bytes[128];
    } named = {.record = {.head = {sizeof named, RECORD_NAME, 0, (uint16_t)object},
                          .handle = handle,
                          .name_bytes = (uint32_t)strlen(text)}};
    memcpy(named.record.name, text, strlen(text));
    correlate_name(correlate, &named.record);
}

static void test_streams_and_threads_have_the_programs_names(void **state)
{
    (void)state;
    union {
        struct call_record record;
        char bytes[sizeof(struct call_record) + 8];
    } sync = {.record = {.head = {sizeof sync, RECORD_CALL, CALL_RUNTIME,
                                  find_call(CALL_RUNTIME, "cudaStreamSynchronize")},
                         .start_ns = BASE_NS + 1000,
                         .end_ns = BASE_NS + 1100,
                         .correlation_id = 1,
                         .present = 1}};
    uint64_t handle = 0x7f0000;
    memcpy(sync.record.values, &handle, 8);
    begin();
    name(NAMED_THREAD, 42, "loader");
    name(NAMED_STREAM, handle, "copies");
    correlate_call(correlate, &thread, &sync.record);
    kernel("work", 1, 2000, 2100);
    expect_text(only("cudaStreamSynchronize"), "thread.name", "loader");
    expect_text(only("cudaStreamSynchronize"), "cuda.stream.name", "copies");
    expect_text(only("work"), "cuda.stream.name", "copies");
    span_count = 0;
    sync.record.head.cbid = find_call(CALL_RUNTIME, "cudaStreamDestroy");
    correlate_call(correlate, &thread, &sync.record);
    sync.record.head.cbid = find_call(CALL_RUNTIME, "cudaStreamSynchronize");
    correlate_call(correlate, &thread, &sync.record);
    expect_text(only("cudaStreamDestroy"), "cuda.stream.name", "copies");
    assert_null(attr(only("cudaStreamSynchronize"), "cuda.stream.name"));
}

/* --- totals of ranges and sessions --- */

static void test_ranges_and_the_session_count_what_is_inside(void **state)
{
    (void)state;
    begin();
    push(100, 900, "outer");
    launch(1, 1000);
    push(200, 1150, "inner");
    launch(2, 1200);
    call_full(CALL_RUNTIME, "cudaDeviceSynchronize", 3, 1400, 1700, 700);
    end(200, 1800);
    end(100, 1900);
    launch(4, 2000);
    kernel("_Z3addi", 2, 1500, 1600);
    kernel("_Z3muli", 1, 1550, 1900);
    kernel("_Z3addi", 4, 2500, 2600);
    correlate_finish(correlate);
    const struct kept *inner = only("inner"), *outer = only("outer"), *session = only("program");
    assert_int_equal(attr_int(inner, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(inner, "cuda.total.errors"), 1);
    assert_int_equal(attr_int(inner, "cuda.total.sync_time"), 300);
    assert_int_equal(attr_int(inner, "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(inner, "cuda.total.gpu_time"), 100);
    assert_int_equal(attr_int(inner, "cuda.total.start_delay"), 300);
    assert_int_equal(inner->span.status, SPAN_STATUS_UNSET); /* the call's span says it */
    assert_int_equal(attr_int(outer, "cuda.total.calls"), 3);
    assert_int_equal(attr_int(outer, "cuda.total.kernels"), 2);
    assert_int_equal(attr_int(outer, "cuda.total.gpu_time"), 400);
    assert_int_equal(attr_int(outer, "cuda.total.launch_time"), 200);
    expect_text(outer, "cuda.total.slowest.1.kernel", "mul");
    expect_text(outer, "cuda.total.slowest.2.kernel", "add");
    assert_int_equal(attr_int(session, "cuda.total.calls"), 4);
    assert_int_equal(attr_int(session, "cuda.total.kernels"), 3);
    assert_int_equal(attr_int(session, "cuda.total.gpu_time"), 500);
    assert_int_equal(attr_int(session, "cuda.total.slowest.2.duration"), 100);
    assert_int_equal(session->span.status, SPAN_STATUS_UNSET);
    assert_int_equal(counter_get(COUNTER_totals_incomplete), 0);
}

static void test_a_request_s_work_is_not_the_session_s(void **state)
{
    (void)state;
    begin();
    launch(1, 1000);
    attach(5);
    push(100, 1500, "range");
    launch(2, 2000);
    end(100, 2500);
    kernel("a", 1, 3000, 3100);
    kernel("b", 2, 3200, 3400);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("program"), "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(only("program"), "cuda.total.gpu_time"), 100);
    assert_int_equal(attr_int(only("range"), "cuda.total.gpu_time"), 200);
}

static void test_a_range_waits_for_its_work_only_so_long(void **state)
{
    (void)state;
    begin();
    say(&thread, RECORD_RANGE_BEGIN, 100, 900, "range", RANGE_ON_THREAD, 42);
    say(&thread, RECORD_MARK, 0, 950, "half", 0, 43);
    launch(1, 1000);
    say(&thread, RECORD_RANGE_END, 100, 1100, "done", 0, 44);
    tick_after(90); /* wait_ms is 100 */
    assert_int_equal(span_count, 1);
    tick_after(20);
    const struct kept *range = only("range");
    assert_int_equal(range->span.end_ns, BASE_NS + 1100);
    assert_int_equal(attr_int(range, "answer"), 42); /* all that it had lingered with it */
    assert_int_equal(range->span.attrs[4].i, 44);
    assert_string_equal(range->events[0].name, "half");
    assert_int_equal(range->events[0].attrs[0].i, 43);
    assert_int_equal(attr_int(range, "cuda.total.calls"), 1);
    assert_int_equal(attr_int(range, "cuda.total.kernels"), 0);
    kernel("late", 1, 2000, 2100); /* as ever */
    expect_child(only("late"), only("cudaLaunchKernel"));
}

static void test_where_many_ranges_wait_the_oldest_go_early(void **state)
{
    (void)state;
    settings.correlation.pending_max = 65536;
    settings.session.spans_max = UINT32_MAX;
    begin_counting_spans();
    for (uint32_t id = 1; id <= 20000; id++) {
        push(id, 1000 * id, "range");
        launch(id, 1000 * id + 100);
        end(id, 1000 * id + 500);
    }
    assert_in_range(counter_get(COUNTER_totals_incomplete), 1000, 19999);
    assert_int_equal(counter_get(COUNTER_lost_range), 0);
    correlate_finish(correlate);
    assert_int_equal(counted_spans, 2 * 20000 + 1);
    assert_int_equal(counted_incomplete,
                     counter_get(COUNTER_totals_incomplete) + 1); /* and the session around */
}

/* --- summaries --- */

static void use_summary(void)
{
    settings.detail = DETAIL_SUMMARY;
    settings.summary.idle_ms = 1000;
    settings.cupti.flush_interval_ms = 500;
}

static void begin_summary(void)
{
    use_summary();
    begin();
}

static void test_a_request_has_one_span(void **state)
{
    (void)state;
    begin_summary();
    attach_flags(&thread, 5, TRACE_FLAG_SAMPLED, "vendor=a");
    launch(1, 1000);
    struct activity_record copy = make(ACTIVITY_MEMCPY, 2, 4000, 4500);
    set_field(&copy, "cuda.memcpy.bytes", 4096);
    call_full(CALL_RUNTIME, "cudaMemcpyAsync", 2, 1200, 1250, 0);
    kernel("_Z3addi", 1, 3000, 4100);
    correlate_activity(correlate, &copy);
    tick_after(500);
    assert_int_equal(span_count, 0); /* the thread may go on */
    attach(0);
    tick_after(20);
    assert_int_equal(span_count, 0); /* or come back at once */
    tick_after(100);
    assert_int_equal(span_count, 1);
    const struct kept *summary = only("cuda summary");
    expect_below(summary, 5, SPAN_OF(5));
    assert_string_equal(summary->span.trace_state, "vendor=a");
    assert_int_equal(summary->span.flags, TRACE_FLAG_SAMPLED);
    assert_int_equal(summary->span.start_ns, BASE_NS + 1000);
    assert_int_equal(summary->span.end_ns, BASE_NS + 4500);
    assert_int_equal(summary->span.status, SPAN_STATUS_UNSET);
    assert_int_equal(attr_int(summary, "cuda.summary.number"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(summary, "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.copies"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.copy_bytes"), 4096);
    assert_int_equal(attr_int(summary, "cuda.total.gpu_time"), 1500);
    assert_int_equal(attr_int(summary, "cuda.total.start_delay"), 2000 + 2800);
    assert_int_equal(attr_int(summary, "cuda.total.launch_time"), 100);
    correlate_finish(correlate);
    assert_int_equal(span_count, 1);
    assert_int_equal(counter_get(COUNTER_spans_created), 1);
}

static void test_a_summary_waits_for_the_gpu(void **state)
{
    (void)state;
    begin_summary();
    attach(5);
    launch(1, 1000);
    attach(0);
    tick_after(1400); /* idle_ms, and as long as CUPTI may keep a record back */
    assert_int_equal(span_count, 0);
    kernel("a", 1, 2000, 2100);
    tick_after(90);
    assert_int_equal(span_count, 0);
    tick_after(20);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.kernels"), 1);
}

static void test_an_idle_summary_leaves_and_late_work_makes_a_further_one(void **state)
{
    (void)state;
    begin_summary();
    attach_flags(&thread, 5, TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM, "");
    launch(1, 1000);
    launch(2, 1200);
    kernel("a", 2, 2000, 2100);
    tick_after(1490);
    assert_int_equal(span_count, 0);
    tick_after(20); /* the thread holds it still, and one kernel is missing */
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.kernels"), 1);
    span_count = 0;
    kernel("late", 1, 9000, 9500);
    launch(3, 9600);
    attach(0);
    tick_after(1600);
    const struct kept *further = only("cuda summary");
    expect_below(further, 5, SPAN_OF(5));
    assert_int_equal(further->span.flags, TRACE_FLAG_SAMPLED | TRACE_FLAG_RANDOM);
    assert_int_equal(attr_int(further, "cuda.summary.number"), 2);
    assert_int_equal(attr_int(further, "cuda.total.calls"), 1);
    assert_int_equal(attr_int(further, "cuda.total.gpu_time"), 500);
    assert_int_equal(attr_int(further, "cuda.total.start_delay"), 8000);
    assert_int_equal(further->span.start_ns, BASE_NS + 9000);
    span_count = 0;
    kernel("latest", 3, 19000, 19500);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.summary.number"), 3);
}

static void test_threads_of_one_request_have_one_summary(void **state)
{
    (void)state;
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaMalloc")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    begin_summary();
    attach(5);
    attach_flags(&other_thread, 5, TRACE_FLAG_SAMPLED, "");
    call_full(CALL_RUNTIME, "cudaMalloc", 1, 1000, 1100, 0);
    correlate_call(correlate, &other_thread, &record);
    attach(6);
    call_full(CALL_RUNTIME, "cudaMalloc", 3, 2000, 2100, 0);
    tick_after(200);
    assert_int_equal(span_count, 0); /* the other holds it */
    attach_flags(&other_thread, 0, 0, "");
    tick_after(200);
    const struct kept *summary = only("cuda summary");
    expect_below(summary, 5, SPAN_OF(5));
    assert_int_equal(attr_int(summary, "cuda.total.calls"), 2);
    span_count = 0;
    correlate_call(correlate, &next_thread, &record); /* in the other thread's slot: of no request */
    correlate_finish(correlate);
    expect_below(only("cuda summary"), 6, SPAN_OF(6));
    assert_int_equal(attr_int(only("program"), "cuda.total.calls"), 1);
}

static void test_a_thread_that_is_gone_holds_nothing(void **state)
{
    (void)state;
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaMalloc")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    begin_summary();
    attach_flags(&other_thread, 5, TRACE_FLAG_SAMPLED, "");
    correlate_call(correlate, &other_thread, &record);
    correlate_call(correlate, &next_thread, &record); /* has its slot */
    tick_after(200);
    expect_below(only("cuda summary"), 5, SPAN_OF(5));
}

static void test_ranges_of_a_request_are_spans_and_count_with_it(void **state)
{
    (void)state;
    begin_summary();
    attach(5);
    push(100, 900, "outer");
    push(200, 950, "inner");
    launch(1, 1000);
    end(200, 1200);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1300, 1400, 2);
    end(100, 1500);
    attach(0);
    kernel("work", 1, 2000, 2100);
    tick_after(200);
    assert_int_equal(span_count, 3);
    expect_below(only("outer"), 5, SPAN_OF(5));
    expect_below(only("inner"), 5, 100);
    assert_int_equal(attr_int(only("inner"), "cuda.total.calls"), 1);
    assert_int_equal(attr_int(only("inner"), "cuda.total.gpu_time"), 100);
    assert_int_equal(attr_int(only("outer"), "cuda.total.calls"), 2);
    assert_int_equal(attr_int(only("outer"), "cuda.total.gpu_time"), 100);
    assert_int_equal(only("outer")->span.status, SPAN_STATUS_UNSET);
    const struct kept *summary = only("cuda summary");
    expect_below(summary, 5, SPAN_OF(5));
    assert_int_equal(attr_int(summary, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(summary, "cuda.total.errors"), 1);
    assert_int_equal(attr_int(summary, "cuda.total.kernels"), 1);
    expect_text(summary, "error.type", "cudaErrorMemoryAllocation");
    assert_int_equal(summary->span.status, SPAN_STATUS_ERROR);
    assert_string_equal(summary->span.status_message, "cudaErrorMemoryAllocation");
}

static void test_work_in_a_long_range_counts_in_a_further_summary(void **state)
{
    (void)state;
    begin_summary();
    attach(5);
    push(100, 900, "range");
    call_full(CALL_RUNTIME, "cudaMalloc", 1, 1000, 1100, 0);
    tick_after(1100);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.calls"), 1);
    span_count = 0;
    launch(2, 2000);
    kernel("work", 2, 2500, 2600);
    end(100, 3000);
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("range"), "cuda.total.calls"), 2);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.calls"), 1);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.kernels"), 1);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.summary.number"), 2);
}

static void test_a_request_without_work_has_no_summary(void **state)
{
    (void)state;
    begin_summary();
    attach(5);
    push(100, 900, "range");
    end(100, 1000);
    attach(6);
    attach_flags(&other_thread, 7, 0, ""); /* not sampled */
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaLaunchKernel")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .correlation_id = 2};
    correlate_call(correlate, &other_thread, &record);
    kernel("work", 2, 2000, 2100);
    tick_after(5000);
    correlate_finish(correlate);
    assert_int_equal(span_count, 1);
    only("range");
    assert_int_equal(counter_get(COUNTER_spans_unsampled), 2);
}

static void test_work_of_no_request_is_the_sessions(void **state)
{
    (void)state;
    settings.session.age_max_ms = 1000;
    begin_summary();
    launch(1, 1000);
    call_full(CALL_RUNTIME, "cudaMalloc", 2, 1200, 1300, 2);
    clock_source = later_clock;
    tick_after(20); /* due, but a kernel is missing */
    assert_int_equal(span_count, 0);
    kernel("work", 1, 2000, 2200);
    kernel("nobody's", 99, 2000, 2200);
    tick_after(20);
    const struct kept *session = only("program");
    assert_int_equal(attr_int(session, "cuda.total.calls"), 2);
    assert_int_equal(attr_int(session, "cuda.total.gpu_time"), 200);
    assert_int_equal(attr_int(session, "cuda.session.spans"), 0);
    assert_int_equal(session->span.end_ns, BASE_NS + 2200);
    assert_int_equal(session->span.status, SPAN_STATUS_ERROR);
    expect_text(session, "error.type", "cudaErrorMemoryAllocation");
    span_count = 0;
    kernel("more", 1, 5000, 5300); /* its session has left */
    correlate_finish(correlate);
    assert_int_equal(attr_int(only("program"), "cuda.total.gpu_time"), 300 + 200); /* with the orphan */
    assert_int_equal(attr_int(only("program"), "cuda.total.calls"), 0);
    assert_int_equal(counter_get(COUNTER_orphans), 1);
}

static void test_events_and_cuptis_own_work_have_no_place_in_a_summary(void **state)
{
    (void)state;
    struct resource_record loaded = {.head = {sizeof loaded, RECORD_RESOURCE, 0, 6},
                                     .time_ns = BASE_NS + 500};
    struct activity_record overhead = make(ACTIVITY_OVERHEAD, 0, 100, 200);
    begin_summary();
    correlate_resource(correlate, &thread, &loaded);
    correlate_activity(correlate, &overhead);
    attach(5);
    launch(1, 400);
    correlate_finish(correlate);
    assert_int_equal(only("cuda summary")->span.event_count, 0);
    assert_int_equal(attr_int(only("cuda summary"), "cuda.total.gpu_time"), 0);
}

static void test_beyond_the_table_the_idlest_leave_early(void **state)
{
    (void)state;
    struct context_record context = {.head = {sizeof context, RECORD_CONTEXT, 0, 0},
                                     .time_ns = BASE_NS,
                                     .flags = TRACE_FLAG_SAMPLED,
                                     .trace_id = {1}};
    settings.correlation.pending_max = 65536;
    use_summary();
    begin_counting_spans();
    for (uint32_t i = 1; i <= SUMMARIES_MAX + 100; i++) {
        memcpy(context.span_id, &i, sizeof i);
        correlate_context(correlate, &thread, &context);
        launch(i, 1000 * i);
    }
    assert_int_equal(counter_get(COUNTER_summaries_early), 100);
    assert_int_equal(counted_spans, 100);
    kernel("late", 1, 1500, 1600); /* a further one, for which another goes */
    assert_int_equal(counter_get(COUNTER_summaries_early), 101);
    correlate_finish(correlate);
    assert_int_equal(counted_spans, SUMMARIES_MAX + 101);
}

static void test_where_summaries_are_many_they_leave_sooner(void **state)
{
    (void)state;
    struct context_record context = {.head = {sizeof context, RECORD_CONTEXT, 0, 0},
                                     .time_ns = BASE_NS,
                                     .flags = TRACE_FLAG_SAMPLED,
                                     .trace_id = {1}};
    settings.correlation.pending_max = 65536;
    use_summary();
    begin_counting_spans();
    for (uint32_t i = 1; i <= SUMMARIES_MAX / 2 + 10; i++) {
        assert_false(correlate_wants_records(correlate) && i <= SUMMARIES_MAX / 2);
        memcpy(context.span_id, &i, sizeof i);
        correlate_context(correlate, &thread, &context);
        launch(i, 1000 * i);
    }
    tick_after(20);
    assert_true(correlate_wants_records(correlate));
    assert_false(correlate_wants_records(correlate)); /* not more often than is of use */
    for (uint32_t i = 1; i <= 100; i++)
        kernel("work", i, 1000 * i + 500, 1000 * i + 600);
    assert_int_equal(counted_spans, 0);
    tick_after(20);                          /* less than they settle for */
    assert_in_range(counted_spans, 10, 100); /* until they are not so many any more */
    assert_int_equal(counter_get(COUNTER_summaries_early), 0);
}

static void test_more_ranges_than_accounts(void **state)
{
    (void)state;
    use_summary();
    begin_counting_spans();
    for (uint8_t i = 1; i < 200; i++) {
        attach(i);
        launch(i, 1000);
    }
    for (uint64_t id = 1000; id < 1000 + 2 * RANGES_OPEN_MAX; id++)
        push(id, 900, "range");
    launch(900, 2000);
    kernel("work", 900, 3000, 3100);
    correlate_finish(correlate);
    assert_int_equal(counted_spans, 199 + RANGES_OPEN_MAX);
}

static void event_call(const char *function, int32_t result)
{
    union {
        struct call_record record;
        char bytes[sizeof(struct call_record) + 8];
    } call = {.record = {.head = {sizeof call, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, function)},
                         .start_ns = BASE_NS + 1000,
                         .end_ns = BASE_NS + 1100,
                         .result = result,
                         .present = 1}};
    uint64_t handle = 0x7e0000;
    memcpy(call.record.values, &handle, 8);
    span_count = 0;
    correlate_call(correlate, &thread, &call.record);
}

static void test_events_have_the_programs_names(void **state)
{
    (void)state;
    begin();
    event_call("cudaEventSynchronize", 0);
    assert_null(attr(only("cudaEventSynchronize"), "cuda.event.name"));
    name(NAMED_EVENT, 0x7e0000, "copied");
    event_call("cudaEventSynchronize", 0);
    expect_text(only("cudaEventSynchronize"), "cuda.event.name", "copied");
    event_call("cudaEventDestroy", 1); /* it failed: the event is there still */
    event_call("cudaEventDestroy", 0);
    expect_text(only("cudaEventDestroy"), "cuda.event.name", "copied");
    event_call("cudaEventSynchronize", 0);
    assert_null(attr(only("cudaEventSynchronize"), "cuda.event.name"));
}

static void tell_handle(uint32_t context_id, uint64_t handle)
{
    struct name_record record = {
        .head = {sizeof record, RECORD_NAME, 0, NAMED_CONTEXT_ID}, .handle = handle, .id = context_id};
    correlate_name(correlate, &record);
}

static void work_in_context(uint32_t context_id, uint32_t correlation_id)
{
    struct call_record launch = {
        .head = {sizeof launch, RECORD_CALL, CALL_RUNTIME, find_call(CALL_RUNTIME, "cudaLaunchKernel")},
        .start_ns = BASE_NS + 1000,
        .end_ns = BASE_NS + 1100,
        .context_id = context_id,
        .correlation_id = correlation_id};
    struct activity_record record = {.kind = ACTIVITY_KERNEL,
                                     .correlation_id = correlation_id,
                                     .context_id = context_id,
                                     .name = "work",
                                     .start_ns = BASE_NS + 2000,
                                     .end_ns = BASE_NS + 2100};
    span_count = 0;
    correlate_call(correlate, &thread, &launch);
    correlate_activity(correlate, &record);
}

static void test_contexts_have_the_programs_names(void **state)
{
    (void)state;
    begin();
    tell_handle(3, 0xc3);
    tell_handle(4, 0xc4);
    name(NAMED_CONTEXT, 0xc3, "training");
    work_in_context(3, 1);
    expect_text(only("cudaLaunchKernel"), "cuda.context.name", "training");
    expect_text(only("work"), "cuda.context.name", "training");
    work_in_context(4, 2);
    assert_null(attr(only("cudaLaunchKernel"), "cuda.context.name"));
    assert_null(attr(only("work"), "cuda.context.name"));
    work_in_context(5, 3); /* one whose handle is unknown */
    assert_null(attr(only("work"), "cuda.context.name"));
    struct resource_record gone = {.head = {sizeof gone, RECORD_RESOURCE, 0, 2}, .handle = 0xc3};
    correlate_resource(correlate, &thread, &gone);
    tell_handle(6, 0xc3); /* the handle again, for another */
    work_in_context(6, 4);
    assert_null(attr(only("work"), "cuda.context.name"));
}

static void test_devices_have_the_programs_names(void **state)
{
    (void)state;
    begin();
    name(NAMED_DEVICE, 0, "left");
    assert_int_equal(device_count, 0);
    work_in_context(1, 1);
    assert_int_equal(device_count, 1);
    assert_string_equal(devices[0].label, "left");
    name(NAMED_DEVICE, 0, "right");
    assert_int_equal(device_count, 2);
    assert_int_equal(devices[1].index, devices[0].index);
    assert_string_equal(devices[1].label, "right");
    name(NAMED_DEVICE, 1, "not seen yet");
    name(NAMED_DEVICE, 1000000, "none");
    assert_int_equal(device_count, 2);
}

static void test_nothing_to_destroy(void **state)
{
    (void)state;
    correlate_destroy(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_kernel_hangs_below_its_call),
        TEST(test_a_call_belongs_to_its_threads_context),
        TEST(test_streams_and_threads_have_the_programs_names),
        TEST(test_events_have_the_programs_names),
        TEST(test_contexts_have_the_programs_names),
        TEST(test_devices_have_the_programs_names),
        TEST(test_contexts_are_of_one_thread),
        TEST(test_what_is_not_sampled_is_dropped_and_no_orphan),
        TEST(test_what_happened_outside_of_calls_is_the_sessions),
        TEST(test_the_tracestate_goes_along),
        TEST(test_ranges_nest),
        TEST(test_a_range_counts_while_its_context_is_there),
        TEST(test_ranges_without_a_context_are_the_sessions),
        TEST(test_ranges_may_end_in_any_order_and_place),
        TEST(test_what_nobody_ends_says_so),
        TEST(test_ranges_have_attributes_status_and_events),
        TEST(test_too_many_open_ranges_are_counted),
        TEST(test_a_record_may_come_before_its_call),
        TEST(test_records_before_the_first_tick_wait_as_long_as_others),
        TEST(test_a_graph_launch_has_many_children),
        TEST(test_a_graph_s_execution_has_its_number_of_nodes),
        TEST(test_a_graph_s_node_leads_to_the_call_that_captured_it),
        TEST(test_ids_come_round),
        TEST(test_calls_that_never_get_a_record_are_given_up),
        TEST(test_calls_without_gpu_work_do_not_wait),
        TEST(test_a_failed_call_says_so),
        TEST(test_odd_calls),
        TEST(test_a_record_waits_only_so_long),
        TEST(test_a_counted_kernel_waits_for_its_counts),
        TEST(test_counts_are_waited_for_only_so_long),
        TEST(test_the_profiler_s_own_kernel_is_none_of_the_program_s),
        TEST(test_a_kernel_of_that_name_is_one_where_nothing_is_counted),
        TEST(test_at_the_end_nothing_waits),
        TEST(test_nothing_waits_where_calls_are_not_traced),
        TEST(test_when_too_many_wait_the_rest_become_orphans),
        TEST(test_host_activity_is_no_orphan),
        TEST(test_sessions_say_what_tracing_took),
        TEST(test_without_figures_of_its_own),
        TEST(test_zero_timestamps_are_lost_and_counted),
        TEST(test_stopped_work_without_times_is_lost_to_the_error),
        TEST(test_stopped_work_with_a_start_ends_when_a_call_reported_the_error),
        TEST(test_the_earliest_report_counts),
        TEST(test_other_contexts_errors_explain_nothing),
        TEST(test_work_launched_after_the_error_is_not_stopped_by_it),
        TEST(test_driver_calls_report_errors_too),
        TEST(test_work_with_both_times_is_whole),
        TEST(test_a_fault_on_the_host_has_no_end_and_is_a_moment),
        TEST(test_an_end_before_the_start_is_lost_and_told_once),
        TEST(test_no_length_becomes_one_ns_and_is_marked),
        TEST(test_clock_skew_is_kept_and_counted),
        TEST(test_facts_are_no_spans_and_no_losses),
        TEST(test_a_session_is_cut_by_spans),
        TEST(test_a_session_is_cut_by_age),
        TEST(test_an_idle_session_is_cut_by_the_tick_and_none_is_begun),
        TEST(test_work_of_a_session_that_was_cut_stays_in_its_trace),
        TEST(test_the_process_s_context_is_the_parent),
        TEST(test_an_idle_process_sends_nothing),
        TEST(test_what_is_not_sampled_is_counted),
        TEST(test_the_parent_s_flag_goes_before_the_sampler),
        TEST(test_a_ratio_of_sessions),
        TEST(test_kernels_are_filtered_by_either_name),
        TEST(test_kinds_that_nobody_asked_for_are_left_out),
        TEST(test_a_module_loaded_inside_a_call_is_its_event),
        TEST(test_what_happens_outside_a_call_is_the_session_s),
        TEST(test_many_events_inside_a_call),
        TEST(test_work_waits_for_its_devices_description),
        TEST(test_a_device_that_nobody_describes_keeps_no_work_back),
        TEST(test_work_that_was_launched_in_sleep_is_left_out),
        TEST(test_times_that_are_missing_are_a_loss_where_the_call_is_known),
        TEST(test_a_device_is_told_once),
        TEST(test_devices_beyond_the_table),
        TEST(test_the_null_stream_is_marked),
        TEST(test_copies_are_named_by_their_direction),
        TEST(test_ranges_and_the_session_count_what_is_inside),
        TEST(test_a_request_s_work_is_not_the_session_s),
        TEST(test_a_range_waits_for_its_work_only_so_long),
        TEST(test_where_many_ranges_wait_the_oldest_go_early),
        TEST(test_a_request_has_one_span),
        TEST(test_a_summary_waits_for_the_gpu),
        TEST(test_an_idle_summary_leaves_and_late_work_makes_a_further_one),
        TEST(test_threads_of_one_request_have_one_summary),
        TEST(test_a_thread_that_is_gone_holds_nothing),
        TEST(test_ranges_of_a_request_are_spans_and_count_with_it),
        TEST(test_work_in_a_long_range_counts_in_a_further_summary),
        TEST(test_a_request_without_work_has_no_summary),
        TEST(test_work_of_no_request_is_the_sessions),
        TEST(test_events_and_cuptis_own_work_have_no_place_in_a_summary),
        TEST(test_beyond_the_table_the_idlest_leave_early),
        TEST(test_where_summaries_are_many_they_leave_sooner),
        TEST(test_more_ranges_than_accounts),
        TEST(test_nothing_to_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
