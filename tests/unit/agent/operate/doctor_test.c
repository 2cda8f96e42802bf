#include "agent/operate/doctor/doctor_facts.h"
#include "agent/operate/doctor/collector.h"
#include "agent/operate/doctor/doctor.h"
#include "agent/operate/doctor/elf.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- children --- */

struct big {
    uint8_t bytes[200000]; /* more than a pipe holds */
};

static void fill(const void *question, void *answer)
{
    memset(answer, *(const int *)question, sizeof(struct big));
    unsetenv("PATH"); /* the child's own */
}

static void crash(const void *question, void *answer)
{
    abort();
}

static void leave(const void *question, void *answer)
{
    _exit(3);
}

static void hang(const void *question, void *answer)
{
    pause();
}

static void test_a_child_answers(void **state)
{
    struct big *big = malloc(sizeof *big);
    char how[64];
    assert_true(probe_child_run(fill, &(int){7}, big, sizeof *big, 60000, how));
    assert_int_equal(big->bytes[0], 7);
    assert_int_equal(big->bytes[sizeof big->bytes - 1], 7);
    assert_non_null(getenv("PATH"));
    assert_string_equal(how, "");
    free(big);
}

static void test_a_child_that_ends_early(void **state)
{
    int answer = 5;
    char how[64];
    assert_false(probe_child_run(crash, NULL, &answer, sizeof answer, 60000, how));
    assert_int_equal(answer, 0);
    assert_non_null(strstr(how, "crashed"));
    assert_false(probe_child_run(leave, NULL, &answer, sizeof answer, 60000, how));
    assert_non_null(strstr(how, "status 3"));
}

static void test_a_child_that_hangs(void **state)
{
    int answer;
    char how[64];
    assert_false(probe_child_run(hang, NULL, &answer, sizeof answer, 100, how));
    assert_non_null(strstr(how, "no answer"));
}

/* --- endpoints --- */

static void assert_split(const char *endpoint, bool has_tls, const char *host, const char *port, bool is_tls)
{
    struct collector collector = {0};
    assert_true(collector_split(endpoint, has_tls, &collector));
    assert_string_equal(collector.host, host);
    assert_string_equal(collector.port, port);
    assert_int_equal(collector.is_tls, is_tls);
}

static void test_endpoints(void **state)
{
    struct collector collector = {0};
    assert_split("http://localhost:4318/v1/traces", false, "localhost", "4318", false);
    assert_split("https://user:secret@collector.example/v1/traces?a=b:c", false, "collector.example", "443",
                 true);
    assert_split("http://[::1]:4318/", false, "::1", "4318", false);
    assert_split("http://[::1]", false, "::1", "80", false);
    assert_split("collector:4317", true, "collector", "4317", true);
    assert_split("collector:4317", false, "collector", "4317", false);
    assert_split("HTTPS://collector", false, "collector", "443", true);
    assert_false(collector_split("http:///v1/traces", false, &collector));
    assert_false(collector_split("http://host:123456789/", false, &collector));
}

static void test_exemptions_from_proxies(void **state)
{
    assert_true(collector_is_exempt("*", "any"));
    assert_true(collector_is_exempt("a.example, collector", "collector"));
    assert_true(collector_is_exempt(".example.com", "a.example.com"));
    assert_true(collector_is_exempt("example.com", "A.EXAMPLE.com"));
    assert_false(collector_is_exempt("ample.com", "a.example.com"));
    assert_false(collector_is_exempt("collector2", "collector"));
    assert_false(collector_is_exempt("", "collector"));
    assert_false(collector_is_exempt(NULL, "collector"));
}

/* --- names, files --- */

static void test_which_checks_are_wanted(void **state)
{
    const struct doctor_check check = {.group = "slow", .name = "clock"};
    assert_true(doctor_selects(NULL, &check));
    assert_true(doctor_selects("slow", &check));
    assert_true(doctor_selects("slow.clock", &check));
    assert_false(doctor_selects("slow.cloc", &check));
    assert_false(doctor_selects("slo", &check));
    assert_false(doctor_selects("slower", &check));
}

static void look_at(const char *bytes, size_t count, struct elf_facts *facts)
{
    char path[] = "/tmp/doctor-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    close(fd);
    assert_true(elf_read(path, facts));
    unlink(path);
}

static void test_files(void **state)
{
    struct elf_facts facts;
    char head[64] = "\177ELF\2";
    assert_true(elf_read("/proc/self/exe", &facts));
    assert_true(facts.is_elf && facts.is_64_bit && facts.is_native && facts.is_dynamic);
    assert_false(elf_read("/nowhere/at/all", &facts));
    assert_false(elf_read("/tmp", &facts));
    look_at("", 0, &facts);
    assert_false(facts.is_elf || facts.is_script);
    look_at("#!", 2, &facts);
    assert_false(facts.is_script);
    look_at("#!/bin/sh -e\nexit\n", 18, &facts);
    assert_true(facts.is_script);
    assert_string_equal(facts.interpreter, "/bin/sh -e");
    look_at(head, 20, &facts); /* cut */
    assert_false(facts.is_elf);
    memset(head + 32, 0xff, 32); /* many program headers, far past the end */
    look_at(head, sizeof head, &facts);
    assert_true(facts.is_elf && !facts.is_dynamic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_child_answers),
                                       cmocka_unit_test(test_a_child_that_ends_early),
                                       cmocka_unit_test(test_a_child_that_hangs),
                                       cmocka_unit_test(test_endpoints),
                                       cmocka_unit_test(test_exemptions_from_proxies),
                                       cmocka_unit_test(test_which_checks_are_wanted),
                                       cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
