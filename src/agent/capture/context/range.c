#include "agent/capture/context/range.h"

#include "base/accounting/counters.h"
#include "base/clock.h"
#include "agent/capture/threads/threads.h"
#include "agent/capture/context/open_contexts.h"
#include "agent/capture/hardware/gpu_counters.h"
#include "agent/capture/sleep/mode.h"

#include <string.h>

static uint8_t *put(uint8_t *at, const void *bytes, size_t count)
{
    memcpy(at, bytes, count);
    return at + count;
}

static uint32_t cut(uint32_t bytes)
{
    return bytes < RANGE_TEXT_BYTES ? bytes : RANGE_TEXT_BYTES;
}

static uint32_t value_bytes(const struct range_attr *attr)
{
    return attr->type == ATTR_STRING ? cut(attr->bytes) : 8;
}

static uint32_t attr_bytes(const struct range_attr *attr)
{
    return (uint32_t)sizeof(struct range_attr_head) + attr->key_bytes + value_bytes(attr);
}

/* Counts the attributes that fit, and returns the bytes of text with them. The first one that does not fit or
 * has no usable key is dropped, with all after it. */
static uint32_t measure(struct range_record *record, const struct range_attr *attrs, uint32_t count)
{
    uint32_t bytes = record->name_bytes;
    for (uint32_t i = 0; i < count; i++) {
        bool fits = attrs[i].key_bytes && attrs[i].key_bytes <= ATTR_KEY_BYTES_MAX &&
                    sizeof *record + bytes + attr_bytes(&attrs[i]) <= RANGE_RECORD_BYTES;
        if (!fits) {
            record->attrs_dropped += (uint16_t)(count - i);
            break;
        }
        bytes += attr_bytes(&attrs[i]);
        record->attr_count++;
    }
    return bytes;
}

static void put_text(const struct range_record *record, uint8_t *at, const char *name,
                     const struct range_attr *attrs)
{
    at = put(at, name ? name : "", record->name_bytes);
    for (uint32_t i = 0; i < record->attr_count; i++) {
        struct range_attr_head head = {attrs[i].type, (uint8_t)attrs[i].key_bytes,
                                       (uint16_t)value_bytes(&attrs[i])};
        at = put(at, &head, sizeof head);
        at = put(at, attrs[i].key, attrs[i].key_bytes);
        at = put(at, attrs[i].type == ATTR_STRING ? (const void *)attrs[i].s : &attrs[i].i, head.value_bytes);
    }
}

/* Writes a range's record. `shape` is the record without its text. False: nothing is captured, or the ring is
 * full. */
static bool write_range(enum record_type type, struct range_record shape, const char *name,
                        uint32_t name_bytes, const struct range_attr *attrs, uint32_t attr_count)
{
    struct host_thread *thread =
        open_contexts_capturing_thread(type == RECORD_RANGE_END); /* whose start was captured */
    if (!thread)
        return false;
    shape.name_bytes = (uint16_t)cut(name_bytes);
    shape.text_bytes = measure(&shape, attrs, attr_count);
    uint32_t bytes = ((uint32_t)sizeof shape + shape.text_bytes + 7) & ~7u;
    struct range_record *record = open_contexts_settle(thread) ? ring_reserve(&thread->ring, bytes) : NULL;
    if (!record) {
        if (type != RECORD_RANGE_END)
            thread_count_lost(thread);
        else if (shape.text_bytes) /* the rest follows */
            thread_count_note_lost(thread);
        return false;
    }
    shape.head = (struct record_head){bytes, (uint8_t)type, 0, 0};
    shape.time_ns = clock_ticks();
    memcpy(record, &shape, sizeof shape);
    put_text(&shape, (uint8_t *)record + sizeof shape, name, attrs);
    ring_commit(&thread->ring, bytes);
    return true;
}

static uint64_t begin(const struct range_text *text, uint8_t flags)
{
    struct open_contexts *contexts = open_contexts_needed();
    if (!contexts)
        return 0;
    contexts->next_id += contexts->next_id == UINT64_MAX ? 2 : 1; /* all zero is an invalid span ID */
    struct range_record shape = {.id = contexts->next_id,
                                 .domain = text->domain,
                                 .flags = flags,
                                 .attrs_dropped = (uint16_t)text->attrs_dropped};
    bool is_captured =
        write_range(RECORD_RANGE_BEGIN, shape, text->name, text->name_bytes, text->attrs, text->attr_count);
    if (is_captured && atomic_load_explicit(&gpu_counters_have_ranges, memory_order_relaxed))
        gpu_counters_enter_range(shape.id, text->name, text->name_bytes, text->is_loop);
    return is_captured ? shape.id : 0;
}

/* Counts a range that is nested too deeply. An NVTX end names no range, so the end of this one must not close
 * another. */
static uint64_t refuse_depth(struct open_contexts *contexts, uint32_t domain)
{
    contexts->deeper += domain != 0;
    counter_add(COUNTER_lost_range, atomic_load_explicit(&mode_now, memory_order_relaxed) == MODE_ON);
    return 0;
}

uint64_t range_push(const struct range_text *text)
{
    uint8_t flags;
    struct open_contexts *contexts = open_contexts_needed();
    if (!contexts)
        return 0;
    if (!open_contexts_grow((void **)&contexts->ranges, contexts->range_count, &contexts->range_max,
                            sizeof *contexts->ranges))
        return refuse_depth(contexts, text->domain);
    uint64_t id = begin(text, RANGE_ON_THREAD);
    if (!id && !text->domain)
        return 0; /* the range's end will have no ID */
    /* An NVTX end names no range, so ranges that are not captured are tracked as well. */
    contexts->ranges[contexts->range_count++] =
        (struct open_range){id, text->domain, open_contexts_current(&contexts->shared, &flags)};
    open_contexts_publish(contexts);
    return id;
}

static void close_at(struct open_contexts *contexts, uint32_t at)
{
    contexts->range_count--;
    memmove(&contexts->ranges[at], &contexts->ranges[at + 1],
            (contexts->range_count - at) * sizeof *contexts->ranges);
    open_contexts_publish(contexts);
}

static void write_end_with(uint64_t id, const struct range_end *end, const struct range_attr *attrs,
                           uint32_t attr_count)
{
    struct range_record shape = {
        .id = id, .status = end->status, .attrs_dropped = (uint16_t)end->attrs_dropped};
    if (thread_is_ours ||
        write_range(RECORD_RANGE_END, shape, end->message, end->message_bytes, attrs, attr_count))
        return;
    struct lost_end lost = {.id = id,
                            .ticks = clock_ticks(),
                            .status = end->status,
                            .attrs_dropped = (uint16_t)(end->attrs_dropped + attr_count)};
    open_contexts_keep_end(open_contexts_needed(), &lost);
}

/* Writes a range's end with the hardware counters read during the range, if any. */
static void write_counted_end(uint64_t id, const struct range_end *end)
{
    struct range_attr attrs[SPAN_ATTRS_MAX + GPU_COUNTERS_MAX];
    uint32_t count = gpu_counters_exit_range(id, attrs);
    uint32_t own = end->attr_count < SPAN_ATTRS_MAX ? end->attr_count : SPAN_ATTRS_MAX;
    if (own > 0)
        memcpy(&attrs[count], end->attrs, own * sizeof *attrs);
    write_end_with(id, end, attrs, count + own);
}

static void write_end(uint64_t id, const struct range_end *end)
{
    static const struct range_end nothing;
    end = end ? end : &nothing;
    if (atomic_load_explicit(&gpu_counters_have_ranges, memory_order_relaxed))
        write_counted_end(id, end);
    else
        write_end_with(id, end, end->attrs, end->attr_count);
}

uint64_t range_pop(uint32_t domain, const struct range_end *end)
{
    struct open_contexts *contexts = open_contexts_there();
    if (contexts && contexts->deeper) {
        contexts->deeper--;
        return 0;
    }
    for (uint32_t i = contexts ? contexts->range_count : 0; i > 0; i--) {
        if (contexts->ranges[i - 1].domain != domain)
            continue;
        uint64_t id = contexts->ranges[i - 1].id;
        close_at(contexts, i - 1);
        if (id)
            write_end(id, end);
        return id;
    }
    return 0;
}

uint32_t range_depth(uint32_t domain)
{
    const struct open_contexts *contexts = open_contexts_there();
    uint32_t depth = 0;
    for (uint32_t i = 0; contexts && i < contexts->range_count; i++)
        depth += contexts->ranges[i].domain == domain;
    return depth;
}

uint64_t range_start(const struct range_text *text)
{
    return begin(text, 0);
}

bool range_again(uint64_t id)
{
    return atomic_load_explicit(&gpu_counters_have_ranges, memory_order_relaxed) && gpu_counters_again(id);
}

bool range_end(uint64_t id, const struct range_end *end)
{
    struct open_contexts *contexts = open_contexts_there();
    if (!id)
        return false;
    for (uint32_t i = contexts ? contexts->range_count : 0; i > 0; i--) {
        if (contexts->ranges[i - 1].id == id) {
            close_at(contexts, i - 1);
            break;
        }
    }
    write_end(id, end);
    return true;
}

bool range_mark(const struct range_text *text)
{
    struct range_record shape = {.domain = text->domain, .attrs_dropped = (uint16_t)text->attrs_dropped};
    return write_range(RECORD_MARK, shape, text->name, text->name_bytes, text->attrs, text->attr_count);
}

bool range_is_captured(void)
{
    return atomic_load_explicit(&mode_now, memory_order_relaxed) == MODE_ON;
}
