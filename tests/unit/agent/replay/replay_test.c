/* The replay library with a small test agent through both CUPTI APIs: the agent must see what the recording
 * contains. The library's state is global, so each scenario runs in its own process. */
#include "agent/recording/replay_seam.h"

#include "base/clock.h"
#include "agent/abi/cupti_abi.h"
#include "agent/abi/layouts.h"
#include "agent/abi/params.h"
#include "model/cuda/activities.h"
#include "agent/recording/recording.h"

#include "replay_sample.h"
#include "support/test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* For the child: cmocka's assertions work only in the parent. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

#define MAX_CALLS   40000
#define MAX_RECORDS 40000
#define MAX_FIELDS  ACTIVITY_FIELDS_MAX

struct seen_call {
    uint64_t tid;
    uint64_t sequence;
    struct call_record *record;
};

struct seen_record {
    uint16_t kind;
    uint32_t number; /* number of fields */
    struct {
        int field;
        uint8_t size;
        uint8_t bytes[128];
    } fields[MAX_FIELDS];
};

static struct {
    void *library;
#define MEMBER(name, params) name##_fn *name;
    CUPTI_CLASSIC_CALLS(MEMBER)
    CUPTI_NAMED_SUBSCRIBER_CALLS(MEMBER)
    CUPTI_SUBSCRIBER_CALLS(MEMBER)
#undef MEMBER
    cuspan_replay_clock_fn *clock;
    cuspan_replay_thread_fn *thread;
    cuspan_replay_load_fn *load;
    cuspan_replay_run_fn *run;
    cupti_subscriber_handle subscriber;
    uint32_t version;
    bool uses_subscriber;
    size_t buffer_bytes;
    bool refuses_buffers;
    _Atomic unsigned buffers_out;
    _Atomic unsigned buffers_done;
    _Atomic unsigned entered;   /* calls */
    _Atomic unsigned symbols;   /* calls with a kernel's name */
    _Atomic unsigned in_flight; /* calls since the last drain */
    _Atomic unsigned in_flight_max;
    uint64_t paced_since_ns; /* nonzero: calls must not come before their time */
    bool checks_order;       /* a record's call must have been entered */
    bool checks_steps;       /* no event of a step may come after one of a later step */
    _Atomic uint64_t latest_step;
    _Atomic bool id_entered[1 << 16];
    _Atomic unsigned fatal;
    unsigned bad_kinds;
    unsigned without_layouts;
    pthread_mutex_t lock;
    struct seen_call calls[MAX_CALLS];
    size_t call_count;
    struct seen_record *records[MAX_RECORDS];
    size_t record_count;
    struct resource_record resources[64];
    uint32_t resource_stream_ids[64];
    size_t resource_count;
    uint64_t distinct_threads[8192];
    size_t thread_count;
} agent = {.buffer_bytes = 64 * 1024, .lock = PTHREAD_MUTEX_INITIALIZER};

static void load_library(const char *path)
{
    agent.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!agent.library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(agent.library);
#define FIND(name, params) agent.name = (name##_fn *)dlsym(agent.library, #name);
    CUPTI_CLASSIC_CALLS(FIND)
    CUPTI_NAMED_SUBSCRIBER_CALLS(FIND)
    CUPTI_SUBSCRIBER_CALLS(FIND)
#undef FIND
    agent.clock = (cuspan_replay_clock_fn *)dlsym(agent.library, "cuspan_replay_clock");
    agent.thread = (cuspan_replay_thread_fn *)dlsym(agent.library, "cuspan_replay_thread");
    agent.load = (cuspan_replay_load_fn *)dlsym(agent.library, "cuspan_replay_load");
    agent.run = (cuspan_replay_run_fn *)dlsym(agent.library, "cuspan_replay_run");
    CHECK(agent.clock && agent.thread && agent.load && agent.run);
}

static uint64_t read_integer(const uint8_t *at, const struct param_source *source)
{
    uint64_t value = 0;
    unsigned unused_bits = 64 - 8 * source->size;
    memcpy(&value, at, source->size);
    value <<= unused_bits;
    return source->how & PARAM_SIGNED ? (uint64_t)((int64_t)value >> unused_bits) : value >> unused_bits;
}

/* Reads a parameter like the agent. 0 words: nothing to read. */
static size_t read_param(uint64_t *to, const uint8_t *params, const struct param_source *source,
                         bool succeeded)
{
    const uint8_t *at = params + source->offset;
    if (source->how & PARAM_DEREF)
        memcpy(&at, at, sizeof at);
    if (source->how & PARAM_OUT && !succeeded) {
        CHECK(at && at[source->member] == 0xa5); /* the caller's memory, unset */
        return 0;
    }
    if (source->how & PARAM_DEREF) {
        if (!at)
            return 0;
        at += source->member;
    }
    if (source->how & PARAM_TEXT) {
        const char *text;
        memcpy(&text, at, sizeof text);
        if (!text)
            return 0;
        to[0] = strlen(text);
        size_t words = (to[0] + 7) / 8;
        memset(to + 1, 0, 8 * words);
        memcpy(to + 1, text, to[0]);
        return 1 + words;
    }
    if (source->how & PARAM_THREE) {
        to[1] = 0;
        memcpy(to, at, 12);
        return 2;
    }
    to[0] = read_integer(at, source);
    if (source->how & PARAM_REAL && source->size == 4) {
        float single;
        memcpy(&single, at, sizeof single);
        double wide = (double)single;
        memcpy(to, &wide, sizeof wide);
    }
    return 1;
}

static void read_params(struct call_record *record, const struct cupti_callback_data *data)
{
    const struct call_info *info = call_info(record->head.domain, record->head.cbid);
    uint64_t *to = record->values;
    for (unsigned i = 0; i < info->param_count && (size_t)(to - record->values) + 16 <= CALL_VALUES_MAX;
         i++) {
        size_t words =
            read_param(to, data->functionParams, &param_sources[info->param + i], record->result == 0);
        record->present |= words ? 1u << i : 0;
        to += words;
    }
    record->head.bytes = (uint32_t)((uint8_t *)to - (uint8_t *)record);
}

static void note_thread_locked(uint64_t tid)
{
    for (size_t i = 0; i < agent.thread_count; i++) {
        if (agent.distinct_threads[i] == tid)
            return;
    }
    if (agent.thread_count < 8192)
        agent.distinct_threads[agent.thread_count++] = tid;
}

static void on_exit_of_call(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *data)
{
    struct call_record *record = calloc(1, CALL_RECORD_BYTES);
    char name[16];
    uint64_t tid = 0;
    CHECK(agent.thread(&tid, name) == 1);
    record->head = (struct record_head){0, RECORD_CALL, (uint8_t)domain, (uint16_t)cbid};
    record->start_ns = *data->correlationData;
    record->end_ns = agent.clock();
    record->correlation_id = data->correlationId;
    record->context_id = data->contextUid;
    record->result = *(const int32_t *)data->functionReturnValue;
    read_params(record, data);
    pthread_mutex_lock(&agent.lock);
    note_thread_locked(tid);
    if (agent.call_count < MAX_CALLS) {
        agent.calls[agent.call_count] = (struct seen_call){tid, agent.call_count, record};
        agent.call_count++;
    }
    pthread_mutex_unlock(&agent.lock);
}

static void on_resource(uint32_t cbid, const struct cupti_resource_data *data)
{
    pthread_mutex_lock(&agent.lock);
    struct resource_record *record = &agent.resources[agent.resource_count];
    uint32_t *stream_id = &agent.resource_stream_ids[agent.resource_count++];
    record->head.cbid = (uint16_t)cbid;
    record->time_ns = agent.clock();
    CHECK(agent.cuptiGetContextId(data->context, &record->context_id) == CUPTI_OK);
    CHECK(agent.cuptiGetDeviceId(data->context, &record->device_id) == CUPTI_OK);
    if (cbid == CUPTI_RESOURCE_CONTEXT_CREATED)
        record->handle = (uint64_t)(uintptr_t)data->context;
    if (cbid == CUPTI_RESOURCE_STREAM_CREATED) {
        record->handle = (uint64_t)(uintptr_t)data->resourceHandle.stream;
        CHECK(agent.cuptiGetStreamIdEx(data->context, data->resourceHandle.stream, 0, stream_id) == CUPTI_OK);
    }
    if (cbid == CUPTI_RESOURCE_MODULE_LOADED) {
        const struct cupti_module_data *module = data->resourceDescriptor;
        record->id = module->moduleId;
        record->bytes = (uint32_t)module->cubinSize;
    }
    pthread_mutex_unlock(&agent.lock);
}

/* Output parameters are not set yet. */
static void check_unset(uint32_t domain, uint32_t cbid, const uint8_t *params)
{
    const struct call_info *info = call_info((enum call_domain)domain, cbid);
    for (unsigned i = 0; i < info->param_count; i++) {
        const struct param_source *source = &param_sources[info->param + i];
        const uint8_t *at;
        memcpy(&at, params + source->offset, sizeof at);
        CHECK(!(source->how & PARAM_OUT) || !at || at[source->member] == 0xa5);
    }
}

static void on_enter_of_call(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *data)
{
    const struct call_info *info = call_info((enum call_domain)domain, cbid);
    uint64_t now_ns = agent.clock();
    CHECK(*data->correlationData == 0);
    CHECK(!data->functionReturnValue && strcmp(data->functionName, call_name(info)) == 0);
    check_unset(domain, cbid, data->functionParams);
    if (data->symbolName) {
        CHECK(info->group == CALL_GROUP_LAUNCH);
        agent.symbols +=
            strcmp(data->symbolName, data->correlationId % 3 == 0   ? "_Z6vecAddPKfS0_Pfi"
                                     : data->correlationId % 3 == 1 ? "_Z5scalefPf"
                                                                    : "ampere_sgemm_128x64_nn") == 0;
    }
    if (agent.paced_since_ns)
        CHECK(clock_monotonic_ns() - agent.paced_since_ns + NS_PER_MS > now_ns - SAMPLE_START_NS);
    if (agent.checks_order && data->correlationId == 1 && !agent.id_entered[1]) {
        usleep(20000); /* long enough for a record that does not wait */
        CHECK(agent.cuptiActivityFlushAll(0) == CUPTI_OK);
    }
    agent.id_entered[data->correlationId % (1 << 16)] = true;
    unsigned in_flight = ++agent.in_flight;
    if (in_flight > agent.in_flight_max)
        agent.in_flight_max = in_flight;
    *data->correlationData = now_ns;
    agent.entered++;
}

/* Of the first repetition. */
static void check_step(void)
{
    uint64_t step = (agent.clock() - SAMPLE_START_NS) / SAMPLE_STEP_NS,
             latest = atomic_load(&agent.latest_step);
    if (step >= SAMPLE_STEPS)
        step = SAMPLE_STEPS - 1;
    while (latest < step && !atomic_compare_exchange_weak(&agent.latest_step, &latest, step)) {
    }
    CHECK(latest <= step);
}

static void on_callback(void *userdata, uint32_t domain, uint32_t cbid, const void *cbdata)
{
    const struct cupti_callback_data *data = cbdata;
    CHECK(userdata == &agent);
    if (agent.checks_steps)
        check_step();
    if (domain == CUPTI_DOMAIN_RESOURCE) {
        on_resource(cbid, cbdata);
    } else if (domain == CUPTI_DOMAIN_STATE) {
        agent.fatal++;
    } else if (data->callbackSite == CUPTI_SITE_ENTER) {
        on_enter_of_call(domain, cbid, data);
    } else {
        on_exit_of_call(domain, cbid, data);
    }
}

static void on_request(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *buffer = agent.refuses_buffers ? NULL : calloc(1, agent.buffer_bytes);
    *size = agent.buffer_bytes;
    *records_max = 0;
    agent.buffers_out += *buffer != NULL;
}

static void on_request_v2(uint8_t **buffer, size_t *size, size_t *records_max,
                          struct cupti_buffer_request_info *info)
{
    CHECK(info->structSize == sizeof *info);
    on_request(buffer, size, records_max);
}

static void add_field(struct seen_record *seen, int field, const uint8_t *at, size_t size)
{
    CHECK(size <= sizeof seen->fields[0].bytes);
    seen->fields[seen->number].field = field;
    seen->fields[seen->number].size = (uint8_t)size;
    memcpy(seen->fields[seen->number++].bytes, at, size);
}

/* A field of a seen record by its role. */
static uint64_t seen_role(const struct seen_record *seen, enum activity_role role)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < seen->number; i++) {
        if (activity_table[seen->kind].fields[seen->fields[i].field].role == role)
            memcpy(&value, seen->fields[i].bytes, seen->fields[i].size);
    }
    return value;
}

static void see_record(const uint8_t *record, struct cupti_record_layout **layouts)
{
    struct seen_record *seen = calloc(1, sizeof *seen);
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    seen->kind = (uint16_t)kind;
    const struct activity_layout *classic = layout_classic(agent.version, seen->kind);
    for (int f = 0; !layouts && f < activity_table[kind].field_count; f++) {
        if (classic->fields[f].offset >= 0)
            add_field(seen, f, record + classic->fields[f].offset, classic->fields[f].size);
    }
    for (size_t i = 0; layouts && i < layouts[kind]->numFields; i++) {
        const struct cupti_field_layout *entry = &layouts[kind]->pEntries[i];
        CHECK(entry->offset % entry->alignment == 0 &&
              entry->offset + entry->size <= layouts[kind]->recordSize);
        add_field(seen, entry->fieldId, record + entry->offset, entry->size);
    }
    uint32_t id = (uint32_t)seen_role(seen, ROLE_CORRELATION);
    CHECK(!agent.checks_order || id == 0 || agent.id_entered[id % (1 << 16)]);
    CHECK(agent.record_count < MAX_RECORDS);
    agent.records[agent.record_count++] = seen;
}

static void see_buffer(uint8_t *buffer, size_t valid, struct cupti_record_layout **layouts)
{
    struct cupti_activity *record = NULL;
    uint32_t result;
    pthread_mutex_lock(&agent.lock);
    while ((result = agent.uses_subscriber
                         ? agent.cuptiActivityGetNextRecord_v2(agent.subscriber, buffer, valid, &record)
                         : agent.cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_OK)
        see_record((const uint8_t *)record, layouts);
    CHECK(result == CUPTI_MAX_LIMIT_REACHED || result == CUPTI_INVALID_KIND);
    agent.bad_kinds += result == CUPTI_INVALID_KIND;
    pthread_mutex_unlock(&agent.lock);
    free(buffer);
    agent.buffers_done++;
}

static void on_complete(cuda_context_handle context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    CHECK(!context && stream == 0 && size == agent.buffer_bytes && valid <= size);
    see_buffer(buffer, valid, NULL);
}

static void on_complete_v2(uint8_t *buffer, size_t size, size_t valid,
                           struct cupti_buffer_complete_info *info)
{
    CHECK(info->structSize == sizeof *info && size == agent.buffer_bytes && valid <= size);
    if (!info->ppRecordLayouts) {
        agent.without_layouts++;
        free(buffer);
        agent.buffers_done++;
        return;
    }
    see_buffer(buffer, valid, info->ppRecordLayouts);
}

/* Selects KIND and then every `step`th field of a kind. */
static size_t choose_fields(uint32_t kind, int step, int *fields)
{
    size_t count = 0;
    for (int f = 0; f < activity_table[kind].field_count; f += step)
        fields[count++] = f;
    return count;
}

static const uint32_t all_kinds[] = {ACTIVITY_KERNEL, ACTIVITY_MEMCPY, ACTIVITY_DEVICE, ACTIVITY_CONTEXT};

static void start_classic(void)
{
    agent.uses_subscriber = false;
    CHECK(agent.cuptiSubscribe(&agent.subscriber, on_callback, &agent) == CUPTI_OK);
    CHECK(agent.cuptiActivityRegisterCallbacks(on_request, on_complete) == CUPTI_OK);
    for (size_t i = 0; i < 4; i++)
        CHECK(agent.cuptiActivityEnable(all_kinds[i]) == CUPTI_OK);
    CHECK(agent.cuptiEnableAllDomains(1, agent.subscriber) == CUPTI_OK);
}

static void start_subscriber(int step)
{
    struct cupti_subscriber_params params = {.structSize = sizeof params, .subscriberName = "test"};
    uint8_t yes = 1;
    size_t size = sizeof yes;
    int fields[MAX_FIELDS];
    agent.uses_subscriber = true;
    CHECK(agent.cuptiSubscribe_v2(&agent.subscriber, on_callback, &agent, &params) == CUPTI_OK);
    CHECK(agent.cuptiActivitySetAttribute_v2(agent.subscriber, CUPTI_ATTR_USER_DEFINED_RECORDS, &size,
                                             &yes) == CUPTI_OK);
    CHECK(agent.cuptiActivityRegisterCallbacks_v2(agent.subscriber, on_request_v2, on_complete_v2) ==
          CUPTI_OK);
    for (size_t i = 0; i < 4; i++) {
        struct cupti_activity_config config = {.structSize = sizeof config};
        config.fieldSelection.structSize = sizeof config.fieldSelection;
        config.fieldSelection.numFields = choose_fields(all_kinds[i], step, fields);
        config.fieldSelection.pFieldIds = fields;
        CHECK(agent.cuptiActivityEnable_v2(agent.subscriber, all_kinds[i], &config) == CUPTI_OK);
    }
    CHECK(agent.cuptiEnableAllDomains(1, agent.subscriber) == CUPTI_OK);
}

static int by_thread(const void *a, const void *b)
{
    const struct seen_call *one = a, *other = b;
    if (one->tid != other->tid)
        return one->tid < other->tid ? -1 : 1;
    return one->sequence < other->sequence ? -1 : 1;
}

static struct recording *open_recording(const char *path)
{
    struct recording *recording;
    struct error err;
    CHECK(recording_open(path, &recording, &err) == STATUS_OK);
    return recording;
}

static void show_difference(const struct call_record *is, const struct call_record *should)
{
    const struct call_info *info = call_info(should->head.domain, should->head.cbid);
    fprintf(stderr,
            "%s: bytes %u %u, present %x %x, result %d %d, start %llu %llu, end %llu %llu, ID %u %u\n",
            call_name(info), is->head.bytes, should->head.bytes, is->present, should->present, is->result,
            should->result, (unsigned long long)is->start_ns, (unsigned long long)should->start_ns,
            (unsigned long long)is->end_ns, (unsigned long long)should->end_ns, is->correlation_id,
            should->correlation_id);
    for (size_t i = 0; i < (should->head.bytes - sizeof *should) / 8; i++)
        fprintf(stderr, "  %zu: %llx %llx\n", i, (unsigned long long)is->values[i],
                (unsigned long long)should->values[i]);
}

/* Compares each thread's calls in the order of their returns. */
static void check_calls(const char *path, size_t expected_calls)
{
    static size_t at[65536];
    struct recording *recording = open_recording(path);
    struct recording_event event;
    size_t count = 0;
    qsort(agent.calls, agent.call_count, sizeof *agent.calls, by_thread);
    for (size_t i = agent.call_count; i > 0; i--)
        at[agent.calls[i - 1].tid] = i - 1;
    while (recording_next(recording, &event, NULL) == STATUS_OK) {
        if (event.type != RECORDING_CALL)
            continue;
        const struct seen_call *seen = &agent.calls[at[event.tid]++];
        CHECK(seen < agent.calls + agent.call_count && seen->tid == event.tid);
        seen->record->head.type = event.call->head.type;
        if (memcmp(seen->record, event.call, event.call->head.bytes) != 0) {
            show_difference(seen->record, event.call);
            CHECK(!"the call is as recorded");
        }
        count++;
    }
    recording_close(recording);
    CHECK(count == expected_calls && agent.call_count == count);
}

static void check_field(const struct activity_record *record, int field, const uint8_t *bytes, size_t size)
{
    uint64_t value = record->values[field];
    uint8_t type = activity_table[record->kind].fields[field].type;
    if (type == FIELD_STRING) {
        const char *text, *expected = (const char *)(uintptr_t)value;
        memcpy(&text, bytes, sizeof text);
        CHECK(text == expected || (text && expected && strcmp(text, expected) == 0));
    } else if (type == FIELD_BYTES) {
        CHECK(memcmp(bytes, (const void *)(uintptr_t)value, size) == 0);
    } else {
        CHECK(memcmp(bytes, &value, size) == 0);
    }
}

/* Checks that all records come in recorded order, with exactly the selected fields. */
static size_t check_records(const char *path, int step)
{
    struct recording *recording = open_recording(path);
    struct recording_event event;
    size_t count = 0;
    while (recording_next(recording, &event, NULL) == STATUS_OK) {
        if (event.type != RECORDING_ACTIVITY)
            continue;
        CHECK(count < agent.record_count);
        const struct seen_record *seen = agent.records[count++];
        CHECK(seen->kind == event.activity->kind);
        size_t fields = 0;
        for (unsigned i = 0; i < seen->number; i++) {
            check_field(event.activity, seen->fields[i].field, seen->fields[i].bytes, seen->fields[i].size);
            fields++;
        }
        if (step)
            CHECK(fields ==
                  ((size_t)activity_table[seen->kind].field_count + (size_t)step - 1) / (size_t)step);
        CHECK(fields > 3);
    }
    recording_close(recording);
    CHECK(count == agent.record_count);
    return count;
}

static char recording_path[64];

static void expect_child(void (*scenario)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        scenario();
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void make_sample(unsigned threads, unsigned calls)
{
    struct sample sample = {.threads = threads, .calls = calls, .first_correlation = 1};
    CHECK(sample_write(recording_path, &sample));
}

static void load(const char *library, const char *release, const char *faults)
{
    struct error err;
    if (release)
        setenv("CUSPAN_REPLAY_VERSION", release, 1);
    if (faults)
        setenv("CUSPAN_REPLAY_FAIL", faults, 1);
    load_library(library);
    if (agent.load(recording_path, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    if (agent.cuptiGetVersion)
        (void)agent.cuptiGetVersion(&agent.version);
}

static struct replay_result run(uint32_t repeat)
{
    struct replay_options options = {.repeat = repeat};
    struct replay_result result;
    struct error err;
    if (agent.run(&options, &result, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    return result;
}

/* 4 threads with 8 calls, including 4 launches with a nested driver call each; 2 of 4 calls with GPU work are
 * kernels. */
#define THREADS  4
#define CALLS    1000
#define RECORDED (THREADS * CALLS * 3 / 2)

static void classic_gives_back_the_recording(void)
{
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE_CLASSIC, "12.4", NULL);
    CHECK(agent.version == 22);
    CHECK(!agent.cuptiSubscribe_v2 && !agent.cuptiActivityEnable_v2);
    CHECK(agent.clock() == SAMPLE_START_NS);
    start_classic();
    struct replay_result result = run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(result.calls == RECORDED && result.calls_off == 0 && result.resources == 3);
    CHECK(result.activities_off == 0 && result.activities_dropped == 0 && result.threads == THREADS);
    check_calls(recording_path, RECORDED);
    CHECK(agent.symbols > RECORDED / 2); /* two thirds are launches, some of which fail */
    CHECK(check_records(recording_path, 0) == result.activities);
    CHECK(agent.thread_count == THREADS);
    CHECK(agent.buffers_out == agent.buffers_done && agent.buffers_out > 2);
    CHECK(agent.clock() > SAMPLE_START_NS + 1000000);
    char name[16];
    uint64_t tid;
    CHECK(agent.thread(&tid, name) == 0);
}

static void resources_come_back(void)
{
    make_sample(1, 10);
    load(REPLAY_DOUBLE, NULL, NULL);
    start_subscriber(1);
    run(1);
    CHECK(agent.resource_count == 3);
    cuspan_replay_info_fn *info = (cuspan_replay_info_fn *)dlsym(agent.library, "cuspan_replay_info");
    CHECK(info && strcmp(info(RECORDING_INFO_PROGRAM), "sample") == 0 && !info("no such key"));
    CHECK(agent.resources[0].head.cbid == CUPTI_RESOURCE_CONTEXT_CREATED);
    CHECK(agent.resources[0].handle == SAMPLE_CONTEXT && agent.resources[0].time_ns == SAMPLE_START_NS);
    CHECK(agent.resources[1].handle == SAMPLE_STREAM && agent.resource_stream_ids[1] == 13);
    CHECK(agent.resources[2].id == 1 && agent.resources[2].bytes == 4096);
    CHECK(agent.resources[2].context_id == 1 && agent.resources[2].time_ns == SAMPLE_START_NS + 2);
    uint32_t id;
    CHECK(agent.cuptiGetStreamIdEx(NULL, (cuda_stream_handle)0x1234560, 0, &id) == CUPTI_INVALID_STREAM);
    CHECK(agent.cuptiGetContextId((cuda_context_handle)0x1234560, &id) == CUPTI_INVALID_CONTEXT);
}

static void make_sample_with_steps(void)
{
    struct sample sample = {.threads = THREADS, .calls = CALLS, .has_steps = true};
    CHECK(sample_write(recording_path, &sample));
}

/* Without the wait for a step, threads are up to 4096 events apart. */
static void threads_meet_at_each_step(void)
{
    make_sample_with_steps();
    load(REPLAY_DOUBLE, NULL, NULL);
    agent.checks_steps = true;
    start_subscriber(1);
    struct replay_result result = run(1);
    CHECK(result.calls == RECORDED && result.threads == THREADS + 1);
    CHECK(atomic_load(&agent.latest_step) == SAMPLE_STEPS - 1);
    check_calls(recording_path, RECORDED);
}

static void steps_are_repeated(void)
{
    make_sample_with_steps();
    load(REPLAY_DOUBLE, NULL, "threads=9");
    start_subscriber(1);
    CHECK(run(3).calls == 3 * RECORDED);
    cuspan_replay_nonce_fn *nonce = (cuspan_replay_nonce_fn *)dlsym(agent.library, "cuspan_replay_nonce");
    uint64_t sixth_ns = SAMPLE_START_NS + 5 * SAMPLE_STEP_NS;
    uint64_t length_ns = (agent.clock() - SAMPLE_START_NS + 1000000) / 3; /* 1 ms between two repetitions */
    CHECK(nonce && nonce(0) == 0 && nonce(SAMPLE_START_NS) == 0);
    CHECK(nonce(sixth_ns - 1) == 0 && nonce(sixth_ns) == 77 && nonce(sixth_ns + length_ns / 2) == 77);
    CHECK(nonce(SAMPLE_START_NS + 2 * length_ns + 2 * SAMPLE_STEP_NS) == 0);
    CHECK(nonce(SAMPLE_START_NS + 2 * length_ns + 8 * SAMPLE_STEP_NS) == 77);
}

static void classic_calls_of_13_give_back_the_recording(void)
{
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE, "13.0", NULL);
    CHECK(agent.version == 130001);
    start_classic();
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    check_calls(recording_path, RECORDED);
    check_records(recording_path, 0);
}

static void subscriber_gives_back_the_recording(void)
{
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE, "13.5", NULL);
    CHECK(agent.version == 130500);
    start_subscriber(1);
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    check_calls(recording_path, RECORDED);
    check_records(recording_path, 1);
}

static void selected_fields_alone_come(void)
{
    make_sample(2, CALLS);
    load(REPLAY_DOUBLE, NULL, NULL);
    start_subscriber(2);
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    check_records(recording_path, 2);
}

static void wrong_selections_are_refused(void)
{
    struct cupti_activity_config config = {.structSize = sizeof config};
    uint8_t yes = 1;
    size_t size = sizeof yes;
    make_sample(1, 1);
    load(REPLAY_DOUBLE, NULL, NULL);
    start_subscriber(1);
    int no_kind[] = {1, 2}, twice[] = {0, 1, 1}, unknown[] = {0, 63};
    config.fieldSelection = (struct cupti_field_selection){sizeof config.fieldSelection, 2, no_kind};
    CHECK(agent.cuptiActivityEnable_v2(agent.subscriber, ACTIVITY_MEMSET, NULL) == CUPTI_INVALID_PARAMETER);
    CHECK(agent.cuptiActivityEnable_v2(agent.subscriber, ACTIVITY_MEMSET, &config) ==
          CUPTI_INVALID_PARAMETER);
    config.fieldSelection = (struct cupti_field_selection){sizeof config.fieldSelection, 3, twice};
    CHECK(agent.cuptiActivityEnable_v2(agent.subscriber, ACTIVITY_MEMSET, &config) ==
          CUPTI_INVALID_PARAMETER);
    config.fieldSelection = (struct cupti_field_selection){sizeof config.fieldSelection, 2, unknown};
    CHECK(agent.cuptiActivityEnable_v2(agent.subscriber, ACTIVITY_MEMSET, &config) ==
          CUPTI_INVALID_PARAMETER);
    CHECK(agent.cuptiActivityEnable_v2(agent.subscriber, 99, &config) == CUPTI_INVALID_KIND);
    CHECK(agent.cuptiActivitySetAttribute_v2(agent.subscriber, CUPTI_ATTR_USER_DEFINED_RECORDS, &size,
                                             &yes) == CUPTI_NOT_COMPATIBLE);
    CHECK(agent.cuptiEnableCallback(1, agent.subscriber, 99, 1) == CUPTI_INVALID_PARAMETER);
    CHECK(agent.cuptiEnableCallback(1, NULL, CUPTI_DOMAIN_RUNTIME, 1) == CUPTI_INVALID_PARAMETER);
    cupti_subscriber_handle second;
    CHECK(agent.cuptiSubscribe(&second, on_callback, NULL) == CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
}

static void attributes_keep_their_values(void)
{
    size_t bytes = sizeof(size_t), small = 1, value = 0, other = 4711;
    make_sample(1, 1);
    load(REPLAY_DOUBLE, NULL, NULL);
    CHECK(agent.cuptiActivityGetAttribute(CUPTI_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value) == CUPTI_OK &&
          value == 3200000);
    CHECK(agent.cuptiActivitySetAttribute(CUPTI_ATTR_DEVICE_BUFFER_SIZE, &bytes, &other) == CUPTI_OK);
    CHECK(agent.cuptiActivityGetAttribute(CUPTI_ATTR_DEVICE_BUFFER_SIZE, &bytes, &value) == CUPTI_OK &&
          value == 4711);
    CHECK(agent.cuptiActivitySetAttribute(CUPTI_ATTR_DEVICE_BUFFER_SIZE, &small, &other) ==
          CUPTI_PARAMETER_SIZE_NOT_SUFFICIENT);
    CHECK(agent.cuptiActivityFlushAll(0) == CUPTI_INVALID_OPERATION);
}

static void what_is_off_does_not_come(void)
{
    make_sample(2, CALLS);
    load(REPLAY_DOUBLE_CLASSIC, "12.0", NULL);
    start_classic();
    CHECK(agent.cuptiEnableAllDomains(0, agent.subscriber) == CUPTI_OK);
    CHECK(agent.cuptiEnableCallback(1, agent.subscriber, CUPTI_DOMAIN_RUNTIME, 211) == CUPTI_OK);
    CHECK(agent.cuptiActivityDisable(ACTIVITY_KERNEL) == CUPTI_OK);
    struct replay_result result = run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(result.resources == 0 && agent.resource_count == 0 && agent.call_count > 0 && result.calls_off > 0);
    for (size_t i = 0; i < agent.call_count; i++)
        CHECK(agent.calls[i].record->head.cbid == 211 && agent.calls[i].record->head.domain == CALL_RUNTIME);
    for (size_t i = 0; i < agent.record_count; i++)
        CHECK(agent.records[i]->kind != ACTIVITY_KERNEL);
    CHECK(agent.record_count == result.activities && result.activities_off > 0);
}

static void no_record_comes_before_its_call(void)
{
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE, NULL, NULL);
    agent.buffer_bytes = 2048; /* many small buffers */
    agent.checks_order = true;
    start_subscriber(1);
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    check_records(recording_path, 1);
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return one < other ? -1 : one > other;
}

static void repetitions_are_shifted(void)
{
    enum { REPEAT = 5 };
    static uint32_t ids[MAX_CALLS];
    uint64_t last_ns = 0;
    size_t runtime_calls = 0;
    make_sample(2, 400);
    setenv("CUSPAN_REPLAY_FIRST_CORRELATION", "4294967000", 1); /* wraps in the first repetition */
    load(REPLAY_DOUBLE, NULL, NULL);
    start_subscriber(1);
    struct replay_result result = run(REPEAT);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(result.calls == REPEAT * 2 * 400 * 3 / 2 && result.threads == REPEAT * 2);
    bool has_high = false, has_low = false;
    for (size_t i = 0; i < agent.call_count; i++) {
        const struct call_record *record = agent.calls[i].record;
        CHECK(record->correlation_id != 0);
        has_high |= record->correlation_id > 4000000000u;
        has_low |= record->correlation_id < 1000000u;
        bool is_inner = record->head.domain == CALL_DRIVER && record->head.cbid == 307;
        if (!is_inner)
            ids[runtime_calls++] = record->correlation_id;
        if (record->end_ns > last_ns)
            last_ns = record->end_ns;
    }
    CHECK(has_high && has_low);
    qsort(ids, runtime_calls, sizeof *ids, compare_ids);
    for (size_t i = 1; i < runtime_calls; i++)
        CHECK(ids[i] != ids[i - 1]);
    static uint32_t record_ids[MAX_RECORDS];
    size_t record_ids_count = 0;
    for (size_t i = 0; i < agent.record_count; i++) {
        uint32_t id = (uint32_t)seen_role(agent.records[i], ROLE_CORRELATION);
        CHECK(id == 0 || bsearch(&id, ids, runtime_calls, sizeof id, compare_ids));
        if (id)
            record_ids[record_ids_count++] = id;
    }
    qsort(record_ids, record_ids_count, sizeof *record_ids, compare_ids);
    for (size_t i = 1; i < record_ids_count; i++)
        CHECK(record_ids[i] != record_ids[i - 1]);
    CHECK(last_ns > SAMPLE_START_NS + REPEAT * NS_PER_MS);
}

#define ROOM 100

static int room_for_some(void)
{
    return agent.in_flight < ROOM;
}

static void *drain(void *unused)
{
    for (;;) {
        usleep(1000);
        agent.in_flight = 0;
    }
    return NULL;
}

static void the_agent_is_waited_for(void)
{
    pthread_t drainer;
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE, NULL, NULL);
    cuspan_replay_room_fn **room = dlsym(agent.library, "cuspan_replay_room");
    CHECK(room);
    *room = room_for_some;
    CHECK(pthread_create(&drainer, NULL, drain, NULL) == 0);
    start_subscriber(1);
    struct replay_result result = run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(result.activities_dropped == 0);
    CHECK(agent.in_flight_max > ROOM / 2 && agent.in_flight_max <= ROOM + THREADS);
    check_calls(recording_path, RECORDED);
    check_records(recording_path, 1);
}

static int never_room(void)
{
    return 0;
}

static void overload_does_not_wait(void)
{
    struct replay_options options = {.overload = true};
    struct replay_result result;
    struct error err;
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE, NULL, NULL);
    *(cuspan_replay_room_fn **)dlsym(agent.library, "cuspan_replay_room") = never_room;
    start_subscriber(1);
    CHECK(agent.run(&options, &result, &err) == STATUS_OK);
    CHECK(result.calls == RECORDED);
    cuspan_replay_waits_fn *waits = (cuspan_replay_waits_fn *)dlsym(agent.library, "cuspan_replay_waits");
    CHECK(waits && waits() == 0);
}

static void the_recorded_pace_is_kept(void)
{
    struct sample sample = {.threads = 2, .calls = 100, .is_long = true};
    struct replay_options options = {.is_paced = true};
    struct replay_result result;
    struct error err;
    CHECK(sample_write(recording_path, &sample));
    load(REPLAY_DOUBLE, NULL, NULL);
    start_subscriber(1);
    uint64_t start_ns = agent.paced_since_ns = clock_monotonic_ns();
    CHECK(agent.run(&options, &result, &err) == STATUS_OK);
    uint64_t took_ns = clock_monotonic_ns() - start_ns;
    uint64_t recorded_ns = agent.clock() - SAMPLE_START_NS;
    CHECK(recorded_ns > 100 * NS_PER_MS);
    CHECK(took_ns > recorded_ns - NS_PER_MS && took_ns < recorded_ns + 2000 * NS_PER_MS);
}

static void count_progress(void *context, uint64_t done, uint64_t total)
{
    uint64_t *last = context;
    CHECK(done <= total && done >= *last);
    *last = done;
}

static void progress_ends_with_all(void)
{
    uint64_t last = 0;
    struct replay_options options = {.repeat = 3, .progress = count_progress, .progress_context = &last};
    struct replay_result result;
    struct error err;
    make_sample(2, 200);
    load(REPLAY_DOUBLE, NULL, NULL);
    start_subscriber(1);
    CHECK(agent.run(&options, &result, &err) == STATUS_OK);
    CHECK(last > 1000);
}

static void another_subscriber(void)
{
    char holder[CUPTI_OLD_SUBSCRIBER_NAME_BYTES] = "";
    struct cupti_subscriber_params params = {
        .structSize = sizeof params, .oldSubscriberName = holder, .oldSubscriberSize = sizeof holder};
    make_sample(1, 1);
    load(REPLAY_DOUBLE, NULL, "subscribe");
    CHECK(agent.cuptiSubscribe_v2(&agent.subscriber, on_callback, &agent, &params) ==
          CUPTI_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CHECK(strstr(holder, "some-profiler"));
}

static void not_initialized(void)
{
    const char *text;
    make_sample(1, 1);
    load(REPLAY_DOUBLE, NULL, "not-initialized");
    CHECK(agent.version == 130500);
    CHECK(agent.cuptiSubscribe(&agent.subscriber, on_callback, &agent) == CUPTI_NOT_INITIALIZED);
    CHECK(agent.cuptiGetResultString(CUPTI_NOT_INITIALIZED, &text) == CUPTI_OK &&
          strstr(text, "NOT_INITIALIZED"));
}

static void calls_fail_one_by_one(void)
{
    cupti_subscriber_handle subscriber;
    size_t size = 1;
    uint8_t value = 1;
    make_sample(1, 1);
    load(REPLAY_DOUBLE_CLASSIC, "12.9", "version,register,attribute,enable-kind=10,enable-callback=2");
    CHECK(agent.cuptiGetVersion(&agent.version) != CUPTI_OK);
    CHECK(agent.cuptiSubscribe(&subscriber, on_callback, &agent) == CUPTI_OK);
    CHECK(agent.cuptiActivityRegisterCallbacks(on_request, on_complete) != CUPTI_OK);
    CHECK(agent.cuptiActivitySetAttribute(CUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &value) != CUPTI_OK);
    CHECK(agent.cuptiActivityEnable(ACTIVITY_KERNEL) == CUPTI_NOT_COMPATIBLE);
    CHECK(agent.cuptiActivityEnable(ACTIVITY_MEMCPY) == CUPTI_OK);
    CHECK(agent.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RUNTIME, 211) == CUPTI_OK);
    CHECK(agent.cuptiEnableCallback(1, subscriber, CUPTI_DOMAIN_RUNTIME, 20) != CUPTI_OK);
    CHECK(agent.cuptiEnableCallback(0, subscriber, CUPTI_DOMAIN_RUNTIME, 211) == CUPTI_OK);
}

static void refused_buffers_drop_and_count(void)
{
    size_t dropped = 0;
    make_sample(2, 200);
    load(REPLAY_DOUBLE, NULL, "dropped=7");
    start_subscriber(1);
    agent.refuses_buffers = true;
    struct replay_result result = run(1);
    CHECK(result.activities == 0 && result.activities_dropped > 100);
    CHECK(agent.cuptiActivityGetNumDroppedRecords_v2(agent.subscriber, NULL, 0, &dropped) == CUPTI_OK);
    CHECK(dropped == result.activities_dropped + 7);
    CHECK(agent.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == CUPTI_OK && dropped == 0);
}

static void zero_timestamps(void)
{
    size_t zeros = 0, works = 0;
    make_sample(2, 200);
    load(REPLAY_DOUBLE, NULL, "zero-timestamps=3");
    start_subscriber(1);
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    for (size_t i = 0; i < agent.record_count; i++) {
        bool is_work = activity_table[agent.records[i]->kind].is_interval;
        works += is_work;
        zeros += is_work && seen_role(agent.records[i], ROLE_START) == 0 &&
                 seen_role(agent.records[i], ROLE_END) == 0;
    }
    CHECK(zeros == works / 3 && zeros > 10);
}

static void late_buffers(void)
{
    make_sample(2, 100);
    load(REPLAY_DOUBLE, NULL, "late-buffers");
    agent.buffer_bytes = 32 * 1024;
    start_subscriber(1);
    struct replay_result result = run(1);
    CHECK(agent.cuptiActivityFlushAll(0) == CUPTI_OK);
    CHECK(agent.record_count < result.activities);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(check_records(recording_path, 1) == result.activities);
}

static void a_buffer_after_shutdown(void)
{
    make_sample(2, 100);
    load(REPLAY_DOUBLE, NULL, "after-shutdown");
    start_subscriber(1);
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(agent.buffers_out == agent.buffers_done + 1);
    unsigned before = agent.buffers_done;
    CHECK(agent.cuptiUnsubscribe(agent.subscriber) == CUPTI_OK);
    CHECK(agent.buffers_done == before);
    for (int i = 0; i < 2000 && agent.buffers_done == before; i++)
        usleep(1000);
    CHECK(agent.buffers_done == before + 1);
}

static void out_of_order(void)
{
    size_t backwards = 0;
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE, NULL, "out-of-order");
    start_subscriber(1);
    struct replay_result result = run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(agent.record_count == result.activities && result.activities > 2000);
    for (size_t i = 1; i < agent.record_count; i++)
        backwards += seen_role(agent.records[i], ROLE_START) < seen_role(agent.records[i - 1], ROLE_START);
    CHECK(backwards > result.activities / 4);
}

static void thousands_of_threads(void)
{
    make_sample(THREADS, CALLS);
    load(REPLAY_DOUBLE, NULL, "threads=1000");
    start_subscriber(1);
    struct replay_result result = run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(result.calls == RECORDED && result.threads > 500 && result.threads < 2000);
    CHECK(agent.thread_count > 500);
    check_records(recording_path, 1);
}

static void layouts_are_missing(void)
{
    make_sample(2, 100);
    load(REPLAY_DOUBLE, NULL, "null-info");
    start_subscriber(1);
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(agent.without_layouts > 0 && agent.record_count == 0);
}

static void malformed_records(void)
{
    make_sample(2, 100);
    load(REPLAY_DOUBLE, NULL, "malformed");
    start_subscriber(1);
    run(1);
    CHECK(agent.cuptiActivityFlushAll(1) == CUPTI_OK);
    CHECK(agent.bad_kinds == agent.buffers_done && agent.bad_kinds > 0);
    check_records(recording_path, 1);
}

static void a_fatal_error_ends_it(void)
{
    make_sample(2, 400);
    load(REPLAY_DOUBLE, NULL, "fatal=500");
    start_subscriber(1);
    struct replay_result result = run(1);
    CHECK(agent.fatal == 1);
    CHECK(result.calls > 50 && result.calls < 800 && result.activities_off > 0);
}

static void wrong_settings_are_named(void)
{
    struct error err;
    make_sample(1, 1);
    load_library(REPLAY_DOUBLE);
    setenv("CUSPAN_REPLAY_FAIL", "dropped=3,no-such-thing", 1);
    CHECK(agent.load(recording_path, &err) == STATUS_INVALID && strstr(err.text, "no-such-thing"));
    setenv("CUSPAN_REPLAY_FAIL", "dropped=x", 1);
    CHECK(agent.load(recording_path, &err) == STATUS_INVALID && strstr(err.text, "dropped=x"));
    setenv("CUSPAN_REPLAY_FAIL", "", 1);
    setenv("CUSPAN_REPLAY_VERSION", "11.8", 1);
    CHECK(agent.load(recording_path, &err) == STATUS_INVALID && strstr(err.text, "11.8"));
    setenv("CUSPAN_REPLAY_VERSION", "", 1);
    setenv("CUSPAN_REPLAY_FIRST_CORRELATION", "0", 1);
    CHECK(agent.load(recording_path, &err) == STATUS_INVALID);
}

static void broken_recordings_are_refused(void)
{
    struct replay_options options = {0};
    struct replay_result result;
    struct error err;
    make_sample(1, 100);
    CHECK(truncate(recording_path, 1000) == 0);
    load_library(REPLAY_DOUBLE);
    CHECK(agent.run(&options, &result, &err) == STATUS_INVALID);
    CHECK(agent.load(recording_path, &err) == STATUS_CORRUPT && strstr(err.text, "offset 1000"));
    CHECK(agent.load("/no/such/recording", &err) == STATUS_NOT_FOUND);
}

#define SCENARIOS(X)                                                                                         \
    X(classic_gives_back_the_recording)                                                                      \
    X(resources_come_back)                                                                                   \
    X(threads_meet_at_each_step)                                                                             \
    X(steps_are_repeated)                                                                                    \
    X(classic_calls_of_13_give_back_the_recording)                                                           \
    X(subscriber_gives_back_the_recording)                                                                   \
    X(selected_fields_alone_come)                                                                            \
    X(wrong_selections_are_refused)                                                                          \
    X(attributes_keep_their_values)                                                                          \
    X(what_is_off_does_not_come)                                                                             \
    X(no_record_comes_before_its_call)                                                                       \
    X(repetitions_are_shifted)                                                                               \
    X(the_agent_is_waited_for)                                                                               \
    X(overload_does_not_wait)                                                                                \
    X(the_recorded_pace_is_kept)                                                                             \
    X(progress_ends_with_all)                                                                                \
    X(another_subscriber)                                                                                    \
    X(not_initialized)                                                                                       \
    X(calls_fail_one_by_one)                                                                                 \
    X(refused_buffers_drop_and_count)                                                                        \
    X(zero_timestamps)                                                                                       \
    X(late_buffers)                                                                                          \
    X(a_buffer_after_shutdown)                                                                               \
    X(out_of_order)                                                                                          \
    X(thousands_of_threads)                                                                                  \
    X(layouts_are_missing)                                                                                   \
    X(malformed_records)                                                                                     \
    X(a_fatal_error_ends_it)                                                                                 \
    X(wrong_settings_are_named)                                                                              \
    X(broken_recordings_are_refused)

#define RUN_SCENARIO(name)                                                                                   \
    static void test_##name(void **unused)                                                                   \
    {                                                                                                        \
        expect_child(name);                                                                                  \
    }
SCENARIOS(RUN_SCENARIO)

int main(void)
{
#define TEST(name) {"test_" #name, test_##name, NULL, NULL, NULL},
    const struct CMUnitTest tests[] = {SCENARIOS(TEST)};
    snprintf(recording_path, sizeof recording_path, "/tmp/cuspan-replay-test-XXXXXX");
    close(mkstemp(recording_path));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(recording_path);
    return failed;
}
