-- Launch latency: start of the call to start on the GPU
-- plot: median_ns
-- order: count
-- note: Work that starts before its call, according to CUPTI's clocks, counts as 0.
picked AS @inline (
    SELECT hash_of(grp, work_of(activity)) AS key, grp, work_of(activity) AS work, greatest(start_delay, 0) AS value
    FROM spans WHERE is_work AND start_delay IS NOT NULL
),
quantiles_of(any_value(grp) AS grp, any_value(work) AS work)
SELECT grp, work, count, mean AS avg_ns, median AS median_ns, p99 AS p99_ns, least_value AS min_ns, most_value AS max_ns, is_rough
FROM values_of
