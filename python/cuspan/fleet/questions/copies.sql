-- Copies and fills
-- order: total_ns
-- note: By direction and kind of memory.
moves AS @inline (
    SELECT grp, CASE WHEN class = 'fill' THEN 'fill' ELSE coalesce(copy_kind, name) END AS kind,
        CASE WHEN class = 'copy' THEN coalesce(copy_source, '') ELSE '' END AS source,
        coalesce(CASE WHEN class = 'copy' THEN copy_target ELSE fill_target END, '') AS target,
        coalesce(CASE WHEN class = 'copy' THEN copy_bytes ELSE fill_bytes END, 0) AS bytes, duration_ns
    FROM spans WHERE is_move
),
picked AS @inline (
    SELECT hash_of(grp, kind, source, target, 'bytes') AS key, 'bytes' AS what, grp, kind, source, target, bytes AS value
    FROM moves
    UNION ALL
    SELECT hash_of(grp, kind, source, target, 'time'), 'time', grp, kind, source, target, duration_ns FROM moves
),
counted AS @once (
    SELECT key, value, count(*) AS n FROM picked GROUP BY key, value
),
@quantiles,
names AS (
    SELECT key, any_value(what) AS what, any_value(grp) AS grp, any_value(kind) AS kind, any_value(source) AS source,
        any_value(target) AS target
    FROM picked GROUP BY key
),
summed AS @once (
    SELECT what, grp, kind, source, target, count, total, mean, median, least_value, most_value, is_rough
    FROM values_of JOIN names ON names.key = values_of.key
),
sizes_of AS (
    SELECT * FROM summed WHERE what = 'bytes'
),
times_of AS (
    SELECT grp, kind, source, target, total, median, is_rough FROM summed WHERE what = 'time'
)
SELECT sizes_of.grp AS grp, sizes_of.kind AS kind, nullif(sizes_of.source, '') AS "from", nullif(sizes_of.target, '') AS "to",
    sizes_of.count AS count, sizes_of.total AS bytes, times_of.total AS total_ns,
    CASE WHEN sizes_of.total > 0 THEN sizes_of.total * 1e9 / nullif(times_of.total, 0) END AS bytes_per_s,
    sizes_of.mean AS avg_bytes, sizes_of.median AS median_bytes, sizes_of.least_value AS min_bytes,
    sizes_of.most_value AS max_bytes, times_of.median AS median_ns, sizes_of.is_rough OR times_of.is_rough AS is_rough
FROM sizes_of JOIN times_of ON times_of.grp = sizes_of.grp AND times_of.kind = sizes_of.kind
    AND times_of.source = sizes_of.source AND times_of.target = sizes_of.target
