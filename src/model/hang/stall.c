#include "model/hang/stall.h"

#include "base/clock.h"
#include "model/step.h"

#define LATE 3 /* intervals after which a look is late */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t stall_interval_ns(const struct stall *stall)
{
    return smaller(stall->after_ns / STALL_LOOKS, NS_PER_SECOND);
}

uint64_t stall_since_ns(const struct stall *stall)
{
    return stall->busy_ns ? larger(stall->moved_ns, stall->busy_ns) : 0;
}

static uint32_t kind_of(const struct stall_look *look)
{
    bool is_first = look->steps > 0 && look->steps <= STALL_WARM_UP;
    return is_first ? STALL_FIRST : look->step_kind < STALL_FIRST ? look->step_kind : STEP_NONE;
}

uint64_t stall_limit_ns(const struct stall *stall)
{
    uint32_t kind = kind_of(&stall->last);
    uint64_t pause = larger(stall->kinds[kind].longest, stall->kinds[kind].earlier);
    bool is_learnt = stall->kinds[kind].looks >= STALL_LEARNT || stall->kinds[kind].steps >= STALL_LEARNT;
    if (kind == STALL_FIRST || !is_learnt)
        return larger(STALL_UNKNOWN * stall->after_ns,
                      smaller(STALL_GAPS * pause, STALL_MAX * stall->after_ns));
    return smaller(larger(stall->after_ns, STALL_GAPS * pause), STALL_MAX * stall->after_ns);
}

uint64_t stall_alarm_ns(const struct stall *stall)
{
    uint32_t kind = kind_of(&stall->last);
    uint64_t most = STALL_MAX * stall->after_ns;
    uint64_t usual = larger(STALL_ALARM * stall->after_ns, STALL_EVER * stall->kinds[kind].ever);
    return larger(stall_limit_ns(stall), kind == STALL_FIRST ? most : smaller(usual, most));
}

/* Learns a pause, in the kind of step in which it began. */
static void learn(struct stall *stall, uint64_t pause_ns)
{
    uint32_t kind = kind_of(&stall->last);
    if (++stall->kinds[kind].looks % STALL_WINDOW == 0) {
        stall->kinds[kind].earlier = stall->kinds[kind].longest;
        stall->kinds[kind].longest = 0;
    }
    stall->kinds[kind].longest = larger(stall->kinds[kind].longest, pause_ns);
    stall->kinds[kind].ever = larger(stall->kinds[kind].ever, pause_ns);
}

/* Without the time in which no look was possible. */
static void skip_late(struct stall *stall, uint64_t now_ns)
{
    uint64_t interval_ns = stall_interval_ns(stall), passed_ns = now_ns - stall->last.now_ns;
    if (!stall->last.now_ns || passed_ns <= LATE * interval_ns)
        return;
    uint64_t missed_ns = passed_ns - interval_ns;
    stall->moved_ns += missed_ns;
    stall->missed_ns += missed_ns;
    if (stall->busy_ns)
        stall->busy_ns += missed_ns;
}

/* When something moved since the last look; not later than moved_ns: nothing did. */
static uint64_t movement(const struct stall *stall, const struct stall_look *look)
{
    const struct stall_look *last = &stall->last;
    if (!stall->moved_ns || last->enqueued != look->enqueued || last->steps != look->steps)
        return look->now_ns;
    return last->gpu_ended_ns == look->gpu_ended_ns ? 0 : smaller(look->gpu_ended_ns, look->now_ns);
}

static enum stall_event end(struct stall *stall)
{
    bool was_stalled = stall->reports > 0;
    stall->reports = 0;
    return was_stalled ? STALL_ENDS : STALL_NOTHING;
}

static enum stall_event report(struct stall *stall, uint64_t now_ns)
{
    uint64_t repeat_ns = STALL_REPEAT * stall->after_ns * (stall->reports > STALL_OFTEN ? 6 : 1);
    bool is_first = stall->reports == 0;
    if (is_first) {
        stall->stalled_ns = stall_since_ns(stall);
        stall->is_alarm = false;
        stall->stalls++;
    }
    bool alarms = !stall->is_alarm && now_ns - stall_since_ns(stall) >= stall_alarm_ns(stall);
    if (!is_first && !alarms && now_ns - stall->reported_ns < repeat_ns)
        return STALL_NOTHING;
    stall->is_alarm |= alarms;
    stall->reported_ns = now_ns;
    stall->reports++;
    return is_first ? STALL_BEGINS : alarms ? STALL_ALARMS : STALL_REPEATS;
}

enum stall_event stall_note(struct stall *stall, const struct stall_look *look)
{
    enum stall_event event = STALL_NOTHING;
    bool is_busy = look->is_in_call || look->step_kind != STEP_NONE;
    skip_late(stall, look->now_ns);
    uint64_t moved_ns = movement(stall, look);
    if (moved_ns > stall->moved_ns) {
        if (stall->moved_ns)
            learn(stall, moved_ns - stall->moved_ns);
        stall->moved_ns = moved_ns;
        if (moved_ns > stall->reported_ns)
            event = end(stall);
    }
    uint64_t known = larger(stall->last.steps, STALL_WARM_UP);
    if (stall->last.now_ns && stall->last.step_kind == look->step_kind && look->steps > known)
        stall->kinds[kind_of(look)].steps += look->steps - known;
    stall->last = *look;
    if (!is_busy) {
        stall->busy_ns = 0;
        return event ? event : end(stall);
    }
    if (!stall->busy_ns)
        stall->busy_ns = look->now_ns;
    bool stands = look->now_ns - stall_since_ns(stall) >= stall_limit_ns(stall);
    return stands || stall->reports ? report(stall, look->now_ns) : event;
}
