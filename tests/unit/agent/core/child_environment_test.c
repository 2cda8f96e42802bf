/* The environment for child processes of cuspan.h, in a process without an agent: there it uses the contexts
 * that wait for one. */
#include "cuspan/cuspan.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE   "4bf92f3577b34da6a3ce929d0e0e4736"
#define ANOTHER "0af7651916cd43dd8448eb211c80319c"
#define HEADER  "00-" TRACE "-00f067aa0ba902b7-01"

static uint64_t attach(const char *tracestate)
{
    cuspan_context context;
    assert_true(cuspan_parse(HEADER, tracestate, &context));
    return cuspan_attach(&context);
}

/* Compares with a list of NULL-terminated strings. */
static void expect(char *const *given, const char *const *wanted)
{
    char **list = cuspan_child_environment(given);
    assert_non_null(list);
    size_t i = 0;
    for (; wanted[i]; i++) {
        assert_non_null(list[i]);
        assert_string_equal(list[i], wanted[i]);
    }
    assert_null(list[i]);
    free(list);
}

#define EXPECT(given, ...) expect(given, (const char *const[]){__VA_ARGS__, NULL})

static void test_without_a_context_it_stays_as_it_is(void **state)
{
    char *given[] = {"A=1", "TRACEPARENT=00-" ANOTHER "-00f067aa0ba902b7-01", "TRACESTATE=a=1", NULL};
    EXPECT(given, given[0], given[1], given[2]);
    char *none[] = {NULL};
    expect(none, (const char *const[]){NULL});
}

static void test_the_context_takes_the_place_of_the_process_s(void **state)
{
    char *given[] = {"TRACEPARENT=00-" ANOTHER "-00f067aa0ba902b7-01",
                     "A=1",
                     "TRACESTATE=a=1",
                     "TRACEPARENT=twice",
                     "TRACEPARENTS=2",
                     "TRACE",
                     "",
                     NULL};
    uint64_t token = attach(NULL);
    EXPECT(given, "A=1", "TRACEPARENTS=2", "TRACE", "", "TRACEPARENT=" HEADER);
    assert_int_equal(cuspan_detach(token), 0);
    token = attach("b=2,c=3");
    EXPECT(given, "A=1", "TRACEPARENTS=2", "TRACE", "", "TRACEPARENT=" HEADER, "TRACESTATE=b=2,c=3");
    assert_int_equal(cuspan_detach(token), 0);
    EXPECT(given, given[0], given[1], given[2], given[3], given[4], given[5], given[6]);
}

/* The context of a session or a range has no tracestate of its own. */
static void test_the_tracestate_of_the_same_trace_stays(void **state)
{
    char *given[] = {"TRACESTATE=a=1", "TRACEPARENT=00-" TRACE "-ffffffffffffffff-01", NULL};
    uint64_t token = attach(NULL);
    EXPECT(given, "TRACEPARENT=" HEADER, "TRACESTATE=a=1");
    assert_int_equal(cuspan_detach(token), 0);
    token = attach("b=2");
    EXPECT(given, "TRACEPARENT=" HEADER, "TRACESTATE=b=2");
    assert_int_equal(cuspan_detach(token), 0);
}

static void test_a_child_sees_it(void **state)
{
    char *given[] = {"A=1", NULL},
         *program[] = {"/bin/sh", "-c", "test \"$A $TRACEPARENT\" = \"1 " HEADER "\"", NULL};
    uint64_t token = attach(NULL);
    char **environment = cuspan_child_environment(given);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execve(program[0], program, environment);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_null(getenv("TRACEPARENT"));
    free(environment);
    assert_int_equal(cuspan_detach(token), 0);
}

static void test_without_an_agent_there_is_nothing_to_finish(void **state)
{
    assert_int_equal(cuspan_finish(), -1);
}

/* Keeps them even if the context is detached, as the agent does. */
static void test_tracestates_outlive_their_contexts(void **state)
{
    cuspan_context taken[CUSPAN_STATES_MAX];
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < CUSPAN_STATES_MAX; i++) {
            snprintf(text, sizeof text, "vendor=%d", i);
            uint64_t token = attach(text);
            assert_int_equal(cuspan_current(&taken[i]), 1);
            assert_int_equal(cuspan_detach(token), 0);
        }
        for (int i = 0; i < CUSPAN_STATES_MAX; i++) {
            snprintf(text, sizeof text, "vendor=%d", i);
            assert_string_equal(taken[i].tracestate, text);
        }
    }
}

static int setup_all(void **state)
{
    unsetenv("TRACEPARENT");
    return unsetenv("CUDA_INJECTION64_PATH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_context_it_stays_as_it_is),
        cmocka_unit_test(test_the_context_takes_the_place_of_the_process_s),
        cmocka_unit_test(test_the_tracestate_of_the_same_trace_stays),
        cmocka_unit_test(test_a_child_sees_it),
        cmocka_unit_test(test_without_an_agent_there_is_nothing_to_finish),
        cmocka_unit_test(test_tracestates_outlive_their_contexts),
    };
    return cmocka_run_group_tests(tests, setup_all, NULL);
}
