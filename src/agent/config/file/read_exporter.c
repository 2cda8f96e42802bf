/* The exporter of a processor or of a metric reader, and metric readers. */
#include "agent/config/file/file_reader.h"

#include "agent/config/text/pairs.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum exporter_kind kind;
} exporters[] = {
    {"otlp_http", EXPORTER_OTLP_HTTP},
    {"otlp_grpc", EXPORTER_OTLP_GRPC},
    {"otlp_file/development", EXPORTER_FILE},
    {"console", EXPORTER_CONSOLE},
};

static bool find_exporter(const char *name, enum exporter_kind *kind)
{
    for (size_t i = 0; i < sizeof exporters / sizeof *exporters; i++) {
        if (strcmp(exporters[i].name, name) == 0) {
            *kind = exporters[i].kind;
            return true;
        }
    }
    return false;
}

/* No message may contain a key or a value, because with a wrong indentation a secret can be anywhere. */
static void read_header(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    const struct item *name = node->kind == NODE_MAP ? node_find(node, "name") : NULL;
    const struct item *value = node->kind == NODE_MAP ? node_find(node, "value") : NULL;
    bool has_both = name && value && node->count == 2 && name->value->kind == NODE_SCALAR &&
                    value->value->kind == NODE_SCALAR;
    if (!has_both || node_is_null(name->value)) {
        reader_error(reader, place, "expected a mapping with the keys name and value, both strings");
        return;
    }
    if (node_is_null(value->value))
        return;
    if (!node_is_text(value->value)) {
        reader_error(reader, place, "the value is not a string: put it in quotes");
        return;
    }
    struct error err = {""};
    enum status status = header_set(&reader->output->exporter, name->value->text, value->value->text, &err);
    if (status == STATUS_INVALID)
        reader_error(reader, place, "%s", err.text);
    else if (status != STATUS_OK)
        reader->status = status;
}

void read_headers(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node_is_null(node))
        return;
    if (node->kind != NODE_LIST) {
        reader_error(reader, place, "expected a list like [{name: api-key, value: \"${API_KEY}\"}]");
        return;
    }
    unsigned index = 0;
    for (const struct item *item = node->items; item; item = item->next) {
        struct node_place at = place_of_index(place, item, index++);
        read_header(reader, &at, item->value);
    }
}

void read_headers_list(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node_is_null(node))
        return;
    if (!node_is_text(node)) {
        reader_error(reader, place, "expected text like name=value,name=value");
        return;
    }
    struct error err = {""};
    enum status status = pairs_to_headers(node->text, &reader->output->exporter, &err);
    if (status == STATUS_INVALID)
        reader_error(reader, place, "%s", err.text);
    else if (status != STATUS_OK)
        reader->status = status;
}

static void set_file(struct file_reader *reader, const struct node_place *place, const char *stream)
{
    static const char scheme[] = "file://";
    static const struct setting endpoint = {.type = SETTING_PATH,
                                            .owner = IN_OUTPUT,
                                            .offset = offsetof(struct output_settings, exporter.endpoint)};
    if (strcmp(stream, "stdout") == 0)
        return;
    const char *path = strncmp(stream, scheme, sizeof scheme - 1) == 0 ? stream + sizeof scheme - 1 : NULL;
    if (path && strncmp(path, "localhost/", 10) == 0)
        path += 9;
    if (!path || path[0] != '/' || path[1] == '\0')
        reader_error(reader, place, "expected stdout or file:///PATH with an absolute path, not \"%.60s\"",
                     stream);
    else if (setting_set(&endpoint, reader->output, path) != STATUS_OK)
        reader->status = STATUS_NO_MEMORY;
}

void read_output_stream(struct file_reader *reader, const struct node_place *place, const struct node *node)
{
    if (node->kind != NODE_SCALAR)
        reader_expected(reader, place, "stdout or file:///PATH", node);
    else if (!node_is_null(node))
        set_file(reader, place, node->text);
}

static void read_exporter(struct file_reader *reader, const struct node_place *parent,
                          const struct item *choice)
{
    struct node_place place = place_of_item(parent, choice);
    const struct output_settings *output = reader->output;
    if (output->exporter.kind == EXPORTER_CONSOLE && output->signal != SIGNAL_METRICS)
        read_nothing(reader, &place, choice->value);
    else
        read_map(reader, &place, choice->value);
}

static void read_keys_beside(struct file_reader *reader, const struct node_place *place,
                             const struct node *node, bool is_simple)
{
    for (const struct item *item = node->items; item; item = item->next) {
        if (strcmp(item->key, "exporter") == 0)
            continue;
        struct node_place at = place_of_item(place, item);
        if (is_simple && setting_find(at.path))
            reader_error(reader, &at, "a simple processor does not have this key: use batch, or remove it");
        else
            read_item(reader, place, item);
    }
}

bool read_output(struct file_reader *reader, const struct node_place *place, const struct node *node,
                 enum signal signal, bool is_simple, struct output_settings *output)
{
    static const char choices[] = "otlp_http, otlp_grpc, otlp_file/development or console";
    const struct item *exporter = node->kind == NODE_MAP ? node_find(node, "exporter") : NULL;
    if (!exporter) {
        reader_error(reader, place, "exporter is missing: expected exporter with one of the keys %s",
                     choices);
        return false;
    }
    struct node_place exporter_place = place_of_item(place, exporter);
    const struct item *choice = read_choice(reader, &exporter_place, exporter->value, choices);
    if (!choice)
        return false;
    enum exporter_kind kind = EXPORTER_CONSOLE;
    bool is_known = find_exporter(choice->key, &kind);
    if (!is_known)
        reader_plugin(reader, &exporter_place, choice,
                      signal == SIGNAL_TRACES ? "cuspan does not have this exporter: ignoring the processor"
                                              : "cuspan does not have this exporter: ignoring the reader");
    if (output_init(output, signal, kind) != STATUS_OK) {
        reader->status = STATUS_NO_MEMORY;
        return false;
    }
    reader->output = output;
    read_keys_beside(reader, place, node, is_simple);
    if (is_known)
        read_exporter(reader, &exporter_place, choice);
    reader->output = NULL;
    if (!is_known)
        output_settings_deinit(output);
    return is_known;
}

/* meter_provider: cuspan uses the first periodic reader whose exporter it has. */
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
