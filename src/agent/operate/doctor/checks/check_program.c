/* Runs the program with the agent and determines from the agent's reports how far its data got. */
#include "agent/operate/doctor/checks.h"

#include "base/clock.h"
#include "agent/operate/doctor/doctor_facts.h"
#include "agent/operate/doctor/driver_facts.h"
#include "cli/util/temporary.h"
#include "cli/util/xalloc.h"
#include "cli/util/text.h"
#include "agent/operate/run/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_BYTES_MAX (1024 * 1024) /* of the program's output, searched for the agent's lines */
#define GRACE_NS         (5 * NS_PER_SECOND)
#define POLL_NS          (10 * NS_PER_MS)

struct run {
    pid_t pid;
    int exec_errno; /* execvp failed */
    int wait_status;
    bool was_terminated;        /* by us, after `seconds` */
    bool had_driver, had_agent; /* mapped in the program's process at one of our polls */
    char *output;               /* the last OUTPUT_BYTES_MAX */
    struct outcome outcome;
};

static void run_in_child(const struct doctor *doctor, int output, int error_pipe)
{
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    dup2(null_fd, 0);
    dup2(output, 1);
    dup2(output, 2);
    injection_apply(&doctor->injection);
    setenv("OTEL_LOG_LEVEL", "debug", 1); /* applies if no configuration file sets the level */
    execvp(doctor->program[0], doctor->program);
    int error = errno;
    if (write(error_pipe, &error, sizeof error) < 0) {
        /* the exit status is enough */
    }
    _exit(EXIT_NO_PROGRAM);
}

static bool has_mapped(pid_t process, const char *name)
{
    char pid[16];
    bool ignored;
    snprintf(pid, sizeof pid, "%d", (int)process);
    char *file = doctor_facts_mapped("", pid, name, &ignored);
    bool has_it = file != NULL;
    free(file);
    return has_it;
}

/* Waits for the program, and terminates it after `seconds`. */
static void wait_for_end(struct run *run, unsigned seconds)
{
    uint64_t deadline_ns = clock_monotonic_ns() + seconds * NS_PER_SECOND;
    int signal_number = SIGTERM;
    while (waitpid(run->pid, &run->wait_status, WNOHANG) == 0) {
        run->had_driver = run->had_driver || has_mapped(run->pid, "/libcuda.so");
        run->had_agent = run->had_agent || has_mapped(run->pid, "/libcuspan.so");
        if (clock_monotonic_ns() > deadline_ns) {
            run->was_terminated = true;
            kill(-run->pid, signal_number);
            signal_number = SIGKILL;
            deadline_ns = clock_monotonic_ns() + GRACE_NS;
        }
        nanosleep(&(struct timespec){0, (long)POLL_NS}, NULL);
    }
    kill(-run->pid, SIGKILL); /* remaining processes of its group */
}

static bool start(const struct doctor *doctor, struct run *run)
{
    FILE *output = temporary_file();
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

/* The agent's first line that contains `text` (NULL: any), without the prefix; allocated, or NULL. */
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

static void describe_end(const struct run *run, char *text, size_t size)
{
    if (run->was_terminated)
        snprintf(text, size, "was terminated by cuspan doctor (--seconds)");
    else if (WIFSIGNALED(run->wait_status))
        snprintf(text, size, "crashed (%s)", strsignal(WTERMSIG(run->wait_status)));
    else
        snprintf(text, size, "exited with status %d", WEXITSTATUS(run->wait_status));
}

/* No process wrote a final report. */
static void explain_missing_report(struct doctor *doctor, const struct run *run)
{
    char end[128];
    char *refusal = agent_line(run, "this process is not traced"), *any = agent_line(run, NULL);
    describe_end(run, end, sizeof end);
    if (refusal) {
        doctor_result(doctor, RESULT_PROBLEM, "the agent was loaded but did not start: %s", refusal);
        doctor_fix(doctor, "fix the cause that this line names; the related checks above have details");
    } else if (any || run->had_agent) {
        doctor_result(
            doctor, RESULT_PROBLEM,
            "the agent was loaded but wrote no final report: the program %s, so buffered data was lost", end);
        doctor_fix(doctor, "%s",
                   run->was_terminated ? "allow more time: --seconds N"
                                       : "end the program with exit(), or call cuspan_finish() or "
                                         "cuspan_flush() (cuspan.h) before _exit()");
    } else if (run->had_driver) {
        doctor_result(doctor, RESULT_PROBLEM,
                      "the program loaded libcuda.so, but the driver did not load the agent (the program %s)",
                      end);
        doctor_fix(doctor, "check that cuInit succeeds (driver.start), and that the program gets "
                           "CUDA_INJECTION64_PATH (sudo and ssh drop it)");
    } else {
        doctor_result(doctor, RESULT_PROBLEM,
                      "the agent was never loaded: the program did not initialize CUDA, or CUDA failed to "
                      "start (the program %s)",
                      end);
        doctor_fix(doctor, "check driver.start and the program's output; an interpreter loads CUDA only when "
                           "its script uses it");
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
        text_add(&list, "no reason was counted");
    return list.data;
}

static void check_delivery(struct doctor *doctor, const struct run *run)
{
    char *losses = list_losses(&run->outcome), *why = agent_line(run, "cannot deliver to");
    why = why ? why : agent_line(run, "refuses spans");
    if (run->outcome.delivered == 0) {
        doctor_result(doctor, RESULT_PROBLEM, "none of %llu spans was delivered: %s%s%s",
                      (unsigned long long)run->outcome.spans, losses, why ? "; " : "", why ? why : "");
        doctor_fix(doctor, "check the group collector, or permissions.files");
    } else if (run->outcome.loss_count) {
        doctor_result(doctor, RESULT_WARNING, "%llu of %llu spans were delivered; lost: %s",
                      (unsigned long long)run->outcome.delivered, (unsigned long long)run->outcome.spans,
                      losses);
        doctor_fix(doctor, "cuspan status PID and the page troubleshooting.md of cuspan's documentation have "
                           "each reason and its setting");
    } else {
        doctor_result(doctor, RESULT_OK, "%llu spans delivered, from %llu calls and %llu GPU records",
                      (unsigned long long)run->outcome.delivered, (unsigned long long)run->outcome.calls,
                      (unsigned long long)run->outcome.activities);
    }
    free(losses);
    free(why);
}

static void check_capture(struct doctor *doctor, const struct run *run)
{
    if (run->outcome.recording_count) {
        doctor_result(doctor, RESULT_WARNING,
                      "the run was recorded and nothing was exported, because record_file is set");
        doctor_fix(doctor, "unset record_file");
    } else if (run->outcome.calls == 0 && run->outcome.releases) {
        doctor_result(doctor, RESULT_PROBLEM, "another tool in the program uses CUPTI, and was first");
        doctor_fix(doctor, "run the program without that tool");
    } else if (run->outcome.calls == 0 && run->outcome.activities == 0) {
        doctor_result(doctor, RESULT_PROBLEM, "the agent was active but saw no calls and no GPU work%s",
                      run->outcome.sleeps ? ": it slept, because no sampled request was active" : "");
        doctor_fix(doctor, "check that the program does more than initialize CUDA, and what "
                           "configuration.filters and configuration.sampling exclude");
    } else if (run->outcome.spans == 0) {
        doctor_result(
            doctor, RESULT_PROBLEM,
            "%llu calls and %llu GPU records, but no spans: %llu not sampled, %llu excluded by name",
            (unsigned long long)run->outcome.calls, (unsigned long long)run->outcome.activities,
            (unsigned long long)run->outcome.unsampled, (unsigned long long)run->outcome.filtered);
        doctor_fix(doctor, "check configuration.sampling and configuration.filters");
    } else {
        /* Every process has records of its devices and one context, even without GPU work. */
        const struct nvml_facts *nvml = nvml_facts(doctor);
        uint64_t facts = ((nvml->works ? nvml->count : 1) + 1) * run->outcome.processes;
        if (run->outcome.activities <= facts &&
            run->outcome.spans <= run->outcome.calls + run->outcome.sessions) {
            doctor_result(doctor, RESULT_PROBLEM, "%llu calls, but CUPTI reported no GPU work",
                          (unsigned long long)run->outcome.calls);
            doctor_fix(
                doctor,
                "check that the program launches or copies anything, and what configuration.filters "
                "excludes; else try --set cupti.library=PATH with another CUPTI, or --set cupti.api=classic");
        }
        check_delivery(doctor, run);
    }
}

static void check_outcome(struct doctor *doctor, const struct run *run)
{
    if (run->outcome.processes == run->outcome.unfinished)
        explain_missing_report(doctor, run);
    else
        check_capture(doctor, run);
    if (run->was_terminated && run->outcome.processes > 0) {
        doctor_result(doctor, RESULT_WARNING, "the program was terminated after %u s", doctor->seconds);
        doctor_fix(doctor, "allow more time: --seconds N");
    }
}

void check_program_run(struct doctor *doctor)
{
    struct run run = {0};
    struct error err = {""};
    doctor->injection.is_quiet = true; /* injection.nvtx reports it already */
    if (injection_prepare(&doctor->injection, &err) != STATUS_OK) {
        doctor_result(doctor, RESULT_PROBLEM, "not run: %s", err.text);
        doctor_fix(doctor, "fix this first");
        return;
    }
    if (!doctor->injection.report_dir) {
        doctor_result(doctor, RESULT_PROBLEM, "not run: no folder can be written for the agent's report");
        doctor_fix(doctor, "set TMPDIR to one that can");
        return;
    }
    if (start(doctor, &run)) {
        outcome_read(&run.outcome, doctor->injection.report_dir);
        check_outcome(doctor, &run);
    } else {
        doctor_result(doctor, RESULT_PROBLEM, "cannot run %s: %s", doctor->program[0],
                      strerror(run.exec_errno));
        doctor_fix(doctor, "specify an executable file, by its path or in PATH");
    }
    outcome_deinit(&run.outcome);
    free(run.output);
}
