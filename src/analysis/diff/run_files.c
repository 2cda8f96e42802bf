/* Reads runs from files: a baseline, spans, a recording, a folder or a pattern. */
#include "analysis/diff/runs.h"
#include "cli/util/text.h"
#include "analysis/stat/base/stat.h"
#include "analysis/trace/trace_files.h"
#include "analysis/trace/trace_read.h"
#include "analysis/trace/trace_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASELINE_BEGIN     "{\"cuspan_baseline\":"
#define BASELINE_BYTES_MAX (256l << 20)

static bool is_baseline(FILE *file)
{
    char begin[sizeof BASELINE_BEGIN - 1];
    bool is_one = fread(begin, 1, sizeof begin, file) == sizeof begin &&
                  memcmp(begin, BASELINE_BEGIN, sizeof begin) == 0;
    rewind(file);
    return is_one;
}

static enum status take_segment(void *run, struct trace *segment, struct error *err)
{
    (void)err;
    run_set_take(run, segment);
    return STATUS_OK;
}

/* `file`: its content, which trace_read() closes; NULL: it is opened again. */
static enum status add_spans(struct run_set *set, const char *path, FILE *file, const char *command,
                             struct error *err)
{
    struct trace_input input = {.paths = &path, .path_count = 1, .file = file, .wanted = stat_wanted};
    struct trace_facts facts;
    struct trace trace;
    struct run_reader *run = run_set_begin();
    enum status status = trace_read(&input, &trace, take_segment, run, &facts, err);
    run_set_end(run, status == STATUS_OK ? set : NULL);
    if (status == STATUS_OK)
        trace_facts_print(&facts, command);
    trace_deinit(&trace);
    return status;
}

static enum status add_baseline(struct run_set *set, FILE *file, const char *path, struct error *err)
{
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    if (bytes > BASELINE_BYTES_MAX)
        return error_set(err, STATUS_IO, "%.300s: far too large for a baseline", path);
    char *text = text_read_end(file, bytes > 0 ? (size_t)bytes : 0);
    enum status status = ferror(file) ? error_set(err, STATUS_IO, "%.300s: %s", path, strerror(errno))
                                      : run_set_add_baseline(set, text, path, err);
    free(text);
    return status;
}

/* A file that is not regular can only be read once. */
static enum status add_file(struct run_set *set, const char *path, const char *command, struct error *err)
{
    bool is_stream = trace_source_is_stream(path);
    FILE *file = NULL;
    enum status status = STATUS_OK;
    if (is_stream)
        status = trace_source_open(path, &file, err);
    else
        file = fopen(path, "re");
    if (status != STATUS_OK)
        return status;
    if (file && is_baseline(file)) {
        status = add_baseline(set, file, path, err);
    } else {
        status = add_spans(set, path, is_stream ? file : NULL, command, err);
        file = is_stream ? NULL : file;
    }
    if (file)
        fclose(file);
    return status;
}

enum status run_set_add_path(struct run_set *set, const char *path, const char *command, struct error *err)
{
    struct trace_files files = {0};
    enum status status = trace_files_add(&files, path, err);
    for (size_t i = 0; i < files.count && status == STATUS_OK; i++)
        status = add_file(set, files.paths[i], command, err);
    trace_facts_print(&(struct trace_facts){.left_out = files.left_out}, command);
    trace_files_deinit(&files);
    return status;
}
