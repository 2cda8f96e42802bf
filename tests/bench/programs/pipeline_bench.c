/* Measures the cost of a span after the callback, by stage, in one thread with a recording: as the pipeline
 * thread drains rings and CUPTI's buffers (decode), makes spans of them (correlate), and encodes them, and as
 * the sender compresses the requests. Sending is excluded (own_exporter.c).
 *
 *   pipeline_bench [OPTION...] RECORDING        see --help
 *
 * The recording is played repeatedly, each time with later times and further correlation IDs. Filling rings
 * and buffers is the host's and CUPTI's work: it is measured separately and subtracted. A stage's cost is the
 * chain's cost up to it, minus the chain up to the stage before, in CPU time of the thread; medians of rounds
 * in which the chains alternate. Memory that is allocated after the first repetition is counted. */
#include "measured.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/buffers/ring.h"
#include "agent/capture/activity/decode.h"
#include "agent/capture/cupti/selection.h"
#include "agent/config/config.h"
#include "agent/correlate/correlate.h"
#include "agent/correlate/call_spans.h"
#include "agent/correlate/gpu_join.h"
#include "agent/correlate/thread_events.h"
#include "agent/encode/encoder.h"
#include "agent/export/compress/compress.h"
#include "model/cuda/activities.h"
#include "model/metrics/views.h"
#include "agent/recording/recording.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define RING_BYTES       (256 * 1024)
#define LARGE_RINGS      16 /* as many as the agent has; further threads have small ones */
#define SMALL_RING_BYTES (16 * 1024)
#define BUFFER_BYTES     (64 * 1024)
#define EVENTS_A_PUMP    1000 /* a millisecond of a busy program */
#define REPEAT_GAP_NS    NS_PER_MS
#define TID_STEP         1000000
#define CHUNKS           512
#define GROWTH_FIRST     1000

enum stage { STAGE_FILL, STAGE_DECODE, STAGE_CORRELATE, STAGE_ENCODE, STAGE_COMPRESS, STAGES };
static const char *const stage_names[STAGES] = {"fill", "decode", "correlate", "encode", "compress"};

/* --- memory, counted --- */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
static uint64_t allocations;

void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    allocations++;
    return __libc_realloc(old, bytes);
}

static void *need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "pipeline_bench: no memory\n");
        exit(1);
    }
    return memory;
}

/* --- the recording in memory --- */

struct thread {
    struct thread_info info;
    struct ring ring;
};

struct event {
    uint32_t thread;          /* the owner of a record in a ring */
    uint16_t kind;            /* of an activity; 0: a record in a ring */
    uint32_t bytes;           /* of an activity as user-defined record */
    struct record_head *head; /* as recorded, one of ours */
    uint8_t *activity;        /* one of ours */
};

struct layout {
    struct cupti_record_layout layout;
    struct cupti_field_layout fields[ACTIVITY_FIELDS_MAX];
    int correlation, start, end, device, name; /* offsets, -1: none */
};

static struct {
    struct thread *threads;
    uint32_t thread_count, threads_recorded;
    struct event *events;
    size_t event_count;
    uint64_t first_ns, last_ns;
    uint32_t correlation_max;
    char *program;
} recorded;

static struct layout layouts[ACTIVITY_KINDS_MAX];
static struct settings settings;
static struct {
    unsigned repeat, rounds, threads, devices;
    uint32_t names;
    int only; /* stage; -1: all */
    enum compression compression;
    uint64_t growth; /* spans */
    bool together, by_record, json;
} options = {
    .compression = COMPRESSION_GZIP, .repeat = 100, .rounds = 9, .threads = 1, .devices = 1, .only = -1};

static size_t round_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

static size_t alignment_of(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8 ? size : 4;
}

static void note_role(struct layout *layout, const struct activity_field *field, size_t offset)
{
    int *places[] = {[ROLE_CORRELATION] = &layout->correlation,
                     [ROLE_START] = &layout->start,
                     [ROLE_END] = &layout->end,
                     [ROLE_DEVICE] = &layout->device,
                     [ROLE_NAME] = &layout->name};
    if (field->role < sizeof places / sizeof *places && places[field->role])
        *places[field->role] = (int)offset;
}

/* The fields that the agent selects, in the order of their IDs. */
static void make_layout(uint16_t kind)
{
    struct layout *layout = &layouts[kind];
    uint64_t wanted = selection_fields(&settings, kind);
    size_t at = 0;
    *layout = (struct layout){.layout = {.structSize = sizeof layout->layout, .pEntries = layout->fields}};
    layout->correlation = layout->start = layout->end = layout->device = layout->name = -1;
    for (uint8_t f = 0; f < activity_table[kind].field_count; f++) {
        const struct activity_field *field = &activity_table[kind].fields[f];
        if (!(wanted >> f & 1) || !field->size)
            continue;
        at = round_up(at, alignment_of(field->size));
        layout->fields[layout->layout.numFields++] = (struct cupti_field_layout){
            sizeof(struct cupti_field_layout), f, at, field->size, alignment_of(field->size)};
        note_role(layout, field, at);
        at += field->size;
    }
    layout->layout.recordSize = round_up(at, 8);
}

static uint64_t field_value(const struct activity_record *record, const struct activity_field *field,
                            uint8_t f)
{
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
        return f == 0 ? record->kind : record->present >> f & 1 ? record->values[f] : 0;
    }
}

static uint8_t *compose(const struct activity_record *record, uint32_t *bytes)
{
    struct layout *layout = &layouts[record->kind];
    if (!layout->layout.recordSize)
        make_layout(record->kind);
    uint8_t *to = need(calloc(1, layout->layout.recordSize));
    for (size_t i = 0; i < layout->layout.numFields; i++) {
        const struct cupti_field_layout *entry = &layout->fields[i];
        const struct activity_field *field = &activity_table[record->kind].fields[entry->fieldId];
        uint64_t value = field_value(record, field, (uint8_t)entry->fieldId);
        if (field->type != FIELD_BYTES)
            memcpy(to + entry->offset, &value, entry->size);
        else if (record->present >> entry->fieldId & 1)
            memcpy(to + entry->offset, (const void *)(uintptr_t)record->values[entry->fieldId], entry->size);
    }
    *bytes = (uint32_t)layout->layout.recordSize;
    return to;
}

static uint32_t thread_of(uint64_t tid, const char *name)
{
    uint32_t i = 0;
    while (i < recorded.thread_count && recorded.threads[i].info.tid != tid)
        i++;
    if (i == recorded.thread_count) {
        recorded.threads = need(realloc(recorded.threads, (i + 1) * sizeof *recorded.threads));
        recorded.threads[recorded.thread_count++] =
            (struct thread){.info = {.tid = tid, .serial = i + 1, .slot = i}};
    }
    if (name)
        snprintf(recorded.threads[i].info.name, THREAD_NAME_BYTES, "%s", name);
    return i;
}

static struct event *add_event(void)
{
    static size_t room;
    if (recorded.event_count == room) {
        room = room ? 2 * room : 4096;
        recorded.events = need(realloc(recorded.events, room * sizeof *recorded.events));
    }
    struct event *event = &recorded.events[recorded.event_count++];
    *event = (struct event){0};
    return event;
}

static void cover(uint64_t start_ns, uint64_t end_ns)
{
    if (start_ns && (!recorded.first_ns || start_ns < recorded.first_ns))
        recorded.first_ns = start_ns;
    if (end_ns > recorded.last_ns)
        recorded.last_ns = end_ns;
}

static void add_record(uint64_t tid, const struct record_head *head)
{
    struct event *event = add_event();
    event->thread = thread_of(tid, NULL);
    event->head = need(malloc(head->bytes));
    memcpy(event->head, head, head->bytes);
}

/* A recording may have more calls than this detail has callbacks for. */
static void add_call(uint64_t tid, const struct call_record *call)
{
    if (!selection_has_call(&settings, (enum call_domain)call->head.domain, call->head.cbid))
        return;
    add_record(tid, &call->head);
    cover(call->start_ns, call->end_ns);
    if (call->correlation_id > recorded.correlation_max)
        recorded.correlation_max = call->correlation_id;
}

static void add_activity(const struct activity_record *record)
{
    if (!selection_has_activity(&settings, record->kind))
        return;
    struct event *event = add_event();
    event->kind = record->kind;
    event->activity = compose(record, &event->bytes);
    cover(record->start_ns, record->end_ns);
}

/* The driver call inside a runtime call is not a span; it has that call's ID. */
static void drop_inner_calls(void)
{
    bool *has_outer = need(calloc(recorded.correlation_max + 1u, sizeof *has_outer));
    size_t kept = 0;
    for (size_t i = 0; i < recorded.event_count; i++) {
        const struct record_head *head = recorded.events[i].head;
        if (head && head->type == RECORD_CALL && head->domain == CALL_RUNTIME)
            has_outer[((const struct call_record *)head)->correlation_id] = true;
    }
    for (size_t i = 0; i < recorded.event_count; i++) {
        struct record_head *head = recorded.events[i].head;
        if (head && head->type == RECORD_CALL && head->domain == CALL_DRIVER &&
            has_outer[((const struct call_record *)head)->correlation_id])
            free(head);
        else
            recorded.events[kept++] = recorded.events[i];
    }
    recorded.event_count = kept;
    free(has_outer);
}

static void load(const char *path)
{
    static struct recording *recording; /* kept open, because it owns the names */
    struct recording_event event;
    struct error err = {0};
    enum status status = recording_open(path, &recording, &err);
    while (status == STATUS_OK && (status = recording_next(recording, &event, &err)) == STATUS_OK) {
        if (event.type == RECORDING_CALL)
            add_call(event.tid, event.call);
        else if (event.type == RECORDING_RESOURCE)
            add_record(event.tid, &event.resource->head);
        else if (event.type == RECORDING_ANNOTATION)
            add_record(event.tid, event.annotation);
        else if (event.type == RECORDING_ACTIVITY)
            add_activity(event.activity);
        else if (event.type == RECORDING_THREAD)
            (void)thread_of(event.tid, event.name);
        else if (event.type == RECORDING_INFO && strcmp(event.name, RECORDING_INFO_PROGRAM) == 0)
            recorded.program = need(strdup(event.text));
    }
    if (status != STATUS_END || !recorded.event_count) {
        fprintf(stderr, "pipeline_bench: %s: %s\n", path, status == STATUS_END ? "it is empty" : err.text);
        exit(1);
    }
    recorded.threads_recorded = recorded.thread_count;
    drop_inner_calls();
}

/* Repetitions are played by further threads in turn, if requested. */
static void make_threads(void)
{
    uint32_t wanted = recorded.threads_recorded * options.threads;
    recorded.threads = need(realloc(recorded.threads, wanted * sizeof *recorded.threads));
    for (uint32_t i = recorded.threads_recorded; i < wanted; i++) {
        recorded.threads[i] = recorded.threads[i % recorded.threads_recorded];
        recorded.threads[i].info.tid += (uint64_t)TID_STEP * (i / recorded.threads_recorded);
        recorded.threads[i].info.serial = i + 1;
        recorded.threads[i].info.slot = i;
    }
    recorded.thread_count = wanted;
    for (uint32_t i = 0; i < wanted; i++) {
        uint32_t bytes = i < LARGE_RINGS || !options.together ? RING_BYTES : SMALL_RING_BYTES;
        ring_init(&recorded.threads[i].ring, need(aligned_alloc(64, bytes)), bytes);
    }
}

/* --- the chain --- */

struct chain {
    enum stage last;
    struct correlate *correlate;
    struct encoder *encoder;
    struct chunk_pool *pool;
    struct compressor *compressor;
    uint64_t spans, bytes, compressed, events;
    uint64_t repetitions;
    size_t filled, waiting; /* bytes in the buffer; events since the last pump */
};

static uint8_t buffer[BUFFER_BYTES];
static char **names; /* of kernels, if requested instead of the recorded ones */

static void send(struct chain *chain)
{
    struct batch *batch = encoder_seal(chain->encoder);
    const uint8_t *compressed;
    size_t bytes;
    if (!batch)
        return;
    chain->bytes += batch->bytes;
    if (chain->last >= STAGE_COMPRESS &&
        compress_chunks(chain->compressor, batch->chunks, &compressed, &bytes) == STATUS_OK)
        chain->compressed += bytes;
    batch_release(batch);
}

static void on_span(void *context, const struct span *span)
{
    struct chain *chain = context;
    chain->spans++;
    if (chain->last < STAGE_ENCODE || encoder_add(chain->encoder, span) == STATUS_OK)
        return;
    send(chain);
    if (encoder_add(chain->encoder, span) != STATUS_OK)
        abort();
}

static void on_device(void *context, uint16_t index, const struct resource *resource)
{
    struct chain *chain = context;
    if (encoder_set_resource(chain->encoder, index, resource) != STATUS_OK)
        abort();
}

static void on_activity(void *context, const struct activity_record *record)
{
    struct chain *chain = context;
    chain->events++;
    if (chain->last >= STAGE_CORRELATE)
        gpu_join_add(chain->correlate, record);
}

static void hand_over(struct chain *chain, const struct thread_info *thread, struct record_head *head)
{
    static volatile uint64_t ticks;
    chain->events++;
    ticks += clock_ticks_to_ns(ticks); /* as capture does, twice a call; the recorded times are ns */
    ticks += clock_ticks_to_ns(ticks);
    if (chain->last < STAGE_CORRELATE)
        return;
    switch (head->type) {
    case RECORD_CALL:
        call_spans_add(chain->correlate, thread, (const struct call_record *)head);
        break;
    case RECORD_RESOURCE:
        call_spans_resource(chain->correlate, thread, (const struct resource_record *)head);
        break;
    case RECORD_CONTEXT:
        thread_events_context(chain->correlate, thread, (const struct context_record *)head);
        break;
    case RECORD_NAME:
        correlate_name(chain->correlate, (const struct name_record *)head);
        break;
    default:
        thread_events_range(chain->correlate, thread, (const struct range_record *)head);
    }
}

static void decode(struct chain *chain, size_t filled)
{
    if (chain->last >= STAGE_DECODE && filled)
        decode_buffer(NULL, buffer, filled, on_activity, chain);
}

static void drain(struct chain *chain)
{
    for (uint32_t i = 0; i < recorded.thread_count; i++) {
        struct thread *thread = &recorded.threads[i];
        uint64_t end = ring_published(&thread->ring);
        if (chain->last == STAGE_FILL) {
            atomic_store(&thread->ring.tail, end);
            continue;
        }
        for (struct record_head *head; (head = ring_peek(&thread->ring, end));) {
            hand_over(chain, &thread->info, head);
            ring_release(&thread->ring);
        }
    }
}

/* One repetition of the recording: by which threads, how much later, with which IDs. */
struct turn {
    uint32_t clone, correlation;
    uint64_t shift_ns, number;
};

/* The i-th of those that are played together. */
static struct turn turn_of(const struct chain *chain, uint32_t i)
{
    uint64_t before = options.together ? chain->repetitions * options.threads + i : chain->repetitions;
    return (struct turn){
        .clone = options.together ? i : (uint32_t)(chain->repetitions % options.threads),
        .correlation = (uint32_t)before * recorded.correlation_max,
        .shift_ns = chain->repetitions * (recorded.last_ns - recorded.first_ns + REPEAT_GAP_NS),
        .number = before * recorded.event_count,
    };
}

static void fill_record(const struct event *event, const struct turn *turn)
{
    struct thread *thread = &recorded.threads[event->thread + turn->clone * recorded.threads_recorded];
    struct record_head *head = ring_reserve(&thread->ring, event->head->bytes);
    if (!head)
        abort();
    memcpy(head, event->head, event->head->bytes);
    if (head->type == RECORD_CALL) {
        struct call_record *call = (struct call_record *)head;
        call->start_ns += turn->shift_ns;
        call->end_ns += turn->shift_ns;
        call->correlation_id += call->correlation_id ? turn->correlation : 0;
    } else {
        ((struct resource_record *)head)->time_ns += turn->shift_ns;
    }
    ring_commit(&thread->ring, head->bytes);
}

static void add_to(uint8_t *record, int offset, uint64_t value, size_t size)
{
    uint64_t now = 0;
    if (offset < 0)
        return;
    memcpy(&now, record + offset, size);
    now += now ? value : 0;
    memcpy(record + offset, &now, size);
}

static void fill_activity(const struct event *event, uint8_t *to, uint64_t number, const struct turn *turn)
{
    const struct layout *layout = &layouts[event->kind];
    memcpy(to, event->activity, event->bytes);
    add_to(to, layout->start, turn->shift_ns, 8);
    add_to(to, layout->end, turn->shift_ns, 8);
    add_to(to, layout->correlation, turn->correlation, 4);
    if (layout->device >= 0 && options.devices > 1) {
        uint32_t device = (uint32_t)(number % options.devices);
        memcpy(to + layout->device, &device, 4);
    }
    if (layout->name >= 0 && event->kind == ACTIVITY_KERNEL && options.names)
        memcpy(to + layout->name, &names[(number * 7919) % options.names], sizeof(char *));
}

/* Calls are drained before the buffers, as in the agent. */
static void pump(struct chain *chain)
{
    drain(chain);
    decode(chain, chain->filled);
    chain->filled = chain->waiting = 0;
}

static void play_event(struct chain *chain, size_t i, const struct turn *turn)
{
    const struct event *event = &recorded.events[i];
    if (chain->waiting == EVENTS_A_PUMP || chain->filled + event->bytes > sizeof buffer)
        pump(chain);
    chain->waiting++;
    if (!event->kind) {
        fill_record(event, turn);
        return;
    }
    fill_activity(event, buffer + chain->filled, turn->number + i, turn);
    chain->filled += event->bytes;
}

static void play(struct chain *chain)
{
    uint32_t together = options.together ? options.threads : 1;
    for (size_t i = 0; i < recorded.event_count; i++) {
        uint16_t kind = recorded.events[i].kind;
        bool comes_once = kind == ACTIVITY_DEVICE || kind == ACTIVITY_CONTEXT; /* once per process */
        for (uint32_t one = 0; one < (comes_once ? 1 : together); one++) {
            struct turn turn = turn_of(chain, one);
            if (!comes_once || !chain->repetitions)
                play_event(chain, i, &turn);
        }
    }
    pump(chain);
    chain->repetitions++;
    if (chain->last >= STAGE_CORRELATE)
        correlate_tick(chain->correlate, clock_monotonic_ns());
}

static bool never_slept(uint64_t from_ns, uint64_t until_ns)
{
    (void)from_ns, (void)until_ns;
    return false;
}

static void chain_init(struct chain *chain, enum stage last)
{
    struct encoder_options encoder = {.format = BATCH_PROTOBUF,
                                      .scope_name = "cuspan",
                                      .scope_version = CUSPAN_VERSION,
                                      .schema_url = ENCODER_SCHEMA_URL,
                                      .value_length_limit = UINT32_MAX,
                                      .attribute_count_limit = 128,
                                      .event_count_limit = 128,
                                      .link_count_limit = 128,
                                      .batch_spans_max = settings.outputs[0].batch_spans_max,
                                      .batch_bytes_max = 3 << 20};
    struct correlate_options correlate = {.settings = &settings,
                                          .program = recorded.program,
                                          .expects_calls = true,
                                          .expects_graphs = true,
                                          .slept_between = never_slept,
                                          .sink = {chain, on_span, on_device, NULL}};
    const struct codec *codec = compress_codec(options.compression);
    *chain = (struct chain){.last = last};
    bool ok = chunk_pool_create(CHUNKS, &chain->pool) == STATUS_OK;
    encoder.pool = chain->pool;
    if (!ok || encoder_create(&encoder, &chain->encoder) != STATUS_OK ||
        correlate_create(&correlate, &chain->correlate) != STATUS_OK ||
        compressor_create(codec, codec->level_default, &chain->compressor) != STATUS_OK)
        need(NULL);
}

static void chain_deinit(struct chain *chain)
{
    correlate_finish(chain->correlate);
    correlate_destroy(chain->correlate);
    encoder_destroy(chain->encoder);
    chunk_pool_destroy(chain->pool);
    compressor_destroy(chain->compressor);
}

/* --- measuring --- */

static double quantile(double *values, unsigned count, double at)
{
    sort(values, count);
    return values[(unsigned)(at * (count - 1) + 0.5)];
}

static double round_ns(struct chain *chain)
{
    double begin = thread_ns();
    for (unsigned i = 0; i < options.repeat; i++)
        play(chain);
    return thread_ns() - begin;
}

static void warm_up(struct chain *chain)
{
    unsigned rounds = options.together ? 2 : 2 * options.threads; /* each thread plays twice */
    for (unsigned i = 0; i < rounds; i++)
        play(chain);
}

struct result {
    double ns, low, high; /* per span: the median, minimum and maximum of the rounds */
};

static uint64_t made_by(const struct chain *chain)
{
    return options.by_record ? chain->events : chain->spans;
}

static void print(const struct result *results, const struct chain *whole, double made, uint64_t allocated)
{
    double all = (double)made_by(whole);
    const char *unit = options.by_record ? "record" : "span";
    if (options.json) {
        printf("{\"unit\":\"%s\",\"made\":%.0f,\"bytes\":%.2f,\"compressed_bytes\":%.2f,\"allocations\":%llu,"
               "\"stages\":{",
               unit, made, (double)whole->bytes / all, (double)whole->compressed / all,
               (unsigned long long)allocated);
        for (int s = STAGE_DECODE; s < STAGES; s++)
            printf("%s\"%s\":{\"ns\":%.2f,\"min\":%.2f,\"max\":%.2f}", s > STAGE_DECODE ? "," : "",
                   stage_names[s], results[s].ns, results[s].low, results[s].high);
        printf("}}\n");
        return;
    }
    for (int s = STAGE_DECODE; s < STAGES; s++)
        printf("%-10s %7.1f ns a %s (%.1f to %.1f)\n", stage_names[s], results[s].ns, unit, results[s].low,
               results[s].high);
    printf("%.0f %ss a round; %.1f bytes a %s, %.1f compressed; %llu allocations after the warm-up\n", made,
           unit, (double)whole->bytes / all, unit, (double)whole->compressed / all,
           (unsigned long long)allocated);
}

static void measure_all(void)
{
    struct chain chains[STAGES];
    struct result results[STAGES];
    double *took[STAGES];
    for (int s = 0; s < STAGES; s++) {
        chain_init(&chains[s], (enum stage)s);
        took[s] = need(calloc(options.rounds, sizeof(double)));
        warm_up(&chains[s]);
    }
    uint64_t spans_before = made_by(&chains[STAGE_COMPRESS]), allocated_before = allocations;
    for (unsigned round = 0; round < options.rounds; round++)
        for (int s = 0; s < STAGES; s++)
            took[s][round] = round_ns(&chains[s]);
    uint64_t allocated = allocations - allocated_before;
    double spans = (double)(made_by(&chains[STAGE_COMPRESS]) - spans_before) / options.rounds;
    if (spans < 1) {
        fprintf(stderr, "pipeline_bench: no spans are made of it at this detail; --by-record\n");
        exit(1);
    }
    for (int s = STAGES - 1; s > STAGE_FILL; s--) {
        for (unsigned round = 0; round < options.rounds; round++)
            took[s][round] = (took[s][round] - took[s - 1][round]) / spans;
        results[s].ns = quantile(took[s], options.rounds, 0.5);
        results[s].low = took[s][0];
        results[s].high = took[s][options.rounds - 1];
    }
    print(results, &chains[STAGE_COMPRESS], spans, allocated);
    for (int s = 0; s < STAGES; s++) {
        chain_deinit(&chains[s]);
        free(took[s]);
    }
}

/* For counting instructions: only one chain. */
static void run_only(enum stage last)
{
    struct chain chain;
    chain_init(&chain, last);
    warm_up(&chain);
    uint64_t spans_before = chain.spans, allocated_before = allocations;
    double ns = 0;
    for (unsigned round = 0; round < options.rounds; round++)
        ns += round_ns(&chain);
    double spans = (double)(chain.spans - spans_before);
    printf("{\"stage\":\"%s\",\"spans\":%.0f,\"events\":%llu,\"ns\":%.1f,\"allocations\":%llu}\n",
           stage_names[last], spans, (unsigned long long)chain.events, spans ? ns / spans : 0,
           (unsigned long long)(allocations - allocated_before));
    chain_deinit(&chain);
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static double play_ns(struct chain *chain)
{
    double begin = thread_ns();
    play(chain);
    return thread_ns() - begin;
}

/* One run of up to this many spans, with the cost up to encoding in each decade. */
static void run_growth(uint64_t spans_max)
{
    struct chain fill, chain;
    chain_init(&fill, STAGE_FILL);
    chain_init(&chain, STAGE_ENCODE);
    warm_up(&fill);
    warm_up(&chain);
    uint64_t before = chain.spans, since = before, allocated_before = allocations;
    double ns = 0;
    for (uint64_t next = GROWTH_FIRST; next <= spans_max; next *= 10) {
        while (chain.spans - before < next)
            ns += play_ns(&chain) - play_ns(&fill);
        if (chain.spans == since)
            continue; /* the last repetition was longer than this decade */
        printf("{\"spans\":%llu,\"ns\":%.2f,\"rss_kib\":%ld,\"allocations\":%llu}\n",
               (unsigned long long)next, ns / (double)(chain.spans - since), peak_kib(),
               (unsigned long long)(allocations - allocated_before));
        fflush(stdout);
        since = chain.spans;
        ns = 0;
    }
    chain_deinit(&chain);
    chain_deinit(&fill);
}

static void make_names(void)
{
    names = need(calloc(options.names + 1u, sizeof *names));
    for (uint32_t i = 0; i < options.names; i++) {
        char text[64];
        int length = snprintf(text, sizeof text, "some_kernel_%u", i);
        char *mangled = need(malloc(96));
        snprintf(mangled, 96, "_Z%d%sPKfPfi", length, text);
        names[i] = mangled;
    }
}

static const char help[] =
    "usage: pipeline_bench [OPTION...] RECORDING\n"
    "  --repeat N     repetitions of the recording a round (100)\n"
    "  --rounds N     rounds, in each of which every chain has its turn (9)\n"
    "  --detail NAME  as the setting `detail` (default)\n"
    "  --threads N    so many times the recorded threads (1)\n"
    "  --devices N    the GPU work is spread over so many devices (1: as recorded)\n"
    "  --names N      so many kernel names in place of the recorded ones\n"
    "  --metrics      what metrics are made of is counted, too\n"
    "  --zstd         compress by zstd in place of gzip\n"
    "  --only STAGE   nothing but the chain up to: fill, decode, correlate, encode or compress\n"
    "  --together     the threads play all at once, and not each a repetition\n"
    "  --by-record    costs by call and record that was captured, and not by span: a summary makes few\n"
    "  --growth N     one life of N spans: what one has cost by then, in each decade from the first 1000 on\n"
    "  --json         one line of JSON\n";

static int stage_by_name(const char *name)
{
    for (int s = 0; s < STAGES; s++)
        if (strcmp(name, stage_names[s]) == 0)
            return s;
    fputs(help, stderr);
    exit(2);
}

static const char *read_options(int argc, char **argv, const char **detail)
{
    static const struct option known[] = {
        {"repeat", 1, NULL, 'r'},    {"rounds", 1, NULL, 'n'},  {"detail", 1, NULL, 'd'},
        {"threads", 1, NULL, 't'},   {"devices", 1, NULL, 'g'}, {"names", 1, NULL, 'k'},
        {"only", 1, NULL, 'o'},      {"zstd", 0, NULL, 'z'},    {"together", 0, NULL, 'T'},
        {"by-record", 0, NULL, 'R'}, {"growth", 1, NULL, 'G'},  {"json", 0, NULL, 'j'},
        {"metrics", 0, NULL, 'm'},   {"help", 0, NULL, 'h'},    {0}};
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        unsigned long value = optarg ? strtoul(optarg, NULL, 10) : 0;
        switch (option) {
        case 'r':
            options.repeat = (unsigned)value;
            break;
        case 'n':
            options.rounds = (unsigned)value;
            break;
        case 'd':
            *detail = optarg;
            break;
        case 't':
            options.threads = (unsigned)value;
            break;
        case 'g':
            options.devices = (unsigned)value;
            break;
        case 'k':
            options.names = (uint32_t)value;
            break;
        case 'o':
            options.only = stage_by_name(optarg);
            break;
        case 'j':
            options.json = true;
            break;
        case 'T':
            options.together = true;
            break;
        case 'm':
            settings.metrics.is_on = true;
            break;
        case 'R':
            options.by_record = true;
            break;
        case 'G':
            options.growth = value;
            break;
        case 'z':
            options.compression = COMPRESSION_ZSTD;
            break;
        default:
            fputs(help, option == 'h' ? stdout : stderr);
            exit(option == 'h' ? 0 : 2);
        }
    }
    if (optind + 1 != argc || !options.repeat || !options.rounds || !options.threads || !options.devices) {
        fputs(help, stderr);
        exit(2);
    }
    return argv[optind];
}

static const char *no_variable(const char *name, void *context)
{
    (void)name, (void)context;
    return NULL;
}

/* The defaults, independent of this process's environment. */
static void load_settings(const char *detail)
{
    char overrides[64];
    struct config_report report = {0};
    bool has_metrics = settings.metrics.is_on;
    snprintf(overrides, sizeof overrides, "detail=%s", detail);
    struct config_input input = {.getenv = no_variable, .overrides = overrides};
    if (config_load(&input, &settings, &report) != STATUS_OK) {
        fprintf(stderr, "pipeline_bench: there is no detail %s\n", detail);
        exit(2);
    }
    settings.metrics.is_on = has_metrics;
    if (has_metrics &&
        streams_create(NULL, 0, settings.metrics.histogram_form, &settings.metrics.streams) != STATUS_OK)
        exit(2);
}

int main(int argc, char **argv)
{
    const char *detail = "default", *path = read_options(argc, argv, &detail);
    clock_init();
    load_settings(detail);
    load(path);
    make_threads();
    make_names();
    struct cupti_record_layout *known[ACTIVITY_KINDS_MAX] = {0};
    for (unsigned kind = 1; kind < ACTIVITY_KINDS_MAX; kind++)
        if (layouts[kind].layout.recordSize)
            known[kind] = &layouts[kind].layout;
    decode_learn_layouts(known, ACTIVITY_KINDS_MAX);
    if (options.growth)
        run_growth(options.growth);
    else if (options.only >= 0)
        run_only((enum stage)options.only);
    else
        measure_all();
    return 0;
}
