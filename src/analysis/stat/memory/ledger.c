#include "analysis/stat/memory/ledger.h"

#include "analysis/code/code_book.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum operation { TAKE, GIVE, RELEASE, MAP, UNMAP };

/* Addresses and handles are separate number spaces. */
enum space { SPACE_ADDRESS, SPACE_ARRAY, SPACE_VIRTUAL, SPACE_MAPPED };

/* The parameters that give the size of an allocation. */
enum size { SIZE_BYTES, SIZE_PITCH, SIZE_CHANNELS, SIZE_FORMAT };

/* The calls that allocate or free, by names without "_ptsz". Calls that only reserve addresses or create a
 * pool allocate no memory. */
static const struct function {
    const char *name;
    enum stat_key key; /* attribute with the address or handle */
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

static const struct function *function_of(const struct stat *stat, const struct trace_span *call)
{
    enum call_group group = stat_call_of(stat, call).group;
    if (group != CALL_GROUP_ALLOC && group != CALL_GROUP_FREE)
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
    const struct trace_attr *attr = stat_find(stat, call, key);
    if (attr && attr->type == TRACE_STRING) /* addresses are hexadecimal */
        return strtoull(trace_attr_text(stat->trace, attr), NULL, 0);
    return attr ? trace_attr_int(stat->trace, attr) : otherwise;
}

static uint64_t extent(const struct stat *stat, const struct trace_span *call, enum stat_key key)
{
    uint64_t value = number_of(stat, call, key, 1);
    return value ? value : 1; /* the array lacks this dimension */
}

/* Returns the bits of a channel by its format's name, such as "UnsignedInt8" or "Half"; 0: another kind, of
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

/* Returns the bytes of an array, with all levels of a mipmapped one, each half as large in every dimension.
 */
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
    case SIZE_PITCH: /* a failed call has no pitch: use the requested size */
        return number_of(stat, call, KEY_ARG_PITCH, number_of(stat, call, KEY_ARG_WIDTH, 0)) *
               extent(stat, call, KEY_ARG_HEIGHT) * extent(stat, call, KEY_ARG_DEPTH);
    case SIZE_CHANNELS:
    case SIZE_FORMAT:
        return array_bytes(stat, call, function->size);
    default:
        return number_of(stat, call, KEY_ARG_BYTES, 0);
    }
}

enum memory_kind ledger_kind_of(const struct ledger_call *call)
{
    return (enum memory_kind)functions[call->function].kind;
}

const char *ledger_kind_name(enum memory_kind kind)
{
    static const char *const names[MEMORY_KINDS] = {"device",  "pool",   "virtual",   "array",
                                                    "managed", "pinned", "registered"};
    return names[kind];
}

/* --- taking spans --- */

static bool takes_effect_at_end(const struct function *function)
{
    return function->operation == TAKE || function->operation == MAP;
}

static uint64_t effect_ns(const struct ledger_call *call)
{
    return takes_effect_at_end(&functions[call->function]) ? call->end_ns : call->start_ns;
}

/* The calls of a process whose used_ns is still unknown. */
struct awaiting {
    uint32_t *calls;
    size_t count, capacity;
};

static uint32_t origin_of(struct ledger *ledger, const struct stat *stat, const struct trace_span *span)
{
    uint32_t origin = code_book_origin(stat->code, stat, span);
    const char *text = stat_attr(stat, span, KEY_STACK);
    if (!text)
        return origin;
    if (int_map_number(&ledger->text_numbers, origin) == ledger->text_count)
        *XADD(ledger->texts, ledger->text_count, ledger->text_capacity) = stat_keep_some(stat, text);
    return origin;
}

const char *ledger_stack_text(const struct ledger *ledger, const struct ledger_call *call)
{
    uint32_t number = int_map_get(&ledger->text_numbers, call->origin);
    return number == MAP_NONE ? NULL : ledger->texts[number];
}

static void take_call(struct ledger *ledger, const struct stat *stat, const struct trace_span *span,
                      const struct function *function)
{
    if (ledger->call_count == LEDGER_EVENTS_MAX) {
        ledger->left_out++;
        return;
    }
    uint32_t number = (uint32_t)ledger->call_count, process = places_process(stat->places, span);
    bool is_on_gpu =
        function->kind == MEMORY_VIRTUAL && stat_is(stat_attr(stat, span, KEY_ARG_LOCATION_TYPE), "Device");
    struct ledger_call *call = XADD(ledger->calls, ledger->call_count, ledger->call_capacity);
    *call = (struct ledger_call){
        .start_ns = span->start_ns,
        .end_ns = span->end_ns,
        .used_ns = UINT64_MAX,
        .address = number_of(stat, span, function->key, 0),
        .bytes = bytes_of(stat, span, function),
        .mapped = function->operation == MAP ? number_of(stat, span, KEY_ARG_HANDLE, 0) : 0,
        .pool = stat_keep_some(stat, stat_attr(stat, span, KEY_ARG_POOL)),
        .gpu = is_on_gpu ? stat_keep(stat, stat_attr(stat, span, KEY_ARG_LOCATION_ID)) : NULL,
        .name = span->name,
        .error = span->error,
        .range = places_range(stat, span),
        .thread = span->thread,
        .process = process,
        .context = places_context(stat, span),
        .order = number,
        .origin = function->operation == TAKE ? origin_of(ledger, stat, span) : 0,
        .function = (uint8_t)(function - functions),
        .is_address = function->key == KEY_ARG_PTR,
    };
    struct awaiting *awaiting = paged_at(&ledger->awaiting, process, sizeof *awaiting);
    *XADD(awaiting->calls, awaiting->count, awaiting->capacity) = number;
}

/* Sets used_ns of the calls before `submitted_ns`, when work that starts at `work_ns` was submitted. */
static void answer(struct ledger *ledger, struct awaiting *awaiting, uint64_t submitted_ns, uint64_t work_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < awaiting->count; i++) {
        struct ledger_call *call = &ledger->calls[awaiting->calls[i]];
        if (effect_ns(call) <= submitted_ns)
            call->used_ns = work_ns;
        else
            awaiting->calls[kept++] = awaiting->calls[i];
    }
    awaiting->count = kept;
}

/* Returns the start of the first work that the call submitted, if it started later than the call; UINT64_MAX:
 * there is none. */
static uint64_t submitted_by(const struct stat *stat, const struct trace_span *call)
{
    const struct trace_span *spans = stat->trace->spans;
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t at = call->first_child; at != TRACE_NONE; at = spans[at].next_sibling) {
        if (spans[at].start_ns > call->start_ns && spans[at].start_ns < first_ns &&
            stat_is_work(stat, &spans[at]))
            first_ns = spans[at].start_ns;
    }
    return first_ns;
}

static void take_submission(struct ledger *ledger, const struct stat *stat, const struct trace_span *span)
{
    uint32_t process = places_process(stat->places, span);
    struct awaiting *awaiting = paged_find(&ledger->awaiting, process, sizeof *awaiting);
    if (!awaiting || !awaiting->count)
        return;
    if (span->class == CLASS_CALL) {
        uint64_t first_ns = submitted_by(stat, span);
        if (first_ns != UINT64_MAX)
            answer(ledger, awaiting, span->start_ns, first_ns);
    } else if (stat_is_work(stat, span)) {
        const struct trace_span *call = stat_call_of_work(stat, span);
        if (!call || call->start_ns >= span->start_ns)
            answer(ledger, awaiting, span->start_ns, span->start_ns);
    }
}

void ledger_take(struct ledger *ledger, const struct stat *stat, const struct trace_span *span)
{
    take_submission(ledger, stat, span);
    const struct function *function = span->class == CLASS_CALL ? function_of(stat, span) : NULL;
    if (function)
        take_call(ledger, stat, span, function);
}

/* --- the replay --- */

static uint64_t key_of(enum space space, uint32_t process, uint64_t address)
{
    return int_map_mix(address + ((uint64_t)space << 61)) ^ process;
}

static bool is_ending(const struct trace *trace, const struct ledger_call *call)
{
    bool is_one = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        is_one |= strcmp(trace_string(trace, call->error), endings[i]) == 0;
    return is_one;
}

static uint32_t device_of(const struct places *places, const struct ledger_call *call)
{
    enum memory_kind kind = ledger_kind_of(call);
    if (ledger_is_host(kind))
        return TRACE_NONE;
    if (kind == MEMORY_VIRTUAL)
        return call->gpu ? places_device_named(places, call->process, call->gpu) : TRACE_NONE;
    return places_device(places, call->process, call->context);
}

static void end_block(struct ledger_block *block, const struct ledger_call *call)
{
    block->until_ns = effect_ns(call);
    block->freed_by = call;
}

static uint64_t key_of_call(const struct ledger_call *call, uint64_t address)
{
    return key_of((enum space)functions[call->function].space, call->process, address);
}

static void take(struct ledger *ledger, const struct ledger_call *call)
{
    uint64_t key = key_of_call(call, call->address);
    uint32_t old = int_map_get(&ledger->latest, key);
    if (old != MAP_NONE && ledger->blocks[old].until_ns == UINT64_MAX)
        ledger->blocks[old].until_ns = effect_ns(call); /* its free was not traced */
    int_map_set(&ledger->latest, key, (uint32_t)ledger->block_count);
    *XADD(ledger->blocks, ledger->block_count, ledger->block_capacity) = (struct ledger_block){
        .call = call,
        .bytes = call->bytes,
        .from_ns = effect_ns(call),
        .until_ns = UINT64_MAX,
        .process = call->process,
        .device = device_of(ledger->places, call),
        .pool = call->pool,
        .kind = functions[call->function].kind,
    };
}

/* Returns the live block at the address; MAP_NONE: there is none, and the free is recorded as invalid unless
 * its process or context is ending. */
static uint32_t living(struct ledger *ledger, const struct ledger_call *call)
{
    uint32_t number = int_map_get(&ledger->latest, key_of_call(call, call->address));
    const struct ledger_block *block = number == MAP_NONE ? NULL : &ledger->blocks[number];
    if (block && block->until_ns == UINT64_MAX && !block->is_released)
        return number;
    if (is_ending(ledger->places->stat->trace, call))
        return MAP_NONE;
    bool is_twice = call->error && block;
    *XADD(ledger->frees, ledger->free_count, ledger->free_capacity) = (struct ledger_free){
        .call = call,
        .block = is_twice ? number : TRACE_NONE,
        .wrong = is_twice      ? LEDGER_TWICE
                 : call->error ? LEDGER_UNKNOWN
                               : LEDGER_FOREIGN,
    };
    return MAP_NONE;
}

static void give(struct ledger *ledger, const struct ledger_call *call)
{
    uint32_t number = living(ledger, call);
    if (number == MAP_NONE || (call->error && !is_ending(ledger->places->stat->trace, call)))
        return;
    if (functions[call->function].operation == RELEASE && ledger->blocks[number].maps) {
        ledger->blocks[number].is_released = true;
        return;
    }
    end_block(&ledger->blocks[number], call);
}

/* Maps a block of physical memory. A mapped address keeps the block alive. */
static void map_block(struct ledger *ledger, const struct ledger_call *call)
{
    uint32_t number = int_map_get(&ledger->latest, key_of(SPACE_VIRTUAL, call->process, call->mapped));
    if (number == MAP_NONE || ledger->blocks[number].until_ns != UINT64_MAX)
        return;
    ledger->blocks[number].maps++;
    int_map_set(&ledger->latest, key_of(SPACE_MAPPED, call->process, call->address), number);
}

/* Unmaps all blocks from the address on: one call can unmap several. Blocks are assumed to be mapped
 * completely. */
static void unmap_blocks(struct ledger *ledger, const struct ledger_call *call)
{
    uint64_t address = call->address, end = address + call->bytes;
    while (address < end) {
        uint32_t number = int_map_get(&ledger->latest, key_of(SPACE_MAPPED, call->process, address));
        struct ledger_block *block = number == MAP_NONE ? NULL : &ledger->blocks[number];
        if (!block || !block->maps || !block->bytes)
            return;
        address += block->bytes;
        if (--block->maps == 0 && block->is_released)
            end_block(block, call);
    }
}

static void play(struct ledger *ledger, const struct ledger_call *call)
{
    uint8_t operation = functions[call->function].operation;
    if (operation == TAKE && call->error) {
        *XADD(ledger->failed, ledger->failed_count, ledger->failed_capacity) = call;
        return;
    }
    if (!call->address) /* cudaFree(NULL) frees nothing; without `capture.parameters` there are no addresses
                         */
        return;
    if (operation == TAKE)
        take(ledger, call);
    else if (operation == GIVE || operation == RELEASE)
        give(ledger, call);
    else if (operation == MAP && !call->error)
        map_block(ledger, call);
    else if (operation == UNMAP && !call->error)
        unmap_blocks(ledger, call);
}

/* Compares calls by time, and within the same ns, allocations first: an address can be freed as soon as it is
 * allocated, but not allocated before its free has started. */
static int compare_calls(const void *a, const void *b)
{
    const struct ledger_call *x = a, *y = b;
    int order = ORDER(effect_ns(x), effect_ns(y));
    order = order ? order
                  : ORDER(takes_effect_at_end(&functions[y->function]),
                          takes_effect_at_end(&functions[x->function]));
    return order ? order : ORDER(x->order, y->order);
}

void ledger_finish(struct ledger *ledger, const struct stat *stat)
{
    ledger->places = stat->places;
    sort_array(ledger->calls, ledger->call_count, sizeof *ledger->calls, compare_calls);
    for (size_t i = 0; i < ledger->call_count; i++)
        play(ledger, &ledger->calls[i]);
    int_map_deinit(&ledger->latest);
}

void ledger_deinit(struct ledger *ledger)
{
    struct awaiting *awaiting;
    for (size_t i = 0; (awaiting = paged_next(&ledger->awaiting, &i, sizeof *awaiting)); i++)
        free(awaiting->calls);
    paged_deinit(&ledger->awaiting);
    int_map_deinit(&ledger->text_numbers);
    void *arrays[] = {ledger->texts, ledger->calls, ledger->blocks, ledger->frees, ledger->failed};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    *ledger = (struct ledger){0};
}
