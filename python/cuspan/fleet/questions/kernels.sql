-- Kernels
-- order: total_ns
-- note: GPU time; concurrent kernels add up.
picked AS @inline (
    SELECT hash_of(grp, coalesce(kernel_full, name)) AS key, grp, name, kernel_full, duration_ns AS value FROM spans WHERE is_kernel
),
quantiles_of(any_value(grp) AS grp, any_value(name) AS name, any_value(kernel_full) AS full_name)
SELECT grp, name, count, total AS total_ns, total / nullif(sum(total) OVER (PARTITION BY grp), 0) AS share, mean AS avg_ns,
    median AS median_ns, p99 AS p99_ns, least_value AS min_ns, most_value AS max_ns, full_name, is_rough
FROM values_of
