#include "analysis/stat/base/stat_table.h"

#include "cli/util/sort.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct stat_table stat_table_of(const char *key, const char *title, const char *note,
                                const struct stat_column *columns, size_t column_count)
{
    return (struct stat_table){
        .key = key, .title = title, .note = note, .columns = columns, .column_count = column_count};
}

void stat_table_deinit(struct stat_table *table)
{
    free(table->values);
    for (size_t i = 0; i < table->text_count; i++)
        free(table->texts[i]);
    free(table->texts);
    free(table->own_columns);
    *table = (struct stat_table){0};
}

struct stat_value *stat_table_add(struct stat_table *table)
{
    size_t first = table->row_count * table->column_count;
    table->values =
        xgrow(table->values, &table->capacity, first + table->column_count, sizeof *table->values);
    for (size_t i = 0; i < table->column_count; i++)
        table->values[first + i] = (struct stat_value){.is_missing = true};
    table->row_count++;
    return table->values + first;
}

struct stat_value stat_table_own(struct stat_table *table, char *text)
{
    return stat_text(*XADD(table->texts, table->text_count, table->text_capacity) = text);
}

void stat_table_adopt(struct stat_table *to, struct stat_table *from)
{
    for (size_t i = 0; i < from->text_count; i++)
        stat_table_own(to, from->texts[i]);
    from->text_count = 0;
}

void stat_table_rounds(struct stat_table *table, double error)
{
    table->error = error > table->error ? error : table->error;
}

/* The context of qsort(), which takes none. The command has one thread. */
static struct {
    size_t column;
    enum stat_unit unit;
    bool has_names; /* column 0 has names */
} order;

static int compare_cells(const struct stat_value *x, const struct stat_value *y)
{
    if (x->is_missing || y->is_missing)
        return x->is_missing - y->is_missing;
    if (order.unit == STAT_BYTES)
        return ORDER((uint64_t)y->i, (uint64_t)x->i);
    return stat_unit_is_int(order.unit) ? ORDER(y->i, x->i) : ORDER(y->d, x->d);
}

static int compare_rows(const void *a, const void *b)
{
    const struct stat_value *x = a, *y = b;
    int result = compare_cells(&x[order.column], &y[order.column]);
    return result || !order.has_names ? result : strcmp(x->text ? x->text : "", y->text ? y->text : "");
}

void stat_table_sort(struct stat_table *table, size_t column)
{
    order.column = column;
    order.unit = table->columns[column].unit;
    order.has_names = table->columns[0].unit == STAT_TEXT;
    sort_array(table->values, table->row_count, table->column_count * sizeof *table->values, compare_rows);
}

size_t stat_table_column(const struct stat_table *table, const char *key)
{
    size_t c = 0;
    while (c < table->column_count && strcmp(table->columns[c].key, key) != 0)
        c++;
    return c;
}

size_t stat_table_numbers(const struct stat_table *table, const char *column)
{
    size_t c = 0;
    for (; c < table->column_count; c++) {
        const struct stat_column *of = &table->columns[c];
        if (of->unit != STAT_TEXT && (strcmp(of->key, column) == 0 || strcmp(of->title, column) == 0))
            break;
    }
    return c;
}

void stat_table_order(struct stat_table *table, const char *column)
{
    size_t c = stat_table_numbers(table, column);
    if (c < table->column_count)
        stat_table_sort(table, c);
}

void stat_table_keep(struct stat_table *table, size_t rows)
{
    if (rows == 0 || rows >= table->row_count)
        return;
    table->left_out += table->row_count - rows;
    table->row_count = rows;
}

struct stat_value stat_ratio(double part, double whole)
{
    return whole > 0 ? stat_real(part / whole) : (struct stat_value){.is_missing = true};
}
