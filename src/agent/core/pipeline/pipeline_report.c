/* The report of a running process, which remains if it ends by _exit(), SIGKILL or a crash. */
#include "agent/core/pipeline/pipeline.h"
#include "agent/core/pipeline/pipeline_state.h"

#include "agent/core/report/report.h"
#include "base/accounting/counters.h"

/* Writing a report takes about 100 µs on a local disk. */
#define REPORT_INTERVAL_NS (100 * NS_PER_MS)

static struct {
    uint64_t due_ns;
    uint64_t progress, delivered; /* as of the last report */
    uint64_t start_ns, last_delivery_ns;
    bool has_failed;
} running;

void pipeline_describe(struct report *report)
{
    *report = (struct report){.program = pipeline.program,
                              .settings = pipeline.settings,
                              .start_ns = running.start_ns,
                              .last_delivery_ns = running.last_delivery_ns};
    if (pipeline.recorder) {
        report->recording = recorder_path(pipeline.recorder);
        report->recording_events = counter_get(COUNTER_records_written);
    } else {
        report->trace_count =
            correlate_traces(pipeline.correlate, report->traces, REPORT_TRACES_MAX, &report->trace_total);
    }
}

static uint64_t delivered_now(void)
{
    return counter_get(pipeline.recorder ? COUNTER_records_written : COUNTER_spans_delivered);
}

static uint64_t progress_now(void)
{
    return delivered_now() + counter_get(COUNTER_spans_created);
}

static void note_delivery(void)
{
    uint64_t delivered = delivered_now();
    if (delivered != running.delivered)
        running.last_delivery_ns = clock_read_ns(CLOCK_REALTIME);
    running.delivered = delivered;
}

static void write_unfinished(enum report_state state)
{
    static struct pipeline_snapshot view;
    struct report report;
    note_delivery();
    pipeline_describe(&report);
    pipeline_take_snapshot(&view);
    report.state = state;
    report.balance = &view.balance;
    running.has_failed = !report_write(&report);
}

void pipeline_report_start(void)
{
    running.start_ns = clock_read_ns(CLOCK_REALTIME);
    running.delivered = delivered_now();
    if (pipeline.settings->accounts_file)
        write_unfinished(REPORT_RUNNING);
}

void pipeline_report_exit(void)
{
    if (pipeline.settings->accounts_file && !running.has_failed)
        write_unfinished(REPORT_EXITING);
}

void pipeline_report_checkpoint(bool is_complete)
{
    if (!pipeline.settings->accounts_file || running.has_failed)
        return;
    running.progress = progress_now();
    write_unfinished(is_complete ? REPORT_COMPLETE : REPORT_EXITING);
}

void pipeline_report_if_due(uint64_t now_ns)
{
    if (!pipeline.settings->accounts_file || running.has_failed || now_ns < running.due_ns)
        return;
    uint64_t progress = progress_now();
    if (progress == running.progress)
        return;
    running.progress = progress;
    running.due_ns = now_ns + REPORT_INTERVAL_NS;
    write_unfinished(REPORT_RUNNING);
}
