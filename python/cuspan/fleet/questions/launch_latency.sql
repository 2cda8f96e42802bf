-- Launch latency: start of the call to start on the GPU
-- order: count
-- note: Work that starts before its call, according to CUPTI's clocks, counts as 0.
picked AS @inline (
    SELECT hash_of(grp, class) AS key, grp, class AS work, greatest(start_delay, 0) AS value
    FROM spans WHERE is_work AND start_delay IS NOT NULL
),
@quantiles,
kinds AS (
    SELECT key, any_value(grp) AS grp, any_value(work) AS work, count(*) AS count, sum(value) AS total, min(value) AS min_ns,
        max(value) AS max_ns
    FROM picked GROUP BY key
)
SELECT grp, work, count, quotient(total, count) AS avg_ns, clamp(median, min_ns, max_ns) AS median_ns,
    clamp(p99, min_ns, max_ns) AS p99_ns, min_ns, max_ns, is_rough
FROM kinds JOIN quantiles ON quantiles.key = kinds.key
