#include "agent/correlate/totals/allocations.h"

#include "base/hash.h"
#include "base/accounting/counters.h"
#include "agent/correlate/spans/attributes.h"
#include "model/semconv.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_FIRST  1024
#define TABLE_MAX    (ALLOCATIONS_MAX / 3 * 4) /* a quarter stays free */
#define CONTEXTS_MAX 64

/* The key is address and kind: a handle of cuMemCreate can equal an address. */
struct allocation {
    uint64_t address, bytes; /* address 0: free */
    uint32_t context;        /* index into contexts */
    uint8_t kind;
};

struct context_memory {
    uint32_t context_id;
    uint32_t device_id;       /* LIVE_STATS_DEVICE_UNKNOWN */
    struct device_memory own; /* as long as the device is unknown */
};

struct allocations {
    uint32_t size, used; /* of the table, a power of two */
    struct allocation *table;
    uint32_t context_count;
    struct context_memory contexts[CONTEXTS_MAX]; /* the last one is for contexts beyond the table */
    struct device_memory devices[DEVICES_MAX];
    struct memory_use pinned;
};

enum status allocations_create(struct allocations **allocations)
{
    struct allocations *made = calloc(1, sizeof *made);
    if (made)
        made->table = calloc(TABLE_FIRST, sizeof *made->table);
    if (!made || !made->table) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    made->size = TABLE_FIRST;
    *allocations = made;
    return STATUS_OK;
}

void allocations_destroy(struct allocations *allocations)
{
    if (!allocations)
        return;
    free(allocations->table);
    free(allocations);
}

static void change(struct memory_use *use, uint64_t bytes, bool is_held)
{
    if (is_held)
        use->live += bytes;
    else
        use->live -= bytes < use->live ? bytes : use->live;
    if (use->live > use->peak)
        use->peak = use->live;
}

static struct device_memory *holdings_of(struct allocations *a, uint32_t context)
{
    struct context_memory *memory = &a->contexts[context];
    return memory->device_id < DEVICES_MAX ? &a->devices[memory->device_id] : &memory->own;
}

/* Adds the allocation to the numbers of its device or context (`is_held`), or subtracts it. */
static void hold(struct allocations *a, const struct allocation *allocation, bool is_held)
{
    struct device_memory *holdings = holdings_of(a, allocation->context);
    if (allocation->kind == MEMORY_PINNED) {
        change(&a->pinned, allocation->bytes, is_held);
        return;
    }
    change(&holdings->kinds[allocation->kind], allocation->bytes, is_held);
    change(&holdings->total, allocation->bytes, is_held);
}

static uint32_t place_of(const struct allocations *a, uint64_t address)
{
    return (uint32_t)(address * HASH_SPREAD >> 32) & (a->size - 1);
}

static uint32_t find(const struct allocations *a, uint64_t address)
{
    uint32_t at = place_of(a, address);
    while (a->table[at].address && a->table[at].address != address)
        at = (at + 1) & (a->size - 1);
    return at;
}

static bool make_room(struct allocations *a)
{
    struct allocation *before = a->table;
    uint32_t size = a->size;
    if (a->used < size / 4 * 3)
        return true;
    if (size == TABLE_MAX || !(a->table = calloc(size * 2, sizeof *a->table))) {
        a->table = before;
        return false;
    }
    a->size = size * 2;
    for (uint32_t i = 0; i < size; i++)
        if (before[i].address)
            a->table[find(a, before[i].address)] = before[i];
    free(before);
    return true;
}

/* Removes an entry and closes the gap: moves up entries that were displaced past it. */
static void take_out(struct allocations *a, uint32_t at)
{
    uint32_t next = at;
    a->used--;
    for (;;) {
        a->table[at].address = 0;
        do {
            next = (next + 1) & (a->size - 1);
            if (!a->table[next].address)
                return;
        } while (((next - place_of(a, a->table[next].address)) & (a->size - 1)) <
                 ((next - at) & (a->size - 1)));
        a->table[at] = a->table[next];
        at = next;
    }
}

static void put(struct allocations *a, const struct allocation *allocation)
{
    uint32_t at = find(a, allocation->address);
    if (a->table[at].address) { /* the free of the old allocation was not seen */
        hold(a, &a->table[at], false);
    } else if (make_room(a)) {
        at = find(a, allocation->address);
        a->used++;
    } else {
        counter_add_alone(COUNTER_allocations_untracked, 1);
        return;
    }
    a->table[at] = *allocation;
    hold(a, allocation, true);
}

static void end(struct allocations *a, uint64_t address)
{
    uint32_t at = find(a, address);
    if (!address || !a->table[at].address)
        return; /* NULL, or allocated before tracing */
    hold(a, &a->table[at], false);
    take_out(a, at);
}

static uint32_t context_of(struct allocations *a, uint32_t context_id)
{
    for (uint32_t i = 0; i < a->context_count; i++)
        if (a->contexts[i].context_id == context_id)
            return i;
    if (a->context_count == CONTEXTS_MAX)
        return CONTEXTS_MAX - 1;
    a->contexts[a->context_count] =
        (struct context_memory){.context_id = context_id, .device_id = LIVE_STATS_DEVICE_UNKNOWN};
    return a->context_count++;
}

static void move(struct memory_use *to, struct memory_use *from)
{
    uint64_t peak = to->live + from->peak;
    to->live += from->live;
    if (peak > to->peak)
        to->peak = peak;
    *from = (struct memory_use){0};
}

static void settle(struct allocations *a, struct context_memory *memory, uint32_t device_id)
{
    struct device_memory *device = &a->devices[device_id];
    memory->device_id = device_id;
    for (unsigned kind = 0; kind < MEMORY_KINDS; kind++)
        move(&device->kinds[kind], &memory->own.kinds[kind]);
    move(&device->total, &memory->own.total);
}

/* A call that creates its context names context 0. Its memory belongs to the first context that appears. */
void allocations_learn(struct allocations *a, uint32_t context_id, uint32_t device_id)
{
    if (device_id >= DEVICES_MAX || !context_id)
        return;
    struct context_memory *memory = &a->contexts[context_of(a, context_id)];
    if (memory->device_id != LIVE_STATS_DEVICE_UNKNOWN || memory->context_id != context_id)
        return;
    settle(a, memory, device_id);
    struct context_memory *none = &a->contexts[context_of(a, 0)];
    if (none->context_id == 0 && none->device_id == LIVE_STATS_DEVICE_UNKNOWN)
        settle(a, none, device_id);
}

void allocations_end_context(struct allocations *a, uint32_t context_id)
{
    uint32_t context = context_of(a, context_id);
    if (a->contexts[context].context_id != context_id)
        return;
    for (uint32_t i = 0; i < a->size;) {
        const struct allocation *allocation = &a->table[i];
        if (!allocation->address || allocation->context != context || allocation->kind == MEMORY_PINNED) {
            i++;
            continue;
        }
        hold(a, allocation, false);
        take_out(a, i); /* another entry may have moved here */
    }
}

static enum memory_kind kind_of(const char *name)
{
    if (strstr(name, "Host"))
        return MEMORY_PINNED;
    if (strstr(name, "Managed"))
        return MEMORY_MANAGED;
    if (strstr(name, "Async"))
        return MEMORY_POOL;
    return strcmp(name, "cuMemCreate") == 0 ? MEMORY_PHYSICAL : MEMORY_DEVICE;
}

/* False: the call allocates nothing with an address and a size. It reserves addresses, or makes a pool or
 * array. */
static bool sizes(const struct call_info *info, const struct call_record *call, struct allocation *allocation)
{
    const char *name = call_name(info);
    uint64_t pitch, height, depth;
    if (strstr(name, "Register") || strstr(name, "Reserve") || strcmp(name, "cuMemMap") == 0 ||
        strcmp(name, "cuMemSetAccess") == 0)
        return false;
    if (strcmp(name, "cuMemCreate") == 0)
        return attributes_param(info, call, SEMCONV_CUDA_ARG_HANDLE, &allocation->address) &&
               attributes_param(info, call, SEMCONV_CUDA_ARG_BYTES, &allocation->bytes);
    if (!attributes_param(info, call, SEMCONV_CUDA_ARG_PTR, &allocation->address))
        return false;
    if (attributes_param(info, call, SEMCONV_CUDA_ARG_BYTES, &allocation->bytes))
        return true;
    if (!attributes_param(info, call, SEMCONV_CUDA_ARG_PITCH, &pitch) ||
        !attributes_param(info, call, SEMCONV_CUDA_ARG_HEIGHT, &height))
        return false;
    allocation->bytes =
        pitch * height * (attributes_param(info, call, SEMCONV_CUDA_ARG_DEPTH, &depth) ? depth : 1);
    return true;
}

void allocations_note(struct allocations *a, const struct call_info *info, const struct call_record *call)
{
    struct allocation allocation = {0};
    const char *name = call_name(info);
    if (call->result != 0)
        return;
    if (info->group == CALL_GROUP_ALLOC && sizes(info, call, &allocation) && allocation.address) {
        allocation.kind = (uint8_t)kind_of(name);
        allocation.context = context_of(a, call->context_id);
        put(a, &allocation);
    } else if (info->group == CALL_GROUP_FREE && !strstr(name, "Unregister") &&
               strcmp(name, "cuMemAddressFree") != 0 && strcmp(name, "cuMemUnmap") != 0 &&
               (attributes_param(info, call, SEMCONV_CUDA_ARG_PTR, &allocation.address) ||
                attributes_param(info, call, SEMCONV_CUDA_ARG_HANDLE, &allocation.address))) {
        end(a, allocation.address);
    }
}

const struct device_memory *allocations_of_device(const struct allocations *a, uint32_t device_id)
{
    return &a->devices[device_id];
}

struct memory_use allocations_pinned(const struct allocations *a)
{
    return a->pinned;
}
