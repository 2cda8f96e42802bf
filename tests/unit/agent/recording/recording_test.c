#include "agent/recording/recording.h"

#include "base/accounting/counters.h"
#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "model/gpu_counter_names.h"
#include "support/test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

static char path[64];
static uint64_t random_state;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Numbers of all magnitudes, uniform in the logarithm. */
static uint64_t random_number(void)
{
    return random_next() >> random_next() % 64;
}

/* A random call with valid parameters. */
static void random_call(struct call_record *call)
{
    enum call_domain domain;
    uint32_t cbid;
    const struct call_info *info;
    do {
        domain = random_next() % 2 ? CALL_RUNTIME : CALL_DRIVER;
        cbid = (uint32_t)(random_next() % (domain == CALL_RUNTIME ? call_count_runtime : call_count_driver));
        info = call_info(domain, cbid);
    } while (!info);
    uint64_t *to = call->values;
    call->present = 0;
    for (unsigned i = 0; i < info->param_count && i < CALL_PARAMS_MAX; i++) {
        uint8_t type = call_params[info->param + i].type;
        size_t words = type == PARAM_STRING ? 1 + CALL_STRING_BYTES / 8 : 2;
        if (random_next() % 4 == 0 || (size_t)(to - call->values) + words > CALL_VALUES_MAX)
            continue;
        call->present |= 1u << i;
        uint64_t length = random_next() % (CALL_STRING_BYTES + 1);
        *to++ = type == PARAM_STRING ? length : random_number();
        for (uint64_t word = 0; type == PARAM_STRING && word < (length + 7) / 8; word++)
            *to++ = random_next();
        if (type == PARAM_DIM3)
            *to++ = random_number();
    }
    call->head = (struct record_head){(uint32_t)((uint8_t *)to - (uint8_t *)call), RECORD_CALL,
                                      (uint8_t)domain, (uint16_t)cbid};
    call->start_ns = random_number();
    call->end_ns = random_number();
    call->correlation_id = (uint32_t)random_number();
    call->context_id = (uint32_t)random_number();
    call->result = (int32_t)random_number();
}

static void random_resource(struct resource_record *resource)
{
    bool is_clone = random_next() % 4 == 0;
    *resource = (struct resource_record){
        .head = {sizeof *resource, RECORD_RESOURCE, 0, is_clone ? 20 : (uint16_t)random_number()},
        .time_ns = random_number(),
        .context_id = (uint32_t)random_number(),
        .device_id = (uint32_t)random_number(),
        .id = (uint32_t)random_number(),
        .bytes = (uint32_t)random_number(),
        .handle = random_number(),
        .original = is_clone ? random_number() : 0,
    };
    if (resource->head.cbid == 20) /* GRAPHNODE_CLONED, possible by chance */
        resource->original = resource->handle + 7;
    if (random_next() % 4 == 0) {
        resource->head.cbid = 13; /* GRAPHNODE_CREATED */
        resource->code = random_next() % 2 ? random_number() : 0;
    }
}

static const char *const some_names[] = {
    "_Z6vecAddPKfS0_Pfi",
    "",
    "ampere_sgemm_128x64_nn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3>>",
    NULL,
};

static const char *random_name(void)
{
    return some_names[random_next() % (sizeof some_names / sizeof *some_names)];
}

static uint64_t role_value(const struct activity_record *activity, unsigned role)
{
    switch (role) {
    case ROLE_START:
        return activity->start_ns;
    case ROLE_END:
        return activity->end_ns;
    case ROLE_CORRELATION:
        return activity->correlation_id;
    case ROLE_DEVICE:
        return activity->device_id;
    case ROLE_CONTEXT:
        return activity->context_id;
    case ROLE_STREAM:
        return activity->stream_id;
    case ROLE_NAME:
        return (uint64_t)(uintptr_t)activity->name;
    case ROLE_GRAPH:
        return activity->graph_id;
    case ROLE_GRAPH_NODE:
        return activity->graph_node_id;
    default:
        return random_number();
    }
}

static uint8_t random_arrays[ACTIVITY_FIELDS_MAX][256];

static uint64_t random_field(const struct activity_record *activity, const struct activity_field *field,
                             unsigned f)
{
    if (field && field->type == FIELD_BYTES && field->size > 0) {
        for (unsigned i = 0; i < field->size; i++)
            random_arrays[f][i] = (uint8_t)random_next();
        return (uint64_t)(uintptr_t)random_arrays[f];
    }
    if (field && field->type == FIELD_STRING)
        return (uint64_t)(uintptr_t)(field->role == ROLE_NAME ? activity->name : random_name());
    /* Occasionally the field differs from the record's member. */
    return field && random_next() % 64 ? role_value(activity, field->role) : random_number();
}

static void random_activity(struct activity_record *activity)
{
    uint16_t kind = (uint16_t)(random_next() % ACTIVITY_KINDS_MAX);
    const struct activity_info *info = &activity_table[kind];
    *activity = (struct activity_record){
        .start_ns = random_number(),
        .end_ns = random_number(),
        .name = random_name(),
        .graph_node_id = random_number(),
        .graph_id = (uint32_t)random_number(),
        .correlation_id = (uint32_t)random_number(),
        .device_id = (uint32_t)random_number(),
        .context_id = (uint32_t)random_number(),
        .stream_id = (uint32_t)random_number(),
        .kind = kind,
        .present = random_next() & random_next(),
    };
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        const struct activity_field *field = info->fields && f < info->field_count ? &info->fields[f] : NULL;
        activity->values[f] =
            random_field(activity, field, f); /* absent fields must not be visible to the reader */
        if (!(activity->present >> f & 1) && field &&
            (field->type == FIELD_STRING || field->type == FIELD_BYTES))
            activity->values[f] = random_next();
    }
}

static struct recording_writer *create(void)
{
    struct recording_writer *writer;
    struct error err;
    strcpy(path, "/tmp/cuspan-recording-test-XXXXXX");
    close(mkstemp(path));
    assert_int_equal(recording_writer_create(path, &writer, &err), STATUS_OK);
    return writer;
}

static void close_writer(struct recording_writer *writer)
{
    struct error err = {""};
    assert_int_equal(recording_writer_close(writer, &err), STATUS_OK);
    assert_string_equal(err.text, "");
}

static struct recording *open_file(void)
{
    struct recording *recording;
    struct error err = {""};
    if (recording_open(path, &recording, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return recording;
}

static void next(struct recording *recording, struct recording_event *event, enum recording_event_type type)
{
    struct error err = {""};
    if (recording_next(recording, event, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(event->type, type);
}

static void assert_ended(struct recording *recording)
{
    struct recording_event event;
    struct error err;
    assert_int_equal(recording_next(recording, &event, &err), STATUS_END);
    assert_int_equal(recording_next(recording, &event, &err), STATUS_END);
    recording_close(recording);
    unlink(path);
}

static void same_text(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_ptr_equal(a, b);
}

static void same_activity(const struct activity_record *a, const struct activity_record *b)
{
    const struct activity_info *info = &activity_table[b->kind];
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->start_ns, b->start_ns);
    assert_int_equal(a->end_ns, b->end_ns);
    same_text(a->name, b->name);
    assert_int_equal(a->graph_node_id, b->graph_node_id);
    assert_int_equal(a->graph_id, b->graph_id);
    assert_int_equal(a->correlation_id, b->correlation_id);
    assert_int_equal(a->device_id, b->device_id);
    assert_int_equal(a->context_id, b->context_id);
    assert_int_equal(a->stream_id, b->stream_id);
    assert_int_equal(a->present, b->present);
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        uint8_t type = info->fields && f < info->field_count ? info->fields[f].type : FIELD_UINT;
        const void *at = (const void *)(uintptr_t)a->values[f];
        if (!(b->present >> f & 1))
            continue;
        if (type == FIELD_STRING)
            same_text(at, (const char *)(uintptr_t)b->values[f]);
        else if (type == FIELD_BYTES && info->fields[f].size > 0)
            assert_memory_equal(at, (const void *)(uintptr_t)b->values[f], info->fields[f].size);
        else
            assert_int_equal(a->values[f], b->values[f]);
    }
}

/* A random event of each type that carries a record; deterministic for a seed. */
union any_record {
    struct call_record call;
    struct resource_record resource;
    struct activity_record activity;
    uint64_t words[CALL_RECORD_BYTES / 8];
};

static enum recording_event_type random_record(union any_record *record, uint64_t *tid)
{
    *tid = random_number();
    switch (random_next() % 5) {
    case 0:
        random_resource(&record->resource);
        return RECORDING_RESOURCE;
    case 1:
    case 2:
        random_activity(&record->activity);
        return RECORDING_ACTIVITY;
    default:
        random_call(&record->call);
        return RECORDING_CALL;
    }
}

#define EVENTS 20000

static void test_every_event_comes_back_as_it_was(void **unused)
{
    union any_record record;
    uint64_t tid;
    random_state = 88172645463325252ull;
    struct recording_writer *writer = create();
    assert_int_equal(RECORDING_WRITE(writer, INFO, .name = "program", .text = "vector_add"), STATUS_OK);
    struct thread_info thread = {.tid = 77, .name = "worker-1"};
    assert_int_equal(
        RECORDING_WRITE(writer, THREAD, .tid = thread.tid, .time_ns = 1234567, .name = thread.name),
        STATUS_OK);
    for (int i = 0; i < EVENTS; i++) {
        enum recording_event_type type = random_record(&record, &tid);
        if (type == RECORDING_CALL)
            assert_int_equal(RECORDING_WRITE(writer, CALL, .tid = tid, .call = &record.call), STATUS_OK);
        else if (type == RECORDING_RESOURCE)
            assert_int_equal(RECORDING_WRITE(writer, RESOURCE, .tid = tid, .resource = &record.resource),
                             STATUS_OK);
        else
            assert_int_equal(RECORDING_WRITE(writer, ACTIVITY, .activity = &record.activity), STATUS_OK);
    }
    assert_int_equal(RECORDING_WRITE(writer, THREAD_END, .tid = 77, .time_ns = 7654321), STATUS_OK);
    assert_int_equal(RECORDING_WRITE(writer, LOSS, .name = "lost_ring_full", .count = 42), STATUS_OK);
    close_writer(writer);

    random_state = 88172645463325252ull;
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_INFO);
    assert_string_equal(event.name, "program");
    assert_string_equal(event.text, "vector_add");
    next(recording, &event, RECORDING_THREAD);
    assert_int_equal(event.tid, 77);
    assert_int_equal(event.time_ns, 1234567);
    assert_string_equal(event.name, "worker-1");
    for (int i = 0; i < EVENTS; i++) {
        enum recording_event_type type = random_record(&record, &tid);
        next(recording, &event, type);
        if (type == RECORDING_CALL)
            assert_memory_equal(event.call, &record.call, record.call.head.bytes);
        else if (type == RECORDING_RESOURCE)
            assert_memory_equal(event.resource, &record.resource, sizeof record.resource);
        else
            same_activity(event.activity, &record.activity);
        if (type != RECORDING_ACTIVITY)
            assert_int_equal(event.tid, tid);
    }
    next(recording, &event, RECORDING_THREAD_END);
    assert_int_equal(event.tid, 77);
    assert_int_equal(event.time_ns, 7654321);
    next(recording, &event, RECORDING_LOSS);
    assert_string_equal(event.name, "lost_ring_full");
    assert_int_equal(event.count, 42);
    assert_ended(recording);
}

static void test_an_empty_recording_is_one(void **unused)
{
    close_writer(create());
    assert_ended(open_file());
}

/* Of a complete file. */
static unsigned count_events(void)
{
    struct recording *recording;
    struct recording_event event;
    struct error err;
    unsigned count = 0;
    assert_int_equal(recording_open(path, &recording, &err), STATUS_OK);
    enum status status;
    while ((status = recording_next(recording, &event, &err)) == STATUS_OK)
        count++;
    assert_int_equal(status, STATUS_END);
    recording_close(recording);
    return count;
}

/* The process may end right after a checkpoint, or write on. */
static void test_a_checkpoint_completes_the_file_and_more_may_follow(void **unused)
{
    struct recording_writer *writer = create();
    for (unsigned count = 0; count < 4; count++) {
        assert_int_equal(recording_writer_checkpoint(writer), STATUS_OK);
        assert_int_equal(recording_writer_checkpoint(writer), STATUS_OK);
        assert_int_equal(count_events(), count);
        assert_int_equal(RECORDING_WRITE(writer, LOSS, .name = "lost_ring_full", .count = count), STATUS_OK);
    }
    close_writer(writer);
    assert_int_equal(count_events(), 4);
    writer = create();
    assert_int_equal(recording_writer_checkpoint(writer), STATUS_OK);
    close_writer(writer);
    assert_int_equal(count_events(), 0);
    unlink(path);
}

static void test_the_file_is_private_and_replaces_what_was_there(void **unused)
{
    struct stat info;
    struct error err;
    struct recording_writer *writer = create();
    close_writer(writer);
    chmod(path, 0644);
    assert_int_equal(recording_writer_create(path, &writer, &err), STATUS_OK);
    close_writer(writer);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_ended(open_file());
}

static void test_long_and_many_strings_survive(void **unused)
{
    enum { COUNT = 70000 }; /* more than can be interned */
    char name[64];
    static char longest[40000];
    memset(longest, 'x', sizeof longest - 1);
    struct recording_writer *writer = create();
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "kernel %d", i);
        assert_int_equal(RECORDING_WRITE(writer, INFO, .name = name, .text = "same"), STATUS_OK);
    }
    assert_int_equal(RECORDING_WRITE(writer, INFO, .name = "long", .text = longest), STATUS_OK);
    assert_int_equal(RECORDING_WRITE(writer, INFO, .name = "kernel 69999", .text = "kernel 3"), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "kernel %d", i);
        next(recording, &event, RECORDING_INFO);
        assert_string_equal(event.name, name);
        assert_string_equal(event.text, "same");
    }
    next(recording, &event, RECORDING_INFO);
    assert_int_equal(strlen(event.text), 32 * 1024);
    next(recording, &event, RECORDING_INFO);
    assert_string_equal(event.name, "kernel 69999");
    assert_string_equal(event.text, "kernel 3");
    assert_ended(recording);
}

static void test_counts_come_back_to_the_bit(void **unused)
{
    struct {
        struct gpu_counters_record record;
        double values[GPU_COUNTERS_MAX + 1];
    } counts = {
        .record = {
            .time_ns = 1700000000000000000, .correlation_id = UINT32_MAX, .count = 3, .range_ns = 0.3}};
    const double values[] = {0.1, -1e300, NAN};
    memcpy(counts.record.values, values, sizeof values);
    struct recording_writer *writer = create();
    assert_int_equal(RECORDING_WRITE(writer, GPU_COUNTERS, .tid = 77, .gpu_counters = &counts.record),
                     STATUS_OK);
    counts.record.count = GPU_COUNTERS_MAX + 1;
    assert_int_equal(RECORDING_WRITE(writer, GPU_COUNTERS, .tid = 77, .gpu_counters = &counts.record),
                     STATUS_INVALID);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_GPU_COUNTERS);
    assert_int_equal(event.tid, 77);
    assert_int_equal(event.gpu_counters->head.type, RECORD_GPU_COUNTERS);
    assert_int_equal(event.gpu_counters->head.bytes, sizeof counts.record + sizeof values);
    assert_int_equal(event.gpu_counters->time_ns, 1700000000000000000);
    assert_int_equal(event.gpu_counters->correlation_id, UINT32_MAX);
    assert_int_equal(event.gpu_counters->count, 3);
    assert_true(event.gpu_counters->range_ns == 0.3);
    assert_memory_equal(event.gpu_counters->values, values, sizeof values);
    assert_ended(recording);
}

static void test_code_comes_back(void **unused)
{
    (void)unused;
    union {
        struct code_record record;
        uint8_t bytes[64];
    } code = {.record = {.head = {48, RECORD_CODE, 0, 0},
                         .id = 0xfedcba9876543210,
                         .frame_count = 1,
                         .flags = CODE_IS_DESCRIBED | CODE_IS_CUT}};
    struct code_frame frame = {.line = 88, .file_bytes = 8, .name_bytes = 4, .flags = CODE_FRAME_IS_PROGRAMS};
    memcpy(code.record.frames, &frame, sizeof frame);
    memcpy(code.record.frames + sizeof frame, "train.pystep", 12);
    struct recording_writer *writer = create();
    assert_int_equal(RECORDING_WRITE(writer, CODE, .correlation_id = UINT32_MAX, .code = &code.record),
                     STATUS_OK);
    code.record.frame_count = 2; /* of which the second one is not there */
    assert_int_equal(RECORDING_WRITE(writer, CODE, .correlation_id = 1, .code = &code.record),
                     STATUS_INVALID);
    code.record.frame_count = 1;
    code.record.flags |= CODE_IS_NATIVE;
    assert_int_equal(RECORDING_WRITE(writer, CODE, .correlation_id = 1, .code = &code.record),
                     STATUS_INVALID);
    code.record.flags = CODE_IS_DESCRIBED | CODE_HAS_CALLER;
    assert_int_equal(RECORDING_WRITE(writer, CODE, .correlation_id = 1, .code = &code.record),
                     STATUS_INVALID);
    code.record.frame_count = CODE_FRAMES_MAX + 1;
    code.record.flags = 0;
    assert_int_equal(RECORDING_WRITE(writer, CODE, .correlation_id = 1, .code = &code.record),
                     STATUS_INVALID);
    code.record.frame_count = 1;
    code.record.head.bytes = sizeof code.record; /* known */
    assert_int_equal(RECORDING_WRITE(writer, CODE, .correlation_id = 2, .code = &code.record), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_CODE);
    assert_int_equal(event.correlation_id, UINT32_MAX);
    assert_int_equal(event.code->head.type, RECORD_CODE);
    assert_int_equal(event.code->head.bytes, 48);
    assert_int_equal(event.code->id, 0xfedcba9876543210);
    assert_int_equal(event.code->frame_count, 1);
    assert_int_equal(event.code->flags, CODE_IS_DESCRIBED | CODE_IS_CUT);
    assert_memory_equal(event.code->frames, code.record.frames, sizeof frame + 12);
    next(recording, &event, RECORDING_CODE);
    assert_int_equal(event.correlation_id, 2);
    assert_int_equal(event.code->head.bytes, sizeof code.record);
    assert_int_equal(event.code->flags, 0);
    assert_ended(recording);
}

static void test_unreasonable_counts_are_damage(void **unused)
{
    static const uint8_t too_many[] = {1, 1, 1, GPU_COUNTERS_MAX + 1}, too_short[] = {1, 1, 1, 2, 0, 0};
    struct error err;
    for (int i = 0; i < 2; i++) {
        struct recording_event event;
        struct recording_writer *writer = create();
        assert_int_equal(recording_write_raw(writer, RECORDING_GPU_COUNTERS, i ? too_short : too_many,
                                             i ? sizeof too_short : sizeof too_many),
                         STATUS_OK);
        close_writer(writer);
        struct recording *recording = open_file();
        assert_int_equal(recording_next(recording, &event, &err), STATUS_CORRUPT);
        recording_close(recording);
        unlink(path);
    }
}

/* The reader refuses what the writer does: texts beyond the record, too many frames, and addresses. */
static void test_wrong_code_is_damage(void **unused)
{
    /* Correlation ID, the stack's ID, frames, flags, bytes; then line, lengths of the texts and flags of a
     * frame. */
    static const uint8_t payloads[][13] = {{1, 9, 1, CODE_IS_DESCRIBED, 8, 88, 0, 0, 0, 0, 0, 0, 0},
                                           {1, 9, 1, CODE_IS_DESCRIBED, 8, 88, 0, 0, 0, 1, 0, 0, 0},
                                           {1, 9, 2, CODE_IS_DESCRIBED, 8, 88, 0, 0, 0, 0, 0, 0, 0},
                                           {1, 9, CODE_FRAMES_MAX + 1, 0, 8},
                                           {1, 9, 1, CODE_IS_DESCRIBED, 7},
                                           {1, 9, 1, CODE_IS_DESCRIBED | CODE_IS_NATIVE, 8},
                                           {1, 9, 1, CODE_HAS_CALLER, 8},
                                           {1, 9, 1, CODE_IS_NATIVE, 8}};
    (void)unused;
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        struct recording_event event;
        struct error err;
        struct recording_writer *writer = create();
        assert_int_equal(recording_write_raw(writer, RECORDING_CODE, payloads[i], sizeof payloads[i]),
                         STATUS_OK);
        close_writer(writer);
        struct recording *recording = open_file();
        assert_int_equal(recording_next(recording, &event, &err), i == 0 ? STATUS_OK : STATUS_CORRUPT);
        recording_close(recording);
        unlink(path);
    }
}

static void test_steps_come_back(void **unused)
{
    static const struct step_boundary steps[] = {
        {.time = 0, .number = 1, .kind = STEP_TRAIN, .source = STEP_BY_API},
        {.time = 1700000000000000000,
         .number = INT64_MIN,
         .nonce = UINT64_MAX,
         .kind = STEP_NONE,
         .source = STEP_BY_COLLECTIVES},
        {.time = 1600000000000000000,
         .number = INT64_MAX,
         .nonce = 1,
         .kind = STEP_CHECKPOINT,
         .source = STEP_BY_NVTX}};
    struct recording_writer *writer = create();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(RECORDING_WRITE(writer, STEP, .step = &steps[i]), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    for (size_t i = 0; i < 3; i++) {
        next(recording, &event, RECORDING_STEP);
        assert_int_equal(event.step->time, steps[i].time);
        assert_int_equal(event.step->number, steps[i].number);
        assert_int_equal(event.step->nonce, steps[i].nonce);
        assert_int_equal(event.step->kind, steps[i].kind);
        assert_int_equal(event.step->source, steps[i].source);
    }
    assert_ended(recording);
}

static struct engine_event *engine_event(enum engine_event_type type, uint32_t parts)
{
    struct engine_event *event = calloc(1, sizeof *event + parts * sizeof *event->parts);
    event->type = type;
    event->bytes = sizeof *event + parts * sizeof *event->parts;
    return event;
}

static void write_engine(struct recording_writer *writer, struct engine_event *event, enum status expected)
{
    struct step_boundary at = {.time = 1700000000000000000, .kind = STEP_NONE, .event = event};
    assert_int_equal(RECORDING_WRITE(writer, ENGINE, .step = &at), expected);
}

static void test_events_of_engines_come_back(void **unused)
{
    struct engine_event *events[] = {engine_event(ENGINE_ITERATION, 2), engine_event(ENGINE_REQUEST, 0),
                                     engine_event(ENGINE_REQUEST_END, 0), engine_event(ENGINE_SUMMARY, 0)};
    events[0]->iteration = (struct iteration){.seed = UINT64_MAX,
                                              .number = INT64_MIN,
                                              .engine = "vllm",
                                              .kind = ITERATION_DUMMY,
                                              .is_recorded = true,
                                              .rank = -1,
                                              .ranks = 8,
                                              .requests = 300,
                                              .part_count = 2};
    events[0]->parts[1] = (struct iteration_part){.request = 7,
                                                  .phase = REQUEST_DECODE,
                                                  .is_resumed = 1,
                                                  .tokens = 5,
                                                  .computed = UINT32_MAX,
                                                  .drafts = 4};
    events[1]->request = (struct engine_request){.number = 7,
                                                 .context = {1, 2, 3},
                                                 .flags = 1,
                                                 .arrived_ns = 9,
                                                 .prompt_tokens = 10,
                                                 .cached_tokens = 3,
                                                 .id = "r7",
                                                 .trace_state = "ot=th:8"};
    static const char headers[] = "x-tenant\0a\0x-model\0";
    events[1] = realloc(events[1], events[1]->bytes + sizeof headers);
    events[1]->bytes += sizeof headers;
    events[1]->request.header_bytes = sizeof headers;
    memcpy(engine_event_headers(events[1]), headers, sizeof headers);
    events[2]->end = (struct engine_request_end){.number = 7, .reason = REQUEST_ABORTED, .tokens = 11};
    events[3]->iteration =
        (struct iteration){.seed = 3, .number = 2, .engine = "vllm", .rank = 1, .ranks = 2};
    struct recording_writer *writer = create();
    for (size_t i = 0; i < 4; i++)
        write_engine(writer, events[i], STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    for (size_t i = 0; i < 4; i++) {
        next(recording, &event, RECORDING_ENGINE);
        assert_int_equal(event.step->time, 1700000000000000000);
        assert_int_equal(event.step->event->bytes, events[i]->bytes);
        assert_memory_equal(event.step->event, events[i], events[i]->bytes);
        free(events[i]);
    }
    assert_ended(recording);
}

static void test_broken_events_of_engines(void **unused)
{
    static const uint8_t many_parts[] = {1,   ENGINE_ITERATION,
                                         1,   1,
                                         'v', 0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   0,
                                         0,   1,
                                         1,   0x81,
                                         0x40};
    static const uint8_t bad_kind[] = {1,   ENGINE_ITERATION,
                                       1,   1,
                                       'v', 0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       0,   0,
                                       9,   0,
                                       0,   1,
                                       1,   0};
    static const uint8_t bad_reason[] = {1, ENGINE_REQUEST_END, 7, 9, 0}, cut[] = {1, ENGINE_REQUEST_END, 7};
    static const uint8_t later[] = {1, 99, 7};
    const struct {
        const uint8_t *bytes;
        size_t count;
    } payloads[] = {{many_parts, sizeof many_parts},
                    {bad_kind, sizeof bad_kind},
                    {bad_reason, sizeof bad_reason},
                    {cut, sizeof cut}};
    struct recording_event event;
    struct error err;
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        struct recording_writer *writer = create();
        assert_int_equal(recording_write_raw(writer, RECORDING_ENGINE, later, sizeof later), STATUS_OK);
        assert_int_equal(recording_write_raw(writer, RECORDING_ENGINE, payloads[i].bytes, payloads[i].count),
                         STATUS_OK);
        close_writer(writer);
        struct recording *recording = open_file();
        assert_int_equal(recording_next(recording, &event, &err),
                         STATUS_CORRUPT); /* the later one was skipped */
        recording_close(recording);
        unlink(path);
    }
}

/* Returns the size of the payload of a request with these bytes for its headers. */
static size_t request_payload(uint8_t payload[256], const char *headers, size_t bytes)
{
    size_t at = 0;
    memset(payload, 0, 256);
    payload[at++] = 1;
    payload[at++] = ENGINE_REQUEST;
    at += 1 + 24 + 1 + 1 + 1 + 1 + REQUEST_ID_BYTES + 1;
    memcpy(payload + at, headers, bytes);
    return at + bytes;
}

static void test_headers_of_requests(void **unused)
{
    uint8_t payload[256];
    struct recording_event event;
    struct error err;
    static const struct {
        const char *bytes;
        size_t count;
        enum status status;
    } cases[] = {
        {"", 0, STATUS_OK}, /* an older recording */
        {"\0", 1, STATUS_OK},
        {"\4a\0b", 5, STATUS_OK},
        {"\3a\0b", 4, STATUS_CORRUPT}, /* the value does not end */
        {"\2a", 3, STATUS_CORRUPT},    /* a name without a value */
        {"\4a\0", 3, STATUS_CORRUPT},  /* cut */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = request_payload(payload, cases[i].bytes, cases[i].count);
        struct recording_writer *writer = create();
        assert_int_equal(recording_write_raw(writer, RECORDING_ENGINE, payload, bytes), STATUS_OK);
        close_writer(writer);
        struct recording *recording = open_file();
        assert_int_equal(recording_next(recording, &event, &err), cases[i].status);
        recording_close(recording);
        unlink(path);
    }
}

static void test_an_iteration_with_too_many_parts_is_refused(void **unused)
{
    struct engine_event *event = engine_event(ENGINE_ITERATION, ITERATION_PARTS_MAX + 1);
    event->iteration.part_count = ITERATION_PARTS_MAX + 1;
    struct recording_writer *writer = create();
    write_engine(writer, event, STATUS_INVALID);
    event->iteration.part_count--;
    write_engine(writer, event, STATUS_OK);
    close_writer(writer);
    free(event);
    unlink(path);
}

/* A later version may have more kinds and sources of steps. */
static void test_unknown_steps_are_skipped(void **unused)
{
    static const struct step_boundary known = {.number = 7};
    static const uint8_t kind[] = {1, 2, STEP_NONE + 1, 0, 0}, source[] = {1, 2, 0, STEP_BY_NONE, 0};
    static const uint8_t large_kind[] = {1, 2, 0x80, 2, 0, 0}, cut[] = {1, 2, 0, 0};
    struct recording_event event;
    struct error err;
    struct recording_writer *writer = create();
    assert_int_equal(recording_write_raw(writer, RECORDING_STEP, kind, sizeof kind), STATUS_OK);
    assert_int_equal(recording_write_raw(writer, RECORDING_STEP, source, sizeof source), STATUS_OK);
    assert_int_equal(recording_write_raw(writer, RECORDING_STEP, large_kind, sizeof large_kind), STATUS_OK);
    assert_int_equal(RECORDING_WRITE(writer, STEP, .step = &known), STATUS_OK);
    assert_int_equal(recording_write_raw(writer, RECORDING_STEP, cut, sizeof cut), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    next(recording, &event, RECORDING_STEP);
    assert_int_equal(event.step->number, 7);
    assert_int_equal(recording_next(recording, &event, &err), STATUS_CORRUPT);
    recording_close(recording);
    unlink(path);
}

static void test_unknown_events_are_skipped(void **unused)
{
    static const uint8_t payload[300] = {1, 2, 3};
    struct recording_writer *writer = create();
    for (unsigned type = RECORDING_ENGINE + 1; type < 1000; type += 7)
        assert_int_equal(recording_write_raw(writer, type, payload, type % sizeof payload), STATUS_OK);
    assert_int_equal(RECORDING_WRITE(writer, INFO, .name = "after", .text = "them"), STATUS_OK);
    assert_int_equal(recording_write_raw(writer, 1 << 30, payload, 0), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_INFO);
    assert_string_equal(event.text, "them");
    assert_ended(recording);
}

static void test_later_fields_at_the_end_of_an_event_are_skipped(void **unused)
{
    static const uint8_t payload[] = {5,   6,  0, 1,
                                      'n', 99, 98}; /* tid 5, time 6, name "n", and two unknown numbers */
    struct recording_writer *writer = create();
    assert_int_equal(recording_write_raw(writer, RECORDING_THREAD, payload, sizeof payload), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_THREAD);
    assert_string_equal(event.name, "n");
    assert_ended(recording);
}

static void test_an_event_that_is_too_large_is_refused_and_counted(void **unused)
{
    static uint8_t huge[512 * 1024];
    struct recording_writer *writer = create();
    uint64_t lost = counter_get(COUNTER_lost_recording);
    assert_int_equal(recording_write_raw(writer, 100, huge, sizeof huge), STATUS_INVALID);
    struct call_record call = {.head = {.bytes = sizeof call, .domain = 9}};
    assert_int_equal(RECORDING_WRITE(writer, CALL, .tid = 1, .call = &call), STATUS_INVALID);
    struct activity_record activity = {.kind = ACTIVITY_KINDS_MAX};
    assert_int_equal(RECORDING_WRITE(writer, ACTIVITY, .activity = &activity), STATUS_INVALID);
    assert_int_equal(counter_get(COUNTER_lost_recording), lost + 3);
    assert_int_equal(RECORDING_WRITE(writer, INFO, .name = "still", .text = "works"), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_INFO);
    assert_ended(recording);
}

static void test_parameters_that_this_build_does_not_know_are_left_out(void **unused)
{
    struct {
        struct call_record call;
        uint64_t values[3];
    } record = {
        .call = {.head = {sizeof record, RECORD_CALL, CALL_RUNTIME, 2000}, .start_ns = 5, .present = 7}};
    struct recording_writer *writer = create();
    assert_int_equal(RECORDING_WRITE(writer, CALL, .tid = 1, .call = &record.call), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_CALL);
    assert_int_equal(event.call->present, 0);
    assert_int_equal(event.call->head.bytes, sizeof(struct call_record));
    assert_int_equal(event.call->start_ns, 5);
    assert_ended(recording);
}

static void test_a_full_disk_is_said_once_and_then_counted(void **unused)
{
    struct recording_writer *writer;
    struct error err = {""};
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(recording_writer_create("/dev/full", &writer, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "/dev/full"));
    assert_non_null(strstr(err.text, "No space left"));
}

static void test_a_failure_later_is_returned_once(void **unused)
{
    struct recording_writer *writer;
    struct error err = {""};
    signal(SIGPIPE, SIG_IGN);
    strcpy(path, "/tmp/cuspan-recording-fifo-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(recording_writer_create(path, &writer, &err), STATUS_OK);
    close(reader);
    uint64_t lost = counter_get(COUNTER_lost_recording);
    assert_int_equal(RECORDING_WRITE(writer, INFO, .name = "a", .text = "b"), STATUS_OK);
    assert_int_equal(recording_writer_flush(writer), STATUS_IO);
    assert_int_equal(RECORDING_WRITE(writer, INFO, .name = "a", .text = "b"), STATUS_OK);
    assert_int_equal(recording_writer_flush(writer), STATUS_OK);
    assert_int_equal(counter_get(COUNTER_lost_recording), lost + 2);
    assert_int_equal(recording_writer_close(writer, &err), STATUS_IO);
    assert_non_null(strstr(err.text, path));
    unlink(path);
}

/* A small recording with several blocks, in memory. */
static uint8_t *small_recording(size_t *bytes)
{
    union any_record record;
    uint64_t tid;
    random_state = 4711;
    struct recording_writer *writer = create();
    for (int i = 0; i < 30; i++) {
        enum recording_event_type type = random_record(&record, &tid);
        enum status status = STATUS_OK;
        if (type == RECORDING_CALL)
            status = RECORDING_WRITE(writer, CALL, .tid = tid, .call = &record.call);
        else if (type == RECORDING_ACTIVITY)
            status = RECORDING_WRITE(writer, ACTIVITY, .activity = &record.activity);
        assert_int_equal(status, STATUS_OK);
        if (i % 10 == 9)
            assert_int_equal(recording_writer_flush(writer), STATUS_OK);
    }
    close_writer(writer);
    FILE *file = fopen(path, "rb");
    uint8_t *content = malloc(1 << 20);
    *bytes = fread(content, 1, 1 << 20, file);
    fclose(file);
    unlink(path);
    return content;
}

static enum status read_through(const uint8_t *content, size_t bytes, struct error *err)
{
    struct recording *recording;
    struct recording_event event;
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(content, 1, bytes, file), bytes);
    fclose(file);
    enum status status = recording_open(path, &recording, err);
    while (status == STATUS_OK) {
        status = recording_next(recording, &event, err);
    }
    recording_close(recording);
    unlink(path);
    return status;
}

static void test_truncation_at_every_byte_is_an_error_with_its_offset(void **unused)
{
    size_t bytes;
    struct error err;
    char offset[64];
    uint8_t *content = small_recording(&bytes);
    assert_int_equal(read_through(content, bytes, &err), STATUS_END);
    for (size_t cut = 0; cut < bytes; cut++) {
        err.text[0] = '\0';
        assert_int_equal(read_through(content, cut, &err), STATUS_CORRUPT);
        snprintf(offset, sizeof offset, "offset %zu", cut < 8 ? 0 : cut);
        assert_non_null(strstr(err.text, offset));
        assert_non_null(strstr(err.text, path));
    }
    free(content);
}

static void test_each_flipped_bit_is_an_error(void **unused)
{
    size_t bytes;
    struct error err;
    uint8_t *content = small_recording(&bytes);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        content[bit / 8] ^= (uint8_t)(1 << bit % 8);
        err.text[0] = '\0';
        enum status status = read_through(content, bytes, &err);
        assert_true(status == STATUS_CORRUPT || status == STATUS_UNSUPPORTED);
        assert_non_null(strstr(err.text, "offset "));
        content[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(content);
}

static void test_something_after_the_end_is_an_error(void **unused)
{
    size_t bytes;
    struct error err;
    uint8_t *content = small_recording(&bytes);
    content[bytes] = 0;
    assert_int_equal(read_through(content, bytes + 1, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.text, "data after the end mark"));
    free(content);
}

static void test_an_end_that_counts_otherwise_is_an_error(void **unused)
{
    size_t bytes;
    struct error err;
    uint8_t *content = small_recording(&bytes);
    uint8_t *end = content + bytes - 36; /* the end's header of 20 bytes, then events and blocks */
    end[20]++;
    uint32_t crc = (uint32_t)crc32(crc32(crc32(0, NULL, 0), end, 16), end + 20, 16);
    memcpy(end + 16, &crc, sizeof crc);
    assert_int_equal(read_through(content, bytes, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.text, "end mark"));
    free(content);
}

static unsigned field_with_role(uint16_t kind, enum activity_role role)
{
    unsigned f = 0;
    while (activity_table[kind].fields[f].role != role)
        f++;
    return f;
}

/* A file made with other tables, in which a field that this build uses as a string is a number. */
static void test_a_number_is_never_taken_for_a_string(void **unused)
{
    unsigned name = field_with_role(ACTIVITY_KERNEL, ROLE_NAME);
    uint64_t present = 1 | 1ull << name;
    uint8_t schema[12] = {ACTIVITY_KERNEL}; /* no strings, no arrays, no roles */
    uint8_t activity[64] = {ACTIVITY_KERNEL, 0};
    size_t n = 2;
    for (uint64_t rest = present; n == 2 || activity[n - 1] & 0x80; rest >>= 7)
        activity[n++] = (uint8_t)((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
    n += 8;            /* the record's members, unchanged */
    activity[n++] = 1; /* no name */
    activity[n++] = 2 * ACTIVITY_KERNEL;
    activity[n++] = 2 * 5;
    struct recording_writer *writer = create();
    assert_int_equal(recording_write_raw(writer, 8, schema, sizeof schema), STATUS_OK);
    assert_int_equal(recording_write_raw(writer, RECORDING_ACTIVITY, activity, n), STATUS_OK);
    close_writer(writer);
    struct recording *recording = open_file();
    struct recording_event event;
    next(recording, &event, RECORDING_ACTIVITY);
    assert_int_equal(event.activity->present, 1);
    assert_int_equal(event.activity->values[0], ACTIVITY_KERNEL);
    assert_ended(recording);
}

static void test_another_major_version_names_both(void **unused)
{
    size_t bytes;
    struct error err;
    uint8_t *content = small_recording(&bytes);
    content[8] = 3;
    assert_int_equal(read_through(content, bytes, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.text, "3.5"));
    assert_non_null(strstr(err.text, "1.x"));
    free(content);
}

static void test_what_is_no_recording_is_refused(void **unused)
{
    struct recording *recording;
    struct error err;
    assert_int_equal(recording_open("/no/such/file.cuspan", &recording, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.text, "/no/such/file.cuspan"));
    assert_null(recording);
    strcpy(path, "/tmp/cuspan-recording-text-XXXXXX");
    close(mkstemp(path));
    assert_int_equal(read_through((const uint8_t *)"this is some text, no recording", 31, &err),
                     STATUS_CORRUPT);
    assert_non_null(strstr(err.text, "not a cuspan recording"));
    assert_int_equal(recording_open("/tmp", &recording, &err), STATUS_IO);
    struct recording_writer *writer;
    assert_int_equal(recording_writer_create("/no/such/folder/file", &writer, &err), STATUS_IO);
    assert_null(writer);
    assert_int_equal(recording_writer_close(NULL, &err), STATUS_OK);
    recording_close(NULL);
}

/* Typical of a busy program: launches with similar parameters, and their kernels. */
static void test_a_recording_is_compact(void **unused)
{
    enum { LAUNCHES = 50000 };
    struct stat info;
    struct {
        struct call_record call;
        uint64_t values[8];
    } record = {
        .call = {.head = {.type = RECORD_CALL, .domain = CALL_RUNTIME, .cbid = 211, .bytes = sizeof record}}};
    struct activity_record kernel = {.kind = ACTIVITY_KERNEL, .present = 0xfff};
    uint64_t now = 1700000000000000000ull;
    random_state = 99;
    struct recording_writer *writer = create();
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        record.call.start_ns = now += 2000 + random_next() % 3000;
        record.call.end_ns = now += 1500 + random_next() % 1000;
        record.call.correlation_id = i;
        record.values[0] = 0x7f0000001000 + 0x100 * (random_next() % 20);
        record.values[1] = 1 + random_next() % 200;
        assert_int_equal(RECORDING_WRITE(writer, CALL, .tid = 4242, .call = &record.call), STATUS_OK);
        kernel.start_ns = now + random_next() % 500;
        kernel.end_ns = kernel.start_ns + 1000 + random_next() % 9000;
        kernel.correlation_id = i;
        kernel.name = some_names[random_next() % 3];
        for (unsigned f = 0; f < 12; f++) {
            uint8_t role = activity_table[ACTIVITY_KERNEL].fields[f].role;
            kernel.values[f] = role ? role_value(&kernel, role) : 0;
        }
        assert_int_equal(RECORDING_WRITE(writer, ACTIVITY, .activity = &kernel), STATUS_OK);
    }
    close_writer(writer);
    assert_int_equal(stat(path, &info), 0);
    assert_in_range(info.st_size, 100000, 2000000);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_event_comes_back_as_it_was),
        cmocka_unit_test(test_an_empty_recording_is_one),
        cmocka_unit_test(test_a_checkpoint_completes_the_file_and_more_may_follow),
        cmocka_unit_test(test_the_file_is_private_and_replaces_what_was_there),
        cmocka_unit_test(test_long_and_many_strings_survive),
        cmocka_unit_test(test_code_comes_back),
        cmocka_unit_test(test_counts_come_back_to_the_bit),
        cmocka_unit_test(test_unreasonable_counts_are_damage),
        cmocka_unit_test(test_wrong_code_is_damage),
        cmocka_unit_test(test_steps_come_back),
        cmocka_unit_test(test_events_of_engines_come_back),
        cmocka_unit_test(test_broken_events_of_engines),
        cmocka_unit_test(test_headers_of_requests),
        cmocka_unit_test(test_an_iteration_with_too_many_parts_is_refused),
        cmocka_unit_test(test_unknown_steps_are_skipped),
        cmocka_unit_test(test_unknown_events_are_skipped),
        cmocka_unit_test(test_later_fields_at_the_end_of_an_event_are_skipped),
        cmocka_unit_test(test_an_event_that_is_too_large_is_refused_and_counted),
        cmocka_unit_test(test_parameters_that_this_build_does_not_know_are_left_out),
        cmocka_unit_test(test_a_full_disk_is_said_once_and_then_counted),
        cmocka_unit_test(test_a_failure_later_is_returned_once),
        cmocka_unit_test(test_truncation_at_every_byte_is_an_error_with_its_offset),
        cmocka_unit_test(test_each_flipped_bit_is_an_error),
        cmocka_unit_test(test_something_after_the_end_is_an_error),
        cmocka_unit_test(test_an_end_that_counts_otherwise_is_an_error),
        cmocka_unit_test(test_a_number_is_never_taken_for_a_string),
        cmocka_unit_test(test_another_major_version_names_both),
        cmocka_unit_test(test_what_is_no_recording_is_refused),
        cmocka_unit_test(test_a_recording_is_compact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
