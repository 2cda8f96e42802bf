#include "base/accounting/losses.h"

const struct loss losses[] = {
    {COUNTER_lost_cupti_dropped, true, "CUPTI dropped records because it had no buffer",
     "raise distribution.cuspan.cupti.host_buffer_count"},
    {COUNTER_lost_zero_timestamps, true,
     "the GPU had no buffer for timestamps, or work was unfinished at exit",
     "raise distribution.cuspan.cupti.device_buffer_limit"},
    {COUNTER_lost_context_error, false,
     "a fatal CUDA error (a device-side assert, an illegal address) stopped GPU work",
     "fix the kernel; the failed calls have the error in error.type; compute-sanitizer locates it"},
    {COUNTER_lost_after_error, false,
     "a fatal CUDA error (a device-side assert, an illegal address) made CUPTI drop its records",
     "fix the kernel; the failed calls have the error in error.type; compute-sanitizer locates it"},
    {COUNTER_lost_no_buffer, true, "no activity buffer was free",
     "raise distribution.cuspan.cupti.host_buffer_count"},
    {COUNTER_lost_late, false, "CUPTI returned records after shutdown",
     "raise distribution.cuspan.exit_deadline_ms, or call cudaDeviceSynchronize before exit"},
    {COUNTER_lost_graph_record, true, "CUDA graphs were created before CUPTI's graph records were enabled",
     "trace the program from its start, or set distribution.cuspan.cupti.graph_records to always"},
    {COUNTER_lost_range, false, "too many ranges were open at once",
     "end ranges; the limit is not configurable"},
    {COUNTER_lost_malformed, false, "CUPTI's records do not have the layout of its version",
     "set distribution.cuspan.cupti.library to a supported release (`cuspan version` lists them)"},
    {COUNTER_lost_backwards, false, "CUPTI reported work that ends before it starts",
     "try a newer driver or CUPTI"},
    {COUNTER_lost_ring_full, true, "calls come faster than cuspan reads them from a thread's ring",
     "raise distribution.cuspan.rings.bytes"},
    {COUNTER_lost_no_ring, true, "there are more threads than rings",
     "raise distribution.cuspan.rings.total_bytes"},
    {COUNTER_lost_in_flight, false, "the process ended during calls",
     "end or join the program's threads before it exits"},
    {COUNTER_lost_queue_full, false, "spans come faster than they are delivered",
     "raise distribution.cuspan.memory_bytes_max or max_queue_size, or trace less (detail, capture)"},
    {COUNTER_lost_spool_full, false, "the spool is full",
     "raise distribution.cuspan.spool.bytes_max, or check why the collector accepts nothing"},
    {COUNTER_lost_spool_damaged, false, "files of the spool are damaged",
     "check the disk of distribution.cuspan.spool.directory, and for other programs that write there"},
    {COUNTER_lost_broken, false, "a failed invariant of the agent ended tracing",
     "please report the log line with the invariant"},
    {COUNTER_lost_too_large, false, "a span is larger than a chunk of 64 KiB",
     "set attribute_limits.attribute_value_length_limit"},
    {COUNTER_lost_rejected, false, "the collector accepted a request but rejected some of its spans",
     "check the collector's log; the warning has its message"},
    {COUNTER_lost_refused, false, "the collector refused requests permanently",
     "see the warning for the reason (authentication, size, path)"},
    {COUNTER_lost_unreachable, false, "no collector answered, despite retries",
     "start one, or correct the endpoint; raise export_timeout to retry longer"},
    {COUNTER_lost_deadline, false, "spans were not delivered when the deadline at exit passed",
     "raise distribution.cuspan.exit_deadline_ms"},
    {COUNTER_lost_unmade, false, "not all that was captured became spans before the deadline at exit",
     "raise distribution.cuspan.exit_deadline_ms"},
    {COUNTER_lost_output, false, "a file or stream could not be written",
     "look at the warning: a full disk, or a directory that is not there"},
    {COUNTER_lost_points, false, "metrics were not delivered",
     "see the warning for the endpoint; the next export makes up for lost cumulative metrics; "
     "with spool.directory, delta metrics survive an outage"},
    {COUNTER_lost_profile_samples, false, "profiles were not delivered",
     "see the warning for the endpoint; a Collector needs --feature-gates=service.profilesSupport and a "
     "pipeline of profiles"},
    {COUNTER_lost_hang_reports, false, "reports of hangs were not delivered",
     "see the warning for the endpoint; without a server for logs, set distribution.cuspan.hang.watch to "
     "off"},
    {COUNTER_lost_recording, false, "the recording could not be written",
     "look at the warning: a full disk, or a directory that is not there"},
};
const size_t loss_count = sizeof losses / sizeof *losses;

const struct loss *loss_of(enum counter counter)
{
    for (size_t i = 0; i < loss_count; i++)
        if (losses[i].counter == counter)
            return &losses[i];
    return NULL;
}
