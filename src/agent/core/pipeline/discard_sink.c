#include "agent/core/pipeline/discard_sink.h"

#include "base/clock.h"
#include "base/accounting/counters.h"

static void count_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    (void)context, (void)thread, (void)call;
    counter_add(COUNTER_lost_broken, 1);
}

static void count_activity(void *context, const struct activity_record *activity)
{
    (void)context, (void)activity;
    counter_add(COUNTER_lost_broken, 1);
}

/* The end of a range was counted at its start. */
static void count_range(void *context, const struct thread_info *thread, const struct range_record *range)
{
    (void)context, (void)thread;
    counter_add(COUNTER_lost_broken, range->head.type != RECORD_RANGE_END);
}

const struct capture_sink discard_sink = {
    .on_call = count_call, .on_activity = count_activity, .on_range = count_range};

/* Records between two readings of the clock; making spans of them takes some µs. */
#define RECORDS_BETWEEN_CLOCKS 64

static struct {
    struct capture_sink sink;
    uint64_t deadline_ns;
    uint32_t records;
    bool has_passed;
} limited;

static bool is_too_late(void)
{
    if (!limited.has_passed && limited.records++ % RECORDS_BETWEEN_CLOCKS == 0)
        limited.has_passed = clock_monotonic_ns() >= limited.deadline_ns;
    return limited.has_passed;
}

static void limit_call(void *context, const struct thread_info *thread, const struct call_record *call)
{
    if (is_too_late())
        counter_add(COUNTER_lost_unmade, 1);
    else
        limited.sink.on_call(context, thread, call);
}

static void limit_activity(void *context, const struct activity_record *activity)
{
    if (is_too_late())
        counter_add(COUNTER_lost_unmade, 1);
    else
        limited.sink.on_activity(context, activity);
}

struct capture_sink discard_sink_after(const struct capture_sink *sink, uint64_t deadline_ns)
{
    struct capture_sink made = *sink;
    limited.sink = *sink;
    limited.deadline_ns = deadline_ns;
    limited.records = 0;
    limited.has_passed = false;
    made.on_call = limit_call;
    made.on_activity = limit_activity;
    return made;
}
