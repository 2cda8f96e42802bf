/* Tests of global state: each in a process of its own. APART(test) is one in the list of cmocka's tests. */
#pragma once

#include "support/test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void (*body_of_test)(void);

/* A failed assertion in the child aborts it. */
static void run_apart(void **state)
{
    body_of_test body = *(body_of_test *)*state;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("CMOCKA_TEST_ABORT", "1", 1); /* instead of continuing with the next test */
        body();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define APART(name)                                                                                          \
    {                                                                                                        \
#name, run_apart, NULL, NULL, &(body_of_test)                                                        \
        {                                                                                                    \
            name                                                                                             \
        }                                                                                                    \
    }
