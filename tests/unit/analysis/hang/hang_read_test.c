#include "analysis/hang/hang_read.h"

#include "cli/util/text.h"
#include "cli/util/xalloc.h"
#include "support/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct hang_model model;
static char folder[] = "/tmp/hang_read_test.XXXXXX";

static int begin(void **state)
{
    strcpy(folder, "/tmp/hang_read_test.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int clean(void **state)
{
    char command[64];
    hang_deinit(&model);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static struct hang_rank *add_full_rank(void)
{
    struct hang_rank *rank = hang_add(&model);
    struct hang_seat *seat = rank->seats = xcalloc(1, sizeof *rank->seats);
    *rank = (struct hang_rank){.rank = 3,
                               .world_size = 8,
                               .pid = 77,
                               .user = 1000,
                               .started_ticks = UINT64_MAX,
                               .host = hang_keep(&model, "node\"1"),
                               .where = HANG_STORAGE,
                               .end = HANG_DEAD,
                               .looked_ns = 5,
                               .function = hang_keep(&model, "read"),
                               .line = hang_keep(&model, "data.py:9"),
                               .watch = LIVE_STALLED,
                               .is_still = true,
                               .stalled_ns = 12,
                               .step = 4,
                               .gpu = HANG_GPU_COLLECTIVE,
                               .seats = seat,
                               .seat_count = 1};
    *seat = (struct hang_seat){.id = 0xf00df00df00df00d,
                               .enqueued = 9,
                               .completed = 7,
                               .is_exact = true,
                               .size = 4,
                               .rank = 2,
                               .local_ranks = 1,
                               .call_count = 2};
    seat->calls = xcalloc(2, sizeof *seat->calls);
    seat->calls[0] = (struct live_call_view){.number = 7,
                                             .ordinal = 6,
                                             .enqueued_ns = 1234567890123456789,
                                             .bytes = UINT64_MAX,
                                             .thread = 78,
                                             .peer = 1,
                                             .operation = COLLECTIVE_SEND,
                                             .datatype = 8,
                                             .flags = LIVE_RETURNED};
    seat->calls[1] = (struct live_call_view){.number = 8,
                                             .bytes = 4096,
                                             .peer = LIVE_NO_PEER,
                                             .operation = COLLECTIVE_UNKNOWN,
                                             .flags = LIVE_ENDED};
    return rank;
}

static void write_model(struct text *text)
{
    struct json_writer json = JSON_TEXT(text);
    json_write_object(&json, NULL);
    json_write_unsigned(&json, "cuspan_hang", 1);
    hang_write_ranks(&json, &model);
    json_write_object_end(&json);
}

static void expect_same_call(const struct live_call_view *a, const struct live_call_view *b)
{
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->ordinal, b->ordinal);
    assert_true(a->enqueued_ns == b->enqueued_ns && a->bytes == b->bytes);
    assert_int_equal(a->thread, b->thread);
    assert_int_equal(a->peer, b->peer);
    assert_int_equal(a->operation, b->operation);
    assert_int_equal(a->datatype, b->datatype);
    assert_int_equal(a->flags, b->flags);
}

static void test_json_keeps_everything(void **state)
{
    struct text text = {0};
    struct error err;
    add_full_rank();
    write_model(&text);
    text_add(&text, "\n");
    assert_int_equal(hang_read_json(&model, text.data, text.len, &err), STATUS_OK);
    text_deinit(&text);
    assert_int_equal(model.rank_count, 2);
    const struct hang_rank *a = &model.ranks[0], *b = &model.ranks[1];
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->world_size, b->world_size);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->user, b->user);
    assert_true(a->started_ticks == b->started_ticks);
    assert_ptr_equal(a->host, b->host);
    assert_int_equal(a->where, b->where);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->looked_ns, b->looked_ns);
    assert_ptr_equal(a->function, b->function);
    assert_ptr_equal(a->line, b->line);
    assert_int_equal(a->watch, b->watch);
    assert_int_equal(a->is_still, b->is_still);
    assert_int_equal(a->stalled_ns, b->stalled_ns);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->gpu, b->gpu);
    assert_int_equal(b->seat_count, 1);
    const struct hang_seat *one = &a->seats[0], *two = &b->seats[0];
    assert_true(one->id == two->id);
    assert_int_equal(one->enqueued, two->enqueued);
    assert_int_equal(one->completed, two->completed);
    assert_int_equal(one->is_exact, two->is_exact);
    assert_int_equal(one->size, two->size);
    assert_int_equal(one->rank, two->rank);
    assert_int_equal(one->local_ranks, two->local_ranks);
    assert_int_equal(two->call_count, 2);
    for (int i = 0; i < 2; i++)
        expect_same_call(&one->calls[i], &two->calls[i]);
}

static void test_documents_follow_each_other(void **state)
{
    char text[] = "{\"cuspan_hang\":1,\"ranks\":[{\"rank\":1}]}\n "
                  "\n{\"cuspan_hang\":1,\"jobs\":[],\"ranks\":[{},{}]}\n";
    struct error err;
    assert_int_equal(hang_read_json(&model, text, strlen(text), &err), STATUS_OK);
    assert_int_equal(model.rank_count, 3);
    assert_int_equal(model.ranks[0].rank, 1);
    assert_int_equal(model.ranks[2].rank, -1);
    assert_int_equal(model.ranks[2].where, HANG_UNKNOWN);
}

static void test_wrong_json(void **state)
{
    static const char *const wrong[] = {"",
                                        "  ",
                                        "{",
                                        "[]",
                                        "7",
                                        "{\"cuspan_hang\":2,\"ranks\":[]}",
                                        "{\"cuspan_hang\":1}",
                                        "{\"cuspan_hang\":1,\"ranks\":{}}",
                                        "{\"cuspan_hang\":1,\"ranks\":[]} nonsense"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error err = {""};
        char *text = xstrdup(wrong[i]);
        assert_int_equal(hang_read_json(&model, text, strlen(text), &err), STATUS_INVALID);
        assert_true(*err.text);
        free(text);
    }
    assert_int_equal(model.rank_count, 0);
}

static void test_values_of_other_types_are_unknown(void **state)
{
    char text[] =
        "{\"cuspan_hang\":1,\"ranks\":[7,{\"rank\":\"x\",\"where\":3,\"watch\":\"late\",\"pid\":1e300,"
        "\"host\":[],"
        "\"communicators\":[5,{\"id\":7,\"ranks\":-1,\"rank\":99999999999,\"calls\":[8,{\"operation\":3,"
        "\"peer\":-9,"
        "\"bytes\":\"x\"}]}]}]}";
    struct error err;
    assert_int_equal(hang_read_json(&model, text, strlen(text), &err), STATUS_OK);
    assert_int_equal(model.rank_count, 2);
    const struct hang_rank *rank = &model.ranks[1];
    assert_int_equal(rank->rank, -1);
    assert_int_equal(rank->where, HANG_UNKNOWN);
    assert_int_equal(rank->watch, LIVE_NOT_WATCHED);
    assert_int_equal(rank->seat_count, 2);
    assert_int_equal(rank->seats[1].rank, HANG_NONE);
    assert_int_equal(rank->seats[1].calls[1].operation, COLLECTIVE_UNKNOWN);
    assert_int_equal(rank->seats[1].calls[1].peer, LIVE_NO_PEER);
    assert_true(rank->seats[1].calls[1].bytes == UINT64_MAX);
}

static void test_words_of_places(void **state)
{
    struct text text = {0};
    struct error err;
    for (int i = 0; i < HANG_WHERE_COUNT; i++)
        hang_add(&model)->where = (enum hang_where)i;
    write_model(&text);
    assert_int_equal(hang_read_json(&model, text.data, text.len, &err), STATUS_OK);
    text_deinit(&text);
    for (int i = 0; i < HANG_WHERE_COUNT; i++)
        assert_int_equal(model.ranks[HANG_WHERE_COUNT + i].where, i);
    assert_int_equal(model.rank_count, 2 * HANG_WHERE_COUNT);
}

static void test_lists_are_bounded(void **state)
{
    struct text text = {0};
    struct error err;
    text_add(&text, "{\"cuspan_hang\":1,\"ranks\":[{\"communicators\":[");
    for (int s = 0; s < LIVE_COMMUNICATORS + 3; s++) {
        text_add(&text, s ? ",{\"calls\":[" : "{\"calls\":[");
        for (int i = 0; i < LIVE_ENTRIES + 3; i++)
            text_add(&text, i ? ",{}" : "{}");
        text_add(&text, "]}");
    }
    text_add(&text, "]}]}");
    assert_int_equal(hang_read_json(&model, text.data, text.len, &err), STATUS_OK);
    text_deinit(&text);
    assert_int_equal(model.ranks[0].seat_count, LIVE_COMMUNICATORS);
    assert_int_equal(model.ranks[0].seats[0].call_count, LIVE_ENTRIES);
}

/* Processes and files. */

static _Alignas(64) uint8_t memory[LIVE_STATE_BYTES];

static void write_state(int fd, int32_t pid, uint64_t ticks)
{
    live_state_reset();
    memset(memory, 0, sizeof memory);
    live_state_begin(memory, &(struct live_identity){pid, ticks, 1, 4});
    live_note_communicator(9, 4, 1, 1);
    assert_int_equal(write(fd, memory, sizeof memory), sizeof memory);
}

static const struct hang_rank *rank_of_process(int32_t pid)
{
    for (size_t i = 0; i < model.rank_count; i++)
        if (model.ranks[i].pid == pid)
            return &model.ranks[i];
    return NULL;
}

static void test_this_process_is_found(void **state)
{
    struct hang_host host = {0};
    int garbage = memfd_create(LIVE_STATE_NAME, 0), live = memfd_create(LIVE_STATE_NAME, 0);
    assert_int_equal(write(garbage, "x", 1), 1);
    write_state(live, getpid(), 0);
    hang_read_host(&model, "/proc", &host);
    const struct hang_rank *rank = rank_of_process(getpid());
    assert_non_null(rank);
    assert_int_equal(rank->rank, 1);
    assert_int_equal(rank->user, geteuid());
    assert_int_equal(rank->seats[0].id, 9);
    assert_true(host.found >= 1);
    close(garbage);
    close(live);
}

/* A forked child has the descriptor of its parent. */
static void test_an_inherited_state_is_not_the_process_s(void **state)
{
    struct hang_host host = {0};
    int live = memfd_create(LIVE_STATE_NAME, 0);
    write_state(live, getpid(), 1); /* started at another time */
    hang_read_host(&model, "/proc", &host);
    assert_null(rank_of_process(getpid()));
    close(live);
}

static int create(const char *name, int32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0);
    if (pid)
        write_state(file, pid, 1);
    return file;
}

static void test_files_of_ended_processes(void **state)
{
    char path[64];
    struct error err;
    close(create("5.live", 5));
    close(create("6.other", 6));
    assert_int_equal(write(create("7.live", 0), "damaged", 7), 7);
    snprintf(path, sizeof path, "%s/8.live", folder);
    assert_int_equal(symlink("5.live", path), 0);
    snprintf(path, sizeof path, "%s/9.live", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    hang_read_folder(&model, folder);
    assert_int_equal(model.rank_count, 1);
    assert_int_equal(model.ranks[0].pid, 5);
    assert_int_equal(model.ranks[0].end, HANG_DEAD);
    snprintf(path, sizeof path, "%s/5.live", folder);
    assert_int_equal(hang_read_file(&model, path, &err), STATUS_OK);
    assert_int_equal(model.rank_count, 2);
    hang_drop_repeated(&model);
    assert_int_equal(model.rank_count, 1);
}

static void test_a_report_adds_the_line(void **state)
{
    struct hang_rank *live = add_full_rank(), *report = hang_add(&model);
    live = &model.ranks[0];
    live->line = NULL;
    live->where = HANG_HOST;
    *report = (struct hang_rank){.rank = 3,
                                 .pid = live->pid,
                                 .host = live->host,
                                 .where = HANG_LOCK,
                                 .function = "no",
                                 .line = "a.py:7"};
    hang_add(&model)->pid = live->pid; /* on an unknown host: another process */
    hang_drop_repeated(&model);
    assert_int_equal(model.rank_count, 2);
    assert_string_equal(model.ranks[0].line, "a.py:7");
    assert_string_equal(model.ranks[0].function, "read");
    assert_int_equal(model.ranks[0].where, HANG_LOCK);
    assert_int_equal(model.ranks[0].seat_count, 1);
}

static void test_a_folder_that_others_write_to_is_skipped(void **state)
{
    close(create("5.live", 5));
    assert_int_equal(chmod(folder, 0770), 0);
    hang_read_folder(&model, folder);
    assert_int_equal(model.rank_count, 0);
    hang_read_folder(&model, "/nowhere");
}

static void test_wrong_files(void **state)
{
    struct error err;
    char path[64];
    assert_int_equal(hang_read_file(&model, "/nowhere", &err), STATUS_IO);
    assert_non_null(strstr(err.text, "cannot read /nowhere"));
    assert_int_equal(hang_read_file(&model, folder, &err), STATUS_IO);
    assert_int_equal(write(create("5.live", 0), LIVE_STATE_MAGIC " and no more", 20), 20);
    snprintf(path, sizeof path, "%s/5.live", folder);
    assert_int_equal(hang_read_file(&model, path, &err), STATUS_INVALID);
    assert_non_null(strstr(err.text, path));
}

static void test_places_in_the_kernel(void **state)
{
    assert_int_equal(hang_where_in_kernel('S', "futex_wait_queue", false), HANG_LOCK);
    assert_int_equal(hang_where_in_kernel('S', "do_poll.constprop.0", false), HANG_NETWORK);
    assert_int_equal(hang_where_in_kernel('S', "anon_pipe_read", false), HANG_LOADER);
    assert_int_equal(hang_where_in_kernel('S', "do_poll.constprop.0", true), HANG_LOADER);
    assert_int_equal(hang_where_in_kernel('D', "", false), HANG_STORAGE);
    assert_int_equal(hang_where_in_kernel('D', "folio_wait_bit_common", false), HANG_STORAGE);
    assert_int_equal(hang_where_in_kernel('R', "0", false), HANG_BUSY);
    assert_int_equal(hang_where_in_kernel('S', "hrtimer_nanosleep", false), HANG_HOST);
    assert_int_equal(hang_where_in_kernel('T', "do_signal_stop", true), HANG_STOPPED);
    assert_int_equal(hang_where_in_kernel('t', "ptrace_stop", false), HANG_STOPPED);
    assert_int_equal(hang_where_in_kernel('Z', "", false), HANG_DEAD);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_json_keeps_everything),
                                       TEST(test_documents_follow_each_other),
                                       TEST(test_wrong_json),
                                       TEST(test_values_of_other_types_are_unknown),
                                       TEST(test_words_of_places),
                                       TEST(test_lists_are_bounded),
                                       TEST(test_this_process_is_found),
                                       TEST(test_an_inherited_state_is_not_the_process_s),
                                       TEST(test_files_of_ended_processes),
                                       TEST(test_a_report_adds_the_line),
                                       TEST(test_a_folder_that_others_write_to_is_skipped),
                                       TEST(test_wrong_files),
                                       TEST(test_places_in_the_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
