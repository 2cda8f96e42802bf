#include "analysis/stat/base/stat.h"

#include "base/hash.h"
#include "cli/util/paged.h"
#include "cli/util/xalloc.h"
#include "model/gpu_counter_names.h"
#include "model/cuda/step_host.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

/* The names of the attributes, in the order of enum stat_key. */
#define STAT_KEY_NAME(id, name) name,
static const char all_counters[] = GPU_COUNTER_PREFIX "*";
const char *const stat_wanted[] = {STAT_KEYS(STAT_KEY_NAME) all_counters, NULL};

/* Names and texts that all groups of a report share. */
struct stat_words {
    uint32_t keys[KEY_COUNT]; /* strings of the trace; MAP_NONE: no span has had the attribute up to now */
    struct int_map groups_of_names; /* hash of a call's name → enum call_group */
    struct int_map calls;           /* string of a call's name → struct stat_call, packed */
    struct int_map kept_numbers;    /* hash of a text → its number */
    char **kept;
    size_t kept_count, kept_capacity, kept_bytes;
    struct paged devices;              /* struct stat_device by resource */
    const struct trace_span *launched; /* the kernel of `launch`, which several sections need */
    struct stat_launch launch;
};

static void learn_groups(struct stat_words *words, enum call_domain domain, uint32_t count)
{
    for (uint32_t id = 0; id < count; id++) {
        const struct call_info *info = call_info(domain, id);
        if (info && info->name)
            int_map_set(&words->groups_of_names, hash_text(HASH_START, call_name(info)), info->group);
    }
}

struct stat_words *stat_words_create(void)
{
    struct stat_words *words = xcalloc(1, sizeof *words);
    memset(words->keys, 0xff, sizeof words->keys);
    learn_groups(words, CALL_RUNTIME, call_count_runtime);
    learn_groups(words, CALL_DRIVER, call_count_driver);
    return words;
}

void stat_words_learn(struct stat_words *words, const struct trace *segment)
{
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (words->keys[i] == MAP_NONE)
            words->keys[i] = trace_find_string(segment, stat_wanted[i]);
    }
}

void stat_words_destroy(struct stat_words *words)
{
    int_map_deinit(&words->groups_of_names);
    int_map_deinit(&words->calls);
    int_map_deinit(&words->kept_numbers);
    for (size_t i = 0; i < words->kept_count; i++)
        free(words->kept[i]);
    free(words->kept);
    paged_deinit(&words->devices);
    free(words);
}

void stat_make_current(struct stat *stat, const struct trace *segment)
{
    stat->trace = segment;
    stat->words->launched = NULL;
}

const char *stat_keep(const struct stat *stat, const char *text)
{
    struct stat_words *words = stat->words;
    if (!text)
        return NULL;
    uint64_t key = int_map_mix(hash_text(HASH_START, text));
    uint32_t number;
    while ((number = int_map_get(&words->kept_numbers, key)) != MAP_NONE &&
           strcmp(words->kept[number], text) != 0)
        key++; /* two texts with the same hash have adjacent keys */
    if (number != MAP_NONE)
        return words->kept[number];
    words->kept_bytes += strlen(text);
    int_map_set(&words->kept_numbers, key, (uint32_t)words->kept_count);
    return *XADD(words->kept, words->kept_count, words->kept_capacity) = xstrdup(text);
}

const char *stat_keep_some(const struct stat *stat, const char *text)
{
    return text && stat->words->kept_bytes >= STAT_KEPT_BYTES_MAX ? "(other)" : stat_keep(stat, text);
}

const struct trace_attr *stat_find(const struct stat *stat, const struct trace_span *span, enum stat_key key)
{
    return trace_find_attr(stat->trace, span, stat->words->keys[key]);
}

bool stat_knows(const struct stat *stat, enum stat_key key)
{
    return stat->words->keys[key] != MAP_NONE;
}

const char *stat_attr(const struct stat *stat, const struct trace_span *span, enum stat_key key)
{
    const struct trace_attr *attr = stat_find(stat, span, key);
    return attr ? trace_attr_text(stat->trace, attr) : NULL;
}

uint64_t stat_attr_int(const struct stat *stat, const struct trace_span *span, enum stat_key key,
                       uint64_t otherwise)
{
    const struct trace_attr *attr = stat_find(stat, span, key);
    return attr ? trace_attr_int(stat->trace, attr) : otherwise;
}

const char *stat_kernel_name(const struct stat *stat, const struct trace_span *kernel)
{
    const char *full = stat_attr(stat, kernel, KEY_KERNEL_NAME);
    return full ? full : trace_string(stat->trace, kernel->name);
}

uint64_t stat_kernel_key(const struct stat *stat, const struct trace_span *kernel)
{
    const struct trace_attr *full = stat_find(stat, kernel, KEY_KERNEL_NAME);
    return full ? trace_attr_string(stat->trace, full) : (uint64_t)kernel->name << 32;
}

void stat_fill_spread(struct stat_value *cells, const struct spread *spread)
{
    cells[0] = stat_int(spread->total / spread->count);
    cells[1] = stat_int(spread->median);
    cells[2] = stat_int(spread->p99);
    cells[3] = stat_int(spread->min);
    cells[4] = stat_int(spread->max);
}

uint64_t stat_product(const char *list)
{
    uint64_t product = 1;
    if (!list)
        return 0;
    for (char *at = strchr(list, '['); at && *at && *at != ']'; at += strcspn(at, ",]"))
        product *= strtoull(at + 1, &at, 10);
    return product;
}

struct stat_call stat_call_of(const struct stat *stat, const struct trace_span *span)
{
    uint32_t packed = int_map_get(&stat->words->calls, span->name);
    if (packed == MAP_NONE) {
        const char *name = trace_string(stat->trace, span->name);
        uint32_t group = int_map_get(&stat->words->groups_of_names, hash_text(HASH_START, name));
        group = group == MAP_NONE ? CALL_GROUP_OTHER : group;
        bool submits = group == CALL_GROUP_LAUNCH || group == CALL_GROUP_COPY || group == CALL_GROUP_FILL;
        bool waits = step_host_waits(group, name), is_async = strstr(name, "Async") != NULL;
        packed = group << 3 | (uint32_t)submits << 2 | (uint32_t)waits << 1 | is_async;
        int_map_set(&stat->words->calls, span->name, packed);
    }
    return (struct stat_call){.group = (enum call_group)(packed >> 3),
                              .submits = packed >> 2 & 1,
                              .waits = packed >> 1 & 1,
                              .is_async = packed & 1};
}

bool stat_is_work(const struct stat *stat, const struct trace_span *span)
{
    return trace_class_is_gpu(span->class) &&
           (span->class != CLASS_GPU_OTHER || stat_is(stat_attr(stat, span, KEY_ACTIVITY), "graph"));
}

const struct trace_span *stat_call_of_work(const struct stat *stat, const struct trace_span *work)
{
    const struct trace_span *spans = stat->trace->spans;
    return work->parent == TRACE_NONE || spans[work->parent].class != CLASS_CALL ? NULL
                                                                                 : &spans[work->parent];
}

double stat_device_number(const struct stat *stat, uint32_t resource, const char *attribute)
{
    const char *text = trace_resource_attr(stat->trace, &stat->trace->resources[resource], attribute);
    return text ? strtod(text, NULL) : 0;
}

static uint64_t whole(const struct stat *stat, uint32_t resource, const char *attribute)
{
    return (uint64_t)stat_device_number(stat, resource, attribute);
}

const struct stat_device *stat_device_of(const struct stat *stat, uint32_t resource)
{
    struct stat_device *device = paged_at(&stat->words->devices, resource, sizeof *device);
    if (!device->is_known)
        *device = (struct stat_device){
            .is_known = true,
            .multiprocessors = whole(stat, resource, SEMCONV_CUDA_DEVICE_MULTIPROCESSORS),
            .max_warps = whole(stat, resource, SEMCONV_CUDA_DEVICE_MULTIPROCESSOR_MAX_WARPS),
            .max_blocks = whole(stat, resource, SEMCONV_CUDA_DEVICE_MULTIPROCESSOR_MAX_BLOCKS),
            .registers = whole(stat, resource, SEMCONV_CUDA_DEVICE_MULTIPROCESSOR_MAX_REGISTERS),
            .shared_bytes = whole(stat, resource, SEMCONV_CUDA_DEVICE_MULTIPROCESSOR_MAX_SHARED_MEMORY),
            .warp_threads = whole(stat, resource, SEMCONV_CUDA_DEVICE_WARP_THREADS),
            .major = whole(stat, resource, SEMCONV_CUDA_DEVICE_COMPUTE_CAPABILITY_MAJOR),
        };
    return device;
}

struct stat_launch stat_launch_of(const struct stat *stat, const struct trace_span *kernel)
{
    struct stat_words *words = stat->words;
    if (words->launched == kernel)
        return words->launch;
    struct stat_launch launch = {
        .threads = stat_product(stat_attr(stat, kernel, KEY_BLOCK)),
        .registers = stat_attr_int(stat, kernel, KEY_REGISTERS, 0),
        .shared_bytes = stat_attr_int(stat, kernel, KEY_SHARED_STATIC, 0) +
                        stat_attr_int(stat, kernel, KEY_SHARED_DYNAMIC, 0),
    };
    launch.occupancy = stat_occupancy(stat, kernel->resource, &launch);
    words->launched = kernel;
    words->launch = launch;
    return launch;
}

struct stat_table *stat_report_add(struct stat_report *report, struct stat_table table)
{
    report->tables[report->count] = table;
    return &report->tables[report->count++];
}

struct stat_table *stat_report_find(struct stat_report *report, const char *key)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->tables[i].key && !strcmp(report->tables[i].key, key))
            return &report->tables[i];
    return NULL;
}

void stat_report_sort(struct stat_report *report, const char *column)
{
    for (size_t i = 0; column && i < report->count; i++)
        stat_table_order(&report->tables[i], column);
}

void stat_report_deinit(struct stat_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        stat_table_deinit(&report->tables[i]);
    report->count = 0;
}
