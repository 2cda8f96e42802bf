#include "agent/correlate/join/graph_runs.h"

#include "support/test.h"

#include <stdlib.h>

#define GRAPH 3

static struct graph_runs *runs;

static int begin(void **state)
{
    return graph_runs_create(&runs) == STATUS_OK ? 0 : 1;
}

static int end(void **state)
{
    free(runs);
    return 0;
}

static void launch(uint32_t correlation_id, uint64_t call_ns)
{
    graph_runs_launched(runs, GRAPH, correlation_id, call_ns);
}

static void ran(uint32_t correlation_id, uint64_t start_ns)
{
    graph_runs_ran(runs, GRAPH, correlation_id, start_ns);
}

static uint32_t find(uint64_t start_ns)
{
    return graph_runs_find(runs, GRAPH, start_ns, false);
}

static uint32_t find_late(uint64_t start_ns)
{
    return graph_runs_find(runs, GRAPH, start_ns, true);
}

static void test_work_belongs_to_the_execution_that_started_before_it(void **state)
{
    launch(11, 100); /* all launches come long before the work */
    launch(12, 101);
    launch(13, 102);
    ran(12, 2000);
    ran(11, 1010);
    ran(11, 1000); /* its first node */
    ran(11, 1500);
    assert_int_equal(find(1200), 11);
    assert_int_equal(find(1999), 11);
    assert_int_equal(find(2000), 0); /* the third one may have started meanwhile */
    assert_int_equal(find_late(2000), 12);
    ran(13, 3000);
    assert_int_equal(find(2000), 12);
    assert_int_equal(find(3500), 0);
    assert_int_equal(find_late(3500), 13);
    assert_int_equal(find_late(50), 0);
}

static void test_without_other_nodes_the_launches_decide(void **state)
{
    launch(11, 1000);
    launch(14, 2000);
    launch(12, 1500);                /* of a thread whose ring is drained later */
    assert_int_equal(find(1700), 0); /* other nodes may come */
    assert_int_equal(find_late(1200), 11);
    assert_int_equal(find_late(1700), 12);
    assert_int_equal(find_late(2100), 14);
}

static void test_a_node_may_come_before_its_launch(void **state)
{
    ran(12, 2000);
    ran(11, 1000);
    launch(11, 100);
    launch(12, 101);
    assert_int_equal(find(1500), 11);
    assert_int_equal(find_late(2500), 12);
}

static void test_ids_wrap_around(void **state)
{
    ran(UINT32_MAX, 1000);
    ran(3, 2000);
    assert_int_equal(find(1500), UINT32_MAX);
    assert_int_equal(find_late(2500), 3);
}

static void test_only_the_latest_executions_are_kept(void **state)
{
    for (uint32_t i = 1; i <= 1000; i++) {
        launch(i, i * 100 - 50);
        ran(i, i * 100);
    }
    ran(1, 100);
    launch(1, 50);
    assert_int_equal(find(99950), 999);
    assert_int_equal(find_late(100010), 1000);
    assert_int_equal(find_late(150), 0);
}

static void test_graphs_do_not_mix(void **state)
{
    ran(11, 1000);
    assert_int_equal(graph_runs_find(runs, GRAPH + 1, 1500, true), 0);
    graph_runs_ran(runs, GRAPH + 256, 12, 1100); /* takes its place */
    assert_int_equal(find_late(1500), 0);
    assert_int_equal(graph_runs_find(runs, GRAPH + 256, 1500, true), 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_work_belongs_to_the_execution_that_started_before_it, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_without_other_nodes_the_launches_decide, begin, end),
        cmocka_unit_test_setup_teardown(test_a_node_may_come_before_its_launch, begin, end),
        cmocka_unit_test_setup_teardown(test_ids_wrap_around, begin, end),
        cmocka_unit_test_setup_teardown(test_only_the_latest_executions_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(test_graphs_do_not_mix, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
