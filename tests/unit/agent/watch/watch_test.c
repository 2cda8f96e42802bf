/* The thread of the hang watch, its file and its memory. */
#include "agent/watch/watch.h"

#include "agent/watch/live_file.h"
#include "agent/watch/live_memory.h"
#include "base/accounting/counters.h"
#include "base/clock.h"
#include "model/hang/live_reader.h"
#include "model/step.h"
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define AFTER_MS    200 /* looks every 40 ms */
#define PATIENCE_MS 20000

static char folder[] = "/tmp/cuspan-watch-XXXXXX";
static char folders[1][CONTROL_PATH_BYTES];
static struct live_view view;
static struct error err;

static int setup(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/cuspan-watch-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(folders[0], sizeof folders[0], "%s/run", folder);
    live_state_reset();
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    live_state_reset();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* In a child, because a process has one watch and never unmaps its memory. */
static void in_child(void (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static void pause_ms(unsigned ms)
{
    nanosleep(&(struct timespec){0, (long)(ms * NS_PER_MS)}, NULL);
}

/* Reports. */

static _Atomic unsigned reports, ended;
static _Atomic uint32_t calls_now;
static char last_body[512], last_state[16];

static void take_report(const struct log_record *brief, const struct log_record *full)
{
    CHECK(strcmp(brief->body, full->body) == 0);
    CHECK(brief->attr_count == full->attr_count && brief->attr_count > 0);
    snprintf(last_body, sizeof last_body, "%s", brief->body);
    snprintf(last_state, sizeof last_state, "%.*s", (int)brief->attrs[0].len, brief->attrs[0].s);
    ended += strcmp(last_state, "ended") == 0;
    const struct span_attr *report = &brief->attrs[brief->attr_count - 1];
    CHECK(strstr(last_state, "ended") || memmem(report->s, report->len, "\"GPU-1\"", 7));
    reports++;
}

static uint32_t find_calls(struct watch_call *calls)
{
    calls[0] = (struct watch_call){.thread = 5, .cbid = 131, .id = 7, .name = "cudaStreamSynchronize"};
    return calls_now;
}

static _Atomic unsigned flushes;

static void request_flush(void)
{
    flushes++;
}

static _Atomic unsigned gpu_requests;

static void ask_gpus(void)
{
    gpu_requests++;
}

static bool take_gpus(struct hardware *hardware)
{
    hardware->count = 1;
    hardware->gpus[0] = (struct gpu_hardware){.id = "GPU-1", .values[HARDWARE_FAILED] = 1};
    return gpu_requests > 0;
}

static const struct watch_options options = {.after_ns = AFTER_MS * NS_PER_MS,
                                             .rank = 1,
                                             .world_size = 2,
                                             .folders = folders,
                                             .folder_count = 1,
                                             .find_calls = find_calls,
                                             .ask_gpus = ask_gpus,
                                             .take_gpus = take_gpus,
                                             .request_flush = request_flush,
                                             .report = take_report};

static void wait_for(_Atomic unsigned *counter, unsigned value)
{
    for (unsigned ms = 0; *counter < value && ms < PATIENCE_MS; ms += 5)
        pause_ms(5);
    CHECK(*counter >= value);
}

static void enqueue(uint64_t ordinal)
{
    live_begin_call(&(struct live_start){.name = "ncclAllReduce",
                                         .name_bytes = 13,
                                         .communicator = 0xabc,
                                         .operation = COLLECTIVE_ALL_REDUCE,
                                         .ordinal = ordinal,
                                         .bytes = 64,
                                         .peer = LIVE_NO_PEER});
}

static const char *file_name(void)
{
    static char name[CONTROL_PATH_BYTES + 32];
    snprintf(name, sizeof name, "%s/%d.live", folders[0], (int)getpid());
    return name;
}

static void a_call_hangs(void)
{
    CHECK(watch_start(&options, &err) == STATUS_OK);
    enqueue(0);
    wait_for(&reports, 2); /* it begins, and lasts */
    CHECK(ended == 0);
    CHECK(strstr(last_body, "all_reduce 0 of communicator 0xabc") != NULL);
    int fd = open(file_name(), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && live_view_read(fd, &view, &err) == STATUS_OK);
    CHECK(view.has_look && view.watch == LIVE_STALLED && view.communicators[0].call_count == 1);
    CHECK(view.pid == getpid() && view.rank == 1 && view.started_ticks == live_memory_started_ticks());
    close(fd);
    live_return_from_call();
    enqueue(1);
    live_return_from_call();
    wait_for(&ended, 1);
    CHECK(strstr(last_body, "moves again") != NULL);
    watch_stop();
    fd = open(file_name(), O_RDONLY | O_CLOEXEC); /* others may wait for a rank that has ended */
    CHECK(fd >= 0 && live_view_read(fd, &view, &err) == STATUS_OK && view.watch == LIVE_OVER);
    close(fd);
}

static void test_a_call_hangs(void **state)
{
    in_child(a_call_hangs);
}

static void a_cuda_call_hangs(void)
{
    CHECK(watch_start(&options, &err) == STATUS_OK);
    calls_now = 1;
    wait_for(&reports, 1);
    CHECK(strstr(last_body, "thread 5 is in cudaStreamSynchronize") != NULL);
    watch_stop(); /* while it hangs: the file stays */
    int fd = open(file_name(), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && live_view_read(fd, &view, &err) == STATUS_OK);
    CHECK(view.watch == LIVE_STALLED && view.cuda_call_count == 1);
    CHECK(strcmp(view.cuda_calls[0].name, "cudaStreamSynchronize") == 0);
    CHECK(view.looked_ns - view.cuda_calls[0].since_ns >= AFTER_MS * NS_PER_MS);
    struct stat facts;
    CHECK(fstat(fd, &facts) == 0 && (facts.st_mode & 0777) == 0600 && facts.st_size <= LIVE_FILE_BYTES);
}

static void test_a_cuda_call_hangs(void **state)
{
    in_child(a_cuda_call_hangs);
}

/* A flush delivers records of work that ended long ago, so they are no movement. */
static void a_flush_moves_nothing(void)
{
    CHECK(watch_start(&options, &err) == STATUS_OK);
    calls_now = 1;
    wait_for(&flushes, 1);
    live_note_gpu_end(clock_now_ns() - 10 * NS_PER_SECOND);
    wait_for(&reports, 1);
    live_note_flush(&(struct live_flush){.began_ns = clock_monotonic_ns()});
    wait_for(&reports, 2);
    CHECK(ended == 0 && flushes == 1);
    int fd = open(file_name(), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && live_view_read(fd, &view, &err) == STATUS_OK);
    CHECK(view.exact_ns > 0 && view.stalls == 1);
    close(fd);
    live_note_gpu_end(clock_now_ns());
    wait_for(&ended, 1);
    wait_for(&flushes, 2); /* and once nothing moves again */
    watch_stop();
}

static void test_a_flush_moves_nothing(void **state)
{
    in_child(a_flush_moves_nothing);
}

/* The first calls of a program may take six times as long. */
static void a_call_takes_long(void)
{
    CHECK(watch_start(&options, &err) == STATUS_OK);
    calls_now = 1;
    wait_for(&flushes, 1);
    bool is_read = false;
    for (unsigned ms = 0; ms < PATIENCE_MS && (!is_read || view.watch <= LIVE_MOVING); ms += 5) {
        int fd = open(file_name(), O_RDONLY | O_CLOEXEC);
        is_read = live_view_read(fd, &view, &err) == STATUS_OK && view.has_look; /* it may be being written */
        close(fd);
        pause_ms(5);
    }
    CHECK(view.watch == LIVE_STILL || reports);
    CHECK(view.stalled_ns > 0 && view.looked_ns - view.stalled_ns >= options.after_ns);
    watch_stop();
}

static void test_a_call_that_takes_long_is_still(void **state)
{
    in_child(a_call_takes_long);
}

static void nothing_calls_nccl(void)
{
    CHECK(watch_start(&options, &err) == STATUS_OK);
    live_note_step(1, STEP_TRAIN);
    while (access(file_name(), F_OK) != 0)
        pause_ms(10);
    watch_stop();
    CHECK(access(file_name(), F_OK) != 0);
}

static void test_a_process_without_nccl_leaves_no_file(void **state)
{
    in_child(nothing_calls_nccl);
}

static void nothing_hangs(void)
{
    CHECK(watch_start(&options, &err) == STATUS_OK);
    enqueue(0);
    live_return_from_call();
    live_note_step(1, STEP_TRAIN);
    live_note_step(-1, STEP_NONE); /* idle from now on; the limit is 1.2 s */
    for (int i = 0; i < 4; i++)
        pause_ms(500);
    watch_stop();
    CHECK(reports == 0);
    CHECK(flushes == 1); /* others may wait for it: its collective is not known to have ended */
}

static void test_nothing_hangs(void **state)
{
    in_child(nothing_hangs);
}

/* The memory. */

static void memory_is_sealed(void)
{
    char path[64], target[64] = "";
    struct guarded_fd file;
    struct live_header *live = live_memory_begin(&(struct live_identity){.pid = getpid()}, &file);
    CHECK(live && file.number >= 0);
    CHECK(fcntl(file.number, F_GETFD) & FD_CLOEXEC);
    CHECK(ftruncate(file.number, 0) != 0 && errno == EPERM);
    CHECK(ftruncate(file.number, 2 * LIVE_STATE_BYTES) != 0);
    CHECK(fcntl(file.number, F_ADD_SEALS, F_SEAL_WRITE) != 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file.number);
    CHECK(readlink(path, target, sizeof target - 1) > 0);
    CHECK(strcmp(target, "/memfd:" LIVE_STATE_NAME " (deleted)") == 0);
    enqueue(3);
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(reader >= 0 && live_view_read(reader, &view, &err) == STATUS_OK);
    CHECK(view.communicators[0].calls[0].ordinal == 3);
    int writer = open(path, O_RDWR | O_CLOEXEC); /* only before Linux 5.1 */
    CHECK(writer < 0 || pwrite(writer, "x", 1, 0) < 0);
}

static void test_the_memory_is_sealed(void **state)
{
    in_child(memory_is_sealed);
}

static void without_large_files(void)
{
    struct guarded_fd file;
    struct rlimit limit = {4096, 4096};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0); /* SIGXFSZ would end the process */
    CHECK(live_memory_begin(&(struct live_identity){.pid = 1}, &file) != NULL);
    CHECK(file.number < 0);
    enqueue(0);
}

static void test_without_large_files_nobody_else_reads_it(void **state)
{
    in_child(without_large_files);
}

static void test_the_start_of_the_process(void **state)
{
    assert_true(live_memory_started_ticks() > 0);
}

/* The file. */

static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];

static void fill(uint64_t communicators, uint64_t calls)
{
    memset(memory, 0, sizeof memory);
    live_state_begin(memory, &(struct live_identity){.pid = 1});
    for (uint64_t id = 1; id <= communicators; id++)
        for (uint64_t i = 0; i < calls; i++) {
            live_begin_call(&(struct live_start){
                .communicator = id, .operation = COLLECTIVE_BROADCAST, .ordinal = i, .bytes = id});
            live_return_from_call();
        }
}

static void test_a_shortened_state_has_the_latest_calls(void **state)
{
    static _Alignas(64) uint8_t bytes[LIVE_FILE_BYTES];
    static const struct {
        uint32_t communicators, calls, kept;
    } cases[] = {{0, 0, 0}, {1, 100, 64}, {11, 100, 64}, {12, 100, 32}, {27, 20, 16}, {64, 100, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        live_state_reset();
        fill(cases[i].communicators, cases[i].calls);
        size_t size = live_file_shorten((const struct live_header *)(const void *)memory, bytes);
        assert_true(size <= LIVE_FILE_BYTES);
        assert_int_equal(live_view_of(bytes, bytes, size, &view, &err), STATUS_OK);
        assert_int_equal(view.communicator_count, cases[i].communicators);
        for (uint32_t n = 0; n < view.communicator_count; n++) {
            const struct live_communicator_view *found = &view.communicators[n];
            assert_int_equal(found->call_count, cases[i].kept);
            assert_int_equal(found->calls[found->call_count - 1].ordinal, cases[i].calls - 1);
            assert_int_equal(found->calls[0].ordinal, cases[i].calls - cases[i].kept);
            assert_int_equal(found->calls[0].bytes, found->id);
        }
    }
}

static void make_file_of(const char *name, time_t age_s, const void *bytes, size_t count)
{
    char path[CONTROL_PATH_BYTES + 64];
    mkdir(folders[0], 0700);
    snprintf(path, sizeof path, "%s/%s", folders[0], name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    struct timespec times[2] = {{time(NULL) - age_s, 0}, {time(NULL) - age_s, 0}};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void make_file(const char *name, time_t age_s)
{
    make_file_of(name, age_s, "", 0);
}

static bool has_file(const char *name)
{
    char path[CONTROL_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%s", folders[0], name);
    return access(path, F_OK) == 0;
}

static void test_old_files_of_ended_processes_go(void **state)
{
    struct live_file file;
    char own[32];
    snprintf(own, sizeof own, "%d.live", (int)getpid());
    make_file("99999999.live", 2 * 24 * 3600);
    make_file("99999998.live", 23 * 3600);
    fill(1, 1);
    ((struct live_header *)(void *)memory)->watch = LIVE_OVER;
    make_file_of("99999997.live", 3700, memory, sizeof memory);
    make_file_of("99999996.live", 3500, memory, sizeof memory);
    make_file("1.live", 2 * 24 * 3600); /* it lives */
    make_file("99999999.sock", 2 * 24 * 3600);
    make_file(own, 60);
    live_file_open(&file, folders, 1);
    assert_true(file.file.number >= 0);
    assert_false(has_file("99999999.live") || has_file("99999997.live"));
    assert_true(has_file("99999996.live"));
    assert_true(has_file("99999998.live") && has_file("1.live") && has_file("99999999.sock"));
    fill(1, 1);
    assert_true(live_file_write(&file, (const struct live_header *)(const void *)memory));
    live_file_close(&file, false);
    assert_false(has_file(own));
}

static void test_files_that_cannot_be_written(void **state)
{
    struct live_file file;
    char places[2][CONTROL_PATH_BYTES] = {"/proc/nowhere", ""};
    fill(1, 1);
    const struct live_header *live = (const struct live_header *)(const void *)memory;
    live_file_open(&file, places, 1);
    assert_int_equal(file.file.number, -1);
    assert_false(live_file_write(&file, live));
    live_file_close(&file, false);
    /* A folder that others can write to is refused; the next one serves. */
    snprintf(places[0], sizeof places[0], "%s", folder);
    assert_int_equal(chmod(folder, 0777), 0);
    snprintf(places[1], sizeof places[1], "%s", folders[0]);
    live_file_open(&file, places, 2);
    assert_string_equal(file.folder, folders[0]);
    /* The host closes the descriptor and opens a file of its own under the number. */
    int number = file.file.number;
    close(number);
    assert_int_equal(dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), number), number);
    assert_false(live_file_write(&file, live));
    live_file_close(&file, true);
    assert_int_equal(fcntl(number, F_GETFD) >= 0, 1);
    close(number);
}

static void test_a_planted_link_is_not_followed(void **state)
{
    struct live_file file;
    char target[CONTROL_PATH_BYTES + 16], link_name[CONTROL_PATH_BYTES + 32];
    make_file("target", 0);
    snprintf(target, sizeof target, "%s/target", folders[0]);
    snprintf(link_name, sizeof link_name, "%s/%d.live", folders[0], (int)getpid());
    assert_int_equal(symlink(target, link_name), 0);
    fill(1, 1);
    live_file_open(&file, folders, 1);
    assert_true(live_file_write(&file, (const struct live_header *)(const void *)memory));
    struct stat facts;
    assert_int_equal(stat(target, &facts), 0);
    assert_int_equal(facts.st_size, 0);
    live_file_close(&file, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_call_hangs),
        TEST(test_a_cuda_call_hangs),
        TEST(test_a_flush_moves_nothing),
        TEST(test_nothing_hangs),
        TEST(test_a_call_that_takes_long_is_still),
        TEST(test_a_process_without_nccl_leaves_no_file),
        TEST(test_the_memory_is_sealed),
        TEST(test_without_large_files_nobody_else_reads_it),
        TEST(test_the_start_of_the_process),
        TEST(test_a_shortened_state_has_the_latest_calls),
        TEST(test_old_files_of_ended_processes_go),
        TEST(test_files_that_cannot_be_written),
        TEST(test_a_planted_link_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
