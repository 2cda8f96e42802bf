#include "agent/capture/stacks/launch_stacks.h"

#include "base/accounting/counters.h"
#include "base/hash.h"
#include "base/log/log.h"
#include "agent/capture/stacks/code_paths.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define KNOWN_MAX      2048 /* stacks of a thread, in sets of two; a power of two */
#define TABLES         64   /* of known stacks; threads beyond them share tables */
#define FILE_BYTES_MAX 512
#define NAME_BYTES_MAX UINT8_MAX

static struct {
    uint32_t period;
    _Atomic uint64_t *known; /* TABLES tables of KNOWN_MAX marks */
    _Atomic uint32_t tables_used;
    _Atomic(const struct python *) python;
    struct python found;
    bool is_refused;
    bool has_native; /* native stacks are recorded, at least for PLAN_TAKES_EACH */
    bool is_native;  /* native stacks are recorded for all calls */
    cuspan_replay_code_fn *replay;
    _Atomic uint64_t epoch; /* stacks marked in an older epoch are not known */
} stacks;

enum status launch_stacks_start(const struct settings *settings, cuspan_replay_code_fn *replay)
{
    size_t bytes = (size_t)TABLES * KNOWN_MAX * sizeof *stacks.known;
    stacks.replay = replay;
    code_paths_start(settings->capture.code_paths == CODE_PATHS_FULL);
    stacks.period = settings->capture.launch_stacks_period;
    if (!stacks.known) {
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return STATUS_NO_MEMORY;
        stacks.known = memory;
    }
    launch_stacks_look();
    launch_stacks_forget(); /* capture may have run before */
    stacks.has_native = settings_have_native_stacks(settings) && !replay;
    stacks.is_native = stacks.has_native && settings->capture.launch_stacks == LAUNCH_STACKS_ALL;
    return stacks.has_native ? native_frames_start() : STATUS_OK;
}

void launch_stacks_look(void)
{
    if (!stacks.known || stacks.is_refused || stacks.replay ||
        atomic_load_explicit(&stacks.python, memory_order_relaxed) != NULL)
        return;
    struct error err = {0};
    enum status status = python_find(&stacks.found, &err);
    if (status == STATUS_OK)
        atomic_store_explicit(&stacks.python, &stacks.found, memory_order_release);
    if (status != STATUS_UNSUPPORTED)
        return;
    stacks.is_refused = true;
    log_warn("no stacks of Python: %s", err.text);
}

void launch_stacks_forget(void)
{
    atomic_fetch_add_explicit(&stacks.epoch, 1, memory_order_relaxed);
}

/* Whether this call's stack is recorded. Each is with a probability of 1 in `period`, so that sampling does
 * not beat with the program's steps. */
static bool is_due(struct host_thread *thread)
{
    if (stacks.period <= 1)
        return true;
    if (thread->calls_until_code == 0) {
        if (!thread->code_random)
            thread->code_random = (uint32_t)thread->serial * 2654435761u | 1;
        thread->code_random = thread->code_random * 1664525u + 1013904223u;
        thread->calls_until_code =
            1 + (uint32_t)((uint64_t)thread->code_random * (2ull * stacks.period - 1) >> 32);
    }
    return --thread->calls_until_code == 0;
}

#define WAITING_MAX 64 /* threads whose stacks are looked up together */

struct waiting {
    struct native_stack *stacks[WAITING_MAX];
    size_t count;
};

static void add_waiting(struct host_thread *thread, void *context)
{
    struct waiting *waiting = context;
    if (waiting->count < WAITING_MAX && native_stack_is_waiting(&thread->native))
        waiting->stacks[waiting->count++] = &thread->native;
}

void launch_stacks_service(void)
{
    struct waiting waiting = {.count = 0};
    if (!stacks.has_native)
        return;
    native_frames_poll();
    threads_visit(add_waiting, &waiting);
    if (waiting.count)
        (void)native_stacks_find(waiting.stacks, waiting.count);
}

static uint64_t mark_of(uint64_t id)
{
    /* the mark includes the epoch, so that one comparison decides */
    return id + atomic_load_explicit(&stacks.epoch, memory_order_relaxed);
}

/* Returns the thread's table. It belongs to the slot, and so to later threads in the slot, too: stacks that
 * were described once are known. */
static _Atomic uint64_t *table_of(struct host_thread *thread)
{
    if (__builtin_expect(!thread->code_table, 0))
        thread->code_table =
            atomic_fetch_add_explicit(&stacks.tables_used, 1, memory_order_relaxed) % TABLES + 1;
    return &stacks.known[(size_t)(thread->code_table - 1) * KNOWN_MAX];
}

/* Finds the stack's set in the thread's table, and with it the size of its record: `bytes` if it is new. Two
 * threads that share a table can only make a stack unknown: its description may be read after its first
 * use. */
static void look_up(struct host_thread *thread, struct launch_stack *stack, uint32_t bytes)
{
    uint64_t mark = mark_of(stack->id);
    _Atomic uint64_t *set = table_of(thread) + (mark & (KNOWN_MAX - 2));
    bool is_known = atomic_load_explicit(&set[0], memory_order_relaxed) == mark ||
                    atomic_load_explicit(&set[1], memory_order_relaxed) == mark;
    stack->known_set = set;
    stack->bytes_max = is_known ? (uint32_t)sizeof(struct code_record) : bytes;
}

/* Adds the stack to its set, and drops the older of the two stacks there. */
static void remember(const struct launch_stack *stack)
{
    _Atomic uint64_t *set = stack->known_set;
    atomic_store_explicit(&set[1], atomic_load_explicit(&set[0], memory_order_relaxed), memory_order_relaxed);
    atomic_store_explicit(&set[0], mark_of(stack->id), memory_order_relaxed);
}

/* Makes the native caller a part of the stack's ID. While the rules up to the caller are not known, the stack
 * has no caller, and so another ID. */
static void take_caller(struct host_thread *thread, struct launch_stack *stack)
{
    struct native_walk walk;
    native_frames_walk(&thread->native, NATIVE_CALLER, &stack->python.caller.address, 1, &walk);
    if (!walk.count)
        return;
    stack->python.caller.generation = walk.generation;
    stack->id = hash_word(hash_word(stack->id, walk.generation), stack->python.caller.address);
    stack->id ^= stack->id >> 29;
}

static inline bool take_python(struct host_thread *thread, const struct python *python,
                               struct launch_stack *stack)
{
    struct python_walk *walk = &stack->python.walk;
    bool has_caller = stacks.is_native; /* the caller replaces the outermost of 64 frames */
    python_frames_walk(python, stack->python.frames, CODE_FRAMES_MAX - has_caller, walk);
    if (!walk->count) {
        if (walk->stack != PYTHON_STACK_NO_THREAD && walk->stack != PYTHON_STACK_EMPTY)
            counter_add(COUNTER_code_unknown, 1);
        return false;
    }
    stack->kind = STACK_PYTHON;
    stack->python.python = python;
    stack->id = walk->hash;
    stack->python.caller.address = 0;
    if (has_caller)
        take_caller(thread, stack);
    look_up(thread, stack, CODE_RECORD_BYTES_MAX);
    return true;
}

/* Walks the native frames. An incomplete stack gets an ID of its own and is not remembered, because other
 * stacks may start with the same frames. */
static bool take_native(struct host_thread *thread, bool is_asked, struct launch_stack *stack)
{
    struct native_walk *walk = &stack->native.walk;
    native_frames_walk(&thread->native, is_asked ? NATIVE_EACH_FROM_CALLER : NATIVE_FROM_CALLER,
                       stack->native.frames, CODE_FRAMES_MAX, walk);
    if (!walk->count && !walk->ticket) { /* the stack's rules are being learned from another call */
        counter_add(COUNTER_code_unknown, 1);
        return false;
    }
    uint64_t id = hash_word(hash_word(HASH_START, walk->generation), walk->ticket);
    for (uint32_t i = 0; i < walk->count; i++) {
        id = hash_word(id, stack->native.frames[i]);
        id ^= id >> 29;
    }
    stack->kind = STACK_NATIVE;
    stack->id = id;
    uint32_t bytes = (uint32_t)(sizeof(struct code_record) + sizeof(struct code_addresses) + 8 * walk->count);
    if (!walk->ticket) {
        look_up(thread, stack, bytes);
        return true;
    }
    stack->known_set = NULL;
    stack->bytes_max = bytes;
    return true;
}

static bool take_recorded(struct host_thread *thread, struct launch_stack *stack)
{
    stack->kind = STACK_RECORDED;
    stack->recorded = stacks.replay();
    if (!stack->recorded)
        return false;
    stack->id = stack->recorded->id;
    look_up(thread, stack, stack->recorded->head.bytes);
    return true;
}

bool launch_stacks_take(struct host_thread *thread, bool is_asked, struct launch_stack *stack)
{
    const struct python *python = atomic_load_explicit(&stacks.python, memory_order_acquire);
    if (__builtin_expect(stacks.replay != NULL, 0))
        return take_recorded(thread, stack);
    if (!is_asked && !is_due(thread))
        return false;
    if (python && take_python(thread, python, stack))
        return true;
    return (is_asked ? stacks.has_native : stacks.is_native) && take_native(thread, is_asked, stack);
}

/* Writes a frame and returns its size in bytes; 0: no room. `is_callers` is that of struct code_path. */
static uint32_t describe(const struct launch_stack *stack, const struct python_frame *frame, uint8_t *to,
                         uint32_t room, bool *is_callers)
{
    char file[FILE_BYTES_MAX], name[NAME_BYTES_MAX];
    struct python_frame_text text = {
        .file = file, .name = name, .file_max = sizeof file, .name_max = sizeof name};
    python_frame_describe(stack->python.python, frame, &text);
    struct code_path path = code_path_of(file, text.file_length);
    *is_callers = path.is_callers;
    struct code_frame head = {
        .line = stack->python.python->has_positions ? text.line : text.first_line,
        .file_bytes = (uint16_t)path.bytes,
        .name_bytes = (uint8_t)text.name_length,
        .flags = path.is_programs ? CODE_FRAME_IS_PROGRAMS : 0,
    };
    uint32_t bytes = (uint32_t)(sizeof head + path.bytes + text.name_length);
    if (bytes > room)
        return 0;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, path.shown, path.bytes);
    memcpy(to + sizeof head + path.bytes, name, text.name_length);
    return bytes;
}

/* This and write_native() write all frames after the record's head, and return the record's size. */
static uint32_t write_python(const struct launch_stack *stack, struct code_record *record)
{
    uint32_t bytes = sizeof *record;
    uint8_t *of_callers[CODE_FRAMES_MAX]; /* flags of frames that wait for their caller's */
    uint32_t waiting = 0;
    if (stack->python.caller.address) {
        memcpy(record->frames, &stack->python.caller, sizeof stack->python.caller);
        bytes += (uint32_t)sizeof stack->python.caller;
        record->flags |= CODE_HAS_CALLER;
    }
    for (uint32_t i = 0; i < stack->python.walk.count; i++) {
        uint8_t *frame = (uint8_t *)record + bytes;
        bool is_callers;
        uint32_t more =
            describe(stack, &stack->python.frames[i], frame, CODE_RECORD_BYTES_MAX - 8 - bytes, &is_callers);
        if (!more) {
            record->frame_count = i;
            record->flags |= CODE_IS_CUT;
            break;
        }
        bytes += more;
        of_callers[waiting++] = frame + offsetof(struct code_frame, flags);
        while (!is_callers && waiting)
            *of_callers[--waiting] = frame[offsetof(struct code_frame, flags)];
    }
    while (bytes % 8)
        ((uint8_t *)record)[bytes++] = 0;
    return bytes;
}

static uint32_t write_native(const struct launch_stack *stack, struct code_record *record)
{
    struct code_addresses *to = (struct code_addresses *)(void *)record->frames;
    const struct native_walk *walk = &stack->native.walk;
    to->ticket = walk->ticket;
    to->generation = walk->generation;
    memcpy(to->frames, stack->native.frames, walk->count * sizeof *to->frames);
    record->flags |= CODE_IS_NATIVE;
    return stack->bytes_max;
}

static uint32_t write_recorded(const struct launch_stack *stack, struct code_record *record)
{
    memcpy(record, stack->recorded, stack->bytes_max);
    return stack->bytes_max;
}

uint32_t launch_stacks_write(const struct launch_stack *stack, struct code_record *record)
{
    uint32_t bytes = sizeof *record;
    bool is_known = launch_stack_is_known(stack);
    record->id = stack->id;
    record->frame_count = 0;
    record->flags = 0;
    if (stack->kind == STACK_PYTHON) {
        record->frame_count = stack->python.walk.count;
        record->flags = stack->python.walk.is_cut ? CODE_IS_CUT : 0;
        bytes = is_known ? bytes : write_python(stack, record);
    } else if (stack->kind == STACK_NATIVE) {
        record->frame_count = stack->native.walk.count;
        record->flags = stack->native.walk.end == NATIVE_END_OUTERMOST ? 0 : CODE_IS_CUT;
        bytes = is_known ? bytes : write_native(stack, record);
    } else {
        bytes = write_recorded(stack, record);
    }
    if (is_known)
        record->flags &= ~(uint32_t)CODE_IS_DESCRIBED;
    else
        record->flags |= CODE_IS_DESCRIBED;
    if (!is_known && stack->known_set)
        remember(stack);
    record->head = (struct record_head){.bytes = bytes, .type = RECORD_CODE};
    return bytes;
}
