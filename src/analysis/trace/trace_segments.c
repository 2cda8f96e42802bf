#include "analysis/trace/trace_segments.h"

#include "cli/util/xalloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Spans that are open for long are few: sessions, requests, steps, ranges. */
#define OPEN_FACTOR 4 /* at most so many times the margin */
/* Spans that have left the margin, as bits by hash: with the default margin, enough for a rate of false hits
 * below 2 % with 2 million. */
#define LEFT_BITS_MAX       (UINT64_C(1) << 25)
#define LEFT_BITS_OF_MARGIN (UINT64_C(1) << 11) /* for each of its spans */

/* Records that lie one behind the other, by start: of the margin before the segment and of the segment those
 * that can be parents, then the margin behind it. */
struct block {
    char *bytes;
    size_t len, capacity;
    struct block_entry {
        size_t offset;
        uint64_t number; /* of the span, from 1 */
    } * places;
    size_t count, place_capacity;
};

/* A text that only this segment needs. The pool of strings belongs to the thread that takes segments. */
struct own_text {
    uint64_t offset; /* in `texts` */
    uint32_t attr;   /* whose value it is: its index */
    uint32_t len;
};

struct window {
    struct span_sort *sort;
    struct trace *trace; /* of the thread that takes segments */
    size_t segment_spans, margin_spans;
    struct block block;
    size_t parents;  /* the others of block.count are the margin behind the segment */
    bool is_end;     /* of the records */
    uint64_t number; /* of the last record that was read */
    struct int_map lanes, threads;
    uint64_t *left; /* or NULL: nothing has left the margin yet */
    uint64_t left_bits;
    struct trace built; /* the next segment; without strings, resources and the list of traces */
    struct own_text *own;
    size_t own_count, own_capacity;
    char *texts;
    size_t text_bytes, text_capacity;
    enum status status; /* of building it */
    struct error err;
};

static const struct span_record *record_at(const struct block *block, size_t i)
{
    return (const void *)(block->bytes + block->places[i].offset);
}

static void append(struct block *block, const struct span_record *record, uint64_t number)
{
    block->bytes = xgrow(block->bytes, &block->capacity, block->len + record->size, 1);
    memcpy(block->bytes + block->len, record, record->size);
    *XADD(block->places, block->count, block->place_capacity) = (struct block_entry){block->len, number};
    block->len += record->size;
}

/* Moves a record to the end of those in front of it that stay. */
static void keep(struct block *block, size_t i)
{
    const struct span_record *record = record_at(block, i);
    uint32_t size = record->size;
    struct block_entry to = {block->len, block->places[i].number};
    memmove(block->bytes + block->len, record, size);
    block->places[block->count++] = to;
    block->len += size;
}

/* Leaves the first `count` records. The others can still be kept one by one. */
static void cut(struct block *block, size_t count)
{
    block->len = count < block->count ? block->places[count].offset : block->len;
    block->count = count;
}

/* False at the end and after an error. */
static bool has_next(struct window *window, const struct span_record **record, enum status *status,
                     struct error *err)
{
    if (*status != STATUS_OK || window->is_end)
        return false;
    *status = span_sort_next(window->sort, record, err);
    window->is_end = *status != STATUS_OK || !*record;
    window->number += !window->is_end;
    return !window->is_end;
}

static bool can_be_parent(const struct span_record *record)
{
    return !trace_class_is_gpu(record->class);
}

/* --- from records to spans --- */

static uint32_t thread_of(struct window *window, const struct span_record *record)
{
    struct trace *trace = &window->built;
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
        const struct trace_lane *lane = &window->built.lanes[index];
        if (lane->resource == record->resource && lane->context == record->context &&
            lane->stream == record->stream)
            return index;
    }
    index = trace_add_lane(&window->built, record->resource, record->context, record->stream);
    int_map_set(&window->lanes, key, index);
    return index;
}

static void add_own_text(struct window *window, size_t attr, const char *text, uint32_t len)
{
    window->texts = xgrow(window->texts, &window->text_capacity, window->text_bytes + len, 1);
    memcpy(window->texts + window->text_bytes, text, len);
    *XADD(window->own, window->own_count, window->own_capacity) =
        (struct own_text){window->text_bytes, (uint32_t)attr, len};
    window->text_bytes += len;
}

static void add_attrs(struct window *window, const struct trace_attr *attrs, uint32_t count,
                      const char *texts)
{
    struct trace_attr *to = trace_add_attrs(&window->built, count);
    for (uint32_t i = 0; i < count; i++) {
        to[i] = attrs[i];
        if (attrs[i].type & RECORD_TEXT) {
            to[i].type &= ~RECORD_TEXT;
            add_own_text(window, (size_t)(to + i - window->built.attrs), texts + (attrs[i].value >> 32),
                         (uint32_t)attrs[i].value);
        }
    }
}

static void add_span(struct window *window, const struct span_record *record, uint64_t number, bool is_margin)
{
    struct trace *trace = &window->built;
    struct trace_span *span = trace_add_span(trace);
    span->number = number;
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
    add_attrs(window, attrs, record->span_attrs, texts);
    attrs += record->span_attrs;
    for (uint32_t e = 0; e < record->event_count; e++) {
        struct trace_event *event = trace_add_event(trace);
        event->time_ns = events[e].time_ns;
        event->name = events[e].name;
        event->attr_count = events[e].attr_count;
        add_attrs(window, attrs, events[e].attr_count, texts);
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
    struct trace *trace = &window->built;
    for (size_t i = 0; window->left && i < trace->span_count; i++) {
        const struct trace_span *span = &trace->spans[i];
        if (!span->is_margin && span->parent_id && span->parent == TRACE_NONE &&
            has_left(window, span->parent_id))
            trace->joins_missed++;
    }
}

/* --- margins --- */

/* The start of the margin_spans-th last span of the host before the next segment. */
static uint64_t margin_start(const struct window *window)
{
    size_t left = window->margin_spans;
    uint64_t start = 0;
    for (size_t i = window->parents; i-- > 0; left--) {
        if (left == 0)
            return start;
        start = record_at(&window->block, i)->start_ns;
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
    size_t max = window->margin_spans * OPEN_FACTOR, count = 0;
    if (window->parents <= max)
        return start;
    uint64_t *ends = xcalloc(window->parents, sizeof *ends);
    for (size_t i = 0; i < window->parents; i++) {
        const struct span_record *record = record_at(&window->block, i);
        if (record->end_ns >= start)
            ends[count++] = record->end_ns;
    }
    if (count > max) {
        qsort(ends, count, sizeof *ends, compare_latest);
        start = ends[max] + 1;
    }
    free(ends);
    return start;
}

/* Of the segment and the margin before it, everything stays that ends after the margin's start: with a call,
 * the ranges around it. */
static void move_on(struct window *window)
{
    struct block *block = &window->block;
    size_t count = block->count, parents = window->parents;
    uint64_t end = margin_end(window, margin_start(window));
    cut(block, 0);
    for (size_t i = 0; i < parents; i++) {
        const struct span_record *record = record_at(block, i);
        if (record->end_ns >= end)
            keep(block, i);
        else
            note_left(window, record->id);
    }
    window->parents = block->count;
    for (size_t i = parents; i < count; i++)
        keep(block, i);
}

/* The margin behind the last segment is the start of this one. */
static void add_body_of_block(struct window *window)
{
    struct block *block = &window->block;
    size_t count = block->count;
    cut(block, window->parents);
    for (size_t i = window->parents; i < count; i++) {
        const struct span_record *record = record_at(block, i);
        add_span(window, record, block->places[i].number, false);
        if (can_be_parent(record))
            keep(block, i);
    }
}

static enum status build_next(struct window *window, struct error *err)
{
    struct trace *built = &window->built;
    struct block *block = &window->block;
    const struct span_record *record = NULL;
    size_t body = block->count - window->parents;
    enum status status = STATUS_OK;
    built->span_count = built->event_count = 0;
    built->attr_count = built->resource_attrs;
    window->own_count = window->text_bytes = 0;
    for (size_t i = 0; i < window->parents; i++)
        add_span(window, record_at(block, i), block->places[i].number, true);
    add_body_of_block(window);
    for (; body < window->segment_spans && has_next(window, &record, &status, err); body++) {
        add_span(window, record, window->number, false);
        if (can_be_parent(record))
            append(block, record, window->number);
    }
    window->parents = block->count;
    for (size_t i = 0; i < window->margin_spans && has_next(window, &record, &status, err); i++) {
        append(block, record, window->number);
        if (!can_be_parent(record))
            add_span(window, record, window->number, true);
    }
    if (status == STATUS_OK) {
        trace_link(built);
        count_missed(window);
    }
    return status;
}

/* --- the other thread --- */

/* While one segment is taken, another thread builds the next one. */
static void *build_ahead(void *context)
{
    struct window *window = context;
    move_on(window);
    window->status = build_next(window, &window->err);
    return NULL;
}

static void swap_arrays(struct trace *a, struct trace *b)
{
    struct trace old = *a;
    a->spans = b->spans;
    a->span_count = b->span_count;
    a->span_capacity = b->span_capacity;
    a->attrs = b->attrs;
    a->attr_count = b->attr_count;
    a->attr_capacity = b->attr_capacity;
    a->events = b->events;
    a->event_count = b->event_count;
    a->event_capacity = b->event_capacity;
    a->by_id = b->by_id;
    a->by_id_slots = b->by_id_slots;
    b->spans = old.spans;
    b->span_capacity = old.span_capacity;
    b->attrs = old.attrs;
    b->attr_capacity = old.attr_capacity;
    b->events = old.events;
    b->event_capacity = old.event_capacity;
    b->by_id = old.by_id;
    b->by_id_slots = old.by_id_slots;
}

/* The built segment becomes the one that is taken. */
static void hand_out(struct window *window)
{
    struct trace *trace = window->trace, *built = &window->built;
    swap_arrays(trace, built);
    trace->joins_missed = built->joins_missed;
    trace->threads =
        xgrow(trace->threads, &trace->thread_capacity, built->thread_count + 1, sizeof *trace->threads);
    trace->lanes = xgrow(trace->lanes, &trace->lane_capacity, built->lane_count + 1, sizeof *trace->lanes);
    trace->thread_count = built->thread_count;
    trace->lane_count = built->lane_count;
    if (built->thread_count)
        memcpy(trace->threads, built->threads, built->thread_count * sizeof *trace->threads);
    if (built->lane_count)
        memcpy(trace->lanes, built->lanes, built->lane_count * sizeof *trace->lanes);
    trace_strings_drop_local(trace->pool);
    for (size_t i = 0; i < window->own_count; i++) {
        const struct own_text *own = &window->own[i];
        trace->attrs[own->attr].value =
            trace_strings_add_local(trace->pool, window->texts + own->offset, own->len);
    }
}

/* The attributes of resources are in front of those of spans. */
static void start_built(struct window *window)
{
    const struct trace *trace = window->trace;
    struct trace *built = &window->built;
    built->resource_attrs = trace->resource_attrs;
    if (trace->resource_attrs)
        memcpy(trace_add_attrs(built, trace->resource_attrs), trace->attrs,
               trace->resource_attrs * sizeof *trace->attrs);
}

static enum status pass(struct window *window, trace_segment_fn *take, void *context,
                        struct trace_facts *facts, struct error *err)
{
    enum status status = build_next(window, err);
    while (status == STATUS_OK) {
        pthread_t thread;
        hand_out(window);
        facts->segments++;
        facts->joins_missed = window->trace->joins_missed;
        bool is_last = window->block.count == window->parents; /* no margin behind it */
        bool is_ahead = !is_last && pthread_create(&thread, NULL, build_ahead, window) == 0;
        status = take(context, window->trace, err);
        if (is_ahead)
            pthread_join(thread, NULL);
        if (is_last || status != STATUS_OK)
            break;
        if (!is_ahead)
            (void)build_ahead(window);
        status = window->status;
        if (status != STATUS_OK)
            *err = window->err;
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
    start_built(&window);
    enum status status = pass(&window, take, context, facts, err);
    free(window.block.bytes);
    free(window.block.places);
    int_map_deinit(&window.lanes);
    int_map_deinit(&window.threads);
    free(window.left);
    free(window.own);
    free(window.texts);
    trace_deinit(&window.built);
    return status;
}
