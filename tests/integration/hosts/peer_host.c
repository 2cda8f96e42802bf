/* A program with two GPUs that copies from the first to the second, waits half a second and copies again: it
 * passes the records to the agent like CUPTI, with a CUPTI that does nothing else.
 *
 *   peer_host AGENT CUPTI */
#include "agent/abi/cupti_abi.h"
#include "agent/abi/layouts.h"
#include "model/cuda/activities.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RECORD_BYTES 512
#define PAUSE_NS     500000000
#define COPY_NS      1000000
#define PEER_TO_PEER 10
#define MEMORY       3 /* device */

static cupti_request_fn *request;
static cupti_complete_fn *complete;
static uint32_t version;
static uint8_t *buffer;
static size_t buffer_bytes, used;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void begin_buffer(void)
{
    size_t max_records;
    request(&buffer, &buffer_bytes, &max_records);
    used = 0;
}

static uint8_t *begin_record(uint32_t kind)
{
    uint8_t *record = buffer + used;
    memset(record, 0, RECORD_BYTES);
    memcpy(record, &kind, sizeof kind);
    used += RECORD_BYTES;
    return record;
}

/* Finds a field by its role, or by its key. */
static void put(uint8_t *record, uint16_t kind, enum activity_role role, const char *key, const void *value)
{
    const struct activity_layout *layout = layout_classic(version, kind);
    for (uint8_t i = 1; i < activity_table[kind].field_count; i++) {
        const struct activity_field *field = &activity_table[kind].fields[i];
        bool is_wanted = key ? field->key.len && strcmp(field->key.name, key) == 0 : field->role == role;
        if (is_wanted && layout->fields[i].offset >= 0)
            memcpy(record + layout->fields[i].offset, value, layout->fields[i].size);
    }
}

static void put_number(uint8_t *record, uint16_t kind, const char *key, uint64_t value)
{
    put(record, kind, ROLE_NONE, key, &value);
}

static void add_device(uint64_t number)
{
    uint8_t uuid[16] = {(uint8_t)(number + 1), 2, 3};
    uint8_t *record = begin_record(ACTIVITY_DEVICE);
    put_number(record, ACTIVITY_DEVICE, "cuda.device.id", number);
    put(record, ACTIVITY_DEVICE, ROLE_NONE, "cuda.device.uuid", uuid);
}

static void add_copy(void)
{
    uint8_t *record = begin_record(ACTIVITY_MEMCPY_PEER);
    uint64_t end_ns = now_ns(), start_ns = end_ns - COPY_NS, one = 1;
    put_number(record, ACTIVITY_MEMCPY_PEER, "cuda.memcpy.kind", PEER_TO_PEER);
    put_number(record, ACTIVITY_MEMCPY_PEER, "cuda.memcpy.src_kind", MEMORY);
    put_number(record, ACTIVITY_MEMCPY_PEER, "cuda.memcpy.dst_kind", MEMORY);
    put_number(record, ACTIVITY_MEMCPY_PEER, "cuda.memcpy.bytes", 20000000);
    put_number(record, ACTIVITY_MEMCPY_PEER, "cuda.memcpy.dst_device.id", 1);
    put(record, ACTIVITY_MEMCPY_PEER, ROLE_START, NULL, &start_ns);
    put(record, ACTIVITY_MEMCPY_PEER, ROLE_END, NULL, &end_ns);
    put(record, ACTIVITY_MEMCPY_PEER, ROLE_CONTEXT, NULL, &one);
    put(record, ACTIVITY_MEMCPY_PEER, ROLE_CORRELATION, NULL, &one);
}

static void *find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found)
        fprintf(stderr, "peer_host: no %s\n", name);
    return found;
}

static bool begin(char **argv)
{
    void *agent = dlopen(argv[1], RTLD_NOW), *cupti = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = (int (*)(void))find(agent, "InitializeInjection");
    cuptiGetVersion_fn *get_version = (cuptiGetVersion_fn *)find(cupti, "cuptiGetVersion");
    cupti_request_fn *_Atomic *requested = find(cupti, "fake_request");
    cupti_complete_fn *_Atomic *completed = find(cupti, "fake_complete");
    size_t *record_bytes = find(cupti, "fake_record_bytes");
    if (!initialize || !get_version || !requested || !completed || !record_bytes)
        return false;
    *record_bytes = RECORD_BYTES;
    if (!initialize() || get_version(&version) != CUPTI_OK)
        return false;
    request = *requested;
    complete = *completed;
    return request && complete;
}

int main(int argc, char **argv)
{
    if (argc != 3 || !begin(argv))
        return 2;
    begin_buffer();
    add_device(0);
    add_device(1);
    add_copy();
    complete(NULL, 0, buffer, buffer_bytes, used);
    nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    begin_buffer();
    add_copy();
    complete(NULL, 0, buffer, buffer_bytes, used);
    return 0;
}
