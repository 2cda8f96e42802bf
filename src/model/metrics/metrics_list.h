/* The table of metrics, by tools/gen_attributes.py from metrics.yaml: do not edit. */
/* clang-format off */
#pragma once

/* X(identifier, name, unit, type, value, attributes, description) */
#define METRICS(X) \
    X(CALLS, "cuda.calls", "{call}", SUM, INT, "", "Captured runtime and driver API calls.") \
    X(CALL_ERRORS, "cuda.call.errors", "{call}", SUM, INT, "", "Calls that returned an error.") \
    X(CALL_TIME, "cuda.call.time", "s", SUM, SECONDS, "", "Time in captured calls, summed over threads.") \
    X(WAIT_TIME, "cuda.wait.time", "s", SUM, SECONDS, "", "Time in calls that wait for the GPU, a stream or an event.") \
    X(LAUNCHES, "cuda.launches", "{call}", SUM, INT, "", "Calls that launch a kernel or a graph.") \
    X(LAUNCH_LATENCY, "cuda.launch.latency", "s", HISTOGRAM, SECONDS, "hw.id, cuda.device.id", "Time from the start of a call to the start of its kernel.") \
    X(KERNEL_DURATION, "cuda.kernel.duration", "s", HISTOGRAM, SECONDS, "hw.id, cuda.device.id, cuda.kernel.short_name or otel.metric.overflow", "Duration of kernels, by name; names beyond 256 are combined.") \
    X(GRAPHS, "cuda.graph.executions", "{execution}", SUM, INT, "hw.id, cuda.device.id", "Executions of CUDA graphs.") \
    X(GRAPH_TIME, "cuda.graph.time", "s", SUM, SECONDS, "hw.id, cuda.device.id", "Duration of CUDA graph executions.") \
    X(COPY_DURATION, "cuda.memcpy.duration", "s", HISTOGRAM, SECONDS, "hw.id, cuda.device.id, cuda.memcpy.kind", "Duration of copies.") \
    X(COPY_BYTES, "cuda.memcpy.io", "By", SUM, INT, "hw.id, cuda.device.id, cuda.memcpy.kind", "Bytes copied.") \
    X(FILL_DURATION, "cuda.memset.duration", "s", HISTOGRAM, SECONDS, "hw.id, cuda.device.id", "Duration of fills.") \
    X(FILL_BYTES, "cuda.memset.io", "By", SUM, INT, "hw.id, cuda.device.id", "Bytes filled.") \
    X(BUSY_TIME, "cuda.gpu.busy_time", "s", SUM, SECONDS, "hw.id, cuda.device.id", "Time in which the GPU worked for the process; overlapping work counts once.") \
    X(STEP_DURATION, "training.step.duration", "s", HISTOGRAM, SECONDS, "cuda.process.rank, training.step.kind, training.step.source", "Duration of the steps of a training job, also of those that are not sampled.") \
    X(STEP_PART_DURATION, "training.step.part.duration", "s", HISTOGRAM, SECONDS, "cuda.process.rank, training.step.kind, training.step.part", "Parts of sampled steps on the GPU: compute, exposed_communication, copies and idle.") \
    X(STEP_COMMUNICATION_DURATION, "training.step.communication.duration", "s", HISTOGRAM, SECONDS, "cuda.process.rank, training.step.kind", "Time of sampled steps in collectives, also while compute ran, with the wait for other ranks.") \
    X(REQUEST_DURATION, "gen_ai.server.request.duration", "s", HISTOGRAM, SECONDS, "gen_ai.operation.name, gen_ai.provider.name, error.type", "Duration of requests.") \
    X(REQUEST_FIRST_TOKEN, "gen_ai.server.time_to_first_token", "s", HISTOGRAM, SECONDS, "gen_ai.operation.name, gen_ai.provider.name", "Time to the first token of finished requests.") \
    X(REQUEST_PER_TOKEN, "gen_ai.server.time_per_output_token", "s", HISTOGRAM, SECONDS, "gen_ai.operation.name, gen_ai.provider.name", "Time for each further token of finished requests.") \
    X(REQUEST_QUEUE, "engine.request.queue.duration", "s", HISTOGRAM, SECONDS, "engine.name", "Time until the first iteration of a request.") \
    X(REQUESTS_ACTIVE, "engine.active_requests", "{request}", UP_DOWN, INT, "engine.name", "Requests between their first iteration and their end.") \
    X(ENGINE_TOKENS, "engine.tokens", "{token}", SUM, INT, "engine.name, engine.phase", "Computed tokens.") \
    X(ENGINE_PREEMPTIONS, "engine.preemptions", "{preemption}", SUM, INT, "engine.name", "Preemptions of requests.") \
    X(ITERATION_DURATION, "engine.iteration.duration", "s", HISTOGRAM, SECONDS, "engine.name, engine.iteration.kind, cuda.process.rank", "Duration of iterations on the host.") \
    X(ENGINE_GPU_TIME, "engine.gpu.time", "s", SUM, SECONDS, "engine.name, engine.iteration.kind, cuda.process.rank", "GPU busy time of iterations.") \
    X(MEMORY_USAGE, "cuda.memory.usage", "By", UP_DOWN, INT, "hw.id, cuda.device.id, cuda.memory.kind", "Memory allocated by the program.") \
    X(MEMORY_PEAK, "cuda.memory.peak", "By", GAUGE, INT, "hw.id, cuda.device.id, cuda.memory.kind", "Peak of the memory allocated by the program.") \
    X(COUNTER_THROUGHPUT, "cuda.counter.throughput", "By/s", GAUGE, DOUBLE, "hw.id, cuda.device.id, cuda.counter.name, cuda.counter.statistic", "Bytes per second counted on the whole GPU.") \
    X(COUNTER_RATE, "cuda.counter.rate", "{event}/s", GAUGE, DOUBLE, "hw.id, cuda.device.id, cuda.counter.name, cuda.counter.statistic", "Events per second counted on the whole GPU.") \
    X(COUNTER_RATIO, "cuda.counter.ratio", "1", GAUGE, DOUBLE, "hw.id, cuda.device.id, cuda.counter.name, cuda.counter.statistic", "Ratio or count per cycle of the whole GPU.") \
    X(HW_UTILIZATION, "hw.gpu.utilization", "1", GAUGE, DOUBLE, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number, hw.gpu.task", "Fraction of time in which a kernel of any process ran, from NVML.") \
    X(HW_MEMORY_LIMIT, "hw.gpu.memory.limit", "By", UP_DOWN, INT, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number", "Size of the GPU's memory.") \
    X(HW_MEMORY_USAGE, "hw.gpu.memory.usage", "By", UP_DOWN, INT, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number", "GPU memory in use by all processes.") \
    X(HW_MEMORY_UTILIZATION, "hw.gpu.memory.utilization", "1", GAUGE, DOUBLE, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number", "Fraction of the GPU memory in use.") \
    X(HW_TEMPERATURE, "hw.temperature", "Cel", GAUGE, INT, "hw.id, hw.name, hw.parent, hw.sensor_location", "Temperature of the GPU and of its memory.") \
    X(HW_POWER, "hw.power", "W", GAUGE, DOUBLE, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number, hw.type", "Power draw of the GPU.") \
    X(HW_ENERGY, "hw.energy", "J", SUM, DOUBLE, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number, hw.type", "Energy used by the GPU since the driver was loaded.") \
    X(HW_ERRORS, "hw.errors", "{error}", SUM, INT, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number, hw.type, error.type", "Errors of the GPU since the driver was loaded, by kind.") \
    X(HW_STATUS, "hw.status", "1", UP_DOWN, INT, "hw.id, hw.name, hw.model, hw.vendor, hw.serial_number, hw.type, hw.state", "1 for the state that the GPU is in, 0 for the others.") \
    X(QUEUE_SIZE, "otel.sdk.processor.span.queue.size", "{span}", UP_DOWN, INT, "otel.component.type, otel.component.name", "Spans waiting for export.") \
    X(QUEUE_CAPACITY, "otel.sdk.processor.span.queue.capacity", "{span}", UP_DOWN, INT, "otel.component.type, otel.component.name", "Maximum number of spans in the queue.") \
    X(PROCESSED, "otel.sdk.processor.span.processed", "{span}", SUM, INT, "otel.component.type, otel.component.name, error.type", "Spans that passed through the queue; with error.type queue_full, spans dropped because it was full.") \
    X(INFLIGHT, "otel.sdk.exporter.span.inflight", "{span}", UP_DOWN, INT, "otel.component.type, otel.component.name", "Spans in requests without a response yet.") \
    X(EXPORTED, "otel.sdk.exporter.span.exported", "{span}", SUM, INT, "otel.component.type, otel.component.name, error.type", "Spans whose export has ended; with error.type, spans that were not delivered.") \
    X(OPERATION_DURATION, "otel.sdk.exporter.operation.duration", "s", HISTOGRAM, SECONDS, "otel.component.type, otel.component.name, error.type, http.response.status_code", "Duration of exports of spans and metrics, including retries.") \
    X(SPOOLED, "cuspan.spool.size", "{span}", UP_DOWN, INT, "otel.component.type, otel.component.name", "Spans in the spool, which no collector has accepted yet.") \
    X(LOST, "cuspan.lost", "{item}", SUM, INT, "cuspan.lost.reason", "Captured items that were lost, by reason.") \
    X(JOB_PROGRESS, "cuspan.job.progress", "{call}", SUM, INT, "collective.communicator, collective.ranks, collective.state", "Calls of NCCL's collectives by communicator, in processes with a hang watch.") \
    X(CPU_TIME, "cuspan.cpu.time", "s", SUM, SECONDS, "", "CPU time of cuspan's pipeline thread.")
