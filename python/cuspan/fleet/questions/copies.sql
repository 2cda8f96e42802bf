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
quantiles_of(any_value(what) AS what, any_value(grp) AS grp, any_value(kind) AS kind, any_value(source) AS source,
    any_value(target) AS target),
pairs AS (
    SELECT grp, kind, source, target, max(CASE WHEN what = 'bytes' THEN count END) AS count,
        max(CASE WHEN what = 'bytes' THEN total END) AS bytes, max(CASE WHEN what = 'time' THEN total END) AS total_ns,
        max(CASE WHEN what = 'bytes' THEN mean END) AS avg_bytes, max(CASE WHEN what = 'bytes' THEN median END) AS median_bytes,
        max(CASE WHEN what = 'bytes' THEN least_value END) AS min_bytes,
        max(CASE WHEN what = 'bytes' THEN most_value END) AS max_bytes,
        max(CASE WHEN what = 'time' THEN median END) AS median_ns, max(CASE WHEN is_rough THEN 1 ELSE 0 END) > 0 AS is_rough
    FROM values_of GROUP BY grp, kind, source, target
)
SELECT grp, kind, nullif(source, '') AS "from", nullif(target, '') AS "to", count, bytes, total_ns,
    CASE WHEN bytes > 0 THEN bytes * 1e9 / nullif(total_ns, 0) END AS bytes_per_s, avg_bytes, median_bytes, min_bytes, max_bytes,
    median_ns, is_rough
FROM pairs
