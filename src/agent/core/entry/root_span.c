#include "agent/core/entry/root_span.h"

#include "agent/core/resource/detect.h"
#include "agent/core/outputs/outputs.h"
#include "agent/core/resource/self_env.h"
#include "agent/core/report/report.h"
#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "base/process/signal_names.h"
#include "agent/correlate/trace/sampler.h"
#include "agent/export/compress/compress.h"
#include "agent/export/delivery/last_error.h"
#include "model/semconv.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>

static struct settings settings;

static bool read_settings(void)
{
    const struct config_report *report;
    return self_env_settings(&settings, &report) == STATUS_OK && !settings.disabled &&
           !settings.record_file && settings.output_count > 0;
}

static bool begin(struct root *root)
{
    struct sampler sampler;
    memset(&root->context, 0, sizeof root->context);
    if (!read_settings() || getrandom(root->context.trace_id, 16, 0) != 16 ||
        getrandom(root->context.span_id, 8, 0) != 8)
        return false;
    sampler_init(&sampler, &settings);
    bool is_sampled =
        sampler_decide(&sampler, NULL, root->context.trace_id, clock_now_ns(), root->context.trace_state);
    root->context.flags = TRACE_FLAG_RANDOM | (is_sampled ? TRACE_FLAG_SAMPLED : 0);
    return true;
}

/* error.type has few distinct values. */
static const char *type_of_signal(int number)
{
    const char *name = signal_name(number);
    if (number == SIGKILL || number == SIGTRAP)
        return number == SIGKILL ? "SIGKILL" : "SIGTRAP";
    return strncmp(name, "SIG", 3) == 0 ? name : "_OTHER";
}

static void set_failure(struct span *span, const char *type)
{
    span->status = SPAN_STATUS_ERROR;
    span->status_message = type;
    span_attr_string(span, ATTR(SEMCONV_ERROR_TYPE), type);
}

static void make_span(const struct root *root, const char *name, struct span *span)
{
    memset(span, 0, offsetof(struct span, attrs));
    memcpy(span->trace_id, root->context.trace_id, 16);
    memcpy(span->span_id, root->context.span_id, 8);
    span->flags = root->context.flags | SPAN_FLAG_REMOTE_KNOWN;
    span->resource = RESOURCE_PROCESS;
    span->kind = SPAN_KIND_INTERNAL;
    span->name = name;
    span->name_len = (uint32_t)strlen(name);
    span->trace_state = *root->context.trace_state ? root->context.trace_state : NULL;
    span->start_ns = root->start_ns;
    span->end_ns = root->end_ns > root->start_ns ? root->end_ns : root->start_ns + 1;
    if (WIFSIGNALED(root->wait_status)) {
        set_failure(span, type_of_signal(WTERMSIG(root->wait_status)));
        return;
    }
    span_attr_int(span, ATTR(SEMCONV_PROCESS_EXIT_CODE), WEXITSTATUS(root->wait_status));
    if (WEXITSTATUS(root->wait_status) != 0)
        set_failure(span, "exit_status");
}

static void send_span(const struct root *root, const char *name)
{
    static struct span span;
    struct outputs *outputs;
    struct error err = {""};
    if (outputs_create(&settings, self_env_folder(), &outputs, &err) != STATUS_OK) {
        log_error("%s; the root span is not sent", err.text);
        return;
    }
    make_span(root, name, &span);
    outputs_set_resource(outputs, RESOURCE_PROCESS, &settings.resource);
    counter_add(COUNTER_roots, 1);
    counter_add(COUNTER_spans_created, 1);
    outputs_add(outputs, &span);
    outputs_destroy(outputs, clock_monotonic_ns() + settings.exit_deadline_ms * NS_PER_MS);
    report_log_losses(NULL, last_error_at_exit());
}

static void end(const struct root *root)
{
    struct report report = {.settings = &settings, .trace_total = 1, .trace_count = 1};
    log_set_level(settings.log_level);
    report.program = detect_command(root->argv);
    enum status status = detect_command_resource(&settings.resource, report.program, root->pid);
    if (status == STATUS_OK && settings.resource_ip)
        status = detect_ip(&settings.resource);
    if (status != STATUS_OK)
        log_warn(
            "the resource has too many attributes, and some are dropped; set fewer in resource.attributes");
    send_span(root, report.program);
    memcpy(report.traces[0], root->context.trace_id, 16);
    free(settings.accounts_file);
    settings.accounts_file = strdup(root->accounts_file);
    (void)report_write(&report);
}

const struct root_api *cuspan_root_api(void)
{
    static const struct root_api api = {sizeof(struct root), begin, end, agent_send, &zstd_frame_api};
    return &api;
}
