/* The pipeline thread: takes what was captured, correlates and encodes it, hands batches to the exporters. */
#ifndef CUSPAN_AGENT_PIPELINE_H
#define CUSPAN_AGENT_PIPELINE_H

#include "base/accounting/balance.h"
#include "base/status.h"
#include "base/trace_context.h"
#include "capture/capture.h"
#include "model/settings.h"

struct pipeline_options {
    const struct settings *settings;
    const struct capture_info *info;
    const char *self_env_folder;
    const char *program;
    const struct trace_context *parent; /* or NULL */
};

/* Prepares the stages behind capture: outputs and correlation, or a recording. */
enum status pipeline_prepare(const struct pipeline_options *options, struct error *err) MUST_CHECK;

/* Tells the outputs what they describe, and starts the thread. */
enum status pipeline_start(const struct capture_info *info, struct error *err) MUST_CHECK;

/* Undoes pipeline_prepare, done or half done: no thread of ours may be busy while the host goes on to its
 * exit. */
void pipeline_cancel(void);

/* Makes all that is captured, and finished on the GPU, leave at once, and waits until it is delivered or
 * given up, or until `deadline_ns` (TIMEOUT; also where the process is ending). Any thread of the host's. */
enum status pipeline_flush(uint64_t deadline_ns) MUST_CHECK;

struct pipeline_snapshot {
    struct balance balance;
    uint64_t queue_bytes, queue_free_bytes;
};

/* How it stands at one moment, exactly; TIMEOUT: the pipeline thread doesn't answer by then (it may be inside
 * CUPTI), or doesn't run. Any thread but it. */
enum status pipeline_snapshot(struct pipeline_snapshot *view, uint64_t deadline_ns) MUST_CHECK;

/* What the program has done so far, and the CPU time of the pipeline's thread; being asked keeps it counted
 * for a while. TIMEOUT as of pipeline_snapshot, UNAVAILABLE: what is captured goes to a recording. Any thread
 * but it, and one at a time. */
struct live_stats_view;
enum status pipeline_live_stats(struct live_stats_view *view, uint64_t *cpu_ns,
                                uint64_t deadline_ns) MUST_CHECK;

/* Leaves CUPTI to others, or comes back, and waits until it is so. TIMEOUT, UNAVAILABLE: it is not. Any
 * thread of the host's. */
enum status pipeline_set_released(bool is_released, uint64_t deadline_ns) MUST_CHECK;

/* Waits while another thread is in pipeline_stop, as long as that may take. */
void pipeline_wait(void);

/* Ends capture, delivers everything within the deadline, writes the reports. Returns when that is done or the
 * deadline has passed; what is not delivered then is counted as long as the process lives. `why` is for the
 * reports, and stays valid. */
void pipeline_stop(const char *why);

/* The same begun, but not waited for, and whether it has come to its end: for a signal's handler. Both
 * async-signal-safe. The interrupted thread is taken never to go on. */
void pipeline_ask_to_stop(int signal_number);
bool pipeline_has_ended(void);

#endif
