#include "agent/agent.h"

#include "agent/detect.h"
#include "agent/nvtx_entry.h"
#include "agent/own.h"
#include "agent/own_resource.h"
#include "agent/pipeline.h"
#include "base/log.h"
#include "capture/nvtx.h"
#include "capture/publish.h"
#include "config/config.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct settings settings;
static struct trace_context parent;
static atomic_flag has_begun = ATOMIC_FLAG_INIT;
static pid_t owner; /* the process that runs the agent; a forked child is not it */

static const char *read_variable(const char *name, void *context)
{
    (void)context;
    return own_variable(name);
}

/* One line for what stops the agent; warnings have a line each. */
static bool read_settings(void)
{
    static struct config_report report;
    struct config_input input = {.getenv = read_variable};
    enum status status = config_load(&input, &settings, &report);
    log_set_level(status == STATUS_OK ? settings.log_level : LOG_WARN);
    if (status != STATUS_OK) {
        const char *error = config_first_error(&report);
        if (error)
            log_error("%s; this process is not traced (`cuspan check` shows all)", error);
        else
            log_error("can't read the configuration: %s; this process is not traced", status_text(status));
        return false;
    }
    for (uint32_t i = 0; i < report.count; i++)
        log_warn("%s", report.messages[i].text);
    return true;
}

/* Why there is nothing to do, or NULL. */
static const char *reason_to_sleep(bool has_parent)
{
    if (!settings.record_file && settings.output_count == 0)
        return "no exporter is configured";
    if (settings.record_file)
        return NULL;
    if (has_parent && settings.sampler_parent_based && !(parent.flags & TRACE_FLAG_SAMPLED))
        return "TRACEPARENT says that its trace is not sampled";
    if (settings.sampler == SAMPLER_ALWAYS_OFF && !(has_parent && settings.sampler_parent_based))
        return "the sampler is always_off";
    return NULL;
}

static void at_exit(void)
{
    if (getpid() == owner)
        pipeline_stop();
}

static void in_child(void)
{
    capture_abandon();
}

static enum status start(bool has_parent, struct error *err)
{
    static struct capture_info info;
    const char *folder = own_folder();
    struct pipeline_options options = {.settings = &settings,
                                       .own_folder = folder,
                                       .program =
                                           settings.session.name ? settings.session.name : detect_program(),
                                       .parent = has_parent ? &parent : NULL};
    /* Capture first: where it can't start, no thread of ours and no TLS library comes into the host at all.
     * What it captures until the pipeline runs, its rings and buffers hold. */
    enum status status = capture_start(&settings, folder, &info, err);
    if (status != STATUS_OK)
        return status;
    if (own_resource_begin(&settings.resource, info.driver_version, info.cupti_version) != STATUS_OK)
        log_warn("the resource is incomplete: too many attributes");
    status = pipeline_prepare(&options, err);
    if (status == STATUS_OK)
        status = pipeline_start(&info, err);
    if (status != STATUS_OK) {
        capture_stop();
        pipeline_cancel();
        return status;
    }
    owner = getpid();
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
    return STATUS_OK;
}

static void begin_nvtx(void)
{
    if (!settings.capture.nvtx)
        return;
    nvtx_begin();
    nvtx_entry_check(own_variable("NVTX_INJECTION64_PATH"));
}

static void begin_publishing(void)
{
    struct error err = {""};
    if (settings.publish_thread_context && publish_begin(own_folder(), &err) != STATUS_OK)
        log_warn("%s: distribution.cuspan.publish_thread_context does nothing", err.text);
}

/* False: this process is not traced. */
static bool begin(void)
{
    struct error err = {""};
    if (!read_settings() || settings.disabled)
        return false;
    nvtx_switch(settings.capture.nvtx);
    bool has_parent = trace_context_parse(own_variable("TRACEPARENT"), own_variable("TRACESTATE"), &parent);
    const char *asleep = reason_to_sleep(has_parent);
    if (asleep) {
        log_info("%s: this process is not traced", asleep);
        return false;
    }
    if (start(has_parent, &err) != STATUS_OK) {
        log_error("%s; this process is not traced", err.text);
        return false;
    }
    begin_nvtx();
    begin_publishing();
    return true;
}

int InitializeInjection(void)
{
    int saved_errno = errno;
    if (!atomic_flag_test_and_set(&has_begun) && !begin())
        nvtx_switch(false);
    errno = saved_errno;
    return 1;
}
