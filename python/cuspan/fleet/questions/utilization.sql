-- GPUs
-- order: busy_ns
-- each: resource
-- note: Busy: time with any work on the GPU. Utilization: busy time divided by the time from the start of the first work to the end of the last.
-- note: Concurrency: total time of all work divided by busy time. One row for each process on each GPU.
work AS (
    SELECT grp, resource_id, class = 'kernel' AS is_kernel, class IN ('copy', 'fill') AS is_move, start_ns, end_ns,
        duration_ns
    FROM spans WHERE is_work
),
seen AS (
    SELECT *, max(end_ns) OVER before AS all_until,
        max(CASE WHEN is_kernel THEN end_ns END) OVER before AS kernels_until,
        max(CASE WHEN is_move THEN end_ns END) OVER before AS moves_until
    FROM work
    WINDOW before AS (PARTITION BY grp, resource_id ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
parts AS (
    SELECT *, least(end_ns, CASE WHEN is_kernel THEN moves_until ELSE kernels_until END) AS common_until,
        greatest(start_ns, CASE WHEN is_kernel THEN kernels_until ELSE moves_until END) AS new_from
    FROM seen
),
summed AS (
    SELECT grp, resource_id, count(*) AS count,
        max(end_ns) - min(start_ns) AS window_ns,
        sum(greatest(end_ns - greatest(start_ns, all_until), 0)) AS busy_ns, sum(duration_ns) AS total_ns,
        coalesce(sum(greatest(end_ns - new_from, 0)) FILTER (is_kernel), 0) AS kernel_ns,
        coalesce(sum(greatest(end_ns - new_from, 0)) FILTER (is_move), 0) AS copy_ns,
        coalesce(sum(greatest(common_until - new_from, 0)) FILTER ((is_kernel OR is_move)
            AND CASE WHEN is_kernel THEN moves_until ELSE kernels_until END IS NOT NULL), 0) AS common_ns,
        count(*) FILTER (start_ns > all_until) AS gaps
    FROM parts GROUP BY grp, resource_id
)
SELECT grp, CAST(device AS VARCHAR) AS device, device_name AS name, process, count, window_ns, busy_ns,
    busy_ns / nullif(window_ns, 0) AS utilization_share, kernel_ns, copy_ns,
    common_ns / nullif(copy_ns, 0) AS overlap_share, total_ns / nullif(busy_ns, 0) AS concurrency, gaps
FROM summed LEFT JOIN resources USING (resource_id)
