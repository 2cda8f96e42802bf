/* Resource attributes of the process or of one of its GPUs. The agent builds it, and encode encodes it once.
 * It owns copies of all strings. */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESOURCE_ATTRS_MAX 128

enum resource_value { RESOURCE_STRING, RESOURCE_INT, RESOURCE_BOOL, RESOURCE_DOUBLE };

union resource_item {
    const char *string; /* NUL-terminated */
    int64_t integer;    /* INT, BOOL */
    double real;
};

struct resource_attr {
    const char *key;
    enum resource_value type; /* of each item */
    bool is_array;
    size_t item_count; /* 1, unless is_array */
    union resource_item *items;
};

struct resource {
    size_t attr_count;
    struct resource_attr attrs[RESOURCE_ATTRS_MAX];
    char *schema_url; /* NULL: that of the conventions cuspan follows */
};

/* Sets or replaces an attribute by a copy of `attr`. FULL: there are RESOURCE_ATTRS_MAX already; NO_MEMORY.
 */
enum status resource_set(struct resource *resource, const struct resource_attr *attr) MUST_CHECK;
/* The same, of one value. */
enum status resource_set_string(struct resource *resource, const char *key, const char *value) MUST_CHECK;
enum status resource_set_int(struct resource *resource, const char *key, int64_t value) MUST_CHECK;
enum status resource_set_bool(struct resource *resource, const char *key, bool value) MUST_CHECK;
enum status resource_set_double(struct resource *resource, const char *key, double value) MUST_CHECK;
/* Set an attribute that `resource` lacks, unless the value is unknown: NULL, "" or negative. `status` keeps
 * the first error, after which they do nothing. */
void resource_add_string(struct resource *resource, const char *key, const char *value, enum status *status);
void resource_add_int(struct resource *resource, const char *key, int64_t value, enum status *status);
/* Adds the attributes of `from` that `to` does not have. */
enum status resource_merge(struct resource *to, const struct resource *from) MUST_CHECK;
const struct resource_attr *resource_find(const struct resource *resource, const char *key);
/* The value of a string; NULL: there is no such attribute, or it is none. */
const char *resource_text(const struct resource *resource, const char *key);
/* Safe on a zeroed struct, which it leaves behind. */
void resource_deinit(struct resource *resource);
