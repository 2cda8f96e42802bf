-- Waiting for the GPU
-- order: total_ns
-- note: Calls that wait for the GPU, a stream or an event.
picked AS (
    SELECT grp, name, api, error_text, duration_ns AS value FROM spans WHERE class = 'call' AND list_contains($sync_calls, name)
),
rough AS (
    SELECT grp, name, api FROM picked GROUP BY ALL HAVING approx_count_distinct(value) > $distinct_max
),
counted AS (
    SELECT picked.grp, picked.name, picked.api, rough.grp IS NOT NULL AS is_rough,
        CASE WHEN rough.grp IS NOT NULL THEN bucket(picked.value) ELSE picked.value END AS bin,
        count(*) AS n, sum(picked.value) AS total, min(picked.value) AS least, max(picked.value) AS most,
        count(picked.error_text) AS errors
    FROM picked LEFT JOIN rough ON rough.grp = picked.grp AND rough.name = picked.name AND rough.api = picked.api
    GROUP BY ALL
),
ranked AS (
    SELECT *, sum(n) OVER (PARTITION BY grp, name, api ORDER BY bin) AS upto,
        sum(n) OVER (PARTITION BY grp, name, api) AS count
    FROM counted
),
summed AS (
    SELECT grp, name, api, any_value(count) AS count, sum(errors) AS errors, sum(total) AS total_ns,
        clamp(min(bin) FILTER (upto >= nearest_rank(count, 50)), min(least), max(most)) AS median_ns,
        clamp(min(bin) FILTER (upto >= nearest_rank(count, 99)), min(least), max(most)) AS p99_ns,
        min(least) AS min_ns, max(most) AS max_ns, bool_or(is_rough) AS is_rough
    FROM ranked GROUP BY grp, name, api
)
SELECT grp, name, api, count, errors, total_ns, total_ns / nullif(sum(total_ns) OVER (PARTITION BY grp), 0) AS share,
    total_ns // count AS avg_ns, median_ns, p99_ns, min_ns, max_ns, is_rough
FROM summed
