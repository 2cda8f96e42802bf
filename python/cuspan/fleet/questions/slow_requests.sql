-- Slowest requests
-- order: wall_ns
-- note: A request is a trace without a session of cuspan: it began in the program, or came to it from outside.
requests AS (
    SELECT grp, trace_id, min(start_ns) AS first_ns, max(end_ns) - min(start_ns) AS wall_ns
    FROM spans GROUP BY grp, trace_id
    HAVING trace_id NOT IN (SELECT trace_id FROM @earlier_spans WHERE session_spans IS NOT NULL OR engine_iteration IS NOT NULL)
),
placed AS (
    SELECT grp, trace_id, first_ns, wall_ns, count(*) OVER (PARTITION BY grp) AS group_rows,
        sum(wall_ns) OVER (PARTITION BY grp) AS group_sum,
        row_number() OVER (PARTITION BY grp ORDER BY wall_ns DESC, trace_id) AS place
    FROM requests
),
slowest AS @once (
    SELECT grp, trace_id, first_ns, wall_ns, group_rows, group_sum FROM placed WHERE place <= $top
),
details AS (
    SELECT grp, trace_id, at_least(name, start_ns) AS name, at_least(process, start_ns) AS process,
        count(*) FILTER (WHERE is_call) AS calls, coalesce(sum(duration_ns) FILTER (WHERE is_call), 0) AS call_ns,
        count(*) FILTER (WHERE is_call AND error_text IS NOT NULL) AS errors, count(*) FILTER (WHERE is_kernel) AS kernels,
        coalesce(sum(duration_ns) FILTER (WHERE is_kernel), 0) AS kernel_ns,
        coalesce(sum(duration_ns) FILTER (WHERE is_move), 0) AS move_ns
    FROM spans WHERE trace_id IN (SELECT trace_id FROM slowest) GROUP BY grp, trace_id
)
SELECT slowest.grp AS grp, lower(hex(slowest.trace_id)) AS trace_id, name, process, first_ns AS start_unix_ns, wall_ns, calls,
    call_ns, errors, kernels, kernel_ns, move_ns, group_rows, group_sum
FROM slowest JOIN details ON details.grp = slowest.grp AND details.trace_id = slowest.trace_id
