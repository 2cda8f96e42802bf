-- Steps
-- plot: max_ns
-- order: step
-- ascending
-- note: Of all ranks together. A step lasts from when the GPU has finished the work of earlier steps to its last work. Slowest is the rank with the longest own time: the step without exposed communication, or the work of its host.
@step_times,
traces AS (
    SELECT trace_id, step, any_value(kind) AS kind FROM rank_steps GROUP BY trace_id, step
),
durations AS (
    SELECT grp, step, kind, count(DISTINCT process) AS processes, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
        at_most(process, greatest(duration_ns - coalesce(exposed_ns, 0), host_ns)) AS slowest
    FROM step_times GROUP BY grp, step, kind
),
work AS (
    SELECT spans.grp AS grp, traces.step AS step, kind, count(*) FILTER (WHERE is_call) AS calls,
        coalesce(sum(duration_ns) FILTER (WHERE is_call), 0) AS call_ns,
        count(*) FILTER (WHERE is_call AND error_text IS NOT NULL) AS errors,
        count(*) FILTER (WHERE is_kernel) AS kernels,
        coalesce(sum(duration_ns) FILTER (WHERE is_kernel), 0) AS kernel_ns,
        coalesce(sum(duration_ns) FILTER (WHERE is_move), 0) AS move_ns,
        coalesce(sum(coalesce(CASE WHEN class = 'copy' THEN copy_bytes ELSE fill_bytes END, 0))
            FILTER (WHERE is_move), 0) AS moved_bytes
    FROM spans JOIN traces ON traces.trace_id = spans.trace_id GROUP BY spans.grp, traces.step, kind
)
SELECT work.grp AS grp, work.step AS step, nullif(work.kind, '') AS kind, processes, min_ns, max_ns, slowest, calls, call_ns,
    errors, kernels, kernel_ns, move_ns, moved_bytes
FROM work LEFT JOIN durations ON durations.grp = work.grp AND durations.step = work.step AND durations.kind = work.kind
