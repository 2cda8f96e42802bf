-- Launch latency: start of the call to start on the GPU
-- plot: median_ns
-- order: count
-- note: Work that starts before its call, according to CUPTI's clocks, counts as 0.
picked AS @inline (
    SELECT hash_of(grp, activity) AS kind, grp, activity, greatest(start_delay, 0) AS value
    FROM spans WHERE is_work AND start_delay IS NOT NULL
),
kinds AS (
    SELECT hash_of(grp, activity) AS kind, hash_of(grp, work_of(activity)) AS key, grp, work_of(activity) AS work
    FROM (SELECT DISTINCT grp, activity FROM picked)
),
counted_kinds AS (
    SELECT kind, value, count(*) AS n FROM picked GROUP BY kind, value
),
counted AS @once (
    SELECT key, value, sum(n) AS n FROM counted_kinds JOIN kinds ON kinds.kind = counted_kinds.kind GROUP BY key, value
),
@quantiles,
names AS (
    SELECT key, any_value(grp) AS grp, any_value(work) AS work FROM kinds GROUP BY key
)
SELECT grp, work, count, mean AS avg_ns, median AS median_ns, p99 AS p99_ns, least_value AS min_ns, most_value AS max_ns, is_rough
FROM values_of JOIN names ON names.key = values_of.key
