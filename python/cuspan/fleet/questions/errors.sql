-- Failed calls
-- order: count
SELECT grp, name, error_text AS error, count(*) AS count
FROM spans WHERE is_call AND error_text IS NOT NULL
GROUP BY grp, name, error_text
