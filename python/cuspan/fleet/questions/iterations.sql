-- Iterations of serving engines
-- order: total_ns
-- note: Recorded iterations, of all processes. GPU time, calls, kernels and graphs are those of the first rank; the GPU share is its GPU time divided by the duration.
-- note: The gap is the median time to the next iteration, if that is recorded, too. Summaries of slow iterations do not count.
iterations AS @once (
    SELECT grp, engine_name AS engine, coalesce(instance, process) AS who, trace_id, engine_iteration AS number, start_ns, end_ns,
        duration_ns, attribute('engine.iteration.kind') AS kind,
        coalesce(number_of(attribute('engine.iteration.requests')), 0) AS requests,
        coalesce(number_of(attribute('engine.iteration.prefill_tokens')), 0) AS prefill_tokens,
        coalesce(number_of(attribute('engine.iteration.decode_tokens')), 0) AS decode_tokens
    FROM spans WHERE engine_iteration IS NOT NULL AND attribute('engine.iteration.requests') IS NOT NULL
        AND attribute('engine.iteration.summary') IS NULL
),
totals AS @once (
    SELECT grp, trace_id, coalesce(instance, process) AS who, max(coalesce(number_of(attribute('cuda.total.gpu_time')), 0)) AS gpu_ns,
        max(coalesce(number_of(attribute('cuda.total.calls')), 0)) AS calls,
        max(coalesce(number_of(attribute('cuda.total.kernels')), 0)) AS kernels,
        max(coalesce(number_of(attribute('cuda.total.graphs')), 0)) AS graphs
    FROM spans WHERE engine_iteration IS NOT NULL AND attribute('engine.iteration.requests') IS NULL
        AND attribute('cuda.total.incomplete') IS NULL
    GROUP BY grp, trace_id, coalesce(instance, process)
),
followed AS (
    SELECT *, lead(number) OVER (PARTITION BY grp, engine, who ORDER BY start_ns, number) AS next_number,
        lead(start_ns) OVER (PARTITION BY grp, engine, who ORDER BY start_ns, number) AS next_ns
    FROM iterations
),
measured AS (
    SELECT followed.grp AS grp, engine, duration_ns, requests, prefill_tokens, decode_tokens, gpu_ns, calls, kernels, graphs,
        CASE WHEN gpu_ns IS NOT NULL THEN duration_ns END AS known_ns,
        CASE WHEN next_number = number + 1 THEN greatest(next_ns - end_ns, 0) END AS gap_ns,
        CASE WHEN kind IN ('dummy', 'transfer', 'warm_up') THEN kind WHEN prefill_tokens > 0 AND decode_tokens > 0 THEN 'mixed'
            WHEN prefill_tokens > 0 THEN 'prefill' WHEN decode_tokens > 0 THEN 'decode' ELSE 'unknown' END AS work
    FROM followed LEFT JOIN totals ON totals.grp = followed.grp AND totals.trace_id = followed.trace_id AND totals.who = followed.who
)
SELECT grp, engine, work, count(*) AS count, sum(duration_ns) AS total_ns, median_of(duration_ns) AS median_ns,
    p99_of(duration_ns) AS p99_ns, max(duration_ns) AS max_ns, sum(requests) / count(*) AS mean_requests,
    sum(prefill_tokens) AS prefill_tokens, sum(decode_tokens) AS decode_tokens, sum(gpu_ns) AS gpu_ns,
    sum(gpu_ns) / sum(known_ns) AS gpu_share, median_of(gap_ns) AS median_gap_ns, count(gap_ns) AS gaps,
    sum(calls) AS calls, sum(kernels) AS kernels, sum(graphs) AS graphs,
    count(*) FILTER (WHERE graphs > 0) / nullif(count(gpu_ns), 0) AS graph_share
FROM measured GROUP BY grp, engine, work
