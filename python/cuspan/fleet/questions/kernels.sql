-- Kernels
-- order: total_ns
-- note: GPU time; concurrent kernels add up.
picked AS (
    SELECT grp, coalesce(kernel_full, name) AS kernel, kernel_full, name, duration_ns AS value
    FROM spans WHERE class = 'kernel'
),
rough AS (
    SELECT grp, kernel FROM picked GROUP BY ALL HAVING approx_count_distinct(value) > $distinct_max
),
counted AS (
    SELECT picked.grp, picked.kernel, rough.grp IS NOT NULL AS is_rough,
        CASE WHEN rough.grp IS NOT NULL THEN bucket(picked.value) ELSE picked.value END AS bin,
        count(*) AS n, sum(picked.value) AS total, min(picked.value) AS least, max(picked.value) AS most,
        min(picked.name) AS name, min(picked.kernel_full) AS full_name
    FROM picked LEFT JOIN rough ON rough.grp = picked.grp AND rough.kernel = picked.kernel
    GROUP BY ALL
),
ranked AS (
    SELECT *, sum(n) OVER (PARTITION BY grp, kernel ORDER BY bin) AS upto, sum(n) OVER (PARTITION BY grp, kernel) AS count
    FROM counted
),
summed AS (
    SELECT grp, min(name) AS name, any_value(count) AS count, sum(total) AS total_ns,
        clamp(min(bin) FILTER (upto >= nearest_rank(count, 50)), min(least), max(most)) AS median_ns,
        clamp(min(bin) FILTER (upto >= nearest_rank(count, 99)), min(least), max(most)) AS p99_ns,
        min(least) AS min_ns, max(most) AS max_ns, min(full_name) AS full_name, bool_or(is_rough) AS is_rough
    FROM ranked GROUP BY grp, kernel
)
SELECT grp, name, count, total_ns, total_ns / nullif(sum(total_ns) OVER (PARTITION BY grp), 0) AS share,
    total_ns // count AS avg_ns, median_ns, p99_ns, min_ns, max_ns, full_name, is_rough
FROM summed
