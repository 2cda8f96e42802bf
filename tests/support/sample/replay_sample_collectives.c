#include "agent/abi/cupti_abi.h"
#include "model/cuda/activities.h"
#include "model/collective.h"
#include "model/cuda/calls.h"
#include "model/span.h"
#include "agent/recording/recording.h"
#include "replay_sample.h"
#include "sample_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TID               1000
#define COMMUNICATOR      0xf00df00df00df00dull /* beyond INT64_MAX, so a string in NVTX's payload */
#define COMMUNICATOR_TEXT "17297745686452629517"

struct maker {
    struct recording_writer *writer;
    bool is_done;
    uint64_t now_ns, range;
    uint32_t correlation_id;
};

static void check(struct maker *maker, enum status status)
{
    maker->is_done &= status == STATUS_OK;
    maker->now_ns += 1000;
}

union any_range {
    struct range_record record;
    char bytes[RANGE_RECORD_BYTES];
};

static void add_attr(union any_range *range, const char *key, enum attr_type type, const void *value,
                     size_t bytes)
{
    struct range_attr_head head = {(uint8_t)type, (uint8_t)strlen(key), (uint16_t)bytes};
    char *at = range->record.text + range->record.text_bytes;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, key, head.key_bytes);
    memcpy(at + sizeof head + head.key_bytes, value, bytes);
    range->record.text_bytes += (uint32_t)(sizeof head + head.key_bytes + bytes);
    range->record.attr_count++;
}

static void add_int(union any_range *range, const char *key, int64_t value)
{
    add_attr(range, key, ATTR_INT, &value, sizeof value);
}

static union any_range range_of(struct maker *maker, enum record_type type, const char *name)
{
    union any_range range = {.record = {.head = {.type = (uint8_t)type},
                                        .id = maker->range,
                                        .flags = RANGE_ON_THREAD,
                                        .name_bytes = (uint16_t)strlen(name),
                                        .text_bytes = (uint32_t)strlen(name)}};
    memcpy(range.record.text, name, strlen(name));
    return range;
}

static void write_range(struct maker *maker, union any_range *range)
{
    range->record.head.bytes = ((uint32_t)sizeof range->record + range->record.text_bytes + 7) & ~7u;
    range->record.time_ns = maker->now_ns;
    check(maker, RECORDING_WRITE(maker->writer, ANNOTATION, .tid = TID, .annotation = &range->record.head));
}

static void push(struct maker *maker, const char *function, int64_t ordinal)
{
    maker->range++;
    union any_range range = range_of(maker, RECORD_RANGE_BEGIN, function);
    add_attr(&range, "nvtx.domain", ATTR_STRING, "NCCL", 4);
    if (ordinal >= 0) {
        add_attr(&range, "nvtx.payload.NCCL communicator ID", ATTR_STRING, COMMUNICATOR_TEXT,
                 strlen(COMMUNICATOR_TEXT));
        add_int(&range, "nvtx.payload.Message size [bytes]", SAMPLE_COLLECTIVE_BYTES);
        add_int(&range, "collective.ordinal", ordinal);
        add_int(&range, "collective.ranks", 4);
        add_int(&range, "collective.rank", 1);
    }
    write_range(maker, &range);
}

static void pop(struct maker *maker)
{
    union any_range range = range_of(maker, RECORD_RANGE_END, "");
    write_range(maker, &range);
    maker->range--;
}

/* The plugin's mark after the launch. */
static void mark(struct maker *maker, const char *function, int64_t ordinal)
{
    union any_range range = range_of(maker, RECORD_MARK, NCCL_MARK);
    range.record.flags = 0;
    add_attr(&range, NCCL_MARK, ATTR_STRING, function, strlen(function));
    add_int(&range, NCCL_MARK_COMMUNICATOR, (int64_t)COMMUNICATOR);
    add_int(&range, NCCL_MARK_ORDINAL, ordinal);
    add_attr(&range, NCCL_MARK_DATATYPE, ATTR_STRING, "ncclFloat32", 11);
    add_attr(&range, NCCL_MARK_ALGORITHM, ATTR_STRING, "RING", 4);
    add_attr(&range, NCCL_MARK_PROTOCOL, ATTR_STRING, "SIMPLE", 6);
    write_range(maker, &range);
}

static void launch(struct maker *maker)
{
    struct call_record call = {
        .head = {.bytes = sizeof call,
                 .type = RECORD_CALL,
                 .domain = CALL_RUNTIME,
                 .cbid = find_call(CALL_RUNTIME, "cudaLaunchKernelExC")},
        .start_ns = maker->now_ns,
        .end_ns = maker->now_ns + 1000,
        .correlation_id = ++maker->correlation_id,
        .context_id = 1,
    };
    check(maker, RECORDING_WRITE(maker->writer, CALL, .tid = TID, .call = &call));
    maker->now_ns += 1000;
}

static void run(struct maker *maker, uint32_t correlation_id, const char *kernel)
{
    struct activity_record record = {.kind = ACTIVITY_KERNEL,
                                     .name = kernel,
                                     .start_ns = maker->now_ns,
                                     .end_ns = maker->now_ns + SAMPLE_COLLECTIVE_NS,
                                     .correlation_id = correlation_id,
                                     .context_id = 1,
                                     .stream_id = 13};
    set_fields_with_roles(&record);
    check(maker, RECORDING_WRITE(maker->writer, ACTIVITY, .activity = &record));
    maker->now_ns += SAMPLE_COLLECTIVE_NS;
}

#define ALL_REDUCE "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
#define ALL_GATHER "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE"

static void make_step(struct maker *maker, int64_t step)
{
    push(maker, "ncclAllReduce", step);
    launch(maker);
    mark(maker, "AllReduce", step);
    pop(maker);
    push(maker, "ncclGroupStart", -1);
    pop(maker);
    for (int64_t i = 0; i < 3; i++) {
        push(maker, "ncclAllGather", 3 * step + i);
        pop(maker);
    }
    push(maker, "ncclGroupEnd", -1);
    launch(maker);
    pop(maker);
    launch(maker); /* the program's own */
    run(maker, maker->correlation_id - 2, ALL_REDUCE);
    run(maker, maker->correlation_id - 1, ALL_GATHER);
    run(maker, maker->correlation_id, "_Z3ownv");
}

bool sample_write_collectives(const char *path)
{
    struct error err;
    struct maker maker = {.is_done = true, .now_ns = SAMPLE_START_NS, .range = 1ull << 63};
    struct thread_info thread = {.tid = TID, .name = "trainer"};
    struct resource_record context = {
        .head = {.bytes = sizeof context, .type = RECORD_RESOURCE, .cbid = CUPTI_RESOURCE_CONTEXT_CREATED},
        .time_ns = SAMPLE_START_NS,
        .context_id = 1,
        .device_id = UINT32_MAX,
        .handle = SAMPLE_CONTEXT};
    if (recording_writer_create(path, &maker.writer, &err) != STATUS_OK) {
        fprintf(stderr, "sample: %s\n", err.text);
        return false;
    }
    check(&maker, RECORDING_WRITE(maker.writer, THREAD, .tid = thread.tid, .time_ns = SAMPLE_START_NS,
                                  .name = thread.name));
    check(&maker, RECORDING_WRITE(maker.writer, RESOURCE, .tid = TID, .resource = &context));
    for (int64_t step = 0; step < SAMPLE_COLLECTIVE_STEPS; step++)
        make_step(&maker, step);
    if (recording_writer_close(maker.writer, &err) != STATUS_OK || !maker.is_done) {
        fprintf(stderr, "sample: %s: %s\n", path, err.text);
        return false;
    }
    return true;
}
