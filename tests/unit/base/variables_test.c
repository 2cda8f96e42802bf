/* Tests the copy of the environment, also while another thread changes it. Each test is a process of its own,
 * because the copy is made once. */
#include <resolv.h>

/* glibc's own getenv() may crash while another thread changes the environment. */
#undef res_ninit
#define res_ninit(state) ((void)(state), -1)
#include "base/process/variables.c"

#include "support/apart.h"

#include <pthread.h>
#include <stdio.h>

/* AddressSanitizer moves the array at each change, and fills the old one. ThreadSanitizer makes the test
 * slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUNS 0
#else
#define RUNS 300
#endif
#define OTHERS 100

static atomic_bool is_changing;

static void test_as_it_was(void)
{
    clearenv();
    setenv("FIRST", "1", 1);
    setenv("EMPTY", "", 1);
    variables_take();
    setenv("FIRST", "2", 1);
    setenv("LATER", "1", 1);
    assert_string_equal(variables_get("FIRST"), "1");
    assert_string_equal(variables_get("EMPTY"), "");
    assert_null(variables_get("LATER"));
    assert_string_equal(variables_all()[0], "FIRST=1");
    assert_string_equal(variables_all()[1], "EMPTY=");
    assert_null(variables_all()[2]);
}

/* The first one of a name counts, as for getenv(). */
static void test_odd_variables(void)
{
    char *odd[] = {"SAME=1", "=x", "none", "SAME=2", "LINE=x\n", "CUSPAN_LINE=x\n", NULL};
    environ = odd;
    variables_take();
    assert_string_equal(variables_get("SAME"), "1");
    assert_string_equal(variables_get("LINE"), "x");
    assert_string_equal(variables_get("CUSPAN_LINE"), "x\n");
    assert_null(variables_get("none"));
}

/* For an agent that is attached. */
static void test_others_laid_over(void)
{
    char *before[] = {"KEPT=1", "OTEL_SERVICE_NAME=old", "CUSPAN_SET=a=1", NULL};
    environ = before;
    variables_take();
    const char *old = variables_get("OTEL_SERVICE_NAME");
    assert_true(variables_lay_over("OTEL_SERVICE_NAME=new\n\nCUSPAN_SET=b=2;c=3\nMORE=x=y"));
    assert_string_equal(old, "old"); /* stays valid */
    assert_string_equal(variables_get("OTEL_SERVICE_NAME"), "new");
    assert_string_equal(variables_get("CUSPAN_SET"), "a=1;b=2;c=3");
    assert_string_equal(variables_get("MORE"), "x=y");
    assert_string_equal(variables_get("KEPT"), "1");
    assert_string_equal(variables_all()[0], "OTEL_SERVICE_NAME=new");
    assert_string_equal(variables_all()[3], "KEPT=1");
    assert_null(variables_all()[4]);
    assert_string_equal(getenv("OTEL_SERVICE_NAME"), "old");
    assert_true(variables_lay_over(""));
    assert_string_equal(variables_get("CUSPAN_SET"), "a=1;b=2;c=3");
}

static void test_a_first_setting(void)
{
    char *before[] = {"CUSPAN_SET=", NULL};
    environ = before;
    variables_take();
    assert_true(variables_lay_over("CUSPAN_SET=b=2"));
    assert_string_equal(variables_get("CUSPAN_SET"), "b=2");
}

static void *change(void *unused)
{
    char name[32];
    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof name, "OTHER_%u", i % OTHERS);
        setenv(name, "value", 1);
        if (i % 3 == 0)
            unsetenv(name);
        atomic_store(&is_changing, i > OTHERS);
    }
    return unused;
}

static void take_while_it_changes(void)
{
    pthread_t thread;
    clearenv();
    for (unsigned i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "OTHER_%u", i * OTHERS / 10);
        setenv(name, "before", 1);
    }
    setenv("WANTED", "yes", 1);
    if (pthread_create(&thread, NULL, change, NULL) != 0)
        abort();
    while (!atomic_load(&is_changing)) {
    }
    variables_take();
    const char *found = variables_get("WANTED");
    _exit(!found || strcmp(found, "yes") != 0); /* cmocka's functions call getenv() */
}

static void test_nothing_is_lost_while_it_changes(void **state)
{
    for (int i = 0; i < RUNS; i++)
        run_apart(&(void *){&(body_of_test){take_while_it_changes}});
}

int main(void)
{
    struct CMUnitTest tests[] = {APART(test_as_it_was), APART(test_odd_variables),
                                 APART(test_others_laid_over), APART(test_a_first_setting),
                                 cmocka_unit_test(test_nothing_is_lost_while_it_changes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
