#include "agent/correlate/join/graphs.h"

#include "support/test.h"

#include <string.h>

enum { NODE_CREATED = 13, EXEC_CREATED = 18, NODE_CLONED = 20 };

static struct graphs *graphs;

static int setup(void **state)
{
    return graphs_create(true, true, &graphs) != STATUS_OK;
}

static int teardown(void **state)
{
    graphs_destroy(graphs);
    return 0;
}

/* --- how many nodes --- */

static void instantiate(uint64_t exec, uint32_t nodes, uint64_t time_ns)
{
    struct resource_record record = {
        .head.cbid = EXEC_CREATED, .handle = exec, .nodes = nodes, .time_ns = time_ns};
    assert_true(graphs_note(graphs, 1, &record));
}

static void launch(uint32_t correlation_id, uint64_t exec, uint64_t start_ns)
{
    union {
        struct call_record record;
        uint64_t words[sizeof(struct call_record) / 8 + 2];
    } call = {.record = {.correlation_id = correlation_id, .start_ns = start_ns, .present = 3}};
    call.words[sizeof(struct call_record) / 8] = exec;
    graphs_launch(graphs, &call.record);
}

static void test_a_launch_has_the_nodes_of_its_graph(void **state)
{
    instantiate(0xe0, 6, 100);
    instantiate(0xe1, 7, 100);
    launch(1, 0xe0, 200);
    launch(2, 0xe1, 200);
    launch(3, 0xe2, 200);
    assert_int_equal(graphs_nodes_launched(graphs, 1), 6);
    assert_int_equal(graphs_nodes_launched(graphs, 2), 7);
    assert_int_equal(graphs_nodes_launched(graphs, 3), 0);
    assert_int_equal(graphs_nodes_launched(graphs, 4), 0);
    assert_int_equal(graphs_nodes_launched(graphs, 0), 0);
    assert_int_equal(graphs_nodes_launched(graphs, 1 + 4096), 0); /* another one in the same slot */
    struct call_record bare = {.correlation_id = 5};              /* parameters are disabled */
    graphs_launch(graphs, &bare);
    assert_int_equal(graphs_nodes_launched(graphs, 5), 0);
}

/* Another thread's ring was drained first. */
static void test_the_launch_may_be_told_before_the_graph(void **state)
{
    launch(1, 0xe0, 200);
    instantiate(0xe0, 6, 100);
    assert_int_equal(graphs_nodes_launched(graphs, 1), 6);
}

static void test_a_handle_that_is_given_again(void **state)
{
    instantiate(0xe0, 6, 100);
    launch(1, 0xe0, 200);
    launch(2, 0xe0, 400); /* of the new graph, which is reported later */
    instantiate(0xe0, 9, 300);
    launch(3, 0xe0, 500);
    assert_int_equal(graphs_nodes_launched(graphs, 1), 6);
    assert_int_equal(graphs_nodes_launched(graphs, 2), 9);
    assert_int_equal(graphs_nodes_launched(graphs, 3), 9);
}

static void test_the_table_of_graphs_is_bounded(void **state)
{
    for (uint64_t i = 1; i <= 100000; i++)
        instantiate(0x7f0000000000 + 0x140 * i, (uint32_t)i, i);
    uint32_t known = 0;
    for (uint64_t i = 99001; i <= 100000; i++) {
        launch((uint32_t)i, 0x7f0000000000 + 0x140 * i, 200000);
        known += graphs_nodes_launched(graphs, (uint32_t)i) == i;
    }
    assert_in_range(known, 950, 1000); /* a few were evicted by others of their set */
    launch(1, 0x7f0000000000 + 0x140 * 100000, 200000);
    launch(2, 0x7f0000000000 + 0x140, 200000);
    assert_int_equal(graphs_nodes_launched(graphs, 1), 100000);
    assert_int_equal(graphs_nodes_launched(graphs, 2), 0);
}

/* --- which call --- */

static void created(uint64_t tid, uint64_t first, uint32_t nodes, uint64_t time_ns)
{
    struct resource_record record = {
        .head.cbid = NODE_CREATED, .handle = first, .nodes = nodes, .time_ns = time_ns};
    assert_true(graphs_note(graphs, tid, &record));
}

static void cloned(uint64_t first, uint32_t nodes, uint64_t original)
{
    struct resource_record record = {
        .head.cbid = NODE_CLONED, .handle = first, .nodes = nodes, .original = original};
    assert_true(graphs_note(graphs, 1, &record));
}

/* A call whose span has this byte as its ID. 0: it has no span. */
static void call(uint64_t tid, uint64_t start_ns, uint64_t end_ns, uint8_t id)
{
    struct call_record record = {.start_ns = start_ns, .end_ns = end_ns};
    struct span_link link = {.trace_id = {7, id}, .span_id = {id}, .flags = 1, .trace_state = "a=b"};
    graphs_call(graphs, tid, &record, id ? &link : NULL);
}

static uint8_t captured_by(uint64_t node)
{
    struct span_link link = {.attr.key = NULL};
    uint64_t code;
    if (!graphs_capture_of(graphs, node, &link, &code))
        return 0;
    assert_int_equal(code, 0);
    assert_int_equal(link.trace_id[0], 7);
    assert_int_equal(link.trace_id[1], link.span_id[0]);
    assert_int_equal(link.flags, 0x101);
    assert_string_equal(link.trace_state, "a=b");
    assert_null(link.attr.key);
    return link.span_id[0];
}

static void test_nodes_lead_to_the_call_in_which_they_were_made(void **state)
{
    created(1, 100, 1, 15);
    call(1, 10, 20, 1);
    created(1, 101, 2, 35); /* a call that adds two */
    created(2, 900, 1, 36); /* another thread's */
    call(1, 30, 40, 2);
    call(2, 30, 40, 3);
    created(1, 103, 1, 45); /* outside traced calls */
    call(1, 50, 60, 4);
    created(1, 104, 1, 75); /* inside, but a call inside that one returns first */
    call(1, 71, 73, 5);
    call(1, 70, 80, 6);
    assert_int_equal(captured_by(100), 1);
    assert_int_equal(captured_by(101), 2);
    assert_int_equal(captured_by(102), 2);
    assert_int_equal(captured_by(900), 3);
    assert_int_equal(captured_by(103), 0);
    assert_int_equal(captured_by(104), 6);
    assert_int_equal(captured_by(0), 0);
}

static void test_clones_lead_to_their_original_s_call(void **state)
{
    created(1, 100, 3, 15);
    call(1, 10, 20, 1);
    created(1, 500, 3, 35); /* also reported as created when the graph is instantiated */
    cloned(500, 3, 100);
    call(1, 30, 40, 2);
    assert_int_equal(captured_by(500), 1);
    assert_int_equal(captured_by(502), 1);
    assert_int_equal(captured_by(503), 0);
    cloned(600, 1, 501); /* a clone's clone */
    assert_int_equal(captured_by(600), 1);
    cloned(700, 1, 701); /* a cycle, which CUPTI never reports */
    cloned(701, 1, 700);
    assert_int_equal(captured_by(700), 0);
}

/* Instantiated on a thread whose ring was drained before that of the thread that captured. */
static void test_the_clone_may_be_told_before_its_original(void **state)
{
    cloned(500, 1, 100);
    assert_int_equal(captured_by(500), 0);
    created(1, 100, 1, 15);
    call(1, 10, 20, 1);
    assert_int_equal(captured_by(500), 1);
}

static void test_a_call_without_a_span_captures_nothing(void **state)
{
    created(1, 100, 1, 15);
    call(1, 10, 20, 0);
    call(1, 10, 20, 1);
    assert_int_equal(captured_by(100), 0);
}

static void test_the_table_of_nodes_forgets_what_has_not_run(void **state)
{
    created(1, 1, 2, 15);
    call(1, 10, 20, 1);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(captured_by(1), 1); /* it runs */
        created(1, 1000000 * (i + 1), GRAPH_NODES_MAX - 2, 25 + 10 * i);
        call(1, 20 + 10 * i, 30 + 10 * i, 2);
    }
    assert_int_equal(captured_by(1), 1);
    assert_int_equal(captured_by(2), 0);
    assert_int_equal(captured_by(4000000 + GRAPH_NODES_MAX - 3), 2);
    assert_int_equal(captured_by(1000000), 0);
    created(1, 10000000, UINT32_MAX, 95); /* an unrealistic graph, but a bound */
    call(1, 90, 100, 3);
    cloned(1ull << 40, UINT32_MAX, 1);
    assert_int_equal(captured_by(10000000), 0);
}

static void test_unfinished_calls_of_many_threads(void **state)
{
    for (uint64_t tid = 1; tid <= 100; tid++)
        created(tid, 1000 + tid, 1, 15);
    for (uint64_t tid = 1; tid <= 100; tid++)
        call(tid, 10, 20, (uint8_t)tid);
    assert_int_equal(captured_by(1001), 0); /* displaced */
    assert_int_equal(captured_by(1100), 100);
    assert_int_equal(captured_by(1050), 50);
}

/* --- which code --- */

static void created_by(uint64_t tid, uint64_t first, uint32_t nodes, uint64_t time_ns, uint64_t code)
{
    struct resource_record record = {
        .head.cbid = NODE_CREATED, .handle = first, .nodes = nodes, .time_ns = time_ns, .code = code};
    assert_true(graphs_note(graphs, tid, &record));
}

/* The node's code, and the ID of the call that captured it; 0: it has no span. */
static void expect_capture(uint64_t node, uint64_t code, uint8_t id)
{
    struct span_link link;
    uint64_t found = 99;
    bool has_link = graphs_capture_of(graphs, node, &link, &found);
    assert_int_equal(found, code);
    assert_int_equal(has_link ? link.span_id[0] : 0, id);
}

static void test_nodes_have_the_code_of_their_capture(void **state)
{
    created_by(1, 100, 2, 15, 71);
    call(1, 10, 20, 1);
    created_by(1, 102, 1, 35, 72); /* the call has no span */
    call(1, 30, 40, 0);
    created_by(1, 103, 1, 45, 73); /* outside traced calls */
    created_by(1, 104, 1, 55, 0);  /* it is unknown */
    call(1, 50, 60, 2);
    expect_capture(100, 71, 1);
    expect_capture(101, 71, 1);
    expect_capture(102, 72, 0);
    expect_capture(103, 73, 0);
    expect_capture(104, 0, 2);
    expect_capture(105, 0, 0);
}

static void test_clones_have_the_code_of_their_original(void **state)
{
    created_by(1, 100, 2, 15, 71);
    call(1, 10, 20, 1);
    created_by(1, 102, 1, 25, 72);
    call(1, 21, 29, 0);
    created_by(1, 500, 2, 35, 90); /* by the instantiation: before and after they are reported as clones */
    cloned(500, 4, 100);
    created_by(1, 502, 2, 36, 90);
    call(1, 30, 40, 2);
    expect_capture(500, 71, 1);
    expect_capture(501, 71, 1);
    expect_capture(502, 72, 0);
    expect_capture(503, 0, 0); /* the original comes later */
    created_by(1, 103, 1, 55, 73);
    expect_capture(503, 73, 0); /* and its call still later */
    call(1, 50, 60, 3);
    expect_capture(503, 73, 3);
    cloned(600, 1, 502); /* a clone's clone */
    expect_capture(600, 72, 0);
}

static void test_a_node_that_runs_keeps_its_code(void **state)
{
    created_by(1, 1, 1, 15, 71);
    call(1, 10, 20, 1);
    cloned(2, 1, 1);
    for (uint64_t i = 0; i < 4; i++) {
        expect_capture(2, 71, 1);
        created_by(1, 1000000 * (i + 1), GRAPH_NODES_MAX - 2, 25 + 10 * i, 72);
        call(1, 20 + 10 * i, 30 + 10 * i, 2);
    }
    expect_capture(2, 71, 1);
    expect_capture(1, 0, 0); /* forgotten */
    expect_capture(1000000, 0, 0);
    created(1, 1000000, 1, 75); /* no other node's code */
    call(1, 70, 80, 3);
    expect_capture(1000000, 0, 3);
    created_by(1, 10000000, UINT32_MAX, 95, 74); /* a bound */
    call(1, 90, 100, 4);
    expect_capture(2, 0, 0);
}

static void test_without_code_there_are_links_alone(void **state)
{
    struct graphs *both = graphs;
    assert_int_equal(graphs_create(true, false, &graphs), STATUS_OK);
    created_by(1, 100, 1, 15, 71);
    call(1, 10, 20, 1);
    created_by(1, 101, 1, 25, 72);
    cloned(500, 1, 100);
    expect_capture(100, 0, 1);
    expect_capture(101, 0, 0);
    expect_capture(500, 0, 1);
    graphs_destroy(graphs);
    graphs = both;
}

static void test_without_nodes_there_are_counts_alone(void **state)
{
    struct graphs *both = graphs;
    assert_true(graphs_link_nodes(graphs));
    assert_int_equal(graphs_create(false, true, &graphs), STATUS_OK);
    assert_false(graphs_link_nodes(graphs));
    created(1, 100, 1, 15);
    cloned(500, 1, 100);
    call(1, 10, 20, 1);
    instantiate(0xe0, 1, 30);
    launch(1, 0xe0, 40);
    assert_int_equal(captured_by(500), 0);
    assert_int_equal(graphs_nodes_launched(graphs, 1), 1);
    struct resource_record module = {.head.cbid = 6};
    assert_false(graphs_note(graphs, 1, &module));
    graphs_destroy(graphs);
    graphs_destroy(NULL);
    graphs = both;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_launch_has_the_nodes_of_its_graph),
        TEST(test_the_launch_may_be_told_before_the_graph),
        TEST(test_a_handle_that_is_given_again),
        TEST(test_the_table_of_graphs_is_bounded),
        TEST(test_nodes_lead_to_the_call_in_which_they_were_made),
        TEST(test_clones_lead_to_their_original_s_call),
        TEST(test_the_clone_may_be_told_before_its_original),
        TEST(test_a_call_without_a_span_captures_nothing),
        TEST(test_the_table_of_nodes_forgets_what_has_not_run),
        TEST(test_unfinished_calls_of_many_threads),
        TEST(test_nodes_have_the_code_of_their_capture),
        TEST(test_clones_have_the_code_of_their_original),
        TEST(test_a_node_that_runs_keeps_its_code),
        TEST(test_without_code_there_are_links_alone),
        TEST(test_without_nodes_there_are_counts_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
