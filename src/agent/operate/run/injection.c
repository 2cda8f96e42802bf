#include "agent/operate/run/injection.h"

#include "base/files.h"
#include "base/log/log.h"
#include "cli/util/temporary.h"
#include "cli/util/xalloc.h"
#include "agent/config/config.h"
#include "model/share_protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY       "libcuspan.so"
#define VARIABLE      "CUDA_INJECTION64_PATH"
#define NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define NCCL_VARIABLE "NCCL_PROFILER_PLUGIN" /* one plugin only; another one stays */

int injection_set(struct injection *injection, const struct options *options, const char *key,
                  const char *value)
{
    if (strpbrk(value, ";\n"))
        return options_complain(options,
                                "%s: a value with \";\" or a newline cannot be passed on; use --config", key);
    text_add_format(&injection->set, "%s%s=%s", injection->set.len ? "\n" : "", key, value);
    return EXIT_OK;
}

static char *make_absolute(const char *path)
{
    char *absolute = files_absolute(path);
    return absolute ? absolute : xstrdup(path);
}

/* Otherwise the agent would report the error, only at the first CUDA call of the program. */
static int check_directory(const struct options *options, const char *path)
{
    char *directory = xasprintf("%.*s", (int)(strrchr(path, '/') + 1 - path), path);
    int status = EXIT_OK;
    if (access(path, F_OK) != 0 && access(directory, W_OK | X_OK) != 0)
        status = options_complain(options, "cannot create %s: %s", path, strerror(errno));
    free(directory);
    return status;
}

int injection_set_path(struct injection *injection, const struct options *options, const char *key,
                       const char *path)
{
    if (strcmp(path, "-") == 0)
        return injection_set(injection, options, key, path);
    char *absolute = make_absolute(path);
    int status = check_directory(options, absolute);
    if (status == EXIT_OK)
        status = injection_set(injection, options, key, absolute);
    free(absolute);
    return status;
}

static int set_others(struct injection *injection, const struct options *options, const char *way)
{
    if (injection->others && strcmp(injection->others, way) != 0)
        return options_complain(options, "--share and --give-way exclude each other");
    injection->others = way;
    return injection_set(injection, options, "cupti.others", way);
}

static int take_setting(struct injection *injection, const struct options *options)
{
    const char *equals = strchr(options->value, '=');
    if (!equals || equals == options->value)
        return options_complain(options, "--set needs KEY=VALUE, not \"%s\"", options->value);
    char *key = xasprintf("%.*s", (int)(equals - options->value), options->value);
    if (strcmp(key, "accounts_file") == 0) {
        /* Reports first go to a directory of ours, because this program reads them, too. */
        free(key);
        free(injection->accounts_file);
        injection->accounts_file = make_absolute(equals + 1);
        return EXIT_OK;
    }
    int status = injection_set(injection, options, key, equals + 1);
    free(key);
    return status;
}

int injection_take_option(void *context, struct options *options, int option)
{
    struct injection *injection = context;
    switch (option) {
    case OPTION_CONFIG:
        if (access(options->value, R_OK) != 0)
            return options_complain(options, "--config %s: %s", options->value, strerror(errno));
        free(injection->config_path);
        injection->config = injection->config_path = make_absolute(options->value);
        return EXIT_OK;
    case OPTION_SERVICE_NAME:
        return injection_set(injection, options, "service_name", options->value);
    case OPTION_DETAIL:
        return injection_set(injection, options, "detail", options->value);
    case OPTION_SET:
        return take_setting(injection, options);
    case OPTION_LIBRARY:
        free(injection->library);
        injection->library = make_absolute(options->value);
        return EXIT_OK;
    case OPTION_ENDPOINT:
    case OPTION_PROTOCOL:
        injection->has_endpoint = true;
        return injection_set(injection, options, options->option->name, options->value);
    case OPTION_FILE:
        injection->has_file = true;
        injection->file = options->value;
        return injection_set_path(injection, options, "output_file", options->value);
    case OPTION_CONSOLE:
        injection->has_console = true;
        return injection_set(injection, options, "console", "true");
    case OPTION_SHARE:
    case OPTION_GIVE_WAY:
        return set_others(injection, options, options->option->name);
    case 'q':
        injection->is_quiet = true;
        return EXIT_OK;
    }
    return EXIT_USAGE;
}

int injection_check_output(const struct injection *injection, const struct options *options)
{
    if (injection->has_endpoint + injection->has_file + injection->has_console <= 1)
        return EXIT_OK;
    return options_complain(
        options, "--endpoint (or --protocol), --file and --console exclude each other; several outputs need "
                 "a configuration file (--config)");
}

/* The directory of this program; NULL if the system does not tell. Without /proc, the kernel still has told
 * the path by which it was started. */
static char *own_directory(void)
{
    const char *started = (const char *)getauxval(AT_EXECFN);
    char *path = realpath("/proc/self/exe", NULL);
    if (!path && started)
        path = realpath(started, NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        *slash = 0;
    return path;
}

static const char *named_library(const struct injection *injection)
{
    const char *named = injection->library ? injection->library : getenv("CUSPAN_LIBRARY");
    return named && *named ? named : NULL;
}

bool injection_has_no_library(const struct injection *injection)
{
    return !named_library(injection);
}

enum status injection_find_library(struct injection *injection, struct error *err)
{
    static const char *const places[] = {".", "../lib", "../lib/cuspan", "../lib64"};
    const char *named = named_library(injection);
    if (named) {
        char *library = realpath(named, NULL);
        if (!library)
            return error_set(err, STATUS_NOT_FOUND, "no agent at %.300s: %s", named, strerror(errno));
        free(injection->library);
        injection->library = library;
        return STATUS_OK;
    }
    char *directory = own_directory();
    for (size_t i = 0; directory && i < sizeof places / sizeof *places && !injection->library; i++) {
        char *path = xasprintf("%s/%s/" LIBRARY, directory, places[i]);
        injection->library = realpath(path, NULL);
        free(path);
    }
    enum status status = STATUS_OK;
    if (!injection->library)
        status = error_set(
            err, STATUS_NOT_FOUND,
            LIBRARY " is neither in the directory of this program (%.200s) nor in ../lib or ../lib/cuspan; "
                    "set CUSPAN_LIBRARY or --library",
            directory ? directory : "?");
    free(directory);
    return status;
}

char *injection_path_beside(const struct injection *injection, const char *name)
{
    const char *slash = strrchr(injection->library, '/');
    return xasprintf("%.*s/%s", (int)(slash - injection->library), injection->library, name);
}

/* The value of a variable that names a library other than ours, or NULL. Another installation of cuspan is no
 * rival: the command that was called wins. */
static const char *rival_in(const char *variable, const char *library)
{
    const char *set = getenv(variable);
    if (!set || !*set)
        return NULL;
    char *real = realpath(set, NULL);
    const char *slash = strrchr(set, '/');
    bool is_ours = (real && strcmp(real, library) == 0) ||
                   strncmp(slash ? slash + 1 : set, LIBRARY, strlen(LIBRARY)) == 0;
    free(real);
    return is_ours ? NULL : set;
}

/* Parts of the names of libraries that Nsight Systems, Nsight Compute and Compute Sanitizer inject. */
static bool is_of_nvidias_tools(const char *path)
{
    static const char *const names[] = {"libToolsInjection", "libcuda-injection", "nsight", "anitizer",
                                        "libInterceptor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(path, names[i]))
            return true;
    return false;
}

/* Variables set by tools: Nsight Compute injects itself without CUDA_INJECTION64_PATH, and fails if that is
 * set. */
static const char *tool_of_environment(void)
{
    static const char *const variables[] = {"NV_COMPUTE_PROFILER_PERFWORKS_DIR",
                                            "NV_SANITIZER_INJECTION_PORT_BASE"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return variables[i];
    return NULL;
}

/* The driver loads one injected library, and the user decides which. The same holds for NVTX, but spans
 * without its ranges are useful. */
static enum status check_rivals(struct injection *injection, struct error *err)
{
    const char *set = rival_in(VARIABLE, injection->library);
    const char *nvtx_set = rival_in(NVTX_VARIABLE, injection->library);
    if (!set && nvtx_set && !injection->is_quiet)
        log_warn(NVTX_VARIABLE " is set to %.200s already: NVTX ranges go there and are not traced",
                 nvtx_set);
    const char *tool = tool_of_environment();
    if (tool || (set && is_of_nvidias_tools(set))) { /* the agent would not trace under it anyway */
        injection->tool = xstrdup(tool ? tool : set);
        if (!injection->is_quiet)
            log_warn("%s is set%s%.200s: the program runs under one of NVIDIA's tools, which needs CUPTI for "
                     "itself, so it runs without cuspan",
                     tool ? tool : VARIABLE, tool ? "" : " to ", tool ? "" : set);
        return STATUS_OK;
    }
    if (!set)
        return STATUS_OK;
    return error_set(err, STATUS_UNAVAILABLE,
                     VARIABLE " is set to %.200s already, and CUDA loads only one such library; to run with "
                              "cuspan instead: env -u " VARIABLE " cuspan ...",
                     set);
}

/* Without one, the program is traced, and only what this command would say about it is missing. */
static void make_report_dir(struct injection *injection)
{
    injection->report_dir = temporary_folder("run");
    if (!injection->report_dir && !injection->is_quiet)
        log_warn("there is no summary, because no folder can be written for the agents' reports (%s); set "
                 "TMPDIR to "
                 "one that can",
                 strerror(errno));
}

enum status injection_load_settings(const struct injection *injection, const char *config, bool *sets_signals,
                                    struct error *err)
{
    struct config_input input = {.getenv = config_getenv, .path = config, .overrides = injection->set.data};
    struct settings *settings = xcalloc(1, sizeof *settings);
    struct config_report *report = xcalloc(1, sizeof *report);
    enum status status = config_load(&input, settings, report);
    const char *error = config_first_error(report);
    *sets_signals = status == STATUS_OK && settings->on_signal.count > 0;
    if (status == STATUS_OK)
        settings_deinit(settings);
    else
        error_set(err, status, "%s", error ? error : status_text(status));
    free(settings);
    free(report);
    return status;
}

/* The only file that is appended to: several processes write it. */
static void say_appending(const struct injection *injection)
{
    struct stat facts;
    if (injection->file && !injection->is_quiet && stat(injection->file, &facts) == 0 &&
        S_ISREG(facts.st_mode) && facts.st_size > 0)
        fprintf(stderr, "cuspan: %s has content already; the spans are appended to it\n", injection->file);
}

static enum status check_settings(const struct injection *injection, struct error *err)
{
    enum status status = STATUS_OK;
    if (injection->set.len)
        status = config_check_overrides(injection->set.data, "options", err);
    /* Otherwise the agent would report the error, only at the first CUDA call of the program. Without
     * --config nothing is checked: the environment may be meant for all programs of a machine, and they must
     * run. */
    bool ignored;
    if (status == STATUS_OK && injection->config)
        status = injection_load_settings(injection, injection->config, &ignored, err);
    return status;
}

enum status injection_prepare(struct injection *injection, struct error *err)
{
    say_appending(injection);
    enum status status = check_settings(injection, err);
    if (status == STATUS_OK)
        status = injection_find_library(injection, err);
    if (status == STATUS_OK)
        status = check_rivals(injection, err);
    if (status == STATUS_OK)
        make_report_dir(injection);
    return status;
}

enum status injection_prepare_attach(struct injection *injection, struct text *variables, struct error *err)
{
    enum status status = check_settings(injection, err);
    if (status == STATUS_OK)
        status = injection_find_library(injection, err);
    if (status != STATUS_OK)
        return status;
    if (injection->config)
        text_add_format(variables, "CUSPAN_CONFIG_FILE=%s\n", injection->config);
    if (injection->set.len)
        text_add_format(variables, "CUSPAN_SET=%s%s", injection->set.data,
                        injection->accounts_file ? "" : "\n");
    if (injection->accounts_file)
        text_add_format(variables, "%saccounts_file=%s\n",
                        injection->set.len ? ";" : "CUSPAN_SET=", injection->accounts_file);
    for (char *at = injection->set.len ? strstr(variables->data, "CUSPAN_SET=") : NULL;
         at && (at = strchr(at, '\n')) && at[1];)
        *at = ';'; /* lines separate variables here */
    return STATUS_OK;
}

/* Signals by which programs are ended from outside: TERM from supervisors, INT from Ctrl-C, HUP from a lost
 * terminal. Other signals indicate a fault in the program, whose memory may be corrupt. */
#define ENDING_SIGNALS "on_signal=TERM,INT,HUP\n"

/* For a tool that uses CUPTI before the agent starts. If a CUPTI ships with the agent, the second variable
 * names it. */
static void apply_others(const struct injection *injection)
{
    /* The second place is that of the Python package beside cuspan's wheel. */
    static const char *const places[] = {"cupti/libcupti.so.13",
                                         "../../../../nvidia/cu13/lib/libcupti.so.13"};
    if (!injection->others)
        return;
    setenv(SHARE_WAY_VARIABLE, injection->others, 1);
    for (size_t i = 0; i < sizeof places / sizeof *places && !getenv(SHARE_CUPTI_VARIABLE); i++) {
        char *cupti = injection_path_beside(injection, places[i]);
        if (access(cupti, R_OK) == 0)
            setenv(SHARE_CUPTI_VARIABLE, cupti, 1);
        free(cupti);
    }
}

bool injection_list_has(const char *list, const char *path)
{
    size_t len = strlen(path);
    for (const char *at = list; at && *at; at += strcspn(at, ":") + (at[strcspn(at, ":")] == ':'))
        if (strcspn(at, ":") == len && strncmp(at, path, len) == 0)
            return true;
    return false;
}

/* Python programs then load what follows their training steps. The archive's sitecustomize removes itself
 * from sys.path and continues with the program's own. */
static void apply_python_path(const struct injection *injection)
{
    const char *before = getenv(PYTHON_VARIABLE);
    char *archive = injection_path_beside(injection, PYTHON_ARCHIVE);
    if (access(archive, R_OK) == 0 && !strchr(archive, ':') && !injection_list_has(before, archive)) {
        bool has_others = before && *before; /* an empty entry would be the current directory */
        char *all = xasprintf("%s%s%s", archive, has_others ? ":" : "", has_others ? before : "");
        setenv(PYTHON_VARIABLE, all, 1);
        free(all);
    }
    free(archive);
}

void injection_apply(const struct injection *injection)
{
    apply_others(injection);
    const char *before = getenv("CUSPAN_SET");
    struct text set = {0};
    if (injection->config)
        setenv("CUSPAN_CONFIG_FILE", injection->config, 1);
    bool sets_signals; /* by the file, the environment or --set; the agent reports errors in them */
    struct error unused;
    if (injection_load_settings(injection, NULL, &sets_signals, &unused) != STATUS_OK || !sets_signals)
        text_add_format(&set, ENDING_SIGNALS);
    if (before && *before)
        text_add_format(&set, "%s\n", before);
    if (injection->set.len)
        text_add_format(&set, "%s\n", injection->set.data);
    if (injection->report_dir)
        text_add_format(&set, "accounts_file=%s/report", injection->report_dir);
    else if (injection->accounts_file)
        text_add_format(&set, "accounts_file=%s", injection->accounts_file);
    else if (set.len)
        set.data[--set.len] = 0; /* the last line's end */
    setenv("CUSPAN_SET", set.data, 1);
    if (injection->tool)
        return text_deinit(&set);
    setenv(VARIABLE, injection->library, 1);
    if (!rival_in(NVTX_VARIABLE, injection->library))
        setenv(NVTX_VARIABLE, injection->library, 1);
    if (!rival_in(NCCL_VARIABLE, injection->library))
        setenv(NCCL_VARIABLE, injection->library, 1);
    apply_python_path(injection);
    text_deinit(&set);
}

static void remove_files(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    if (directory)
        closedir(directory);
}

void injection_clear_reports(const struct injection *injection)
{
    if (injection->report_dir)
        remove_files(injection->report_dir);
}

/* Copies a report, possibly to another file system. */
static void keep_report(const char *from, const char *to)
{
    char bytes[4096];
    size_t n;
    FILE *in = fopen(from, "re");
    int descriptor = in ? files_create(to) : -1;
    FILE *out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    bool is_whole = out != NULL;
    while (is_whole && (n = fread(bytes, 1, sizeof bytes, in)) > 0)
        is_whole = fwrite(bytes, 1, n, out) == n;
    if (in)
        fclose(in);
    if (out && fclose(out) != 0)
        is_whole = false;
    if (!is_whole)
        log_warn("cannot write the report %s: %s", to, strerror(errno));
}

static void keep_reports(const struct injection *injection)
{
    DIR *directory = opendir(injection->report_dir);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        const char *pid = strchr(entry->d_name, '.');
        if (entry->d_name[0] == '.' || !pid || strncmp(entry->d_name, "report.", 7) != 0)
            continue; /* the report of the root span is not of an agent */
        char *from = xasprintf("%s/%s", injection->report_dir, entry->d_name);
        char *to = xasprintf("%s%s", injection->accounts_file, pid);
        keep_report(from, to);
        free(from);
        free(to);
    }
    if (directory)
        closedir(directory);
}

void injection_deinit(struct injection *injection)
{
    if (injection->report_dir && injection->accounts_file)
        keep_reports(injection);
    if (injection->report_dir) {
        remove_files(injection->report_dir);
        rmdir(injection->report_dir);
    }
    free(injection->report_dir);
    free(injection->accounts_file);
    free(injection->config_path);
    free(injection->library);
    free(injection->tool);
    text_deinit(&injection->set);
    *injection = (struct injection){0};
}
