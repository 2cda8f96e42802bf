-- Steps
-- order: step
-- ascending
-- note: Of all ranks together. Durations are those of the ranks' spans of the step.
marks AS (
    SELECT grp, trace_id, step, coalesce(nullif(step_kind, 'train'), '') AS kind, process, duration_ns
    FROM spans WHERE step IS NOT NULL
),
traces AS (
    SELECT trace_id, step, any_value(kind) AS kind FROM marks GROUP BY ALL
),
durations AS (
    SELECT grp, step, kind, count(DISTINCT process) AS processes, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
        arg_max(process, duration_ns) AS slowest
    FROM marks GROUP BY grp, step, kind
),
work AS (
    SELECT grp, traces.step AS step, kind, count(*) FILTER (class = 'call') AS calls,
        coalesce(sum(duration_ns) FILTER (class = 'call'), 0) AS call_ns,
        count(*) FILTER (class = 'call' AND error_text IS NOT NULL) AS errors,
        count(*) FILTER (class = 'kernel') AS kernels,
        coalesce(sum(duration_ns) FILTER (class = 'kernel'), 0) AS kernel_ns,
        coalesce(sum(duration_ns) FILTER (class IN ('copy', 'fill')), 0) AS move_ns,
        coalesce(sum(coalesce(CASE WHEN class = 'copy' THEN copy_bytes ELSE fill_bytes END, 0))
            FILTER (class IN ('copy', 'fill')), 0) AS moved_bytes
    FROM spans JOIN traces USING (trace_id) GROUP BY grp, traces.step, kind
)
SELECT grp, step, nullif(kind, '') AS kind, processes, min_ns, max_ns, slowest, calls, call_ns, errors, kernels, kernel_ns,
    move_ns, moved_bytes
FROM work LEFT JOIN durations USING (grp, step, kind)
