#include "analysis/trace/trace_source.h"

#include "cli/util/xalloc.h"
#include "cli/util/progress.h"
#include "cli/util/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDING_MAGIC                                                                                      \
    "\x89"                                                                                                   \
    "CUSPAN\n" /* agent/recording/recording_format.h */

static enum status complain(struct error *err, const char *path)
{
    return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, "%.400s: %s", path,
                     strerror(errno));
}

/* Copies input that cannot be read twice to an unnamed file. */
static enum status spool(FILE *input, const char *path, FILE **file, struct error *err)
{
    char buffer[65536];
    size_t got;
    uint64_t bytes = 0;
    struct progress progress;
    FILE *copy = temporary_file();
    if (!copy)
        return error_set(err, STATUS_IO, "cannot create a temporary file for standard input: %s",
                         strerror(errno));
    progress_begin(&progress, "reading standard input");
    while ((got = fread(buffer, 1, sizeof buffer, input)) > 0 && fwrite(buffer, 1, got, copy) == got) {
        bytes += got;
        progress_update(&progress, bytes, 0);
    }
    progress_end(&progress);
    if (ferror(input) || fflush(copy) != 0 || ferror(copy)) {
        enum status status = complain(err, path);
        fclose(copy);
        return status;
    }
    rewind(copy);
    *file = copy;
    return STATUS_OK;
}

static bool is_recording(FILE *file)
{
    char magic[sizeof RECORDING_MAGIC - 1];
    bool is_one = fread(magic, 1, sizeof magic, file) == sizeof magic &&
                  memcmp(magic, RECORDING_MAGIC, sizeof magic) == 0;
    rewind(file);
    return is_one;
}

bool trace_source_is_stream(const char *path)
{
    struct stat facts;
    return strcmp(path, "-") == 0 ||
           (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode));
}

bool trace_source_is_recording(const char *path)
{
    FILE *file = trace_source_is_stream(path) ? NULL : fopen(path, "re");
    bool is_one = file && is_recording(file);
    if (file)
        fclose(file);
    return is_one;
}

static void forget_settings(void)
{
    static const char *const begins[] = {"OTEL_", "CUSPAN_", "TRACEPARENT=", "TRACESTATE="};
    for (size_t i = 0; environ[i];) {
        bool is_setting = false;
        for (size_t j = 0; j < sizeof begins / sizeof *begins; j++)
            is_setting |= strncmp(environ[i], begins[j], strlen(begins[j])) == 0;
        is_setting &= strncmp(environ[i], "CUSPAN_LIBRARY=", 15) != 0;
        char *name = xasprintf("%.*s", (int)strcspn(environ[i], "="), environ[i]);
        if (!is_setting || unsetenv(name) != 0)
            i++; /* removed lines make room for the next one */
        free(name);
    }
}

/* In the child: this program, replaying into `output`. The agent's environment, such as an endpoint, does not
 * apply. */
static void exec_replay(const char *recording, const char *output)
{
    char *set = xasprintf("output_file=%s", output);
    forget_settings();
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    const char *const programs[] = {"/proc/self/exe",
                                    (const char *)getauxval(AT_EXECFN)}; /* a chroot may lack /proc */
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        execl(programs[i], "cuspan", "replay", "--quiet", "--set", set, "--", recording, (char *)NULL);
    fprintf(stderr, "cuspan: cannot start %s: %s\n", programs[1], strerror(errno));
    _exit(127);
}

static enum status replay(const char *recording, const char *output, struct error *err)
{
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return error_set(err, STATUS_UNAVAILABLE, "cannot start a process to replay %.400s: %s", recording,
                         strerror(errno));
    if (pid == 0)
        exec_replay(recording, output);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, STATUS_CORRUPT,
                         "%.300s: the replay of this recording failed; run cuspan replay %.100s for details",
                         recording, recording);
    return STATUS_OK;
}

static enum status open_replayed(const char *recording, FILE **file, struct error *err)
{
    struct temporary output;
    enum status status = temporary_choose(&output, "spans.jsonl", err);
    if (status == STATUS_OK)
        status = replay(recording, output.path, err);
    if (status == STATUS_OK) {
        *file = fopen(output.path, "re");
        if (!*file)
            status = error_set(err, STATUS_NOT_FOUND, "%.400s: the recording holds no spans", recording);
    }
    temporary_deinit(&output);
    return status;
}

enum status trace_source_spool(const char *path, FILE **file, struct error *err)
{
    struct stat facts;
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *input = is_stdin ? stdin : fopen(path, "re");
    if (!input)
        return complain(err, path);
    if (fstat(fileno(input), &facts) != 0) {
        enum status status = complain(err, path);
        fclose(input);
        return status;
    }
    if (S_ISDIR(facts.st_mode)) {
        fclose(input);
        return error_set(err, STATUS_INVALID, "%.400s: it is a directory", path);
    }
    *file = input;
    if (S_ISREG(facts.st_mode) && !is_stdin)
        return STATUS_OK;
    enum status status = spool(input, path, file, err);
    if (!is_stdin)
        fclose(input);
    return status;
}

const char *trace_source_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

enum status trace_source_open(const char *path, FILE **file, struct error *err)
{
    enum status status = trace_source_spool(path, file, err);
    if (status != STATUS_OK || !is_recording(*file))
        return status;
    /* A recording from a pipe has no other name to replay it by. */
    char *name =
        trace_source_is_stream(path) ? xasprintf("/proc/%d/fd/%d", getpid(), fileno(*file)) : xstrdup(path);
    FILE *recording = *file;
    status = open_replayed(name, file, err);
    fclose(recording);
    free(name);
    return status;
}
