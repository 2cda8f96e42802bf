#include "correlate_harness.h"
#include "agent/correlate/thread_events.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/call_spans.h"
#include "model/metrics/views.h"

#include <stdlib.h>

struct kept spans[SPANS_MAX];
uint32_t span_count;
struct kept_device devices[16];
uint32_t device_count;
struct settings settings;
struct trace_context parent;
struct correlate *correlate;
uint64_t monotonic_ns;
const struct thread_info thread = {.tid = 42, .name = "main"};
const struct thread_info other_thread = {.tid = 43, .name = "other", .serial = 7, .slot = 1};
const struct thread_info next_thread = {.tid = 44, .name = "next", .serial = 8, .slot = 1};
static const uint8_t zeros[16];

static void on_span(void *context, const struct span *span)
{
    assert_ptr_equal(context, &spans);
    assert_true(span_count < SPANS_MAX);
    struct kept *kept = &spans[span_count++];
    kept->span = *span;
    kept->span.shared = NULL; /* the shared part is copied below */
    kept->span.attr_count = span_attr_total(span);
    uint32_t items = 0;
    for (uint32_t i = 0; i < kept->span.attr_count; i++) {
        struct span_attr *attr = &kept->span.attrs[i];
        *attr = *span_attr_at(span, i);
        if (attr->type != ATTR_ARRAY)
            continue;
        assert_true(items + attr->len <= sizeof kept->items / sizeof *kept->items);
        attr->items = memcpy(&kept->items[items], attr->items, attr->len * sizeof *attr->items);
        items += attr->len;
    }
    snprintf(kept->name, sizeof kept->name, "%.*s", (int)span->name_len, span->name);
    assert_true(span->event_count <= 16);
    if (span->event_count)
        memcpy(kept->events, span->events, span->event_count * sizeof *span->events);
    assert_true(span->link_count <= KEPT_ITEMS_MAX);
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
    assert_string_equal(resource_find(resource, "hw.type")->items->string, "gpu");
    devices[device_count].index = index;
    const struct resource_attr *label = resource_find(resource, "cuda.device.label");
    snprintf(devices[device_count].label, sizeof devices[0].label, "%s", label ? label->items->string : "");
    snprintf(devices[device_count++].name, sizeof devices[0].name, "%s", name ? name->items->string : "");
}

const struct span_attr *attr(const struct kept *kept, const char *key)
{
    for (uint32_t i = 0; i < kept->span.attr_count; i++)
        if (strcmp(kept->span.attrs[i].key->name, key) == 0)
            return &kept->span.attrs[i];
    return NULL;
}

int64_t attr_int(const struct kept *kept, const char *key)
{
    const struct span_attr *found = attr(kept, key);
    assert_non_null(found);
    return found->i;
}

const struct span_attr *attr_item(const struct kept *kept, const char *key, uint32_t index)
{
    const struct span_attr *found = attr(kept, key);
    assert_non_null(found);
    assert_int_equal(found->type, ATTR_ARRAY);
    assert_true(index < found->len);
    return &found->items[index];
}

void expect_text(const struct kept *kept, const char *key, const char *want)
{
    const struct span_attr *found = attr(kept, key);
    assert_non_null(found);
    assert_int_equal(found->type, ATTR_STRING);
    assert_int_equal(found->len, strlen(want));
    assert_memory_equal(found->s, want, found->len);
}

struct kept *only(const char *name)
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

void expect_child(const struct kept *child, const struct kept *of)
{
    assert_memory_equal(child->span.trace_id, of->span.trace_id, 16);
    assert_memory_equal(child->span.parent_span_id, of->span.span_id, 8);
    assert_memory_not_equal(child->span.span_id, of->span.span_id, 8);
}

uint16_t find_call(enum call_domain domain, const char *name)
{
    uint16_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    for (uint16_t cbid = 1; cbid < count; cbid++)
        if (call_info(domain, cbid) && strcmp(call_name(call_info(domain, cbid)), name) == 0)
            return cbid;
    fail_msg("no call %s", name);
    return 0;
}

void call_full(enum call_domain domain, const char *name, uint32_t id, uint64_t start, uint64_t end,
               int32_t result)
{
    struct call_record record = {
        .head = {sizeof record, RECORD_CALL, (uint8_t)domain, find_call(domain, name)},
        .start_ns = BASE_NS + start,
        .end_ns = BASE_NS + end,
        .correlation_id = id,
        .context_id = 1,
        .result = result};
    call_spans_add(correlate, &thread, &record);
}

void launch(uint32_t id, uint64_t start)
{
    call_full(CALL_RUNTIME, "cudaLaunchKernel", id, start, start + 100, 0);
}

uint8_t field(uint16_t kind, const char *key)
{
    for (uint8_t i = 0; i < activity_table[kind].field_count; i++)
        if (strcmp(activity_table[kind].fields[i].key.name, key) == 0)
            return i;
    fail_msg("kind %u has no field %s", kind, key);
    return 0;
}

void set_field(struct activity_record *record, const char *key, uint64_t value)
{
    uint8_t i = field(record->kind, key);
    record->present |= 1ull << i;
    record->values[i] = value;
}

struct activity_record make(uint16_t kind, uint32_t id, uint64_t start, uint64_t end)
{
    struct activity_record record = {.kind = kind,
                                     .correlation_id = id,
                                     .start_ns = BASE_NS + start,
                                     .end_ns = BASE_NS + end,
                                     .context_id = 1,
                                     .stream_id = 7};
    return record;
}

struct activity_record make_kernel(const char *name, uint32_t id, uint64_t start, uint64_t end)
{
    struct activity_record record = make(ACTIVITY_KERNEL, id, start, end);
    record.name = name;
    set_field(&record, "cuda.stream.id", 7);
    return record;
}

void kernel(const char *name, uint32_t id, uint64_t start, uint64_t end)
{
    struct activity_record record = make_kernel(name, id, start, end);
    gpu_join_add(correlate, &record);
}

void tick_after(uint64_t ms)
{
    monotonic_ns += ms * NS_PER_MS;
    correlate_tick(correlate, monotonic_ns);
}

static uint64_t fixed_clock(void)
{
    return BASE_NS;
}

struct correlate_options usual_options(void)
{
    return (struct correlate_options){.settings = &settings,
                                      .program = "program",
                                      .parent = parent.flags || parent.trace_id[0] ? &parent : NULL,
                                      .expects_calls = true,
                                      .sink = {&spans, on_span, on_device}};
}

void begin_before_the_first_tick(const struct correlate_options *options)
{
    assert_int_equal(correlate_create(options, &correlate), STATUS_OK);
    monotonic_ns = clock_monotonic_ns();
}

void begin_as(const struct correlate_options *options)
{
    begin_before_the_first_tick(options);
    correlate_tick(correlate, monotonic_ns); /* waits are measured with the test's clock from now on */
}

void begin(void)
{
    struct correlate_options options = usual_options();
    begin_as(&options);
}

void describe_code(uint64_t id, uint32_t line, uint32_t flags)
{
    union {
        struct code_record record;
        uint8_t bytes[64];
    } code = {
        .record = {
            .head = {48, RECORD_CODE, 0, 0}, .id = id, .frame_count = 1, .flags = CODE_IS_DESCRIBED | flags}};
    struct code_frame frame = {
        .line = line, .file_bytes = 8, .name_bytes = 7, .flags = CODE_FRAME_IS_PROGRAMS};
    memcpy(code.record.frames, &frame, sizeof frame);
    memcpy(code.record.frames + sizeof frame, "graph.pycapture", 15);
    call_spans_code(correlate, &code.record);
}

int setup(void **state)
{
    settings = (struct settings){.sampler = SAMPLER_ALWAYS_ON,
                                 .sampler_parent_based = true,
                                 .correlation = {.pending_max = 1024, .wait_ms = 100},
                                 .session = {.spans_max = 1000, .age_max_ms = 3600000}};
    parent = (struct trace_context){.flags = 0};
    span_count = device_count = 0;
    counters_reset();
    clock_source = fixed_clock; /* for the session's age */
    return 0;
}

int teardown(void **state)
{
    correlate_destroy(correlate);
    correlate = NULL;
    return 0;
}

static struct streams *streams;

int setup_metrics(void **state, const struct step_rules *rules)
{
    setup(state);
    assert_int_equal(streams_create(NULL, 0, HISTOGRAM_EXPLICIT, &streams), STATUS_OK);
    settings.metrics.is_on = true;
    settings.metrics.streams = streams;
    struct correlate_options options = usual_options();
    options.steps = rules;
    begin_as(&options);
    return 0;
}

int teardown_metrics(void **state)
{
    teardown(state);
    free(streams);
    return 0;
}

uint64_t later_clock(void)
{
    return BASE_NS + 2 * NS_PER_SECOND;
}

void attach_flags(const struct thread_info *on, uint8_t number, uint8_t flags, const char *state)
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
    thread_events_context(correlate, on, &context.record);
}

void attach(uint8_t number)
{
    attach_flags(&thread, number, TRACE_FLAG_SAMPLED, "");
}

void say(const struct thread_info *on, enum record_type type, uint64_t id, uint64_t time, const char *name,
         uint8_t flags, int64_t attr)
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
    thread_events_range(correlate, on, &range.record);
}

void push_range(uint64_t id, uint64_t time, const char *name)
{
    say(&thread, RECORD_RANGE_BEGIN, id, time, name, RANGE_ON_THREAD, 0);
}

void end_range(uint64_t id, uint64_t time)
{
    say(&thread, RECORD_RANGE_END, id, time, "", 0, 0);
}

void expect_below(const struct kept *span, uint8_t trace, uint64_t parent_id)
{
    uint8_t trace_id[16];
    memset(trace_id, trace, 16);
    assert_memory_equal(span->span.trace_id, trace_id, 16);
    assert_memory_equal(span->span.parent_span_id, &parent_id, 8);
}

void name_object(enum named_object object, uint64_t handle, const char *text)
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
