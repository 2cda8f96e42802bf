/* Resource attributes of the process or of one of its GPUs. The agent builds it, and encode encodes it once.
 * It owns copies of all strings. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESOURCE_ATTRS_MAX 128

enum resource_value {
    RESOURCE_STRING,
    RESOURCE_INT,
    RESOURCE_BOOL,
    RESOURCE_DOUBLE,
    RESOURCE_STRING_ARRAY,
    RESOURCE_ARRAY /* of INT, BOOL or DOUBLE */
};

union resource_item {
    int64_t integer; /* INT, BOOL */
    double real;
};

struct resource_attr {
    char *key;
    uint8_t type;      /* enum resource_value */
    uint8_t item_type; /* ARRAY */
    char *string; /* STRING: NUL-terminated. STRING_ARRAY: consecutive NUL-terminated strings, then an empty
                     one */
    int64_t integer; /* INT, BOOL */
    double real;
    size_t item_count; /* ARRAY */
    union resource_item *items;
};

struct resource {
    size_t attr_count;
    struct resource_attr attrs[RESOURCE_ATTRS_MAX];
    char *schema_url; /* NULL: that of the conventions cuspan follows */
};

/* Set or replace. FULL: there are RESOURCE_ATTRS_MAX already; NO_MEMORY. */
enum status resource_set_string(struct resource *resource, const char *key, const char *value) MUST_CHECK;
enum status resource_set_int(struct resource *resource, const char *key, int64_t value) MUST_CHECK;
enum status resource_set_bool(struct resource *resource, const char *key, bool value) MUST_CHECK;
enum status resource_set_double(struct resource *resource, const char *key, double value) MUST_CHECK;
/* `strings`: as in struct resource_attr. */
enum status resource_set_strings(struct resource *resource, const char *key, const char *strings) MUST_CHECK;
/* Set an attribute that `resource` lacks, unless the value is unknown: NULL, "" or negative. `status` keeps
 * the first error, after which they do nothing. */
void resource_add_string(struct resource *resource, const char *key, const char *value, enum status *status);
void resource_add_int(struct resource *resource, const char *key, int64_t value, enum status *status);
/* An array of INT, BOOL or DOUBLE (else INVALID). The items are copied. */
enum status resource_set_array(struct resource *resource, const char *key, enum resource_value item_type,
                               const union resource_item *items, size_t item_count) MUST_CHECK;
/* Adds the attributes of `from` that `to` does not have. */
enum status resource_merge(struct resource *to, const struct resource *from) MUST_CHECK;
const struct resource_attr *resource_find(const struct resource *resource, const char *key);
/* Safe on a zeroed struct, which it leaves behind. */
void resource_deinit(struct resource *resource);
