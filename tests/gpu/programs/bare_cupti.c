#include "bare_cupti.h"

#include "agent/abi/cupti_abi.h"
#include "agent/capture/activity/decode.h"
#include "agent/capture/cupti/cupti.h"
#include "model/cuda/activities.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (1 << 20)

static struct bare_options options;
static struct cupti cupti;
static cupti_subscriber_handle subscriber;

static void stop(const char *what, uint32_t result)
{
    fprintf(stderr, "%s: %u\n", what, result);
    exit(2);
}

static void visit(void *context, const struct activity_record *record)
{
    struct bare_record bare = {record->kind,   record->correlation_id, record->graph_id, record->start_ns,
                               record->end_ns, record->graph_node_id,  record->name,     record};
    options.on_record(&bare);
}

static void request(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *buffer = aligned_alloc(CUPTI_RECORD_ALIGNMENT, BUFFER_BYTES);
    memset(*buffer, 0, BUFFER_BYTES);
    *size = BUFFER_BYTES;
    *records_max = 0;
}

/* The decoder has one consumer. */
static void read_buffer(uint8_t *buffer, size_t valid)
{
    static volatile int busy;
    while (__sync_lock_test_and_set(&busy, 1))
        usleep(10);
    decode_buffer(&cupti, buffer, valid, visit, NULL);
    __sync_lock_release(&busy);
    free(buffer);
}

static void complete(cuda_context_handle context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    read_buffer(buffer, valid);
}

static void request_v2(uint8_t **buffer, size_t *size, size_t *records_max,
                       struct cupti_buffer_request_info *info)
{
    request(buffer, size, records_max);
}

static void complete_v2(uint8_t *buffer, size_t size, size_t valid, struct cupti_buffer_complete_info *info)
{
    decode_learn_layouts(info->ppRecordLayouts, info->numRecordLayouts);
    read_buffer(buffer, valid);
}

static void handle(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
    options.on_callback(domain, cbid, data);
}

static void *library;

static void load(void)
{
    library = dlopen(options.library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
#define LOAD(name, params) *(void **)&cupti.name = dlsym(library, #name);
    CUPTI_CLASSIC_CALLS(LOAD)
    CUPTI_NAMED_SUBSCRIBER_CALLS(LOAD)
    CUPTI_SUBSCRIBER_CALLS(LOAD)
    cupti.cuptiGetVersion(&cupti.version);
}

static void enable(uint16_t kind)
{
    uint32_t result;
    if (!options.subscriber_api) {
        result = cupti.cuptiActivityEnable(kind);
    } else {
        int ids[ACTIVITY_FIELDS_MAX];
        size_t count = 0;
        for (int i = 0; i < activity_table[kind].field_count; i++)
            if (activity_table[kind].fields[i].detail != ACTIVITY_NEVER || i == 0)
                ids[count++] = i;
        struct cupti_activity_config config = {
            .structSize = cupti.version >= 130400 ? sizeof config
                                                  : offsetof(struct cupti_activity_config, pKindOptions),
            .fieldSelection = {sizeof config.fieldSelection, count, ids}};
        result = cupti.cuptiActivityEnable_v2(subscriber, kind, &config);
    }
    if (result)
        stop("enable", result);
}

static void subscribe(void)
{
    uint32_t result;
    if (options.subscriber_api) {
        char old[64] = "";
        struct cupti_subscriber_params params = {.structSize = sizeof params,
                                                 .subscriberName = "bare",
                                                 .oldSubscriberName = old,
                                                 .oldSubscriberSize = 64};
        result = cupti.cuptiSubscribe_v2(&subscriber, handle, NULL, &params);
    } else {
        result = cupti.cuptiSubscribe(&subscriber, handle, NULL);
    }
    if (result)
        stop("subscribe", result);
}

/* With BARE_DEVICE_GRAPHS: executions that the device launches. */
static void enable_device_graphs(void)
{
    uint8_t yes = 1;
    size_t size = 1;
    uint32_t result = 999;
    if (!getenv("BARE_DEVICE_GRAPHS"))
        return;
    if (options.subscriber_api) {
        result =
            cupti.cuptiActivitySetAttribute_v2(subscriber, CUPTI_ATTR_ENABLE_DEVICE_GRAPH_TRACE, &size, &yes);
        printf("  device graphs: attribute %u\n", result);
        if (options.graph_records)
            enable(53);
    } else {
        uint32_t (*on)(uint8_t) = (uint32_t(*)(uint8_t))dlsym(library, "cuptiActivityEnableDeviceGraph");
        result = on ? on(1) : 998;
        printf("  device graphs: call %u\n", result);
    }
}

void bare_start(const struct bare_options *chosen)
{
    static const uint16_t kinds[] = {ACTIVITY_KERNEL, ACTIVITY_MEMCPY, ACTIVITY_MEMSET, ACTIVITY_GRAPH_TRACE};
    options = *chosen;
    load();
    subscribe();
    if (options.subscriber_api) {
        uint8_t yes = 1;
        size_t size = 1;
        uint32_t result =
            cupti.cuptiActivitySetAttribute_v2(subscriber, CUPTI_ATTR_USER_DEFINED_RECORDS, &size, &yes);
        if (result)
            stop("user-defined records", result);
        cupti.cuptiActivityRegisterCallbacks_v2(subscriber, request_v2, complete_v2);
    } else {
        uint64_t all[ACTIVITY_KINDS_MAX];
        memset(all, 0xff, sizeof all);
        decode_init_classic(cupti.version, all);
        cupti.cuptiActivityRegisterCallbacks(request, complete);
    }
    enable_device_graphs();
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] != ACTIVITY_GRAPH_TRACE || options.graph_records)
            enable(kinds[i]);
    cupti.cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_RESOURCE);
    if (options.driver_calls)
        cupti.cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_DRIVER);
    if (options.runtime_calls)
        cupti.cuptiEnableDomain(1, subscriber, CUPTI_DOMAIN_RUNTIME);
}

uint32_t bare_version(void)
{
    return cupti.version;
}

void bare_flush(bool forced)
{
    cupti.cuptiActivityFlushAll(forced);
}

uint64_t bare_node_id(void *node)
{
    uint64_t id = 0;
    return node && cupti.cuptiGetGraphNodeId(node, &id) == CUPTI_OK ? id : 0;
}

uint32_t bare_graph_id(void *graph, bool is_exec)
{
    uint32_t id = 0;
    if (!graph)
        return 0;
    if (!is_exec)
        return cupti.cuptiGetGraphId(graph, &id) == CUPTI_OK ? id : 0;
    return cupti.cuptiGetGraphExecId && cupti.cuptiGetGraphExecId(graph, &id) == CUPTI_OK ? id : 0;
}

bool bare_read(const char *text, char *to, unsigned bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)text, bytes};
    memset(to, 0, bytes);
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    to[bytes - 1] = 0;
    return got > 0;
}

void bare_print(const struct bare_record *bare, uint64_t epoch_ns)
{
    const struct activity_record *record = bare->all;
    const struct activity_info *info = &activity_table[record->kind];
    printf("  record %s", info->name);
    for (int i = 0; i < info->field_count; i++) {
        const struct activity_field *field = &info->fields[i];
        if (!(record->present >> i & 1) || !record->values[i] || field->type == FIELD_BYTES || i == 0)
            continue;
        if (field->role == ROLE_NAME) {
            char text[96];
            printf(" name=%s",
                   bare_read((const char *)(uintptr_t)record->values[i], text, sizeof text) ? text : "?");
        } else if (field->role == ROLE_START || field->role == ROLE_END) {
            printf(" %s=%.1f", field->role == ROLE_START ? "start" : "end",
                   (double)(int64_t)(record->values[i] - epoch_ns) / 1000.0);
        } else {
            printf(" %.*s#%d=%llu", (int)field->key.len, field->key.name ? field->key.name : "", i,
                   (unsigned long long)record->values[i]);
        }
    }
    printf("\n");
}

uint64_t bare_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
