/* meter_provider.views: which metrics are exported, and how (model/metrics/views.h). */
#include "agent/config/file/file_reader.h"

#include "base/text/suggest.h"
#include "model/metrics/histogram.h"
#include "model/metrics/views.h"

#include <stdlib.h>
#include <string.h>

#define VIEW        "meter_provider.views[]"
#define AGGREGATION VIEW ".stream.aggregation."

struct view_key {
    const char *path;
    void (*read)(struct file_reader *reader, const struct node_place *place, const struct node *node,
                 struct view *view, const struct view_key *key);
    size_t offset;    /* in struct view, of the text or the list of patterns to read */
    const char *ours; /* of a key that selects a meter: cuspan's only one */
};

static void *field_of(struct view *view, const struct view_key *key)
{
    return (char *)view + key->offset;
}

static void read_text(struct file_reader *reader, const struct node_place *place, const struct node *node,
                      struct view *view, const struct view_key *key)
{
    char **text = field_of(view, key);
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
                                 const struct node *node, struct view *view, const struct view_key *key)
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
        view->instrument_type = types[i].type;
        view->selects_nothing |= types[i].type == ANY_METRIC_TYPE;
        return;
    }
    reader_expected(reader, place, "counter, up_down_counter, gauge or histogram", node);
}

static void read_meter(struct file_reader *reader, const struct node_place *place, const struct node *node,
                       struct view *view, const struct view_key *key)
{
    bool is_text = !node_is_null(node) && node_is_text(node);
    if (!is_text && !node_is_null(node))
        reader_expected(reader, place, "a string", node);
    view->selects_nothing |= is_text && strcmp(node->text, key->ours) != 0;
}

/* OpenTelemetry's syntax of instrument names. */
static bool is_metric_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = strlen(name);
    return length > 0 && length <= METRIC_NAME_MAX && strchr(letters, name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/") == length;
}

static void read_name(struct file_reader *reader, const struct node_place *place, const struct node *node,
                      struct view *view, const struct view_key *key)
{
    read_text(reader, place, node, view, key);
    if (view->name && !is_metric_name(view->name))
        reader_error(reader, place,
                     "expected a metric name: a letter, then letters, digits, _ . - and /, at most %d",
                     METRIC_NAME_MAX);
}

static void read_series_max(struct file_reader *reader, const struct node_place *place,
                            const struct node *node, struct view *view, const struct view_key *key)
{
    int64_t value;
    if (read_integer(reader, place, node, 1, INT32_MAX, &value))
        view->series_max = (uint32_t)value;
}

static void read_boundaries(struct file_reader *reader, const struct node_place *place,
                            const struct node *node, struct view *view, const struct view_key *key)
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
    if (histogram_set_bounds(&view->shape, bounds, count) != STATUS_OK)
        reader_error(reader, place, "expected numbers, each above the one before it");
}

static void read_scale_max(struct file_reader *reader, const struct node_place *place,
                           const struct node *node, struct view *view, const struct view_key *key)
{
    int64_t value;
    if (read_integer(reader, place, node, -10, 20, &value) && value < HISTOGRAM_SCALE_MAX)
        view->shape.scale_max = (int8_t)value;
}

static void read_buckets_max(struct file_reader *reader, const struct node_place *place,
                             const struct node *node, struct view *view, const struct view_key *key)
{
    int64_t value;
    if (!read_integer(reader, place, node, 2, INT32_MAX, &value))
        return;
    if (value > HISTOGRAM_BUCKETS_MAX)
        reader_warning(reader, place, "cuspan's histograms have fewer buckets than %lld: using %d",
                       (long long)value, HISTOGRAM_BUCKETS_MAX);
    view->shape.buckets_max = (uint16_t)(value < HISTOGRAM_BUCKETS_MAX ? value : HISTOGRAM_BUCKETS_MAX);
}

static void read_min_max(struct file_reader *reader, const struct node_place *place, const struct node *node,
                         struct view *view, const struct view_key *key)
{
    if (node_is_null(node))
        return;
    if (node->kind != NODE_SCALAR || node->type != SCALAR_BOOL ||
        !scalar_parse_bool(node->text, &view->shape.records_min_max))
        reader_expected(reader, place, "true or false", node);
}

static void read_keys(struct file_reader *reader, const struct node_place *place, const struct node *node,
                      struct view *view, const struct view_key *key);

static void read_aggregation(struct file_reader *reader, const struct node_place *place,
                             const struct node *node, struct view *view, const struct view_key *key)
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
        view->aggregation = aggregations[i].aggregation;
        if (!aggregations[i].shape) {
            read_nothing(reader, &at, choice->value);
            return;
        }
        view->shape = *aggregations[i].shape;
        read_keys(reader, &at, choice->value, view, key);
        return;
    }
    if (choice)
        reader_unknown_key(reader, place, choice);
}

static void read_keys_filter(struct file_reader *reader, const struct node_place *place,
                             const struct node *node, struct view *view, const struct view_key *key)
{
    if (node_is_null(node))
        return;
    if (node->kind != NODE_LIST || node->count == 0)
        reader_error(reader, place, "expected a list of attribute names or patterns");
    else
        read_patterns(reader, place, node, field_of(view, key));
}

#define FIELD(name) .offset = offsetof(struct view, name)

static const struct view_key view_keys[] = {
    {VIEW ".selector", .read = read_keys},
    {VIEW ".selector.instrument_name", read_text, FIELD(instrument_name)},
    {VIEW ".selector.instrument_type", .read = read_instrument_type},
    {VIEW ".selector.unit", read_text, FIELD(unit)},
    {VIEW ".selector.meter_name", read_meter, .ours = METER_NAME},
    {VIEW ".selector.meter_version", read_meter, .ours = CUSPAN_VERSION},
    {VIEW ".selector.meter_schema_url", read_meter, .ours = METER_SCHEMA_URL},
    {VIEW ".stream", .read = read_keys},
    {VIEW ".stream.name", read_name, FIELD(name)},
    {VIEW ".stream.description", read_text, FIELD(description)},
    {VIEW ".stream.aggregation", .read = read_aggregation},
    {AGGREGATION "default", .read = NULL}, /* read_aggregation reads these four itself */
    {AGGREGATION "drop", .read = NULL},
    {AGGREGATION "sum", .read = NULL},
    {AGGREGATION "last_value", .read = NULL},
    {AGGREGATION "explicit_bucket_histogram.boundaries", .read = read_boundaries},
    {AGGREGATION "explicit_bucket_histogram.record_min_max", .read = read_min_max},
    {AGGREGATION "base2_exponential_bucket_histogram.max_scale", .read = read_scale_max},
    {AGGREGATION "base2_exponential_bucket_histogram.max_size", .read = read_buckets_max},
    {AGGREGATION "base2_exponential_bucket_histogram.record_min_max", .read = read_min_max},
    {VIEW ".stream.aggregation_cardinality_limit", .read = read_series_max},
    {VIEW ".stream.attribute_keys", .read = read_keys},
    {VIEW ".stream.attribute_keys.included", read_keys_filter, FIELD(keys.allow)},
    {VIEW ".stream.attribute_keys.excluded", read_keys_filter, FIELD(keys.deny)},
};

const char *read_views_path(size_t index)
{
    return index < sizeof view_keys / sizeof *view_keys ? view_keys[index].path : NULL;
}

static const struct view_key *find_key(const char *path)
{
    for (size_t i = 0; i < sizeof view_keys / sizeof *view_keys; i++)
        if (strcmp(path, view_keys[i].path) == 0)
            return &view_keys[i];
    return NULL;
}

static void read_keys(struct file_reader *reader, const struct node_place *place, const struct node *node,
                      struct view *view, const struct view_key *parent)
{
    if (!reader_takes(reader, place, node, NODE_MAP, "a mapping"))
        return;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_item(place, item);
        const struct view_key *key = find_key(at.path);
        if (key)
            key->read(reader, &at, item->value, view, key);
        else
            reader_unknown_key(reader, place, item);
    }
}

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
    read_keys(reader, place, node, view, NULL);
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
