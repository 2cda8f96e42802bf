#include "cli/util/paged.h"

#include "support/test.h"

struct record {
    uint64_t value;
    char rest[40];
};

static void an_empty_list_has_no_records(void **state)
{
    struct paged list = {0};
    size_t number = 0;
    assert_null(paged_find(&list, 0, sizeof(struct record)));
    assert_null(paged_find(&list, SIZE_MAX, sizeof(struct record)));
    assert_null(paged_next(&list, &number, sizeof(struct record)));
    paged_deinit(&list);
}

static void records_start_zeroed_and_never_move(void **state)
{
    struct paged list = {0};
    struct record *records[1000];
    for (size_t i = 0; i < 1000; i++) {
        records[i] = paged_at(&list, 7 * i, sizeof(struct record));
        assert_int_equal(records[i]->value, 0);
        records[i]->value = i + 1;
    }
    for (size_t i = 0; i < 1000; i++) {
        assert_ptr_equal(paged_at(&list, 7 * i, sizeof(struct record)), records[i]);
        assert_ptr_equal(paged_find(&list, 7 * i, sizeof(struct record)), records[i]);
        assert_int_equal(records[i]->value, i + 1);
    }
    paged_deinit(&list);
}

static void only_pages_that_were_written_to_have_records(void **state)
{
    static const size_t numbers[] = {3, PAGED_RECORDS, 100 * PAGED_RECORDS - 1};
    struct paged list = {0};
    struct record *record;
    size_t seen = 0, written = 0, last = 0;
    for (size_t i = 3; i-- > 0;) /* in any order */
        ((struct record *)paged_at(&list, numbers[i], sizeof *record))->value = numbers[i];
    for (size_t i = 0; (record = paged_next(&list, &i, sizeof *record)); i++) {
        assert_true(seen == 0 || i > last);
        assert_ptr_equal(record, paged_find(&list, i, sizeof *record));
        last = i;
        seen++;
        if (record->value)
            assert_int_equal(record->value, numbers[written++]);
    }
    assert_int_equal(written, 3);
    assert_int_equal(seen, 3 * PAGED_RECORDS);
    assert_null(paged_find(&list, 2 * PAGED_RECORDS, sizeof *record));
    assert_null(paged_find(&list, 100 * PAGED_RECORDS, sizeof *record));
    paged_deinit(&list);
    assert_null(paged_find(&list, 3, sizeof *record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_has_no_records),
        cmocka_unit_test(records_start_zeroed_and_never_move),
        cmocka_unit_test(only_pages_that_were_written_to_have_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
