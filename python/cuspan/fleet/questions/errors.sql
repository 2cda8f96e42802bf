-- Failed calls
-- order: count
SELECT grp, name, error_text AS error, count(*) AS count
FROM spans WHERE class = 'call' AND error_text IS NOT NULL
GROUP BY grp, name, error_text
