/* A table of `stat`: rows of values, and columns with units. stat_print.c formats tables for a terminal and
 * as Markdown, CSV and JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The columns of a table, from a list of X(identifier, key, title, unit): the identifiers as an enum, which
 * are the indexes of a row, and the array `name`. */
#define STAT_COLUMN_ID(id, key, title, unit) id,
#define STAT_COLUMN(id, key, title, unit)    {key, title, unit},
#define STAT_COLUMNS_OF(name, LIST)                                                                          \
    enum { LIST(STAT_COLUMN_ID) };                                                                           \
    static const struct stat_column name[] = {LIST(STAT_COLUMN)}

enum stat_unit {
    STAT_TEXT,
    STAT_COUNT,      /* int */
    STAT_NS,         /* int */
    STAT_BYTES,      /* int, as uint64_t */
    STAT_RATE,       /* real: bytes per second */
    STAT_SHARE,      /* real: of 1 */
    STAT_REAL,       /* a bare number */
    STAT_PROBABILITY /* real */
};

static inline bool stat_unit_is_int(enum stat_unit unit)
{
    return unit == STAT_COUNT || unit == STAT_NS || unit == STAT_BYTES;
}

struct stat_column {
    const char *key;   /* name in JSON and CSV; times end with _ns, shares with _share and so on */
    const char *title; /* name in tables for people */
    enum stat_unit unit;
};

/* A cell. The column's unit decides which member is used. `is_missing`: the cell has no value, or it is
 * unknown. */
struct stat_value {
    union {
        int64_t i;
        double d;
        const char *text; /* borrowed from the trace, or static */
    };
    bool is_missing;
};

struct stat_table {
    const char *key;
    const char *title;
    const char *note; /* a sentence below the title that explains the columns; or NULL */
    const struct stat_column *columns;
    struct stat_column *own_columns; /* NULL, or what `columns` points to: freed with the table */
    size_t column_count;
    struct stat_value *values; /* row by row */
    size_t row_count, capacity;
    size_t left_out; /* rows that stat_table_keep() removed */
    double error;    /* the largest relative error of medians and percentiles; 0: they are exact */
    char **texts;    /* owned texts that the values borrow */
    size_t text_count, text_capacity;
};

struct stat_table stat_table_of(const char *key, const char *title, const char *note,
                                const struct stat_column *columns, size_t column_count);
void stat_table_deinit(struct stat_table *table);

/* Appends a row of missing values. The pointer is valid until the next row is added. */
struct stat_value *stat_table_add(struct stat_table *table);
/* Takes ownership of a malloc'ed text and returns it as a value. */
struct stat_value stat_table_own(struct stat_table *table, char *text);
/* Moves ownership of texts from `from` to `to`, after rows were copied there. */
void stat_table_adopt(struct stat_table *to, struct stat_table *from);
/* Notes the relative error of medians and percentiles; the largest one counts. */
void stat_table_rounds(struct stat_table *table, double error);
static inline struct stat_value *stat_table_row(const struct stat_table *table, size_t row)
{
    return table->values + row * table->column_count;
}
/* Sorts the rows by a column of numbers, descending, then by the text of column 0. Missing values come last.
 */
void stat_table_sort(struct stat_table *table, size_t column);
/* Returns the index of the column with this key; column_count: there is none. */
size_t stat_table_column(const struct stat_table *table, const char *key);
/* Returns the index of the column of numbers with this key or title; column_count: there is none. */
size_t stat_table_numbers(const struct stat_table *table, const char *column);
/* Sorts the rows by the column of numbers with this key or title, if there is one. */
void stat_table_order(struct stat_table *table, const char *column);
/* Keeps the first `rows` rows (0: all) and counts the others in `left_out`. */
void stat_table_keep(struct stat_table *table, size_t rows);

static inline struct stat_value stat_int(uint64_t value)
{
    return (struct stat_value){.i = (int64_t)value};
}

static inline struct stat_value stat_real(double value)
{
    return (struct stat_value){.d = value};
}

static inline struct stat_value stat_text(const char *text)
{
    return (struct stat_value){.text = text};
}

/* Returns `part` divided by `whole`; missing: `whole` is 0. */
struct stat_value stat_ratio(double part, double whole);
