#include "cli/trace/trace_segments.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Spans that are open for long are few: sessions, requests, steps, ranges. */
#define OPEN_FACTOR 4 /* at most so many times the margin */
/* Spans that have left the margin, as bits by hash: with the default margin, enough for a rate of false hits
 * below 2 % with 2 million. */
#define LEFT_BITS_MAX       (UINT64_C(1) << 25)
#define LEFT_BITS_OF_MARGIN (UINT64_C(1) << 11) /* for each of its spans */

/* Records that lie one behind the other, by start. */
struct block {
    char *bytes;
    size_t len, capacity;
    struct place {
        size_t offset;
        uint64_t number; /* of the span, from 1 */
    } * places;
    size_t count, place_capacity;
};

struct window {
    struct span_sort *sort;
    struct trace *trace;
    size_t segment_spans, margin_spans;
    struct block before, body, next;
    bool is_end;     /* of the records */
    uint64_t number; /* of the last record that was read */
    struct int_map lanes, threads;
    uint64_t *left; /* or NULL: nothing has left the margin yet */
    uint64_t left_bits;
};

static const struct span_record *record_at(const struct block *block, size_t i)
{
    return (const void *)(block->bytes + block->places[i].offset);
}

static void append(struct block *block, const struct span_record *record, uint64_t number)
{
    block->bytes = xgrow(block->bytes, &block->capacity, block->len + record->size, 1);
    block->places = xgrow(block->places, &block->place_capacity, block->count + 1, sizeof *block->places);
    memcpy(block->bytes + block->len, record, record->size);
    block->places[block->count++] = (struct place){block->len, number};
    block->len += record->size;
}

static void clear(struct block *block)
{
    block->len = block->count = 0;
}

static void deinit(struct block *block)
{
    free(block->bytes);
    free(block->places);
}

static enum status fill(struct window *window, struct block *block, size_t count, struct error *err)
{
    const struct span_record *record;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !window->is_end && block->count < count) {
        status = span_sort_next(window->sort, &record, err);
        window->is_end = status == STATUS_OK && !record;
        if (status == STATUS_OK && record)
            append(block, record, ++window->number);
    }
    return status;
}

/* --- from records to spans --- */

static uint32_t thread_of(struct window *window, const struct span_record *record)
{
    struct trace *trace = window->trace;
    uint64_t key = (uint64_t)record->resource << 32 | record->thread;
    uint32_t index = int_map_get(&window->threads, key);
    if (index == MAP_NONE) {
        index = trace_add_thread(trace, record->resource, record->thread);
        int_map_set(&window->threads, key, index);
    }
    if (!trace->threads[index].name)
        trace->threads[index].name = record->thread_name;
    return index;
}

static uint32_t lane_of(struct window *window, const struct span_record *record)
{
    uint64_t key = int_map_mix((uint64_t)record->resource << 32 | record->stream) ^ record->context;
    uint32_t index;
    for (; (index = int_map_get(&window->lanes, key)) != MAP_NONE; key++) {
        const struct trace_lane *lane = &window->trace->lanes[index];
        if (lane->resource == record->resource && lane->context == record->context &&
            lane->stream == record->stream)
            return index;
    }
    index = trace_add_lane(window->trace, record->resource, record->context, record->stream);
    int_map_set(&window->lanes, key, index);
    return index;
}

static void add_attrs(struct trace *trace, const struct trace_attr *attrs, uint32_t count, const char *texts)
{
    struct trace_attr *to = trace_add_attrs(trace, count);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = attrs[i];
        if (attrs[i].type & RECORD_TEXT) {
            const char *text = texts + (attrs[i].value >> 32);
            to[i].type &= ~RECORD_TEXT;
            to[i].value = trace_strings_add_local(trace->pool, text, (uint32_t)attrs[i].value);
        }
    }
}

static void add_span(struct window *window, const struct block *block, size_t i, bool is_margin)
{
    struct trace *trace = window->trace;
    const struct span_record *record = record_at(block, i);
    struct trace_span *span = trace_add_span(trace);
    span->number = block->places[i].number;
    span->id = record->id;
    span->parent_id = record->parent_id;
    span->start_ns = record->start_ns;
    span->end_ns = record->end_ns;
    span->name = record->name;
    span->trace = record->trace;
    span->resource = record->resource;
    span->error = record->error;
    span->class = record->class;
    span->is_margin = is_margin;
    bool is_gpu = trace_class_is_gpu(record->class);
    span->lane = is_gpu ? lane_of(window, record) : TRACE_NONE;
    span->thread = !is_gpu && record->thread ? thread_of(window, record) : TRACE_NONE;
    span->attr_count = record->span_attrs;
    const struct trace_attr *attrs = (const void *)(record + 1);
    const struct record_event *events = (const void *)(attrs + record->attr_count);
    const char *texts = (const char *)(events + record->event_count);
    add_attrs(trace, attrs, record->span_attrs, texts);
    attrs += record->span_attrs;
    for (uint32_t e = 0; e < record->event_count; e++) {
        struct trace_event *event = trace_add_event(trace);
        event->time_ns = events[e].time_ns;
        event->name = events[e].name;
        event->attr_count = events[e].attr_count;
        add_attrs(trace, attrs, events[e].attr_count, texts);
        attrs += events[e].attr_count;
    }
}

/* --- spans that have left the margin --- */

static bool has_left(const struct window *window, uint64_t id)
{
    uint64_t one = int_map_mix(id) % window->left_bits, two = int_map_mix(~id) % window->left_bits;
    return window->left && window->left[one / 64] >> one % 64 & 1 && window->left[two / 64] >> two % 64 & 1;
}

static void note_left(struct window *window, uint64_t id)
{
    uint64_t one = int_map_mix(id) % window->left_bits, two = int_map_mix(~id) % window->left_bits;
    if (!window->left)
        window->left = xcalloc(window->left_bits / 64, sizeof *window->left);
    window->left[one / 64] |= UINT64_C(1) << one % 64;
    window->left[two / 64] |= UINT64_C(1) << two % 64;
}

static void count_missed(struct window *window)
{
    struct trace *trace = window->trace;
    for (size_t i = 0; window->left && i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (!span->is_margin && span->parent_id && span->parent == TRACE_NONE &&
            has_left(window, span->parent_id))
            trace->joins_missed++;
    }
}

/* --- margins --- */

static bool can_be_parent(const struct span_record *record)
{
    return !trace_class_is_gpu(record->class);
}

/* The start of the margin_spans-th last span of the host before the next segment. */
static uint64_t margin_start(const struct window *window)
{
    const struct block *blocks[] = {&window->body, &window->before};
    size_t left = window->margin_spans;
    uint64_t start = 0;
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = blocks[b]->count; i-- > 0;) {
            const struct span_record *record = record_at(blocks[b], i);
            if (!can_be_parent(record))
                continue;
            if (left-- == 0)
                return start;
            start = record->start_ns;
        }
    }
    return 0;
}

static int compare_latest(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Spans that end after this instant stay. Later than `start` if too many would. */
static uint64_t margin_end(const struct window *window, uint64_t start)
{
    const struct block *blocks[] = {&window->before, &window->body};
    size_t max = window->margin_spans * OPEN_FACTOR, count = 0;
    uint64_t *ends = xcalloc(window->before.count + window->body.count, sizeof *ends);
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < blocks[b]->count; i++) {
            const struct span_record *record = record_at(blocks[b], i);
            if (can_be_parent(record) && record->end_ns >= start)
                ends[count++] = record->end_ns;
        }
    }
    if (count > max) {
        qsort(ends, count, sizeof *ends, compare_latest);
        start = ends[max] + 1;
    }
    free(ends);
    return start;
}

/* Everything that ends after the margin's start: with a call, the ranges around it. */
static void keep_margin(struct window *window)
{
    const struct block *blocks[] = {&window->before, &window->body};
    struct block kept = {0};
    uint64_t end = margin_end(window, margin_start(window));
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < blocks[b]->count; i++) {
            const struct span_record *record = record_at(blocks[b], i);
            if (can_be_parent(record) && record->end_ns >= end)
                append(&kept, record, blocks[b]->places[i].number);
            else if (can_be_parent(record))
                note_left(window, record->id);
        }
    }
    deinit(&window->before);
    window->before = kept;
}

static void build(struct window *window)
{
    trace_start_segment(window->trace);
    for (size_t i = 0; i < window->before.count; i++)
        add_span(window, &window->before, i, true);
    for (size_t i = 0; i < window->body.count; i++)
        add_span(window, &window->body, i, false);
    for (size_t i = 0; i < window->next.count; i++) {
        if (trace_class_is_gpu(record_at(&window->next, i)->class))
            add_span(window, &window->next, i, true);
    }
    trace_link(window->trace);
    count_missed(window);
}

static enum status pass(struct window *window, trace_segment_fn *take, void *context,
                        struct trace_facts *facts, struct error *err)
{
    enum status status = fill(window, &window->body, window->segment_spans, err);
    while (status == STATUS_OK) {
        status = fill(window, &window->next, window->margin_spans, err);
        if (status != STATUS_OK)
            break;
        build(window);
        facts->segments++;
        facts->joins_missed = window->trace->joins_missed;
        status = take(context, window->trace, err);
        if (status != STATUS_OK || window->next.count == 0)
            break;
        keep_margin(window);
        struct block used = window->body;
        window->body = window->next;
        window->next = used;
        clear(&window->next);
        status = fill(window, &window->body, window->segment_spans, err);
    }
    return status;
}

enum status trace_segments_pass(struct span_sort *sort, struct trace *trace, size_t segment_spans,
                                size_t margin_spans, trace_segment_fn *take, void *context,
                                struct trace_facts *facts, struct error *err)
{
    struct window window = {
        .sort = sort, .trace = trace, .segment_spans = segment_spans, .margin_spans = margin_spans};
    window.left_bits = margin_spans < LEFT_BITS_MAX / LEFT_BITS_OF_MARGIN
                           ? (margin_spans + 1) * LEFT_BITS_OF_MARGIN
                           : LEFT_BITS_MAX;
    enum status status = pass(&window, take, context, facts, err);
    deinit(&window.before);
    deinit(&window.body);
    deinit(&window.next);
    int_map_deinit(&window.lanes);
    int_map_deinit(&window.threads);
    free(window.left);
    return status;
}
