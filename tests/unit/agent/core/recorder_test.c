#include "agent/core/pipeline/recorder.h"

#include "base/accounting/counters.h"
#include "agent/recording/recording.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <signal.h>
#include <sys/resource.h>

static char folder[] = "/tmp/cuspan-recorder-test-XXXXXX";
static char path[128];
static struct error err;

/* The agent has one recorder and keeps it for its path; this test destroys it. */
static uint64_t close_and_free(struct recorder *recorder)
{
    uint64_t events = recorder_close(recorder);
    free(recorder);
    return events;
}

static int setup_all(void **state)
{
    return mkdtemp(folder) ? 0 : 1;
}

static int teardown_all(void **state)
{
    return rmdir(folder);
}

static int setup(void **state)
{
    counters_reset();
    snprintf(path, sizeof path, "%s/recording", folder);
    return 0;
}

static void put_call(struct capture_sink *sink, uint64_t tid, const char *name)
{
    struct thread_info thread = {.tid = tid};
    struct call_record call = {.head = {sizeof call, RECORD_CALL, 2, 211}, .start_ns = 1000, .end_ns = 2000};
    snprintf(thread.name, sizeof thread.name, "%s", name);
    sink->on_call(sink->context, &thread, &call);
}

struct found {
    unsigned threads, calls, resources, activities, infos, losses;
    char last_thread[32], program[32], loss[32];
    uint64_t lost;
};

static struct found read_back(const char *from)
{
    struct recording *recording;
    struct recording_event event;
    struct found found = {0};
    enum status status;
    assert_int_equal(recording_open(from, &recording, &err), STATUS_OK);
    while ((status = recording_next(recording, &event, &err)) == STATUS_OK) {
        found.calls += event.type == RECORDING_CALL;
        found.resources += event.type == RECORDING_RESOURCE;
        found.activities += event.type == RECORDING_ACTIVITY;
        if (event.type == RECORDING_THREAD) {
            found.threads++;
            snprintf(found.last_thread, sizeof found.last_thread, "%s", event.name);
        } else if (event.type == RECORDING_INFO) {
            found.infos++;
            if (strcmp(event.name, RECORDING_INFO_PROGRAM) == 0)
                snprintf(found.program, sizeof found.program, "%s", event.text);
        } else if (event.type == RECORDING_LOSS) {
            found.losses++;
            found.lost += event.count;
            snprintf(found.loss, sizeof found.loss, "%s", event.name);
        }
    }
    assert_int_equal(status, STATUS_END);
    recording_close(recording);
    return found;
}

static void test_what_capture_hands_over_is_kept(void **state)
{
    struct recorder *recorder;
    struct settings settings = {0};
    struct capture_info info = {.api = "classic", .cupti_version_number = 130000};
    struct resource_record resource = {.head = {sizeof resource, RECORD_RESOURCE, 3, 1}, .time_ns = 900};
    struct activity_record activity = {.kind = 10, .present = 1, .start_ns = 5, .end_ns = 6};
    assert_int_equal(recorder_create(path, &recorder, &err), STATUS_OK);
    assert_string_equal(recorder_path(recorder), path);
    recorder_describe(recorder, &info, "program", &settings);
    struct capture_sink sink = recorder_sink(recorder);
    put_call(&sink, 1, "main");
    put_call(&sink, 1, "main");
    put_call(&sink, 2, "worker");
    put_call(&sink, 1, "renamed");
    sink.on_resource(sink.context, &(struct thread_info){.tid = 3, .name = "third"}, &resource);
    activity.values[0] = 10;
    sink.on_activity(sink.context, &activity);
    counter_add(COUNTER_lost_ring_full, 7);
    counter_add(COUNTER_spans_filtered, 9); /* not a loss */
    stderr_begin();
    uint64_t events = close_and_free(recorder);
    char *said = stderr_end();
    assert_string_equal(said, "");
    free(said);
    assert_true(events >= 4 + 4 + 1 + 1);
    struct found found = read_back(path);
    assert_int_equal(found.calls, 4);
    assert_int_equal(found.resources, 1);
    assert_int_equal(found.activities, 1);
    assert_int_equal(found.threads, 4); /* each recorded once, and again when renamed */
    assert_string_equal(found.last_thread, "third");
    assert_string_equal(found.program, "program");
    assert_int_equal(found.losses, 1);
    assert_int_equal(found.lost, 7);
    assert_string_equal(found.loss, "lost_ring_full");
    unlink(path);
}

/* "KEY=VALUE;" of each INFO event, and the numbers of the steps. */
static void read_job(char text[512])
{
    struct recording *recording;
    struct recording_event event;
    size_t used = 0;
    assert_int_equal(recording_open(path, &recording, &err), STATUS_OK);
    while (recording_next(recording, &event, &err) == STATUS_OK && used < 400)
        if (event.type == RECORDING_INFO)
            used += (size_t)snprintf(text + used, 512 - used, "%s=%s;", event.name, event.text);
        else if (event.type == RECORDING_STEP)
            used += (size_t)snprintf(text + used, 512 - used, "step %d;", (int)event.step->number);
    recording_close(recording);
    unlink(path);
}

static void test_the_job_and_its_steps_are_kept(void **state)
{
    char text[512] = "";
    struct recorder *recorder;
    struct resource resource = {0};
    struct settings settings = {.steps = {.traced = STEPS_SAMPLED, .ratio = 1.0 / 64}};
    assert_int_equal(resource_set_int(&resource, "cuda.process.rank", 3), STATUS_OK);
    assert_int_equal(resource_set_int(&resource, "cuda.process.world_size", 8), STATUS_OK);
    assert_int_equal(resource_set_string(&resource, "host.name", "node-1"), STATUS_OK);
    assert_int_equal(resource_set_string(&resource, "service.name", "private"), STATUS_OK);
    assert_int_equal(recorder_create(path, &recorder, &err), STATUS_OK);
    recorder_describe_job(recorder, &resource, "TORCHELASTIC_RUN_ID=a", &settings);
    struct capture_sink sink = recorder_sink(recorder);
    sink.on_step(sink.context, &(struct step_boundary){.time = 5, .number = 41});
    close_and_free(recorder);
    read_job(text);
    assert_string_equal(
        text, "host.name=node-1;cuda.process.rank=3;cuda.process.world_size=8;"
              "job=TORCHELASTIC_RUN_ID=a;steps.traced=sampled;steps.ratio=0.015625;engine.ratio=0;step 41;");
    resource_deinit(&resource);
}

static void test_a_process_without_a_job(void **state)
{
    char text[512] = "";
    struct recorder *recorder;
    struct resource resource = {0};
    struct settings settings = {.steps = {.traced = STEPS_ALL, .ratio = 1}};
    assert_int_equal(recorder_create(path, &recorder, &err), STATUS_OK);
    recorder_describe_job(recorder, &resource, "", &settings);
    close_and_free(recorder);
    read_job(text);
    assert_string_equal(text, "steps.traced=all;steps.ratio=1;engine.ratio=0;");
}

static void test_a_second_process_gets_a_file_of_its_own(void **state)
{
    struct recorder *first, *second;
    char own[160];
    snprintf(own, sizeof own, "%s.%d", path, (int)getpid());
    assert_int_equal(recorder_create(path, &first, &err), STATUS_OK);
    assert_int_equal(recorder_create(path, &second, &err), STATUS_OK);
    assert_string_equal(recorder_path(second), own);
    struct capture_sink sink = recorder_sink(second);
    put_call(&sink, 1, "main");
    close_and_free(first);
    close_and_free(second);
    assert_int_equal(read_back(path).calls, 0);
    assert_int_equal(read_back(own).calls, 1);
    unlink(path);
    unlink(own);
}

static void test_a_folder_that_is_not_there(void **state)
{
    struct recorder *recorder = NULL;
    assert_int_not_equal(recorder_create("/nowhere/recording", &recorder, &err), STATUS_OK);
    assert_null(recorder);
    assert_non_null(strstr(err.text, "/nowhere/recording"));
}

/* A limit on the file size simulates a full disk. */
static void test_a_full_disk_is_told_and_counted(void **state)
{
    struct recorder *recorder;
    struct rlimit before, little = {4096, RLIM_INFINITY};
    assert_int_equal(recorder_create(path, &recorder, &err), STATUS_OK);
    struct capture_sink sink = recorder_sink(recorder);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    little.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    srand(1);
    char *said;
    stderr_begin();
    for (int i = 0; i < 200000; i++) {
        struct thread_info thread = {.tid = (uint64_t)rand()}; /* random, because it does not compress well */
        struct call_record call = {.head = {sizeof call, RECORD_CALL, 2, 211}};
        call.start_ns = (uint64_t)rand() << 20;
        call.end_ns = call.start_ns + (uint64_t)rand();
        call.correlation_id = (uint32_t)rand();
        sink.on_call(sink.context, &thread, &call);
    }
    close_and_free(recorder);
    setrlimit(RLIMIT_FSIZE, &before);
    said = stderr_end();
    if (times_in(said, "cannot write the recording") != 1)
        fail_msg("said: %s", said);
    assert_int_equal(times_in(said, "is not complete"), 1);
    assert_true(counter_get(COUNTER_lost_recording) > 100000);
    free(said);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_capture_hands_over_is_kept, setup),
        cmocka_unit_test_setup(test_the_job_and_its_steps_are_kept, setup),
        cmocka_unit_test_setup(test_a_process_without_a_job, setup),
        cmocka_unit_test_setup(test_a_second_process_gets_a_file_of_its_own, setup),
        cmocka_unit_test_setup(test_a_folder_that_is_not_there, setup),
        cmocka_unit_test_setup(test_a_full_disk_is_told_and_counted, setup),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
