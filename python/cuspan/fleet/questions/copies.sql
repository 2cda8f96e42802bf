-- Copies and fills
-- order: total_ns
-- note: By direction and kind of memory.
moves AS (
    SELECT grp, CASE WHEN class = 'fill' THEN 'fill' ELSE coalesce(copy_kind, name) END AS kind,
        CASE WHEN class = 'copy' THEN coalesce(copy_source, '') ELSE '' END AS source,
        coalesce(CASE WHEN class = 'copy' THEN copy_target ELSE fill_target END, '') AS target,
        coalesce(CASE WHEN class = 'copy' THEN copy_bytes ELSE fill_bytes END, 0) AS bytes, duration_ns
    FROM spans WHERE class IN ('copy', 'fill')
),
picked AS (
    SELECT grp, kind, source, target, 'bytes' AS what, bytes AS value FROM moves
    UNION ALL
    SELECT grp, kind, source, target, 'time', duration_ns FROM moves
),
rough AS (
    SELECT grp, kind, source, target, what FROM picked GROUP BY ALL HAVING approx_count_distinct(value) > $distinct_max
),
counted AS (
    SELECT picked.grp, picked.kind, picked.source, picked.target, picked.what, rough.grp IS NOT NULL AS is_rough,
        CASE WHEN rough.grp IS NOT NULL THEN bucket(picked.value) ELSE picked.value END AS bin,
        count(*) AS n, sum(picked.value) AS total, min(picked.value) AS least, max(picked.value) AS most
    FROM picked LEFT JOIN rough ON rough.grp = picked.grp AND rough.kind = picked.kind
        AND rough.source = picked.source AND rough.target = picked.target AND rough.what = picked.what
    GROUP BY ALL
),
ranked AS (
    SELECT *, sum(n) OVER (PARTITION BY grp, kind, source, target, what ORDER BY bin) AS upto,
        sum(n) OVER (PARTITION BY grp, kind, source, target, what) AS count
    FROM counted
),
summed AS (
    SELECT grp, kind, source, target, what, any_value(count) AS count, sum(total) AS total,
        clamp(min(bin) FILTER (upto >= nearest_rank(count, 50)), min(least), max(most)) AS median,
        min(least) AS least, max(most) AS most, bool_or(is_rough) AS is_rough
    FROM ranked GROUP BY grp, kind, source, target, what
)
SELECT sizes.grp AS grp, kind, nullif(source, '') AS "from", nullif(target, '') AS "to", sizes.count AS count,
    sizes.total AS bytes, times.total AS total_ns,
    CASE WHEN sizes.total > 0 THEN sizes.total * 1e9 / nullif(times.total, 0) END AS bytes_per_s,
    sizes.total // sizes.count AS avg_bytes, sizes.median AS median_bytes, sizes.least AS min_bytes,
    sizes.most AS max_bytes, times.median AS median_ns, sizes.is_rough OR times.is_rough AS is_rough
FROM (SELECT * FROM summed WHERE what = 'bytes') AS sizes
JOIN (SELECT * FROM summed WHERE what = 'time') AS times USING (grp, kind, source, target)
