#include "command/top/top_screen.h"

#include "support/test.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define S 1000000000ull

static struct top_agent rows[40];
static struct top_sample *const figures = &rows[0].figures, *const others = &rows[1].figures;
static struct top_poll poll;
static struct top_view view;
static struct top_screen screen;

static void put_kernel(const char *name, uint64_t count, uint64_t total_ns)
{
    struct top_kernel *kernel = &figures->kernels[figures->kernel_count++];
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->count = count;
    kernel->total_ns = total_ns;
}

static int setup(void **state)
{
    rows[0] = (struct top_agent){.pid = 4242, .program = "train.py", .state = "tracing", .has_figures = true};
    rows[1] = (struct top_agent){
        .pid = 4711, .program = "infer", .state = "tracing", .has_figures = true, .lost = 12345};
    poll = (struct top_poll){.agents = rows, .count = 2};
    figures->window_ns = 2 * S;
    figures->calls = 20000;
    figures->call_ns = S;
    figures->waiting_ns = S / 2;
    figures->launches = 3000;
    figures->spans = 100;
    figures->threads_ns = S / 50;
    figures->device_count = 1;
    figures->devices[0] = (struct top_device){.id = "GPU-a",
                                              .name = "NVIDIA H200",
                                              .index = 3,
                                              .busy_ns = 3 * S / 2,
                                              .kernels = 3000,
                                              .copy_bytes = 4ull << 30,
                                              .memory_live = 1ull << 30,
                                              .memory_peak = 3ull << 30};
    put_kernel("gemm", 1000, 3 * S / 4);
    put_kernel("add", 2000, S / 4);
    others->window_ns = 2 * S;
    others->calls = 4;
    view = (struct top_view){
        .poll = &poll, .interval_ms = 2000, .clock = "11:43:07", .columns = 120, .utf8 = true};
    return 0;
}

static int teardown(void **state)
{
    top_screen_deinit(&screen);
    return 0;
}

/* The first line that contains it; fails if there is none. */
static const struct top_line *line_with(const char *part)
{
    for (size_t i = 0; i < screen.count; i++)
        if (screen.lines[i].text.data && strstr(screen.lines[i].text.data, part))
            return &screen.lines[i];
    fail_msg("no line has \"%s\"", part);
    return NULL;
}

static bool has(const char *part)
{
    for (size_t i = 0; i < screen.count; i++)
        if (screen.lines[i].text.data && strstr(screen.lines[i].text.data, part))
            return true;
    return false;
}

static void test_rates(void **state)
{
    top_screen_make(&view, &screen);
    assert_string_equal(screen.lines[0].text.data, "cuspan top  11:43:07  2 agents, every 2 s");
    const char *row = line_with("> ")->text.data;
    assert_non_null(strstr(row, "4242 train.py"));
    assert_non_null(strstr(row, "10,000/s"));
    assert_non_null(strstr(row, "1,500/s"));
    assert_non_null(strstr(row, "50 %"));
    assert_non_null(strstr(row, "25 %"));
    assert_non_null(strstr(row, "75 %"));
    assert_non_null(strstr(row, "1 GiB"));
    const char *device = line_with("GPU 3")->text.data;
    assert_non_null(strstr(device, "███████████████░░░░░   75 %"));
    assert_non_null(strstr(device, "2 GiB/s copied  1 GiB live, peak 3 GiB  NVIDIA H200"));
    assert_true(has("callbacks - of a thread's time; threads 1.0 % of a CPU"));
}

static void test_losses_stand_out(void **state)
{
    view.selected = 0;
    top_screen_make(&view, &screen);
    assert_int_equal(line_with("4711")->style, TOP_WARNING);
    assert_true(has("12,345"));
    assert_int_equal(line_with("4242")->style, TOP_SELECTED);
}

static const char *first_kernel(void)
{
    for (size_t i = 0; i + 1 < screen.count; i++)
        if (screen.lines[i].text.data && strncmp(screen.lines[i].text.data, "KERNELS BY", 10) == 0)
            return screen.lines[i + 1].text.data;
    return "";
}

static void test_kernels_in_each_order(void **state)
{
    static const struct {
        enum top_sort sort;
        const char *first, *title;
    } orders[] = {{TOP_BY_TIME, "gemm", "KERNELS BY TIME"},
                  {TOP_BY_COUNT, "add", "KERNELS BY COUNT"},
                  {TOP_BY_AVERAGE, "gemm", "KERNELS BY AVERAGE"},
                  {TOP_BY_NAME, "add", "KERNELS BY NAME"}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        view.sort = orders[i].sort;
        top_screen_make(&view, &screen);
        assert_true(has(orders[i].title));
        assert_int_equal(strncmp(first_kernel(), orders[i].first, strlen(orders[i].first)), 0);
        top_screen_deinit(&screen);
    }
    view.sort = TOP_BY_TIME;
    top_screen_make(&view, &screen);
    assert_non_null(strstr(first_kernel(), "75 %"));
    assert_non_null(strstr(first_kernel(), "375 ms"));
    assert_non_null(strstr(first_kernel(), "500/s"));
    assert_non_null(strstr(first_kernel(), "750 µs"));
}

/* Two ranks of a job: the second one computes for 30 ms more, for which the other one waits. */
static void put_ranks(void)
{
    struct top_steps *first = &figures->steps, *second = &others->steps;
    *first = (struct top_steps){.is_there = true,
                                .job = "job",
                                .number = 130,
                                .kind = "train",
                                .count = 20,
                                .total_ns = 2 * S,
                                .sampled_count = 1,
                                .sampled = {{.number = 128,
                                             .is_whole = true,
                                             .compute_ns = 60000000,
                                             .exposed_ns = 35000000,
                                             .idle_ns = 5000000,
                                             .communication_ns = 40000000}}};
    *second = *first;
    second->rank = 1;
    second->number = 131;
    second->sampled[0].compute_ns = 90000000;
    second->sampled[0].exposed_ns = 5000000;
    second->sampled[0].communication_ns = 10000000;
}

static void test_ranks(void **state)
{
    put_ranks();
    view.columns = 80;
    top_screen_make(&view, &screen);
    assert_string_equal(line_with("STEP TIME")->text.data,
                        " RANK      PID       STEP STEP TIME   COMPUTE   EXPOSED      IDLE     DELAY");
    assert_string_equal(line_with("    0     4242")->text.data,
                        "    0     4242        130    100 ms   60.0 ms   35.0 ms   5.00 ms      0 ns");
    const struct top_line *late = line_with("    1     4711");
    assert_string_equal(late->text.data,
                        "    1     4711        131    100 ms   90.0 ms   5.00 ms   5.00 ms   30.0 ms late");
    assert_int_equal(late->style, TOP_WARNING);
    top_screen_deinit(&screen);
    view.columns = 120;
    snprintf(others->steps.kind, sizeof others->steps.kind, "evaluation");
    top_screen_make(&view, &screen);
    assert_true(has("late  evaluation"));
}

static void test_no_ranks(void **state)
{
    top_screen_make(&view, &screen);
    assert_false(has("STEP TIME"));
}

static void test_many_ranks(void **state)
{
    put_ranks();
    view.lines = 24;
    poll.count = 16;
    for (size_t i = 2; i < 16; i++) { /* ranks 0 and 1 again */
        rows[i] = rows[i % 2];
        rows[i].pid = 5000 + (long)i;
    }
    rows[15].figures = *others;
    top_screen_make(&view, &screen);
    assert_true(has("      and 7 more")); /* of the ranks; the late one is shown */
    assert_true(screen.count <= 24);
}

static void test_a_low_screen(void **state)
{
    figures->kernel_count = 0;
    for (int i = 0; i < 30; i++) {
        char name[32];
        snprintf(name, sizeof name, "kernel%02d", i);
        put_kernel(name, 1, (uint64_t)(100 - i));
    }
    view.has_keys = true;
    for (view.lines = 1; view.lines < 50; view.lines++) {
        top_screen_make(&view, &screen);
        assert_true(screen.count <= view.lines);
        assert_true(strncmp(screen.lines[screen.count - 1].text.data, "q quit", 6) == 0);
        top_screen_deinit(&screen);
    }
    view.lines = 24;
    top_screen_make(&view, &screen);
    assert_int_equal(screen.count, 24);
    assert_true(has("kernel00") && has("(others)") && !has("kernel29"));
}

static void test_every_width_holds(void **state)
{
    strcpy(rows[0].program, "a program with \xE5\x8F\x8C\xE5\xB9\x85 and \033[31m red \xff");
    for (view.columns = 1; view.columns <= 200; view.columns++) {
        top_screen_make(&view, &screen);
        for (size_t i = 0; i < screen.count; i++) {
            const char *text = screen.lines[i].text.data ? screen.lines[i].text.data : "";
            assert_true(text_columns(text, true) <= view.columns);
            assert_null(strchr(text, '\033'));
        }
        top_screen_deinit(&screen);
    }
    view.columns = 80;
    view.utf8 = false;
    top_screen_make(&view, &screen);
    for (size_t i = 0; i < screen.count; i++)
        for (const char *c = screen.lines[i].text.data; c && *c; c++)
            assert_true(*c >= ' ' && *c <= '~');
}

static void test_many_agents_scroll(void **state)
{
    for (size_t i = 0; i < 40; i++) {
        rows[i] = rows[1];
        rows[i].pid = 1000 + (long)i;
    }
    poll.count = 40;
    view.lines = 30;
    view.selected = 33;
    top_screen_make(&view, &screen);
    assert_int_equal(line_with("1033")->style, TOP_SELECTED);
    assert_true(has("and 30 more"));
    assert_false(has("1001 "));
}

static void test_all_together(void **state)
{
    view.selected = 2;
    top_screen_make(&view, &screen);
    assert_true(has("all agents"));
    assert_true(has("10,002/s, "));
    assert_false(has("> "));
}

static void test_without_figures_and_without_agents(void **state)
{
    rows[0].has_figures = false;
    strcpy(rows[0].why, "no sampled request is in flight");
    poll.count = 1;
    top_screen_make(&view, &screen);
    assert_true(has("no sampled request is in flight"));
    assert_false(has("KERNELS"));
    top_screen_deinit(&screen);
    poll.count = 0;
    top_screen_make(&view, &screen);
    assert_true(has("no agent is running"));
    assert_false(has("cuspan attach"));
    top_screen_deinit(&screen);
    view.untraced = "without an agent: x (PID 7); cuspan attach PID traces it";
    top_screen_make(&view, &screen);
    assert_true(has("cuspan attach PID"));
    view.untraced = NULL;
}

/* CUPTI's records arrive once a second: one interval may get those of two. */
static void test_never_busier_than_the_time(void **state)
{
    figures->devices[0].busy_ns = 3 * S;
    top_screen_make(&view, &screen);
    assert_non_null(strstr(line_with("GPU 3")->text.data, "████████████████████  100 %"));
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_losses_stand_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kernels_in_each_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_ranks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_low_screen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_width_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_agents_scroll, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_figures_and_without_agents, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never_busier_than_the_time, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
