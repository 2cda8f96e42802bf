/* Tests how a job is identified by the variables of launchers. */
#include "agent/core/resource/training_job.h"

#include "agent/correlate/trace/sampler.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>

static const char *const *variables; /* name, value, ..., NULL */

static const char *variable(const char *name)
{
    for (size_t i = 0; variables[i]; i += 2)
        if (strcmp(variables[i], name) == 0)
            return variables[i + 1];
    return NULL;
}

static const struct deployment from = {variable, "/nonexistent"};

static const char *identity(const char *setting, const char *const *given)
{
    static char text[TRAINING_JOB_BYTES];
    variables = given;
    training_job_identity(&from, setting, text);
    return text;
}

#define IDENTITY(setting, ...) identity(setting, (const char *const[]){__VA_ARGS__, NULL})

static void test_identities(void **state)
{
    assert_string_equal(
        IDENTITY(NULL, "TORCHELASTIC_RUN_ID", "abc", "MASTER_ADDR", "n1", "MASTER_PORT", "4000"),
        "TORCHELASTIC_RUN_ID=abc,MASTER_ADDR=n1,MASTER_PORT=4000");
    assert_string_equal(IDENTITY(NULL, "SLURM_JOB_ID", "12", "SLURM_STEP_ID", "0", "SLURM_CLUSTER_NAME", "c"),
                        "SLURM_CLUSTER_NAME=c,SLURM_JOB_ID=12,SLURM_STEP_ID=0");
    assert_string_equal(IDENTITY(NULL, "PMIX_NAMESPACE", "prte-1"), "PMIX_NAMESPACE=prte-1");
    assert_string_equal(IDENTITY(NULL, "RAY_JOB_ID", "02000000"), "RAY_JOB_ID=02000000");
}

static void test_the_users_identity_wins(void **state)
{
    assert_string_equal(IDENTITY("mine", "TORCHELASTIC_RUN_ID", "abc"), "mine");
    assert_string_equal(IDENTITY("mine", "CUSPAN_JOB_ID", "variable"), "variable");
    assert_string_equal(IDENTITY("", "CUSPAN_JOB_ID", "", "RAY_JOB_ID", "1"), "RAY_JOB_ID=1");
}

static void test_an_identity_gives_itself(void **state)
{
    char first[TRAINING_JOB_BYTES];
    snprintf(first, sizeof first, "%s", IDENTITY(NULL, "TORCHELASTIC_RUN_ID", "abc", "MASTER_ADDR", "n1"));
    assert_string_equal(IDENTITY(first, "HOME", "/"), first);
}

/* They are the same in unrelated jobs. */
static void test_what_identifies_no_job(void **state)
{
    assert_string_equal(IDENTITY(NULL, "TORCHELASTIC_RUN_ID", "none", "MASTER_ADDR", "localhost",
                                 "MASTER_PORT", "29500", "WORLD_SIZE", "16", "LOCAL_WORLD_SIZE", "8"),
                        "");
    assert_string_equal(IDENTITY(NULL, "SLURM_JOB_ID", "12"), ""); /* an allocation's shell, not a step */
}

/* `torchrun --nproc-per-node 2` without an ID: the agent's folder, and what changes with a restart. */
static void test_one_node(void **state)
{
    assert_string_equal(IDENTITY(NULL, "TORCHELASTIC_RUN_ID", "none", "WORLD_SIZE", "2", "LOCAL_WORLD_SIZE",
                                 "2", "TORCHELASTIC_RESTART_COUNT", "1", "TORCHELASTIC_ERROR_FILE",
                                 "/tmp/torchelastic_x1/none_y2/attempt_1/0/error.json"),
                        "run=/tmp/torchelastic_x1/none_y2/attempt_1,TORCHELASTIC_RESTART_COUNT=1");
    assert_string_equal(
        IDENTITY(NULL, "TORCHELASTIC_ERROR_FILE", "error.json", "WORLD_SIZE", "2", "LOCAL_WORLD_SIZE", "2"),
        "");
}

/* Each node's agent counts its own restarts. */
static void test_several_nodes_ignore_the_restart_count(void **state)
{
    assert_string_equal(IDENTITY(NULL, "TORCHELASTIC_RUN_ID", "abc", "WORLD_SIZE", "4", "LOCAL_WORLD_SIZE",
                                 "2", "TORCHELASTIC_RESTART_COUNT", "1"),
                        "TORCHELASTIC_RUN_ID=abc");
}

static void test_a_long_identity_is_cut(void **state)
{
    char longest[2 * TRAINING_JOB_BYTES];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(strlen(IDENTITY(longest, "RAY_JOB_ID", "1")), TRAINING_JOB_BYTES - 1);
}

static struct step_rules rules_of(enum steps_traced traced, enum sampler_kind sampler,
                                  const char *const *given)
{
    struct settings settings = {
        .sampler = sampler, .sampler_ratio = 0.5, .steps = {.traced = traced, .ratio = 1.0 / 64}};
    variables = given;
    return training_job_rules(&from, &settings);
}

static void test_which_processes_take_a_share(void **state)
{
    static const char *const job[] = {
        "RANK", "1", "LOCAL_RANK", "1", "WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", "a", NULL};
    static const char *const one[] = {
        "RANK", "0", "LOCAL_RANK", "0", "WORLD_SIZE", "1", "TORCHELASTIC_RUN_ID", "a", NULL};
    static const char *const unknown[] = {"RANK", "1", "LOCAL_RANK", "1", "WORLD_SIZE", "2", NULL};
    static const char *const nothing[] = {NULL};
    struct step_rules rules = rules_of(STEPS_AUTO, SAMPLER_ALWAYS_ON, job);
    assert_int_equal(rules.rank, 1);
    assert_int_equal(rules.world_size, 2);
    assert_true(rules.job != 0 && rules.is_limited && rules.always_first);
    assert_int_equal(rules.threshold, sampler_threshold(1.0 / 64));
    assert_false(rules_of(STEPS_AUTO, SAMPLER_ALWAYS_ON, one).is_limited);
    assert_false(rules_of(STEPS_AUTO, SAMPLER_ALWAYS_ON, unknown).is_limited);
    assert_int_equal(rules_of(STEPS_AUTO, SAMPLER_ALWAYS_ON, unknown).job, 0);
    assert_false(rules_of(STEPS_AUTO, SAMPLER_ALWAYS_ON, nothing).is_limited);
    assert_int_equal(rules_of(STEPS_AUTO, SAMPLER_ALWAYS_ON, nothing).rank, -1);
    assert_true(rules_of(STEPS_SAMPLED, SAMPLER_ALWAYS_ON, nothing).is_limited);
    assert_false(rules_of(STEPS_ALL, SAMPLER_ALWAYS_ON, job).is_limited);
    assert_int_equal(rules_of(STEPS_ALL, SAMPLER_TRACE_ID_RATIO, job).threshold, sampler_threshold(0.5));
    rules = rules_of(STEPS_AUTO, SAMPLER_ALWAYS_OFF, job);
    assert_int_equal(rules.threshold, SAMPLER_NEVER);
    assert_false(rules.always_first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_identities),
                                       cmocka_unit_test(test_the_users_identity_wins),
                                       cmocka_unit_test(test_an_identity_gives_itself),
                                       cmocka_unit_test(test_what_identifies_no_job),
                                       cmocka_unit_test(test_one_node),
                                       cmocka_unit_test(test_several_nodes_ignore_the_restart_count),
                                       cmocka_unit_test(test_a_long_identity_is_cut),
                                       cmocka_unit_test(test_which_processes_take_a_share)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
