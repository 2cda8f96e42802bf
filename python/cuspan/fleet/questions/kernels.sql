-- Kernels
-- order: total_ns
-- note: GPU time; concurrent kernels add up.
picked AS @inline (
    SELECT hash_of(grp, coalesce(kernel_full, name)) AS key, grp, name, kernel_full, duration_ns AS value
    FROM spans WHERE class = 'kernel'
),
@quantiles,
kinds AS (
    SELECT key, any_value(grp) AS grp, any_value(name) AS name, any_value(kernel_full) AS full_name, count(*) AS count,
        sum(value) AS total_ns, min(value) AS min_ns, max(value) AS max_ns
    FROM picked GROUP BY key
)
SELECT grp, name, count, total_ns, total_ns / nullif(sum(total_ns) OVER (PARTITION BY grp), 0) AS share,
    quotient(total_ns, count) AS avg_ns, clamp(median, min_ns, max_ns) AS median_ns, clamp(p99, min_ns, max_ns) AS p99_ns,
    min_ns, max_ns, full_name, is_rough
FROM kinds JOIN quantiles ON quantiles.key = kinds.key
