-- Late ranks
-- order: lateness_ns
-- note: Lateness is how much later than the median rank it arrives in the collectives of a step: the median over the steps. Negative: earlier.
-- note: The first rank holds up the others. cuspan stat --findings also judges its own time, and says what is late.
traces AS (
    SELECT trace_id, max(step) AS step FROM spans
    WHERE step IS NOT NULL AND coalesce(step_kind, 'train') = 'train' GROUP BY trace_id
),
arrivals AS @once (
    SELECT spans.grp AS grp, collective_key, coalesce(collective_communicator, '') AS communicator, collective_ranks AS ranks,
        collective_bytes AS bytes, duration_ns, coalesce(rank, 0) AS rank, process, host, traces.step AS step
    FROM spans JOIN traces ON traces.trace_id = spans.trace_id
    WHERE activity = 'collective' AND class = 'comm' AND collective_key IS NOT NULL AND collective_ranks > 1
        AND collective_operation IN ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all')
),
instances AS (
    SELECT grp, communicator, collective_key, middle(duration_ns) AS middle_ns, min(step) AS step,
        at_least(process, (duration_ns, rank)) AS last
    FROM arrivals GROUP BY grp, communicator, collective_key
    HAVING count(*) = max(ranks) AND count(DISTINCT process) = count(*)
        AND min(coalesce(bytes, 0)) = max(coalesce(bytes, 0))
),
late AS (
    SELECT arrivals.grp AS grp, arrivals.communicator AS communicator, instances.step AS step, process, any_value(rank) AS rank,
        any_value(host) AS host, count(*) AS collectives, max(ranks) AS ranks, sum(middle_ns - duration_ns) AS late_ns,
        count(*) FILTER (WHERE last = process) AS times_last
    FROM arrivals JOIN instances ON instances.grp = arrivals.grp AND instances.communicator = arrivals.communicator
        AND instances.collective_key = arrivals.collective_key
    GROUP BY arrivals.grp, arrivals.communicator, instances.step, process
)
SELECT grp, any_value(rank) AS rank, process, any_value(host) AS host, nullif(communicator, '') AS communicator, max(ranks) AS ranks,
    count(*) AS steps, sum(collectives) AS collectives, sum(times_last) / sum(collectives) AS last_share,
    CAST(trunc(middle(late_ns)) AS BIGINT) AS lateness_ns
FROM late GROUP BY grp, communicator, process
