-- Collectives
-- order: bytes
-- note: Transfer is the median of the shortest durations over the ranks, wait the mean time beyond them. Neither needs equal clocks.
arrivals AS (
    SELECT grp, collective_key, collective_operation AS operation, collective_communicator AS communicator,
        collective_ranks AS ranks, collective_bytes AS bytes, start_ns, duration_ns
    FROM spans WHERE activity = 'collective' AND class = 'comm' AND collective_key IS NOT NULL
),
instances AS (
    SELECT grp, operation, communicator, max(ranks) AS ranks, collective_key, max(bytes) AS bytes,
        min(duration_ns) AS transfer_ns, avg(duration_ns) - min(duration_ns) AS wait_ns,
        max(start_ns) - min(start_ns) AS skew_ns
    FROM arrivals GROUP BY grp, operation, communicator, collective_key
    HAVING count(*) = max(ranks)
)
SELECT grp, operation, communicator, ranks, count(*) AS count, sum(bytes) AS bytes,
    lower_median(transfer_ns) AS transfer_ns, CAST(floor(avg(wait_ns)) AS BIGINT) AS wait_ns,
    CAST(floor(avg(skew_ns)) AS BIGINT) AS skew_ns
FROM instances GROUP BY grp, operation, communicator, ranks
