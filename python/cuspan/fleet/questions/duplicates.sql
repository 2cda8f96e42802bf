-- Repeated spans
-- order: repeated
-- note: Spans that are stored more than once. --distinct leaves them out of an answer, and cuspan fleet close removes them.
placed AS @inline (
    SELECT grp, hour_of(start_ns) AS hour, service_name, trace_id, span_id FROM spans
)
SELECT grp, hour, service_name AS service, count(*) AS spans, count(*) - count(DISTINCT (trace_id, span_id)) AS repeated
FROM placed GROUP BY grp, hour, service_name
