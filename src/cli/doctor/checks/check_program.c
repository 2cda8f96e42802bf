/* Runs the program with an agent in it, and says from what the agent reports how far its data came. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "cli/doctor/checks/check_driver.h"
#include "cli/util/xalloc.h"
#include "cli/util/text.h"
#include "cli/run/outcome.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_BYTES_MAX (1024 * 1024) /* of the program's output, looked through for the agent's lines */
#define GRACE_NS         (5 * NS_PER_SECOND)
#define LOOK_NS          (10 * NS_PER_MS)
#define REPORT_BYTES_MAX (1024 * 1024)

/* All that is known of the run. */
struct run {
    pid_t pid;
    int exec_errno; /* it could not be started */
    int wait_status;
    bool was_ended;                       /* by us, after `seconds` */
    bool has_seen_driver, has_seen_agent; /* mapped in the program's process, at some time that we looked */
    char *output;                         /* its last OUTPUT_BYTES_MAX */
    struct outcome outcome;
    uint64_t calls, activities, created, delivered, unsampled, filtered, sessions;
};

/* --- running it --- */

static void run_in_child(const struct doctor *doctor, int output, int error_pipe)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    dup2(nothing, 0);
    dup2(output, 1);
    dup2(output, 2);
    injection_apply(&doctor->injection);
    setenv("OTEL_LOG_LEVEL", "debug", 1); /* where no file says something else */
    execvp(doctor->program[0], doctor->program);
    int error = errno;
    if (write(error_pipe, &error, sizeof error) < 0) {
        /* the status below says enough */
    }
    _exit(EXIT_NO_PROGRAM);
}

static bool has_mapped(pid_t pid, const char *name)
{
    char path[32], *line = NULL;
    size_t size = 0;
    bool has_it = false;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && !has_it && getline(&line, &size, maps) > 0)
        has_it = strstr(line, name) != NULL;
    free(line);
    if (maps)
        fclose(maps);
    return has_it;
}

/* Until its end, which after `seconds` is ours to bring about. */
static void wait_for_end(struct run *run, unsigned seconds)
{
    uint64_t deadline_ns = clock_monotonic_ns() + seconds * NS_PER_SECOND;
    int signal_number = SIGTERM;
    while (waitpid(run->pid, &run->wait_status, WNOHANG) == 0) {
        run->has_seen_driver = run->has_seen_driver || has_mapped(run->pid, "/libcuda.so");
        run->has_seen_agent = run->has_seen_agent || has_mapped(run->pid, "/libcuspan.so");
        if (clock_monotonic_ns() > deadline_ns) {
            run->was_ended = true;
            kill(-run->pid, signal_number);
            signal_number = SIGKILL;
            deadline_ns = clock_monotonic_ns() + GRACE_NS;
        }
        nanosleep(&(struct timespec){0, (long)LOOK_NS}, NULL);
    }
    kill(-run->pid, SIGKILL); /* what it has left behind */
}

static bool start(const struct doctor *doctor, struct run *run)
{
    FILE *output = tmpfile();
    int ends[2];
    if (!output || pipe2(ends, O_CLOEXEC) != 0) {
        run->exec_errno = errno;
        if (output)
            fclose(output);
        return false;
    }
    fflush(NULL);
    run->pid = fork();
    if (run->pid == 0)
        run_in_child(doctor, fileno(output), ends[1]);
    close(ends[1]);
    run->exec_errno = run->pid < 0 ? errno : 0;
    if (run->pid > 0 && read(ends[0], &run->exec_errno, sizeof run->exec_errno) != sizeof run->exec_errno)
        run->exec_errno = 0;
    close(ends[0]);
    if (run->pid > 0)
        wait_for_end(run, doctor->seconds);
    run->output = text_read_end(output, OUTPUT_BYTES_MAX);
    fclose(output);
    return run->exec_errno == 0;
}

/* --- what it reported --- */

static uint64_t number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) && item->valuedouble > 0 ? (uint64_t)item->valuedouble : 0;
}

static void add_report(struct run *run, const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = xcalloc(REPORT_BYTES_MAX + 1, 1);
    cJSON *report = file && fread(text, 1, REPORT_BYTES_MAX, file) > 0 ? cJSON_Parse(text) : NULL;
    const cJSON *counters = cJSON_GetObjectItemCaseSensitive(report, "counters");
    run->calls += number_of(counters, "calls_captured");
    run->activities += number_of(counters, "activities_captured");
    run->unsampled += number_of(counters, "spans_unsampled");
    run->filtered += number_of(counters, "spans_filtered");
    run->sessions += number_of(counters, "sessions");
    run->created += number_of(report, "spans");
    run->delivered += number_of(report, "delivered");
    cJSON_Delete(report);
    free(text);
    if (file)
        fclose(file);
}

static void read_reports(struct run *run, const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (strncmp(entry->d_name, "report.", 7) != 0)
            continue;
        char *path = xasprintf("%s/%s", folder, entry->d_name);
        add_report(run, path);
        free(path);
    }
    if (directory)
        closedir(directory);
    outcome_read(&run->outcome, folder);
}

/* The agent's first line that has the text (NULL: any), without what all begin with; allocated, or NULL. */
static char *agent_line(const struct run *run, const char *text)
{
    static const char mark[] = "cuspan: ";
    for (const char *line = run->output; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t len = strcspn(line, "\n");
        if (strncmp(line, mark, sizeof mark - 1) == 0 && (!text || memmem(line, len, text, strlen(text))))
            return xasprintf("%.*s", (int)(len - (sizeof mark - 1)), line + sizeof mark - 1);
    }
    return NULL;
}

/* --- how far it came --- */

static void describe_end(const struct run *run, char *text, size_t size)
{
    if (run->was_ended)
        snprintf(text, size, "was ended by cuspan doctor (--seconds)");
    else if (WIFSIGNALED(run->wait_status))
        snprintf(text, size, "died (%s)", strsignal(WTERMSIG(run->wait_status)));
    else
        snprintf(text, size, "ended with status %d", WEXITSTATUS(run->wait_status));
}

/* No process has left a final report. */
static void judge_buffer_stall(struct doctor *doctor, const struct run *run)
{
    char end[128];
    char *refusal = agent_line(run, "this process is not traced"), *any = agent_line(run, NULL);
    describe_end(run, end, sizeof end);
    if (refusal) {
        doctor_say(doctor, FOUND_PROBLEM, "the agent was loaded and stayed asleep: %s", refusal);
        doctor_mend(doctor, "that line says what; the group of checks that it concerns says more");
    } else if (any || run->has_seen_agent) {
        doctor_say(doctor, FOUND_PROBLEM,
                   "the agent was loaded, and left no final report: the program %s, so what was on its "
                   "way is lost",
                   end);
        doctor_mend(doctor, "%s",
                    run->was_ended
                        ? "give it the time that it needs: --seconds N"
                        : "have it end by exit(), or call cuspan_finish() or cuspan_flush() before "
                          "_exit() (cuspan.h)");
    } else if (run->has_seen_driver) {
        doctor_say(doctor, FOUND_PROBLEM, "the program loaded CUDA's driver, and the driver no agent (it %s)",
                   end);
        doctor_mend(doctor,
                    "the driver loads it in cuInit: did that succeed (driver.start), and is the program's "
                    "environment handed on (CUDA_INJECTION64_PATH: sudo and ssh leave it out)?");
    } else {
        doctor_say(doctor, FOUND_PROBLEM,
                   "the agent was never loaded: the program begins no CUDA, or CUDA didn't begin "
                   "(it %s)",
                   end);
        doctor_mend(
            doctor,
            "look at driver.start and at what the program prints; an interpreter loads CUDA only once "
            "its script asks for it");
    }
    free(refusal);
    free(any);
}

static char *list_losses(const struct outcome *outcome)
{
    struct text list = {0};
    for (size_t i = 0; i < outcome->loss_count; i++)
        text_add_format(&list, "%s%s %llu", i ? ", " : "", outcome->losses[i].name,
                        (unsigned long long)outcome->losses[i].count);
    if (!list.data)
        text_add(&list, "no reason counted");
    return list.data;
}

static void judge_delivery(struct doctor *doctor, const struct run *run)
{
    char *losses = list_losses(&run->outcome), *why = agent_line(run, "cannot deliver to");
    why = why ? why : agent_line(run, "refuses spans");
    if (run->delivered == 0) {
        doctor_say(doctor, FOUND_PROBLEM, "%llu spans were made and none was delivered: %s%s%s",
                   (unsigned long long)run->created, losses, why ? "; " : "", why ? why : "");
        doctor_mend(doctor, "the group collector, or permissions.files, says more");
    } else if (run->outcome.loss_count) {
        doctor_say(doctor, FOUND_WARNING, "%llu of %llu spans were delivered; lost: %s",
                   (unsigned long long)run->delivered, (unsigned long long)run->created, losses);
        doctor_mend(doctor, "docs/troubleshooting.md has each reason and its setting");
    } else {
        doctor_say(doctor, FOUND_OK, "all is well: %llu spans delivered, of %llu calls and %llu GPU records",
                   (unsigned long long)run->delivered, (unsigned long long)run->calls,
                   (unsigned long long)run->activities);
    }
    free(losses);
    free(why);
}

/* Each process has records of its devices and of a context, whatever it does on them. */
static bool has_gpu_work(struct doctor *doctor, const struct run *run)
{
    const struct nvml_facts *nvml = nvml_facts(doctor);
    uint64_t facts = ((nvml->works ? nvml->count : 1) + 1) * run->outcome.processes;
    return run->activities > facts || run->created > run->calls + run->sessions;
}

static void judge_capture(struct doctor *doctor, const struct run *run)
{
    if (run->outcome.recording_count) {
        doctor_say(doctor, FOUND_WARNING, "it was recorded, as record_file asks for, and nothing was sent");
        doctor_mend(doctor, "unset record_file");
    } else if (run->calls == 0 && run->activities == 0) {
        doctor_say(doctor, FOUND_PROBLEM, "the agent was awake and saw neither a call nor GPU work%s",
                   run->outcome.sleeps ? ": it slept, as nothing that is sampled was in flight" : "");
        doctor_mend(doctor, "does the program do more than begin CUDA? What is left out by name "
                            "(configuration.filters), and by sampling (configuration.sampling)?");
    } else if (run->created == 0) {
        doctor_say(doctor, FOUND_PROBLEM,
                   "%llu calls and %llu GPU records, and no span: %llu not sampled, %llu left out "
                   "by name",
                   (unsigned long long)run->calls, (unsigned long long)run->activities,
                   (unsigned long long)run->unsampled, (unsigned long long)run->filtered);
        doctor_mend(doctor, "look at configuration.sampling and configuration.filters");
    } else {
        if (!has_gpu_work(doctor, run)) {
            doctor_say(doctor, FOUND_PROBLEM, "%llu calls, and CUPTI gave no record of GPU work",
                       (unsigned long long)run->calls);
            doctor_mend(
                doctor,
                "did the program launch or copy anything? Are kinds left out (configuration.filters)? Else "
                "try another CUPTI (--set cupti.library=PATH) or --set cupti.api=classic");
        }
        judge_delivery(doctor, run);
    }
}

static void judge(struct doctor *doctor, const struct run *run)
{
    if (run->outcome.processes == run->outcome.unfinished)
        judge_buffer_stall(doctor, run);
    else
        judge_capture(doctor, run);
    if (run->was_ended && run->outcome.processes > 0) {
        doctor_say(doctor, FOUND_WARNING, "the program was ended after %u s", doctor->seconds);
        doctor_mend(doctor, "give it the time that it needs: --seconds N");
    }
}

void check_program_run(struct doctor *doctor)
{
    struct run run = {0};
    struct error err = {""};
    if (!doctor->program) {
        doctor_say(doctor, FOUND_NOT_HERE, "no program given (cuspan doctor -- PROGRAM)");
        return;
    }
    doctor->injection.is_quiet = true; /* injection.nvtx has said it */
    if (injection_prepare(&doctor->injection, &err) != STATUS_OK) {
        doctor_say(doctor, FOUND_PROBLEM, "not run: %s", err.text);
        doctor_mend(doctor, "mend that first");
        return;
    }
    if (start(doctor, &run)) {
        read_reports(&run, doctor->injection.report_dir);
        judge(doctor, &run);
    } else {
        doctor_say(doctor, FOUND_PROBLEM, "%s can't be run: %s", doctor->program[0],
                   strerror(run.exec_errno));
        doctor_mend(doctor, "name a program that can be executed, by its path or in PATH");
    }
    outcome_deinit(&run.outcome);
    free(run.output);
}
