/* Reads and writes baselines: text for git, with one fact per line in a stable order. */
#include "analysis/diff/runs.h"
#include "base/text/json_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#define BASELINE_VERSION  1
#define BASELINE_RUNS_MAX 10000
#define EXACT_MAX         9007199254740992.0 /* 2^53: the largest integer that a JSON number represents exactly */

static const struct {
    const char *name;
    enum stat_unit unit;
} units[] = {{"ns", STAT_NS}, {"bytes", STAT_BYTES}, {"count", STAT_COUNT}};

static void write_run(struct json_writer *json, const struct run_item *run)
{
    json_write_space(json, "\n ");
    if (!run->count) {
        json_write_raw(json, NULL, "null", strlen("null"));
        return;
    }
    json_write_object(json, NULL);
    json_write_unsigned(json, "count", run->count);
    json_write_unsigned(json, "total", run->total);
    json_write_unsigned(json, "median", run->median);
    json_write_array(json, "values");
    for (uint32_t i = 0; i < run->value_count; i++)
        json_write_unsigned(json, NULL, run->values[i]);
    json_write_array_end(json);
    json_write_object_end(json);
}

static void write_item(struct json_writer *json, const struct measure *item, size_t run_count)
{
    size_t unit = 0;
    while (units[unit].unit != item->unit)
        unit++;
    json_write_space(json, "\n");
    json_write_object(json, NULL);
    json_write_text(json, "kind", measure_kind_name(item->kind));
    json_write_text(json, "name", item->name);
    json_write_text(json, "unit", units[unit].name);
    json_write_array(json, "runs");
    for (size_t r = 0; r < run_count; r++)
        write_run(json, &item->runs[r]);
    json_write_array_end(json);
    json_write_object_end(json);
}

static void write_set(FILE *out, const struct run_set *set)
{
    struct json_writer json = JSON_WRITER(out);
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "cuspan_baseline", BASELINE_VERSION);
    json_write_space(&json, "\n");
    json_write_unsigned(&json, "runs", set->run_count);
    json_write_space(&json, "\n");
    json_write_text(&json, "gpus", set->gpus ? set->gpus : "");
    json_write_space(&json, "\n");
    json_write_array(&json, "items");
    for (size_t i = 0; i < set->count; i++)
        write_item(&json, &set->items[i], set->run_count);
    fputc('\n', out);
    json_write_array_end(&json);
    json_write_object_end(&json);
    fputc('\n', out);
}

enum status run_set_save(const struct run_set *set, const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (out)
        write_set(out, set);
    bool is_bad = !out || ferror(out) != 0;
    if ((out && fclose(out) != 0) || is_bad)
        return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    return STATUS_OK;
}

/* --- reading --- */

static bool read_whole(yyjson_val *json, uint64_t *value)
{
    double number = yyjson_get_num(json);
    if (!yyjson_is_num(json) || !(number >= 0) || number > EXACT_MAX || floor(number) != number)
        return false;
    *value = (uint64_t)number;
    return true;
}

static bool read_member(yyjson_val *json, const char *key, uint64_t *value)
{
    return read_whole(yyjson_obj_get(json, key), value);
}

static bool read_run(yyjson_val *json, struct run_item *run)
{
    *run = (struct run_item){0};
    if (yyjson_is_null(json))
        return true;
    yyjson_val *values = yyjson_obj_get(json, "values"), *value;
    size_t i, count;
    if (!read_member(json, "count", &run->count) || !read_member(json, "total", &run->total) ||
        !read_member(json, "median", &run->median) || !yyjson_is_arr(values) || !run->count)
        return false;
    yyjson_arr_foreach(values, i, count, value)
    {
        uint32_t at = run->value_count;
        if (at == RUN_VALUES_MAX || !read_whole(value, &run->values[at]) ||
            (at && run->values[at] < run->values[at - 1]))
            return false;
        run->value_count++;
    }
    return run->value_count > 0 && run->value_count <= run->count;
}

static bool read_kind(yyjson_val *json, enum measure_kind *kind)
{
    for (*kind = 0; *kind < MEASURE_KIND_COUNT; ++*kind)
        if (yyjson_equals_str(json, measure_kind_name(*kind)))
            return true;
    return false;
}

static bool read_unit(yyjson_val *json, enum stat_unit *unit)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        *unit = units[i].unit;
        if (yyjson_equals_str(json, units[i].name))
            return true;
    }
    return false;
}

static bool read_item(struct run_set *set, yyjson_val *json, size_t run_count)
{
    yyjson_val *name = yyjson_obj_get(json, "name"), *runs = yyjson_obj_get(json, "runs"), *run;
    size_t i, count;
    enum measure_kind kind;
    enum stat_unit unit = units[0].unit;
    if (!yyjson_is_str(name) || !read_kind(yyjson_obj_get(json, "kind"), &kind) ||
        !read_unit(yyjson_obj_get(json, "unit"), &unit) || yyjson_arr_size(runs) != run_count)
        return false;
    struct measure *item = run_set_measure(set, kind, yyjson_get_str(name), unit);
    size_t at = set->run_count - run_count;
    yyjson_arr_foreach(runs, i, count, run)
    {
        if (item->runs[at].count || !read_run(run, &item->runs[at++]))
            return false;
    }
    return true;
}

static enum status take_document(struct run_set *set, yyjson_val *json, const char *name, struct error *err)
{
    uint64_t version = 0, runs = 0;
    yyjson_val *items = yyjson_obj_get(json, "items"), *gpus = yyjson_obj_get(json, "gpus"), *item;
    size_t i, count;
    if (!read_member(json, "cuspan_baseline", &version) || version != BASELINE_VERSION)
        return error_set(err, STATUS_INVALID,
                         "%.300s: a baseline of version %" PRIu64
                         ", but this cuspan reads version %d; save it again with cuspan stat --save",
                         name, version, BASELINE_VERSION);
    if (!read_member(json, "runs", &runs) || runs == 0 || runs > BASELINE_RUNS_MAX || !yyjson_is_arr(items))
        return error_set(err, STATUS_INVALID, "%.300s: a baseline without \"runs\" (1 to %d) and \"items\"",
                         name, BASELINE_RUNS_MAX);
    run_set_grow(set, (size_t)runs);
    if (yyjson_is_str(gpus))
        run_set_add_gpus(set, yyjson_get_str(gpus));
    yyjson_arr_foreach(items, i, count, item)
    {
        if (!read_item(set, item, (size_t)runs))
            return error_set(
                err, STATUS_INVALID,
                "%.300s: item %zu of the baseline is damaged; save it again with cuspan stat --save", name,
                i + 1);
    }
    return STATUS_OK;
}

enum status run_set_add_baseline(struct run_set *set, const char *text, const char *name, struct error *err)
{
    yyjson_doc *document = yyjson_read(text, strlen(text), 0);
    if (!document)
        return error_set(err, STATUS_INVALID,
                         "%.300s: this baseline is not valid JSON (edited or merged by hand?); save it again "
                         "with cuspan stat --save",
                         name);
    enum status status = take_document(set, yyjson_doc_get_root(document), name, err);
    yyjson_doc_free(document);
    return status;
}
