-- Late ranks
-- order: delay_ns
-- note: Delay is how much longer than that of its peers a rank's own time is: the step without communication that nothing overlaps, or the work of its host, if that is longer. The median over the steps.
-- note: Peers have the same kinds of collectives; in a pipeline, they share the communicator that moves most bytes.
-- note: Lateness is how much later than the median rank it arrives, the sum over the collectives of a step. Negative: earlier.
-- note: First, last and cut steps do not count. cuspan stat --findings also says what is late, and names hosts and links.
@step_times,
bounds AS (
    SELECT grp, who, min(step) AS first_step, max(step) AS last_step FROM step_times WHERE kind = '' GROUP BY grp, who
),
marks AS @once (
    SELECT step_times.grp AS grp, trace_id, step_times.who AS who, process, rank, host, duration_ns, exposed_ns, host_ns
    FROM step_times JOIN bounds ON bounds.grp = step_times.grp AND bounds.who = step_times.who
    WHERE kind = '' AND coalesce(reason, 'step') = 'step' AND (left_out = 0 OR exposed_ns IS NOT NULL)
        AND NOT (step = first_step AND (step <= 1 OR backlog_ns IS NULL)) AND NOT (step = last_step AND reason IS NULL)
),
arrivals AS @once (
    SELECT grp, trace_id, collective_key, coalesce(collective_communicator, '') AS communicator, collective_ranks AS ranks,
        collective_operation AS operation,
        coalesce(collective_bytes, 0) AS bytes, duration_ns, coalesce(rank, 0) AS rank, coalesce(instance, process) AS who
    FROM spans
    WHERE activity = 'collective' AND class = 'comm' AND collective_key IS NOT NULL AND collective_ranks > 1
        AND collective_operation IN ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all')
        AND trace_id IN (SELECT trace_id FROM rank_steps WHERE kind = '')
),
instances AS (
    SELECT grp, communicator, collective_key, middle(duration_ns) AS middle_ns, at_least(who, (duration_ns, rank)) AS last
    FROM arrivals GROUP BY grp, communicator, collective_key
    HAVING count(*) = max(ranks) AND count(DISTINCT who) = count(*)
),
late AS @once (
    SELECT arrivals.grp AS grp, trace_id, who, count(*) AS collectives, max(ranks) AS ranks, sum(middle_ns - duration_ns) AS late_ns,
        count(*) FILTER (WHERE last = who) AS times_last, sum(duration_ns) AS communication_ns
    FROM arrivals JOIN instances ON instances.grp = arrivals.grp AND instances.communicator = arrivals.communicator
        AND instances.collective_key = arrivals.collective_key
    GROUP BY arrivals.grp, trace_id, who
),
moved AS (
    SELECT grp, who, communicator, sum(bytes) AS moved_bytes FROM arrivals GROUP BY grp, who, communicator
),
largest AS (
    SELECT grp, who, at_most(communicator, (moved_bytes, communicator)) AS communicator FROM moved GROUP BY grp, who
),
kinds AS (
    SELECT grp, who, operation, ranks, floor(ln(greatest(bytes, 1)) / ln(2)) AS size, count(DISTINCT communicator) AS communicators
    FROM arrivals GROUP BY grp, who, operation, ranks, floor(ln(greatest(bytes, 1)) / ln(2))
),
roles AS (
    SELECT grp, who, text_of(sum(wide(hash_of(operation, ranks, size, communicators)))) AS role FROM kinds GROUP BY grp, who
),
senders AS (
    SELECT DISTINCT grp, coalesce(instance, process) AS who FROM spans
    WHERE activity = 'collective' AND class = 'comm' AND collective_operation IN ('send', 'recv', 'send_recv')
        AND trace_id IN (SELECT trace_id FROM rank_steps WHERE kind = '')
),
teams AS (
    SELECT largest.grp AS grp, largest.who AS who,
        CASE WHEN coalesce(senders.who, '') = '' THEN role ELSE communicator END AS team
    FROM largest JOIN roles ON roles.grp = largest.grp AND roles.who = largest.who
        LEFT JOIN senders ON senders.grp = largest.grp AND senders.who = largest.who
),
owns AS @once (
    SELECT marks.grp AS grp, marks.trace_id AS trace_id, marks.who AS who, team, process, rank, host, late_ns,
        greatest(duration_ns - coalesce(exposed_ns, communication_ns), host_ns) AS own_ns
    FROM marks JOIN late ON late.grp = marks.grp AND late.trace_id = marks.trace_id AND late.who = marks.who
        JOIN teams ON teams.grp = marks.grp AND teams.who = marks.who
),
lists AS (
    SELECT grp, trace_id, team, sorted_of(own_ns) AS sorted, count(*) AS peers FROM owns GROUP BY grp, trace_id, team HAVING count(*) > 1
),
middles AS (
    SELECT owns.grp AS grp, owns.trace_id AS trace_id, who, process, rank, host, late_ns, own_ns, sorted, peers,
        quotient(peers - 2, 2) + 1 AS low, quotient(peers - 1, 2) + 1 AS high
    FROM owns JOIN lists ON lists.grp = owns.grp AND lists.trace_id = owns.trace_id AND lists.team = owns.team
),
compared AS (
    SELECT grp, who, rank AS number, process AS named, host AS on_host, late_ns, own_ns AS mine_ns, peers AS all_peers,
        (element(sorted, low + CASE WHEN own_ns <= element(sorted, low) THEN 1 ELSE 0 END)
            + element(sorted, high + CASE WHEN own_ns <= element(sorted, high) THEN 1 ELSE 0 END)) / 2 AS others_ns
    FROM middles
),
arrived AS (
    SELECT grp, who, max(ranks) AS most_ranks, sum(collectives) AS all_collectives, sum(times_last) AS all_last
    FROM late GROUP BY grp, who
)
SELECT compared.grp AS grp, any_value(number) AS rank, any_value(named) AS process, any_value(on_host) AS host, max(most_ranks) AS ranks,
    count(*) AS steps, count(*) FILTER (WHERE mine_ns - others_ns >
        CASE WHEN all_peers > 6 THEN least(0.01 * others_ns, 150000) ELSE 0.01 * others_ns END) AS late_steps,
    max(all_collectives) AS collectives, max(all_last) / max(all_collectives) AS last_share,
    CAST(trunc(middle(late_ns)) AS BIGINT) AS lateness_ns, CAST(trunc(middle(mine_ns)) AS BIGINT) AS own_ns,
    CAST(trunc(middle(others_ns)) AS BIGINT) AS peers_own_ns, CAST(trunc(middle(mine_ns - others_ns)) AS BIGINT) AS delay_ns
FROM compared JOIN arrived ON arrived.grp = compared.grp AND arrived.who = compared.who
GROUP BY compared.grp, compared.who
