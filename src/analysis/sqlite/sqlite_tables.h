/* The columns of sqlite.c's tables, and the sources of their values. */
#pragma once

#include <stddef.h>

enum sqlite_source {
    FROM_START,       /* ns since the trace's first span */
    FROM_END,         /* the same */
    FROM_END_OR_NULL, /* the same; NULL for a mark */
    FROM_INT,         /* an attribute: a number */
    FROM_INT_OR_0,    /* 0 if missing */
    FROM_TEXT,        /* an attribute, as text */
    FROM_STRING_ID,   /* an attribute: its text's number in StringIds */
    FROM_NAME_ID,     /* the span's name, likewise */
    FROM_NAME,        /* the span's name, as text */
    FROM_WORD,        /* an attribute: its number among `words`; NULL if it is not among them */
    FROM_X,           /* an attribute: a number of its list */
    FROM_Y,
    FROM_Z,
    FROM_DEVICE,     /* the number of the span's device */
    FROM_GLOBAL_PID, /* the process, packed as in Nsight Systems */
    FROM_GLOBAL_TID, /* the thread, likewise */
    FROM_SPAN        /* the row in CUSPAN_SPANS */
};

struct sqlite_column {
    const char *name;
    const char *type; /* SQLite's type, with its constraint */
    enum sqlite_source source;
    const char *attribute; /* or NULL */
    const char *words;     /* FROM_WORD: separated by spaces, numbered from 0, or each as WORD=NUMBER */
};

enum sqlite_kind {
    EXPORT_KERNEL,
    EXPORT_COPY,
    EXPORT_FILL,
    EXPORT_GRAPH,
    EXPORT_SYNCHRONIZATION,
    EXPORT_CALL,
    EXPORT_RANGE,
    EXPORT_KIND_COUNT
};

#define SQLITE_EVENT_TYPE_MARK 34 /* of ENUM_NSYS_EVENT_TYPE */

struct sqlite_table {
    const char *name;
    const struct sqlite_column *columns;
    size_t column_count;
};

extern const struct sqlite_table sqlite_tables[EXPORT_KIND_COUNT];

/* "ENUM_CUDA_MEMCPY_OPER" and so on: statements that create and fill them. */
extern const char *const sqlite_enums;
