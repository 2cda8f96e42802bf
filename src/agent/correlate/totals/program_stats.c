#include "agent/correlate/totals/program_stats.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/hash.h"
#include "agent/correlate/totals/busy.h"
#include "model/metrics/histogram.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVALS_MAX 4096 /* busy intervals of all devices */
#define PLACES        512  /* hash table of names, twice the kernels */
#define RECENT        256

struct mark {
    struct exemplar *exemplar;
    uint64_t value_ns;
};

struct program_stats {
    struct live_stats stats;
    struct program_stats_options options;
    uint64_t leased_until_ns;
    struct busy_pool *times;
    struct busy_time busy[DEVICES_MAX];
    uint16_t places[PLACES]; /* kernels by name and device: index + 1, open addressing */
    struct {                 /* cache: a name is mostly looked up again */
        uint64_t number;
        uint32_t device_id;
        struct kernel_stats *kernel;
    } recent[RECENT];
    struct mark marks[2 * STREAMS_MAX]; /* the histograms' entries of the last work, for its exemplar */
    uint64_t marked_ns;                 /* time of the last work */
    unsigned mark_count;
    uint32_t known_context; /* the last context whose device was learned */
};

enum status program_stats_create(const struct program_stats_options *options, struct program_stats **store)
{
    struct program_stats *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    made->options = *options;
    if (busy_pool_create(INTERVALS_MAX, BUSY_INTERVALS_MAX, &made->times) != STATUS_OK) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    made->stats.is_on = options->has_metrics;
    made->stats.since_ns = clock_now_ns();
    *store = made;
    return STATUS_OK;
}

/* Calls `visit` for each histogram, or NULL. */
static void for_histograms(struct live_stats *stats, void (*visit)(struct histogram *))
{
    for (uint32_t i = 0; i < stats->kernel_count; i++)
        visit(stats->kernels[i]->histogram);
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        struct device_stats *device = stats->devices[i];
        if (!device)
            continue;
        for (unsigned kind = 0; kind < LIVE_STATS_COPY_KINDS; kind++)
            visit(device->copies[kind].histogram);
        visit(device->fills.histogram);
        visit(device->others.histogram);
        visit(device->latency);
    }
}

/* Forgets all numbers but the allocations. */
static void forget(struct program_stats *store)
{
    struct live_stats *stats = &store->stats;
    for_histograms(stats, histogram_destroy);
    for (uint32_t i = 0; i < stats->kernel_count; i++)
        free(stats->kernels[i]);
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        busy_clear(store->times, &store->busy[i]);
        free(stats->devices[i]);
    }
    memset(store->places, 0, sizeof store->places);
    memset(store->recent, 0, sizeof store->recent);
    store->mark_count = 0;
    *stats = (struct live_stats){.is_on = stats->is_on, .since_ns = clock_now_ns()};
}

void program_stats_destroy(struct program_stats *store)
{
    if (!store)
        return;
    forget(store);
    free(store->times);
    free(store);
}

void program_stats_lease(struct program_stats *store, uint64_t now_ns, uint64_t until_ns)
{
    bool was_on = program_stats_tick(store, now_ns);
    store->leased_until_ns = until_ns;
    if (!was_on)
        forget(store);
    store->stats.is_on = true;
}

bool program_stats_tick(struct program_stats *store, uint64_t now_ns)
{
    store->stats.is_on = store->options.has_metrics || now_ns < store->leased_until_ns;
    return store->stats.is_on;
}

void program_stats_add_call(struct program_stats *store, const struct call_info *info,
                            const struct call_record *call)
{
    struct live_stats *stats = &store->stats;
    uint64_t duration_ns = call->end_ns > call->start_ns ? call->end_ns - call->start_ns : 0;
    stats->calls++;
    stats->call_ns += duration_ns;
    stats->errors += call->result != 0;
    stats->launches += info->group == CALL_GROUP_LAUNCH;
    stats->waiting_ns += info->group == CALL_GROUP_SYNC ? duration_ns : 0;
}

/* Returns a new, owned histogram; NULL: no memory, or the metric is off. */
static struct histogram *new_histogram(const struct program_stats *store, enum metric metric)
{
    struct histogram *made = NULL;
    if (!store->options.has_metrics)
        return NULL;
    const struct metric_streams *streams = &store->options.streams->of[metric];
    if (histogram_create(streams->shapes, streams->shape_count, &made) != STATUS_OK)
        return NULL;
    return made;
}

static struct device_stats *device_of(struct program_stats *store, uint32_t device_id)
{
    if (device_id >= DEVICES_MAX || store->stats.devices[device_id])
        return device_id < DEVICES_MAX ? store->stats.devices[device_id] : NULL;
    struct device_stats *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->others.device_id = device_id;
    made->others.histogram = new_histogram(store, METRIC_KERNEL_DURATION);
    made->latency = new_histogram(store, METRIC_LAUNCH_LATENCY);
    store->stats.devices[device_id] = made;
    return made;
}

static struct kernel_stats *new_kernel(struct program_stats *store, const char *name, uint32_t bytes,
                                       uint32_t hash, uint32_t device_id)
{
    struct live_stats *stats = &store->stats;
    struct kernel_stats *made = stats->kernel_count < LIVE_STATS_KERNELS_MAX ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return NULL;
    made->device_id = device_id;
    made->hash = hash;
    made->histogram = new_histogram(store, METRIC_KERNEL_DURATION);
    memcpy(made->name, name, bytes);
    stats->kernels[stats->kernel_count++] = made;
    return made;
}

/* Returns the kernel's entry, new if needed; NULL: the table is full, and the kernel counts with the others.
 */
static struct kernel_stats *find_kernel(struct program_stats *store, const struct kernel_name *name,
                                        uint32_t device_id)
{
    uint32_t bytes = name->text_len < LIVE_STATS_NAME_BYTES ? name->text_len : LIVE_STATS_NAME_BYTES - 1;
    uint32_t hash = (uint32_t)hash_bytes(HASH_START ^ device_id, name->text, bytes), at = hash % PLACES;
    for (; store->places[at]; at = (at + 1) % PLACES) {
        struct kernel_stats *kernel = store->stats.kernels[store->places[at] - 1];
        if (kernel->hash == hash && kernel->device_id == device_id &&
            strncmp(kernel->name, name->text, bytes) == 0 && !kernel->name[bytes])
            return kernel;
    }
    struct kernel_stats *made = new_kernel(store, name->text, bytes, hash, device_id);
    if (made)
        store->places[at] = (uint16_t)store->stats.kernel_count;
    return made;
}

static struct kernel_stats *kernel_of(struct program_stats *store, const struct kernel_name *name,
                                      uint32_t device_id, struct device_stats *device)
{
    uint32_t at = (uint32_t)(name->number + device_id) % RECENT;
    if (!name->number || store->recent[at].number != name->number ||
        store->recent[at].device_id != device_id) {
        struct kernel_stats *found = find_kernel(store, name, device_id);
        store->recent[at].number = name->number;
        store->recent[at].device_id = device_id;
        store->recent[at].kernel = found ? found : &device->others;
    }
    return store->recent[at].kernel;
}

static void measure(struct program_stats *store, struct histogram *histogram, uint64_t duration_ns)
{
    for (; histogram; histogram = histogram->next) {
        struct exemplar *exemplar = histogram_add(histogram, duration_ns);
        if (store->options.exemplars == EXEMPLAR_ALWAYS_OFF)
            continue;
        store->marks[store->mark_count++] = (struct mark){exemplar, duration_ns};
        if (store->options.exemplars == EXEMPLAR_ALWAYS_ON)
            histogram_exemplify(exemplar, duration_ns, store->marked_ns);
    }
}

static void add(struct duration_sum *sum, uint64_t duration_ns)
{
    sum->count++;
    sum->total_ns += duration_ns;
}

static void add_kernel(struct program_stats *store, struct device_stats *device, const struct gpu_work *work,
                       uint64_t duration_ns)
{
    const struct activity_record *record = work->record;
    struct kernel_stats *kernel =
        work->name ? kernel_of(store, work->name, record->device_id, device) : &device->others;
    add(&device->kernels, duration_ns);
    add(&kernel->sum, duration_ns);
    measure(store, kernel->histogram, duration_ns);
    if (kernel == &device->others)
        counter_add_alone(COUNTER_kernels_unnamed, 1);
    if (work->call_start_ns)
        measure(store, device->latency,
                record->start_ns > work->call_start_ns ? record->start_ns - work->call_start_ns : 0);
}

static void add_move(struct program_stats *store, enum metric metric, struct copy_stats *copy, uint64_t bytes,
                     uint64_t duration_ns)
{
    if (!copy->histogram)
        copy->histogram = new_histogram(store, metric);
    add(&copy->sum, duration_ns);
    copy->bytes += bytes;
    measure(store, copy->histogram, duration_ns);
}

void program_stats_add_work(struct program_stats *store, const struct gpu_work *work)
{
    const struct activity_record *record = work->record;
    struct device_stats *device = device_of(store, record->device_id);
    if (record->context_id != store->known_context) {
        allocations_learn(store->options.allocations, record->context_id, record->device_id);
        store->known_context = record->context_id;
    }
    uint64_t duration_ns = record->end_ns - record->start_ns;
    store->mark_count = 0;
    store->marked_ns = record->end_ns;
    if (!device)
        return;
    if (!busy_add(store->times, &store->busy[record->device_id], record->start_ns, record->end_ns))
        device->is_estimated = true;
    switch (record->kind) {
    case ACTIVITY_KERNEL:
        add_kernel(store, device, work, duration_ns);
        break;
    case ACTIVITY_MEMCPY:
    case ACTIVITY_MEMCPY_PEER:
        add_move(store, METRIC_COPY_DURATION,
                 &device->copies[work->copy_kind < LIVE_STATS_COPY_KINDS ? work->copy_kind : 0], work->bytes,
                 duration_ns);
        break;
    case ACTIVITY_MEMSET:
        add_move(store, METRIC_FILL_DURATION, &device->fills, work->bytes, duration_ns);
        break;
    case ACTIVITY_GRAPH_TRACE:
        add(&device->graphs, duration_ns);
        break;
    default: /* rare, optional kinds: only their time counts */
        break;
    }
}

void program_stats_exemplify(struct program_stats *store, const uint8_t trace_id[16],
                             const uint8_t span_id[8])
{
    for (unsigned i = 0; i < store->mark_count; i++) {
        struct exemplar *exemplar = store->marks[i].exemplar;
        exemplar->time_ns = store->marked_ns;
        exemplar->value_ns = store->marks[i].value_ns;
        memcpy(exemplar->trace_id, trace_id, sizeof exemplar->trace_id);
        memcpy(exemplar->span_id, span_id, sizeof exemplar->span_id);
    }
    store->mark_count = 0;
}

/* Updates a device's memory numbers, and adds the device if it is new: it may have memory and no work yet. */
static void update_memory(struct program_stats *store, uint32_t device_id)
{
    const struct device_memory *memory = allocations_of_device(store->options.allocations, device_id);
    struct device_stats *device =
        memory->total.peak ? device_of(store, device_id) : store->stats.devices[device_id];
    if (device)
        device->memory = *memory;
}

struct live_stats *program_stats_read(struct program_stats *store)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        update_memory(store, i);
        if (store->stats.devices[i])
            store->stats.devices[i]->busy_ns = busy_ns(store->times, &store->busy[i]);
    }
    store->stats.pinned = allocations_pinned(store->options.allocations);
    return &store->stats;
}

void program_stats_begin_interval(struct program_stats *store, bool is_delta)
{
    store->mark_count = 0;
    for_histograms(&store->stats, is_delta ? histogram_reset : histogram_forget_exemplars);
}

static const char *text_of(const struct devices *devices, uint32_t device_id, const char *key)
{
    const struct resource *told = devices->told[device_id];
    const char *text = told ? resource_text(told, key) : NULL;
    return text ? text : "";
}

static void copy_device(const struct device_stats *device, struct device_view *view)
{
    view->busy_ns = device->busy_ns;
    view->kernels = device->kernels.count;
    view->kernel_ns = device->kernels.total_ns;
    for (unsigned kind = 0; kind < LIVE_STATS_COPY_KINDS; kind++) {
        view->copies += device->copies[kind].sum.count;
        view->copy_bytes += device->copies[kind].bytes;
    }
    view->fills = device->fills.sum.count;
    view->memory_live = device->memory.total.live;
    view->memory_peak = device->memory.total.peak;
}

/* The largest first. Kernels of one name on several devices are merged. */
static int by_total(const void *a, const void *b)
{
    const struct kernel_stats *left = *(const struct kernel_stats *const *)a;
    const struct kernel_stats *right = *(const struct kernel_stats *const *)b;
    return left->sum.total_ns < right->sum.total_ns ? 1 : left->sum.total_ns > right->sum.total_ns ? -1 : 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct kernel_stats *const *)a)->name,
                  (*(const struct kernel_stats *const *)b)->name);
}

static void copy_kernels(const struct live_stats *stats, struct live_stats_view *view)
{
    static struct kernel_stats merged[LIVE_STATS_KERNELS_MAX];
    const struct kernel_stats *sorted[LIVE_STATS_KERNELS_MAX];
    uint32_t count = 0;
    memcpy(sorted, stats->kernels, stats->kernel_count * sizeof *sorted);
    qsort(sorted, stats->kernel_count, sizeof *sorted, by_name);
    for (uint32_t i = 0; i < stats->kernel_count; i++) {
        if (count && strcmp(merged[count - 1].name, sorted[i]->name) == 0) {
            merged[count - 1].sum.count += sorted[i]->sum.count;
            merged[count - 1].sum.total_ns += sorted[i]->sum.total_ns;
        } else {
            merged[count++] = *sorted[i];
        }
    }
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &merged[i];
    qsort(sorted, count, sizeof *sorted, by_total);
    for (uint32_t i = 0; i < count; i++) {
        if (i >= LIVE_STATS_VIEW_KERNELS) {
            view->others.count += sorted[i]->sum.count;
            view->others.total_ns += sorted[i]->sum.total_ns;
            continue;
        }
        memcpy(view->kernels[i].name, sorted[i]->name, sizeof view->kernels[i].name);
        view->kernels[i].sum = sorted[i]->sum;
        view->kernel_count = i + 1;
    }
}

void program_stats_snapshot(struct program_stats *store, const struct devices *devices,
                            struct live_stats_view *view)
{
    const struct live_stats *stats = program_stats_read(store);
    *view = (struct live_stats_view){.is_on = stats->is_on,
                                     .time_ns = clock_now_ns(),
                                     .since_ns = stats->since_ns,
                                     .calls = stats->calls,
                                     .errors = stats->errors,
                                     .launches = stats->launches,
                                     .call_ns = stats->call_ns,
                                     .waiting_ns = stats->waiting_ns};
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        const struct device_stats *device = stats->devices[i];
        if (!device)
            continue;
        struct device_view *to = &view->devices[view->device_count++];
        to->index = i;
        snprintf(to->id, sizeof to->id, "%s", devices->ids[i]);
        snprintf(to->name, sizeof to->name, "%s", text_of(devices, i, SEMCONV_HW_NAME));
        copy_device(device, to);
        view->others.count += device->others.sum.count;
        view->others.total_ns += device->others.sum.total_ns;
    }
    copy_kernels(stats, view);
}
