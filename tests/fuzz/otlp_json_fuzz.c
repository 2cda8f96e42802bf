/* Arbitrary bytes as a file of spans that `cuspan show`, `stat` and `export` read (JSON lines, messages of
 * protobuf, compressed files): an error that names the place, or a trace that can be drawn, listed and
 * written for Perfetto and as Parquet, including control characters. The first byte selects the sizes of
 * segments and of the buffer. */
#include "analysis/export/fleet_encode.h"
#include "analysis/show/perfetto.h"
#include "analysis/show/picture.h"
#include "analysis/show/span_lines.h"
#include "analysis/trace/trace_read.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *null;

/* Each run allocates some 200 KB: memory that is used again needs no page faults. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=4:malloc_context_size=8";
}

static void draw(const struct trace *trace, uint8_t choice)
{
    struct picture_options options = {
        .columns = 40u + choice, .rows_max = choice & 31, .is_linear = choice & 1, .utf8 = choice & 2};
    picture_draw(null, trace, &options);
    span_lines_write(null, trace, options.utf8);
    perfetto_write(null, trace);
}

static void check(enum status status, const struct error *err)
{
    require(status == STATUS_OK || (err->text[0] && !strpbrk(err->text, "\n\r\x1b")),
            "an error is not one line");
}

static enum status count(void *spans, struct trace *segment, struct error *err)
{
    for (size_t i = 0; i < segment->span_count; i++)
        *(size_t *)spans += !segment->spans[i].is_margin;
    return STATUS_OK;
}

/* --- export --- */

struct exporting {
    struct fleet_collector collector;
    struct fleet_encoder encoder;
    struct fleet_group group;
    struct parquet_column columns[FLEET_COLUMNS_MAX];
    struct parquet_schema schema;
    struct parquet_file *file; /* NULL: there was no span yet */
    uint64_t *ids;
    const struct trace *trace;
    size_t spans;
};

static struct parquet_file *create_file(struct exporting *exporting, const struct fleet_column *columns,
                                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        exporting->columns[i] =
            (struct parquet_column){columns[i].name, columns[i].type, columns[i].is_optional};
    exporting->schema = (struct parquet_schema){exporting->columns, count, SIZE_MAX, NULL, 0};
    return parquet_create(fileno(null), &exporting->schema, NULL);
}

static void start_export(struct exporting *exporting)
{
    fleet_collector_init(&exporting->collector, exporting->trace);
    exporting->ids = calloc(exporting->trace->resource_count + 1, sizeof *exporting->ids);
    exporting->file = create_file(exporting, fleet_span_columns, fleet_span_column_count);
}

static void finish_file(struct exporting *exporting)
{
    struct error err;
    require(parquet_finish(exporting->file, &err) == STATUS_OK, "the file can't be finished");
    parquet_destroy(exporting->file);
}

static void write_group(struct exporting *exporting)
{
    struct error err;
    struct text path = {0};
    const struct trace_resource *resource = &exporting->trace->resources[exporting->group.resource];
    if (!exporting->group.rows)
        return;
    fleet_path_add_partition(&path, exporting->group.hour, trace_string(exporting->trace, resource->service));
    const char *service = strrchr(path.data, '/');
    require(service && strncmp(service, "/service=", 9) == 0 && strlen(service) <= 255, "the path is wrong");
    text_deinit(&path);
    require(fleet_encode_group(&exporting->encoder, &exporting->group, exporting->trace, exporting->ids,
                               exporting->file, &err) == STATUS_OK,
            "a row group can't be written");
    fleet_group_clear(&exporting->group);
}

static enum status take_record(void *context, const struct span_record *record, struct error *err)
{
    struct exporting *exporting = context;
    if (!exporting->file)
        start_export(exporting);
    if (exporting->group.resource != record->resource ||
        exporting->group.hour != fleet_hour(record->start_ns))
        write_group(exporting);
    fleet_group_add(&exporting->collector, &exporting->group, record);
    exporting->spans++;
    return STATUS_OK;
}

static void export(const struct trace_input *input)
{
    struct trace trace;
    struct exporting exporting = {.trace = &trace};
    struct trace_facts facts;
    struct store_omissions omissions;
    struct error err = {""};
    enum status status = trace_read_records(input, &trace, take_record, &exporting, &facts, &omissions, &err);
    check(status, &err);
    require(status != STATUS_OK || exporting.spans == facts.spans, "a span is not exported");
    if (exporting.file) {
        write_group(&exporting);
        finish_file(&exporting);
        exporting.file = create_file(&exporting, fleet_resource_columns, fleet_resource_column_count);
        require(fleet_encode_resources(&exporting.encoder, &trace, exporting.ids, exporting.file, &err) ==
                    STATUS_OK,
                "the resources can't be written");
        finish_file(&exporting);
    }
    fleet_encoder_deinit(&exporting.encoder);
    fleet_group_deinit(&exporting.group);
    fleet_collector_deinit(&exporting.collector);
    free(exporting.ids);
    trace_deinit(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!null)
        null = fopen("/dev/null", "w");
    /* The reader would replay a recording by starting its own program again, here this fuzzer. */
    if (size < 1 || (size > 8 && memcmp(data + 1,
                                        "\x89"
                                        "CUSPAN\n",
                                        8) == 0))
        return 0;
    char path[40];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    require(fd >= 0 && pwrite(fd, data + 1, size - 1, 0) == (ssize_t)size - 1, "the file can't be written");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *paths[] = {path};
    const char *wanted[] = {"cuda.*", NULL};
    struct trace_input input = {.paths = paths, .path_count = 1};
    struct trace_facts facts;
    struct trace trace;
    struct error err = {""};
    enum status status = trace_read_one(&input, NULL, &trace, &facts, &err);
    check(status, &err);
    if (status == STATUS_OK)
        draw(&trace, data[0]);
    trace_deinit(&trace);

    size_t spans = 0;
    input = (struct trace_input){.paths = paths,
                                 .path_count = 1,
                                 .wanted = data[0] & 1 ? wanted : NULL,
                                 .segment_spans = 1 + data[0] % 7,
                                 .margin_spans = 1 + data[0] % 3,
                                 .buffer_bytes = 1 + data[0] * 8};
    status = trace_read(&input, &trace, count, &spans, &facts, &err);
    check(status, &err);
    require(status != STATUS_OK || spans == facts.spans, "a span is in no segment, or in two");
    trace_deinit(&trace);
    export(&(struct trace_input){
        .paths = paths, .path_count = 1, .buffer_bytes = 1 + data[0] * 8, .name_bytes_max = 1 + data[0] * 8});
    close(fd);
    return 0;
}
