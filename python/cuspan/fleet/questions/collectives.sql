-- Collectives
-- order: bytes
-- note: Transfer is the median of the shortest durations over the ranks, wait the mean time beyond them. Neither needs equal clocks.
-- note: By operation, communicator and size, from this power of two to the next one. Those of which a rank is missing do not count, and no sends and receives.
arrivals AS @inline (
    SELECT grp, collective_key, coalesce(collective_operation, 'other') AS operation,
        coalesce(collective_communicator, '') AS communicator, collective_ranks AS ranks, coalesce(collective_bytes, 0) AS bytes,
        duration_ns, coalesce(rank, 0) AS rank, process
    FROM spans
    WHERE activity = 'collective' AND class = 'comm' AND collective_key IS NOT NULL AND collective_ranks > 1
        AND coalesce(collective_operation, 'other') NOT IN ('send', 'recv', 'send_recv')
),
instances AS @once (
    SELECT grp, operation, communicator, collective_key, max(ranks) AS ranks, max(bytes) AS bytes,
        min(duration_ns) AS shortest_ns, max(duration_ns) - min(duration_ns) AS skew_ns,
        avg(duration_ns) - min(duration_ns) AS wait_ns, min(bytes) = max(bytes) AS is_uniform,
        CASE WHEN max(bytes) > 0 THEN floor(log2(max(bytes))) ELSE -1 END AS size_class,
        at_least(process, (duration_ns, rank)) AS last, at_least(rank, (duration_ns, rank)) AS last_rank
    FROM arrivals GROUP BY grp, operation, communicator, collective_key
    HAVING count(*) = max(ranks) AND count(DISTINCT process) = count(*)
),
classes AS (
    SELECT grp, operation, communicator, ranks, size_class, count(*) AS count, sum(bytes) AS bytes,
        middle(shortest_ns) AS transfer_ns, middle(skew_ns) AS skew_ns, avg(wait_ns) AS wait_ns,
        min(CASE WHEN is_uniform THEN 1 ELSE 0 END) AS is_uniform,
        middle(bytes * 1e9 / nullif(shortest_ns, 0)) AS bytes_per_s
    FROM instances GROUP BY grp, operation, communicator, ranks, size_class
),
lasts AS (
    SELECT grp, operation, communicator, ranks, size_class, last, last_rank, count(*) AS times
    FROM instances GROUP BY grp, operation, communicator, ranks, size_class, last, last_rank
),
most_often AS (
    SELECT grp, operation, communicator, ranks, size_class, at_least(last, (0 - times, last_rank)) AS last, max(times) AS times
    FROM lasts GROUP BY grp, operation, communicator, ranks, size_class
)
SELECT classes.grp AS grp, classes.operation AS operation, nullif(classes.communicator, '') AS communicator,
    classes.ranks AS ranks,
    CASE WHEN classes.size_class < 0 THEN 0 ELSE CAST(pow(2, classes.size_class) AS BIGINT) END AS from_bytes, count, bytes,
    CAST(floor(transfer_ns) AS BIGINT) AS transfer_ns,
    CASE WHEN is_uniform = 1 THEN bytes_per_s * CASE classes.operation WHEN 'all_reduce' THEN 2 * (classes.ranks - 1) / classes.ranks
        WHEN 'all_gather' THEN (classes.ranks - 1) / classes.ranks WHEN 'reduce_scatter' THEN (classes.ranks - 1) / classes.ranks
        WHEN 'all_to_all' THEN (classes.ranks - 1) / classes.ranks WHEN 'gather' THEN (classes.ranks - 1) / classes.ranks
        WHEN 'scatter' THEN (classes.ranks - 1) / classes.ranks ELSE 1 END END AS busbw,
    CAST(floor(wait_ns) AS BIGINT) AS wait_ns, CAST(floor(skew_ns) AS BIGINT) AS skew_ns, last, times / count AS last_share
FROM classes JOIN most_often ON most_often.grp = classes.grp AND most_often.operation = classes.operation
    AND most_often.communicator = classes.communicator AND most_often.ranks = classes.ranks
    AND most_often.size_class = classes.size_class
