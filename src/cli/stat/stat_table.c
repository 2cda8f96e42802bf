#include "cli/stat/stat_table.h"

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
    table->texts = xgrow(table->texts, &table->text_capacity, table->text_count + 1, sizeof *table->texts);
    table->texts[table->text_count++] = text;
    return stat_text(text);
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

static size_t sort_column; /* qsort takes no context; this program has one thread */

static int compare_rows(const void *a, const void *b)
{
    const struct stat_value *x = a, *y = b;
    int64_t p = x[sort_column].is_missing ? INT64_MIN : x[sort_column].i;
    int64_t q = y[sort_column].is_missing ? INT64_MIN : y[sort_column].i;
    if (p != q)
        return p > q ? -1 : 1;
    return strcmp(x[0].text ? x[0].text : "", y[0].text ? y[0].text : "");
}

void stat_table_sort(struct stat_table *table, size_t column)
{
    sort_column = column;
    if (table->row_count > 1)
        qsort(table->values, table->row_count, table->column_count * sizeof *table->values, compare_rows);
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
