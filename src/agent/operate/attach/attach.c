#include "agent/operate/attach/attach.h"

#include "agent/operate/attach/borrowed_thread.h"
#include "agent/operate/attach/candidates.h"
#include "agent/operate/attach/container.h"
#include "agent/operate/attach/cupti_ahead.h"
#include "agent/operate/attach/library_trust.h"
#include "agent/operate/attach/python_exec.h"
#include "agent/operate/attach/remote_job.h"
#include "agent/operate/attach/seccomp_check.h"
#include "agent/operate/attach/sleepers.h"
#include "base/clock.h"
#include "base/files.h"
#include "cli/util/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRY   "cuspan_agent_attach"
#define LIBRARY "libcuspan.so"
#define LOOK_NS (NS_PER_MS / 4)
#define PAUSE_NS_MAX                                                                                         \
    (8 * NS_PER_MS)     /* a thread that is refused once stopped is stopped again in each round */
#define SHORT_MS   1000 /* until Python loads the agent, where it can */
#define RESTORE_NS (200 * NS_PER_MS) /* a thread restores itself, if we have not */

struct attach {
    const struct attach_request *request;
    struct target target;
    struct remote_maps maps;
    struct borrowed_thread borrowed;
    struct remote_job job;
    uint64_t memory, code, stack; /* in the target */
    size_t bytes, code_bytes;     /* of all of it, and of the code */
    uint64_t begun_ns;            /* just before the thread that starts the agent is created */
};

/* --- check --- */

/* As the agent and cuspan ps name it. */
static void name_program(struct target *target)
{
    char arguments[4096];
    ssize_t length = target_read(target, "cmdline", arguments, sizeof arguments);
    if (length > 0 && *arguments)
        candidates_name(arguments, (size_t)length, target->program, sizeof target->program);
}

static enum status read_maps(struct attach *attach, struct error *err)
{
    FILE *file = target_stream(&attach->target, "maps");
    bool is_read = file && remote_maps_read(&attach->maps, file);
    if (file)
        fclose(file);
    return is_read ? STATUS_OK : target_refuse(&attach->target, err, "has ended");
}

static bool has_libc(const struct attach *attach)
{
    return remote_maps_find(&attach->maps, "libc.so.6") || remote_maps_find(&attach->maps, "libc-2.");
}

/* A program that starts has its loader first. */
static enum status await_libc(struct attach *attach, struct error *err)
{
    uint64_t end_ns = clock_monotonic_ns() + attach->request->timeout_ms * NS_PER_MS;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && !has_libc(attach) && remote_maps_find(&attach->maps, "ld-linux") &&
           clock_monotonic_ns() < end_ns) {
        nanosleep(&(struct timespec){0, PAUSE_NS_MAX}, NULL);
        status = read_maps(attach, err);
    }
    return status;
}

static enum status find_functions(struct attach *attach, struct error *err)
{
    static const char *const names[REMOTE_FUNCTIONS] = {"dlopen", "dlsym", "dlerror", "pthread_create",
                                                        "pthread_detach"};
    const struct machine_pattern *patterns[] = {&machine_call_pattern, &machine_give_back_pattern};
    uint64_t *places[] = {&attach->borrowed.places.call, &attach->borrowed.places.give_back};
    /* The loader's link leads to the library in Debian, and the other way round in Alpine. */
    if (remote_maps_find(&attach->maps, "ld-musl") || remote_maps_find(&attach->maps, "libc.musl") ||
        (!has_libc(attach) && remote_maps_find(&attach->maps, "libc.so")))
        return target_refuse(&attach->target, err, "uses musl as its C library, and the agent needs glibc");
    if (!has_libc(attach))
        return target_refuse(&attach->target, err,
                             "is linked statically, or without glibc, so it cannot load the agent");
    for (int i = 0; i < REMOTE_FUNCTIONS; i++) {
        attach->job.functions[i] = remote_symbol(attach->target.pid, &attach->maps, names[i]);
        if (!attach->job.functions[i])
            return target_refuse(&attach->target, err,
                                 "has not loaded the part of glibc with %s(), so it cannot load the agent",
                                 names[i]);
    }
    for (int i = 0; i < 2; i++) {
        *places[i] = remote_find_code(attach->target.pid, &attach->maps,
                                      patterns[i]->is_in_vdso ? REMOTE_VDSO : REMOTE_LIBC, patterns[i]->bytes,
                                      patterns[i]->count);
        if (!*places[i])
            return target_refuse(&attach->target, err, "has a C library that cuspan does not know");
    }
    return STATUS_OK;
}

static enum status copy_into_container(struct attach *attach, struct error *err)
{
    if (!attach->request->copied)
        return STATUS_OK;
    int root = target_open_root(&attach->target, err);
    enum status status = root < 0 ? STATUS_UNAVAILABLE : container_copy(root, attach->request->copied, err);
    files_give_up(root);
    return status;
}

/* A second copy of the agent must not be loaded beside one. */
static enum status choose_library(struct attach *attach, struct error *err)
{
    const struct remote_mapping *loaded = remote_maps_find(&attach->maps, LIBRARY);
    const char *path = loaded ? loaded->name : attach->request->library;
    if (loaded && strstr(path, " (deleted)"))
        return target_refuse(&attach->target, err,
                             "has loaded an agent whose file was replaced since; restart it to use another");
    if (strlen(path) >= sizeof attach->job.path ||
        strlen(attach->request->settings) >= sizeof attach->job.settings)
        return error_set(err, STATUS_INVALID,
                         "the library's path or the settings are too long; put them in a file (--config)");
    strcpy(attach->job.path, path);
    strcpy(attach->job.settings, attach->request->settings);
    strcpy(attach->job.symbol, ENTRY);
    attach->job.created = NOT_CREATED;
    attach->job.limit[1] = RESTORE_NS;
    enum status status = loaded ? STATUS_OK : copy_into_container(attach, err);
    if (status == STATUS_OK)
        status = library_trust_check(&attach->target, path, err);
    if (status == STATUS_OK && !loaded)
        status = cupti_ahead_check(&attach->target, &attach->maps, path, attach->job.settings, err);
    return status;
}

static enum status check(struct attach *attach, struct error *err)
{
    enum status status = target_check(&attach->target, err);
    if (status == STATUS_OK)
        status = read_maps(attach, err);
    if (status == STATUS_OK)
        status = await_libc(attach, err);
    if (status == STATUS_OK)
        status = find_functions(attach, err);
    if (status == STATUS_OK)
        status = seccomp_check_access(&attach->target, err);
    if (status == STATUS_OK) /* last: it may copy files */
        status = choose_library(attach, err);
    return status;
}

/* --- choose and stop --- */

/* Once more when it cannot run: it may have slept again, elsewhere, between the look and the stop. */
static bool stop_if_safe(struct attach *attach, pid_t thread)
{
    uint64_t signal_return = attach->borrowed.places.give_back;
    struct sleep sleep;
    if (!sleepers_is_safe(&attach->target, &attach->maps, thread, signal_return, &sleep) ||
        !borrowed_stop(&attach->borrowed, &attach->target, thread, &sleep))
        return false;
    if (sleepers_has_clear_stack(&attach->target, &attach->maps, sleep.stack, signal_return))
        return true;
    borrowed_release(&attach->borrowed);
    return false;
}

/* FULL: no thread of this round was safe. */
static enum status try_threads(struct attach *attach, struct error *err)
{
    enum status status = STATUS_FULL;
    DIR *folder = files_open_folder_at(attach->target.folder, "task");
    for (const struct dirent *entry; folder && status == STATUS_FULL && (entry = readdir(folder));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread <= 0 || !stop_if_safe(attach, thread))
            continue;
        status = seccomp_check_thread(&attach->target, thread, err);
        bool is_refused = status != STATUS_OK;
        if (status == STATUS_OK && borrowed_prepare(&attach->borrowed, &attach->maps, err) != STATUS_OK)
            status = STATUS_FULL;
        if (is_refused || status == STATUS_FULL)
            borrowed_release(&attach->borrowed);
    }
    if (folder)
        closedir(folder);
    return status;
}

/* FULL: none slept at a safe place. */
static enum status stop_thread(struct attach *attach, uint32_t timeout_ms, struct error *err)
{
    uint64_t end_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    uint64_t pause_ns = LOOK_NS;
    enum status status;
    while ((status = try_threads(attach, err)) == STATUS_FULL) {
        if (!target_is_same(&attach->target))
            return target_refuse(&attach->target, err, "has ended, or runs another program now");
        if (clock_monotonic_ns() > end_ns)
            return status;
        nanosleep(&(struct timespec){0, (long)pause_ns}, NULL);
        pause_ns = pause_ns < PAUSE_NS_MAX ? 2 * pause_ns : PAUSE_NS_MAX;
        status = read_maps(attach, err);
        if (status != STATUS_OK)
            return status;
    }
    return status;
}

/* --- run --- */

static size_t pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static enum status refuse_memory(struct attach *attach, long error, const char *call, struct error *err)
{
    return target_refuse(&attach->target, err,
                         "may not have new code in memory: %s: %s; SELinux (execmem), systemd "
                         "(MemoryDenyWriteExecute) or a seccomp filter forbids it",
                         call, strerror((int)-error));
}

static bool write_job(struct attach *attach)
{
    size_t used = offsetof(struct remote_job, settings) + strlen(attach->job.settings) + 1;
    attach->job.work = attach->code + (uint64_t)(machine_work - machine_code);
    return target_is_same(&attach->target) &&
           remote_write(attach->target.pid, attach->memory, &attach->job, used) &&
           remote_write(attach->target.pid, attach->code, machine_code,
                        (size_t)(machine_code_end - machine_code));
}

/* No page is ever writable and executable at a time. */
static enum status make_memory(struct attach *attach, struct error *err)
{
    size_t job_bytes = pages(sizeof attach->job);
    long result = 0;
    attach->code_bytes = pages((size_t)(machine_code_end - machine_code));
    attach->bytes = job_bytes + attach->code_bytes + pages(REMOTE_STACK_BYTES);
    const uint64_t mapping[6] = {
        0, attach->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0};
    enum status status = borrowed_call(&attach->borrowed, SYS_mmap, mapping, &result, err);
    if (status != STATUS_OK)
        return status;
    if (result < 0 && result > -4096)
        return refuse_memory(attach, result, "mmap", err);
    attach->memory = (uint64_t)result;
    attach->code = attach->memory + job_bytes;
    attach->stack = attach->memory + attach->bytes;
    if (!write_job(attach))
        return target_refuse(&attach->target, err, "has memory that cannot be written: %s", strerror(errno));
    const uint64_t protection[6] = {attach->code, attach->code_bytes, PROT_READ | PROT_EXEC};
    status = borrowed_call(&attach->borrowed, SYS_mprotect, protection, &result, err);
    return status == STATUS_OK && result != 0 ? refuse_memory(attach, result, "mprotect", err) : status;
}

static void remove_memory(struct attach *attach)
{
    const uint64_t mapping[6] = {attach->memory, attach->bytes};
    struct error unused;
    long result;
    if (attach->memory)
        (void)!borrowed_call(&attach->borrowed, SYS_munmap, mapping, &result, &unused);
}

static enum status create_thread(struct attach *attach, struct attach_result *result, struct error *err)
{
    int32_t created = NOT_CREATED;
    enum status status = make_memory(attach, err);
    bool has_run = status == STATUS_OK;
    attach->begun_ns = clock_monotonic_ns();
    if (has_run)
        status = borrowed_run(&attach->borrowed, attach->code, attach->memory, attach->stack, err);
    else
        remove_memory(attach);
    result->thread = attach->borrowed.thread;
    borrowed_release(&attach->borrowed);
    result->stopped_ns = borrowed_stopped_ns(&attach->borrowed);
    if (status != STATUS_OK)
        return status;
    remote_read(attach->target.pid, attach->memory + offsetof(struct remote_job, created), &created,
                sizeof created);
    return created ? target_refuse(&attach->target, err, "cannot create a thread: %s",
                                   strerror(created > 0 ? created : ESRCH))
                   : STATUS_OK;
}

/* --- wait for the new thread --- */

static enum status judge(struct attach *attach, struct attach_result *result, struct error *err)
{
    struct remote_job *job = &attach->job;
    job->message[sizeof job->message - 1] = 0;
    if (job->stage == STAGE_NOT_LOADED)
        return target_refuse(&attach->target, err, "cannot load the agent: %.400s", job->message);
    if (job->stage == STAGE_NO_SYMBOL)
        return target_refuse(&attach->target, err,
                             "has an older agent, which cannot be attached; restart the program");
    if (job->result > 0)
        return target_refuse(&attach->target, err, "has an agent already (%.40s); see: cuspan status %d",
                             job->message, (int)attach->target.pid);
    if (job->result < 0)
        return target_refuse(&attach->target, err, "has the agent now, which cannot trace: %.400s",
                             *job->message ? job->message
                                           : "its log line on the program's standard error says why");
    result->has_graph_nodes = strstr(job->message, " nodes");
    result->has_hooks = strstr(job->message, " hooks");
    return STATUS_OK;
}

static enum status wait_for_agent(struct attach *attach, struct attach_result *result, struct error *err)
{
    uint64_t end_ns = clock_monotonic_ns() + attach->request->timeout_ms * NS_PER_MS;
    const size_t known = offsetof(struct remote_job, path);
    while (remote_read(attach->target.pid, attach->memory, &attach->job, known)) {
        if (attach->job.stage < 0 || attach->job.stage == STAGE_DONE) {
            result->start_ns = clock_monotonic_ns() - attach->begun_ns;
            return judge(attach, result, err);
        }
        if (clock_monotonic_ns() > end_ns)
            return target_refuse(&attach->target, err,
                                 ": the agent is still %s after %u ms; cuspan ps shows it when it is done",
                                 attach->job.stage == STAGE_CALLING ? "starting" : "being loaded",
                                 (unsigned)attach->request->timeout_ms);
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
    }
    return target_refuse(&attach->target, err, "has ended while the agent started");
}

static enum status borrow_thread(struct attach *attach, struct attach_result *result, struct error *err)
{
    bool has_python = python_exec_is_possible(&attach->target);
    uint32_t timeout_ms = attach->request->timeout_ms;
    enum status status =
        stop_thread(attach, has_python && timeout_ms > SHORT_MS ? SHORT_MS : timeout_ms, err);
    if (status == STATUS_OK)
        status = create_thread(attach, result, err);
    if (status == STATUS_OK)
        return wait_for_agent(attach, result, err);
    if (status != STATUS_FULL)
        return status;
    if (!has_python)
        return target_refuse(&attach->target, err,
                             ": no thread slept at a safe place within %u ms: they run, or are inside malloc "
                             "or the loader; try again, or with a longer --timeout",
                             (unsigned)timeout_ms);
    attach->begun_ns = clock_monotonic_ns();
    status = python_exec(&attach->target, &attach->job, timeout_ms, err);
    result->start_ns = clock_monotonic_ns() - attach->begun_ns;
    return status == STATUS_OK ? judge(attach, result, err) : status;
}

enum status attach_process(const struct attach_request *request, struct attach_result *result,
                           struct error *err)
{
    struct attach *attach = xcalloc(1, sizeof *attach);
    attach->request = request;
    *result = (struct attach_result){0};
    enum status status = target_open(&attach->target, request->pid, err);
    if (status == STATUS_OK) {
        name_program(&attach->target);
        snprintf(result->program, sizeof result->program, "%s", attach->target.program);
        status = check(attach, err);
        if (status == STATUS_OK)
            status = borrow_thread(attach, result, err);
        result->has_driver = remote_maps_find(&attach->maps, "libcuda.so");
        result->is_python =
            remote_maps_find(&attach->maps, "libpython") || remote_maps_find(&attach->maps, "python3");
        target_close(&attach->target);
    }
    remote_maps_deinit(&attach->maps);
    free(attach);
    return status;
}
