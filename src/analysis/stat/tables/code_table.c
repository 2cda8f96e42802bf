/* The table of code: GPU time, launches, waits and copied bytes by line, function or module of the program.
 */
#include "base/hash.h"
#include "analysis/code/code_book.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(X)                                                                                           \
    X(COL_PLACE, "place", "code", STAT_TEXT)                                                                 \
    X(COL_FUNCTION, "function", "function", STAT_TEXT)                                                       \
    X(COL_SELF_NS, "self_ns", "GPU time", STAT_NS)                                                           \
    X(COL_SHARE, "share", "share", STAT_SHARE)                                                               \
    X(COL_TOTAL_NS, "total_ns", "with callees", STAT_NS)                                                     \
    X(COL_LAUNCHES, "launches", "launches", STAT_COUNT)                                                      \
    X(COL_WAIT_NS, "wait_ns", "waits", STAT_NS)                                                              \
    X(COL_COPIED_BYTES, "copied_bytes", "copied", STAT_BYTES)                                                \
    X(COL_TOP, "top", "most time in", STAT_TEXT)                                                             \
    X(COL_TOP_PLACE, "top_place", "at", STAT_TEXT) /* filled by kernel_lines.h */                            \
    X(COL_SOURCE, "source", "source", STAT_TEXT)
STAT_COLUMNS_OF(columns, COLUMNS);

#define PAIRS_MAX (1u << 20) /* pairs of a place and a kernel; 24 bytes each */

struct sums {
    uint32_t origin;
    uint64_t self_ns, launches, wait_ns, copied_bytes;
};

/* The time of one kernel, or kind of copy, of an origin; later, of a row. */
struct pair {
    uint32_t of, name;
    uint64_t ns;
};

struct pairs {
    struct int_map numbers;
    struct pair *list;
    size_t count, capacity;
};

struct code {
    struct int_map numbers; /* origin → index in sums */
    struct sums *sums;
    size_t count, capacity;
    struct pairs pairs;
};

static uint32_t number_of(struct code *code, const struct stat *stat, const struct trace_span *span)
{
    uint32_t origin = code_book_origin(stat->code, stat, span);
    uint32_t number = int_map_number(&code->numbers, origin);
    if (number == code->count)
        *XADD(code->sums, code->count, code->capacity) = (struct sums){.origin = origin};
    return number;
}

/* Adds a kernel's time, unless there are too many pairs. */
static void add_pair(struct pairs *pairs, uint32_t of, uint32_t name, uint64_t ns)
{
    uint64_t key = (uint64_t)of << 32 | name;
    if (pairs->count == PAIRS_MAX && int_map_get(&pairs->numbers, key) == MAP_NONE)
        return;
    uint32_t number = int_map_number(&pairs->numbers, key);
    if (number == pairs->count)
        *XADD(pairs->list, pairs->count, pairs->capacity) = (struct pair){.of = of, .name = name};
    pairs->list[number].ns += ns;
}

static void pairs_deinit(struct pairs *pairs)
{
    int_map_deinit(&pairs->numbers);
    free(pairs->list);
}

static void take_work(struct code *code, const struct stat *stat, const struct trace_span *span)
{
    uint32_t number = number_of(code, stat, span);
    code->sums[number].self_ns += stat_duration(span);
    if (span->class == CLASS_COPY)
        code->sums[number].copied_bytes += stat_attr_int(stat, span, KEY_COPY_BYTES, 0);
    add_pair(&code->pairs, number, span->name, stat_duration(span));
}

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct code *code = state;
    if (stat_is_work(stat, span)) {
        take_work(code, stat, span);
        return;
    }
    if (span->class != CLASS_CALL)
        return;
    struct stat_call call = stat_call_of(stat, span);
    bool is_launch = call.group == CALL_GROUP_LAUNCH, is_wait = code_call_waits(&call);
    if (!is_launch && !is_wait)
        return;
    uint32_t number = number_of(code, stat, span);
    struct sums *sums = &code->sums[number];
    sums->launches += is_launch;
    sums->wait_ns += is_wait ? stat_duration(span) : 0;
}

/* --- rows --- */

struct row {
    const char *label;              /* or NULL */
    const struct code_frame *frame; /* by line: the place; by function and module: the first of its places */
    uint64_t self_ns, total_ns, launches, wait_ns, copied_bytes;
    uint64_t top_ns;
    const char *top;
    uint32_t seen_by; /* the last stack that was counted here, so that recursion counts once */
    char *place;
};

struct rows {
    const struct stat *stat;
    struct row *list;
    size_t count, capacity;
    struct int_map numbers;
};

static bool is_row(const struct rows *rows, const struct row *row, const char *label,
                   const struct code_frame *frame)
{
    enum stat_code_by by = rows->stat->code_by;
    if (label || row->label)
        return label && row->label && strcmp(label, row->label) == 0;
    return row->frame->file == frame->file && row->frame->is_native == frame->is_native &&
           row->frame->is_backward == frame->is_backward &&
           (by == STAT_CODE_BY_MODULE || row->frame->name == frame->name) &&
           (by != STAT_CODE_BY_LINE || row->frame->line == frame->line);
}

static uint32_t row_of(struct rows *rows, const char *label, const struct code_frame *frame)
{
    enum stat_code_by by = rows->stat->code_by;
    uint64_t key = label ? hash_text(HASH_START, label) : (uint64_t)(uintptr_t)frame->file;
    if (frame && by != STAT_CODE_BY_MODULE)
        key = int_map_mix(key) ^ (uint64_t)(uintptr_t)frame->name;
    if (frame && by == STAT_CODE_BY_LINE)
        key = int_map_mix(key) ^ frame->line;
    key = int_map_mix(key) + (frame && frame->is_backward);
    uint32_t number;
    while ((number = int_map_get(&rows->numbers, key)) != MAP_NONE) {
        if (is_row(rows, &rows->list[number], label, frame))
            return number;
        key++;
    }
    int_map_set(&rows->numbers, key, (uint32_t)rows->count);
    *XADD(rows->list, rows->count, rows->capacity) =
        (struct row){.label = label, .frame = frame, .seen_by = MAP_NONE};
    return (uint32_t)rows->count - 1;
}

static void add_total(struct rows *rows, uint32_t number, const struct sums *sums)
{
    struct row *row = &rows->list[number];
    if (row->seen_by == sums->origin)
        return;
    row->seen_by = sums->origin;
    row->total_ns += sums->self_ns;
}

/* Returns the row of the origin, and adds the origin's time to it and its callers. */
static uint32_t add_origin(struct rows *rows, const struct sums *sums)
{
    const struct stat *stat = rows->stat;
    struct code_stack stack = code_book_stack(stat->code, stat, sums->origin);
    uint32_t number =
        row_of(rows, stack.label, stack.label ? NULL : code_book_frame(stat->code, stack.place));
    struct row *row = &rows->list[number];
    row->self_ns += sums->self_ns;
    row->launches += sums->launches;
    row->wait_ns += sums->wait_ns;
    row->copied_bytes += sums->copied_bytes;
    add_total(rows, number, sums);
    bool has_callers = !stack.label && !stack.is_backward;
    for (size_t i = stack.self + 1; has_callers && i < stack.depth; i++) {
        if (code_book_is_programs(stat->code, &stack, i))
            add_total(rows, row_of(rows, NULL, code_book_frame(stat->code, stack.frames[i])), sums);
    }
    return number;
}

/* Finds the kernel with the most time of each row. Several origins can be one row, so their kernels' times
 * add up. */
static void find_tops(struct rows *rows, const struct code *code, const uint32_t *row_of_sums)
{
    struct pairs pairs = {0};
    for (size_t i = 0; i < code->pairs.count; i++) {
        const struct pair *of = &code->pairs.list[i];
        add_pair(&pairs, row_of_sums[of->of], of->name, of->ns);
    }
    for (size_t i = 0; i < pairs.count; i++) {
        const struct pair *pair = &pairs.list[i];
        struct row *row = &rows->list[pair->of];
        const char *name = trace_string(rows->stat->trace, pair->name);
        if (row->top && (pair->ns < row->top_ns || (pair->ns == row->top_ns && strcmp(name, row->top) >= 0)))
            continue;
        row->top = name;
        row->top_ns = pair->ns;
    }
    pairs_deinit(&pairs);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = ORDER(y->self_ns, x->self_ns);
    order = order ? order : ORDER(y->total_ns, x->total_ns);
    order = order ? order : ORDER(y->wait_ns, x->wait_ns);
    order = order ? order : strcmp(x->place, y->place);
    return order || !x->frame || !y->frame ? order : strcmp(x->frame->name, y->frame->name);
}

static void fill(struct stat_table *table, struct row *row, enum stat_code_by by, uint64_t all_ns)
{
    struct stat_value *cells = stat_table_add(table);
    cells[COL_PLACE] = stat_table_own(table, row->place);
    if (row->frame && by != STAT_CODE_BY_MODULE && *row->frame->name)
        cells[COL_FUNCTION] = stat_text(row->frame->name);
    cells[COL_SELF_NS] = stat_int(row->self_ns);
    cells[COL_SHARE] = stat_ratio((double)row->self_ns, (double)all_ns);
    cells[COL_TOTAL_NS] = stat_int(row->total_ns);
    cells[COL_LAUNCHES] = stat_int(row->launches);
    cells[COL_WAIT_NS] = stat_int(row->wait_ns);
    cells[COL_COPIED_BYTES] = stat_int(row->copied_bytes);
    if (row->top)
        cells[COL_TOP] = stat_text(row->top);
}

static void add_rows(struct stat_table *table, const struct stat *stat, const struct code *code)
{
    struct rows rows = {.stat = stat};
    uint64_t all_ns = 0;
    uint32_t *row_of_sums = xcalloc(code->count + 1, sizeof *row_of_sums);
    for (size_t i = 0; i < code->count; i++) {
        row_of_sums[i] = add_origin(&rows, &code->sums[i]);
        all_ns += code->sums[i].self_ns;
    }
    find_tops(&rows, code, row_of_sums);
    for (size_t i = 0; i < rows.count; i++)
        rows.list[i].place = code_place_text(rows.list[i].label, rows.list[i].frame, stat->code_by);
    sort_array(rows.list, rows.count, sizeof *rows.list, compare_rows);
    for (size_t i = 0; i < rows.count; i++)
        fill(table, &rows.list[i], stat->code_by, all_ns);
    free(row_of_sums);
    free(rows.list);
    int_map_deinit(&rows.numbers);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    static const char note[] = "By the program's innermost frame at the launch. GPU time: concurrent work "
                               "adds up, and the sum of all "
                               "rows is all GPU time. With callees: also of what the line calls. Waits: "
                               "calls that wait for the GPU, "
                               "and synchronous copies.";
    struct code *code = state;
    if (report && code_book_has_stacks(stat->code))
        add_rows(STAT_ADD_TABLE(report, "code", "Code", note, columns), stat, code);
    int_map_deinit(&code->numbers);
    free(code->sums);
    pairs_deinit(&code->pairs);
}

const struct stat_section stat_code = {sizeof(struct code), take, NULL, finish};
