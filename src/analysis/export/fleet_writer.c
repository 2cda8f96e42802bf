#include "analysis/export/fleet_writer.h"

#include "base/files.h"
#include "analysis/export/fleet_encode.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#define MARKER           "cuspan-schema.json"
#define MARKER_BYTES_MAX 4096
#define SPANS            "spans"
#define RESOURCES        "resources"
#define FOLDER_MODE      0700
#define FILE_MODE        0600

/* A file under a temporary name until it is complete. */
struct output {
    int fd; /* -1: none is open */
    char *folder, *temporary;
    struct parquet_file *parquet;
    uint32_t resource;
    uint64_t hour, hash;
};

struct fleet_writer {
    char *folder;
    const struct trace *trace;
    const struct zstd_api *zstd;
    size_t file_bytes;
    struct parquet_column span_columns[FLEET_COLUMNS_MAX], resource_columns[FLEET_COLUMNS_MAX];
    struct parquet_pair span_pairs[2], resource_pairs[2];
    struct parquet_schema span_schema, resource_schema;
    struct fleet_collector collector;
    bool is_started;
    struct fleet_group groups[2];
    unsigned current; /* the group that receives spans; the thread has the other one */
    uint64_t *resource_ids;
    size_t spans;
    pthread_t thread;
    bool is_writing;
    /* The thread's, while it runs. */
    enum status status;
    struct error err;
    struct fleet_encoder encoder;
    struct output output;
    size_t files;
    uint64_t bytes;
};

static enum status complain(struct error *err, const char *what, const char *path)
{
    return error_set(err, STATUS_IO, "%s %.400s: %s", what, path, strerror(errno));
}

/* --- the folder --- */

static bool is_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool is_empty = dir != NULL;
    while (dir && is_empty && (entry = readdir(dir)))
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (dir)
        closedir(dir);
    return is_empty;
}

static int version_of(const char *text)
{
    yyjson_doc *document = yyjson_read(text, strlen(text), 0);
    yyjson_val *marker = yyjson_doc_get_root(document);
    bool is_ours = yyjson_equals_str(yyjson_obj_get(marker, "schema"), "cuspan");
    double number = is_ours ? yyjson_get_num(yyjson_obj_get(marker, "version")) : 0;
    yyjson_doc_free(document);
    return number >= 1 && number <= INT_MAX ? (int)number : 0;
}

static enum status check_marker(int fd, const char *folder, struct error *err)
{
    char text[MARKER_BYTES_MAX];
    ssize_t len = read(fd, text, sizeof text - 1);
    text[len > 0 ? len : 0] = 0;
    int version = version_of(text);
    if (version == atoi(fleet_schema_version))
        return STATUS_OK;
    if (version == 0)
        return error_set(err, STATUS_INVALID, "%.300s/" MARKER ": not of cuspan; choose another folder",
                         folder);
    return error_set(err, STATUS_INVALID,
                     "%.300s has version %d of the schema, and this cuspan writes version %s; choose another "
                     "folder",
                     folder, version, fleet_schema_version);
}

static enum status write_marker(const char *folder, const char *path, struct error *err)
{
    char text[128];
    if (!is_empty(folder))
        return error_set(err, STATUS_INVALID,
                         "%.400s is not empty and has no " MARKER "; choose a new folder, or one that cuspan "
                         "export wrote",
                         folder);
    int len =
        snprintf(text, sizeof text, "{\"schema\": \"cuspan\", \"version\": %s}\n", fleet_schema_version);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd < 0 && errno == EEXIST) /* another export was faster */
        return STATUS_OK;
    if (fd < 0)
        return complain(err, "cannot write", path);
    enum status status = files_write(fd, text, (size_t)len) ? STATUS_OK : complain(err, "cannot write", path);
    close(fd);
    if (status != STATUS_OK)
        unlink(path);
    return status;
}

static enum status make_folder(const char *path, struct error *err)
{
    return mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST ? STATUS_OK
                                                            : complain(err, "cannot create", path);
}

static enum status open_folder(const char *folder, struct error *err)
{
    char *path = xasprintf("%s/" MARKER, folder);
    enum status status = make_folder(folder, err);
    int fd = status == STATUS_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        status = check_marker(fd, folder, err);
        close(fd);
    } else if (status == STATUS_OK && errno == ENOENT) {
        status = write_marker(folder, path, err);
    } else if (status == STATUS_OK) {
        status = complain(err, "cannot read", path);
    }
    free(path);
    return status;
}

/* All folders of a path below the writer's. */
static enum status make_folders(const struct fleet_writer *writer, char *path, struct error *err)
{
    enum status status = STATUS_OK;
    for (char *at = path + strlen(writer->folder) + 1; status == STATUS_OK && (at = strchr(at, '/')); at++) {
        *at = 0;
        status = make_folder(path, err);
        *at = '/';
    }
    return status == STATUS_OK ? make_folder(path, err) : status;
}

/* --- files --- */

static void output_close(struct output *output)
{
    parquet_destroy(output->parquet);
    if (output->fd >= 0) {
        close(output->fd);
        unlink(output->temporary);
    }
    free(output->folder);
    free(output->temporary);
    *output = (struct output){.fd = -1};
}

/* Takes `folder`. */
static enum status output_open(struct fleet_writer *writer, char *folder, const struct parquet_schema *schema,
                               struct error *err)
{
    struct output *output = &writer->output;
    *output = (struct output){.fd = -1, .folder = folder};
    /* Exports in other containers or on other hosts may have our process ID. */
    output->temporary = xasprintf("%s/cuspan-%ld-%08x.tmp", folder, (long)getpid(), files_random());
    enum status status = access(folder, F_OK) == 0 ? STATUS_OK : make_folders(writer, folder, err);
    if (status != STATUS_OK)
        return status;
    output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (output->fd < 0)
        return complain(err, "cannot create", output->temporary);
    output->parquet = parquet_create(output->fd, schema, writer->zstd);
    return STATUS_OK;
}

static enum status place_error(const struct output *output, enum status status, struct error *err)
{
    struct error inner = *err;
    if (status == STATUS_OK)
        return STATUS_OK;
    return error_set(err, status, "cannot write %.300s: %.160s", output->temporary, inner.text);
}

/* Gives the file its name. */
static enum status output_finish(struct fleet_writer *writer, const char *name, struct error *err)
{
    struct output *output = &writer->output;
    enum status status = place_error(output, parquet_finish(output->parquet, err), err);
    char *path = xasprintf("%s/%s.parquet", output->folder, name);
    uint64_t bytes = parquet_bytes(output->parquet);
    if (status == STATUS_OK && close(output->fd) != 0)
        status = complain(err, "cannot write", output->temporary);
    if (status == STATUS_OK) {
        output->fd = -1;
        if (rename(output->temporary, path) != 0) {
            status = complain(err, "cannot create", path);
            unlink(output->temporary);
        }
    }
    if (status == STATUS_OK) {
        writer->files++;
        writer->bytes += bytes;
    }
    free(path);
    output_close(output);
    return status;
}

static enum status finish_spans(struct fleet_writer *writer, struct error *err)
{
    char name[40];
    const struct output *output = &writer->output;
    if (output->fd < 0)
        return STATUS_OK;
    snprintf(name, sizeof name, "%016" PRIx64 "-%016" PRIx64, writer->resource_ids[output->resource],
             output->hash);
    return output_finish(writer, name, err);
}

static enum status open_spans(struct fleet_writer *writer, const struct fleet_group *group, struct error *err)
{
    const struct trace *trace = writer->trace;
    const struct trace_resource *resource = &trace->resources[group->resource];
    struct text path = {0};
    text_add_format(&path, "%s/" SPANS "/", writer->folder);
    fleet_path_add_partition(&path, group->hour,
                             resource->service ? trace_string(trace, resource->service) : NULL);
    enum status status = output_open(writer, path.data, &writer->span_schema, err);
    writer->output.resource = group->resource;
    writer->output.hour = group->hour;
    return status;
}

/* --- row groups --- */

static enum status write_group(struct fleet_writer *writer, const struct fleet_group *group,
                               struct error *err)
{
    struct output *output = &writer->output;
    enum status status = STATUS_OK;
    bool is_full = output->fd >= 0 && parquet_bytes(output->parquet) >= writer->file_bytes;
    if (output->fd >= 0 && (is_full || output->resource != group->resource || output->hour != group->hour))
        status = finish_spans(writer, err);
    if (status == STATUS_OK && output->fd < 0)
        status = open_spans(writer, group, err);
    if (status != STATUS_OK)
        return status;
    output->hash = int_map_mix(output->hash ^ group->hash);
    status = fleet_encode_group(&writer->encoder, group, writer->trace, writer->resource_ids, output->parquet,
                                err);
    return place_error(output, status, err);
}

static void *write_in_thread(void *context)
{
    struct fleet_writer *writer = context;
    writer->status = write_group(writer, &writer->groups[1 - writer->current], &writer->err);
    return NULL;
}

static enum status wait_until_written(struct fleet_writer *writer, struct error *err)
{
    if (!writer->is_writing)
        return STATUS_OK;
    pthread_join(writer->thread, NULL);
    writer->is_writing = false;
    if (writer->status != STATUS_OK)
        *err = writer->err;
    return writer->status;
}

/* The other group receives the next spans. */
static enum status hand_over(struct fleet_writer *writer, struct error *err)
{
    enum status status = wait_until_written(writer, err);
    if (status != STATUS_OK || writer->groups[writer->current].rows == 0)
        return status;
    writer->current = 1 - writer->current;
    fleet_group_clear(&writer->groups[writer->current]);
    writer->is_writing = pthread_create(&writer->thread, NULL, write_in_thread, writer) == 0;
    return writer->is_writing ? STATUS_OK : write_group(writer, &writer->groups[1 - writer->current], err);
}

/* --- resources --- */

static uint64_t mix_text(uint64_t hash, const char *text)
{
    uint64_t word;
    size_t len = strlen(text);
    hash = int_map_mix(hash + len);
    for (; len >= sizeof word; len -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = int_map_mix(hash ^ le64toh(word));
    }
    word = 0;
    memcpy(&word, text, len);
    return int_map_mix(hash ^ le64toh(word));
}

static uint64_t hash_resource(const struct trace *trace, const struct trace_resource *resource)
{
    uint64_t hash = resource->attr_count;
    for (uint32_t i = 0; i < resource->attr_count; i++) {
        const struct trace_attr *attr = &trace->attrs[resource->attr_first + i];
        hash = mix_text(hash, trace_string(trace, attr->key));
        hash = int_map_mix(hash + attr->type);
        hash = attr->type == TRACE_STRING || attr->type == TRACE_JSON
                   ? mix_text(hash, trace_string(trace, (uint32_t)attr->value))
                   : int_map_mix(hash ^ attr->value);
    }
    return hash;
}

static void hash_resources(struct fleet_writer *writer)
{
    const struct trace *trace = writer->trace;
    writer->resource_ids = xcalloc(trace->resource_count + 1, sizeof *writer->resource_ids);
    for (size_t i = 0; i < trace->resource_count; i++)
        writer->resource_ids[i] = hash_resource(trace, &trace->resources[i]);
}

static enum status write_resources(struct fleet_writer *writer, struct error *err)
{
    char name[24];
    uint64_t hash = 0;
    char *folder = xasprintf("%s/" RESOURCES, writer->folder);
    enum status status = output_open(writer, folder, &writer->resource_schema, err);
    if (status == STATUS_OK)
        status = place_error(&writer->output,
                             fleet_encode_resources(&writer->encoder, writer->trace, writer->resource_ids,
                                                    writer->output.parquet, err),
                             err);
    for (size_t i = 0; i < writer->trace->resource_count; i++)
        hash = int_map_mix(hash ^ writer->resource_ids[i]);
    snprintf(name, sizeof name, "%016" PRIx64, hash);
    return status == STATUS_OK ? output_finish(writer, name, err) : status;
}

/* --- the writer --- */

static void fill_schema(struct parquet_schema *schema, struct parquet_column *columns,
                        struct parquet_pair *pairs, const struct fleet_column *from, size_t count,
                        const char *table)
{
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct parquet_column){from[i].name, from[i].type, from[i].is_optional};
    pairs[0] = (struct parquet_pair){"cuspan.schema", fleet_schema_version};
    pairs[1] = (struct parquet_pair){"cuspan.table", table};
    *schema = (struct parquet_schema){columns, count, SIZE_MAX, pairs, 2};
}

enum status fleet_writer_create(const char *folder, const struct trace *trace, const struct zstd_api *zstd,
                                size_t file_bytes, struct fleet_writer **made, struct error *err)
{
    enum status status = open_folder(folder, err);
    *made = NULL;
    if (status != STATUS_OK)
        return status;
    struct fleet_writer *writer = *made = xcalloc(1, sizeof *writer);
    writer->folder = xstrdup(folder);
    writer->trace = trace;
    writer->zstd = zstd;
    writer->file_bytes = file_bytes ? file_bytes : FLEET_FILE_BYTES;
    writer->output.fd = -1;
    fill_schema(&writer->span_schema, writer->span_columns, writer->span_pairs, fleet_span_columns,
                fleet_span_column_count, SPANS);
    writer->span_schema.sorted_by = fleet_span_column("start_ns");
    fill_schema(&writer->resource_schema, writer->resource_columns, writer->resource_pairs,
                fleet_resource_columns, fleet_resource_column_count, RESOURCES);
    return STATUS_OK;
}

void fleet_writer_destroy(struct fleet_writer *writer)
{
    if (!writer)
        return;
    if (writer->is_writing)
        pthread_join(writer->thread, NULL);
    output_close(&writer->output);
    fleet_encoder_deinit(&writer->encoder);
    fleet_group_deinit(&writer->groups[0]);
    fleet_group_deinit(&writer->groups[1]);
    fleet_collector_deinit(&writer->collector);
    free(writer->resource_ids);
    free(writer->folder);
    free(writer);
}

enum status fleet_writer_add(struct fleet_writer *writer, const struct span_record *record, struct error *err)
{
    if (!writer->is_started) {
        writer->is_started = true;
        hash_resources(writer);
        fleet_collector_init(&writer->collector, writer->trace);
    }
    struct fleet_group *group = &writer->groups[writer->current];
    if (group->rows && (group->resource != record->resource || group->hour != fleet_hour(record->start_ns) ||
                        fleet_group_is_full(group))) {
        enum status status = hand_over(writer, err);
        if (status != STATUS_OK)
            return status;
        group = &writer->groups[writer->current];
    }
    fleet_group_add(&writer->collector, group, record);
    writer->spans++;
    return STATUS_OK;
}

enum status fleet_writer_finish(struct fleet_writer *writer, struct fleet_totals *totals, struct error *err)
{
    enum status status = hand_over(writer, err);
    if (status == STATUS_OK)
        status = wait_until_written(writer, err);
    if (status == STATUS_OK)
        status = finish_spans(writer, err);
    if (status == STATUS_OK && writer->is_started)
        status = write_resources(writer, err);
    *totals = (struct fleet_totals){.spans = writer->spans,
                                    .files = writer->files,
                                    .resources = writer->trace->resource_count,
                                    .bytes = writer->bytes,
                                    .repeated = writer->collector.repeated + writer->encoder.repeated_keys,
                                    .late = writer->collector.late};
    return status;
}
