-- Code
-- order: self_ns
-- note: By the line that the agent named at the launch. GPU time: concurrent work adds up. Waits: calls that wait for the GPU.
-- note: cuspan stat also reads stacks of calls, and finds the forward line of autograd's work.
calls AS @inline (
    SELECT trace_id, span_id, code_file, code_function, code_line FROM spans WHERE is_call AND code_file IS NOT NULL
),
work AS @inline (
    SELECT spans.grp AS grp, coalesce(spans.code_file, calls.code_file) AS file,
        coalesce(spans.code_function, calls.code_function) AS function, coalesce(spans.code_line, calls.code_line) AS line,
        duration_ns AS self_ns, 0 AS launches, 0 AS wait_ns,
        CASE WHEN class = 'copy' THEN coalesce(copy_bytes, 0) ELSE 0 END AS copied_bytes
    FROM spans LEFT JOIN calls ON calls.trace_id = spans.trace_id AND calls.span_id = spans.parent_id
    WHERE is_work AND (class <> 'gpu' OR activity = 'graph')
    UNION ALL
    SELECT grp, code_file, code_function, code_line, 0, CASE WHEN among(name, $launch_calls) THEN 1 ELSE 0 END,
        CASE WHEN among(name, $blocking_calls) THEN duration_ns ELSE 0 END, 0
    FROM spans WHERE is_call AND (among(name, $launch_calls) OR among(name, $blocking_calls))
),
lines AS (
    SELECT grp, coalesce(file || coalesce(':' || text_of(line), ''), '(no line)') AS place,
        CASE WHEN file IS NOT NULL THEN function END AS function, sum(self_ns) AS self_ns, sum(launches) AS launches,
        sum(wait_ns) AS wait_ns, sum(copied_bytes) AS copied_bytes
    FROM work GROUP BY grp, 2, 3
)
SELECT grp, place, function, self_ns, self_ns / nullif(sum(self_ns) OVER (PARTITION BY grp), 0) AS share, launches,
    wait_ns, copied_bytes
FROM lines
