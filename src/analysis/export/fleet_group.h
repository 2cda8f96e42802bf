/* Collects the spans of a row group by column, until they are written. */
#pragma once

#include "analysis/export/fleet_columns.h"
#include "analysis/trace/span_store.h"

#define FLEET_GROUP_ROWS    122880 /* what DuckDB writes; it reads a group per thread */
#define FLEET_GROUP_ENTRIES (2u << 20)
#define FLEET_GROUP_TEXT    (24u << 20) /* bytes of texts that only one span has */
#define FLEET_COLUMNS_MAX   64
#define FLEET_TEXT_BIT      (UINT64_C(1) << 63)

/* A column's values, in the order of their rows. */
struct fleet_values {
    /* Numbers. Of strings: the number of a string of the trace, or FLEET_TEXT_BIT and a place in `texts`,
     * where its length (4 bytes) and bytes are. Of IDs: two words each. */
    uint64_t *values;
    uint32_t *rows;
    size_t count, value_capacity, row_capacity;
};

/* Of the column `attributes`. */
struct fleet_entry {
    uint64_t bits; /* as in struct trace_attr; with RECORD_TEXT as in struct fleet_values */
    uint32_t key;  /* string */
    uint32_t row;
    uint32_t type; /* enum trace_value, and RECORD_TEXT */
};

struct fleet_group {
    uint32_t resource;
    uint64_t hour; /* since 1970 */
    size_t rows;
    struct fleet_values columns[FLEET_COLUMNS_MAX];
    struct fleet_entry *entries;
    size_t entry_count, entry_capacity;
    struct bytes texts;
    uint64_t hash; /* of all IDs */
};

/* State of all groups together. */
struct fleet_collector {
    const struct trace *trace;
    struct int_map keys; /* key of an attribute → index in `infos` */
    struct fleet_key {
        uint32_t column;   /* or MAP_NONE: `attributes` */
        uint64_t last_row; /* the span that had it last, from 1 */
    } * infos;
    size_t info_count, info_capacity;
    uint64_t row; /* of all groups, from 1 */
    struct text text;
    size_t repeated; /* attributes whose key the span already had */
    size_t late;     /* starts that are too large */
};

/* `trace` has all strings already. */
void fleet_collector_init(struct fleet_collector *collector, const struct trace *trace);
void fleet_collector_deinit(struct fleet_collector *collector);

void fleet_group_add(struct fleet_collector *collector, struct fleet_group *group,
                     const struct span_record *record);
/* The value of a column in the current row. */
void fleet_group_push(struct fleet_group *group, size_t column, uint64_t value);
bool fleet_group_is_full(const struct fleet_group *group);
/* Keeps the memory. */
void fleet_group_clear(struct fleet_group *group);
void fleet_group_deinit(struct fleet_group *group);

/* The hour since 1970 to which a span belongs. */
uint64_t fleet_hour(uint64_t start_ns);
/* The bytes of a string's value. */
struct slice fleet_text(const struct fleet_group *group, const struct trace *trace, uint64_t value);
/* The column of this name in the table of spans. */
size_t fleet_span_column(const char *name);

#define FLEET_NO_SERVICE  "__HIVE_DEFAULT_PARTITION__"
#define FLEET_SERVICE_MAX 180 /* bytes; a file name has 255 */
/* Adds the name of a folder, "date=2026-11-26/hour=03/service=NAME", from foreign text. `hour`: since 1970.
 * `service`: NULL: none. */
void fleet_path_add_partition(struct text *path, uint64_t hour, const char *service);
