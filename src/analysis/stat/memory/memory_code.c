/* The table of memory by the line, function or module of the program that allocated it. */
#include "analysis/code/code_book.h"
#include "analysis/stat/memory/memory_tables.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(X)                                                                                           \
    X(COL_PLACE, "place", "code", STAT_TEXT)                                                                 \
    X(COL_FUNCTION, "function", "function", STAT_TEXT)                                                       \
    X(COL_DEVICE, "device", "GPU", STAT_TEXT)                                                                \
    X(COL_AT_PEAK_BYTES, "at_peak_bytes", "at peak", STAT_BYTES)                                             \
    X(COL_AT_PEAK_TOTAL_BYTES, "at_peak_total_bytes", "with callees", STAT_BYTES)                            \
    X(COL_LIVE_BYTES, "live_bytes", "live", STAT_BYTES)                                                      \
    X(COL_PEAK_BYTES, "peak_bytes", "own peak", STAT_BYTES)                                                  \
    X(COL_TOTAL_BYTES, "total_bytes", "total", STAT_BYTES)                                                   \
    X(COL_ALLOCATIONS, "allocations", "allocations", STAT_COUNT)                                             \
    X(COL_FREES, "frees", "frees", STAT_COUNT)                                                               \
    X(COL_SOURCE, "source", "source", STAT_TEXT)
STAT_COLUMNS_OF(columns, COLUMNS);

#define DEVICE_MANAGED (MEMORY_HOST - 1) /* managed memory, whose location is unknown */

/* The bytes of one process on one GPU, in managed memory, or in pinned memory. */
struct account {
    uint64_t live, peak, peak_ns;
};

/* A row of the table. Its texts are kept, so equal ones are the same pointer. */
struct row {
    const char *place, *function, *device;
    uint64_t at_peak, at_peak_total, live, peak, total, allocations, frees;
    uint32_t seen_by; /* the last sum that was counted here, so that recursion counts once */
};

/* The bytes at the peak of one origin on one GPU, which are also added to its callers. */
struct sum {
    uint32_t origin, row;
    uint64_t at_peak;
};

struct rows {
    const struct stat *stat;
    struct int_map account_numbers;
    struct account *accounts;
    size_t account_count, account_capacity;
    struct int_map sum_numbers; /* origin and device's name → index in sums */
    struct sum *sums;
    size_t sum_count, sum_capacity;
    struct int_map numbers; /* hash of the texts → index in list */
    struct row *list;
    size_t count, capacity;
};

static uint32_t device_of(const struct ledger_block *block)
{
    return block->kind == MEMORY_MANAGED ? DEVICE_MANAGED : memory_device(block);
}

static struct account *account_of(struct rows *rows, const struct ledger_block *block)
{
    uint32_t number =
        int_map_number(&rows->account_numbers, (uint64_t)block->process << 32 | device_of(block));
    if (number == rows->account_count)
        *XADD(rows->accounts, rows->account_count, rows->account_capacity) = (struct account){0};
    return &rows->accounts[number];
}

static void find_peak(struct rows *rows, const struct memory_change *change)
{
    struct account *account = account_of(rows, change->block);
    account->live += change->is_free ? -change->block->bytes : change->block->bytes;
    if (account->live > account->peak) {
        account->peak = account->live;
        account->peak_ns = change->time_ns;
    }
}

static uint32_t row_of(struct rows *rows, const char *label, const struct code_frame *frame,
                       const char *device)
{
    const struct stat *stat = rows->stat;
    bool has_function = frame && stat->code_by != STAT_CODE_BY_MODULE;
    char *text = code_place_text(label, frame, stat->code_by);
    const char *place = stat_keep_some(stat, text);
    const char *function = stat_keep(stat, has_function ? frame->name : "");
    free(text);
    uint64_t key = int_map_mix((uint64_t)(uintptr_t)place) ^ (uint64_t)(uintptr_t)function;
    key = int_map_mix(key) ^ (uint64_t)(uintptr_t)device;
    uint32_t number;
    while ((number = int_map_get(&rows->numbers, key)) != MAP_NONE) {
        const struct row *row = &rows->list[number];
        if (row->place == place && row->function == function && row->device == device)
            return number;
        key++;
    }
    int_map_set(&rows->numbers, key, (uint32_t)rows->count);
    *XADD(rows->list, rows->count, rows->capacity) =
        (struct row){.place = place, .function = function, .device = device, .seen_by = MAP_NONE};
    return (uint32_t)rows->count - 1;
}

static struct sum *sum_of(struct rows *rows, const struct ledger_block *block)
{
    const struct stat *stat = rows->stat;
    uint32_t device = device_of(block), origin = block->call->origin;
    const char *name =
        stat_keep(stat, device == DEVICE_MANAGED ? "managed" : memory_device_name(stat->places, device));
    uint32_t number = int_map_number(&rows->sum_numbers, int_map_mix((uint64_t)(uintptr_t)name) ^ origin);
    if (number == rows->sum_count) {
        struct code_stack stack = code_book_stack(stat->code, stat, origin);
        const struct code_frame *frame = stack.label ? NULL : code_book_frame(stat->code, stack.place);
        *XADD(rows->sums, rows->sum_count, rows->sum_capacity) =
            (struct sum){.origin = origin, .row = row_of(rows, stack.label, frame, name)};
    }
    return &rows->sums[number];
}

static void add_total(struct rows *rows, uint32_t row, uint32_t sum)
{
    if (rows->list[row].seen_by == sum)
        return;
    rows->list[row].seen_by = sum;
    rows->list[row].at_peak_total += rows->sums[sum].at_peak;
}

/* Adds the bytes at the peak to the origin's line, and to its callers. */
static void add_callers(struct rows *rows, uint32_t number)
{
    const struct stat *stat = rows->stat;
    const struct sum *sum = &rows->sums[number];
    struct code_stack stack = code_book_stack(stat->code, stat, sum->origin);
    bool has_callers = sum->at_peak && !stack.label && !stack.is_backward;
    add_total(rows, sum->row, number);
    for (size_t i = stack.self + 1; has_callers && i < stack.depth; i++) {
        const struct code_frame *frame = code_book_frame(stat->code, stack.frames[i]);
        if (code_book_is_programs(stat->code, &stack, i))
            add_total(rows, row_of(rows, NULL, frame, rows->list[sum->row].device), number);
    }
}

static void count(struct rows *rows, const struct memory_change *change)
{
    const struct ledger_block *block = change->block;
    struct sum *sum = sum_of(rows, block);
    struct row *row = &rows->list[sum->row];
    if (change->is_free) {
        row->live -= block->bytes;
        row->frees++;
        return;
    }
    row->live += block->bytes;
    row->peak = row->live > row->peak ? row->live : row->peak;
    row->total += block->bytes;
    row->allocations++;
    uint64_t peak_ns = account_of(rows, block)->peak_ns;
    if (block->from_ns <= peak_ns && block->until_ns >= peak_ns) { /* frees at that time do not count */
        row->at_peak += block->bytes;
        sum->at_peak += block->bytes;
    }
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = ORDER(y->at_peak, x->at_peak);
    order = order ? order : ORDER(y->live, x->live);
    order = order ? order : ORDER(y->total, x->total);
    order = order ? order : ORDER(y->at_peak_total, x->at_peak_total);
    order = order ? order : strcmp(x->place, y->place);
    order = order ? order : strcmp(x->function, y->function);
    return order ? order : strcmp(x->device, y->device);
}

static void fill(struct stat_table *table, const struct row *row)
{
    struct stat_value *cells = stat_table_add(table);
    cells[COL_PLACE] = stat_text(row->place);
    if (*row->function)
        cells[COL_FUNCTION] = stat_text(row->function);
    cells[COL_DEVICE] = stat_text(row->device);
    cells[COL_AT_PEAK_BYTES] = stat_int(row->at_peak);
    cells[COL_AT_PEAK_TOTAL_BYTES] = stat_int(row->at_peak_total);
    cells[COL_LIVE_BYTES] = stat_int(row->live);
    cells[COL_PEAK_BYTES] = stat_int(row->peak);
    cells[COL_TOTAL_BYTES] = stat_int(row->total);
    cells[COL_ALLOCATIONS] = stat_int(row->allocations);
    cells[COL_FREES] = stat_int(row->frees);
}

void stat_memory_code(const struct stat *stat, const struct memory_change *changes, size_t change_count,
                      struct stat_report *report)
{
    static const char note[] = "By the program's innermost frame at the allocation. At peak: live when its "
                               "process had the most memory on this GPU; with callees: also what the line "
                               "calls. Live: at the end of the trace. Own peak: the most that this line had "
                               "at a time. The sums of the other columns are those of the table of memory.";
    struct rows rows = {.stat = stat};
    for (size_t i = 0; i < change_count; i++)
        find_peak(&rows, &changes[i]);
    for (size_t i = 0; i < change_count; i++)
        count(&rows, &changes[i]);
    for (uint32_t i = 0; i < rows.sum_count; i++)
        add_callers(&rows, i);
    sort_array(rows.list, rows.count, sizeof *rows.list, compare_rows);
    struct stat_table *table = STAT_ADD_TABLE(report, "memory_code", "Memory by code", note, columns);
    for (size_t i = 0; i < rows.count; i++)
        fill(table, &rows.list[i]);
    int_map_deinit(&rows.account_numbers);
    int_map_deinit(&rows.sum_numbers);
    int_map_deinit(&rows.numbers);
    free(rows.accounts);
    free(rows.sums);
    free(rows.list);
}
