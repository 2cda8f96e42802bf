-- GPUs
-- order: busy_ns
-- each: resource
-- note: Busy: time with any work on the GPU. Utilization: busy time divided by the time from the start of the first work to the end of the last.
-- note: Concurrency: total time of all work divided by busy time. One row for each process on each GPU.
work AS @inline (
    SELECT grp, resource_id, is_kernel, is_move, start_ns, end_ns,
        duration_ns
    FROM spans WHERE is_work
),
-- Resources are put one behind the other on one axis of time, so that no running maximum reaches from one into the next.
windows AS @once (
    SELECT grp, resource_id, count(*) AS count, sum(duration_ns) AS total_ns, min(start_ns) AS first_ns,
        max(end_ns) - min(start_ns) AS window_ns
    FROM work GROUP BY grp, resource_id
),
places AS @once (
    SELECT grp, resource_id, count, total_ns, window_ns, row_number() OVER (ORDER BY grp, resource_id) AS place,
        first_ns - CAST(sum(window_ns) OVER (ORDER BY grp, resource_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - window_ns AS BIGINT) AS shift_ns
    FROM windows
),
in_order AS (
    SELECT place, is_kernel, is_move, work.start_ns - shift_ns AS start_ns, work.end_ns - shift_ns AS end_ns
    FROM work JOIN places ON places.grp = work.grp AND places.resource_id = work.resource_id
    ORDER BY 4
),
seen AS (
    SELECT place, is_kernel, is_move, start_ns, end_ns, previous(end_ns) AS all_end,
        previous(CASE WHEN is_kernel THEN end_ns END) AS kernel_end, previous(CASE WHEN is_move THEN end_ns END) AS move_end
    FROM in_order
),
marked AS (
    SELECT place, is_kernel, is_move, start_ns, end_ns, most_before(all_end) AS all_until,
        most_before(kernel_end) AS kernels_until, most_before(move_end) AS moves_until
    FROM seen
),
parts AS (
    SELECT place, is_kernel, is_move, start_ns, end_ns, all_until,
        CASE WHEN is_kernel THEN moves_until ELSE kernels_until END AS others_until,
        greatest(start_ns, CASE WHEN is_kernel THEN kernels_until ELSE moves_until END) AS new_from
    FROM marked
),
summed AS (
    SELECT place, sum(greatest(end_ns - greatest(start_ns, all_until), 0)) AS busy_ns,
        coalesce(sum(greatest(end_ns - new_from, 0)) FILTER (WHERE is_kernel), 0) AS kernel_ns,
        coalesce(sum(greatest(end_ns - new_from, 0)) FILTER (WHERE is_move), 0) AS copy_ns,
        coalesce(sum(greatest(least(end_ns, others_until) - new_from, 0))
            FILTER (WHERE (is_kernel OR is_move) AND others_until IS NOT NULL), 0) AS common_ns,
        count(*) FILTER (WHERE start_ns > all_until) AS gaps
    FROM parts GROUP BY place
)
SELECT places.grp AS grp, text_of(device) AS device, device_name AS name, process, count, window_ns, busy_ns,
    busy_ns / nullif(window_ns, 0) AS utilization_share, kernel_ns, copy_ns,
    common_ns / nullif(copy_ns, 0) AS overlap_share, total_ns / nullif(busy_ns, 0) AS concurrency, gaps, hw_id
FROM places JOIN summed ON summed.place = places.place
    LEFT JOIN resources ON resources.resource_id = places.resource_id
