/* Shared by the files that turn a tree of YAML nodes into settings. file_reader.c has places and messages;
 * read_file.c reads mappings by the tables; the other read_*.c files read what a table cannot describe. */
#pragma once

#include "yaml/problems.h"
#include "agent/config/table/settings_table.h"
#include "yaml/tree.h"

struct file_reader {
    struct settings *settings;
    struct output_settings *output; /* the one being read; NULL outside a processor */
    struct view *view;              /* likewise */
    const struct schema_key *key;   /* the one being read */
    const char *file;               /* its name in messages */
    struct config_report *report;
    enum status status; /* OK or NO_MEMORY; mistakes in the file are in the report */
};

/* The place of a node. */
struct node_place {
    char shown[192]; /* for messages: tracer_provider.processors[0].simple */
    char path[160];  /* for the tables: tracer_provider.processors[].batch */
    uint32_t line;
    uint32_t column;
};

struct node_place place_of_item(const struct node_place *parent, const struct item *item);
struct node_place place_of_index(const struct node_place *parent, const struct item *item, unsigned index);

/* Adds a line to the report, which starts with file, place and key. */
void reader_error(struct file_reader *reader, const struct node_place *place, const char *format, ...)
    PRINTF_LIKE(3, 4);
void reader_warning(struct file_reader *reader, const struct node_place *place, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* "expected WHAT, not a list" */
void reader_expected(struct file_reader *reader, const struct node_place *place, const char *what,
                     const struct node *node);
/* Whether the node is of that kind. If not, and if it is not null, adds the error "expected WHAT, not ...".
 */
bool reader_takes(struct file_reader *reader, const struct node_place *place, const struct node *node,
                  enum node_kind kind, const char *what);
/* Suggests the most similar key, or lists the keys of `parent`. */
void reader_unknown_key(struct file_reader *reader, const struct node_place *parent, const struct item *item);
/* For keys where SDKs allow plug-ins of any name: an error if the key looks misspelled, else a warning with
 * `effect`. */
void reader_plugin(struct file_reader *reader, const struct node_place *parent, const struct item *item,
                   const char *effect);

/* Reads the keys of a mapping by the tables; null is an empty mapping. */
void read_map(struct file_reader *reader, const struct node_place *place, const struct node *node);
void read_item(struct file_reader *reader, const struct node_place *parent, const struct item *item);
void read_setting(struct file_reader *reader, const struct node_place *place, const struct setting *setting,
                  const struct node *node);
/* Appends a list of names or patterns. */
void read_patterns(struct file_reader *reader, const struct node_place *place, const struct node *list,
                   struct pattern_list *patterns);
/* The only key of a mapping such as `exporter:`, or NULL with the error "expected WHAT". */
const struct item *read_choice(struct file_reader *reader, const struct node_place *place,
                               const struct node *node, const char *what);
/* An error unless the value is null or an empty mapping. */
void read_nothing(struct file_reader *reader, const struct node_place *place, const struct node *node);

/* Reads a processor or a metric reader. True: the caller owns `output`. False: there is a message. */
bool read_output(struct file_reader *reader, const struct node_place *place, const struct node *node,
                 enum signal signal, bool is_simple, struct output_settings *output);

/* Readers of single keys (SCHEMA_READER), by file. */
typedef void schema_read_fn(struct file_reader *reader, const struct node_place *place,
                            const struct node *node);
schema_read_fn read_file_format, read_distribution;
schema_read_fn read_attributes, read_attributes_list;
schema_read_fn read_tracer_provider, read_processors, read_root_sampler, read_id_generator;
schema_read_fn read_metric_readers, read_headers, read_headers_list, read_output_stream;
schema_read_fn read_views;

/* Reads the whole document. The settings have their defaults and no output. */
enum status read_document(struct file_reader *reader, const struct node *root) MUST_CHECK;

/* The keys of OpenTelemetry's declarative configuration, 1.0 and 1.1, that are not in the table of settings:
 * keys with their own reader, and keys that cuspan does not support. Keys below an ignored or unsupported one
 * are not checked. */
enum schema_kind {
    SCHEMA_MAP,        /* in no row: other paths in this table or in that of settings continue the path */
    SCHEMA_READER,     /* `read` reads it; NULL: that of a key above does */
    SCHEMA_SETTING,    /* sets the setting whose path is in `effect` */
    SCHEMA_IGNORED,    /* does not affect cuspan: no message */
    SCHEMA_UNSUPPORTED /* affects the output: one warning with `effect` */
};

struct schema_key {
    const char *path;
    enum schema_kind kind;
    const char *effect;
    schema_read_fn *read;
    size_t offset; /* of what a key of a view sets */
    bool is_last;  /* read after the other keys of its mapping, wherever it is; at most one of a mapping */
};

extern const struct schema_key schema_keys[], view_keys[]; /* those below a view are in read_views.c */
extern const unsigned schema_key_count, view_key_count;

/* NULL if there is none. A mapping has neither path nor effect. */
const struct schema_key *schema_find(const char *path);
