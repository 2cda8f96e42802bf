/* The thread that reads samples, with a fake CUPTI: aggregation, gaps, refusals, and the end of the
 * thread. */
#include "agent/capture/hardware/pm_sampling.h"

#include "base/clock.h"
#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/capture/hardware/pm_sampler.h"
#include "support/test.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS (1 * NS_PER_MS)

struct made_sample {
    uint64_t start_ns, end_ns;
    double values[2];
};

static struct {
    _Atomic int asked, opened, started, stopped, disabled, readings;
    _Atomic uint32_t refusal; /* from the list of counters */
    _Atomic uint32_t broken;  /* from reads */
    _Atomic int full;         /* reads that find the buffer full */
    _Atomic bool hangs;       /* the next read blocks forever */
    _Atomic size_t passes;
    _Atomic bool goes_by_cycles;
    _Atomic uint64_t cycles;
    const struct made_sample *samples; /* returned by the next read */
    _Atomic size_t count;
    size_t in_image;
} chip;

static uint32_t supported(struct profiler_device_supported *params)
{
    assert_int_equal(params->api, PROFILER_API_SAMPLES);
    params->isSupported = PROFILER_SUPPORTED;
    return CUPTI_OK;
}

static uint32_t name(struct profiler_chip_name *params)
{
    params->pChipName = "XY100";
    return CUPTI_OK;
}

static uint32_t initialize(struct profiler_initialize *params)
{
    (void)params;
    return CUPTI_OK;
}

static uint32_t availability(struct pm_sampling_availability *params)
{
    params->counterAvailabilityImageSize = 8;
    uint32_t result = chip.refusal;
    chip.asked++;
    return result;
}

static uint32_t host(struct profiler_host_initialize *params)
{
    assert_int_equal(params->profilerType, PROFILER_SAMPLES);
    params->pHostObject = (profiler_host_handle)&chip;
    return CUPTI_OK;
}

static uint32_t host_end(struct profiler_host_deinitialize *params)
{
    (void)params;
    return CUPTI_OK;
}

static uint32_t add(struct profiler_add_metrics *params)
{
    return strcmp(params->ppMetricNames[0], "no__such.sum") == 0 ? CUPTI_INVALID_METRIC_NAME : CUPTI_OK;
}

static uint32_t config_size(struct profiler_config_size *params)
{
    params->configImageSize = 8;
    return CUPTI_OK;
}

static uint32_t config(struct profiler_config_image *params)
{
    (void)params;
    return CUPTI_OK;
}

static uint32_t passes(struct profiler_passes *params)
{
    params->numOfPasses = chip.passes;
    return CUPTI_OK;
}

static uint32_t evaluate(struct profiler_evaluate *params)
{
    memcpy(params->pMetricValues, chip.samples[params->rangeIndex].values,
           params->numMetrics * sizeof(double));
    return CUPTI_OK;
}

static uint32_t enable(struct pm_sampling_enable *params)
{
    params->pPmSamplingObject = (pm_sampling_handle)&chip;
    chip.opened++;
    return CUPTI_OK;
}

static uint32_t disable(struct pm_sampling_call *params)
{
    (void)params;
    chip.disabled++;
    return CUPTI_OK;
}

static uint32_t set_config(struct pm_sampling_set_config *params)
{
    if (params->triggerMode == PM_SAMPLING_CYCLES) {
        chip.cycles = params->samplingInterval;
        return CUPTI_OK;
    }
    assert_int_equal(params->samplingInterval, INTERVAL_NS);
    return chip.goes_by_cycles ? CUPTI_NOT_SUPPORTED : CUPTI_OK;
}

static uint32_t start(struct pm_sampling_call *params)
{
    (void)params;
    chip.started++;
    return CUPTI_OK;
}

static uint32_t stop(struct pm_sampling_call *params)
{
    (void)params;
    chip.stopped++;
    return CUPTI_OK;
}

static uint32_t data_size(struct pm_sampling_data_size *params)
{
    params->counterDataSize = 8;
    return CUPTI_OK;
}

static uint32_t clear(struct pm_sampling_data_initialize *params)
{
    (void)params;
    chip.in_image = 0;
    return CUPTI_OK;
}

static uint32_t decode(struct pm_sampling_decode *params)
{
    chip.readings++;
    while (chip.hangs)
        pause();
    if (chip.broken)
        return chip.broken;
    params->decodeStopReason = PM_SAMPLING_END_OF_RECORDS;
    params->overflow = chip.full > 0;
    if (params->overflow) {
        chip.full--;
        return CUPTI_OUT_OF_MEMORY;
    }
    chip.in_image = atomic_exchange(&chip.count, 0);
    return CUPTI_OK;
}

static uint32_t data_info(struct pm_sampling_data_info *params)
{
    params->numCompletedSamples = chip.in_image;
    return CUPTI_OK;
}

static uint32_t sample_info(struct pm_sampling_sample_info *params)
{
    params->startTimestamp = chip.samples[params->sampleIndex].start_ns;
    params->endTimestamp = chip.samples[params->sampleIndex].end_ns;
    return CUPTI_OK;
}

static uint32_t result_text(uint32_t result, const char **text)
{
    (void)result;
    *text = "it failed";
    return CUPTI_OK;
}

static const struct cupti cupti = {.path = "/libcupti.so", .cuptiGetResultString = result_text};
static char *names[] = {"dram.read", "dram.utilization"};
static struct settings settings;

static int set_up(void **state)
{
    profiler_calls = (struct profiler_calls){.cupti = &cupti,
                                             .cuptiProfilerInitialize = initialize,
                                             .cuptiProfilerDeviceSupported = supported,
                                             .cuptiDeviceGetChipName = name,
                                             .cuptiProfilerHostInitialize = host,
                                             .cuptiProfilerHostDeinitialize = host_end,
                                             .cuptiProfilerHostConfigAddMetrics = add,
                                             .cuptiProfilerHostGetConfigImageSize = config_size,
                                             .cuptiProfilerHostGetConfigImage = config,
                                             .cuptiProfilerHostGetNumOfPasses = passes,
                                             .cuptiProfilerHostEvaluateToGpuValues = evaluate,
                                             .cuptiPmSamplingGetCounterAvailability = availability,
                                             .cuptiPmSamplingEnable = enable,
                                             .cuptiPmSamplingDisable = disable,
                                             .cuptiPmSamplingSetConfig = set_config,
                                             .cuptiPmSamplingStart = start,
                                             .cuptiPmSamplingStop = stop,
                                             .cuptiPmSamplingDecodeData = decode,
                                             .cuptiPmSamplingGetCounterDataSize = data_size,
                                             .cuptiPmSamplingCounterDataImageInitialize = clear,
                                             .cuptiPmSamplingGetCounterDataInfo = data_info,
                                             .cuptiPmSamplingCounterDataGetSampleInfo = sample_info};
    memset(&chip, 0, sizeof chip);
    chip.passes = 1;
    memset(&settings, 0, sizeof settings);
    settings.metrics.is_on = true;
    settings.counters.sampling.metrics.patterns = names;
    settings.counters.sampling.metrics.count = 2;
    settings.counters.sampling.interval_us = INTERVAL_NS / 1000;
    return 0;
}

static void wait_until(_Atomic int *count, int least)
{
    while (*count < least)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* Returns after the next read has delivered these samples and another has started. */
static void hand_out(const struct made_sample *samples, size_t count)
{
    chip.samples = samples;
    chip.count = count;
    int before = chip.readings;
    wait_until(&chip.readings, before + 3);
}

/* Devices used in one test stay in use in the next; a device that failed stays failed. */
static void begin(uint32_t device)
{
    pm_sampling_start(&settings, &cupti);
    pm_sampling_follow(true);
    pm_sampling_use(device);
}

static void end(void)
{
    static struct pm_sampled left[PM_SAMPLED_MAX];
    pm_sampling_stop(false);
    (void)pm_sampling_take(left);
}

static const struct made_sample three[] = {{0, 1000000, {9e9, 9e9}}, /* unknown duration */
                                           {1000000, 2000000, {1000, 10}},
                                           {2000000, 5000000, {6000, 70}}};

static void test_levels_are_by_time(void **state)
{
    struct pm_sampled sampled[PM_SAMPLED_MAX];
    uint64_t samples = counter_get(COUNTER_gpu_samples), lost = counter_get(COUNTER_gpu_samples_lost);
    begin(3);
    wait_until(&chip.started, 1);
    hand_out(three, 3);
    assert_int_equal(pm_sampling_take(sampled), 2);
    assert_int_equal(sampled[0].device, 3);
    assert_int_equal(sampled[0].metric, 0);
    assert_int_equal(sampled[0].samples, 2);
    assert_true(sampled[0].min == 1e6 && sampled[0].max == 2e6); /* 1000 in 1 ms, 6000 in 3 ms */
    assert_true(sampled[0].mean == 1.75e6);
    assert_int_equal(sampled[1].metric, 1);
    assert_true(sampled[1].min == 0.1 && sampled[1].max == 0.7);
    assert_true(sampled[1].mean > 0.5499 && sampled[1].mean < 0.5501);
    assert_int_equal(pm_sampling_take(sampled), 0); /* starts again */
    assert_int_equal(counter_get(COUNTER_gpu_samples), samples + 2);
    assert_int_equal(counter_get(COUNTER_gpu_samples_lost), lost);
    end();
}

static void test_gaps_are_counted(void **state)
{
    static const struct made_sample first[] = {{0, 1000000, {1, 1}}, {1000000, 2000000, {1, 1}}};
    static const struct made_sample then[] = {{0, 0, {1, 1}}, /* lost its time */
                                              {3000000, 4000000, {1, 1}},
                                              {9000000, 10000000, {1, 1}}};
    uint64_t samples = counter_get(COUNTER_gpu_samples), lost = counter_get(COUNTER_gpu_samples_lost);
    begin(3);
    wait_until(&chip.started, 1);
    hand_out(first, 2);
    hand_out(then, 3);
    assert_int_equal(counter_get(COUNTER_gpu_samples), samples + 3);
    assert_int_equal(counter_get(COUNTER_gpu_samples_lost), lost + 1 + 5);
    end();
}

static void test_a_full_buffer_is_begun_anew(void **state)
{
    static const struct made_sample later[] = {{0, 12000000, {1, 1}}, {12000000, 13000000, {1, 1}}};
    uint64_t lost = counter_get(COUNTER_gpu_samples_lost);
    begin(3);
    wait_until(&chip.started, 1);
    hand_out(three, 3);
    chip.full = 1;
    wait_until(&chip.started, 2);
    assert_int_equal(chip.disabled, 1);
    hand_out(later, 2);
    assert_int_equal(counter_get(COUNTER_gpu_samples_lost), lost + 6); /* from 5 to 11 ms */
    end();
}

static void test_what_is_no_number_is_left_out(void **state)
{
    static const struct made_sample odd[] = {{1000000, 2000000, {0.0 / 0.0, 50}}};
    struct pm_sampled sampled[PM_SAMPLED_MAX];
    begin(3);
    wait_until(&chip.started, 1);
    hand_out(odd, 1);
    assert_int_equal(pm_sampling_take(sampled), 1);
    assert_int_equal(sampled[0].metric, 1);
    end();
}

static void test_a_chip_that_goes_by_cycles(void **state)
{
    struct pm_sampled sampled[PM_SAMPLED_MAX];
    chip.goes_by_cycles = true;
    begin(3);
    wait_until(&chip.started, 1);
    assert_int_equal(chip.cycles, 1410 * 1000);
    hand_out(three, 3);
    assert_int_equal(pm_sampling_take(sampled), 2);
    end();
}

static void test_what_can_not_be_sampled_is_not_tried_again(void **state)
{
    chip.refusal = CUPTI_HARDWARE_BUSY;
    begin(3);
    wait_until(&chip.asked, 1);
    chip.refusal = CUPTI_OK;
    nanosleep(&(struct timespec){0, 200 * 1000000}, NULL);
    assert_int_equal(chip.opened, 0);
    pm_sampling_use(8); /* another device can */
    wait_until(&chip.started, 1);
    chip.broken = CUPTI_UNKNOWN;
    wait_until(&chip.disabled, 1);
    chip.broken = CUPTI_OK;
    nanosleep(&(struct timespec){0, 200 * 1000000}, NULL);
    assert_int_equal(chip.opened, 1);
    end();
}

static bool is_never(void)
{
    return false;
}

/* True from the third step on. */
static bool is_cancelled_later(void)
{
    static int asked;
    return ++asked > 2;
}

static void test_an_opening_that_is_cancelled(void **state)
{
    struct pm_sampler *sampler = NULL;
    struct error err;
    int opened = chip.opened, asked = chip.asked;
    assert_int_equal(pm_sampler_open(0, &settings.counters.sampling.metrics, INTERVAL_NS, is_cancelled_later,
                                     &sampler, &err),
                     STATUS_END);
    assert_null(sampler);
    assert_int_equal(chip.opened, opened);
    assert_true(chip.asked > asked);
}

static void expect_refusal(enum status status, const char *text)
{
    struct pm_sampler *sampler = NULL;
    struct error err;
    assert_int_equal(
        pm_sampler_open(0, &settings.counters.sampling.metrics, INTERVAL_NS, is_never, &sampler, &err),
        status);
    assert_non_null(strstr(err.text, text));
    assert_null(sampler);
    assert_int_equal(chip.opened, chip.disabled);
}

static void test_refusals_say_what_to_do(void **state)
{
    chip.passes = 3;
    expect_refusal(STATUS_INVALID, "XY100 can sample these 2 metrics only in 3 passes");
    chip.passes = 1;
    chip.refusal = CUPTI_INSUFFICIENT_PRIVILEGES;
    expect_refusal(STATUS_UNAVAILABLE, "NVreg_RestrictProfilingToAdminUsers=0");
    chip.refusal = CUPTI_HARDWARE_BUSY;
    expect_refusal(STATUS_UNAVAILABLE, "another tool");
    chip.refusal = CUPTI_OK;
    char *wrong[] = {"dram.read", "no__such.sum"};
    settings.counters.sampling.metrics.patterns = wrong;
    expect_refusal(STATUS_INVALID, "XY100 has no metric \"no__such.sum\"");
    profiler_calls.cuptiPmSamplingCounterDataGetSampleInfo = NULL;
    expect_refusal(STATUS_UNSUPPORTED, "CUDA 12.6 or later");
}

static void test_only_where_metrics_leave(void **state)
{
    settings.metrics.is_on = false;
    begin(3);
    settings.metrics.is_on = true;
    settings.counters.metrics = settings.counters.sampling.metrics; /* kernels use the counters */
    begin(3);
    nanosleep(&(struct timespec){0, 100 * 1000000}, NULL);
    assert_int_equal(chip.opened, 0);
    end();
}

static void test_not_while_the_program_is_not_traced(void **state)
{
    begin(3);
    wait_until(&chip.started, 1);
    pm_sampling_follow(false);
    wait_until(&chip.disabled, 1);
    int readings = chip.readings;
    nanosleep(&(struct timespec){0, 200 * 1000000}, NULL);
    assert_int_equal(chip.readings, readings); /* it is paused */
    pm_sampling_follow(true);
    wait_until(&chip.started, 2);
    end();
    assert_int_equal(chip.stopped, 2);
    assert_int_equal(chip.disabled, 2);
}

static void test_the_end_reads_the_rest(void **state)
{
    struct pm_sampled sampled[PM_SAMPLED_MAX];
    begin(11); /* a device that stays open */
    wait_until(&chip.readings, 2);
    chip.samples = three;
    chip.count = 3;
    pm_sampling_stop(true);
    assert_int_equal(pm_sampling_take(sampled), 2);
    assert_int_equal(chip.disabled, 0); /* left to the process exit */
    int readings = chip.readings;
    nanosleep(&(struct timespec){0, 200 * 1000000}, NULL);
    assert_int_equal(chip.readings, readings);
}

static void test_again_after_giving_way(void **state)
{
    begin(3);
    wait_until(&chip.started, 1);
    pm_sampling_stop(false);
    assert_int_equal(chip.disabled, chip.opened);
    int opened = chip.opened;
    pm_sampling_start(&settings, &cupti); /* samples the same devices again */
    wait_until(&chip.opened, opened + 1);
    end();
}

/* Must be last: sampling stays off in this process. */
static void test_a_thread_that_cupti_holds_is_left(void **state)
{
    begin(13);
    wait_until(&chip.readings, 1);
    chip.hangs = true;
    int before = chip.readings;
    wait_until(&chip.readings, before + 1);
    pm_sampling_stop(true); /* would hang here */
    int opened = chip.opened;
    begin(14);
    nanosleep(&(struct timespec){0, 100 * 1000000}, NULL);
    assert_int_equal(chip.opened, opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_levels_are_by_time, set_up),
        cmocka_unit_test_setup(test_gaps_are_counted, set_up),
        cmocka_unit_test_setup(test_a_full_buffer_is_begun_anew, set_up),
        cmocka_unit_test_setup(test_what_is_no_number_is_left_out, set_up),
        cmocka_unit_test_setup(test_a_chip_that_goes_by_cycles, set_up),
        cmocka_unit_test_setup(test_an_opening_that_is_cancelled, set_up),
        cmocka_unit_test_setup(test_refusals_say_what_to_do, set_up),
        cmocka_unit_test_setup(test_only_where_metrics_leave, set_up),
        cmocka_unit_test_setup(test_not_while_the_program_is_not_traced, set_up),
        cmocka_unit_test_setup(test_again_after_giving_way, set_up),
        cmocka_unit_test_setup(test_what_can_not_be_sampled_is_not_tried_again, set_up),
        cmocka_unit_test_setup(test_the_end_reads_the_rest, set_up),
        cmocka_unit_test_setup(test_a_thread_that_cupti_holds_is_left, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
