-- Ranks
-- order: rank
-- ascending
-- note: Sums over all time of the range. cuspan stat compares the ranks of each step.
SELECT grp, rank, any_value(process) AS process, any_value(host) AS host,
    count(DISTINCT step) AS steps,
    count(*) FILTER (WHERE class = 'call') AS calls, coalesce(sum(duration_ns) FILTER (WHERE class = 'call'), 0) AS call_ns,
    count(*) FILTER (WHERE class = 'call' AND error_text IS NOT NULL) AS errors,
    count(*) FILTER (WHERE class = 'kernel') AS kernels,
    coalesce(sum(duration_ns) FILTER (WHERE class = 'kernel'), 0) AS kernel_ns,
    coalesce(sum(duration_ns) FILTER (WHERE class IN ('copy', 'fill')), 0) AS move_ns,
    coalesce(sum(duration_ns) FILTER (WHERE class = 'comm'), 0) AS collective_ns
FROM spans WHERE rank IS NOT NULL
GROUP BY grp, rank
