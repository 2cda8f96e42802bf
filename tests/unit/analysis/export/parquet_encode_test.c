/* Encodings of Parquet, read back by decoders that follow the format's description and share nothing with the
 * encoders. */
#include "analysis/export/parquet_encode.h"

#include "support/test.h"

#include <stdlib.h>

#define VALUES 5000

struct input {
    const uint8_t *at, *end;
};

static uint64_t next_varint(struct input *input)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(input->at < input->end);
        uint8_t byte = *input->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
}

static int64_t next_zigzag(struct input *input)
{
    uint64_t value = next_varint(input);
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static uint64_t bits_at(const uint8_t *bytes, size_t bit, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)(bytes[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
    return value;
}

static size_t decode_hybrid(const struct bytes *bytes, unsigned width, uint32_t *out, size_t room)
{
    struct input input = {bytes->data, bytes->data + bytes->len};
    size_t count = 0;
    while (input.at < input.end) {
        uint64_t header = next_varint(&input);
        size_t values = header & 1 ? (header >> 1) * 8 : header >> 1;
        for (size_t i = 0; i < values; i++) {
            assert_true(count < room);
            out[count++] = (uint32_t)bits_at(input.at, header & 1 ? i * width : 0, width);
        }
        input.at += header & 1 ? (header >> 1) * width : (width + 7) / 8;
        assert_true(input.at <= input.end);
    }
    return count;
}

static size_t decode_delta(const struct bytes *bytes, uint64_t *out, size_t room)
{
    struct input input = {bytes->data, bytes->data + bytes->len};
    size_t block = next_varint(&input), parts = next_varint(&input), total = next_varint(&input), count = 0;
    uint64_t last = (uint64_t)next_zigzag(&input);
    assert_true(total <= room);
    if (total)
        out[count++] = last;
    while (count < total) {
        uint64_t min = (uint64_t)next_zigzag(&input);
        const uint8_t *widths = input.at;
        input.at += parts;
        for (size_t p = 0; p < parts && count < total; p++) {
            for (size_t i = 0; i < block / parts && count < total; i++)
                out[count++] = last += min + bits_at(input.at, i * widths[p], widths[p]);
            input.at += block / parts * widths[p] / 8;
        }
        assert_true(input.at <= input.end);
    }
    assert_true(input.at == input.end);
    return count;
}

static uint64_t random_bits(unsigned width)
{
    uint64_t value = (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
    return width == 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

/* Runs of all lengths around the limit of eight, and values of all widths. */
static void test_runs_and_packed_values_come_back(void **state)
{
    static uint32_t values[VALUES], back[VALUES + 8];
    srand(1);
    for (unsigned width = 0; width <= 32; width++) {
        for (size_t count = 0; count < 60; count += count < 20 ? 1 : 13) {
            for (size_t i = 0; i < VALUES;) {
                uint32_t value = (uint32_t)random_bits(width);
                for (size_t run = 1 + (size_t)rand() % 20 * (size_t)(rand() % 2); run > 0 && i < VALUES;
                     run--)
                    values[i++] = value;
            }
            struct bytes bytes = {0};
            size_t used = count == 59 ? VALUES : count;
            parquet_add_hybrid(&bytes, values, used, width);
            size_t got = decode_hybrid(&bytes, width, back, VALUES + 8);
            assert_in_range(got, used, used + 7);
            assert_memory_equal(back, values, used * sizeof *back);
            free(bytes.data);
        }
    }
}

static void test_a_run_is_short(void **state)
{
    uint32_t back[1000];
    struct bytes bytes = {0};
    parquet_add_run(&bytes, 300, 1000, 9);
    assert_int_equal(bytes.len, 4);
    assert_int_equal(decode_hybrid(&bytes, 9, back, 1000), 1000);
    assert_int_equal(back[999], 300);
    free(bytes.data);
}

static void check_delta(const uint64_t *values, size_t count)
{
    static uint64_t back[VALUES];
    struct bytes bytes = {0};
    parquet_add_delta(&bytes, values, count);
    assert_int_equal(decode_delta(&bytes, back, VALUES), count);
    if (count)
        assert_memory_equal(back, values, count * sizeof *values);
    free(bytes.data);
}

static void test_differences_come_back(void **state)
{
    static uint64_t values[VALUES];
    srand(2);
    for (unsigned width = 0; width <= 64; width += width < 8 ? 1 : 7) {
        for (size_t i = 0; i < VALUES; i++)
            values[i] = random_bits(width);
        for (size_t count = 0; count < 300; count += count < 5 ? 1 : 31)
            check_delta(values, count);
        check_delta(values, VALUES);
    }
    for (size_t i = 0; i < VALUES; i++) /* the largest differences, which wrap around */
        values[i] = i % 2 ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
    check_delta(values, VALUES);
}

static void test_numbers_that_count_up_take_no_space(void **state)
{
    static uint64_t values[VALUES];
    struct bytes bytes = {0};
    for (size_t i = 0; i < VALUES; i++)
        values[i] = UINT64_MAX - 100 + i;
    parquet_add_delta(&bytes, values, VALUES);
    assert_in_range(bytes.len, 1, VALUES / 20);
    free(bytes.data);
    check_delta(values, VALUES);
}

static void test_widths(void **state)
{
    assert_int_equal(parquet_bit_width(0), 0);
    assert_int_equal(parquet_bit_width(1), 1);
    assert_int_equal(parquet_bit_width(255), 8);
    assert_int_equal(parquet_bit_width(256), 9);
    assert_int_equal(parquet_bit_width(UINT64_MAX), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_and_packed_values_come_back),
        cmocka_unit_test(test_a_run_is_short),
        cmocka_unit_test(test_differences_come_back),
        cmocka_unit_test(test_numbers_that_count_up_take_no_space),
        cmocka_unit_test(test_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
