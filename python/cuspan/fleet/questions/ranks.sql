-- Ranks
-- plot: kernel_ns
-- order: rank
-- ascending
-- note: Sums over all time of the range. cuspan stat compares the ranks of each step.
-- note: Process and host are empty if the rank had several: of several jobs (use --by job), or of a restarted one.
SELECT grp, rank, CASE WHEN min(process) = max(process) THEN min(process) END AS process,
    CASE WHEN min(host) = max(host) THEN min(host) END AS host,
    count(DISTINCT step) AS steps,
    count(*) FILTER (WHERE is_call) AS calls, coalesce(sum(duration_ns) FILTER (WHERE is_call), 0) AS call_ns,
    count(*) FILTER (WHERE is_call AND error_text IS NOT NULL) AS errors,
    count(*) FILTER (WHERE is_kernel) AS kernels,
    coalesce(sum(duration_ns) FILTER (WHERE is_kernel), 0) AS kernel_ns,
    coalesce(sum(duration_ns) FILTER (WHERE is_move), 0) AS move_ns,
    coalesce(sum(duration_ns) FILTER (WHERE activity = 'collective' AND class = 'comm'), 0) AS collective_ns
FROM spans WHERE rank IS NOT NULL
GROUP BY grp, rank
