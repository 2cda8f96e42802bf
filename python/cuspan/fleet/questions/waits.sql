-- Waiting for the GPU
-- order: total_ns
-- note: Calls that wait for the GPU, a stream or an event.
picked AS @inline (
    SELECT hash_of(grp, name, api) AS key, grp, name, api, error_text, duration_ns AS value
    FROM spans WHERE class = 'call' AND among(name, $sync_calls)
),
@quantiles,
kinds AS (
    SELECT key, any_value(grp) AS grp, any_value(name) AS name, any_value(api) AS api, count(*) AS count,
        count(error_text) AS errors, sum(value) AS total_ns, min(value) AS min_ns, max(value) AS max_ns
    FROM picked GROUP BY key
)
SELECT grp, name, api, count, errors, total_ns, total_ns / nullif(sum(total_ns) OVER (PARTITION BY grp), 0) AS share,
    quotient(total_ns, count) AS avg_ns, clamp(median, min_ns, max_ns) AS median_ns, clamp(p99, min_ns, max_ns) AS p99_ns,
    min_ns, max_ns, is_rough
FROM kinds JOIN quantiles ON quantiles.key = kinds.key
