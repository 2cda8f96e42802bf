/* Between the files that turn a tree of YAML nodes into settings: read_file.c walks mappings by the tables,
 * read_resource.c and read_tracer.c have what the tables can't say. */
#ifndef CUSPAN_CONFIG_FILE_FILE_READER_H
#define CUSPAN_CONFIG_FILE_FILE_READER_H

#include "config/problems.h"
#include "config/settings_table.h"
#include "config/file/tree.h"

struct file_reader {
    struct settings *settings;
    struct output_settings *output; /* that is being read; NULL outside of a processor */
    const char *file;               /* its name, for messages */
    struct config_report *report;
    enum status status; /* NO_MEMORY, once it happened; what is wrong in the file is in the report */
};

/* Where a node stands. */
struct place {
    char shown[192]; /* for messages: tracer_provider.processors[0].simple */
    char path[160];  /* for the tables: tracer_provider.processors[].batch */
    uint32_t line;
    uint32_t column;
};

struct place place_of_item(const struct place *parent, const struct item *item);
struct place place_of_index(const struct place *parent, const struct item *item, unsigned index);

/* One line into the report, after file, place and key. */
void reader_error(struct file_reader *reader, const struct place *place, const char *format, ...)
    PRINTF_LIKE(3, 4);
void reader_warning(struct file_reader *reader, const struct place *place, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* "expected WHAT, not a list". */
void reader_expected(struct file_reader *reader, const struct place *place, const char *what,
                     const struct node *node);
/* The key is in no table: names the nearest one, or those that are possible at `parent`. */
void reader_unknown_key(struct file_reader *reader, const struct place *parent, const struct item *item);
/* At a place where SDKs take plug-ins under names of their own: an error for what looks like a slip of the
 * pen, else a warning with `effect`. */
void reader_plugin(struct file_reader *reader, const struct place *parent, const struct item *item,
                   const char *effect);

/* Reads each key of a mapping by the tables; null is an empty mapping. */
void read_map(struct file_reader *reader, const struct place *place, const struct node *node);
void read_item(struct file_reader *reader, const struct place *parent, const struct item *item);
void read_setting(struct file_reader *reader, const struct place *place, const struct setting *setting,
                  const struct node *node);
/* The only key of a mapping such as `exporter:`, or NULL with an error that says `what` was expected. */
const struct item *read_choice(struct file_reader *reader, const struct place *place, const struct node *node,
                               const char *what);
/* True for null and for an empty mapping; else an error. */
void read_nothing(struct file_reader *reader, const struct place *place, const struct node *node);

/* A processor or a reader of metrics, whose keys stand below `node`: true, and `output` is the caller's, or
 * false with a message. */
bool read_output(struct file_reader *reader, const struct place *place, const struct node *node,
                 enum signal signal, bool is_simple, struct output_settings *output);

/* Readers of single keys (SCHEMA_READER). */
void read_resource(struct file_reader *reader, const struct place *place, const struct node *node);
void read_tracer_provider(struct file_reader *reader, const struct place *place, const struct node *node);
void read_views(struct file_reader *reader, const struct place *place, const struct node *node);
void read_metric_readers(struct file_reader *reader, const struct place *place, const struct node *node);

/* The whole document. Settings are at their defaults when it begins, and have no output. */
enum status read_document(struct file_reader *reader, const struct node *root) MUST_CHECK;

#endif
