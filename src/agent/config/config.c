#include "agent/config/config.h"

#include "base/files.h"
#include "base/text/sanitize.h"
#include "agent/config/consistency.h"
#include "agent/config/environment/environment.h"
#include "agent/config/file/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *config_getenv(const char *name, void *context)
{
    (void)context;
    return getenv(name);
}

static const char *no_environment(const char *name, void *context)
{
    (void)name;
    (void)context;
    return NULL;
}

static const char *find_file(const struct config_input *in, const struct config_environment *environment)
{
    const char *path = in->path;
    if (!path)
        path = environment_get(environment, "CUSPAN_CONFIG_FILE");
    return path ? path : environment_get(environment, "OTEL_CONFIG_FILE");
}

/* Opening a pipe or a device could block the host, hence O_NONBLOCK and the check of the type. */
static int open_file(const char *path, bool takes_pipes, struct config_report *report)
{
    int fd = files_open(path, O_RDONLY | (takes_pipes ? 0 : O_NONBLOCK));
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 &&
        (S_ISREG(info.st_mode) || (takes_pipes && S_ISFIFO(info.st_mode))))
        return fd;
    if (fd < 0)
        config_error(
            report,
            "%s: cannot read it: %s: correct the path, or unset CUSPAN_CONFIG_FILE and OTEL_CONFIG_FILE",
            path, strerror(errno));
    else
        config_error(report, "%s: not a regular file: expected a YAML file", path);
    if (fd >= 0)
        close(fd);
    return -1;
}

static enum status read_bytes(int fd, const char *path, char **bytes, size_t *length,
                              struct config_report *report)
{
    char *buffer = malloc(TREE_FILE_BYTES_MAX + 1);
    if (!buffer)
        return STATUS_NO_MEMORY;
    size_t used = 0;
    while (used <= TREE_FILE_BYTES_MAX) {
        ssize_t got = read(fd, buffer + used, TREE_FILE_BYTES_MAX + 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            config_error(report, "%s: cannot read it: %s", path, strerror(errno));
            free(buffer);
            return STATUS_INVALID;
        }
        if (got == 0)
            break;
        used += (size_t)got;
    }
    if (used > TREE_FILE_BYTES_MAX) {
        config_error(report, "%s: too large: expected at most 1 MiB", path);
        free(buffer);
        return STATUS_INVALID;
    }
    *bytes = buffer;
    *length = used;
    return STATUS_OK;
}

static enum status read_file(const char *path, bool takes_pipes, const struct config_environment *environment,
                             struct settings *settings, struct config_report *report)
{
    char *bytes;
    size_t length;
    int fd = open_file(path, takes_pipes, report);
    if (fd < 0)
        return STATUS_INVALID;
    enum status status = read_bytes(fd, path, &bytes, &length, report);
    close(fd);
    if (status != STATUS_OK)
        return status;
    struct tree tree;
    status = tree_parse(&tree, bytes, length, path, environment, report);
    free(bytes);
    if (status != STATUS_OK)
        return status;
    struct file_reader reader = {.settings = settings, .file = path, .report = report};
    status = read_document(&reader, tree.root);
    tree_deinit(&tree);
    return status;
}

static void name_source(struct config_report *report, const char *path)
{
    report->is_file = path != NULL;
    strncpy(report->source, path ? path : "the environment", sizeof report->source - 1);
    report->source[sizeof report->source - 1] = '\0';
    sanitize_in_place(report->source);
}

static enum status read_all(const struct config_input *in, struct settings *settings,
                            struct config_report *report)
{
    struct environment_values values = {.report = report};
    struct config_environment environment = {in->getenv ? in->getenv : no_environment, in->context, &values};
    const char *path = find_file(in, &environment);
    name_source(report, path);
    enum status status = path ? read_file(path, in->takes_pipes, &environment, settings, report)
                              : environment_read(&environment, settings, report);
    if (path)
        environment_warn_ignored(&environment, report);
    const char *set = environment_get(&environment, "CUSPAN_SET");
    if (status == STATUS_OK && set)
        status = overrides_apply(set, "CUSPAN_SET", settings, report);
    if (status == STATUS_OK && in->overrides)
        status = overrides_apply(in->overrides, "option", settings, report);
    environment_warn_unknown(in->variables, report);
    environment_values_deinit(&values);
    return status;
}

enum status config_load(const struct config_input *in, struct settings *out, struct config_report *report)
{
    config_report_init(report);
    enum status status = settings_init(out);
    if (status != STATUS_OK)
        return status;
    status = read_all(in, out, report);
    if (status == STATUS_OK && report->errors == 0)
        status = consistency_check(out, report);
    if (status == STATUS_OK && report->errors > 0)
        status = STATUS_INVALID;
    if (status != STATUS_OK)
        settings_deinit(out);
    return status;
}

enum status config_check_overrides(const char *overrides, const char *source, struct error *err)
{
    struct settings *settings = calloc(1, sizeof *settings);
    struct config_report *report = calloc(1, sizeof *report);
    enum status status = settings && report ? settings_init(settings) : STATUS_NO_MEMORY;
    if (status == STATUS_OK) {
        config_report_init(report);
        status = overrides_apply(overrides, source, settings, report);
        settings_deinit(settings);
    }
    if (status != STATUS_OK)
        error_set(err, status, "%s", status_text(status));
    else if (report->errors > 0)
        status = error_set(err, STATUS_INVALID, "%s", config_first_error(report));
    free(settings);
    free(report);
    return status;
}
