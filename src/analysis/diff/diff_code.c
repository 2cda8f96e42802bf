/* The table of code of `cuspan diff`: the GPU time of each line, function or module on both sides. */
#include "analysis/diff/diff.h"

#include "base/hash.h"
#include "analysis/code/stack_lines.h"
#include "cli/util/int_map.h"
#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIFF_CODE_ROWS 20

#define COLUMNS(X)                                                                                           \
    X(COL_PLACE, "place", "code", STAT_TEXT)                                                                 \
    X(COL_FUNCTION, "function", "function", STAT_TEXT)                                                       \
    X(COL_BASE_NS, "base_ns", "GPU time, base", STAT_NS)                                                     \
    X(COL_NEW_NS, "new_ns", "new", STAT_NS)                                                                  \
    X(COL_CHANGE_SHARE, "change_share", "change", STAT_SHARE)
STAT_COLUMNS_OF(columns, COLUMNS);

struct row {
    char *name;             /* as that of a measure, without what rows have in common */
    double *ns[SIDE_COUNT]; /* of each run */
    double median_ns[SIDE_COUNT];
};

struct rows {
    struct row *list;
    size_t count, capacity;
    struct int_map numbers; /* hash of a name → number */
    enum stat_code_by by;
};

/* The number of bytes in front of the line number, and the rest behind it. */
static size_t without_line(const char *place, size_t len, const char **rest)
{
    const char *end = place + len, *at;
    size_t mark = strlen(CODE_BACKWARD);
    if (len > mark && memcmp(end - mark, CODE_BACKWARD, mark) == 0)
        end -= mark;
    for (at = end; at > place && at[-1] >= '0' && at[-1] <= '9';)
        at--;
    bool has_line = at < end && at > place + 1 && at[-1] == ':';
    *rest = has_line ? end : place + len;
    return has_line ? (size_t)(at - 1 - place) : len;
}

/* The row's name of a measure's, "model.py:31\tBlock.forward". The caller frees it. */
static char *name_of(const char *measure, enum stat_code_by by)
{
    size_t len = strcspn(measure, RUN_CODE_SEPARATOR);
    const char *function = by == STAT_CODE_BY_MODULE ? "" : measure + len, *rest = measure + len;
    size_t kept = by == STAT_CODE_BY_LINE ? len : without_line(measure, len, &rest);
    return xasprintf("%.*s%.*s%s", (int)kept, measure, (int)(measure + len - rest), rest, function);
}

static struct row *row_of(struct rows *rows, char *name, const struct run_set sides[SIDE_COUNT])
{
    uint64_t key = int_map_mix(hash_text(HASH_START, name));
    uint32_t number;
    while ((number = int_map_get(&rows->numbers, key)) != MAP_NONE &&
           strcmp(rows->list[number].name, name) != 0)
        key++;
    if (number != MAP_NONE) {
        free(name);
        return &rows->list[number];
    }
    int_map_set(&rows->numbers, key, (uint32_t)rows->count);
    struct row *row = XADD(rows->list, rows->count, rows->capacity);
    *row = (struct row){.name = name};
    for (size_t s = 0; s < SIDE_COUNT; s++)
        row->ns[s] = xcalloc(sides[s].run_count + 1, sizeof *row->ns[s]);
    return row;
}

static bool gather(struct rows *rows, const struct run_set sides[SIDE_COUNT])
{
    bool has_all = true;
    for (size_t s = 0; s < SIDE_COUNT; s++) {
        bool has_lines = false;
        for (size_t i = 0; i < sides[s].count; i++) {
            const struct measure *measure = &sides[s].items[i];
            if (measure->kind != MEASURE_CODE)
                continue;
            struct row *row = row_of(rows, name_of(measure->name, rows->by), sides);
            for (size_t r = 0; r < sides[s].run_count; r++)
                row->ns[s][r] += (double)measure->runs[r].total;
            has_lines = true;
        }
        has_all &= has_lines;
    }
    return has_all;
}

/* The largest change first. */
static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    double of_x = fabs(x->median_ns[SIDE_NEW] - x->median_ns[SIDE_BASE]);
    double of_y = fabs(y->median_ns[SIDE_NEW] - y->median_ns[SIDE_BASE]);
    int order = ORDER(of_y, of_x);
    return order ? order : strcmp(x->name, y->name);
}

static void fill(struct stat_table *table, const struct row *row)
{
    struct stat_value *cells = stat_table_add(table);
    size_t len = strcspn(row->name, RUN_CODE_SEPARATOR);
    double base = row->median_ns[SIDE_BASE], new = row->median_ns[SIDE_NEW];
    cells[COL_PLACE] = stat_table_own(table, xasprintf("%.*s", (int)len, row->name));
    if (row->name[len])
        cells[COL_FUNCTION] = stat_table_own(table, xstrdup(row->name + len + 1));
    if (base > 0)
        cells[COL_BASE_NS] = stat_int((uint64_t)llround(base));
    if (new > 0)
        cells[COL_NEW_NS] = stat_int((uint64_t)llround(new));
    if (base > 0 && new > 0)
        cells[COL_CHANGE_SHARE] = stat_real(new / base - 1);
}

void diff_code_report(const struct run_set sides[SIDE_COUNT], enum stat_code_by by, bool with_all,
                      struct stat_report *report)
{
    static const char note[] = "GPU time of a run by the program's innermost frame at the launch, as median "
                               "of the runs. The largest changes come first. These rows have no verdict.";
    struct rows rows = {.by = by};
    bool has_lines = gather(&rows, sides);
    for (size_t i = 0; i < rows.count; i++)
        for (size_t s = 0; s < SIDE_COUNT; s++)
            rows.list[i].median_ns[s] = sort_median(rows.list[i].ns[s], sides[s].run_count);
    sort_array(rows.list, rows.count, sizeof *rows.list, compare_rows);
    struct stat_table *table = has_lines ? STAT_ADD_TABLE(report, "code", "Code", note, columns) : NULL;
    for (size_t i = 0; i < rows.count; i++) {
        bool is_changed = rows.list[i].median_ns[SIDE_BASE] < rows.list[i].median_ns[SIDE_NEW] ||
                          rows.list[i].median_ns[SIDE_BASE] > rows.list[i].median_ns[SIDE_NEW];
        if (table && (with_all || is_changed))
            fill(table, &rows.list[i]);
        for (size_t s = 0; s < SIDE_COUNT; s++)
            free(rows.list[i].ns[s]);
        free(rows.list[i].name);
    }
    if (table && !with_all)
        stat_table_keep(table, DIFF_CODE_ROWS);
    free(rows.list);
    int_map_deinit(&rows.numbers);
}
