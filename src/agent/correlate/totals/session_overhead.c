#include "agent/correlate/totals/session_overhead.h"

#include "model/semconv.h"

/* The kinds of CUpti_ActivityOverheadKind that are CUPTI's own cost. The others are the driver's: compiling
 * and loading. */
static const struct {
    uint64_t kind;
    enum counter counter;
    struct attr_key key;
} cupti_costs[] = {
    {0, COUNTER_cupti_other_ns, ATTR_KEY(SEMCONV_CUSPAN_CUPTI_OTHER_TIME)},       /* UNKNOWN */
    {1 << 16, COUNTER_cupti_flush_ns, ATTR_KEY(SEMCONV_CUSPAN_CUPTI_FLUSH_TIME)}, /* BUFFER_FLUSH */
    {2 << 16, COUNTER_cupti_instrumentation_ns,
     ATTR_KEY(SEMCONV_CUSPAN_CUPTI_INSTRUMENTATION_TIME)},                              /* INSTRUMENTATION */
    {3 << 16, COUNTER_cupti_resource_ns, ATTR_KEY(SEMCONV_CUSPAN_CUPTI_RESOURCE_TIME)}, /* RESOURCE */
    {7 << 16, COUNTER_cupti_request_ns, ATTR_KEY(SEMCONV_CUSPAN_CUPTI_REQUEST_TIME)},   /* BUFFER_REQUEST */
    {8 << 16, COUNTER_cupti_other_ns, ATTR_KEY(SEMCONV_CUSPAN_CUPTI_OTHER_TIME)},       /* UVM_INIT */
};
#define CUPTI_COSTS (sizeof cupti_costs / sizeof *cupti_costs)

void session_overhead_add(const struct activity_record *record, uint64_t kind)
{
    for (unsigned i = 0; i < CUPTI_COSTS; i++)
        if (cupti_costs[i].kind == kind)
            counter_add_alone(cupti_costs[i].counter, record->end_ns - record->start_ns);
}

/* Returns the growth. An estimate can fall below an earlier one; growth is 0 until it exceeds that. */
static int64_t grown(uint64_t *told, uint64_t now)
{
    uint64_t more = now > *told ? now - *told : 0;
    *told += more;
    return (int64_t)more;
}

void session_overhead_write(struct session_overhead *overhead, void (*take)(struct agent_overhead *),
                            struct span *span)
{
    struct agent_overhead now, *told = &overhead->told;
    for (unsigned i = 0; i < CUPTI_COSTS; i++) {
        enum counter counter = cupti_costs[i].counter;
        int64_t ns = grown(&overhead->cupti_told_ns[counter], counter_get(counter));
        if (ns)
            span_attr_int(span, &cupti_costs[i].key, ns);
    }
    if (!take)
        return;
    take(&now);
    if (now.callback_calls) {
        span_attr_int(span, ATTR(SEMCONV_CUSPAN_OWN_CALLBACK_TIME),
                      grown(&told->callback_ns, now.callback_ns));
        span_attr_int(span, ATTR(SEMCONV_CUSPAN_OWN_CALLBACK_CALLS),
                      grown(&told->callback_calls, now.callback_calls));
    }
    span_attr_int(span, ATTR(SEMCONV_CUSPAN_OWN_PIPELINE_TIME), grown(&told->pipeline_ns, now.pipeline_ns));
    span_attr_int(span, ATTR(SEMCONV_CUSPAN_OWN_SENDER_TIME), grown(&told->sender_ns, now.sender_ns));
    span_attr_int(span, ATTR(SEMCONV_CUSPAN_OWN_CONTROL_TIME), grown(&told->control_ns, now.control_ns));
}
