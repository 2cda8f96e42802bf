#include "agent/core/report/shutdown.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/log/log.h"
#include "base/process/signal_names.h"
#include "base/log/write_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TO_STANDARD_ERROR "stderr"

enum fate { FATE_NOT_REACHED, FATE_UNDER_WAY, FATE_DONE, FATE_FAILED, FATE_SKIPPED };

static const char *const fates[] = {"not reached", "under way", "done", "failed", "skipped"};

static const struct {
    const char *name, *what, *unit;
    bool is_optional;
} steps[] = {
#define STEP_ENTRY(id, is_optional, what, unit) {#id, what, unit, is_optional},
    SHUTDOWN_STEPS(STEP_ENTRY)
#undef STEP_ENTRY
};

static const struct {
    const char *name, *what;
    bool is_optional;
} checks[] = {
#define CHECK_ENTRY(id, is_optional, what) {#id, what, is_optional},
    SHUTDOWN_CHECKS(CHECK_ENTRY)
#undef CHECK_ENTRY
};

static struct {
    _Atomic int fate;
    _Atomic uint64_t begin_ns, end_ns, count;
    const char *_Atomic error;
} states[SHUTDOWN_STEP_COUNT];

static _Atomic uint64_t open_counts[SHUTDOWN_CHECK_COUNT];
static _Atomic uint64_t begin_ns;
static const char *_Atomic cause = "exit";
static _Atomic int cause_signal;

void shutdown_begin(const char *why, int signal_number)
{
    atomic_store(&begin_ns, clock_monotonic_ns());
    atomic_store(&cause, why);
    atomic_store(&cause_signal, signal_number);
}

void shutdown_step_begin(enum shutdown_step step)
{
    atomic_store(&states[step].begin_ns, clock_monotonic_ns());
    atomic_store(&states[step].fate, FATE_UNDER_WAY);
}

void shutdown_step_end(enum shutdown_step step, uint64_t count, const char *error)
{
    atomic_store(&states[step].end_ns, clock_monotonic_ns());
    atomic_store(&states[step].count, count);
    atomic_store(&states[step].error, error);
    atomic_store(&states[step].fate, error ? FATE_FAILED : FATE_DONE);
}

void shutdown_step_skip(enum shutdown_step step)
{
    atomic_store(&states[step].fate, FATE_SKIPPED);
}

void shutdown_is_open(enum shutdown_check check, uint64_t count)
{
    atomic_store(&open_counts[check], count);
}

bool shutdown_has_passed(void)
{
    bool passed = true;
    for (enum shutdown_step step = 0; step < SHUTDOWN_STEP_COUNT; step++) {
        int fate = atomic_load(&states[step].fate);
        passed &= steps[step].is_optional || fate == FATE_DONE || fate == FATE_SKIPPED;
    }
    for (enum shutdown_check check = 0; check < SHUTDOWN_CHECK_COUNT; check++)
        passed &= checks[check].is_optional || atomic_load(&open_counts[check]) == 0;
    return passed;
}

static double milliseconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static uint64_t taken_ns(enum shutdown_step step)
{
    int fate = atomic_load(&states[step].fate);
    if (fate == FATE_NOT_REACHED || fate == FATE_SKIPPED)
        return 0;
    uint64_t end_ns = fate == FATE_UNDER_WAY ? clock_monotonic_ns() : atomic_load(&states[step].end_ns);
    return end_ns - atomic_load(&states[step].begin_ns);
}

static const char *verdict(void)
{
    return shutdown_has_passed() ? "PASSED" : "FAILED";
}

static uint64_t elapsed_ns(void)
{
    return clock_monotonic_ns() - atomic_load(&begin_ns);
}

static void write_step_json(struct json_writer *json, enum shutdown_step step)
{
    const char *error = atomic_load(&states[step].error);
    json_write_object(json, NULL);
    json_write_text(json, "name", steps[step].name);
    json_write_text(json, "fate", fates[atomic_load(&states[step].fate)]);
    json_write_bool(json, "optional", steps[step].is_optional);
    json_write_unsigned(json, "count", atomic_load(&states[step].count));
    json_write_ms(json, "ms", taken_ns(step));
    if (error)
        json_write_text(json, "error", error);
    json_write_object_end(json);
}

static const char *cause_name(void)
{
    int number = atomic_load(&cause_signal);
    return number ? signal_name(number) : atomic_load(&cause);
}

void shutdown_write_json(struct json_writer *json)
{
    if (!atomic_load(&begin_ns)) /* not a shutdown */
        return;
    json_write_object(json, "shutdown");
    json_write_text(json, "cause", cause_name());
    json_write_ms(json, "ms", elapsed_ns());
    json_write_text(json, "verdict", verdict());
    json_write_array(json, "steps");
    for (enum shutdown_step step = 0; step < SHUTDOWN_STEP_COUNT; step++)
        write_step_json(json, step);
    json_write_array_end(json);
    json_write_object(json, "open");
    for (enum shutdown_check check = 0; check < SHUTDOWN_CHECK_COUNT; check++)
        json_write_unsigned(json, checks[check].name, atomic_load(&open_counts[check]));
    json_write_object_end(json);
    json_write_object_end(json);
}

static void print_steps(FILE *page)
{
    for (enum shutdown_step step = 0; step < SHUTDOWN_STEP_COUNT; step++) {
        const char *error = atomic_load(&states[step].error);
        fprintf(page, "%-11s %-38s %9.3f ms  %llu %s%s%s%s\n", fates[atomic_load(&states[step].fate)],
                steps[step].what, milliseconds(taken_ns(step)),
                (unsigned long long)atomic_load(&states[step].count), steps[step].unit,
                steps[step].is_optional ? " (optional)" : "", error ? ": " : "", error ? error : "");
    }
}

static void print_checks(FILE *page)
{
    for (enum shutdown_check check = 0; check < SHUTDOWN_CHECK_COUNT; check++) {
        unsigned long long count = atomic_load(&open_counts[check]);
        fprintf(page, "%-11s %llu %s%s\n", count ? "open" : "closed", count, checks[check].what,
                checks[check].is_optional ? " (optional)" : "");
    }
}

static void print(FILE *page)
{
    fprintf(page, "cuspan: the shutdown of process %d, by %s, took %.1f ms\n", (int)getpid(), cause_name(),
            milliseconds(elapsed_ns()));
    print_steps(page);
    print_checks(page);
    fprintf(page, "%s\n", verdict());
}

static void write_file(const char *name, const char *text, size_t bytes)
{
    char path[1024];
    int file = files_create_numbered(name, path, sizeof path);
    struct write_signals signals;
    write_signals_hold(&signals);
    if (file < 0 || !files_write(file, text, bytes))
        log_warn("cannot write the shutdown report %s: %s", path, strerror(errno));
    write_signals_release(&signals);
    if (file >= 0)
        close(file);
}

void shutdown_write(const struct settings *settings)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *page = settings->shutdown_report ? open_memstream(&text, &bytes) : NULL;
    if (!page)
        return;
    print(page);
    bool is_complete = fclose(page) == 0;
    if (is_complete && strcmp(settings->shutdown_report, TO_STANDARD_ERROR) == 0)
        log_write(text, bytes);
    else if (is_complete)
        write_file(settings->shutdown_report, text, bytes);
    free(text);
}
