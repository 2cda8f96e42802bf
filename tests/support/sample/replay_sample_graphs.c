#include "agent/abi/cupti_abi.h"
#include "model/cuda/activities.h"
#include "model/cuda/calls.h"
#include "agent/recording/recording.h"
#include "replay_sample.h"
#include "sample_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEC      0xe0e0e0ull        /* handle of the executable graph; of several, 16 apart */
#define FIRST     ((5ull << 32) + 1) /* IDs of the captured nodes and of the executable graph's nodes */
#define FIRST_RUN ((6ull << 32) + 1)
#define GRAPH_ID  6
#define CODE      0xc0de0000c0de0000ull /* and a line: the ID of a stack */

struct maker {
    struct recording_writer *writer;
    bool is_done, with_nodes, with_code;
    uint64_t now_ns;
    uint32_t correlation_id;
};

static enum call_domain domain_of(const char *name)
{
    return strncmp(name, "cuda", 4) == 0 ? CALL_RUNTIME : CALL_DRIVER;
}

/* The call takes from `inset_ns` after now to as long before the next microsecond. */
static void write_call_within(struct maker *maker, uint64_t tid, const char *name, uint64_t exec,
                              uint64_t inset_ns)
{
    union {
        struct call_record record;
        uint64_t words[sizeof(struct call_record) / 8 + 1];
    } call = {.record = {.head = {.bytes = sizeof call,
                                  .type = RECORD_CALL,
                                  .domain = (uint8_t)domain_of(name),
                                  .cbid = find_call(domain_of(name), name)},
                         .start_ns = maker->now_ns + inset_ns,
                         .end_ns = maker->now_ns + 1000 - inset_ns,
                         .correlation_id = maker->correlation_id,
                         .context_id = 1,
                         .present = 1}};
    call.words[sizeof(struct call_record) / 8] = exec;
    maker->is_done &= RECORDING_WRITE(maker->writer, CALL, .tid = tid, .call = &call.record) == STATUS_OK;
}

static void write_call(struct maker *maker, uint64_t tid, const char *name, uint64_t exec)
{
    maker->correlation_id++;
    write_call_within(maker, tid, name, exec, 0);
    maker->now_ns += 2000;
}

/* A runtime call and the driver call that it makes; without `name`, only the latter. */
static void write_nested(struct maker *maker, uint64_t tid, const char *name, const char *driver_name,
                         uint64_t exec)
{
    maker->correlation_id++;
    write_call_within(maker, tid, driver_name, exec, 100);
    if (name)
        write_call_within(maker, tid, name, exec, 0);
    maker->now_ns += 2000;
}

static void write_resource(struct maker *maker, uint64_t tid, uint16_t cbid, uint32_t nodes, uint64_t handle,
                           uint64_t original)
{
    struct resource_record record = {.head = {.bytes = sizeof record, .type = RECORD_RESOURCE, .cbid = cbid},
                                     .time_ns = maker->now_ns + 500,
                                     .context_id = 1,
                                     .device_id = UINT32_MAX,
                                     .nodes = nodes,
                                     .handle = handle,
                                     .original = original};
    maker->is_done &= RECORDING_WRITE(maker->writer, RESOURCE, .tid = tid, .resource = &record) == STATUS_OK;
}

static void write_activity(struct maker *maker, uint16_t kind, uint64_t start_ns, uint64_t node)
{
    struct activity_record record = {.kind = kind,
                                     .name = kind == ACTIVITY_KERNEL ? "_Z4nodev" : NULL,
                                     .start_ns = start_ns,
                                     .end_ns = start_ns + 100,
                                     .correlation_id = maker->correlation_id,
                                     .context_id = 1,
                                     .stream_id = 13,
                                     .graph_id = GRAPH_ID,
                                     .graph_node_id = node};
    set_fields_with_roles(&record);
    maker->is_done &= RECORDING_WRITE(maker->writer, ACTIVITY, .activity = &record) == STATUS_OK;
}

static void write_execution(struct maker *maker, uint64_t launched_ns)
{
    if (!maker->with_nodes) {
        write_activity(maker, ACTIVITY_GRAPH_TRACE, launched_ns + 1500, 0);
        return;
    }
    for (unsigned node = 0; node < SAMPLE_GRAPH_NODES; node++)
        write_activity(maker, ACTIVITY_KERNEL, launched_ns + 1500 + 200 * node, FIRST_RUN + node);
}

static uint64_t stack_of(struct maker *maker, uint32_t line)
{
    return maker->with_code ? CODE + line : 0;
}

/* The stack of one frame, of the next call or of graph nodes. */
static void write_code(struct maker *maker, uint32_t line, const char *function, uint32_t flags)
{
    union {
        struct code_record record;
        uint8_t bytes[64];
    } code = {.record = {.id = stack_of(maker, line), .frame_count = 1, .flags = CODE_IS_DESCRIBED | flags}};
    struct code_frame frame = {line, 8, (uint8_t)strlen(function), CODE_FRAME_IS_PROGRAMS};
    uint32_t bytes = (uint32_t)(sizeof code.record + sizeof frame) + 8 + frame.name_bytes;
    if (!maker->with_code)
        return;
    memcpy(code.record.frames, &frame, sizeof frame);
    memcpy(code.record.frames + sizeof frame, "graph.py", 8);
    memcpy(code.record.frames + sizeof frame + 8, function, frame.name_bytes);
    code.record.head = (struct record_head){.bytes = (bytes + 7) / 8 * 8, .type = RECORD_CODE};
    uint32_t call = flags & CODE_IS_OF_NODES ? 0 : maker->correlation_id + 1;
    maker->is_done &=
        RECORDING_WRITE(maker->writer, CODE, .correlation_id = call, .code = &code.record) == STATUS_OK;
}

/* With code, the calls themselves have none, as if they were not sampled. */
static void capture_and_instantiate(struct maker *maker)
{
    for (unsigned node = 0; node < SAMPLE_GRAPH_NODES; node++) {
        write_code(maker, SAMPLE_CAPTURE_LINE + node, "capture", CODE_IS_OF_NODES);
        if (maker->with_nodes)
            write_resource(maker, 1000, CUPTI_RESOURCE_GRAPHNODE_CREATED, 1, FIRST + node,
                           stack_of(maker, SAMPLE_CAPTURE_LINE + node));
        write_call(maker, 1000, "cudaLaunchKernel", 0x1000 + node);
    }
    write_code(maker, SAMPLE_INSTANTIATE_LINE, "instantiate", CODE_IS_OF_NODES);
    if (maker->with_nodes) {
        write_resource(maker, 1000, CUPTI_RESOURCE_GRAPHNODE_CREATED, SAMPLE_GRAPH_NODES, FIRST_RUN,
                       stack_of(maker, SAMPLE_INSTANTIATE_LINE));
        write_resource(maker, 1000, CUPTI_RESOURCE_GRAPHNODE_CLONED, SAMPLE_GRAPH_NODES, FIRST_RUN, FIRST);
    }
    write_resource(maker, 1000, CUPTI_RESOURCE_GRAPHEXEC_CREATED, SAMPLE_GRAPH_NODES, EXEC, 0);
    write_call(maker, 1000, "cudaGraphInstantiate", 0);
}

static void launch_from_threads(struct maker *maker)
{
    for (unsigned i = 0; i < SAMPLE_GRAPH_LAUNCHES; i++) {
        uint64_t launched_ns = maker->now_ns;
        write_code(maker, SAMPLE_LAUNCH_LINE, "launch", 0);
        write_call(maker, 1001 + i % 4, "cudaGraphLaunch", EXEC);
        write_execution(maker, launched_ns);
    }
}

static void make_graphs(struct maker *maker)
{
    static const struct {
        const char *begin, *begin_driver, *instantiate, *instantiate_driver, *launch;
    } ways[SAMPLE_MAKERS] = {
        {NULL, "cuGraphCreate", NULL, "cuGraphInstantiateWithFlags", NULL},
        {"cudaStreamBeginCapture", "cuStreamBeginCapture", "cudaGraphInstantiate",
         "cuGraphInstantiateWithParams", "cudaGraphLaunch"},
        {NULL, "cuStreamBeginCapture", NULL, "cuGraphInstantiateWithParams", NULL},
        {"cudaGraphCreate", "cuGraphCreate", "cudaGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags",
         "cudaGraphLaunch"},
    };
    for (unsigned i = 0; i < SAMPLE_MAKERS; i++) /* a replay starts a thread when its first call is due */
        write_call(maker, 1000 + i, "cudaStreamCreate", 0);
    for (unsigned i = 0; i < SAMPLE_MAKERS; i++)
        write_nested(maker, 1000 + i, ways[i].begin, ways[i].begin_driver, 0);
    for (unsigned i = 0; i < SAMPLE_MAKERS; i++) {
        write_resource(maker, 1000 + i, CUPTI_RESOURCE_GRAPHEXEC_CREATED, SAMPLE_GRAPH_NODES, EXEC + 16 * i,
                       0);
        write_nested(maker, 1000 + i, ways[i].instantiate, ways[i].instantiate_driver, 0);
    }
    for (unsigned i = 0; i < SAMPLE_MAKERS * SAMPLE_MAKER_LAUNCHES; i++) {
        unsigned way = i % SAMPLE_MAKERS;
        uint64_t launched_ns = maker->now_ns;
        write_nested(maker, 1000 + way, ways[way].launch, "cuGraphLaunch", EXEC + 16 * way);
        maker->with_nodes = false;
        write_execution(maker, launched_ns);
        maker->with_nodes = true;
        write_execution(maker, launched_ns);
    }
}

static void capture_and_launch(struct maker *maker)
{
    capture_and_instantiate(maker);
    launch_from_threads(maker);
}

static void write_info(struct maker *maker, const char *key, const char *value)
{
    maker->is_done &= RECORDING_WRITE(maker->writer, INFO, .name = key, .text = value) == STATUS_OK;
}

static bool write_recording(const char *path, bool with_nodes, bool with_code, unsigned threads,
                            void (*write)(struct maker *maker))
{
    struct error err;
    struct maker maker = {
        .is_done = true, .with_nodes = with_nodes, .with_code = with_code, .now_ns = SAMPLE_START_NS};
    if (recording_writer_create(path, &maker.writer, &err) != STATUS_OK) {
        fprintf(stderr, "sample: %s\n", err.text);
        return false;
    }
    for (uint64_t tid = 1000; tid < 1000 + threads; tid++) {
        struct thread_info thread = {.tid = tid, .name = "launcher"};
        maker.is_done &= RECORDING_WRITE(maker.writer, THREAD, .tid = thread.tid, .time_ns = SAMPLE_START_NS,
                                         .name = thread.name) == STATUS_OK;
    }
    if (with_code) {
        write_info(&maker, RECORDING_INFO_DETAIL, "graph-nodes");
        write_info(&maker, RECORDING_INFO_LAUNCH_STACKS, "python");
    }
    write_resource(&maker, 1000, CUPTI_RESOURCE_CONTEXT_CREATED, 0, SAMPLE_CONTEXT, 0);
    write(&maker);
    if (recording_writer_close(maker.writer, &err) != STATUS_OK || !maker.is_done) {
        fprintf(stderr, "sample: %s: %s\n", path, err.text);
        return false;
    }
    return true;
}

bool sample_write_graphs(const char *path, bool with_nodes)
{
    return write_recording(path, with_nodes, false, 5, capture_and_launch);
}

bool sample_write_graph_code(const char *path)
{
    return write_recording(path, true, true, 5, capture_and_launch);
}

bool sample_write_graph_makers(const char *path)
{
    return write_recording(path, true, false, SAMPLE_MAKERS, make_graphs);
}
