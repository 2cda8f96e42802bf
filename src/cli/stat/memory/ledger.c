#include "cli/stat/memory/ledger.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum operation { TAKE, GIVE, RELEASE, MAP, UNMAP };

/* Addresses and handles are separate number spaces. */
enum space { SPACE_ADDRESS, SPACE_ARRAY, SPACE_VIRTUAL, SPACE_MAPPED };

/* The parameters that give the size of an allocation. */
enum size { SIZE_BYTES, SIZE_PITCH, SIZE_CHANNELS, SIZE_FORMAT };

/* Names without "_ptsz". Calls that only reserve addresses or create a pool allocate no memory. */
static const struct function {
    const char *name;
    enum stat_key key; /* the address or handle */
    uint8_t operation, space, kind, size;
} functions[] = {
    {"cudaMalloc", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_DEVICE, SIZE_BYTES},
    {"cuMemAlloc", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_DEVICE, SIZE_BYTES},
    {"cudaMallocPitch", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_DEVICE, SIZE_PITCH},
    {"cuMemAllocPitch", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_DEVICE, SIZE_PITCH},
    {"cudaMalloc3D", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_DEVICE, SIZE_PITCH},
    {"cudaMallocAsync", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_POOL, SIZE_BYTES},
    {"cuMemAllocAsync", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_POOL, SIZE_BYTES},
    {"cudaMallocFromPoolAsync", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_POOL, SIZE_BYTES},
    {"cuMemAllocFromPoolAsync", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_POOL, SIZE_BYTES},
    {"cudaMallocManaged", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_MANAGED, SIZE_BYTES},
    {"cuMemAllocManaged", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_MANAGED, SIZE_BYTES},
    {"cudaMallocHost", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_PINNED, SIZE_BYTES},
    {"cudaHostAlloc", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_PINNED, SIZE_BYTES},
    {"cuMemAllocHost", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_PINNED, SIZE_BYTES},
    {"cuMemHostAlloc", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_PINNED, SIZE_BYTES},
    {"cudaHostRegister", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_REGISTERED, SIZE_BYTES},
    {"cuMemHostRegister", KEY_ARG_PTR, TAKE, SPACE_ADDRESS, MEMORY_REGISTERED, SIZE_BYTES},
    {"cudaMallocArray", KEY_ARG_ARRAY, TAKE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_CHANNELS},
    {"cudaMalloc3DArray", KEY_ARG_ARRAY, TAKE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_CHANNELS},
    {"cudaMallocMipmappedArray", KEY_ARG_MIPMAPPED_ARRAY, TAKE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_CHANNELS},
    {"cuArrayCreate", KEY_ARG_HANDLE, TAKE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_FORMAT},
    {"cuArray3DCreate", KEY_ARG_HANDLE, TAKE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_FORMAT},
    {"cuMipmappedArrayCreate", KEY_ARG_HANDLE, TAKE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_FORMAT},
    {"cuMemCreate", KEY_ARG_HANDLE, TAKE, SPACE_VIRTUAL, MEMORY_VIRTUAL, SIZE_BYTES},
    {"cuMemMap", KEY_ARG_PTR, MAP, SPACE_MAPPED, MEMORY_VIRTUAL, SIZE_BYTES},
    {"cuMemUnmap", KEY_ARG_PTR, UNMAP, SPACE_MAPPED, MEMORY_VIRTUAL, SIZE_BYTES},
    {"cuMemRelease", KEY_ARG_HANDLE, RELEASE, SPACE_VIRTUAL, MEMORY_VIRTUAL, SIZE_BYTES},
    {"cudaFree", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_DEVICE, SIZE_BYTES},
    {"cuMemFree", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_DEVICE, SIZE_BYTES},
    {"cudaFreeAsync", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_POOL, SIZE_BYTES},
    {"cuMemFreeAsync", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_POOL, SIZE_BYTES},
    {"cudaFreeHost", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_PINNED, SIZE_BYTES},
    {"cuMemFreeHost", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_PINNED, SIZE_BYTES},
    {"cudaHostUnregister", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_REGISTERED, SIZE_BYTES},
    {"cuMemHostUnregister", KEY_ARG_PTR, GIVE, SPACE_ADDRESS, MEMORY_REGISTERED, SIZE_BYTES},
    {"cudaFreeArray", KEY_ARG_ARRAY, GIVE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_BYTES},
    {"cuArrayDestroy", KEY_ARG_ARRAY, GIVE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_BYTES},
    {"cudaFreeMipmappedArray", KEY_ARG_MIPMAPPED_ARRAY, GIVE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_BYTES},
    {"cuMipmappedArrayDestroy", KEY_ARG_MIPMAPPED_ARRAY, GIVE, SPACE_ARRAY, MEMORY_ARRAY, SIZE_BYTES},
};

/* Errors of a process or context that is ending: everything is freed anyway, so the free is not invalid. */
static const char *const endings[] = {"cudaErrorCudartUnloading", "CUDA_ERROR_DEINITIALIZED",
                                      "cudaErrorContextIsDestroyed", "CUDA_ERROR_CONTEXT_IS_DESTROYED"};

struct event {
    uint64_t time_ns;
    const struct trace_span *call;
    const struct function *function;
};

struct replay {
    struct ledger *ledger;
    struct int_map blocks; /* space, process and address → latest block at the address, live or freed */
};

static const struct function *function_of(const struct stat *stat, const struct trace_span *call)
{
    enum call_group group = stat_call_group(stat, call);
    if (call->class != CLASS_CALL || (group != CALL_GROUP_ALLOC && group != CALL_GROUP_FREE))
        return NULL;
    const char *name = trace_string(stat->trace, call->name);
    const char *suffix = strstr(name, "_pts");
    size_t len = suffix ? (size_t)(suffix - name) : strlen(name);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strncmp(functions[i].name, name, len) == 0 && !functions[i].name[len])
            return &functions[i];
    }
    return NULL;
}

static uint64_t number_of(const struct stat *stat, const struct trace_span *call, enum stat_key key,
                          uint64_t otherwise)
{
    const char *text = stat_attr(stat, call, key);
    return text ? strtoull(text, NULL, 0) : otherwise; /* addresses are hexadecimal */
}

static uint64_t extent(const struct stat *stat, const struct trace_span *call, enum stat_key key)
{
    uint64_t value = number_of(stat, call, key, 1);
    return value ? value : 1; /* the array lacks this dimension */
}

/* Bits of a channel by its format's name, "UnsignedInt8" or "Half"; 0: another kind, of
 * unknown size. */
static uint64_t format_bits(const char *format)
{
    static const struct {
        const char *name;
        uint64_t bits;
    } formats[] = {{"UnsignedInt8", 8}, {"UnsignedInt16", 16}, {"UnsignedInt32", 32}, {"SignedInt8", 8},
                   {"SignedInt16", 16}, {"SignedInt32", 32},   {"Half", 16},          {"Float", 32}};
    for (size_t i = 0; format && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(format, formats[i].name) == 0)
            return formats[i].bits;
    }
    return 0;
}

static uint64_t element_bytes(const struct stat *stat, const struct trace_span *call, uint8_t size)
{
    if (size == SIZE_FORMAT)
        return format_bits(stat_attr(stat, call, KEY_ARG_FORMAT)) *
               number_of(stat, call, KEY_ARG_CHANNELS, 1) / 8;
    return (number_of(stat, call, KEY_ARG_CHANNEL_X, 0) + number_of(stat, call, KEY_ARG_CHANNEL_Y, 0) +
            number_of(stat, call, KEY_ARG_CHANNEL_Z, 0) + number_of(stat, call, KEY_ARG_CHANNEL_W, 0)) /
           8;
}

/* All levels of a mipmapped array, each half as large in every dimension. */
static uint64_t array_bytes(const struct stat *stat, const struct trace_span *call, uint8_t size)
{
    uint64_t width = extent(stat, call, KEY_ARG_WIDTH), height = extent(stat, call, KEY_ARG_HEIGHT),
             depth = extent(stat, call, KEY_ARG_DEPTH), elements = 0;
    uint64_t levels = number_of(stat, call, size == SIZE_FORMAT ? KEY_ARG_MIPMAP_LEVELS : KEY_ARG_LEVELS, 1);
    for (uint64_t level = 0; level < levels && level < 64; level++) {
        elements += width * height * depth;
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
        depth = depth > 1 ? depth / 2 : 1;
    }
    return elements * element_bytes(stat, call, size);
}

static uint64_t bytes_of(const struct stat *stat, const struct trace_span *call,
                         const struct function *function)
{
    switch (function->size) {
    case SIZE_PITCH: /* a failed call has none; then the requested size */
        return number_of(stat, call, KEY_ARG_PITCH, number_of(stat, call, KEY_ARG_WIDTH, 0)) *
               extent(stat, call, KEY_ARG_HEIGHT) * extent(stat, call, KEY_ARG_DEPTH);
    case SIZE_CHANNELS:
    case SIZE_FORMAT:
        return array_bytes(stat, call, function->size);
    default:
        return number_of(stat, call, KEY_ARG_BYTES, 0);
    }
}

bool ledger_allocates(const struct stat *stat, const struct trace_span *call, enum memory_kind *kind,
                      uint64_t *bytes)
{
    const struct function *function = function_of(stat, call);
    if (!function || function->operation != TAKE)
        return false;
    *kind = (enum memory_kind)function->kind;
    *bytes = bytes_of(stat, call, function);
    return true;
}

const char *ledger_kind_name(enum memory_kind kind)
{
    static const char *const names[MEMORY_KINDS] = {"device",  "pool",   "virtual",   "array",
                                                    "managed", "pinned", "registered"};
    return names[kind];
}

/* --- the replay --- */

static uint64_t key_of(enum space space, uint32_t process, uint64_t address)
{
    return int_map_mix(address + ((uint64_t)space << 61)) ^ process;
}

static bool is_ending(const struct trace *trace, const struct trace_span *call)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (strcmp(trace_string(trace, call->error), endings[i]) == 0)
            return true;
    }
    return false;
}

static uint32_t device_of(const struct places *places, const struct event *event)
{
    const char *location = stat_attr(places->stat, event->call, KEY_ARG_LOCATION_TYPE);
    const char *index = stat_attr(places->stat, event->call, KEY_ARG_LOCATION_ID);
    if (ledger_is_host((enum memory_kind)event->function->kind))
        return TRACE_NONE;
    if (event->function->kind == MEMORY_VIRTUAL)
        return location && index && strcmp(location, "Device") == 0
                   ? places_device_named(places, places_process(places, event->call), index)
                   : TRACE_NONE;
    return places_device(places, event->call);
}

static void end_block(struct ledger_block *block, const struct event *event)
{
    block->until_ns = event->time_ns;
    block->freed_by = event->call;
}

static bool is_living(const struct ledger_block *block)
{
    return block->until_ns == UINT64_MAX && !block->is_released;
}

static void take(struct replay *replay, const struct event *event, uint64_t address)
{
    struct ledger *ledger = replay->ledger;
    const struct stat *stat = ledger->places->stat;
    uint32_t process = places_process(ledger->places, event->call);
    uint64_t key = key_of((enum space)event->function->space, process, address);
    uint32_t old = int_map_get(&replay->blocks, key);
    const char *pool = stat_attr(stat, event->call, KEY_ARG_POOL);
    if (old != MAP_NONE && ledger->blocks[old].until_ns == UINT64_MAX) {
        ledger->blocks[old].until_ns = event->time_ns;
        ledger->reused++;
    }
    ledger->blocks =
        xgrow(ledger->blocks, &ledger->block_capacity, ledger->block_count + 1, sizeof *ledger->blocks);
    ledger->blocks[ledger->block_count] = (struct ledger_block){
        .call = event->call,
        .bytes = bytes_of(stat, event->call, event->function),
        .from_ns = event->time_ns,
        .until_ns = UINT64_MAX,
        .process = process,
        .device = device_of(ledger->places, event),
        .pool = pool ? (uint32_t)(pool - stat->trace->strings) : 0,
        .kind = event->function->kind,
    };
    int_map_set(&replay->blocks, key, (uint32_t)ledger->block_count++);
}

static void add_wrong(struct ledger *ledger, const struct trace_span *call, uint32_t block,
                      enum ledger_wrong wrong)
{
    ledger->frees =
        xgrow(ledger->frees, &ledger->free_capacity, ledger->free_count + 1, sizeof *ledger->frees);
    ledger->frees[ledger->free_count++] = (struct ledger_free){call, block, (uint8_t)wrong};
}

/* The live block at the address. MAP_NONE: there is none, and the free is recorded as invalid. */
static uint32_t living(struct replay *replay, const struct event *event, uint64_t key)
{
    struct ledger *ledger = replay->ledger;
    uint32_t number = int_map_get(&replay->blocks, key);
    if (number != MAP_NONE && is_living(&ledger->blocks[number]))
        return number;
    if (is_ending(ledger->places->stat->trace, event->call))
        return MAP_NONE;
    if (!event->call->error)
        add_wrong(ledger, event->call, TRACE_NONE, LEDGER_FOREIGN);
    else if (number != MAP_NONE)
        add_wrong(ledger, event->call, number, LEDGER_TWICE);
    else
        add_wrong(ledger, event->call, TRACE_NONE, LEDGER_UNKNOWN);
    return MAP_NONE;
}

static void give(struct replay *replay, const struct event *event, uint64_t address)
{
    struct ledger *ledger = replay->ledger;
    uint64_t key =
        key_of((enum space)event->function->space, places_process(ledger->places, event->call), address);
    uint32_t number = living(replay, event, key);
    if (number == MAP_NONE || (event->call->error && !is_ending(ledger->places->stat->trace, event->call)))
        return;
    if (event->function->operation == RELEASE && ledger->blocks[number].maps) {
        ledger->blocks[number].is_released = true;
        return;
    }
    end_block(&ledger->blocks[number], event);
}

/* A mapped address keeps a block of physical memory alive. */
static void map_block(struct replay *replay, const struct event *event, uint64_t address)
{
    struct ledger *ledger = replay->ledger;
    uint32_t process = places_process(ledger->places, event->call);
    uint64_t handle = number_of(ledger->places->stat, event->call, KEY_ARG_HANDLE, 0);
    uint32_t number = int_map_get(&replay->blocks, key_of(SPACE_VIRTUAL, process, handle));
    if (number == MAP_NONE || ledger->blocks[number].until_ns != UINT64_MAX)
        return;
    ledger->blocks[number].maps++;
    int_map_set(&replay->blocks, key_of(SPACE_MAPPED, process, address), number);
}

/* Unmaps all blocks from the address on: one call can unmap several. Blocks are assumed to be mapped
 * completely. */
static void unmap_blocks(struct replay *replay, const struct event *event, uint64_t address)
{
    struct ledger *ledger = replay->ledger;
    uint32_t process = places_process(ledger->places, event->call);
    uint64_t end = address + number_of(ledger->places->stat, event->call, KEY_ARG_BYTES, 0);
    while (address < end) {
        uint32_t number = int_map_get(&replay->blocks, key_of(SPACE_MAPPED, process, address));
        struct ledger_block *block = number == MAP_NONE ? NULL : &ledger->blocks[number];
        if (!block || !block->maps || !block->bytes)
            return;
        address += block->bytes;
        if (--block->maps == 0 && block->is_released)
            end_block(block, event);
    }
}

static void play(struct replay *replay, const struct event *event)
{
    struct ledger *ledger = replay->ledger;
    uint8_t operation = event->function->operation;
    uint64_t address = number_of(ledger->places->stat, event->call, event->function->key, 0);
    if (operation == TAKE && event->call->error) {
        ledger->failed =
            xgrow(ledger->failed, &ledger->failed_capacity, ledger->failed_count + 1, sizeof *ledger->failed);
        ledger->failed[ledger->failed_count++] = event->call;
        return;
    }
    if (!address) /* cudaFree(NULL) frees nothing; without `capture.parameters` there are no addresses */
        return;
    if (operation == TAKE)
        take(replay, event, address);
    else if (operation == GIVE || operation == RELEASE)
        give(replay, event, address);
    else if (operation == MAP && !event->call->error)
        map_block(replay, event, address);
    else if (operation == UNMAP && !event->call->error)
        unmap_blocks(replay, event, address);
}

static bool takes_effect_at_end(const struct function *function)
{
    return function->operation == TAKE || function->operation == MAP;
}

/* By time; within the same ns allocations first: an address can be freed as soon as it is allocated, but not
 * allocated before its free has started. */
static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    bool x_takes = takes_effect_at_end(x->function), y_takes = takes_effect_at_end(y->function);
    if (x_takes != y_takes)
        return x_takes ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

static struct event *collect(const struct stat *stat, size_t *count)
{
    struct event *events = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t i = 0; i < stat->trace->span_count; i++) {
        const struct trace_span *span = &stat->trace->spans[i];
        const struct function *function = function_of(stat, span);
        if (!function)
            continue;
        events = xgrow(events, &capacity, *count + 1, sizeof *events);
        events[(*count)++] =
            (struct event){takes_effect_at_end(function) ? span->end_ns : span->start_ns, span, function};
    }
    if (events)
        qsort(events, *count, sizeof *events, compare_events);
    return events;
}

void ledger_init(struct ledger *ledger, const struct places *places)
{
    size_t count;
    struct event *events = collect(places->stat, &count);
    *ledger = (struct ledger){.places = places};
    struct replay replay = {.ledger = ledger};
    for (size_t i = 0; i < count; i++)
        play(&replay, &events[i]);
    int_map_deinit(&replay.blocks);
    free(events);
}

void ledger_deinit(struct ledger *ledger)
{
    free(ledger->blocks);
    free(ledger->frees);
    free(ledger->failed);
    *ledger = (struct ledger){0};
}
