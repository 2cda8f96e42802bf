#include "agent/core/hang/hang_watch.h"

#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/hardware/nvml.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/sleep/mode.h"
#include "agent/capture/threads/threads.h"
#include "agent/core/outputs/log_output.h"
#include "agent/core/pipeline/pipeline.h"
#include "agent/watch/watch.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/process/variables.h"

#include <sys/auxv.h>
#include <unistd.h>

static uint32_t find_calls(struct watch_call *calls)
{
    struct thread_call found[LIVE_CUDA_CALLS];
    uint8_t mode = atomic_load(&mode_now);
    if (mode == MODE_OFF)
        return 0;
    uint32_t count = threads_calls_in_progress(mode == MODE_ASLEEP, found, LIVE_CUDA_CALLS);
    for (uint32_t i = 0; i < count; i++) {
        calls[i] = (struct watch_call){.thread = (uint32_t)found[i].tid, .id = found[i].id};
        calls[i].name = callbacks_name_of(found[i].plan, &calls[i].cbid);
    }
    return count;
}

static void report(const struct log_record *brief, const struct log_record *full)
{
    (void)log_output_send(brief,
                          full); /* without an output, the log has the line, and the live state the rest */
}

void hang_watch_decide(struct settings *settings, const struct step_rules *rules)
{
    if (!settings_set_hang_watch(settings, rules->world_size))
        log_warn("distribution.cuspan.memory_bytes_max leaves no room for the hang watch; raise it by %d",
                 SETTINGS_HANG_BYTES);
}

void hang_watch_start(const struct settings *settings, const struct step_rules *rules)
{
    static const enum stack_detail details[] = {[HANG_STACKS_FULL] = STACK_DETAIL_FULL,
                                                [HANG_STACKS_FUNCTIONS] = STACK_DETAIL_FUNCTIONS,
                                                [HANG_STACKS_NONE] = STACK_DETAIL_NONE};
    char folders[CONTROL_PLACES_MAX][CONTROL_PATH_BYTES];
    struct error err = {""};
    if (!settings->hang.is_watched || getauxval(AT_SECURE))
        return;
    struct watch_options options = {.after_ns = settings->hang.after_ms * NS_PER_MS,
                                    .stacks = details[settings->hang.stacks],
                                    .rank = rules->rank,
                                    .world_size = rules->world_size,
                                    .folders = folders,
                                    .folder_count = control_path_list(settings->control.directory,
                                                                      variables_get("XDG_RUNTIME_DIR"),
                                                                      geteuid(), folders),
                                    .find_calls = find_calls,
                                    .ask_gpus = nvml_ask_again,
                                    .take_gpus = nvml_take,
                                    .request_flush = pipeline_request_hang_flush,
                                    .report = report};
    if (watch_start(&options, &err) == STATUS_OK)
        nccl_tell_live_state();
    else
        log_warn("%s: distribution.cuspan.hang.watch has no effect", err.text);
}
