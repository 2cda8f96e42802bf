/* A table of what `stat` says: rows of values, each column with its unit. What is computed fills tables; how
 * they look, on a terminal, in Markdown, CSV or JSON, is print.c's. */
#ifndef CUSPAN_CLI_STAT_STAT_TABLE_H
#define CUSPAN_CLI_STAT_STAT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAT_COLUMNS(columns) (sizeof(columns) / sizeof *(columns))

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
    STAT_BYTES,      /* int */
    STAT_RATE,       /* real: bytes a second */
    STAT_SHARE,      /* real: of 1 */
    STAT_REAL,       /* a bare number */
    STAT_PROBABILITY /* real */
};

struct stat_column {
    const char *key;   /* in JSON and CSV; times end with _ns, shares with _share and so on */
    const char *title; /* for people */
    enum stat_unit unit;
};

/* By its column's unit; `is_missing`: there is none, or it can't be known. */
struct stat_value {
    union {
        int64_t i;
        double d;
        const char *text; /* borrowed of the trace, or static */
    };
    bool is_missing;
};

struct stat_table {
    const char *key;
    const char *title;
    const char *note; /* a sentence below the title that says what is counted and how; or NULL */
    const struct stat_column *columns;
    struct stat_column *own_columns; /* NULL, or what `columns` points to: freed with the table */
    size_t column_count;
    struct stat_value *values; /* row by row */
    size_t row_count, capacity;
    size_t left_out; /* rows that stat_table_keep has taken away */
    char **texts;    /* that its values borrow and nobody else has */
    size_t text_count, text_capacity;
};

struct stat_table stat_table_of(const char *key, const char *title, const char *note,
                                const struct stat_column *columns, size_t column_count);
void stat_table_deinit(struct stat_table *table);

/* A row of missing values at the end; the pointer holds until the next one is added. */
struct stat_value *stat_table_add(struct stat_table *table);
/* A text for the table's values, which takes it over; it was allocated by malloc. */
struct stat_value stat_table_own(struct stat_table *table, char *text);
/* What `from` owns of texts is `to`'s from now on: rows of `from` were copied there. */
void stat_table_adopt(struct stat_table *to, struct stat_table *from);
/* The largest of an int column first; equal ones by the text of column 0. */
void stat_table_sort(struct stat_table *table, size_t column);
/* The first `rows` of them; 0: all. */
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

/* `part` of `whole` as a real; missing, of nothing. */
struct stat_value stat_ratio(double part, double whole);

#endif
