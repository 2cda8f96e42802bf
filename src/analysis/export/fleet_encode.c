#include "analysis/export/fleet_encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* More distinct numbers than this are better stored as differences. */
#define DISTINCT_NUMBERS_MAX 4096

/* The keys in dictionary.known of values that the dictionary has. */
enum { KNOWN_STRINGS, KNOWN_INTS, KNOWN_DOUBLES };

void fleet_encoder_deinit(struct fleet_encoder *encoder)
{
    dictionary_deinit(&encoder->dictionary);
    free(encoder->indices);
    free(encoder->defined);
    free(encoder->repeated);
    free(encoder->types.data);
}

static void make_room(struct fleet_encoder *encoder, size_t values, size_t levels)
{
    encoder->indices =
        xgrow(encoder->indices, &encoder->index_capacity, values + 1, sizeof *encoder->indices);
    encoder->defined =
        xgrow(encoder->defined, &encoder->defined_capacity, levels + 1, sizeof *encoder->defined);
}

/* --- values --- */

static uint32_t add_string(struct dictionary *dictionary, const struct trace *trace, uint32_t string)
{
    uint32_t index = int_map_get(&dictionary->known[KNOWN_STRINGS], string);
    if (index == MAP_NONE) {
        const char *text = trace_string(trace, string);
        index = dictionary_add(dictionary, text, strlen(text), DICTIONARY_TEXT);
        int_map_set(&dictionary->known[KNOWN_STRINGS], string, index);
    }
    return index;
}

static uint32_t add_formatted(struct dictionary *dictionary, uint64_t bits, bool is_double)
{
    struct int_map *known = &dictionary->known[is_double ? KNOWN_DOUBLES : KNOWN_INTS];
    char text[TRACE_NUMBER_BYTES];
    uint32_t index = int_map_get(known, bits);
    if (index != MAP_NONE)
        return index;
    if (is_double)
        trace_write_double(text, bits);
    else
        snprintf(text, sizeof text, "%" PRId64, (int64_t)bits);
    index = dictionary_add(dictionary, text, strlen(text), DICTIONARY_TEXT);
    int_map_set(known, bits, index);
    return index;
}

/* `texts`: of a value with RECORD_TEXT; NULL: there are none. */
static uint32_t add_value(struct dictionary *dictionary, const struct trace *trace,
                          const struct fleet_group *texts, uint32_t type, uint64_t bits)
{
    if (type & RECORD_TEXT) {
        struct slice text = fleet_text(texts, trace, bits);
        return dictionary_add(dictionary, text.at, text.len, DICTIONARY_TEXT);
    }
    if (type == TRACE_INT || type == TRACE_DOUBLE)
        return add_formatted(dictionary, bits, type == TRACE_DOUBLE);
    if (type == TRACE_BOOL)
        return dictionary_add(dictionary, bits ? "true" : "false", bits ? 4 : 5, DICTIONARY_TEXT);
    return add_string(dictionary, trace, (uint32_t)bits);
}

/* --- columns --- */

/* One row is null unless it is in `rows`. */
static const uint32_t *levels_of(struct fleet_encoder *encoder, const uint32_t *rows, size_t count,
                                 size_t all)
{
    if (count == 0 || count == all)
        return NULL;
    memset(encoder->defined, 0, all * sizeof *encoder->defined);
    for (size_t i = 0; i < count; i++)
        encoder->defined[rows[i]] = 1;
    return encoder->defined;
}

static void use_dictionary(const struct fleet_encoder *encoder, struct parquet_chunk *chunk)
{
    chunk->dictionary = &encoder->dictionary.plain;
    chunk->dictionary_count = encoder->dictionary.count;
    chunk->indices = encoder->indices;
}

/* False: there are too many distinct numbers. */
static bool add_distinct(struct fleet_encoder *encoder, const uint64_t *numbers, size_t count)
{
    struct dictionary *dictionary = &encoder->dictionary;
    struct int_map *known = &dictionary->known[KNOWN_INTS];
    size_t max = count / 4 < DISTINCT_NUMBERS_MAX ? count / 4 + 1 : DISTINCT_NUMBERS_MAX;
    for (size_t i = 0; i < count; i++) {
        if (i && numbers[i] == numbers[i - 1]) {
            encoder->indices[i] = encoder->indices[i - 1];
            continue;
        }
        uint32_t index = int_map_get(known, numbers[i]);
        if (index == MAP_NONE) {
            if (known->count >= max)
                return false;
            index = (uint32_t)dictionary->count++;
            bytes_add_le64(&dictionary->plain, numbers[i]);
            int_map_set(known, numbers[i], index);
        }
        encoder->indices[i] = index;
    }
    return true;
}

static void add_strings(struct fleet_encoder *encoder, const struct fleet_group *group,
                        const struct trace *trace, const struct fleet_values *values)
{
    struct dictionary *dictionary = &encoder->dictionary;
    for (size_t i = 0; i < values->count; i++) {
        uint64_t value = values->values[i];
        if (i && value == values->values[i - 1])
            encoder->indices[i] = encoder->indices[i - 1];
        else if (!(value & FLEET_TEXT_BIT))
            encoder->indices[i] = add_string(dictionary, trace, (uint32_t)value);
        else {
            struct slice text = fleet_text(group, trace, value);
            encoder->indices[i] = dictionary_add(dictionary, text.at, text.len, DICTIONARY_TEXT);
        }
    }
}

static void add_ids(struct fleet_encoder *encoder, const struct fleet_values *values)
{
    const uint64_t *words = values->values;
    for (size_t i = 0; i < values->count; i++) {
        bool is_same = i && memcmp(&words[2 * i], &words[2 * i - 2], PARQUET_ID_BYTES) == 0;
        encoder->indices[i] =
            is_same ? encoder->indices[i - 1]
                    : dictionary_add(&encoder->dictionary, &words[2 * i], PARQUET_ID_BYTES, DICTIONARY_FIXED);
    }
}

static enum status add_column(struct fleet_encoder *encoder, const struct fleet_group *group,
                              const struct trace *trace, const struct fleet_values *values,
                              enum parquet_type type, struct parquet_file *file, struct error *err)
{
    bool is_number = type == PARQUET_INT64 || type == PARQUET_UINT64;
    struct parquet_chunk chunk = {.count = values->count, .level_count = group->rows};
    make_room(encoder, values->count, group->rows);
    dictionary_clear(&encoder->dictionary);
    chunk.defined = type == PARQUET_ID ? NULL : levels_of(encoder, values->rows, values->count, group->rows);
    if (is_number)
        chunk.numbers = values->values;
    else if (type == PARQUET_ID)
        add_ids(encoder, values);
    else
        add_strings(encoder, group, trace, values);
    if (values->count && (!is_number || add_distinct(encoder, values->values, values->count)))
        use_dictionary(encoder, &chunk);
    return parquet_add_chunk(file, &chunk, err);
}

/* --- attributes of resources --- */

/* NULL: none, or it has another type than the column. */
static const struct trace_attr *find_attr(const struct trace *trace, const struct trace_resource *resource,
                                          const struct fleet_column *column)
{
    char keys[128], *rest = keys, *key;
    uint32_t wanted = column->type == PARQUET_INT64 ? TRACE_INT : TRACE_STRING;
    snprintf(keys, sizeof keys, "%s", column->keys);
    while ((key = strsep(&rest, " "))) {
        for (uint32_t i = 0; i < resource->attr_count; i++) {
            const struct trace_attr *attr = &trace->attrs[resource->attr_first + i];
            if (attr->type == wanted && strcmp(trace_string(trace, attr->key), key) == 0)
                return attr;
        }
    }
    return NULL;
}

/* The same value in all rows. */
static enum status add_constant(struct fleet_encoder *encoder, const struct trace *trace,
                                const struct trace_attr *attr, size_t rows, struct parquet_file *file,
                                struct error *err)
{
    struct parquet_chunk chunk = {.count = attr ? rows : 0, .level_count = rows};
    dictionary_clear(&encoder->dictionary);
    if (attr && attr->type == TRACE_INT) {
        make_room(encoder, 1, 1);
        (void)add_distinct(encoder, &attr->value, 1);
    } else if (attr) {
        (void)add_string(&encoder->dictionary, trace, (uint32_t)attr->value);
    }
    if (attr)
        use_dictionary(encoder, &chunk);
    chunk.indices = NULL;
    return parquet_add_chunk(file, &chunk, err);
}

/* --- maps --- */

/* Entries are in order of their rows. */
static size_t end_of_row(const struct fleet_group *group, size_t row, size_t begin)
{
    size_t end = begin;
    while (end < group->entry_count && group->entries[end].row == row)
        end++;
    return end;
}

static size_t make_map_levels(struct fleet_encoder *encoder, const struct fleet_group *group)
{
    size_t levels = 0;
    for (size_t row = 0, begin = 0, end; row < group->rows; row++, begin = end) {
        end = end_of_row(group, row, begin);
        for (size_t i = begin; i < end; i++, levels++) {
            encoder->defined[levels] = 1;
            encoder->repeated[levels] = i > begin;
        }
        if (begin == end) {
            encoder->defined[levels] = 0;
            encoder->repeated[levels++] = 0;
        }
    }
    return levels;
}

static enum status add_map_part(struct fleet_encoder *encoder, const struct fleet_group *group,
                                const struct trace *trace, size_t levels, bool is_key,
                                struct parquet_file *file, struct error *err)
{
    struct dictionary *dictionary = &encoder->dictionary;
    struct parquet_chunk chunk = {.count = group->entry_count,
                                  .defined = encoder->defined,
                                  .repeated = encoder->repeated,
                                  .level_count = levels};
    dictionary_clear(dictionary);
    for (size_t i = 0; i < group->entry_count; i++) {
        const struct fleet_entry *entry = &group->entries[i];
        encoder->indices[i] = is_key ? add_string(dictionary, trace, entry->key)
                                     : add_value(dictionary, trace, group, entry->type, entry->bits);
    }
    if (chunk.count)
        use_dictionary(encoder, &chunk);
    return parquet_add_chunk(file, &chunk, err);
}

/* Both columns of the map. */
static enum status add_map(struct fleet_encoder *encoder, const struct fleet_group *group,
                           const struct trace *trace, struct parquet_file *file, struct error *err)
{
    size_t most = group->entry_count + group->rows;
    make_room(encoder, group->entry_count, most);
    encoder->repeated =
        xgrow(encoder->repeated, &encoder->repeated_capacity, most + 1, sizeof *encoder->repeated);
    size_t levels = make_map_levels(encoder, group);
    enum status status = add_map_part(encoder, group, trace, levels, true, file, err);
    return status == STATUS_OK ? add_map_part(encoder, group, trace, levels, false, file, err) : status;
}

static enum status add_types(struct fleet_encoder *encoder, const struct fleet_group *group,
                             struct parquet_file *file, struct error *err)
{
    static const char letters[] = {[TRACE_STRING] = 's',
                                   [TRACE_INT] = 'i',
                                   [TRACE_DOUBLE] = 'd',
                                   [TRACE_BOOL] = 'b',
                                   [TRACE_JSON] = 'j'};
    struct parquet_chunk chunk = {.level_count = group->rows};
    struct bytes *types = &encoder->types;
    make_room(encoder, group->rows, group->rows);
    dictionary_clear(&encoder->dictionary);
    for (size_t row = 0, begin = 0, end; row < group->rows; row++, begin = end) {
        end = end_of_row(group, row, begin);
        encoder->defined[row] = end > begin;
        types->len = 0;
        for (size_t i = begin; i < end; i++)
            bytes_add_byte(types, (uint8_t)letters[group->entries[i].type & ~RECORD_TEXT]);
        if (end > begin)
            encoder->indices[chunk.count++] =
                dictionary_add(&encoder->dictionary, types->data, types->len, DICTIONARY_TEXT);
    }
    chunk.defined = chunk.count > 0 && chunk.count < group->rows ? encoder->defined : NULL;
    if (chunk.count)
        use_dictionary(encoder, &chunk);
    return parquet_add_chunk(file, &chunk, err);
}

/* --- tables --- */

static bool is_column(const struct fleet_column *column, const char *name)
{
    return strcmp(column->name, name) == 0;
}

/* One per row: that of `resource`, or NULL: of all resources. */
static enum status add_resource_ids(struct fleet_encoder *encoder, const struct trace *trace,
                                    const struct trace_resource *resource, const uint64_t *ids, size_t rows,
                                    struct parquet_file *file, struct error *err)
{
    struct parquet_chunk all = {.numbers = ids, .count = rows, .level_count = rows};
    struct trace_attr one = {.type = TRACE_INT, .value = resource ? ids[resource - trace->resources] : 0};
    return resource ? add_constant(encoder, NULL, &one, rows, file, err) : parquet_add_chunk(file, &all, err);
}

/* `resource`: whose spans they are; NULL: the rows are resources. */
static enum status encode(struct fleet_encoder *encoder, const struct fleet_group *group,
                          const struct fleet_column *columns, size_t count, const struct trace *trace,
                          const struct trace_resource *resource, const uint64_t *resource_ids,
                          struct parquet_file *file, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const struct fleet_column *column = &columns[i];
        if (column->source == FLEET_RESOURCE && resource)
            status = add_constant(encoder, trace, find_attr(trace, resource, column), group->rows, file, err);
        else if (column->type == PARQUET_MAP_KEY)
            status = add_map(encoder, group, trace, file, err);
        else if (column->type == PARQUET_MAP_VALUE)
            continue;
        else if (is_column(column, "attribute_types"))
            status = add_types(encoder, group, file, err);
        else if (is_column(column, "resource_id"))
            status = add_resource_ids(encoder, trace, resource, resource_ids, group->rows, file, err);
        else
            status = add_column(encoder, group, trace, &group->columns[i], column->type, file, err);
    }
    if (status == STATUS_OK)
        parquet_end_group(file, group->rows);
    return status;
}

enum status fleet_encode_group(struct fleet_encoder *encoder, const struct fleet_group *group,
                               const struct trace *trace, const uint64_t *resource_ids,
                               struct parquet_file *file, struct error *err)
{
    return encode(encoder, group, fleet_span_columns, fleet_span_column_count, trace,
                  &trace->resources[group->resource], resource_ids, file, err);
}

static bool has_key(const struct fleet_group *group, size_t row, uint32_t key)
{
    for (size_t i = group->entry_count; i-- > 0 && group->entries[i].row == row;) {
        if (group->entries[i].key == key)
            return true;
    }
    return false;
}

/* A row per resource, with each key once. */
static void collect_resources(struct fleet_encoder *encoder, const struct trace *trace,
                              struct fleet_group *group)
{
    for (; group->rows < trace->resource_count; group->rows++) {
        const struct trace_resource *resource = &trace->resources[group->rows];
        for (size_t i = 0; i < fleet_resource_column_count; i++) {
            const struct fleet_column *column = &fleet_resource_columns[i];
            const struct trace_attr *attr =
                column->source == FLEET_RESOURCE ? find_attr(trace, resource, column) : NULL;
            if (attr)
                fleet_group_push(group, i, attr->value);
        }
        for (uint32_t i = 0; i < resource->attr_count; i++) {
            const struct trace_attr *attr = &trace->attrs[resource->attr_first + i];
            if (has_key(group, group->rows, attr->key)) {
                encoder->repeated_keys++;
                continue;
            }
            *XADD(group->entries, group->entry_count, group->entry_capacity) =
                (struct fleet_entry){attr->value, attr->key, (uint32_t)group->rows, attr->type};
        }
    }
}

enum status fleet_encode_resources(struct fleet_encoder *encoder, const struct trace *trace,
                                   const uint64_t *resource_ids, struct parquet_file *file, struct error *err)
{
    struct fleet_group group = {.rows = 0};
    collect_resources(encoder, trace, &group);
    enum status status = encode(encoder, &group, fleet_resource_columns, fleet_resource_column_count, trace,
                                NULL, resource_ids, file, err);
    fleet_group_deinit(&group);
    return status;
}
