#include "model/resource.h"

#include <stdlib.h>
#include <string.h>

/* The attribute's index, or that of the next one to be added. */
static size_t index_of(const struct resource *resource, const char *key)
{
    size_t at = 0;
    while (at < resource->attr_count && strcmp(resource->attrs[at].key, key) != 0)
        at++;
    return at;
}

const struct resource_attr *resource_find(const struct resource *resource, const char *key)
{
    size_t at = index_of(resource, key);
    return at < resource->attr_count ? &resource->attrs[at] : NULL;
}

const char *resource_text(const struct resource *resource, const char *key)
{
    const struct resource_attr *attr = resource_find(resource, key);
    return attr && attr->type == RESOURCE_STRING && !attr->is_array ? attr->items->string : NULL;
}

static void free_items(struct resource_attr *attr)
{
    for (size_t i = 0; attr->items && attr->type == RESOURCE_STRING && i < attr->item_count; i++)
        free((char *)(uintptr_t)attr->items[i].string);
    free(attr->items);
}

/* Replaces the items by copies of them. On failure, what was copied is to be freed. */
static enum status copy_items(struct resource_attr *attr)
{
    const union resource_item *from = attr->items;
    bool is_copied = (attr->items = calloc(attr->item_count + 1, sizeof *from)) != NULL;
    for (size_t i = 0; is_copied && i < attr->item_count; i++) {
        attr->items[i] = from[i];
        if (attr->type == RESOURCE_STRING)
            is_copied = (attr->items[i].string = strdup(from[i].string)) != NULL;
    }
    return is_copied ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status resource_set(struct resource *resource, const struct resource_attr *attr)
{
    struct resource_attr made = *attr;
    size_t at = index_of(resource, attr->key);
    bool is_new = at == resource->attr_count;
    if (at == RESOURCE_ATTRS_MAX)
        return STATUS_FULL;
    enum status status = copy_items(&made);
    made.key = is_new ? strdup(attr->key) : resource->attrs[at].key;
    if (status != STATUS_OK || !made.key) {
        free_items(&made);
        free(is_new ? (char *)(uintptr_t)made.key : NULL);
        return STATUS_NO_MEMORY;
    }
    if (!is_new)
        free_items(&resource->attrs[at]);
    resource->attrs[at] = made;
    resource->attr_count += is_new;
    return STATUS_OK;
}

static enum status set_one(struct resource *resource, const char *key, enum resource_value type,
                           union resource_item item)
{
    return resource_set(resource,
                        &(struct resource_attr){.key = key, .type = type, .item_count = 1, .items = &item});
}

enum status resource_set_string(struct resource *resource, const char *key, const char *value)
{
    return set_one(resource, key, RESOURCE_STRING, (union resource_item){.string = value});
}

enum status resource_set_int(struct resource *resource, const char *key, int64_t value)
{
    return set_one(resource, key, RESOURCE_INT, (union resource_item){.integer = value});
}

enum status resource_set_bool(struct resource *resource, const char *key, bool value)
{
    return set_one(resource, key, RESOURCE_BOOL, (union resource_item){.integer = value});
}

enum status resource_set_double(struct resource *resource, const char *key, double value)
{
    return set_one(resource, key, RESOURCE_DOUBLE, (union resource_item){.real = value});
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

enum status resource_merge(struct resource *to, const struct resource *from)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < from->attr_count && status == STATUS_OK; i++) {
        if (!resource_find(to, from->attrs[i].key))
            status = resource_set(to, &from->attrs[i]);
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
        free((char *)(uintptr_t)resource->attrs[i].key);
        free_items(&resource->attrs[i]);
    }
    free(resource->schema_url);
    resource->attr_count = 0;
    resource->schema_url = NULL;
}
