/* The columns of exported files. tools/gen_fleet_schema.py makes the table, together with
 * docs/fleet-schema.md. */
#pragma once

#include "analysis/export/parquet.h"

enum fleet_source {
    FLEET_FIELD,    /* of the span or the resource, by the column's name */
    FLEET_RESOURCE, /* an attribute of the resource, so it is the same in a whole file */
    FLEET_ATTRIBUTE /* an attribute of the span */
};

struct fleet_column {
    const char *name;
    enum parquet_type type;
    bool is_optional;
    enum fleet_source source;
    const char *keys; /* of attributes, separated by blanks: the first that is present; NULL: a field */
    bool is_flag;     /* of an attribute that is a bool: 1 or 0 */
};

extern const char fleet_schema_version[];
extern const struct fleet_column fleet_span_columns[];
extern const size_t fleet_span_column_count;
extern const struct fleet_column fleet_resource_columns[];
extern const size_t fleet_resource_column_count;
