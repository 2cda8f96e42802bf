-- Repeated spans
-- order: repeated
-- note: Spans that are stored more than once. --distinct leaves them out of an answer.
SELECT grp, strftime(make_timestamp(start_ns // 1000), '%Y-%m-%d %H:00') AS hour, service_name AS service,
    count(*) AS spans, count(*) - count(DISTINCT (trace_id, span_id)) AS repeated
FROM spans GROUP BY ALL
