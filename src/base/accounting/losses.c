#include "base/accounting/losses.h"

const struct loss losses[] = {
    {COUNTER_lost_cupti_dropped, true, "CUPTI dropped records for want of a buffer",
     "raise distribution.cuspan.cupti.host_buffer_count, or set per_thread_buffers to false beside it"},
    {COUNTER_lost_zero_timestamps, true,
     "the GPU had no buffer for timestamps, or work had not finished at the exit",
     "raise distribution.cuspan.cupti.device_buffer_limit"},
    {COUNTER_lost_context_error, false,
     "a fatal CUDA error (a device-side assert, an illegal address) stopped GPU work",
     "fix the kernel; the failed calls have the error as error.type; compute-sanitizer finds its place"},
    {COUNTER_lost_no_buffer, true, "no activity buffer was left for CUPTI",
     "raise distribution.cuspan.cupti.host_buffer_count, or set per_thread_buffers to false beside it"},
    {COUNTER_lost_late, false, "CUPTI handed records over after the end",
     "raise distribution.cuspan.exit_deadline_ms, or call cudaDeviceSynchronize before the exit"},
    {COUNTER_lost_graph_record, true, "CUDA graphs were made before CUPTI's graph records were on",
     "set distribution.cuspan.cupti.graph_records to at-once or always"},
    {COUNTER_lost_range, false, "too many ranges were open at once",
     "end ranges that are over; there is no setting for more"},
    {COUNTER_lost_malformed, false, "CUPTI's records don't have the layout that its version promises",
     "set distribution.cuspan.cupti.library to a release that cuspan knows (cuspan version)"},
    {COUNTER_lost_backwards, false, "CUPTI gave work that ends before it starts",
     "a newer driver or CUPTI may do better"},
    {COUNTER_lost_ring_full, true, "calls come faster than they are taken from a thread's ring",
     "raise distribution.cuspan.rings.bytes"},
    {COUNTER_lost_no_ring, true, "there are more threads than rings",
     "raise distribution.cuspan.rings.total_bytes"},
    {COUNTER_lost_in_flight, false, "the process ended inside calls",
     "end or join the program's threads before it exits"},
    {COUNTER_lost_queue_full, false, "spans come faster than they can be delivered",
     "raise distribution.cuspan.memory_bytes_max or max_queue_size, or trace less (detail, capture)"},
    {COUNTER_lost_spool_full, false, "the spool is full",
     "raise distribution.cuspan.spool.bytes_max, or see why the collector takes nothing"},
    {COUNTER_lost_spool_damaged, false, "the spool's files don't give back what was written",
     "look at the disk of distribution.cuspan.spool.directory, and at who else writes there"},
    {COUNTER_lost_broken, false, "a fault of the agent's own has ended the tracing",
     "please report the line that says which"},
    {COUNTER_lost_too_large, false, "a span is larger than a chunk of 64 KiB",
     "set attribute_limits.attribute_value_length_limit"},
    {COUNTER_lost_rejected, false, "the collector took a request and rejected some of its spans",
     "look into the collector's log; the warning has its words"},
    {COUNTER_lost_refused, false, "the collector refused requests for good",
     "look at the warning: the answer says why (authentication, size, path)"},
    {COUNTER_lost_unreachable, false, "no collector answered, however often it was asked",
     "start one, or correct the endpoint; raise export_timeout to wait longer"},
    {COUNTER_lost_deadline, false, "spans were not delivered when the deadline at exit passed",
     "raise distribution.cuspan.exit_deadline_ms"},
    {COUNTER_lost_unmade, false, "not all that was captured became spans before the deadline at exit",
     "raise distribution.cuspan.exit_deadline_ms"},
    {COUNTER_lost_output, false, "a file or stream could not be written",
     "look at the warning: a full disk, or a directory that is not there"},
    {COUNTER_lost_points, false, "metrics were not delivered",
     "look at the warning: it names the endpoint; cumulative metrics are made up for by the next export, "
     "delta ones outlive an outage with spool.directory"},
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
