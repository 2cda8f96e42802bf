#include "correlate/totals/session_overhead.h"

#include <stddef.h>

static const struct attr_key key_callback_time = ATTR_KEY("cuspan.own.callback_time");
static const struct attr_key key_callback_calls = ATTR_KEY("cuspan.own.callback_calls");
static const struct attr_key key_pipeline_time = ATTR_KEY("cuspan.own.pipeline_time");
static const struct attr_key key_sender_time = ATTR_KEY("cuspan.own.sender_time");
static const struct attr_key key_control_time = ATTR_KEY("cuspan.own.control_time");
static const struct attr_key key_flush_time = ATTR_KEY("cuspan.cupti.flush_time");
static const struct attr_key key_instrumentation_time = ATTR_KEY("cuspan.cupti.instrumentation_time");
static const struct attr_key key_resource_time = ATTR_KEY("cuspan.cupti.resource_time");
static const struct attr_key key_request_time = ATTR_KEY("cuspan.cupti.request_time");
static const struct attr_key key_other_time = ATTR_KEY("cuspan.cupti.other_time");

/* CUpti_ActivityOverheadKind. */
enum overhead_kind {
    OVERHEAD_UNKNOWN = 0,
    OVERHEAD_BUFFER_FLUSH = 1 << 16,
    OVERHEAD_INSTRUMENTATION = 2 << 16,
    OVERHEAD_RESOURCE = 3 << 16,
    OVERHEAD_BUFFER_REQUEST = 7 << 16,
    OVERHEAD_UVM_INIT = 8 << 16
};

/* COUNTER_COUNT: the driver's own cost. */
static enum counter counter_of(uint64_t kind)
{
    switch (kind) {
    case OVERHEAD_BUFFER_FLUSH:
        return COUNTER_cupti_flush_ns;
    case OVERHEAD_INSTRUMENTATION:
        return COUNTER_cupti_instrumentation_ns;
    case OVERHEAD_RESOURCE:
        return COUNTER_cupti_resource_ns;
    case OVERHEAD_BUFFER_REQUEST:
        return COUNTER_cupti_request_ns;
    case OVERHEAD_UNKNOWN:
    case OVERHEAD_UVM_INIT:
        return COUNTER_cupti_other_ns;
    default:
        return COUNTER_COUNT;
    }
}

void session_overhead_add(const struct activity_record *record, uint64_t kind)
{
    enum counter counter = counter_of(kind);
    if (counter != COUNTER_COUNT)
        counter_add_alone(counter, record->end_ns - record->start_ns);
}

/* Returns the growth. An estimate can fall below an earlier one; growth is 0 until it exceeds that. */
static uint64_t grown(uint64_t *told, uint64_t now)
{
    uint64_t more = now > *told ? now - *told : 0;
    *told += more;
    return more;
}

static void write_own(struct session_overhead *cost, struct span *span)
{
    struct agent_overhead now, *told = &cost->told;
    cost->take(&now);
    if (now.callback_calls) {
        span_attr_int(span, &key_callback_time, (int64_t)grown(&told->callback_ns, now.callback_ns));
        span_attr_int(span, &key_callback_calls, (int64_t)grown(&told->callback_calls, now.callback_calls));
    }
    span_attr_int(span, &key_pipeline_time, (int64_t)grown(&told->pipeline_ns, now.pipeline_ns));
    span_attr_int(span, &key_sender_time, (int64_t)grown(&told->sender_ns, now.sender_ns));
    span_attr_int(span, &key_control_time, (int64_t)grown(&told->control_ns, now.control_ns));
}

static uint64_t cupti_grown(struct session_overhead *cost, enum counter counter)
{
    return grown(&cost->cupti_told_ns[counter], counter_get(counter));
}

static void write_cupti(struct session_overhead *cost, struct span *span)
{
    uint64_t ns;
    if ((ns = cupti_grown(cost, COUNTER_cupti_flush_ns)) != 0)
        span_attr_int(span, &key_flush_time, (int64_t)ns);
    if ((ns = cupti_grown(cost, COUNTER_cupti_instrumentation_ns)) != 0)
        span_attr_int(span, &key_instrumentation_time, (int64_t)ns);
    if ((ns = cupti_grown(cost, COUNTER_cupti_resource_ns)) != 0)
        span_attr_int(span, &key_resource_time, (int64_t)ns);
    if ((ns = cupti_grown(cost, COUNTER_cupti_request_ns)) != 0)
        span_attr_int(span, &key_request_time, (int64_t)ns);
    if ((ns = cupti_grown(cost, COUNTER_cupti_other_ns)) != 0)
        span_attr_int(span, &key_other_time, (int64_t)ns);
}

void session_overhead_write(struct session_overhead *cost, struct span *span)
{
    write_cupti(cost, span);
    if (cost->take)
        write_own(cost, span);
}
