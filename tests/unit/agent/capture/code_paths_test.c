/* Paths of source files: what is shown, and which code is the program's own. */
#include "agent/capture/stacks/code_paths.h"

#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *path, const char *shown, bool is_programs)
{
    struct code_path found = code_path_of(path, strlen(path));
    assert_int_equal(found.bytes, strlen(shown));
    assert_memory_equal(found.shown, shown, found.bytes);
    assert_int_equal(found.is_programs, is_programs);
}

static void test_relative(void **state)
{
    assert_int_equal(chdir("/usr"), 0);
    code_paths_start(false);
    expect("/usr/work/train.py", "work/train.py", true);
    expect("/elsewhere/project/train.py", "train.py", true);
    expect("train.py", "train.py", true);
    expect("src/train.py", "src/train.py", true);
    expect("<stdin>", "<stdin>", true);
    expect("<ipython-input-3-a1b2>", "<ipython-input-3-a1b2>", true);
    expect("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>", false);
    expect("/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py",
           "site-packages/torch/nn/functional.py", false);
    expect("/usr/lib/python3/dist-packages/numpy/core.py", "dist-packages/numpy/core.py", false);
    expect("/usr/lib/python3.13/asyncio/events.py", "lib/python3.13/asyncio/events.py", false);
    expect("/tmp/torchinductor_me/ab/cabc.py", "torchinductor_me/ab/cabc.py", false);
    expect("/opt/cuspan/lib/cuspan/python.zip/cuspan/_asyncio_hooks.py",
           "python.zip/cuspan/_asyncio_hooks.py", false);
    expect("/usr", "usr", true);
    expect("/", "/", true);
    expect("", "", false);
}

static void test_text_that_was_executed(void **state)
{
    static const struct {
        const char *path;
        bool is_callers;
    } cases[] = {{"<string>", true},
                 {"<eval_with_key>.3", true},
                 {"<stdin>", false},
                 {"<console>", false},
                 {"<ipython-input-3-a1b2>", false},
                 {"<python-input-0>", false},
                 {"<frozen runpy>", false},
                 {"train.py", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(code_path_of(cases[i].path, strlen(cases[i].path)).is_callers, cases[i].is_callers);
}

static void test_relative_to_the_root(void **state)
{
    assert_int_equal(chdir("/"), 0);
    code_paths_start(false);
    expect("/app/train.py", "app/train.py", true);
}

static void test_full(void **state)
{
    code_paths_start(true);
    expect("/usr/work/train.py", "/usr/work/train.py", true);
    expect("/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py",
           "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relative),
        cmocka_unit_test(test_text_that_was_executed),
        cmocka_unit_test(test_relative_to_the_root),
        cmocka_unit_test(test_full),
    };
    return cmocka_run_group_tests_name("code_paths", tests, NULL, NULL);
}
