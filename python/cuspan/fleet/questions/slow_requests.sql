-- Slowest requests
-- order: wall_ns
-- note: A request is a trace without a session of cuspan: it began in the program, or came to it from outside.
by_trace AS (
    SELECT grp, trace_id, min(start_ns) AS start_ns, max(end_ns) - min(start_ns) AS wall_ns,
        arg_min(name, start_ns) AS name, arg_min(process, start_ns) AS process,
        count(*) FILTER (class = 'call') AS calls, coalesce(sum(duration_ns) FILTER (class = 'call'), 0) AS call_ns,
        count(*) FILTER (class = 'call' AND error_text IS NOT NULL) AS errors,
        count(*) FILTER (class = 'kernel') AS kernels,
        coalesce(sum(duration_ns) FILTER (class = 'kernel'), 0) AS kernel_ns,
        coalesce(sum(duration_ns) FILTER (class IN ('copy', 'fill')), 0) AS move_ns
    FROM spans GROUP BY grp, trace_id
),
sessions AS (
    SELECT DISTINCT trace_id FROM spans WHERE class = 'span' AND session_spans IS NOT NULL
)
SELECT grp, lower(hex(trace_id)) AS trace_id, name, process, start_ns AS start_unix_ns, wall_ns, calls, call_ns, errors, kernels,
    kernel_ns, move_ns
FROM by_trace ANTI JOIN sessions USING (trace_id)
