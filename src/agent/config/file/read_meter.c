/* meter_provider: cuspan uses the first periodic reader whose exporter it has. */
#include "agent/config/file/file_reader.h"

#include <stdio.h>
#include <string.h>

#define READER_PATH "meter_provider.readers[]"

static void read_periodic(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    struct settings *settings = reader->settings;
    if (settings->metrics.is_on) {
        reader_warning(reader, place, "cuspan supports one metric reader: ignoring this one");
        return;
    }
    settings->metrics.is_on =
        read_output(reader, place, node, SIGNAL_METRICS, false, &settings->metrics.output);
}

void read_metric_readers(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node_is_null(node))
        return;
    if (node->kind != NODE_LIST) {
        reader_error(reader, place, "expected a list of readers: - periodic:");
        return;
    }
    unsigned index = 0;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        const struct item *choice = read_choice(reader, &at, item->value, "periodic");
        if (!choice)
            continue;
        struct node_place periodic = place_of_item(&at, choice);
        if (strcmp(choice->key, "pull") == 0)
            reader_warning(reader, &periodic,
                           "cuspan does not serve metrics on a port: ignoring this reader; use periodic");
        else if (strcmp(choice->key, "periodic") != 0)
            reader_plugin(reader, &at, choice, "cuspan does not have this reader: ignoring it");
        else
            read_periodic(reader, &periodic, choice->value);
    }
}
