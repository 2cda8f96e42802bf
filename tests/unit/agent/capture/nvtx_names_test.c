#include "agent/capture/nvtx/nvtx_names.h"

#include "base/limits.h"
#include "model/record.h"
#include "support/stderr_text.h"
#include "support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS 3
#define NAMES   500

static bool has_text(const struct nvtx_name *name, const char *text)
{
    return name && name->bytes == strlen(text) && memcmp(name->text, text, name->bytes) == 0;
}

static void test_the_same_text_is_the_same_entry(void **state)
{
    const struct nvtx_name *domain = nvtx_names_register(NVTX_NAME_DOMAIN, "alpha", 5);
    assert_true(has_text(domain, "alpha"));
    assert_int_equal(domain->number, NVTX_DOMAIN_FIRST);
    assert_ptr_equal(nvtx_names_register(NVTX_NAME_DOMAIN, "alphabet", 5), domain);
    assert_int_equal(nvtx_names_register(NVTX_NAME_DOMAIN, "beta", 4)->number, NVTX_DOMAIN_FIRST + 1);
    const struct nvtx_name *string = nvtx_names_register(NVTX_NAME_STRING, "alpha", 5);
    assert_ptr_not_equal(string, domain);
    assert_ptr_equal(nvtx_names_register(NVTX_NAME_STRING, "alpha", 5), string);
    assert_true(has_text(nvtx_names_register(NVTX_NAME_STRING, "", 0), ""));
}

static void test_handles(void **state)
{
    const struct nvtx_name *domain = nvtx_names_register(NVTX_NAME_DOMAIN, "alpha", 5);
    assert_ptr_equal(nvtx_names_of_handle(NVTX_NAME_DOMAIN, domain), domain);
    assert_null(nvtx_names_of_handle(NVTX_NAME_STRING, domain));
    const struct nvtx_name *odd =
        nvtx_names_register(NVTX_NAME_DOMAIN, "\1\1\1\1\1\1\1\1", 8); /* resembles a name kind */
    assert_null(nvtx_names_of_handle(NVTX_NAME_DOMAIN, (const char *)odd + 3));
    assert_null(nvtx_names_of_handle(NVTX_NAME_DOMAIN, (const char *)domain + sizeof *domain));
    assert_null(nvtx_names_of_handle(NVTX_NAME_DOMAIN, (const char *)domain + 2 * NVTX_NAMES_BYTES));
    assert_null(nvtx_names_of_handle(NVTX_NAME_DOMAIN, NULL));
    assert_null(nvtx_names_of_handle(NVTX_NAME_DOMAIN, &domain));
    assert_null(nvtx_names_of_handle(NVTX_NAME_DOMAIN, (const void *)UINTPTR_MAX));
}

static char visited[256];

static void visit(const struct nvtx_name *name)
{
    size_t used = strlen(visited);
    snprintf(visited + used, sizeof visited - used, "%.*s,", (int)name->bytes, name->text);
}

static void test_keys_keep_their_newest_text(void **state)
{
    assert_null(nvtx_names_get(NVTX_NAME_CATEGORY, 1));
    nvtx_names_set(NVTX_NAME_CATEGORY, 1, "one", 3);
    nvtx_names_set(NVTX_NAME_CATEGORY, 2, "two", 3);
    nvtx_names_set(NVTX_NAME_OBJECT, 1, "object", 6);
    const struct nvtx_name *one = nvtx_names_get(NVTX_NAME_CATEGORY, 1);
    assert_true(has_text(one, "one"));
    nvtx_names_set(NVTX_NAME_CATEGORY, 1, "one", 3);
    assert_ptr_equal(nvtx_names_get(NVTX_NAME_CATEGORY, 1), one);
    nvtx_names_set(NVTX_NAME_CATEGORY, 1, "eins", 4);
    assert_true(has_text(nvtx_names_get(NVTX_NAME_CATEGORY, 1), "eins"));
    assert_true(has_text(nvtx_names_get(NVTX_NAME_CATEGORY, 2), "two"));
    nvtx_names_visit(NVTX_NAME_CATEGORY, visit);
    assert_true(strcmp(visited, "eins,two,") == 0 || strcmp(visited, "two,eins,") == 0);
    assert_true(has_text(nvtx_names_get(NVTX_NAME_OBJECT, 1), "object"));
}

static const struct nvtx_name *seen[THREADS][NAMES];
static _Atomic int arrived;

static void *register_all(void *context)
{
    const struct nvtx_name **mine = context;
    for (int i = 0; i < NAMES; i++) {
        char text[32];
        int bytes = snprintf(text, sizeof text, "shared %d", i);
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&arrived) < (i + 1) * THREADS) /* all threads request this name at once */
            sched_yield();
        mine[i] = i % 2 ? nvtx_names_register(NVTX_NAME_STRING, text, (uint32_t)bytes)
                        : nvtx_names_register(NVTX_NAME_DOMAIN, text, (uint32_t)bytes);
        nvtx_names_set(NVTX_NAME_CATEGORY, 1000 + (uint64_t)i, text, (uint32_t)bytes);
    }
    return NULL;
}

static void test_threads_get_the_same_entries(void **state)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, register_all, seen[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < NAMES; i++) {
        char text[32];
        snprintf(text, sizeof text, "shared %d", i);
        assert_true(has_text(seen[0][i], text));
        assert_true(has_text(nvtx_names_get(NVTX_NAME_CATEGORY, 1000 + (uint64_t)i), text));
        for (int t = 1; t < THREADS; t++)
            assert_ptr_equal(seen[t][i], seen[0][i]);
    }
}

static size_t lines_of(void (*fill)(void))
{
    stderr_begin();
    fill();
    char *said = stderr_end();
    size_t lines = times_in(said, "1024 KiB");
    free(said);
    return lines;
}

static uint32_t names_made;

static void fill_with_strings(void)
{
    const struct nvtx_name *name;
    do {
        char text[32];
        int bytes = snprintf(text, sizeof text, "step number %u", names_made);
        name = nvtx_names_register(NVTX_NAME_STRING, text, (uint32_t)bytes);
    } while (!has_text(name, "(too many NVTX strings)") && names_made++ < NVTX_NAMES_BYTES);
    assert_ptr_equal(nvtx_names_register(NVTX_NAME_STRING, "longer than what may be left", 28), name);
    assert_ptr_equal(nvtx_names_of_handle(NVTX_NAME_STRING, name), name);
}

static void fill_with_domains(void)
{
    const struct nvtx_name *name;
    uint32_t made = 0;
    do {
        char text[32];
        int bytes = snprintf(text, sizeof text, "domain number %u", made);
        name = nvtx_names_register(NVTX_NAME_DOMAIN, text, (uint32_t)bytes);
    } while (name->number != NVTX_DOMAIN_BEYOND && made++ < NVTX_NAMES_BYTES);
    assert_ptr_equal(nvtx_names_register(NVTX_NAME_DOMAIN, "longer than what may be left", 28), name);
    assert_ptr_equal(nvtx_names_of_handle(NVTX_NAME_DOMAIN, name), name);
    assert_int_equal(name->bytes, 0);
    nvtx_names_set(NVTX_NAME_CATEGORY, 2, "longer than what may be left", 28);
    assert_true(has_text(nvtx_names_get(NVTX_NAME_CATEGORY, 2), "two"));
}

/* Must be last: memory is exhausted afterwards. */
static void test_room_ends_and_says_so_once(void **state)
{
    assert_int_equal(lines_of(fill_with_strings), 1);
    assert_in_range(names_made, 10000, NVTX_NAMES_BYTES / sizeof(struct nvtx_name));
    assert_int_equal(nvtx_names_register(NVTX_NAME_DOMAIN, "still room", 10)->number >= NVTX_DOMAIN_FIRST,
                     true);
    assert_int_equal(lines_of(fill_with_domains), 0);
    assert_true(
        has_text(nvtx_names_register(NVTX_NAME_DOMAIN, "alpha", 5), "alpha")); /* existing entries stay */
    assert_true(has_text(nvtx_names_register(NVTX_NAME_STRING, "step number 7", 13), "step number 7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_text_is_the_same_entry),
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_keys_keep_their_newest_text),
        cmocka_unit_test(test_threads_get_the_same_entries),
        cmocka_unit_test(test_room_ends_and_says_so_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
