-- Allocations
-- order: total_bytes
-- note: Calls that allocate memory, by kind. Arrays have no size here; blocks inside PyTorch's segments do not count.
-- note: cuspan stat pairs allocations with their frees, and has live and peak sizes.
calls AS @inline (
    SELECT grp, process, error_text, attributes, place_in(regexp_replace(name, '_pts.*', ''), $memory_calls) AS number
    FROM spans WHERE is_call
),
picked AS (
    SELECT grp, process, element($memory_kinds, number) AS kind, error_text,
        CASE element($memory_sizes, number) WHEN 'bytes' THEN number_of(attribute('cuda.arg.bytes'))
            WHEN 'pitch' THEN number_of(coalesce(attribute('cuda.arg.pitch'), attribute('cuda.arg.width')))
                * greatest(coalesce(number_of(attribute('cuda.arg.height')), 1), 1)
                * greatest(coalesce(number_of(attribute('cuda.arg.depth')), 1), 1) END AS bytes
    FROM calls WHERE number > 0
)
SELECT grp, process, kind, count(*) FILTER (WHERE error_text IS NULL) AS allocations, count(error_text) AS failed,
    coalesce(sum(bytes) FILTER (WHERE error_text IS NULL), 0) AS total_bytes,
    max(bytes) FILTER (WHERE error_text IS NULL) AS max_bytes
FROM picked GROUP BY grp, process, kind
