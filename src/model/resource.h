/* Attributes of what the spans came from: the process, or one GPU of it. Built once by agent, encoded once by
 * encode. Owned by whoever made it; all strings are copies inside it. */
#ifndef CUSPAN_MODEL_RESOURCE_H
#define CUSPAN_MODEL_RESOURCE_H

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
    char *string; /* STRING: NUL-terminated. STRING_ARRAY: NUL-terminated strings one after the other, then an
                     empty one */
    int64_t integer; /* INT, BOOL */
    double real;
    size_t item_count; /* ARRAY */
    union resource_item *items;
};

struct resource {
    size_t attr_count;
    struct resource_attr attrs[RESOURCE_ATTRS_MAX];
    char *schema_url; /* NULL: the one of this version of the conventions */
};

/* Set or replace. FULL when there are RESOURCE_ATTRS_MAX already; NO_MEMORY. */
enum status resource_set_string(struct resource *resource, const char *key, const char *value) MUST_CHECK;
enum status resource_set_int(struct resource *resource, const char *key, int64_t value) MUST_CHECK;
enum status resource_set_bool(struct resource *resource, const char *key, bool value) MUST_CHECK;
enum status resource_set_double(struct resource *resource, const char *key, double value) MUST_CHECK;
/* `strings`: as in struct resource_attr. */
enum status resource_set_strings(struct resource *resource, const char *key, const char *strings) MUST_CHECK;
/* The same for an array of another type; INVALID if that is none of INT, BOOL and DOUBLE. The items are
 * copied.
 */
enum status resource_set_array(struct resource *resource, const char *key, enum resource_value item_type,
                               const union resource_item *items, size_t item_count) MUST_CHECK;
/* Adds what `from` has and `to` lacks. */
enum status resource_merge(struct resource *to, const struct resource *from) MUST_CHECK;
const struct resource_attr *resource_find(const struct resource *resource, const char *key);
/* Frees what it owns and empties it; safe on a zeroed one. */
void resource_deinit(struct resource *resource);

#endif
