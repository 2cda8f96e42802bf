-- Kernels
-- order: total_ns
-- note: GPU time; concurrent kernels add up.
picked AS @inline (
    SELECT hash_of(grp, kernel_full, name) AS kind, grp, kernel_full, name, duration_ns AS value FROM spans WHERE is_kernel
),
kinds AS @once (
    SELECT hash_of(grp, kernel_full, name) AS kind, hash_of(grp, coalesce(kernel_full, name)) AS key, grp, kernel_full, name
    FROM (SELECT DISTINCT grp, kernel_full, name FROM picked)
),
counted_kinds AS (
    SELECT kind, value, count(*) AS n FROM picked GROUP BY kind, value
),
counted AS @once (
    SELECT key, value, sum(n) AS n FROM counted_kinds JOIN kinds ON kinds.kind = counted_kinds.kind GROUP BY key, value
),
@quantiles,
names AS (
    SELECT key, any_value(grp) AS grp, any_value(name) AS name, any_value(kernel_full) AS full_name FROM kinds GROUP BY key
)
SELECT grp, name, count, total AS total_ns, total / nullif(sum(total) OVER (PARTITION BY grp), 0) AS share, mean AS avg_ns,
    median AS median_ns, p99 AS p99_ns, least_value AS min_ns, most_value AS max_ns, full_name, is_rough
FROM values_of JOIN names ON names.key = values_of.key
