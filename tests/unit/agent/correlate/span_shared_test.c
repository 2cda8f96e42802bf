#include "agent/correlate/spans/span_shared.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static const struct attr_key key_kind = ATTR_KEY("kind");
static const struct attr_key key_text = ATTR_KEY("text");
static struct shared_table shared_table, *const table = &shared_table;
static struct span span;

static int setup(void **state)
{
    memset(&shared_table, 0, sizeof shared_table);
    return 0;
}

static void begin(void)
{
    memset(&span, 0, sizeof span);
}

/* True: it was known. Otherwise describes the span and offers that. */
static bool ask(uint64_t number, const char *name)
{
    char text[32]; /* invalid when it is read again */
    uint64_t key[] = {number, 7, number * 3};
    begin();
    if (span_shared_take(table, key, 3, &span))
        return true;
    snprintf(text, sizeof text, "text of %s", name);
    span.name = name;
    span.name_len = (uint32_t)strlen(name);
    span_attr_int(&span, &key_kind, (int64_t)number);
    span_attr_string(&span, &key_text, text);
    span_shared_offer(table, &span);
    memset(text, '?', sizeof text);
    return false;
}

static void test_what_comes_again_is_shared(void **state)
{
    assert_false(ask(1, "one"));
    assert_null(span.shared); /* seen only once */
    assert_int_equal(span.attr_count, 2);
    assert_false(ask(1, "one"));
    const struct span_shared *shared = span.shared;
    assert_non_null(shared);
    assert_int_equal(span.attr_count, 0);
    assert_int_equal(span_attr_total(&span), 2);
    assert_true(ask(1, "never used"));
    assert_ptr_equal(span.shared, shared);
    assert_int_equal(span.name_len, 3);
    assert_memory_equal(span.name, "one", 3);
    span_attr_int(&span, &key_kind, 99); /* its own attributes follow */
    assert_int_equal(span_attr_at(&span, 0)->i, 1);
    assert_memory_equal(span_attr_at(&span, 1)->s, "text of one", 11);
    assert_int_equal(span_attr_at(&span, 2)->i, 99);
}

static void test_keys_are_told_apart(void **state)
{
    uint64_t key[SHARED_KEY_WORDS] = {0};
    for (int i = 0; i < 3; i++)
        ask(0, "zero");
    key[1] = 7;
    begin();
    assert_true(span_shared_take(table, key, 3, &span));
    assert_false(span_shared_take(table, key, 2, &span)); /* shorter, longer */
    assert_false(span_shared_take(table, key, 4, &span));
    for (uint32_t word = 0; word < 3; word++) {
        key[word] ^= 1ull << 63;
        assert_false(span_shared_take(table, key, 3, &span));
        key[word] ^= 1ull << 63;
    }
    assert_true(span_shared_take(table, key, 3, &span));
}

static void test_what_is_too_much_is_not_shared(void **state)
{
    static char long_name[4096];
    memset(long_name, 'x', sizeof long_name - 1);
    for (int i = 0; i < 3; i++) {
        assert_false(ask(1, long_name));
        assert_null(span.shared);
        assert_int_equal(span.attr_count, 2);
    }
    uint64_t key[] = {5};
    for (int i = 0; i < 3; i++) {
        begin();
        assert_false(span_shared_take(table, key, 1, &span));
        span.name = "many";
        span.name_len = 4;
        for (uint32_t a = 0; a <= SPAN_SHARED_ATTRS_MAX; a++)
            span_attr_int(&span, &key_kind, a);
        span_shared_offer(table, &span);
        assert_null(span.shared);
    }
    for (int i = 0; i < 3; i++) {
        begin();
        assert_false(span_shared_take(table, key, 1, &span));
        span.name = "none";
        span_shared_offer(table, &span);
        assert_null(span.shared); /* only a name: encoders require an attribute */
    }
}

/* Kernels with names too long to keep are launched as often as others: they must not evict those. */
static void test_what_is_too_much_pushes_nothing_out(void **state)
{
    static char long_name[4096];
    memset(long_name, 'x', sizeof long_name - 1);
    for (uint64_t number = 1; number <= 64; number++) {
        ask(number, "hot");
        ask(number, "hot");
    }
    uint32_t before = 0, after = 0;
    for (uint64_t number = 1; number <= 64; number++)
        before += ask(number, "hot");
    for (uint64_t number = 1000; number < 1000 + 4 * SPAN_SHARED_MAX; number++) {
        ask(number, long_name);
        ask(number, long_name);
    }
    for (uint64_t number = 1; number <= 64; number++)
        after += ask(number, "hot");
    assert_true(before >= 63);
    assert_int_equal(after, before);
}

/* A slot that now has another part must not be mistaken for the former one. */
static void test_versions(void **state)
{
    static uint32_t versions[SPAN_SHARED_MAX];
    uint32_t replaced = 0, known = 0;
    for (uint64_t number = 1; number <= 4 * SPAN_SHARED_MAX; number++) {
        ask(number, "name");
        ask(number, "name");
        assert_non_null(span.shared);
        assert_in_range(span.shared->slot, 0, SPAN_SHARED_MAX - 1);
        assert_int_not_equal(span.shared->version, 0);
        assert_int_not_equal(span.shared->version, versions[span.shared->slot]);
        replaced += versions[span.shared->slot] != 0;
        versions[span.shared->slot] = span.shared->version;
        assert_int_equal(span.shared->attrs[0].i, number);
    }
    assert_true(replaced >= 3 * SPAN_SHARED_MAX);
    for (uint64_t number = 1; number <= 4 * SPAN_SHARED_MAX; number++) {
        uint64_t key[] = {number, 7, number * 3};
        begin();
        bool is_known = span_shared_take(table, key, 3, &span);
        known += is_known;
        assert_true(!is_known || span.shared->attrs[0].i == (int64_t)number);
    }
    assert_in_range(known, SPAN_SHARED_MAX / 2, SPAN_SHARED_MAX);
}

/* Parts that occur once, however many, do not evict those that recur. */
static void test_what_never_comes_again_pushes_nothing_out(void **state)
{
    for (uint64_t number = 1; number <= 64; number++) {
        ask(number, "hot");
        ask(number, "hot");
    }
    for (uint64_t number = 1000; number < 1000000; number++)
        ask(number, "once");
    uint32_t known = 0;
    for (uint64_t number = 1; number <= 64; number++)
        known += ask(number, "hot");
    assert_in_range(known, 63, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_comes_again_is_shared, setup),
        cmocka_unit_test_setup(test_keys_are_told_apart, setup),
        cmocka_unit_test_setup(test_what_is_too_much_is_not_shared, setup),
        cmocka_unit_test_setup(test_what_is_too_much_pushes_nothing_out, setup),
        cmocka_unit_test_setup(test_versions, setup),
        cmocka_unit_test_setup(test_what_never_comes_again_pushes_nothing_out, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
