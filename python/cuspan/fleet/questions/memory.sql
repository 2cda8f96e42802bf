-- Allocations
-- order: total_bytes
-- note: Calls that allocate memory, by kind. Arrays have no size here; blocks inside PyTorch's segments do not count.
-- note: cuspan stat pairs allocations with their frees, and has live and peak sizes.
calls AS (
    SELECT grp, process, error_text, attributes, list_position($memory_calls, regexp_replace(name, '_pts.*', '')) AS number
    FROM spans WHERE class = 'call'
),
picked AS (
    SELECT grp, process, $memory_kinds[number] AS kind, error_text,
        CASE $memory_sizes[number] WHEN 'bytes' THEN TRY_CAST(attributes['cuda.arg.bytes'] AS BIGINT)
            WHEN 'pitch' THEN TRY_CAST(coalesce(attributes['cuda.arg.pitch'], attributes['cuda.arg.width']) AS BIGINT)
                * greatest(coalesce(TRY_CAST(attributes['cuda.arg.height'] AS BIGINT), 1), 1)
                * greatest(coalesce(TRY_CAST(attributes['cuda.arg.depth'] AS BIGINT), 1), 1) END AS bytes
    FROM calls WHERE number > 0
)
SELECT grp, process, kind, count(*) FILTER (error_text IS NULL) AS allocations, count(error_text) AS failed,
    coalesce(sum(bytes) FILTER (error_text IS NULL), 0) AS total_bytes, max(bytes) FILTER (error_text IS NULL) AS max_bytes
FROM picked GROUP BY grp, process, kind
