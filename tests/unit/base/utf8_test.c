#include "base/text/utf8.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#define FFFD "\xef\xbf\xbd"

static void expect(const char *input, size_t len, size_t chars_max, size_t bytes_max, const char *want)
{
    uint8_t out[256];
    size_t size = utf8_repair(NULL, input, len, chars_max, bytes_max);
    assert_int_equal(size, strlen(want));
    assert_int_equal(utf8_repair(out, input, len, chars_max, bytes_max), size);
    assert_memory_equal(out, want, size);
}

#define REPAIRS(input, want) expect(input, sizeof(input) - 1, UTF8_NO_LIMIT, UTF8_NO_LIMIT, want)

static void test_valid_text_stays(void **state)
{
    REPAIRS("", "");
    REPAIRS("kernel<float, 4>(int*)", "kernel<float, 4>(int*)");
    REPAIRS("\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf");
    REPAIRS("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
            "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    REPAIRS("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
    REPAIRS("twelve bytes \xe2\x82\xac and more", "twelve bytes \xe2\x82\xac and more");
}

/* The example of the Unicode standard, table 3-8 to 3-11. */
static void test_each_maximal_subpart_is_one_replacement(void **state)
{
    REPAIRS("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
    REPAIRS("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD "A");
    REPAIRS("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", FFFD FFFD FFFD FFFD FFFD "A" FFFD FFFD "B");
    REPAIRS("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", FFFD FFFD FFFD FFFD "A");
}

static void test_whole_strings_are_checked(void **state)
{
    assert_true(utf8_is_valid(""));
    assert_true(utf8_is_valid("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    assert_false(utf8_is_valid("a\xc3"));
    assert_false(utf8_is_valid("\xed\xa0\x80"));     /* a surrogate */
    assert_false(utf8_is_valid("\xe0\x80\x80"));     /* overlong */
    assert_false(utf8_is_valid("\xf4\x90\x80\x80")); /* beyond U+10FFFF */
    assert_int_equal(utf8_code((const uint8_t *)"A", 1), 'A');
    assert_int_equal(utf8_code((const uint8_t *)"\xc3\xa9", 2), 0xe9);
    assert_int_equal(utf8_code((const uint8_t *)"\xe2\x82\xac", 3), 0x20ac);
    assert_int_equal(utf8_code((const uint8_t *)"\xf0\x9f\x98\x80", 4), 0x1f600);
}

static void test_truncated_end(void **state)
{
    REPAIRS("a\xc3", "a" FFFD);
    REPAIRS("a\xe2\x82", "a" FFFD);
    REPAIRS("a\xf0\x9f\x98", "a" FFFD);
    REPAIRS("a\xf0", "a" FFFD);
}

static void test_limits_cut_between_characters(void **state)
{
    const char *text = "ab\xe2\x82\xac"
                       "cdefghijkl\xf0\x9f\x98\x80z";
    size_t len = strlen(text);
    expect(text, len, 0, UTF8_NO_LIMIT, "");
    expect(text, len, 2, UTF8_NO_LIMIT, "ab");
    expect(text, len, 3, UTF8_NO_LIMIT, "ab\xe2\x82\xac");
    expect(text, len, 13, UTF8_NO_LIMIT,
           "ab\xe2\x82\xac"
           "cdefghijkl");
    expect(text, len, 14, UTF8_NO_LIMIT,
           "ab\xe2\x82\xac"
           "cdefghijkl\xf0\x9f\x98\x80");
    expect(text, len, UTF8_NO_LIMIT, 0, "");
    expect(text, len, UTF8_NO_LIMIT, 4, "ab");
    expect(text, len, UTF8_NO_LIMIT, 5, "ab\xe2\x82\xac");
    expect(text, len, UTF8_NO_LIMIT, 18,
           "ab\xe2\x82\xac"
           "cdefghijkl");
    expect("\xff\xff", 2, UTF8_NO_LIMIT, 5, FFFD);
    expect("\xff\xff", 2, 1, UTF8_NO_LIMIT, FFFD);
}

/* Can these bytes be the start of a character? Decided on the range of code points that they leave
 * open. */
static bool begins_character(const uint8_t *s, size_t n)
{
    size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc0 || s[0] >= 0xf8 || n > len)
        return false;
    uint32_t low = s[0] & (0x7fu >> len);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return false;
        low = low << 6 | (s[i] & 0x3f);
    }
    unsigned open = (unsigned)(6 * (len - n));
    uint32_t high = (low << open) | ((1u << open) - 1);
    low <<= open;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (low < least[len])
        low = least[len];
    if (high > 0x10ffff)
        high = 0x10ffff;
    return low <= high && !(low >= 0xd800 && high <= 0xdfff);
}

static void check_step(const uint8_t *s, size_t len)
{
    struct utf8_step step = utf8_next(s, len);
    size_t most = 1;
    while (most < len && begins_character(s, most + 1))
        most++;
    size_t whole = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    bool valid = begins_character(s, 1) && most == whole;
    if (step.len != most || step.valid != valid)
        fail_msg("%02x %02x %02x %02x of %zu: %u %d, not %zu %d", s[0], s[1], s[2], s[3], len, step.len,
                 step.valid, most, valid);
}

static void test_every_beginning(void **state)
{
    static const uint8_t fourth[] = {0x00, 0x41, 0x7f, 0x80, 0x9f, 0xbf, 0xc0, 0xff};
    for (uint32_t lead = 0x80; lead < 0x100; lead++) {
        for (uint32_t rest = 0; rest < 0x10000; rest++) {
            uint8_t s[4] = {(uint8_t)lead, (uint8_t)(rest >> 8), (uint8_t)rest,
                            fourth[(rest ^ rest >> 5) % 8]};
            check_step(s, rest % 4 + 1);
            check_step(s, 4);
        }
    }
}

/* Every length with a non-ASCII byte at every position, in memory of exactly that size. */
static void test_copy_says_whether_all_is_ascii(void **state)
{
    for (size_t len = 0; len <= 70; len++) {
        char *from = malloc(len + 1);
        uint8_t *to = malloc(len + 1);
        for (size_t odd = 0; odd <= len; odd++) {
            memset(from, 'x', len);
            memset(to, 0, len + 1);
            from[odd] = (char)0x80; /* at `len` it is past the text and must not be read */
            assert_int_equal(utf8_copy_ascii(to, from, len), odd == len);
            assert_memory_equal(to, from, len);
            assert_int_equal(to[len], 0);
        }
        free(from);
        free(to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_text_stays),
        cmocka_unit_test(test_each_maximal_subpart_is_one_replacement),
        cmocka_unit_test(test_whole_strings_are_checked),
        cmocka_unit_test(test_truncated_end),
        cmocka_unit_test(test_limits_cut_between_characters),
        cmocka_unit_test(test_every_beginning),
        cmocka_unit_test(test_copy_says_whether_all_is_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
