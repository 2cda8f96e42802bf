-- Repeated spans
-- order: repeated
-- each: partition
-- note: Spans that are stored more than once. --distinct leaves them out of an answer, and cuspan fleet close removes them.
-- Repeated spans have the same start, so they are in one partition. By ID first: the engine writes these groups to disk if there are
-- many, which it does not do for count(DISTINCT ...).
ids AS @inline (
    SELECT grp, quotient(start_ns, 3600000000000) AS hour_number, service_name, trace_id, span_id, count(*) AS n
    FROM spans GROUP BY 1, 2, 3, 4, 5
),
hours AS (
    SELECT grp, hour_number, service_name, sum(n) AS spans, sum(n) - count(*) AS repeated FROM ids GROUP BY 1, 2, 3
)
SELECT grp, hour_of(hour_number * 3600000000000) AS hour, service_name AS service, spans, repeated FROM hours
