/* What a thread works for, as its records say: contexts that it attaches, and names that it gives. The one
 * place that chooses a parent. */
#ifndef CUSPAN_CORRELATE_TRACE_THREAD_EVENTS_H
#define CUSPAN_CORRELATE_TRACE_THREAD_EVENTS_H

#include "correlate/trace/parent.h"
#include "correlate/trace/thread_state.h"

struct correlate;
struct range;

#define DECISIONS_KEPT 1024

struct decision {
    uint8_t trace_id[16];
    bool is_sampled;
};

struct thread_events {
    struct thread_states *workers;
    struct tracestates *states;
    struct decision decisions[DECISIONS_KEPT]; /* by trace, where the context's flag doesn't decide */
};

enum status thread_events_init(struct thread_events *threads) MUST_CHECK;
void thread_events_deinit(struct thread_events *threads);

void thread_events_attach(struct correlate *correlate, const struct thread_info *thread,
                          const struct context_record *attached);
void thread_events_name(struct correlate *correlate, const struct name_record *name);

/* The thread's state. Closes what a dead thread left open when its slot is the next one's. */
struct thread_state *work_of(struct correlate *correlate, const struct thread_info *thread, uint64_t now_ns);
/* The innermost open range, as long as the context in which it began is still the thread's; else NULL. */
struct range *work_innermost_range(const struct correlate *correlate, const struct thread_state *worker);
/* The first that exists: the innermost open range, the thread's context, the session. */
struct parent work_parent(struct correlate *correlate, struct thread_state *worker, uint64_t time_ns);
/* Extends the session over what belongs to its trace, sampled or not: sessions end after a number of spans.
 */
void work_cover(struct correlate *correlate, const struct parent *parent, uint64_t start_ns, uint64_t end_ns);

#endif
