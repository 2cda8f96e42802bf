#include "agent/config/file/file_reader.h"

#include "base/text/suggest.h"
#include "agent/config/text/pairs.h"

#include <stdlib.h>
#include <string.h>

struct attribute_type {
    const char *name;
    enum resource_value value;
    bool is_array;
};

static const struct attribute_type types[] = {
    {"string", RESOURCE_STRING, false},
    {"bool", RESOURCE_BOOL, false},
    {"int", RESOURCE_INT, false},
    {"double", RESOURCE_DOUBLE, false},
    {"string_array", RESOURCE_STRING, true},
    {"bool_array", RESOURCE_BOOL, true},
    {"int_array", RESOURCE_INT, true},
    {"double_array", RESOURCE_DOUBLE, true},
};

static const struct attribute_type *find_type(struct file_reader *reader, const struct node_place *place,
                                              const struct node *node)
{
    if (!node || node_is_null(node))
        return &types[0];
    if (node->kind != NODE_SCALAR || node->type != SCALAR_STRING) {
        reader_expected(reader, place, "string, bool, int, double, or one of them with _array", node);
        return NULL;
    }
    struct suggest suggest = {.word = node->text};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, node->text) == 0)
            return &types[i];
        suggest_offer(&suggest, types[i].name);
    }
    reader_error(
        reader, place, "expected string, bool, int, double, or one of them with _array, not \"%.40s\"%s%s%s",
        node->text, suggest.best[0] ? "; did you mean " : "", suggest.best, suggest.best[0] ? "?" : "");
    return NULL;
}

static bool fits(const struct node *node, enum resource_value type)
{
    if (node->kind != NODE_SCALAR)
        return false;
    switch (type) {
    case RESOURCE_STRING: /* a variable's text may look like a number */
        return node->type == SCALAR_STRING || (node->is_substituted && node->type != SCALAR_NULL);
    case RESOURCE_BOOL:
        return node->type == SCALAR_BOOL;
    case RESOURCE_INT:
        return node->type == SCALAR_INT;
    case RESOURCE_DOUBLE:
        return node->type == SCALAR_INT || node->type == SCALAR_FLOAT;
    }
    return false;
}

static bool parse_value(const char *text, enum resource_value type, union resource_item *value)
{
    bool truth;
    if (type == RESOURCE_INT)
        return scalar_parse_int(text, &value->integer);
    if (type == RESOURCE_DOUBLE)
        return scalar_parse_float(text, &value->real);
    if (type == RESOURCE_STRING)
        value->string = text;
    else if (scalar_parse_bool(text, &truth))
        value->integer = truth;
    else
        return false;
    return true;
}

static void keep(struct file_reader *reader, const struct node_place *place, enum status status)
{
    if (status == STATUS_FULL)
        reader_error(reader, place, "more than %d attributes: remove some", RESOURCE_ATTRS_MAX);
    else if (status == STATUS_INVALID)
        reader_error(reader, place, "the number is out of range: expected at most 64 bits");
    else if (status != STATUS_OK)
        reader->status = status;
}

static void set_array(struct file_reader *reader, const struct node_place *place,
                      const struct attribute_type *type, const struct node *list, struct resource_attr *attr)
{
    if (list->kind != NODE_LIST) {
        reader_error(reader, place, "expected a list, because type is %s, not %s", type->name,
                     node_kind_name(list));
        return;
    }
    attr->items = calloc(list->count + 1, sizeof *attr->items);
    for (const struct item *item = list->items; item && attr->items; item = item->next) {
        struct node_place at = place_of_index(place, item, (unsigned)attr->item_count);
        if (!fits(item->value, type->value) || !item->value->text[0] ||
            !parse_value(item->value->text, type->value, &attr->items[attr->item_count++])) {
            reader_error(reader, &at, "expected a value of type %s that is not empty", type->name);
            free(attr->items);
            return;
        }
    }
    keep(reader, place, attr->items ? resource_set(&reader->settings->resource, attr) : STATUS_NO_MEMORY);
    free(attr->items);
}

static void set_attribute(struct file_reader *reader, const struct node_place *place, const char *name,
                          const struct attribute_type *type, const struct node *value)
{
    union resource_item item;
    struct resource_attr attr = {.key = name, .type = type->value, .is_array = type->is_array};
    if (node_is_null(value))
        return;
    if (type->is_array) {
        set_array(reader, place, type, value, &attr);
    } else if (!fits(value, type->value)) {
        reader_error(reader, place, "expected a value of type %s, not %s: correct it, or set type",
                     type->name, node_kind_name(value));
    } else {
        attr.items = &item;
        attr.item_count = 1;
        keep(reader, place,
             parse_value(value->text, type->value, &item) ? resource_set(&reader->settings->resource, &attr)
                                                          : STATUS_INVALID);
    }
}

static void read_attribute(struct file_reader *reader, const struct node_place *place,
                           const struct node *node)
{
    static const char shape[] = "a mapping with the keys name, value and optionally type";
    if (node->kind != NODE_MAP) {
        reader_expected(reader, place, shape, node);
        return;
    }
    const struct item *name = node_find(node, "name"), *value = node_find(node, "value"),
                      *type_item = node_find(node, "type");
    for (const struct item *item = node->items; item; item = item->next) {
        if (item != name && item != value && item != type_item) {
            struct node_place at = place_of_item(place, item);
            reader_error(reader, &at, "unknown key: expected name, value or type");
            return;
        }
    }
    bool has_name = name && name->value->kind == NODE_SCALAR && name->value->type == SCALAR_STRING &&
                    name->value->text[0];
    if (!has_name || !value) {
        reader_error(reader, place, "%s is missing: expected %s", has_name ? "value" : "name", shape);
        return;
    }
    struct node_place type_place = type_item ? place_of_item(place, type_item) : *place;
    const struct attribute_type *type = find_type(reader, &type_place, type_item ? type_item->value : NULL);
    struct node_place value_place = place_of_item(place, value);
    if (type)
        set_attribute(reader, &value_place, name->value->text, type, value->value);
}

void read_attributes(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (!reader_takes(reader, place, node, NODE_LIST,
                      "a list like [{name: service.name, value: my-service}]"))
        return;
    unsigned index = 0;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        read_attribute(reader, &at, item->value);
    }
}

void read_attributes_list(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node_is_null(node))
        return;
    if (!node_is_text(node)) {
        reader_expected(reader, place, "text like key=value,key=value", node);
        return;
    }
    struct error err = {""};
    enum status status = pairs_to_resource(node->text, &reader->settings->resource, &err);
    if (status == STATUS_INVALID)
        reader_warning(reader, place, "ignoring the whole list: %s", err.text);
    else if (status != STATUS_OK)
        reader->status = status;
}
