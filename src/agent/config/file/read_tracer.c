#include "agent/config/file/file_reader.h"

#include "agent/config/text/pairs.h"

#include <stdio.h>
#include <string.h>

#define SAMPLER_PATH   "tracer_provider.sampler"
#define PROCESSOR_PATH "tracer_provider.processors[]"

static void keep_output(struct file_reader *reader, const struct node_place *place,
                        struct output_settings *output)
{
    struct settings *settings = reader->settings;
    if (settings->output_count < OUTPUTS_MAX) {
        settings->outputs[settings->output_count++] = *output;
        return;
    }
    reader_error(reader, place, "too many processors: expected at most %d", OUTPUTS_MAX);
    output_settings_deinit(output);
}

/* A simple processor is a batch processor without delay. */
static void read_processor(struct file_reader *reader, const struct node_place *place,
                           const struct node *node, bool is_simple)
{
    struct output_settings output;
    if (!read_output(reader, place, node, SIGNAL_TRACES, is_simple, &output))
        return;
    if (is_simple)
        output.schedule_delay_ms = 0;
    keep_output(reader, place, &output);
}

void read_processors(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node->kind != NODE_LIST || node->count == 0) {
        reader_error(reader, place, "expected a list with at least one processor: - batch: or - simple:");
        return;
    }
    unsigned index = 0;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        const struct item *choice = read_choice(reader, &at, item->value, "batch or simple");
        if (!choice)
            continue;
        struct node_place processor = place_of_item(&at, choice);
        bool is_simple = strcmp(choice->key, "simple") == 0;
        if (!is_simple && strcmp(choice->key, "batch") != 0) {
            reader_plugin(reader, &at, choice, "cuspan does not have this processor: ignoring it");
            continue;
        }
        snprintf(processor.path, sizeof processor.path, "%s", PROCESSOR_PATH ".batch");
        read_processor(reader, &processor, choice->value, is_simple);
    }
}

struct sampler {
    enum sampler_kind kind;
    double ratio;
    bool is_parent_based;
};

static const struct sampler default_sampler = {SAMPLER_ALWAYS_ON, 1.0, true};

static void read_ratio(struct file_reader *reader, const struct node_place *place, const struct node *node,
                       struct sampler *sampler)
{
    const struct setting *setting =
        setting_find(SAMPLER_PATH ".parent_based.root.trace_id_ratio_based.ratio");
    sampler->kind = SAMPLER_TRACE_ID_RATIO;
    if (!reader_takes(reader, place, node, NODE_MAP, "a mapping with the key ratio"))
        return;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_item(place, item);
        if (strcmp(item->key, "ratio") != 0) {
            reader_unknown_key(reader, place, item);
            continue;
        }
        double kept = reader->settings->sampler_ratio;
        reader->settings->sampler_ratio = 1.0;
        read_setting(reader, &at, setting, item->value);
        sampler->ratio = reader->settings->sampler_ratio;
        reader->settings->sampler_ratio = kept;
    }
}

static void read_sampler(struct file_reader *reader, const struct node_place *place, const struct node *node,
                         struct sampler *sampler);

/* Reads remote_parent_sampled and the other cases of a parent. cuspan follows the parent's sampled flag, like
 * a nested parent_based sampler. */
static void read_parent_case(struct file_reader *reader, const struct node_place *place,
                             const struct item *item, const char *effect)
{
    struct sampler found = default_sampler;
    uint32_t errors = reader->report->errors;
    bool is_not_sampled = strstr(item->key, "not_sampled") != NULL;
    read_sampler(reader, place, item->value, &found);
    bool is_usual =
        found.is_parent_based || found.kind == (is_not_sampled ? SAMPLER_ALWAYS_OFF : SAMPLER_ALWAYS_ON);
    if (!is_usual && reader->report->errors == errors && !node_is_null(item->value))
        reader_warning(reader, place, "%s", effect);
}

static void read_parent_based(struct file_reader *reader, const struct node_place *place,
                              const struct node *node, struct sampler *sampler)
{
    *sampler = default_sampler;
    if (!reader_takes(reader, place, node, NODE_MAP, "a mapping with the key root"))
        return;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_item(place, item);
        const struct schema_key *key = schema_find(at.path);
        if (!key)
            reader_unknown_key(reader, place, item);
        else if (key->effect)
            read_parent_case(reader, &at, item, key->effect);
        else
            read_sampler(reader, &at, item->value, sampler);
    }
    sampler->is_parent_based = true;
}

static void read_sampler(struct file_reader *reader, const struct node_place *where, const struct node *node,
                         struct sampler *sampler)
{
    static const char unsupported[] =
        "cuspan does not have this sampler: using parent_based with root always_on";
    if (node_is_null(node))
        return;
    struct node_place place = *where;
    snprintf(place.path, sizeof place.path, "%s", SAMPLER_PATH); /* the tables have only the first level */
    const struct item *choice =
        read_choice(reader, &place, node, "always_on, always_off, trace_id_ratio_based or parent_based");
    if (!choice)
        return;
    struct node_place at = place_of_item(&place, choice);
    const struct schema_key *key = schema_find(at.path);
    sampler->is_parent_based = false;
    if (!key || key->kind == SCHEMA_UNSUPPORTED) {
        *sampler = default_sampler;
        if (key)
            reader_warning(reader, &at, "%s", unsupported);
        else
            reader_plugin(reader, &place, choice, unsupported);
    } else if (strcmp(choice->key, "parent_based") == 0) {
        read_parent_based(reader, &at, choice->value, sampler);
    } else if (strcmp(choice->key, "trace_id_ratio_based") == 0 ||
               strcmp(choice->key, "probability/development") == 0) {
        read_ratio(reader, &at, choice->value, sampler);
    } else {
        sampler->kind = strcmp(choice->key, "always_on") == 0 ? SAMPLER_ALWAYS_ON : SAMPLER_ALWAYS_OFF;
        read_nothing(reader, &at, choice->value);
    }
}

void read_root_sampler(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    struct sampler sampler = default_sampler;
    read_sampler(reader, place, node, &sampler);
    reader->settings->sampler = sampler.kind;
    reader->settings->sampler_ratio = sampler.ratio;
    reader->settings->sampler_parent_based = sampler.is_parent_based;
}

void read_id_generator(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    bool is_random = node->kind == NODE_MAP && node->count == 1 && strcmp(node->items->key, "random") == 0;
    if (!node_is_null(node) && !is_random)
        reader_warning(reader, place, "not supported: cuspan generates random IDs");
}

void read_tracer_provider(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (!reader_takes(reader, place, node, NODE_MAP, "a mapping with the key processors"))
        return;
    if (!node_find(node, "processors"))
        reader_error(reader, place, "processors is missing: expected a list with at least one processor");
    read_map(reader, place, node);
}
