/* Tables of leaks, invalid frees and failed allocations, with their callers. */
#include "analysis/code/code_book.h"
#include "cli/util/xalloc.h"
#include "analysis/stat/memory/memory_tables.h"
#include "cli/util/text.h"

#include <stdlib.h>
#include <string.h>

#define STACK_FRAMES 4 /* frames shown of a stack; the span has all frames */

#define UNFREED_COLUMNS(X)                                                                                   \
    X(UNFREED_NAME, "name", "call", STAT_TEXT)                                                               \
    X(UNFREED_KIND, "kind", "kind", STAT_TEXT)                                                               \
    X(UNFREED_DEVICE, "device", "GPU", STAT_TEXT)                                                            \
    X(UNFREED_THREAD, "thread", "thread", STAT_TEXT)                                                         \
    X(UNFREED_THREAD_ID, "thread_id", "thread ID", STAT_TEXT)                                                \
    X(UNFREED_RANGE, "range", "range", STAT_TEXT)                                                            \
    X(UNFREED_PROCESS, "process", "process", STAT_TEXT)                                                      \
    X(UNFREED_COUNT, "count", "allocations", STAT_COUNT)                                                     \
    X(UNFREED_BYTES, "bytes", "bytes", STAT_BYTES)                                                           \
    X(UNFREED_FIRST_NS, "first_ns", "first", STAT_NS)                                                        \
    X(UNFREED_LAST_NS, "last_ns", "last", STAT_NS)                                                           \
    X(UNFREED_UNTIL, "until", "until", STAT_TEXT)                                                            \
    X(UNFREED_STACK, "stack", "allocated in", STAT_TEXT)
STAT_COLUMNS_OF(unfreed_columns, UNFREED_COLUMNS);

#define WRONG_COLUMNS(X)                                                                                     \
    X(WRONG_NAME, "name", "call", STAT_TEXT)                                                                 \
    X(WRONG_WHAT, "what", "what", STAT_TEXT)                                                                 \
    X(WRONG_ERROR, "error", "error", STAT_TEXT)                                                              \
    X(WRONG_ADDRESS, "address", "first address", STAT_TEXT)                                                  \
    X(WRONG_THREAD, "thread", "thread", STAT_TEXT)                                                           \
    X(WRONG_THREAD_ID, "thread_id", "thread ID", STAT_TEXT)                                                  \
    X(WRONG_RANGE, "range", "range", STAT_TEXT)                                                              \
    X(WRONG_ALLOCATED_BY, "allocated_by", "allocated by", STAT_TEXT)                                         \
    X(WRONG_FREED_IN, "freed_in", "freed in", STAT_TEXT)                                                     \
    X(WRONG_COUNT, "count", "calls", STAT_COUNT)                                                             \
    X(WRONG_FIRST_NS, "first_ns", "first", STAT_NS)
STAT_COLUMNS_OF(wrong_columns, WRONG_COLUMNS);

#define FAILED_COLUMNS(X)                                                                                    \
    X(FAILED_NAME, "name", "call", STAT_TEXT)                                                                \
    X(FAILED_KIND, "kind", "kind", STAT_TEXT)                                                                \
    X(FAILED_ERROR, "error", "error", STAT_TEXT)                                                             \
    X(FAILED_DEVICE, "device", "GPU", STAT_TEXT)                                                             \
    X(FAILED_THREAD, "thread", "thread", STAT_TEXT)                                                          \
    X(FAILED_THREAD_ID, "thread_id", "thread ID", STAT_TEXT)                                                 \
    X(FAILED_RANGE, "range", "range", STAT_TEXT)                                                             \
    X(FAILED_COUNT, "count", "calls", STAT_COUNT)                                                            \
    X(FAILED_MAX_BYTES, "max_bytes", "largest", STAT_BYTES)                                                  \
    X(FAILED_LIVE_BYTES, "live_bytes", "live bytes", STAT_BYTES)                                             \
    X(FAILED_FIRST_NS, "first_ns", "first", STAT_NS)
STAT_COLUMNS_OF(failed_columns, FAILED_COLUMNS);

static uint64_t mix_call(const struct ledger *ledger, const struct ledger_call *call, uint64_t more)
{
    uint64_t key = int_map_mix((uint64_t)call->name << 32 | call->thread);
    const char *text = ledger_stack_text(ledger, call);
    key = int_map_mix(key ^ (text ? (uint64_t)(uintptr_t)text << 1 : (uint64_t)call->origin << 1 | 1));
    if (call->range)
        key = int_map_mix(key ^ call->range);
    return int_map_mix(key ^ more);
}

static void add_frame(struct text *text, const struct code_frame *frame)
{
    char *place = code_frame_place(frame);
    text_add_format(text, "%s%s", text->data ? " < " : "", place);
    if (!frame->is_native && *frame->name)
        text_add_format(text, " %s", frame->name);
    free(place);
}

/* Adds native frames, such as "fill+0x1c < load+0x40 < main+0x7": their functions, or their places in
 * modules. */
static void add_native(struct text *text, const char *stack)
{
    for (int i = 0; i < STACK_FRAMES && *stack; i++) {
        size_t line = strcspn(stack, "\n");
        const char *module = memmem(stack, line, " (", 2);
        text_add_format(text, "%s%.*s", i ? " < " : "", (int)(module ? (size_t)(module - stack) : line),
                        stack);
        stack += line + (stack[line] == '\n');
    }
}

/* Adds the program's innermost frames, such as "train.py:88 load < train.py:12 main". */
static void add_programs(struct text *text, const struct stat *stat, const struct code_stack *stack)
{
    add_frame(text, code_book_frame(stat->code, stack->frames[stack->self]));
    int shown = 1;
    for (size_t i = stack->self + 1; i < stack->depth && shown < STACK_FRAMES; i++) {
        if (!code_book_is_programs(stat->code, stack, i))
            continue;
        add_frame(text, code_book_frame(stat->code, stack->frames[i]));
        shown++;
    }
}

/* Returns a short text of the call's stack; NULL: the call has no stack. */
static char *short_stack(const struct stat *stat, const struct ledger_call *call)
{
    struct text text = {0};
    struct code_stack stack = code_book_stack(stat->code, stat, call->origin);
    const char *whole = ledger_stack_text(stat->ledger, call);
    bool is_python =
        stack.depth && !stack.label && !code_book_frame(stat->code, stack.frames[stack.self])->is_native;
    if (stack.is_backward)
        add_frame(&text, code_book_frame(stat->code, stack.place));
    else if (whole && !is_python)
        add_native(&text, whole);
    else if (stack.depth)
        add_programs(&text, stat, &stack);
    else if (!stack.label)
        add_frame(&text, code_book_frame(stat->code, stack.place));
    return text.data;
}

static void start_unfreed(const struct stat *stat, struct stat_table *table, const struct ledger_block *block,
                          bool has_ended)
{
    struct stat_value *row = stat_table_add(table);
    const struct places *places = stat->places;
    const struct trace *trace = stat->trace;
    row[UNFREED_NAME] = stat_text(trace_string(trace, block->call->name));
    row[UNFREED_KIND] = stat_text(ledger_kind_name((enum memory_kind)block->kind));
    row[UNFREED_DEVICE] = stat_text(memory_device_name(places, memory_device(block)));
    row[UNFREED_THREAD] = stat_text(places_thread(places, block->call->thread));
    row[UNFREED_THREAD_ID] = stat_text(places_thread_id(places, block->call->thread));
    row[UNFREED_RANGE] = stat_text(trace_string(trace, block->call->range));
    row[UNFREED_PROCESS] = stat_text(places_name(stat->places, block->process));
    row[UNFREED_COUNT] = row[UNFREED_BYTES] = stat_int(0);
    row[UNFREED_FIRST_NS] = stat_int(block->from_ns - stat->start_ns);
    /* "exit", or the reason why the block may have been freed later. */
    row[UNFREED_UNTIL] = stat_text(stat->ledger->left_out ? "limit of calls"
                                   : has_ended            ? "exit"
                                                          : "end of trace");
    char *stack = short_stack(stat, block->call);
    if (stack)
        row[UNFREED_STACK] = stat_table_own(table, stack);
}

static void add_unfreed(const struct stat *stat, struct stat_table *table, const struct paged *processes)
{
    const struct ledger *ledger = stat->ledger;
    struct int_map numbers = {0};
    for (size_t i = 0; i < ledger->block_count; i++) {
        const struct ledger_block *block = &ledger->blocks[i];
        if (block->until_ns != UINT64_MAX)
            continue;
        size_t known = numbers.count;
        uint64_t place = (uint64_t)memory_device(block) << 8 | block->kind;
        uint32_t number = int_map_number(&numbers, mix_call(ledger, block->call, place));
        const struct memory_process *process = paged_find(processes, block->process, sizeof *process);
        if (number == known)
            start_unfreed(stat, table, block, process && process->has_ended);
        struct stat_value *row = stat_table_row(table, number);
        row[UNFREED_COUNT].i++;
        row[UNFREED_BYTES].i += (int64_t)block->bytes;
        row[UNFREED_LAST_NS] = stat_int(block->from_ns - stat->start_ns);
    }
    stat_table_sort(table, UNFREED_BYTES);
    int_map_deinit(&numbers);
}

static void start_wrong(const struct stat *stat, struct stat_table *table, const struct ledger_free *wrong)
{
    static const char *const words[] = {"freed twice", "unknown address", "allocation not traced"};
    const struct places *places = stat->places;
    const struct trace *trace = stat->trace;
    const struct ledger_call *call = wrong->call;
    const struct ledger_block *block =
        wrong->block == TRACE_NONE ? NULL : &stat->ledger->blocks[wrong->block];
    struct stat_value *row = stat_table_add(table);
    row[WRONG_NAME] = stat_text(trace_string(trace, call->name));
    row[WRONG_WHAT] = stat_text(words[wrong->wrong]);
    row[WRONG_ERROR] = stat_text(trace_string(trace, call->error));
    row[WRONG_ADDRESS] = call->is_address
                             ? stat_table_own(table, xasprintf("0x%llx", (unsigned long long)call->address))
                             : stat_text("");
    row[WRONG_THREAD] = stat_text(places_thread(places, call->thread));
    row[WRONG_THREAD_ID] = stat_text(places_thread_id(places, call->thread));
    row[WRONG_RANGE] = stat_text(trace_string(trace, call->range));
    row[WRONG_ALLOCATED_BY] = stat_text(block ? trace_string(trace, block->call->name) : "");
    row[WRONG_FREED_IN] =
        stat_text(block && block->freed_by ? places_thread(places, block->freed_by->thread) : "");
    row[WRONG_COUNT] = stat_int(0);
    row[WRONG_FIRST_NS] = stat_int(call->start_ns - stat->start_ns);
}

static void add_wrong(const struct stat *stat, struct stat_table *table)
{
    const struct ledger *ledger = stat->ledger;
    struct int_map numbers = {0};
    for (size_t i = 0; i < ledger->free_count; i++) {
        const struct ledger_free *wrong = &ledger->frees[i];
        size_t known = numbers.count;
        uint64_t more = (uint64_t)wrong->call->error << 2 | wrong->wrong;
        uint32_t number = int_map_number(&numbers, mix_call(ledger, wrong->call, more));
        if (number == known)
            start_wrong(stat, table, wrong);
        stat_table_row(table, number)[WRONG_COUNT].i++;
    }
    stat_table_sort(table, WRONG_COUNT);
    int_map_deinit(&numbers);
}

/* Returns the live bytes of the GPU or the host at that time. */
static uint64_t live_at(const struct ledger *ledger, uint32_t process, uint32_t device, uint64_t time_ns)
{
    uint64_t live = 0;
    for (size_t i = 0; i < ledger->block_count; i++) {
        const struct ledger_block *block = &ledger->blocks[i];
        if (block->process == process && memory_device(block) == device && memory_is_of_all(block) &&
            block->from_ns <= time_ns && block->until_ns > time_ns)
            live += block->bytes;
    }
    return live;
}

static void start_failed(const struct stat *stat, struct stat_value *row, const struct ledger_call *call)
{
    const struct trace *trace = stat->trace;
    const struct places *places = stat->places;
    enum memory_kind kind = ledger_kind_of(call);
    uint32_t device =
        ledger_is_host(kind) ? MEMORY_HOST : places_device(places, call->process, call->context);
    row[FAILED_NAME] = stat_text(trace_string(trace, call->name));
    row[FAILED_KIND] = stat_text(ledger_kind_name(kind));
    row[FAILED_ERROR] = stat_text(trace_string(trace, call->error));
    row[FAILED_DEVICE] = stat_text(memory_device_name(places, device));
    row[FAILED_THREAD] = stat_text(places_thread(places, call->thread));
    row[FAILED_THREAD_ID] = stat_text(places_thread_id(places, call->thread));
    row[FAILED_RANGE] = stat_text(trace_string(trace, call->range));
    row[FAILED_COUNT] = row[FAILED_MAX_BYTES] = stat_int(0);
    row[FAILED_LIVE_BYTES] = stat_int(live_at(stat->ledger, call->process, device, call->end_ns));
    row[FAILED_FIRST_NS] = stat_int(call->start_ns - stat->start_ns);
}

static void add_failed(const struct stat *stat, struct stat_table *table)
{
    const struct ledger *ledger = stat->ledger;
    struct int_map numbers = {0};
    for (size_t i = 0; i < ledger->failed_count; i++) {
        const struct ledger_call *call = ledger->failed[i];
        size_t known = numbers.count;
        uint32_t number = int_map_number(&numbers, mix_call(ledger, call, call->error));
        if (number == known)
            start_failed(stat, stat_table_add(table), call);
        struct stat_value *row = stat_table_row(table, number);
        int64_t bytes = (int64_t)call->bytes;
        row[FAILED_COUNT].i++;
        row[FAILED_MAX_BYTES].i = bytes > row[FAILED_MAX_BYTES].i ? bytes : row[FAILED_MAX_BYTES].i;
    }
    stat_table_sort(table, FAILED_COUNT);
    int_map_deinit(&numbers);
}

void stat_memory_faults(const struct stat *stat, const struct paged *processes, struct stat_report *report)
{
    add_unfreed(stat,
                STAT_ADD_TABLE(report, "memory_unfreed", "Memory never freed",
                               "Not freed before the process exited, or, if the trace does not contain the "
                               "exit, before the end of the trace. First and last: times of allocation.",
                               unfreed_columns),
                processes);
    add_wrong(stat, STAT_ADD_TABLE(report, "memory_wrong_frees", "Invalid frees",
                                   "Allocation not traced: the free succeeded, so the memory was "
                                   "allocated before tracing started or by a call that is not traced.",
                                   wrong_columns));
    add_failed(stat, STAT_ADD_TABLE(report, "memory_failed", "Failed allocations", NULL, failed_columns));
}
