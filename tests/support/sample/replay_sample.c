#include "replay_sample.h"
#include "sample_records.h"

#include "base/trace_context.h"
#include "agent/abi/cupti_abi.h"
#include "agent/abi/params.h"
#include "model/cuda/activities.h"
#include "agent/recording/recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GRAPH_DEVICE_LAUNCH 4 /* cudaGraphInstantiateFlagDeviceLaunch */
#define RUN_CALLS           64 /* calls of one thread before another's are recorded, as if drained from rings */

static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return random_state >> 20;
}

static uint64_t random_integer(const struct param_source *source)
{
    uint64_t value = random_next() * 2654435761u >> random_next() % 60;
    if (source->size == 8)
        return value;
    unsigned unused_bits = 64 - 8 * source->size;
    value <<= unused_bits;
    return source->how & PARAM_SIGNED ? (uint64_t)((int64_t)value >> unused_bits) : value >> unused_bits;
}

static uint64_t random_real(void)
{
    double real = (double)(random_next() % 4096) / 64; /* exact as float and as double */
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static size_t put_param(uint64_t *to, const struct param_source *source)
{
    if (source->how & PARAM_TEXT) {
        size_t length = random_next() % (CALL_STRING_BYTES + 1), words = (length + 7) / 8;
        memset(to, 0, (1 + words) * sizeof *to);
        to[0] = length;
        memset(to + 1, 'a' + (int)(random_next() % 26), length);
        return 1 + words;
    }
    if (source->how & PARAM_THREE) {
        to[0] = (1 + random_next() % 1000) | (1 + random_next() % 1000) << 32;
        to[1] = 1 + random_next() % 64;
        return 2;
    }
    to[0] = source->how & PARAM_REAL ? random_real() : random_integer(source);
    return 1;
}

/* Whether the parameter has a value: its pointer is not NULL, and the call has set it if it is an output. */
static bool is_readable(const struct param_source *source, const struct call_record *call)
{
    if (source->how & PARAM_OUT && call->result != 0)
        return false;
    return !(source->how & (PARAM_DEREF | PARAM_TEXT)) || (call->correlation_id + source->offset) % 5 != 0;
}

static void put_params(struct call_record *call)
{
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    uint64_t *to = call->values;
    call->present = 0;
    for (unsigned i = 0; i < info->param_count && i < CALL_PARAMS_MAX; i++) {
        const struct param_source *source = &param_sources[info->param + i];
        if (is_readable(source, call) && (size_t)(to - call->values) + 16 <= CALL_VALUES_MAX) {
            size_t words = put_param(to, source);
            if (info->group == CALL_GROUP_GRAPH && words == 1)
                *to &= ~(uint64_t)GRAPH_DEVICE_LAUNCH; /* the sample's graphs are launched by the host only */
            to += words;
            call->present |= 1u << i;
        }
    }
    call->head.bytes = (uint32_t)((uint8_t *)to - (uint8_t *)call);
}

/* Cycles through all known calls, so that a long sample contains each. */
static uint16_t any_call(enum call_domain domain)
{
    static uint16_t last[CALL_RUNTIME + 1];
    uint16_t count = domain == CALL_RUNTIME ? call_count_runtime : call_count_driver;
    do {
        last[domain] = (uint16_t)((last[domain] + 1) % count);
    } while (!call_info(domain, last[domain]));
    return last[domain];
}

struct maker {
    struct recording_writer *writer;
    const struct sample *sample;
    bool is_done; /* false after a failure */
    uint16_t launch, driver_launch, copy;
};

struct host {
    uint64_t tid;
    uint64_t now_ns;
    uint32_t correlation_id;
    unsigned done;
};

union any_call {
    struct call_record record;
    uint64_t words[CALL_RECORD_BYTES / 8];
};

static void check(struct maker *maker, enum status status)
{
    maker->is_done &= status == STATUS_OK;
}

static void write_call(struct maker *maker, const struct host *host, enum call_domain domain, uint16_t cbid,
                       uint64_t start_ns, uint64_t end_ns)
{
    static union any_call call;
    call.record = (struct call_record){
        .head = {.type = RECORD_CALL, .domain = (uint8_t)domain, .cbid = cbid},
        .start_ns = start_ns,
        .end_ns = end_ns,
        .correlation_id = host->correlation_id,
        .context_id = 1,
        .result = host->correlation_id % 17 == 0 ? 1 : 0,
    };
    put_params(&call.record);
    check(maker, RECORDING_WRITE(maker->writer, CALL, .tid = host->tid, .call = &call.record));
}

static void write_said(struct maker *maker, const struct host *host, const struct record_head *said)
{
    check(maker, RECORDING_WRITE(maker->writer, ANNOTATION, .tid = host->tid, .annotation = said));
}

static void write_context(struct maker *maker, const struct host *host, unsigned group)
{
    struct context_record record = {.head = {.bytes = sizeof record, .type = RECORD_CONTEXT},
                                    .time_ns = host->now_ns,
                                    .flags = group % 10 != 9 ? TRACE_FLAG_SAMPLED : 0};
    uint64_t number = __builtin_bswap64((host->tid - SAMPLE_TID) << 32 | group);
    if (group % 7 != 6) {
        memcpy(record.trace_id, "request!", 8);
        memcpy(record.trace_id + 8, &number, 8);
        memcpy(record.span_id, &number, 8);
        record.span_id[0] = 0xff; /* not all zero */
    }
    write_said(maker, host, &record.head);
}

static void write_range(struct maker *maker, struct host *host, enum record_type type, const char *name)
{
    union {
        struct range_record record;
        char bytes[128];
    } range = {.record = {.head = {.bytes = sizeof range, .type = (uint8_t)type},
                          .time_ns = host->now_ns,
                          .id = host->tid << 32 | host->done / SAMPLE_GROUP | 1ull << 63,
                          .flags = RANGE_ON_THREAD,
                          .name_bytes = (uint16_t)strlen(name),
                          .text_bytes = (uint32_t)strlen(name)}};
    strcpy(range.record.text, name);
    write_said(maker, host, &range.record.head);
    host->now_ns += 10;
}

static void say_before_call(struct maker *maker, struct host *host)
{
    unsigned step = host->done % SAMPLE_GROUP;
    if (step == 0)
        write_context(maker, host, host->done / SAMPLE_GROUP);
    if (step == 1)
        write_range(maker, host, RECORD_RANGE_BEGIN, "stage");
    if (step == 2)
        write_range(maker, host, RECORD_MARK, "half");
    if (step == 3)
        write_range(maker, host, RECORD_RANGE_END, "");
    host->now_ns += 10;
}

static void write_name(struct maker *maker, const struct host *host, enum named_object object,
                       uint64_t handle, const char *name)
{
    union {
        struct name_record record;
        char bytes[64];
    } named = {.record = {.head = {.bytes = sizeof named, .type = RECORD_NAME, .cbid = (uint16_t)object},
                          .time_ns = host->now_ns,
                          .handle = handle,
                          .name_bytes = (uint32_t)strlen(name)}};
    strcpy(named.record.name, name);
    write_said(maker, host, &named.record.head);
}

static void write_names(struct maker *maker, const struct host *host)
{
    write_name(maker, host, NAMED_THREAD, host->tid, "loader");
    write_name(maker, host, NAMED_STREAM, SAMPLE_STREAM, "copies");
    write_name(maker, host, NAMED_CONTEXT, SAMPLE_CONTEXT, "training");
    write_name(maker, host, NAMED_DEVICE, 0, "left");
}

static void write_counters(struct maker *maker, const struct host *host, uint64_t time_ns)
{
    struct {
        struct gpu_counters_record record;
        double values[3];
    } counters = {
        {.head = {sizeof counters, RECORD_GPU_COUNTERS, 0, 0},
         .time_ns = time_ns,
         .correlation_id = host->correlation_id,
         .count = 3},
        {4096.0 * host->correlation_id, 50.5, host->correlation_id % 2 ? NAN : (double)host->correlation_id}};
    check(maker,
          RECORDING_WRITE(maker->writer, GPU_COUNTERS, .tid = host->tid, .gpu_counters = &counters.record));
}

static void make_call(struct maker *maker, struct host *host)
{
    if (maker->sample->has_names && host->done == 0 && host->tid == SAMPLE_TID)
        write_names(maker, host);
    if (maker->sample->has_requests)
        say_before_call(maker, host);
    uint64_t start_ns = host->now_ns, end_ns = start_ns + 2000 + random_next() % 3000;
    switch (host->done % 4) {
    case 0:
    case 2: /* the runtime launches through the driver */
        write_call(maker, host, CALL_DRIVER, maker->driver_launch, start_ns + 200, end_ns - 200);
        if (maker->sample->has_counters && host->correlation_id % 3 == 0)
            write_counters(maker, host, end_ns);
        write_call(maker, host, CALL_RUNTIME, maker->launch, start_ns, end_ns);
        break;
    case 1:
        write_call(maker, host, CALL_RUNTIME, maker->copy, start_ns, end_ns);
        break;
    default:
        write_call(maker, host, host->done % 8 == 3 ? CALL_RUNTIME : CALL_DRIVER,
                   any_call(host->done % 8 == 3 ? CALL_RUNTIME : CALL_DRIVER), start_ns, end_ns);
    }
    uint64_t pause_ns = maker->sample->is_long ? 300000000 / maker->sample->calls : 500;
    host->now_ns = end_ns + random_next() % pause_ns;
    host->correlation_id += maker->sample->threads;
    host->done++;
}

static uint64_t field_value(const struct activity_record *record, const struct activity_field *field)
{
    static const char *const strings[] = {"NVIDIA H200", "one", ""};
    static uint8_t arrays[4][UINT8_MAX + 1];
    static unsigned array;
    switch (field->role) {
    case ROLE_START:
        return record->start_ns;
    case ROLE_END:
        return record->end_ns;
    case ROLE_CORRELATION:
        return record->correlation_id;
    case ROLE_DEVICE:
        return record->device_id;
    case ROLE_CONTEXT:
        return record->context_id;
    case ROLE_STREAM:
        return record->stream_id;
    case ROLE_NAME:
        return (uint64_t)(uintptr_t)record->name;
    case ROLE_GRAPH:
        return record->graph_id;
    case ROLE_GRAPH_NODE:
        return record->graph_node_id;
    default:
        break;
    }
    if (field->type == FIELD_STRING)
        return (uint64_t)(uintptr_t)strings[random_next() % 3];
    if (field->type == FIELD_BYTES) {
        uint8_t *bytes = arrays[array++ % 4];
        memset(bytes, (int)random_next(), field->size);
        return (uint64_t)(uintptr_t)bytes;
    }
    return random_next() % 100; /* fits into each field */
}

static void write_activity(struct maker *maker, struct activity_record *record)
{
    const struct activity_info *info = &activity_table[record->kind];
    for (unsigned f = 0; f < info->field_count; f++) {
        record->values[f] = f == 0 ? record->kind : field_value(record, &info->fields[f]);
        record->present |= 1ull << f;
    }
    check(maker, RECORDING_WRITE(maker->writer, ACTIVITY, .activity = record));
}

static void write_gpu_work(struct maker *maker, const struct host *host, unsigned call,
                           uint32_t correlation_id)
{
    static const char *const names[] = {"_Z6vecAddPKfS0_Pfi", "_Z5scalefPf", "ampere_sgemm_128x64_nn"};
    if (call % 4 == 3 || correlation_id % 17 == 0)
        return; /* failed or has no GPU work */
    struct activity_record record = {
        .start_ns = host->now_ns + 1000 * call,
        .end_ns = host->now_ns + 1000 * call + 500 + random_next() % 400,
        .correlation_id = correlation_id,
        .kind = call % 4 == 1 ? ACTIVITY_MEMCPY : ACTIVITY_KERNEL,
        .context_id = 1,
        .stream_id = 13,
    };
    if (correlation_id == 1) { /* the GPU's clock is slightly behind, so it starts before its launch */
        record.start_ns = SAMPLE_START_NS + 100;
        record.end_ns = SAMPLE_START_NS + 200;
    }
    if (record.kind == ACTIVITY_KERNEL)
        record.name = names[correlation_id % 3];
    write_activity(maker, &record);
}

/* A run of one thread's calls, followed by their GPU work. */
static void make_run(struct maker *maker, struct host *host)
{
    unsigned first = host->done;
    uint32_t correlation_id = host->correlation_id;
    while (host->done < maker->sample->calls && host->done < first + RUN_CALLS)
        make_call(maker, host);
    for (unsigned call = first; call < host->done; call++) {
        write_gpu_work(maker, host, call - first, correlation_id);
        correlation_id += maker->sample->threads;
    }
}

/* A device that reports only its UUID. */
static void write_links(struct maker *maker, struct activity_record *device)
{
    static const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const struct activity_info *info = &activity_table[ACTIVITY_DEVICE];
    for (uint8_t i = 0; i < info->field_count; i++) {
        if (!info->fields[i].key.len || strcmp(info->fields[i].key.name, "cuda.device.uuid") != 0)
            continue;
        device->present |= UINT64_C(1) << i;
        device->values[i] = (uint64_t)(uintptr_t)uuid;
    }
    check(maker, RECORDING_WRITE(maker->writer, ACTIVITY, .activity = device));
    check(maker, RECORDING_WRITE(maker->writer, INFO, .name = RECORDING_INFO_LINKS,
                                 .text = SAMPLE_UUID " pcie=4x8"));
    check(maker,
          RECORDING_WRITE(maker->writer, INFO, .name = RECORDING_INFO_LINKS, .text = "GPU-another pcie=1x1"));
    check(maker, RECORDING_WRITE(maker->writer, INFO, .name = RECORDING_INFO_LINKS,
                                 .text = SAMPLE_UUID " address=0000:1b:00.0 pcie=5x16 nvlink=2 version=4 "
                                                     "rate=26562000000 ends=switch,switch"));
}

static void write_beginning(struct maker *maker)
{
    struct activity_record device = {.kind = ACTIVITY_DEVICE};
    struct activity_record context = {.kind = ACTIVITY_CONTEXT, .context_id = 1};
    struct resource_record created = {
        .head = {.bytes = sizeof created, .type = RECORD_RESOURCE, .cbid = CUPTI_RESOURCE_CONTEXT_CREATED},
        .time_ns = SAMPLE_START_NS,
        .context_id = 1,
        .handle = SAMPLE_CONTEXT,
    };
    static const char *const counters[] = {"dram.read", "l2.hit_rate", "reads=lts__t_sectors_op_read.sum"};
    check(maker, RECORDING_WRITE(maker->writer, INFO, .name = RECORDING_INFO_PROGRAM, .text = "sample"));
    for (size_t i = 0; maker->sample->has_counters && i < sizeof counters / sizeof *counters; i++)
        check(maker,
              RECORDING_WRITE(maker->writer, INFO, .name = RECORDING_INFO_GPU_COUNTER, .text = counters[i]));
    check(maker, RECORDING_WRITE(maker->writer, RESOURCE, .tid = 1000, .resource = &created));
    created.head.cbid = CUPTI_RESOURCE_STREAM_CREATED;
    created.time_ns++;
    created.id = 13;
    created.handle = SAMPLE_STREAM;
    check(maker, RECORDING_WRITE(maker->writer, RESOURCE, .tid = 1000, .resource = &created));
    created.head.cbid = CUPTI_RESOURCE_MODULE_LOADED;
    created.time_ns++;
    created.id = 1;
    created.bytes = 4096;
    check(maker, RECORDING_WRITE(maker->writer, RESOURCE, .tid = 1000, .resource = &created));
    for (uint64_t i = 0; maker->sample->has_steps && i < SAMPLE_STEPS; i++) {
        struct step_boundary step = {.time = i ? SAMPLE_START_NS + i * SAMPLE_STEP_NS : 0,
                                     .number = (int64_t)i + 1,
                                     .nonce = i < 5 ? 0 : 77};
        check(maker, RECORDING_WRITE(maker->writer, STEP, .step = &step));
    }
    if (maker->sample->has_links)
        write_links(maker, &device);
    else
        write_activity(maker, &device);
    write_activity(maker, &context);
}

static void make_hosts(struct maker *maker)
{
    static struct host hosts[SAMPLE_THREADS_MAX];
    uint32_t first = maker->sample->first_correlation ? maker->sample->first_correlation : 1;
    for (unsigned t = 0; t < maker->sample->threads; t++) {
        struct thread_info thread = {.tid = SAMPLE_TID + t};
        snprintf(thread.name, sizeof thread.name, "worker-%u", t % 64);
        hosts[t] = (struct host){thread.tid, SAMPLE_START_NS + 1000 + 20000 * t, first + t, 0};
        check(maker, RECORDING_WRITE(maker->writer, THREAD, .tid = thread.tid, .time_ns = hosts[t].now_ns,
                                     .name = thread.name));
    }
    for (unsigned done = 0; done < maker->sample->calls; done += RUN_CALLS) {
        for (unsigned t = 0; t < maker->sample->threads; t++)
            make_run(maker, &hosts[t]);
    }
    for (unsigned t = 0; t < maker->sample->threads; t++)
        check(maker,
              RECORDING_WRITE(maker->writer, THREAD_END, .tid = hosts[t].tid, .time_ns = hosts[t].now_ns));
}

bool sample_write(const char *path, const struct sample *sample)
{
    struct error err;
    struct maker maker = {.sample = sample, .is_done = sample->threads <= SAMPLE_THREADS_MAX};
    random_state = 20231114;
    if (recording_writer_create(path, &maker.writer, &err) != STATUS_OK) {
        fprintf(stderr, "sample: %s\n", err.text);
        return false;
    }
    maker.launch = find_call(CALL_RUNTIME, "cudaLaunchKernel");
    maker.driver_launch = find_call(CALL_DRIVER, "cuLaunchKernel");
    maker.copy = find_call(CALL_RUNTIME, "cudaMemcpyAsync");
    write_beginning(&maker);
    if (maker.is_done)
        make_hosts(&maker);
    if (recording_writer_close(maker.writer, &err) != STATUS_OK || !maker.is_done) {
        fprintf(stderr, "sample: %s: %s\n", path, err.text);
        return false;
    }
    return true;
}
