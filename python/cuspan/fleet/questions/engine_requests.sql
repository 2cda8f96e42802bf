-- Requests of serving engines
-- order: gpu_ns
-- note: Sampled requests, of all processes. First token: queue and prefill. Duration: from the engine's receipt of the request to its end.
-- note: GPU time: what the requests cost, their estimated part of the GPU time of measured iterations; with --by, a bill for each service, release or attribute. GPU share: divided by that time, which counts for each request.
requests AS @once (
    SELECT grp, engine_name AS engine, duration_ns,
        CASE WHEN engine_request_end IN ('finished', 'aborted', 'failed') THEN engine_request_end ELSE 'unfinished' END AS how,
        number_of(attribute('engine.request.queue_time')) AS queue_ns,
        number_of(attribute('engine.request.prefill_time')) AS prefill_ns,
        number_of(attribute('engine.request.time_per_output_token')) AS per_token_ns,
        coalesce(number_of(attribute('engine.request.prompt_tokens')), 0) AS prompt_tokens,
        coalesce(number_of(attribute('engine.request.cached_tokens')), 0) AS cached_tokens,
        coalesce(number_of(attribute('engine.request.generated_tokens')), 0) AS generated_tokens,
        coalesce(number_of(attribute('engine.request.preemptions')), 0) AS preemptions,
        coalesce(number_of(attribute('engine.request.iterations')), 0) AS iterations,
        coalesce(number_of(attribute('engine.request.iterations_measured')), 0) AS measured,
        coalesce(number_of(attribute('engine.request.gpu_share.prefill')), 0) AS gpu_prefill_ns,
        coalesce(number_of(attribute('engine.request.gpu_share.decode')), 0) AS gpu_decode_ns,
        coalesce(number_of(attribute('engine.request.gpu_time')), 0) AS all_gpu_ns
    FROM spans WHERE engine_request_end IS NOT NULL
),
timed AS (
    SELECT *, queue_ns + prefill_ns AS first_token_ns,
        CASE WHEN how <> 'unfinished' AND iterations > 0 THEN duration_ns + coalesce(queue_ns, 0) END AS whole_ns
    FROM requests
)
SELECT grp, engine, count(*) AS count, count(*) FILTER (WHERE how = 'finished') AS finished,
    count(*) FILTER (WHERE how = 'aborted') AS aborted, count(*) FILTER (WHERE how = 'failed') AS failed,
    count(*) FILTER (WHERE how = 'unfinished') AS unfinished,
    median_of(queue_ns) AS queue_median_ns, p99_of(queue_ns) AS queue_p99_ns,
    median_of(first_token_ns) AS first_token_median_ns, p99_of(first_token_ns) AS first_token_p99_ns,
    median_of(per_token_ns) AS per_token_median_ns, p99_of(per_token_ns) AS per_token_p99_ns,
    median_of(whole_ns) AS duration_median_ns, p99_of(whole_ns) AS duration_p99_ns,
    sum(prompt_tokens) AS prompt_tokens, sum(cached_tokens) AS cached_tokens, sum(generated_tokens) AS generated_tokens,
    sum(preemptions) AS preemptions,
    CASE WHEN sum(measured) > 0 THEN sum(gpu_prefill_ns) + sum(gpu_decode_ns) END AS gpu_ns,
    CASE WHEN sum(measured) > 0 THEN sum(gpu_prefill_ns) END AS gpu_prefill_ns,
    CASE WHEN sum(measured) > 0 THEN sum(gpu_decode_ns) END AS gpu_decode_ns,
    (sum(gpu_prefill_ns) + sum(gpu_decode_ns)) / nullif(sum(all_gpu_ns), 0) AS gpu_share,
    sum(measured) / nullif(sum(iterations), 0) AS measured_share
FROM timed GROUP BY grp, engine
