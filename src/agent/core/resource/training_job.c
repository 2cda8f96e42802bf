#include "agent/core/resource/training_job.h"

#include "base/clock.h"
#include "base/hash.h"
#include "agent/correlate/trace/sampler.h"
#include "model/semconv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void add(char text[TRAINING_JOB_BYTES], const char *what, const char *value, size_t bytes)
{
    size_t used = strlen(text);
    if (value && bytes)
        snprintf(text + used, TRAINING_JOB_BYTES - used, "%s%s%s%.*s", used ? "," : "", what,
                 *what ? "=" : "", (int)bytes, value);
}

static void add_variable(char text[TRAINING_JOB_BYTES], const struct deployment *from, const char *name)
{
    const char *value = from->getenv(name);
    add(text, name, value, value ? strlen(value) : 0);
}

/* All ranks have the same elastic agent. With several nodes, each node's agent counts its own restarts. */
static bool is_on_one_node(const struct deployment *from)
{
    const char *local = from->getenv("LOCAL_WORLD_SIZE"), *size = from->getenv("WORLD_SIZE");
    return local && size && strcmp(local, size) == 0;
}

/* ".../none_k2j9x1/attempt_0/3/error.json": torchrun makes a folder with a random name for each run, and one
 * for each start of the workers. */
static void add_log_folder(char text[TRAINING_JOB_BYTES], const struct deployment *from)
{
    const char *path = from->getenv("TORCHELASTIC_ERROR_FILE");
    size_t bytes = path ? strlen(path) : 0;
    for (int part = 0; part < 2; part++) {
        while (bytes > 0 && path[bytes - 1] != '/')
            bytes--;
        bytes -= bytes > 0;
    }
    add(text, "run", path, bytes);
}

void training_job_identity(const struct deployment *from, const char *job_id, char text[TRAINING_JOB_BYTES])
{
    const char *variable = from->getenv("CUSPAN_JOB_ID");
    const char *given = variable && *variable ? variable : job_id;
    text[0] = 0;
    if (given && *given) {
        add(text, "", given, strlen(given));
    } else {
        const char *run_id = from->getenv("TORCHELASTIC_RUN_ID");
        if (run_id && *run_id && strcmp(run_id, "none") != 0) /* torchrun's default is "none" */
            add_variable(text, from, "TORCHELASTIC_RUN_ID");
        else if (is_on_one_node(from))
            add_log_folder(text, from);
        if (from->getenv("SLURM_JOB_ID") && from->getenv("SLURM_STEP_ID")) {
            static const char *const slurm[] = {"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID",
                                                "SLURM_RESTART_COUNT"};
            for (size_t i = 0; i < sizeof slurm / sizeof *slurm; i++)
                add_variable(text, from, slurm[i]);
        }
        add_variable(text, from, "PMIX_NAMESPACE");
        add_variable(text, from, "RAY_JOB_ID");
    }
    if (!*text)
        return; /* an address alone, often localhost:29500, does not tell two jobs apart */
    add_variable(text, from, "MASTER_ADDR");
    add_variable(text, from, "MASTER_PORT");
    if (is_on_one_node(from))
        add_variable(text, from, "TORCHELASTIC_RESTART_COUNT");
}

static int64_t number_in(const struct resource *resource, const char *key)
{
    const struct resource_attr *attr = resource_find(resource, key);
    return attr && attr->type == RESOURCE_INT && !attr->is_array ? attr->items->integer : -1;
}

static void find_rank(const struct deployment *from, struct step_rules *rules)
{
    struct resource found = {0};
    rules->rank = rules->world_size = -1;
    if (deployment_add(&found, from) == STATUS_OK) {
        rules->rank = number_in(&found, SEMCONV_CUDA_PROCESS_RANK);
        rules->world_size = number_in(&found, SEMCONV_CUDA_PROCESS_WORLD_SIZE);
    }
    resource_deinit(&found);
}

static uint64_t threshold_of(const struct settings *settings, bool is_limited)
{
    if (settings->sampler == SAMPLER_ALWAYS_OFF)
        return SAMPLER_NEVER;
    if (is_limited)
        return sampler_threshold(settings->steps.ratio);
    return settings->sampler == SAMPLER_TRACE_ID_RATIO ? sampler_threshold(settings->sampler_ratio) : 0;
}

struct step_rules training_job_rules(const struct deployment *from, const struct settings *settings)
{
    char text[TRAINING_JOB_BYTES];
    struct step_rules rules = {0};
    training_job_identity(from, settings->steps.job_id, text);
    find_rank(from, &rules);
    rules.job = *text ? hash_text(HASH_START, text) : 0;
    if (getrandom(&rules.own, sizeof rules.own, GRND_NONBLOCK) != sizeof rules.own)
        rules.own = clock_ticks() ^ (uint64_t)getpid() << 32;
    bool is_job = rules.world_size > 1 && rules.rank >= 0 && *text;
    bool is_limited =
        settings->steps.traced == STEPS_SAMPLED || (settings->steps.traced == STEPS_AUTO && is_job);
    rules.threshold = threshold_of(settings, is_limited);
    rules.is_limited = rules.threshold > 0;
    rules.spans_max = settings->steps.spans_max;
    rules.iteration_threshold = sampler_threshold(settings->engine.ratio);
    rules.always_first = is_limited && rules.threshold < SAMPLER_NEVER;
    return rules;
}
