#include "agent/operate/attach/python_exec.h"

#include "base/clock.h"
#include "base/files.h"
#include "cli/util/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MINOR 14
#define LOOK_NS     (5 * NS_PER_MS)
#define REQUEST_NS  (10 * NS_PER_SECOND) /* for an interpreter to start and ask */

/* The process may have been replaced meanwhile by another one with its number. Nothing may reach the program.
 */
static const char script[] =
    "import os\n"
    "def work():\n"
    "    stage, result, message = %d, 0, ''\n"
    "    try:\n"
    "        import ctypes\n"
    "        library = ctypes.CDLL(os.fsdecode(bytes.fromhex('%s')))\n"
    "        stage = %d\n"
    "        function = getattr(library, '%s')\n"
    "        stage, text = %d, ctypes.create_string_buffer(%zu)\n"
    "        result = function(bytes.fromhex('%s'), text, len(text))\n"
    "        message = text.value.decode(errors='replace')\n"
    "    except BaseException as error:\n"
    "        message = str(error)\n"
    "    with open('%s/answer.new', 'w') as file:\n"
    "        file.write(f'{stage} {result} {message}')\n"
    "    os.replace('%s/answer.new', '%s/answer')\n"
    "try:\n"
    "    with open('/proc/self/stat') as file:\n"
    "        started = int(file.read().rpartition(')')[2].split()[19])\n"
    "    if started == %" PRIu64 ":\n"
    "        import threading\n"
    "        threading.Thread(target=work, name='cuspan/attach', daemon=True).start()\n"
    "except Exception:\n"
    "    pass\n";

bool python_exec_is_possible(const struct target *target)
{
    char path[64], file[PATH_MAX];
    struct stat theirs, ours, mounts;
    int minor = 0;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)target->pid);
    ssize_t length = readlink(path, file, sizeof file - 1);
    file[length > 0 ? length : 0] = 0;
    const char *name = strrchr(file, '/');
    snprintf(path, sizeof path, "/proc/%d/root", (int)target->pid);
    return name && sscanf(name, "/python3.%d", &minor) == 1 && minor >= FIRST_MINOR &&
           target->user == geteuid() && stat("/proc/self/ns/mnt", &mounts) == 0 &&
           mounts.st_ino == target->mount_namespace && stat(path, &theirs) == 0 && stat("/", &ours) == 0 &&
           theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static void add_hex(struct text *text, const char *value)
{
    for (; *value; value++)
        text_add_format(text, "%02x", (unsigned char)*value);
}

/* The program's own names stay as they are. */
static bool write_script(const char *folder, const char *body)
{
    struct text whole = {0};
    char path[PATH_MAX];
    text_add(&whole, "exec(bytes.fromhex('");
    add_hex(&whole, body);
    text_add(&whole, "').decode(), {})\n");
    snprintf(path, sizeof path, "%s/script", folder);
    int file = files_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    bool is_written = file >= 0 && files_write(file, whole.data, strlen(whole.data));
    files_give_up(file);
    text_deinit(&whole);
    return is_written;
}

static bool write_job(const struct target *target, const struct remote_job *job, const char *folder)
{
    struct text library = {0}, settings = {0}, body = {0};
    add_hex(&library, job->path);
    add_hex(&settings, job->settings);
    text_add_format(&body, script, STAGE_NOT_LOADED, library.data ? library.data : "", STAGE_NO_SYMBOL,
                    job->symbol, STAGE_DONE, sizeof job->message, settings.data ? settings.data : "", folder,
                    folder, folder, target->started);
    bool is_written = write_script(folder, body.data);
    text_deinit(&library);
    text_deinit(&settings);
    text_deinit(&body);
    return is_written;
}

/* The process's own interpreter makes the request, because it must be of the same version. */
static enum status request(const struct target *target, const char *folder, struct error *err)
{
    char exe[64], pid[16], path[PATH_MAX], errors[PATH_MAX], said[4096] = "";
    int status = -1;
    pid_t child;
    snprintf(exe, sizeof exe, "/proc/%d/exe", (int)target->pid);
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    snprintf(path, sizeof path, "%s/script", folder);
    snprintf(errors, sizeof errors, "%s/errors", folder);
    char *words[] = {exe, "-I", "-S", "-c", "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])",
                     pid, path, NULL};
    char *none[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_EXCL, 0600);
    char real[PATH_MAX];
    ssize_t length = readlink(exe, real, sizeof real - 1);
    real[length > 0 ? length : 0] = 0;
    words[0] = real; /* finds its library by its name */
    int wrong = posix_spawn(&child, exe, &actions, NULL, words, none);
    posix_spawn_file_actions_destroy(&actions);
    uint64_t end_ns = clock_monotonic_ns() + REQUEST_NS;
    while (wrong == 0 && waitpid(child, &status, WNOHANG) == 0) {
        if (clock_monotonic_ns() > end_ns)
            kill(child, SIGKILL);
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    if (wrong == 0 && status == 0)
        return STATUS_OK;
    (void)!files_read_small(errors, said, sizeof said);
    size_t end = strlen(said);
    while (end > 0 && said[end - 1] == '\n')
        said[--end] = 0;
    const char *last = strrchr(said, '\n');
    return target_refuse(target, err,
                         ": no thread slept at a safe place, and Python refuses sys.remote_exec: %.300s",
                         wrong    ? strerror(wrong)
                         : !*said ? "its interpreter gave no answer in time"
                         : last   ? last + 1
                                  : said);
}

static enum status wait_for_answer(const struct target *target, const char *folder, struct remote_job *job,
                                   uint32_t timeout_ms, struct error *err)
{
    uint64_t end_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    char path[PATH_MAX], said[sizeof job->message + 32];
    int stage, result, used = 0;
    snprintf(path, sizeof path, "%s/answer", folder);
    while (files_read_small(path, said, sizeof said) <= 0 ||
           sscanf(said, "%d %d %n", &stage, &result, &used) < 2) {
        if (!target_is_same(target))
            return target_refuse(target, err, "has ended, or runs another program now");
        if (clock_monotonic_ns() > end_ns)
            return error_set(err, STATUS_FULL, " ");
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    job->stage = stage;
    job->result = result;
    snprintf(job->message, sizeof job->message, "%s", said + used);
    return STATUS_OK;
}

/* Python reads the script later: then it must be there, and do nothing. */
static enum status give_up(const struct target *target, const char *folder, uint32_t timeout_ms,
                           struct error *err)
{
    char body[PATH_MAX + 64];
    snprintf(body, sizeof body, "import shutil\nshutil.rmtree('%s', True)\n", folder);
    (void)!write_script(folder, body);
    return target_refuse(
        target, err,
        ": no thread slept at a safe place, and its main thread ran no Python within %u ms; try again, "
        "or with a longer --timeout",
        (unsigned)timeout_ms);
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"script", "errors", "answer", "answer.new"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

enum status python_exec(const struct target *target, struct remote_job *job, uint32_t timeout_ms,
                        struct error *err)
{
    char folder[] = "/tmp/cuspan-attach-XXXXXX"; /* for our user only, which is the target's */
    if (!mkdtemp(folder) || !write_job(target, job, folder))
        return error_set(err, STATUS_IO, "cannot write in %s (%m)", folder);
    enum status status = target_is_same(target)
                             ? request(target, folder, err)
                             : target_refuse(target, err, "has ended, or runs another program now");
    if (status == STATUS_OK)
        status = wait_for_answer(target, folder, job, timeout_ms, err);
    if (status == STATUS_FULL)
        return give_up(target, folder, timeout_ms, err);
    remove_folder(folder);
    return status;
}
