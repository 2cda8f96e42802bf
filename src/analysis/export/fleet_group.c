#include "analysis/export/fleet_group.h"

#include "analysis/trace/otlp_value.h"
#include "base/text/json_writer.h"
#include "base/text/utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_HOUR      UINT64_C(3600000000000)
#define HOURS_PER_DAY    24
#define SECONDS_PER_HOUR 3600

/* The columns of fields. */
#define FIELDS(X)                                                                                            \
    X(SPAN_ID, "span_id")                                                                                    \
    X(PARENT_ID, "parent_id")                                                                                \
    X(NAME, "name")                                                                                          \
    X(START, "start_ns")                                                                                     \
    X(DURATION, "duration_ns")                                                                               \
    X(TRACE_ID, "trace_id")                                                                                  \
    X(SPAN_KIND, "span_kind")                                                                                \
    X(FLAGS, "flags")                                                                                        \
    X(STATUS, "status")                                                                                      \
    X(STATUS_MESSAGE, "status_message")                                                                      \
    X(TRACE_STATE, "trace_state")                                                                            \
    X(SCOPE, "scope")                                                                                        \
    X(DROPPED_ATTRIBUTES, "dropped_attributes")                                                              \
    X(DROPPED_EVENTS, "dropped_events")                                                                      \
    X(DROPPED_LINKS, "dropped_links")                                                                        \
    X(EVENTS, "events")                                                                                      \
    X(LINKS, "links")
#define FIELD(id, name)      id,
#define FIELD_NAME(id, name) name,

enum field { FIELDS(FIELD) FIELD_COUNT };

static const char *const field_names[FIELD_COUNT] = {FIELDS(FIELD_NAME)};

static size_t columns_of_fields[FIELD_COUNT];

size_t fleet_span_column(const char *name)
{
    size_t i = 0;
    while (i < fleet_span_column_count && strcmp(fleet_span_columns[i].name, name) != 0)
        i++;
    return i;
}

static uint32_t add_key(struct fleet_collector *collector, uint32_t key, uint32_t column)
{
    uint32_t index = (uint32_t)collector->info_count;
    *XADD(collector->infos, collector->info_count, collector->info_capacity) =
        (struct fleet_key){.column = column};
    int_map_set(&collector->keys, key, index);
    return index;
}

void fleet_collector_init(struct fleet_collector *collector, const struct trace *trace)
{
    *collector = (struct fleet_collector){.trace = trace};
    for (size_t i = 0; i < FIELD_COUNT; i++)
        columns_of_fields[i] = fleet_span_column(field_names[i]);
    for (size_t i = 0; i < fleet_span_column_count; i++) {
        if (fleet_span_columns[i].source != FLEET_ATTRIBUTE)
            continue;
        uint32_t key = trace_find_string(trace, fleet_span_columns[i].keys);
        if (key != MAP_NONE)
            add_key(collector, key, (uint32_t)i);
    }
}

void fleet_collector_deinit(struct fleet_collector *collector)
{
    int_map_deinit(&collector->keys);
    free(collector->infos);
    text_deinit(&collector->text);
}

void fleet_group_clear(struct fleet_group *group)
{
    group->rows = group->entry_count = group->texts.len = 0;
    group->hash = 0;
    for (size_t i = 0; i < FLEET_COLUMNS_MAX; i++)
        group->columns[i].count = 0;
}

void fleet_group_deinit(struct fleet_group *group)
{
    for (size_t i = 0; i < FLEET_COLUMNS_MAX; i++) {
        free(group->columns[i].values);
        free(group->columns[i].rows);
    }
    free(group->entries);
    free(group->texts.data);
}

bool fleet_group_is_full(const struct fleet_group *group)
{
    return group->rows >= FLEET_GROUP_ROWS || group->entry_count >= FLEET_GROUP_ENTRIES ||
           group->texts.len >= FLEET_GROUP_TEXT;
}

struct slice fleet_text(const struct fleet_group *group, const struct trace *trace, uint64_t value)
{
    if (!(value & FLEET_TEXT_BIT)) {
        const char *string = trace_string(trace, (uint32_t)value);
        return (struct slice){string, strlen(string)};
    }
    const uint8_t *at = group->texts.data + (value & ~FLEET_TEXT_BIT);
    uint32_t len;
    memcpy(&len, at, sizeof len);
    return (struct slice){(const char *)at + sizeof len, le32toh(len)};
}

static uint64_t keep_text(struct fleet_group *group, const char *text, size_t len)
{
    uint64_t at = group->texts.len;
    bytes_add_le32(&group->texts, (uint32_t)len);
    bytes_add(&group->texts, text, len);
    return FLEET_TEXT_BIT | at;
}

void fleet_group_push(struct fleet_group *group, size_t column, uint64_t value)
{
    struct fleet_values *values = &group->columns[column];
    if (values->count >= values->row_capacity)
        values->rows = xgrow(values->rows, &values->row_capacity, values->count + 1, sizeof *values->rows);
    if (values->count >= values->value_capacity)
        values->values =
            xgrow(values->values, &values->value_capacity, values->count + 1, sizeof *values->values);
    values->rows[values->count] = (uint32_t)group->rows;
    values->values[values->count++] = value;
}

static inline void push_field(struct fleet_group *group, enum field field, uint64_t value)
{
    fleet_group_push(group, columns_of_fields[field], value);
}

/* --- attributes --- */

static bool fits(const struct fleet_column *column, uint32_t type)
{
    if (column->is_flag)
        return type == TRACE_BOOL;
    return column->type == PARQUET_INT64 ? type == TRACE_INT : type == TRACE_STRING;
}

static void take_attr(struct fleet_collector *collector, struct fleet_group *group,
                      const struct trace_attr *attr, const char *texts)
{
    uint32_t index = int_map_get(&collector->keys, attr->key), type = attr->type & ~RECORD_TEXT;
    if (index == MAP_NONE)
        index = add_key(collector, attr->key, MAP_NONE);
    struct fleet_key *info = &collector->infos[index];
    if (info->last_row == collector->row) {
        collector->repeated++;
        return;
    }
    info->last_row = collector->row;
    uint64_t bits = attr->type & RECORD_TEXT
                        ? keep_text(group, texts + (attr->value >> 32), (uint32_t)attr->value)
                        : attr->value;
    if (info->column != MAP_NONE && fits(&fleet_span_columns[info->column], type)) {
        fleet_group_push(group, info->column, bits);
        return;
    }
    if (group->entry_count >= group->entry_capacity)
        group->entries =
            xgrow(group->entries, &group->entry_capacity, group->entry_count + 1, sizeof *group->entries);
    group->entries[group->entry_count++] =
        (struct fleet_entry){.bits = bits,
                             .key = attr->key,
                             .row = (uint32_t)group->rows,
                             .type = attr->type & RECORD_TEXT ? type | RECORD_TEXT : type};
}

/* For fields of the span that are stored together, and arrive in any order. */
struct details {
    uint64_t trace_high, trace_low;
    uint64_t name;
};

static void take_detail(struct fleet_group *group, const struct trace_attr *attr, const char *texts,
                        struct details *details)
{
    static const enum field fields[SPAN_FIELD_COUNT] = {[SPAN_FIELD_KIND] = SPAN_KIND,
                                                        [SPAN_FIELD_FLAGS] = FLAGS,
                                                        [SPAN_FIELD_STATUS] = STATUS,
                                                        [SPAN_FIELD_MESSAGE] = STATUS_MESSAGE,
                                                        [SPAN_FIELD_TRACE_STATE] = TRACE_STATE,
                                                        [SPAN_FIELD_LINKS] = LINKS,
                                                        [SPAN_FIELD_SCOPE] = SCOPE,
                                                        [SPAN_FIELD_DROPPED_ATTRIBUTES] = DROPPED_ATTRIBUTES,
                                                        [SPAN_FIELD_DROPPED_EVENTS] = DROPPED_EVENTS,
                                                        [SPAN_FIELD_DROPPED_LINKS] = DROPPED_LINKS};
    uint64_t value = attr->type & RECORD_TEXT
                         ? keep_text(group, texts + (attr->value >> 32), (uint32_t)attr->value)
                         : attr->value;
    if (attr->key == SPAN_FIELD_TRACE_HIGH)
        details->trace_high = value;
    else if (attr->key == SPAN_FIELD_TRACE_LOW)
        details->trace_low = value;
    else if (attr->key == SPAN_FIELD_NAME)
        details->name = value;
    else {
        /* A field of a message may be repeated; the last one counts. */
        struct fleet_values *values = &group->columns[columns_of_fields[fields[attr->key]]];
        if (values->count && values->rows[values->count - 1] == group->rows)
            values->values[values->count - 1] = value;
        else
            push_field(group, fields[attr->key], value);
    }
}

/* --- events --- */

static void write_attr(struct fleet_collector *collector, struct json_writer *json,
                       const struct trace_attr *attr, const char *texts)
{
    const char *key = trace_string(collector->trace, attr->key);
    uint32_t type = attr->type & ~RECORD_TEXT;
    const char *string = attr->type & RECORD_TEXT ? texts + (attr->value >> 32) : NULL;
    size_t len = (uint32_t)attr->value;
    json_write_key(json, key, strlen(key));
    if (!string && (type == TRACE_STRING || type == TRACE_JSON)) {
        string = trace_string(collector->trace, (uint32_t)attr->value);
        len = strlen(string);
    }
    struct otlp_value value = {.type = type, .bits = attr->value, .text = {string, len}};
    if (type == TRACE_JSON)
        json_write_raw(json, NULL, string, len);
    else
        otlp_value_write(json, &value);
}

static void take_events(struct fleet_collector *collector, struct fleet_group *group,
                        const struct span_record *record, const char *texts)
{
    const struct trace_attr *attr =
        (const struct trace_attr *)(const void *)(record + 1) + record->span_attrs;
    const struct record_event *events =
        (const void *)((const struct trace_attr *)(const void *)(record + 1) + record->attr_count);
    struct text *text = &collector->text;
    struct json_writer json = JSON_TEXT(text);
    text_clear(text);
    json_write_array(&json, NULL);
    for (uint32_t i = 0; i < record->event_count; i++) {
        const char *name = trace_string(collector->trace, events[i].name);
        json_write_object(&json, NULL);
        otlp_number_write(&json, "time_ns", events[i].time_ns);
        otlp_text_write(&json, "name", (struct slice){name, strlen(name)});
        if (events[i].attr_count) {
            json_write_object(&json, "attributes");
            for (uint32_t k = 0; k < events[i].attr_count; k++)
                write_attr(collector, &json, attr++, texts);
            json_write_object_end(&json);
        }
        json_write_object_end(&json);
    }
    json_write_array_end(&json);
    push_field(group, EVENTS, keep_text(group, text->data, text->len));
}

/* --- spans --- */

static uint64_t mix_ids(uint64_t hash, const struct span_record *record, const struct details *details)
{
    hash = int_map_mix(hash ^ details->trace_high);
    hash = int_map_mix(hash + details->trace_low);
    hash = int_map_mix(hash ^ record->id);
    return int_map_mix(hash + record->start_ns);
}

static void push_trace_id(struct fleet_group *group, const struct details *details)
{
    struct fleet_values *values = &group->columns[columns_of_fields[TRACE_ID]];
    values->values =
        xgrow(values->values, &values->value_capacity, 2 * (values->count + 1), sizeof *values->values);
    values->values[2 * values->count] = htobe64(details->trace_high);
    values->values[2 * values->count + 1] = htobe64(details->trace_low);
    values->count++;
}

void fleet_group_add(struct fleet_collector *collector, struct fleet_group *group,
                     const struct span_record *record)
{
    const struct trace_attr *attrs = (const void *)(record + 1);
    const struct record_event *events = (const void *)(attrs + record->attr_count);
    const char *texts = (const char *)(events + record->event_count);
    struct details details = {.name = record->name};
    bool is_late = record->start_ns > INT64_MAX;
    collector->row++;
    collector->late += is_late;
    if (group->rows == 0) {
        group->resource = record->resource;
        group->hour = fleet_hour(record->start_ns);
    }
    for (uint32_t i = 0; i < record->span_attrs; i++) {
        if (attrs[i].type & RECORD_FIELD)
            take_detail(group, &attrs[i], texts, &details);
        else
            take_attr(collector, group, &attrs[i], texts);
    }
    if (record->event_count)
        take_events(collector, group, record, texts);
    push_trace_id(group, &details);
    push_field(group, SPAN_ID, record->id);
    if (record->parent_id)
        push_field(group, PARENT_ID, record->parent_id);
    push_field(group, NAME, details.name);
    push_field(group, START, is_late ? INT64_MAX : record->start_ns);
    push_field(group, DURATION, record->end_ns - record->start_ns);
    group->hash = mix_ids(group->hash, record, &details);
    group->rows++;
}

uint64_t fleet_hour(uint64_t start_ns)
{
    return (start_ns > INT64_MAX ? INT64_MAX : start_ns) / NS_PER_HOUR;
}

/* --- folders --- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++)
        hash = int_map_mix(hash ^ (unsigned char)*text);
    return hash;
}

/* As in URLs, which is how engines read the names of partitions. */
static void add_service(struct text *path, const char *service)
{
    size_t begin = path->len, left = 0; /* of the current character, which stays whole */
    for (const char *at = service; *at; at++, left--) {
        left = left ? left : utf8_next((const uint8_t *)at, strlen(at)).len;
        if (path->len - begin + 3 * left > FLEET_SERVICE_MAX) {
            text_add_format(path, "~%016" PRIx64, hash_of(service));
            return;
        }
        if (is_plain(*at))
            text_add_bytes(path, at, 1);
        else
            text_add_format(path, "%%%02X", (unsigned char)*at);
    }
}

void fleet_path_add_partition(struct text *path, uint64_t hour, const char *service)
{
    char date[32];
    time_t seconds = (time_t)(hour / HOURS_PER_DAY * HOURS_PER_DAY * SECONDS_PER_HOUR);
    struct tm day;
    gmtime_r(&seconds, &day);
    strftime(date, sizeof date, "%Y-%m-%d", &day);
    text_add_format(path, "date=%s/hour=%02u/service=", date, (unsigned)(hour % HOURS_PER_DAY));
    if (service && *service)
        add_service(path, service);
    else
        text_add(path, FLEET_NO_SERVICE);
}
