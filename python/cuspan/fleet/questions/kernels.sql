-- Kernels
-- order: total_ns
-- note: GPU time; concurrent kernels add up.
picked AS (
    SELECT grp, coalesce(kernel_full, name) AS kernel, kernel_full, name, duration_ns AS value
    FROM spans WHERE class = 'kernel'
),
kinds AS (
    SELECT grp, kernel, any_value(name) AS name, any_value(kernel_full) AS full_name,
        approx_count_distinct(value) > $distinct_max AS is_rough, count(*) AS count, sum(value) AS total_ns,
        min(value) AS min_ns, max(value) AS max_ns
    FROM picked GROUP BY grp, kernel
),
rough AS (
    SELECT hash(grp, kernel) AS key FROM kinds WHERE is_rough
),
counted AS (
    SELECT grp, kernel, CASE WHEN hash(grp, kernel) IN (SELECT key FROM rough) THEN bucket(value) ELSE value END AS bin,
        count(*) AS n
    FROM picked GROUP BY ALL
),
ranked AS (
    SELECT grp, kernel, bin, sum(n) OVER (PARTITION BY grp, kernel ORDER BY bin) AS upto FROM counted
),
quantiles AS (
    SELECT grp, kernel, min(bin) FILTER (upto >= nearest_rank(count, 50)) AS median_ns,
        min(bin) FILTER (upto >= nearest_rank(count, 99)) AS p99_ns
    FROM ranked JOIN kinds USING (grp, kernel) GROUP BY grp, kernel
)
SELECT grp, name, count, total_ns, total_ns / nullif(sum(total_ns) OVER (PARTITION BY grp), 0) AS share,
    total_ns // count AS avg_ns, clamp(median_ns, min_ns, max_ns) AS median_ns, clamp(p99_ns, min_ns, max_ns) AS p99_ns,
    min_ns, max_ns, full_name, is_rough
FROM kinds JOIN quantiles USING (grp, kernel)
