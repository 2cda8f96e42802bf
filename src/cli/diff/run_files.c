/* Reads runs from files: a baseline, spans, a recording, or a folder of them. */
#include "cli/diff/runs.h"
#include "cli/util/xalloc.h"
#include "cli/trace/otlp_reader.h"
#include "cli/trace/trace_source.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BASELINE_BEGIN     "{\"cuspan_baseline\":"
#define BASELINE_BYTES_MAX (256u << 20)

static enum status read_text(FILE *file, const char *name, char **text, struct error *err)
{
    size_t capacity = 0, len = 0, got;
    *text = NULL;
    do {
        *text = xgrow(*text, &capacity, len + 65537, 1);
        got = fread(*text + len, 1, 65536, file);
        len += got;
    } while (got && len < BASELINE_BYTES_MAX);
    (*text)[len] = '\0';
    if (!ferror(file) && !got)
        return STATUS_OK;
    free(*text);
    *text = NULL;
    return error_set(err, STATUS_IO, "%.300s: %s", name,
                     ferror(file) ? strerror(errno) : "far too large for a baseline");
}

static bool is_baseline(FILE *file)
{
    char begin[sizeof BASELINE_BEGIN - 1];
    bool is_one = fread(begin, 1, sizeof begin, file) == sizeof begin &&
                  memcmp(begin, BASELINE_BEGIN, sizeof begin) == 0;
    rewind(file);
    return is_one;
}

static enum status add_file(struct run_set *set, const char *path, size_t spans_max, size_t *left_out,
                            struct error *err)
{
    const char *name = trace_source_name(path);
    FILE *file = NULL;
    char *text = NULL;
    struct trace trace;
    enum status status = trace_source_open(path, &file, err);
    if (status != STATUS_OK)
        return status;
    if (is_baseline(file)) {
        status = read_text(file, name, &text, err);
        if (status == STATUS_OK)
            status = run_set_add_baseline(set, text, name, err);
        free(text);
    } else {
        status = otlp_read_all(file, name, spans_max, &trace, err);
        if (status == STATUS_OK) {
            run_set_add_trace(set, &trace);
            *left_out += trace.left_out;
            trace_deinit(&trace);
        }
    }
    fclose(file);
    return status;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static enum status add_folder(struct run_set *set, const char *path, size_t spans_max, size_t *left_out,
                              struct error *err)
{
    struct dirent **entries = NULL;
    enum status status = STATUS_OK;
    int count = scandir(path, &entries, is_visible, alphasort);
    if (count < 0)
        return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    if (count == 0)
        status = error_set(err, STATUS_NOT_FOUND, "%.400s: the folder contains no files", path);
    for (int i = 0; i < count; i++) {
        char *file = xasprintf("%s/%s", path, entries[i]->d_name);
        if (status == STATUS_OK)
            status = add_file(set, file, spans_max, left_out, err);
        free(file);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum status run_set_add_path(struct run_set *set, const char *path, size_t spans_max, size_t *left_out,
                             struct error *err)
{
    struct stat facts;
    bool is_folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    return (is_folder ? add_folder : add_file)(set, path, spans_max, left_out, err);
}
