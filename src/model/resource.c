#include "model/resource.h"

#include <stdlib.h>
#include <string.h>

const struct resource_attr *resource_find(const struct resource *resource, const char *key)
{
    for (size_t i = 0; i < resource->attr_count; i++)
        if (strcmp(resource->attrs[i].key, key) == 0)
            return &resource->attrs[i];
    return NULL;
}

static void free_value(struct resource_attr *attr)
{
    free(attr->string);
    free(attr->items);
}

/* Takes ownership of `value`'s memory, also on failure. */
static enum status set(struct resource *resource, const char *key, struct resource_attr value)
{
    const struct resource_attr *found = resource_find(resource, key);
    if (found) {
        struct resource_attr *attr = &resource->attrs[found - resource->attrs];
        free_value(attr);
        value.key = attr->key;
        *attr = value;
        return STATUS_OK;
    }
    enum status status = resource->attr_count == RESOURCE_ATTRS_MAX ? STATUS_FULL : STATUS_NO_MEMORY;
    if (status == STATUS_FULL || !(value.key = strdup(key))) {
        free_value(&value);
        return status;
    }
    resource->attrs[resource->attr_count++] = value;
    return STATUS_OK;
}

enum status resource_set_string(struct resource *resource, const char *key, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return STATUS_NO_MEMORY;
    return set(resource, key, (struct resource_attr){.type = RESOURCE_STRING, .string = copy});
}

enum status resource_set_int(struct resource *resource, const char *key, int64_t value)
{
    return set(resource, key, (struct resource_attr){.type = RESOURCE_INT, .integer = value});
}

void resource_add_string(struct resource *resource, const char *key, const char *value, enum status *status)
{
    if (*status == STATUS_OK && value && *value && !resource_find(resource, key))
        *status = resource_set_string(resource, key, value);
}

void resource_add_int(struct resource *resource, const char *key, int64_t value, enum status *status)
{
    if (*status == STATUS_OK && value >= 0 && !resource_find(resource, key))
        *status = resource_set_int(resource, key, value);
}

enum status resource_set_bool(struct resource *resource, const char *key, bool value)
{
    return set(resource, key, (struct resource_attr){.type = RESOURCE_BOOL, .integer = value});
}

enum status resource_set_double(struct resource *resource, const char *key, double value)
{
    return set(resource, key, (struct resource_attr){.type = RESOURCE_DOUBLE, .real = value});
}

/* Including the empty string at the end. */
static size_t strings_bytes(const char *strings)
{
    const char *at = strings;
    while (*at)
        at += strlen(at) + 1;
    return (size_t)(at - strings) + 1;
}

enum status resource_set_strings(struct resource *resource, const char *key, const char *strings)
{
    size_t bytes = strings_bytes(strings);
    char *copy = malloc(bytes);
    if (!copy)
        return STATUS_NO_MEMORY;
    memcpy(copy, strings, bytes);
    return set(resource, key, (struct resource_attr){.type = RESOURCE_STRING_ARRAY, .string = copy});
}

enum status resource_set_array(struct resource *resource, const char *key, enum resource_value item_type,
                               const union resource_item *items, size_t item_count)
{
    if (item_type != RESOURCE_INT && item_type != RESOURCE_BOOL && item_type != RESOURCE_DOUBLE)
        return STATUS_INVALID;
    struct resource_attr value = {
        .type = RESOURCE_ARRAY, .item_type = (uint8_t)item_type, .item_count = item_count};
    if (item_count > 0) {
        value.items = malloc(item_count * sizeof *items);
        if (!value.items)
            return STATUS_NO_MEMORY;
        memcpy(value.items, items, item_count * sizeof *items);
    }
    return set(resource, key, value);
}

static enum status copy_attr(struct resource *to, const struct resource_attr *attr)
{
    switch ((enum resource_value)attr->type) {
    case RESOURCE_STRING:
        return resource_set_string(to, attr->key, attr->string);
    case RESOURCE_INT:
        return resource_set_int(to, attr->key, attr->integer);
    case RESOURCE_BOOL:
        return resource_set_bool(to, attr->key, attr->integer != 0);
    case RESOURCE_DOUBLE:
        return resource_set_double(to, attr->key, attr->real);
    case RESOURCE_STRING_ARRAY:
        return resource_set_strings(to, attr->key, attr->string);
    case RESOURCE_ARRAY:
        return resource_set_array(to, attr->key, attr->item_type, attr->items, attr->item_count);
    }
    return STATUS_INVALID;
}

enum status resource_merge(struct resource *to, const struct resource *from)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < from->attr_count && status == STATUS_OK; i++) {
        if (!resource_find(to, from->attrs[i].key))
            status = copy_attr(to, &from->attrs[i]);
    }
    if (status == STATUS_OK && !to->schema_url && from->schema_url) {
        to->schema_url = strdup(from->schema_url);
        status = to->schema_url ? STATUS_OK : STATUS_NO_MEMORY;
    }
    return status;
}

void resource_deinit(struct resource *resource)
{
    for (size_t i = 0; i < resource->attr_count; i++) {
        free(resource->attrs[i].key);
        free_value(&resource->attrs[i]);
    }
    free(resource->schema_url);
    resource->attr_count = 0;
    resource->schema_url = NULL;
}
