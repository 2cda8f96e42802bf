/* Tables of memory usage and growth, from the calls that allocate and free (see ledger.h). */
#include "analysis/stat/memory/memory_tables.h"

#include "analysis/code/code_book.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_COLUMNS(X)                                                                                    \
    X(ACCOUNT_DEVICE, "device", "GPU", STAT_TEXT)                                                            \
    X(ACCOUNT_KIND, "kind", "kind", STAT_TEXT)                                                               \
    X(ACCOUNT_POOL, "pool", "pool", STAT_TEXT)                                                               \
    X(ACCOUNT_PROCESS, "process", "process", STAT_TEXT)                                                      \
    X(ACCOUNT_LIVE_BYTES, "live_bytes", "live", STAT_BYTES)                                                  \
    X(ACCOUNT_PEAK_BYTES, "peak_bytes", "peak", STAT_BYTES)                                                  \
    X(ACCOUNT_TOTAL_BYTES, "total_bytes", "total", STAT_BYTES)                                               \
    X(ACCOUNT_ALLOCATIONS, "allocations", "allocations", STAT_COUNT)                                         \
    X(ACCOUNT_FREES, "frees", "frees", STAT_COUNT)                                                           \
    X(ACCOUNT_MAX_BYTES, "max_bytes", "largest", STAT_BYTES)                                                 \
    X(ACCOUNT_MEDIAN_LIFE_NS, "median_life_ns", "median lifetime", STAT_NS)                                  \
    X(ACCOUNT_GROWTH_BYTES_PER_S, "growth_bytes_per_s", "growth", STAT_RATE)
STAT_COLUMNS_OF(memory_columns, MEMORY_COLUMNS);

#define TIME_COLUMNS(X)                                                                                      \
    X(TIME_DEVICE, "device", "GPU", STAT_TEXT)                                                               \
    X(TIME_PROCESS, "process", "process", STAT_TEXT)                                                         \
    X(TIME_FROM_NS, "from_ns", "from", STAT_NS)                                                              \
    X(TIME_BELOW_NS, "below_ns", "until", STAT_NS)                                                           \
    X(TIME_ALLOCATIONS, "allocations", "allocations", STAT_COUNT)                                            \
    X(TIME_FREES, "frees", "frees", STAT_COUNT)                                                              \
    X(TIME_ALLOCATED_BYTES, "allocated_bytes", "allocated", STAT_BYTES)                                      \
    X(TIME_FREED_BYTES, "freed_bytes", "freed", STAT_BYTES)                                                  \
    X(TIME_LIVE_BYTES, "live_bytes", "live at end", STAT_BYTES)                                              \
    X(TIME_PEAK_BYTES, "peak_bytes", "peak", STAT_BYTES)
STAT_COLUMNS_OF(time_columns, TIME_COLUMNS);

#define ALLOCATOR_COLUMNS(X)                                                                                 \
    X(ALLOCATOR_WHAT, "what", "what", STAT_TEXT)                                                             \
    X(ALLOCATOR_DEVICE, "device", "GPU", STAT_TEXT)                                                          \
    X(ALLOCATOR_PROCESS, "process", "process", STAT_TEXT)                                                    \
    X(ALLOCATOR_ALLOCATIONS, "allocations", "allocations", STAT_COUNT)                                       \
    X(ALLOCATOR_FREES, "frees", "frees", STAT_COUNT)                                                         \
    X(ALLOCATOR_LIVE_BYTES, "live_bytes", "live", STAT_BYTES)                                                \
    X(ALLOCATOR_PEAK_BYTES, "peak_bytes", "peak", STAT_BYTES)
STAT_COLUMNS_OF(allocator_columns, ALLOCATOR_COLUMNS);

#define INTERVALS 10 /* intervals of time in the table of growth */
#define KIND_ALL  MEMORY_KINDS

/* One row of the memory table. */
struct account {
    uint32_t process;
    uint32_t device; /* resource, TRACE_NONE: unknown; MEMORY_HOST */
    const char *pool;
    uint32_t kind; /* enum memory_kind, KIND_ALL, or an allocator's segment */
    uint64_t allocations, frees, total, live, peak, most_of_one;
    uint64_t live_at_half;
    struct interval_sums {
        uint64_t allocations, frees, allocated, freed, live, peak;
    } intervals[INTERVALS];
};

struct books {
    const struct stat *stat;
    struct memory_change *changes;
    size_t change_count, change_capacity;
    uint64_t start_ns, end_ns; /* the first allocation, the trace's end */
    struct int_map numbers;
    struct account *accounts;
    size_t account_count, account_capacity;
    struct samples lives; /* by account */
};

/* Facts from spans, besides the ledger. */
struct memory {
    struct paged processes; /* struct memory_process by number */
    struct int_map others;  /* keys of names, with whether of a kernel, that are not PyTorch's */
};

static int compare_changes(const void *a, const void *b)
{
    const struct memory_change *x = a, *y = b;
    int order = ORDER(x->time_ns, y->time_ns);
    order = order ? order : ORDER(x->is_free, y->is_free); /* allocations first, as in the ledger */
    return order ? order : ORDER(x->block, y->block);
}

static void open_books(struct books *books, const struct stat *stat)
{
    const struct ledger *ledger = stat->ledger;
    *books = (struct books){.stat = stat, .end_ns = stat->end_ns};
    for (size_t i = 0; i < ledger->block_count; i++) {
        const struct ledger_block *block = &ledger->blocks[i];
        *XADD(books->changes, books->change_count, books->change_capacity) =
            (struct memory_change){block->from_ns, block, false};
        if (block->until_ns != UINT64_MAX)
            *XADD(books->changes, books->change_count, books->change_capacity) =
                (struct memory_change){block->until_ns, block, true};
    }
    sort_array(books->changes, books->change_count, sizeof *books->changes, compare_changes);
    books->start_ns = books->change_count ? books->changes[0].time_ns : 0;
}

static void close_accounts(struct books *books)
{
    free(books->accounts);
    samples_deinit(&books->lives);
    int_map_deinit(&books->numbers);
    books->accounts = NULL;
    books->account_count = books->account_capacity = 0;
}

/* --- accounts --- */

static struct account *account_of(struct books *books, const struct ledger_block *block, uint32_t kind,
                                  const char *pool)
{
    uint64_t key = int_map_mix((uint64_t)block->process << 32 | memory_device(block)) ^
                   int_map_mix((uint64_t)(uintptr_t)pool << 8 | kind);
    uint32_t number = int_map_number(&books->numbers, int_map_mix(key));
    if (number == books->account_count)
        *XADD(books->accounts, books->account_count, books->account_capacity) = (struct account){
            .process = block->process, .device = memory_device(block), .pool = pool, .kind = kind};
    return &books->accounts[number];
}

/* Adds a change to an account. settle_intervals() sets `live` and `peak` of intervals without changes. */
static void book(struct books *books, struct account *account, const struct memory_change *change)
{
    uint64_t bytes = change->block->bytes;
    double at_ns = (double)(change->time_ns - books->start_ns);
    double whole_ns = books->end_ns > books->start_ns ? (double)(books->end_ns - books->start_ns) : 1;
    size_t interval = (size_t)(at_ns / whole_ns * INTERVALS);
    struct interval_sums *sums = &account->intervals[interval < INTERVALS ? interval : INTERVALS - 1];
    if (change->is_free) {
        account->live -= bytes;
        account->frees++;
        sums->frees++;
        sums->freed += bytes;
        samples_add(&books->lives, (uint32_t)(account - books->accounts),
                    change->block->until_ns - change->block->from_ns);
    } else {
        account->live += bytes;
        account->allocations++;
        account->total += bytes;
        sums->allocations++;
        sums->allocated += bytes;
        account->most_of_one = bytes > account->most_of_one ? bytes : account->most_of_one;
    }
    account->peak = account->live > account->peak ? account->live : account->peak;
    sums->peak = account->live > sums->peak ? account->live : sums->peak;
    if (change->time_ns - books->start_ns <= (books->end_ns - books->start_ns) / 2)
        account->live_at_half = account->live;
}

/* Fills the live bytes and peaks of all intervals. A peak is at least the live bytes at the end of the
 * previous interval. */
static void settle_intervals(struct account *account)
{
    uint64_t live = 0;
    for (size_t i = 0; i < INTERVALS; i++) {
        struct interval_sums *sums = &account->intervals[i];
        sums->peak = live > sums->peak ? live : sums->peak;
        live += sums->allocated - sums->freed;
        sums->live = live;
    }
}

static void keep_accounts(struct books *books)
{
    for (size_t i = 0; i < books->change_count; i++) {
        const struct ledger_block *block = books->changes[i].block;
        if (memory_is_of_all(block))
            book(books, account_of(books, block, KIND_ALL, NULL), &books->changes[i]);
        book(books, account_of(books, block, block->kind, block->pool), &books->changes[i]);
    }
    for (size_t i = 0; i < books->account_count; i++)
        settle_intervals(&books->accounts[i]);
    samples_sort(&books->lives);
}

static void add_account(const struct books *books, struct stat_table *table, uint32_t number)
{
    const struct account *account = &books->accounts[number];
    const char *pool = account->kind == MEMORY_POOL ? "default" : "";
    double half_s = (double)(books->end_ns - books->start_ns) / 2 / 1e9;
    double growth = (double)account->live - (double)account->live_at_half;
    struct spread lives = samples_spread(&books->lives, number);
    stat_table_rounds(table, samples_error(&books->lives));
    struct stat_value *row = stat_table_add(table);
    row[ACCOUNT_DEVICE] = stat_text(memory_device_name(books->stat->places, account->device));
    row[ACCOUNT_KIND] =
        stat_text(account->kind == KIND_ALL ? "all" : ledger_kind_name((enum memory_kind)account->kind));
    row[ACCOUNT_POOL] = stat_text(account->pool ? account->pool : pool);
    row[ACCOUNT_PROCESS] = stat_text(places_name(books->stat->places, account->process));
    row[ACCOUNT_LIVE_BYTES] = stat_int(account->live);
    row[ACCOUNT_PEAK_BYTES] = stat_int(account->peak);
    row[ACCOUNT_TOTAL_BYTES] = stat_int(account->total);
    row[ACCOUNT_ALLOCATIONS] = stat_int(account->allocations);
    row[ACCOUNT_FREES] = stat_int(account->frees);
    row[ACCOUNT_MAX_BYTES] = stat_int(account->most_of_one);
    if (lives.count)
        row[ACCOUNT_MEDIAN_LIFE_NS] = stat_int(lives.median);
    row[ACCOUNT_GROWTH_BYTES_PER_S] = stat_real(half_s > 0 ? growth / half_s : 0);
}

static void add_intervals(const struct books *books, struct stat_table *table, const struct account *account)
{
    uint64_t trace_start = books->stat->start_ns;
    uint64_t whole = books->end_ns - books->start_ns;
    for (size_t i = 0; i < INTERVALS; i++) {
        const struct interval_sums *sums = &account->intervals[i];
        struct stat_value *row = stat_table_add(table);
        row[TIME_DEVICE] = stat_text(memory_device_name(books->stat->places, account->device));
        row[TIME_PROCESS] = stat_text(places_name(books->stat->places, account->process));
        row[TIME_FROM_NS] = stat_int(books->start_ns - trace_start + whole / INTERVALS * i);
        row[TIME_BELOW_NS] =
            stat_int(i + 1 < INTERVALS ? books->start_ns - trace_start + whole / INTERVALS * (i + 1)
                                       : books->end_ns - trace_start);
        row[TIME_ALLOCATIONS] = stat_int(sums->allocations);
        row[TIME_FREES] = stat_int(sums->frees);
        row[TIME_ALLOCATED_BYTES] = stat_int(sums->allocated);
        row[TIME_FREED_BYTES] = stat_int(sums->freed);
        row[TIME_LIVE_BYTES] = stat_int(sums->live);
        row[TIME_PEAK_BYTES] = stat_int(sums->peak);
    }
}

static void add_accounts(struct books *books, struct stat_report *report)
{
    struct stat_table *memory =
        STAT_ADD_TABLE(report, "memory", "Memory",
                       "Bytes requested by traced calls. Live: at the end of the trace. Growth: in "
                       "the second half of the time since the first allocation. \"All\" does not "
                       "include managed memory, whose location is unknown.",
                       memory_columns);
    struct stat_table *times = STAT_ADD_TABLE(report, "memory_over_time", "Memory over time",
                                              "Equal intervals from the first allocation to the end of the "
                                              "trace; all kinds except managed memory.",
                                              time_columns);
    if (books->stat->ledger->left_out)
        memory->note = stat_table_own(memory, xasprintf("%s Only the first %zu allocations and frees; %llu "
                                                        "later ones are not included.",
                                                        memory->note, books->stat->ledger->call_count,
                                                        (unsigned long long)books->stat->ledger->left_out))
                           .text;
    keep_accounts(books);
    for (uint32_t i = 0; i < books->account_count; i++) {
        add_account(books, memory, i);
        if (books->accounts[i].kind == KIND_ALL)
            add_intervals(books, times, &books->accounts[i]);
    }
    close_accounts(books);
}

/* --- PyTorch's caching allocator ---
 *
 * The allocator gets segments from CUDA and divides them among tensors, so creating or deleting a tensor
 * makes no CUDA call. Segments are recognized by size: 2 MiB if less than 1 MiB is needed, 20 MiB below 10
 * MiB, else the needed size rounded up to 2 MiB (c10/cuda/CUDACachingAllocator; its settings can change the
 * last two). Expandable segments consist of physical memory of 2 or 20 MiB in consecutive mappings. */

#define PYTORCH_SMALL_BYTES (2ull << 20)
#define PYTORCH_LARGE_BYTES (10ull << 20) /* segments of at least this size have the requested size */

enum segment { SEGMENT_SMALL, SEGMENT_LARGE, SEGMENT_EXPANDABLE, SEGMENT_POOL, SEGMENT_OTHER, SEGMENTS };

/* Whether the span shows that its process uses PyTorch: by PyTorch's kernels, or by the ranges of its
 * operators (torch.autograd.profiler.emit_nvtx). */
static bool is_pytorch(const struct stat *stat, const struct trace_span *span)
{
    if (span->class == CLASS_KERNEL)
        return strstr(stat_kernel_name(stat, span), "at::native::") != NULL;
    return strncmp(trace_string(stat->trace, span->name), "aten::", strlen("aten::")) == 0 &&
           stat_has(stat, span, KEY_RANGE);
}

static enum segment segment_of(const struct ledger_block *block)
{
    if (block->kind == MEMORY_POOL)
        return SEGMENT_POOL;
    if (block->kind != MEMORY_DEVICE && block->kind != MEMORY_VIRTUAL)
        return SEGMENTS;
    if (block->bytes == 0 || block->bytes % PYTORCH_SMALL_BYTES != 0)
        return SEGMENT_OTHER;
    if (block->kind == MEMORY_VIRTUAL)
        return SEGMENT_EXPANDABLE;
    if (block->bytes == PYTORCH_SMALL_BYTES)
        return SEGMENT_SMALL;
    return block->bytes >= PYTORCH_LARGE_BYTES ? SEGMENT_LARGE : SEGMENT_OTHER;
}

static void add_segments(const struct books *books, struct stat_table *table)
{
    static const char *const words[SEGMENTS] = {
        "PyTorch: 2 MiB segments for small tensors", "PyTorch: large segments",
        "PyTorch: expandable segments", "stream-ordered (cudaMallocAsync: PyTorch's backend or others)",
        "other sizes: libraries and others"};
    for (size_t i = 0; i < books->account_count; i++) {
        const struct account *account = &books->accounts[i];
        struct stat_value *row = stat_table_add(table);
        row[ALLOCATOR_WHAT] = stat_text(words[account->kind]);
        row[ALLOCATOR_DEVICE] = stat_text(memory_device_name(books->stat->places, account->device));
        row[ALLOCATOR_PROCESS] = stat_text(places_name(books->stat->places, account->process));
        row[ALLOCATOR_ALLOCATIONS] = stat_int(account->allocations);
        row[ALLOCATOR_FREES] = stat_int(account->frees);
        row[ALLOCATOR_LIVE_BYTES] = stat_int(account->live);
        row[ALLOCATOR_PEAK_BYTES] = stat_int(account->peak);
    }
    stat_table_sort(table, ALLOCATOR_PEAK_BYTES);
}

static void add_allocators(struct books *books, struct stat_table *table, const struct memory *memory)
{
    for (size_t i = 0; i < books->change_count; i++) {
        const struct ledger_block *block = books->changes[i].block;
        const struct memory_process *process =
            paged_find(&memory->processes, block->process, sizeof *process);
        enum segment segment = segment_of(block);
        if (process && process->has_pytorch && segment != SEGMENTS)
            book(books, account_of(books, block, segment, NULL), &books->changes[i]);
    }
    add_segments(books, table);
    close_accounts(books);
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct memory *memory = state;
    if (stat->is_part)
        return;
    struct memory_process *process =
        paged_at(&memory->processes, places_process(stat->places, span), sizeof *process);
    if (!process->has_pytorch && (span->class == CLASS_KERNEL || span->class == CLASS_OTHER)) {
        uint64_t key = (uint64_t)span->name << 1 | (span->class == CLASS_KERNEL);
        if (int_map_get(&memory->others, key) == MAP_NONE) {
            process->has_pytorch = is_pytorch(stat, span);
            int_map_set(&memory->others, key, 0);
        }
    }
    if (span->class == CLASS_SESSION)
        process->has_ended |= stat_is(stat_attr(stat, span, KEY_END_REASON), "exit");
}

static void add_tables(struct memory *memory, const struct stat *stat, struct stat_report *report)
{
    struct books books;
    open_books(&books, stat);
    add_accounts(&books, report);
    add_allocators(&books,
                   STAT_ADD_TABLE(report, "memory_pytorch", "PyTorch's memory",
                                  "Identified by the sizes that PyTorch's caching allocator "
                                  "requests. Live: memory held by the process, including free blocks "
                                  "of segments; torch.cuda.memory_stats() shows what tensors use.",
                                  allocator_columns),
                   memory);
    stat_memory_faults(stat, &memory->processes, report);
    if (code_book_has_allocation_stacks(stat->code))
        stat_memory_code(stat, books.changes, books.change_count, report);
    free(books.changes);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    struct memory *memory = state;
    if (report && !stat->is_part)
        add_tables(memory, stat, report);
    paged_deinit(&memory->processes);
    int_map_deinit(&memory->others);
}

const struct stat_section stat_memory = {sizeof(struct memory), take, NULL, finish};
