/* The floor: an injected library with exactly the callbacks, activity kinds, fields and buffers that cuspan
 * enables with the same configuration, and empty handlers. A program's cost with it is CUPTI's own; the
 * additional cost with libcuspan.so is ours. It consists of cuspan's capture stage without callbacks.c, which
 * this file replaces.
 *
 * If CUSPAN_FLOOR_OFF_FILE names a file, the floor switches itself off and unsubscribes permanently once that
 * file exists: then a program continues in which CUPTI was used once. With CUSPAN_FLOOR_KEEPS=callbacks only
 * the records are switched off, as while cuspan sleeps. The program creates the file when it has worked a
 * little, and waits a little before it measures; the floor removes the file when all is off. A line on
 * standard error reports the end, and how many buffers of records there were. */
#include "agent/core/entry/cuspan_api.h"
#include "base/clock.h"
#include "agent/capture/context/publish.h"
#include "agent/capture/context/sdk_context.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/activity/buffers.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/capture.h"
#include "agent/capture/switches.h"
#include "agent/capture/threads/thread_context.h"
#include "agent/capture/sleep_control.h"
#include "agent/config/config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct callbacks_signals callbacks_signals;
void (*callbacks_on_graph)(void);

enum status callbacks_init(bool parameters)
{
    return STATUS_OK;
}

void callbacks_flush_soon(void) {}

bool callbacks_take_flush_soon(void)
{
    return false;
}

bool sdk_context_poll(sdk_context_own_fn *own)
{
    return false;
}

const void *publish_variable(void)
{
    return NULL;
}

void publish_give_way(void) {}

/* Nor does it know steps. */
bool steps_take(struct step_boundary *boundary, uint64_t *missed)
{
    *missed = 0;
    return false;
}

/* It walks no stacks, either. */
void callbacks_add_flags(enum call_domain domain, uint32_t cbid, uint16_t flags)
{
    (void)domain, (void)cbid, (void)flags;
}

uint16_t callbacks_flags(enum call_domain domain, uint32_t cbid)
{
    (void)domain, (void)cbid;
    return 0;
}

uint8_t callbacks_bound_flags(enum call_domain domain, uint32_t cbid)
{
    (void)domain, (void)cbid;
    return 0;
}

__thread struct thread_context *thread_context_self __attribute__((tls_model("initial-exec")));

/* The floor is always awake. */
void sleep_control_start(const struct settings *settings, bool is_replay)
{
    (void)settings, (void)is_replay;
}

void sleep_control_stop(void) {}

void sleep_control_finish(void) {}

void sleep_control_suspend(void) {}

void sleep_control_resume(void) {}

bool sleep_control_service(void)
{
    return false;
}

void callbacks_handle(void *userdata, uint32_t domain, uint32_t cbid, const void *data)
{
    (void)userdata, (void)domain, (void)cbid, (void)data;
}

static const char *read_environment(const char *name, void *context)
{
    return getenv(name);
}

static unsigned give_back_buffers(void)
{
    struct activity_buffer *buffer;
    unsigned count = 0;
    for (; (buffer = buffers_take_finished()) != NULL; count++)
        buffers_give_back(buffer);
    return count;
}

/* The program waits meanwhile, so no call in flight loses a callback. True: everything is off. */
static bool switch_off(unsigned buffers)
{
    const char *keeps = getenv("CUSPAN_FLOOR_KEEPS");
    bool keeps_callbacks = keeps && strcmp(keeps, "callbacks") == 0;
    (keeps_callbacks ? switches_quiet : switches_off)();
    fprintf(stderr, "floor: %s off after %u buffers\n", keeps_callbacks ? "records" : "all", buffers);
    return !keeps_callbacks;
}

static void *return_buffers(void *unused)
{
    const char *off_file = getenv("CUSPAN_FLOOR_OFF_FILE");
    struct timespec pause = {0, 1000000};
    unsigned buffers = 0;
    for (bool is_on = true;;) {
        buffers += give_back_buffers();
        if (is_on)
            capture_service(clock_monotonic_ns());
        if (off_file && buffers && access(off_file, F_OK) == 0) {
            is_on = !switch_off(buffers);
            unlink(off_file);
            off_file = NULL;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int InitializeInjection(void)
{
    static atomic_flag has_begun = ATOMIC_FLAG_INIT;
    static struct settings settings;
    static struct config_report report;
    static struct capture_info info;
    struct config_input input = {.getenv = read_environment};
    struct error err;
    pthread_t thread;
    if (atomic_flag_test_and_set(&has_begun))
        return 1;
    if (config_load(&input, &settings, &report) != STATUS_OK)
        fprintf(stderr, "floor: can't start: settings\n");
    else if (capture_start(&settings, ".", &info, &err) != STATUS_OK)
        fprintf(stderr, "floor: can't start: %s\n", err.text);
    else if (pthread_create(&thread, NULL, return_buffers, NULL) != 0)
        fprintf(stderr, "floor: can't start: no thread\n");
    return 1;
}
