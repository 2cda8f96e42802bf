/* The pipeline thread: drains captured records, correlates and encodes them, and passes batches to the
 * exporters. */
#pragma once

#include "base/accounting/balance.h"
#include "base/status.h"
#include "base/trace_context.h"
#include "agent/capture/capture.h"
#include "model/settings/settings.h"

struct pipeline_options {
    const struct settings *settings;
    const struct capture_info *info;
    const char *self_env_folder;
    const char *program;
    const struct trace_context *parent; /* or NULL */
    const struct step_rules *steps;
};

/* Prepares the stages behind capture: outputs and correlation, or a recording. */
enum status pipeline_prepare(const struct pipeline_options *options, struct error *err) MUST_CHECK;

/* Sets the resource of the outputs and starts the thread. */
enum status pipeline_start(const struct capture_info *info, struct error *err) MUST_CHECK;

/* Undoes pipeline_prepare, also if it failed. Afterwards no thread of ours runs. */
void pipeline_cancel(void);

/* Sends everything that is captured and finished on the GPU, and waits until it is delivered or lost, or
 * until `deadline_ns` (TIMEOUT; also if the process is ending). Any thread of the host. */
enum status pipeline_flush(uint64_t deadline_ns) MUST_CHECK;

/* Makes the pipeline thread flush CUPTI completely, for the hang watch, and tell the live state. Waits for
 * nothing. Any thread. */
void pipeline_request_hang_flush(void);

struct pipeline_snapshot {
    struct balance balance;
    uint64_t queue_bytes, queue_free_bytes;
};

/* An exact snapshot. TIMEOUT: the pipeline thread did not respond (it may be inside CUPTI) or does not run.
 * Any other thread. */
enum status pipeline_snapshot(struct pipeline_snapshot *view, uint64_t deadline_ns) MUST_CHECK;

/* Returns the statistics of the program and the CPU time of the pipeline thread. A call enables the
 * statistics for a while. TIMEOUT as for pipeline_snapshot. UNAVAILABLE: the agent records to a file. Any
 * other thread, one at a time. */
struct live_stats_view;
enum status pipeline_live_stats(struct live_stats_view *view, uint64_t *cpu_ns,
                                uint64_t deadline_ns) MUST_CHECK;

/* Delivers everything as at the end of the process, which may follow or not, within exit_deadline_ms, and
 * writes the report as of then. TIMEOUT: not everything is delivered. Any thread of the host. */
enum status pipeline_checkpoint(void) MUST_CHECK;

/* Leaves CUPTI to another tool, or resumes, and waits until that is done. TIMEOUT, UNAVAILABLE: it is not.
 * Any thread of the host. */
enum status pipeline_set_released(bool is_released, uint64_t deadline_ns) MUST_CHECK;

/* Waits while another thread is in pipeline_stop, within its deadline. */
void pipeline_wait(void);

/* Ends capture, delivers everything within the deadline, and writes the reports. Returns when that is done
 * or the deadline has passed; the remaining work then goes on while the process lives. `why` is for the
 * reports and stays valid. */
void pipeline_stop(const char *why);

/* Asynchronous pipeline_stop(), and whether it has finished, for a signal handler. Both are
 * async-signal-safe. The interrupted thread is assumed never to continue. */
void pipeline_ask_to_stop(int signal_number);
bool pipeline_has_ended(void);
