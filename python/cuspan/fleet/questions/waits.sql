-- Waiting for the GPU
-- order: total_ns
-- note: Calls that wait for the GPU, a stream or an event.
picked AS @inline (
    SELECT hash_of(grp, name, api) AS key, grp, name, api, error_text, duration_ns AS value
    FROM spans WHERE is_call AND among(name, $sync_calls)
),
quantiles_of(any_value(grp) AS grp, any_value(name) AS name, any_value(api) AS api, count(error_text) AS errors)
SELECT grp, name, api, count, errors, total AS total_ns, total / nullif(sum(total) OVER (PARTITION BY grp), 0) AS share,
    mean AS avg_ns, median AS median_ns, p99 AS p99_ns, least_value AS min_ns, most_value AS max_ns, is_rough
FROM values_of
