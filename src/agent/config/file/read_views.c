/* meter_provider.views: which metrics are exported, and how (model/metrics/views.h). */
#include "agent/config/file/file_reader.h"

#include "base/text/suggest.h"
#include "model/metrics/histogram.h"
#include "model/metrics/views.h"

#include <stdlib.h>
#include <string.h>

#define VIEW        "meter_provider.views[]"
#define AGGREGATION VIEW ".stream.aggregation."

/* The text or the list of patterns that the key sets. */
static void *field_of(const struct file_reader *reader)
{
    return (char *)reader->view + reader->key->offset;
}

static void read_text(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    char **text = field_of(reader);
    if (node_is_null(node))
        return;
    if (!node_is_text(node)) {
        reader_expected(reader, place, "a string", node);
        return;
    }
    free(*text);
    *text = strdup(node->text);
    if (!*text)
        reader->status = STATUS_NO_MEMORY;
}

static bool read_integer(struct file_reader *reader, const struct node_place *place, const struct node *node,
                         int64_t min, int64_t max, int64_t *value)
{
    if (node_is_null(node))
        return false;
    if (node->kind == NODE_SCALAR && node->type == SCALAR_INT && scalar_parse_int(node->text, value) &&
        *value >= min && *value <= max)
        return true;
    reader_error(reader, place, "expected an integer from %lld to %lld", (long long)min, (long long)max);
    return false;
}

static void read_instrument_type(struct file_reader *reader, const struct node_place *place,
                                 const struct node *node)
{
    static const struct {
        const char *word;
        uint8_t type; /* ANY_METRIC_TYPE: cuspan has no instrument of the type */
    } types[] = {{"counter", METRIC_SUM},
                 {"up_down_counter", METRIC_UP_DOWN},
                 {"gauge", METRIC_GAUGE},
                 {"histogram", METRIC_HISTOGRAM},
                 {"observable_counter", ANY_METRIC_TYPE},
                 {"observable_up_down_counter", ANY_METRIC_TYPE},
                 {"observable_gauge", ANY_METRIC_TYPE}};
    if (node_is_null(node))
        return;
    for (size_t i = 0; i < sizeof types / sizeof *types && node->kind == NODE_SCALAR; i++) {
        if (strcmp(node->text, types[i].word) != 0)
            continue;
        reader->view->instrument_type = types[i].type;
        reader->view->selects_nothing |= types[i].type == ANY_METRIC_TYPE;
        return;
    }
    reader_expected(reader, place, "counter, up_down_counter, gauge or histogram", node);
}

static void read_meter(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    bool is_text = !node_is_null(node) && node_is_text(node);
    if (!is_text && !node_is_null(node))
        reader_expected(reader, place, "a string", node);
    reader->view->selects_nothing |= is_text && strcmp(node->text, reader->key->effect) != 0;
}

/* OpenTelemetry's syntax of instrument names. */
static bool is_metric_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = strlen(name);
    return length > 0 && length <= METRIC_NAME_MAX && strchr(letters, name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") == length;
}

static void read_name(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    read_text(reader, place, node);
    if (reader->view->name && !is_metric_name(reader->view->name))
        reader_error(reader, place,
                     "expected a metric name: a letter, then letters, digits, _ . - and /, at most %d",
                     METRIC_NAME_MAX);
}

static void read_series_max(struct file_reader *reader, const struct node_place *place,
                            const struct node *node)
{
    int64_t value;
    if (read_integer(reader, place, node, 1, INT32_MAX, &value))
        reader->view->series_max = (uint32_t)value;
}

static void read_boundaries(struct file_reader *reader, const struct node_place *place,
                            const struct node *node)
{
    double bounds[HISTOGRAM_BOUNDS_MAX];
    size_t count = 0;
    if (node_is_null(node))
        return;
    if (node->kind != NODE_LIST || node->count > HISTOGRAM_BOUNDS_MAX) {
        reader_error(reader, place, "expected a list of at most %d numbers, in seconds",
                     HISTOGRAM_BOUNDS_MAX);
        return;
    }
    for (const struct item *item = node->items; item; item = item->next) {
        const struct node *value = item->value;
        bool is_number = value->kind == NODE_SCALAR &&
                         (value->type == SCALAR_INT || value->type == SCALAR_FLOAT) &&
                         scalar_parse_float(value->text, &bounds[count]);
        if (!is_number) {
            struct node_place at = place_of_index(place, item, (unsigned)count);
            reader_expected(reader, &at, "a number of seconds", value);
            return;
        }
        count++;
    }
    if (histogram_set_bounds(&reader->view->shape, bounds, count) != STATUS_OK)
        reader_error(reader, place, "expected numbers, each above the one before it");
}

static void read_scale_max(struct file_reader *reader, const struct node_place *place,
                           const struct node *node)
{
    int64_t value;
    if (read_integer(reader, place, node, -10, 20, &value) && value < HISTOGRAM_SCALE_MAX)
        reader->view->shape.scale_max = (int8_t)value;
}

static void read_buckets_max(struct file_reader *reader, const struct node_place *place,
                             const struct node *node)
{
    int64_t value;
    if (!read_integer(reader, place, node, 2, INT32_MAX, &value))
        return;
    if (value > HISTOGRAM_BUCKETS_MAX)
        reader_warning(reader, place, "cuspan's histograms have fewer buckets than %lld: using %d",
                       (long long)value, HISTOGRAM_BUCKETS_MAX);
    reader->view->shape.buckets_max =
        (uint16_t)(value < HISTOGRAM_BUCKETS_MAX ? value : HISTOGRAM_BUCKETS_MAX);
}

static void read_min_max(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node_is_null(node))
        return;
    if (node->kind != NODE_SCALAR || node->type != SCALAR_BOOL ||
        !scalar_parse_bool(node->text, &reader->view->shape.records_min_max))
        reader_expected(reader, place, "true or false", node);
}

static void read_aggregation(struct file_reader *reader, const struct node_place *place,
                             const struct node *node)
{
    static const struct {
        const char *word;
        enum aggregation aggregation;
        const struct histogram_shape *shape;
    } aggregations[] = {
        {"default", AGGREGATION_DEFAULT, NULL},
        {"drop", AGGREGATION_DROP, NULL},
        {"sum", AGGREGATION_SUM, NULL},
        {"last_value", AGGREGATION_LAST_VALUE, NULL},
        {"explicit_bucket_histogram", AGGREGATION_SHAPE, &histogram_default_explicit},
        {"base2_exponential_bucket_histogram", AGGREGATION_SHAPE, &histogram_default_exponential}};
    const struct item *choice =
        node_is_null(node) ? NULL : read_choice(reader, place, node, "an aggregation, such as drop");
    for (size_t i = 0; choice && i < sizeof aggregations / sizeof *aggregations; i++) {
        if (strcmp(choice->key, aggregations[i].word) != 0)
            continue;
        struct node_place at = place_of_item(place, choice);
        reader->view->aggregation = aggregations[i].aggregation;
        if (!aggregations[i].shape) {
            read_nothing(reader, &at, choice->value);
            return;
        }
        reader->view->shape = *aggregations[i].shape;
        read_map(reader, &at, choice->value);
        return;
    }
    if (choice)
        reader_unknown_key(reader, place, choice);
}

static void read_keys_filter(struct file_reader *reader, const struct node_place *place,
                             const struct node *node)
{
    if (node_is_null(node))
        return;
    if (node->kind != NODE_LIST || node->count == 0)
        reader_error(reader, place, "expected a list of attribute names or patterns");
    else
        read_patterns(reader, place, node, field_of(reader));
}

#define FIELD(name) .offset = offsetof(struct view, name)

/* `effect` of a key that selects a meter: cuspan's only one. */
const struct schema_key view_keys[] = {
    {VIEW ".selector.instrument_name", SCHEMA_READER, .read = read_text, FIELD(instrument_name)},
    {VIEW ".selector.instrument_type", SCHEMA_READER, .read = read_instrument_type},
    {VIEW ".selector.unit", SCHEMA_READER, .read = read_text, FIELD(unit)},
    {VIEW ".selector.meter_name", SCHEMA_READER, .effect = METER_NAME, .read = read_meter},
    {VIEW ".selector.meter_version", SCHEMA_READER, .effect = CUSPAN_VERSION, .read = read_meter},
    {VIEW ".selector.meter_schema_url", SCHEMA_READER, .effect = METER_SCHEMA_URL, .read = read_meter},
    {VIEW ".stream.name", SCHEMA_READER, .read = read_name, FIELD(name)},
    {VIEW ".stream.description", SCHEMA_READER, .read = read_text, FIELD(description)},
    {VIEW ".stream.aggregation", SCHEMA_READER, .read = read_aggregation},
    {AGGREGATION "default", .kind = SCHEMA_READER}, /* read_aggregation reads these four itself */
    {AGGREGATION "drop", .kind = SCHEMA_READER},
    {AGGREGATION "sum", .kind = SCHEMA_READER},
    {AGGREGATION "last_value", .kind = SCHEMA_READER},
    {AGGREGATION "explicit_bucket_histogram.boundaries", SCHEMA_READER, .read = read_boundaries},
    {AGGREGATION "explicit_bucket_histogram.record_min_max", SCHEMA_READER, .read = read_min_max},
    {AGGREGATION "base2_exponential_bucket_histogram.max_scale", SCHEMA_READER, .read = read_scale_max},
    {AGGREGATION "base2_exponential_bucket_histogram.max_size", SCHEMA_READER, .read = read_buckets_max},
    {AGGREGATION "base2_exponential_bucket_histogram.record_min_max", SCHEMA_READER, .read = read_min_max},
    {VIEW ".stream.aggregation_cardinality_limit", SCHEMA_READER, .read = read_series_max},
    {VIEW ".stream.attribute_keys.included", SCHEMA_READER, .read = read_keys_filter, FIELD(keys.allow)},
    {VIEW ".stream.attribute_keys.excluded", SCHEMA_READER, .read = read_keys_filter, FIELD(keys.deny)},
};
const unsigned view_key_count = sizeof view_keys / sizeof *view_keys;

/* An aggregation that does not fit is an error for a metric of cuspan selected by its name. A wider selector
 * may be written for other programs: as OpenTelemetry's specification says, the view is not applied. */
static void say_obstacle(struct file_reader *reader, const struct node_place *place, const struct view *view,
                         enum metric metric)
{
    const char *name = metric_table[metric].name, *obstacle = view_obstacle(view, metric);
    if (view->instrument_name && strcmp(view->instrument_name, name) == 0)
        reader_error(reader, place,
                     "%s %s: choose another aggregation, or select others by instrument_name or "
                     "instrument_type",
                     name, obstacle);
    else
        reader_warning(reader, place, "%s %s: the view is not applied to this metric and others like it",
                       name, obstacle);
}

/* `streams`: how many each metric has so far. */
static void check_view(struct file_reader *reader, const struct node_place *place, const struct view *view,
                       uint8_t streams[METRIC_COUNT])
{
    unsigned selected = 0;
    bool has_obstacle = false;
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        if (!view_selects(view, metric))
            continue;
        const char *name = metric_table[metric].name;
        selected++;
        if (view_obstacle(view, metric)) {
            if (!has_obstacle)
                say_obstacle(reader, place, view, metric);
            has_obstacle = true;
            continue;
        }
        if (view->aggregation != AGGREGATION_DROP && ++streams[metric] > STREAMS_MAX) {
            reader_error(reader, place, "more than %d views select %s: expected fewer", STREAMS_MAX, name);
            return;
        }
    }
    if (!selected)
        reader_warning(reader, place,
                       "selects none of cuspan's metrics, which are counters, up-down counters, gauges and "
                       "histograms of the meter " METER_NAME " (`cuspan help metrics` lists them)");
    else if (view->name && selected > 1)
        reader_error(reader, place, "selects %u metrics, which cannot all have the name %s", selected,
                     view->name);
}

static void read_view(struct file_reader *reader, const struct node_place *place, const struct node *node,
                      uint8_t streams[METRIC_COUNT])
{
    struct settings *settings = reader->settings;
    struct view *view = &settings->metrics.views[settings->metrics.view_count++];
    uint32_t errors = reader->report->errors;
    *view = (struct view){.instrument_type = ANY_METRIC_TYPE};
    reader->view = view;
    read_map(reader, place, node);
    if (node->kind == NODE_MAP && (!node_find(node, "selector") || !node_find(node, "stream")))
        reader_error(reader, place, "expected selector and stream");
    else if (reader->report->errors == errors && reader->status == STATUS_OK)
        check_view(reader, place, view, streams);
}

void read_views(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    uint8_t streams[METRIC_COUNT] = {0};
    if (node_is_null(node))
        return;
    if (node->kind != NODE_LIST || node->count == 0 || node->count > VIEWS_MAX) {
        reader_error(reader, place, "expected a list of one to %d views: - selector: and stream:", VIEWS_MAX);
        return;
    }
    reader->settings->metrics.views = calloc(node->count, sizeof(struct view));
    if (!reader->settings->metrics.views) {
        reader->status = STATUS_NO_MEMORY;
        return;
    }
    unsigned index = 0;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        read_view(reader, &at, item->value, streams);
    }
}
