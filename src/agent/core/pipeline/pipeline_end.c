/* The end of the pipeline, step by step, for the shutdown report.
 *
 * The order must hold: drain, forced flush, drain, disable capture, drain, close the session, deliver. Each
 * drain takes only the records that are there when it starts, so threads that continue to call cannot use up
 * the deadline. */
#include "agent/capture/hardware/nvml.h"
#include "agent/core/pipeline/pipeline.h"
#include "agent/core/pipeline/pipeline_state.h"

#include "agent/core/resource/device_links.h"
#include "agent/core/report/report.h"
#include "agent/core/report/shutdown.h"
#include "base/accounting/balance.h"
#include "base/accounting/invariant.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/export/delivery/last_error.h"
#include "agent/export/file_output.h"
#include "agent/capture/activity/buffers.h"
#include "agent/capture/switches.h"
#include "agent/watch/watch.h"

#include <stdio.h>
#include <time.h>

#define REPORT_NS_MAX                                                                                        \
    (250 * NS_PER_MS) /* reserved at exit to end the sender threads, count, and write the report */

#define WRITE_POLL_NS (1 * NS_PER_MS)

/* The pipeline thread writes the report when it is done; after a missed deadline a thread of the host does.
 */
static atomic_flag is_reported = ATOMIC_FLAG_INIT;
static _Atomic bool is_written;
static uint64_t deliver_until_ns;

static void take(enum shutdown_step step)
{
    shutdown_step_begin(step);
    uint64_t unmade = counter_get(COUNTER_lost_unmade);
    uint64_t records = pipeline_pump_all(deliver_until_ns);
    bool is_late = counter_get(COUNTER_lost_unmade) != unmade;
    shutdown_step_end(step, records, is_late ? "its time has passed, and records are lost" : NULL);
}

static void flush_cupti(void)
{
    uint32_t lent = buffers_lent();
    if (capture_failure()) {
        shutdown_step_skip(SHUTDOWN_flush_cupti);
        return;
    }
    shutdown_step_begin(SHUTDOWN_flush_cupti);
    (void)switches_take_error();
    capture_flush(true);
    uint32_t left = buffers_lent();
    shutdown_step_end(SHUTDOWN_flush_cupti, left < lent ? lent - left : 0, switches_take_error());
}

static void end_capture(void)
{
    shutdown_step_begin(SHUTDOWN_switch_off);
    capture_stop();
    shutdown_step_end(SHUTDOWN_switch_off, 1, switches_take_error());
    take(SHUTDOWN_take_last);
    shutdown_step_begin(SHUTDOWN_late);
    uint64_t late = counter_get(COUNTER_lost_late);
    capture_end();
    shutdown_step_end(SHUTDOWN_late, counter_get(COUNTER_lost_late) - late, NULL);
    shutdown_is_open(SHUTDOWN_OPEN_buffers, buffers_lent());
    shutdown_is_open(SHUTDOWN_OPEN_calls, counter_get(COUNTER_lost_in_flight));
}

static void close_session(void)
{
    if (!pipeline.correlate || invariant_any_failed()) {
        shutdown_step_skip(SHUTDOWN_close);
        return;
    }
    shutdown_step_begin(SHUTDOWN_close);
    uint64_t spans = counter_get(COUNTER_spans_created);
    outputs_set_pause(pipeline.outputs, pipeline.take_until_ns, NULL);
    shutdown_is_open(SHUTDOWN_OPEN_records, correlate_waiting(pipeline.correlate));
    correlate_finish(pipeline.correlate);
    profiles_export(pipeline.correlate, pipeline.outputs);
    metrics_export(pipeline.metrics, pipeline.correlate, pipeline.outputs);
    metrics_export_destroy(pipeline.metrics);
    shutdown_step_end(SHUTDOWN_close, counter_get(COUNTER_spans_created) - spans, NULL);
}

static void close_recording(struct report *report)
{
    shutdown_step_skip(SHUTDOWN_deliver);
    shutdown_step_begin(SHUTDOWN_recording);
    report->recording_events = recorder_close(pipeline.recorder);
    shutdown_step_end(SHUTDOWN_recording, report->recording_events,
                      counter_get(COUNTER_lost_recording) ? "events could not be written" : NULL);
}

static void deliver(struct report *report)
{
    struct outputs_left left;
    shutdown_step_skip(SHUTDOWN_recording);
    shutdown_step_begin(SHUTDOWN_deliver);
    uint64_t before = counter_get(COUNTER_spans_delivered), late = counter_get(COUNTER_lost_deadline);
    outputs_end(pipeline.outputs, deliver_until_ns, &left);
    bool is_late = counter_get(COUNTER_lost_deadline) != late;
    shutdown_step_end(SHUTDOWN_deliver, counter_get(COUNTER_spans_delivered) - before,
                      is_late ? "the deadline has passed, and spans are lost" : NULL);
    shutdown_is_open(SHUTDOWN_OPEN_threads, left.has_senders);
    shutdown_is_open(SHUTDOWN_OPEN_memory, left.bytes);
}

static void write_report(const struct report *report)
{
    shutdown_is_open(SHUTDOWN_OPEN_descriptors, file_output_open_count());
    if (report->settings->accounts_file)
        shutdown_step_begin(SHUTDOWN_report);
    else
        shutdown_step_skip(SHUTDOWN_report);
    bool written = report_write(report);
    if (report->settings->accounts_file)
        shutdown_step_end(SHUTDOWN_report, written, written ? NULL : "it could not be written");
    shutdown_write(report->settings);
}

/* Records that correlate still held when the invariant broke are lost. */
static void give_up_broken(void)
{
    struct balance balance = {.held = 0};
    balance_take(&balance, 0);
    int64_t unmade = balance_unaccounted(&balance);
    if (unmade > 0)
        counter_add(COUNTER_lost_broken, (uint64_t)unmade);
}

/* Reserves time to deliver and to write the report: records that are not spans after three quarters of the
 * time are counted as lost. A program at full load fills buffers faster than spans are made, and would use
 * all of the time. Recordings need no delivery. */
static void plan(void)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left_ns = pipeline.deadline_ns > now_ns ? pipeline.deadline_ns - now_ns : 0;
    uint64_t report_ns = left_ns / 10 < REPORT_NS_MAX ? left_ns / 10 : REPORT_NS_MAX;
    deliver_until_ns = now_ns + left_ns - report_ns;
    pipeline_take_until(pipeline.recorder ? deliver_until_ns : now_ns + left_ns / 4 * 3);
}

void pipeline_finish(void)
{
    struct report report;
    pipeline_report_exit();
    watch_stop();
    pipeline_let_waiters_go();
    plan();
    if (!pipeline.has_given_up) {
        take(SHUTDOWN_take);
        flush_cupti();
        take(SHUTDOWN_take_flushed);
    }
    end_capture();
    pipeline_follow_links();
    close_session();
    device_links_end();
    if (pipeline.settings->hang.is_watched)
        nvml_end();
    pipeline_log_failure();
    pipeline_log_losses();
    pipeline_log_releases();
    pipeline_describe(&report);
    if (pipeline.recorder)
        close_recording(&report);
    else
        deliver(&report);
    if (atomic_flag_test_and_set(&is_reported))
        return; /* too late: a thread of the host has reported the losses */
    if (pipeline.correlate && invariant_any_failed())
        give_up_broken();
    report_log_losses(NULL, last_error_at_exit());
    if (pipeline.correlate)
        report_log_imbalance(pipeline.settings->output_count);
    write_report(&report);
    atomic_store(&is_written, true);
}

void pipeline_report_missed_deadline(void)
{
    char why[160];
    struct report report = {.program = pipeline.program, .settings = pipeline.settings};
    if (atomic_flag_test_and_set(&is_reported)) {
        /* The pipeline thread was writing the report when the deadline passed. The process ends when this
         * returns, and with it that thread. */
        const struct timespec pause = {.tv_nsec = WRITE_POLL_NS};
        for (uint64_t ns = 0; ns < REPORT_NS_MAX && !atomic_load(&is_written); ns += WRITE_POLL_NS)
            nanosleep(&pause, NULL);
        return;
    }
    snprintf(why, sizeof why,
             "the deadline of %u ms at exit has passed, and what CUPTI still held comes on top; raise "
             "distribution.cuspan.exit_deadline_ms",
             pipeline.settings->exit_deadline_ms);
    struct balance balance;
    balance_close(&balance, pipeline.settings->output_count, !pipeline.recorder);
    report.balance = &balance;
    if (balance_lost(&balance))
        report_log_losses(&balance, why);
    else
        log_warn("%s", why);
    write_report(&report);
}
