-- Launch latency: start of the call to start on the GPU
-- order: count
-- note: Work that starts before its call, according to CUPTI's clocks, counts as 0.
picked AS (
    SELECT grp, class AS work, greatest(start_delay, 0) AS value
    FROM spans WHERE is_work AND start_delay IS NOT NULL
),
rough AS (
    SELECT grp, work FROM picked GROUP BY ALL HAVING approx_count_distinct(value) > $distinct_max
),
counted AS (
    SELECT picked.grp, picked.work, rough.grp IS NOT NULL AS is_rough,
        CASE WHEN rough.grp IS NOT NULL THEN bucket(picked.value) ELSE picked.value END AS bin,
        count(*) AS n, sum(picked.value) AS total, min(picked.value) AS least, max(picked.value) AS most
    FROM picked LEFT JOIN rough ON rough.grp = picked.grp AND rough.work = picked.work
    GROUP BY ALL
),
ranked AS (
    SELECT *, sum(n) OVER (PARTITION BY grp, work ORDER BY bin) AS upto, sum(n) OVER (PARTITION BY grp, work) AS count
    FROM counted
)
SELECT grp, work, any_value(count) AS count, sum(total) // any_value(count) AS avg_ns,
    clamp(min(bin) FILTER (upto >= nearest_rank(count, 50)), min(least), max(most)) AS median_ns,
    clamp(min(bin) FILTER (upto >= nearest_rank(count, 99)), min(least), max(most)) AS p99_ns,
    min(least) AS min_ns, max(most) AS max_ns, bool_or(is_rough) AS is_rough
FROM ranked GROUP BY grp, work
