/* cuspan cdi: adds the agent to containers whose image and command do not know of it, by a CDI file. */
#include "command/table/command_table.h"

#include "base/text/sanitize.h"
#include "cli/args/options.h"
#include "agent/operate/cdi/cdi_describe.h"
#include "agent/operate/cdi/cdi_file.h"
#include "agent/operate/cdi/cdi_scan.h"
#include "agent/operate/run/injection.h"
#include "cli/util/xalloc.h"
#include "agent/config/config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command_line {
    const char *action;       /* NULL: none yet */
    const char *write_option; /* the name of one that only `write` has; NULL: none */
    struct injection injection;
};

/* --- arguments --- */

/* Every user can read the file, and `podman inspect` shows its variables. */
static int refuse_secret(const struct options *options)
{
    char clean[1024];
    sanitize_url(clean, sizeof clean, options->value);
    if (strcmp(clean, options->value) == 0)
        return EXIT_OK;
    return options_complain(
        options,
        "--endpoint %s: every user can read the CDI file, so the URL must not contain a user, "
        "password, query or fragment; put them into a file with --config",
        clean);
}

static int take_operand(struct command_line *line, const struct options *options)
{
    static const char *const actions[] = {"write", "remove"};
    if (line->action)
        return options_complain(options, "one action at a time: %s or %s", line->action, options->value);
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i], options->value) == 0)
            line->action = actions[i];
    if (line->action)
        return EXIT_OK;
    const char *nearest = options_suggest(options->value, actions, sizeof actions / sizeof *actions);
    if (nearest)
        return options_complain(options, "unknown action %s; did you mean %s?", options->value, nearest);
    return options_complain(options, "unknown action %s; use write or remove", options->value);
}

static int take_argument(void *context, struct options *options, int option)
{
    struct command_line *line = context;
    if (option == OPTION_OPERAND)
        return take_operand(line, options);
    line->write_option = options->option->name;
    int status = option == OPTION_ENDPOINT ? refuse_secret(options) : EXIT_OK;
    return status == EXIT_OK ? injection_take_option(&line->injection, options, option) : status;
}

/* --- write --- */

/* A file that another tool wrote, or someone changed, or that cannot be read. */
static int refuse_foreign(const char *path, enum status status, const struct error *err)
{
    if (status == STATUS_IO)
        fprintf(stderr, "cuspan cdi: cannot read %s: %s; run it as root, or use --directory\n", path,
                err->text);
    else
        fprintf(stderr,
                "cuspan cdi: %s was not written by cuspan, because %s; it is left unchanged: rename or "
                "delete it, "
                "or use --directory\n",
                path, err->text);
    return EXIT_FAILED;
}

static void refuse_same_kind(void *context, const struct cdi_other *other)
{
    char clean[PATH_MAX];
    bool *is_refused = context;
    if (!other->is_of_our_kind || other->is_ours || *is_refused)
        return;
    *is_refused = true;
    fprintf(stderr,
            "cuspan cdi: %s already defines devices of " CDI_KIND
            " and was not written by cuspan; rename or delete it "
            "first, because runtimes refuse a device that two files define\n",
            sanitize_line(clean, sizeof clean, other->path, strlen(other->path)));
}

/* CUSPAN_SET separates settings by newlines or semicolons, which no value contains (injection_set()). */
static char *joined(const char *lines)
{
    char *set = lines ? xstrdup(lines) : NULL;
    for (char *at = set; at && (at = strchr(at, '\n'));)
        *at = ';';
    return set;
}

/* A configuration with variables of the container may look wrong here, so its errors do not stop the command.
 */
static void warn_of_config(const struct injection *injection)
{
    struct error err = {""};
    bool ignored;
    if (injection_load_settings(injection, injection->config, &ignored, &err) != STATUS_OK)
        fprintf(stderr, "cuspan cdi: warning: %s; see: cuspan check %s\n", err.text, injection->config);
}

/* The folder is mounted, so the agent must have its usual name there, whatever --library names. */
static enum status find_folder(char **folder, struct injection *injection, struct error *err)
{
    enum status status = injection_find_library(injection, err);
    if (status != STATUS_OK)
        return status;
    char *library = injection_path_beside(injection, "libcuspan.so");
    if (access(library, F_OK) != 0)
        status = error_set(err, STATUS_NOT_FOUND,
                           "no agent at %.300s: %s; --library needs the path of a libcuspan.so", library,
                           strerror(errno));
    else
        *folder = xasprintf("%.*s", (int)(strrchr(library, '/') - library), library);
    free(library);
    return status;
}

static enum status fill(struct cdi_file *file, struct injection *injection, struct error *err)
{
    enum status status = STATUS_OK;
    if (injection->set.len)
        status = config_check_overrides(injection->set.data, "options", err);
    if (status == STATUS_OK)
        status = find_folder(&file->folder, injection, err);
    if (status != STATUS_OK)
        return status;
    file->program = realpath("/proc/self/exe", NULL);
    file->config = injection->config ? realpath(injection->config, NULL) : NULL;
    file->set = joined(injection->set.data);
    if (injection->config)
        warn_of_config(injection);
    return STATUS_OK;
}

static int write_file(const char *path, struct injection *injection)
{
    struct error err = {""};
    struct cdi_file file = {0};
    bool is_refused = false;
    enum status status = cdi_file_check_at(path, &err);
    if (status != STATUS_OK && status != STATUS_NOT_FOUND)
        return refuse_foreign(path, status, &err);
    cdi_scan(path, refuse_same_kind, &is_refused);
    if (is_refused)
        return EXIT_FAILED;
    status = fill(&file, injection, &err);
    if (status == STATUS_OK)
        status = cdi_file_save(path, &file, &err);
    if (status == STATUS_OK)
        cdi_describe(path, &file);
    else
        fprintf(stderr, "cuspan cdi: %s\n", err.text);
    cdi_file_deinit(&file);
    return status == STATUS_OK ? EXIT_OK : EXIT_FAILED;
}

/* --- remove --- */

static int remove_file(const char *path)
{
    struct error err = {""};
    enum status status = cdi_file_check_at(path, &err);
    if (status == STATUS_INVALID || status == STATUS_IO)
        return refuse_foreign(path, status, &err);
    if (status == STATUS_NOT_FOUND) {
        printf("%s: nothing to remove\n", path);
        return EXIT_OK;
    }
    if (unlink(path) != 0) {
        fprintf(stderr, "cuspan cdi: cannot remove %s: %s; %s\n", path, strerror(errno),
                cdi_file_advice(errno));
        return EXIT_FAILED;
    }
    printf("%s: removed; running containers keep the agent\n", path);
    return EXIT_OK;
}

static int act(const struct options *options, struct command_line *line, const char *directory)
{
    if (!line->action)
        return options_complain(options, "needs an action: write or remove");
    if (line->write_option && strcmp(line->action, "write") != 0)
        return options_complain(options, "--%s is an option of cuspan cdi write", line->write_option);
    char *path = cdi_file_path(directory);
    int status = strcmp(line->action, "write") == 0 ? write_file(path, &line->injection) : remove_file(path);
    free(path);
    return status;
}

int cmd_cdi(const struct command *command, int argc, char **argv)
{
    struct options options;
    struct command_line line = {0};
    const char *directory = CDI_DIRECTORY;
    const struct option_target targets[] = {{OPTION_DIRECTORY, .text = &directory}, {0}};
    options_init(&options, command, argc, argv);
    int status = options_read(&options, targets, take_argument, &line) ? act(&options, &line, directory)
                                                                       : options.status;
    injection_deinit(&line.injection);
    return status;
}
