/* Arbitrary bytes through the UTF-8 repair and the ASCII copy: the result is valid, within the limits, and
 * equal to the input if that was valid.
 *
 * With clang: -fsanitize=fuzzer. Otherwise define FUZZ_STANDALONE for a program with random inputs:
 * utf8_fuzz [RUNS [SEED]]. */
#include "base/text/utf8.h"

#include "fuzz.h"

/* Counts characters; the text must be valid. */
static size_t characters(const uint8_t *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; count++) {
        struct utf8_step step = utf8_next(text + i, len - i);
        require(step.valid && step.len >= 1 && step.len <= len - i, "the output is not valid UTF-8");
        i += step.len;
    }
    return count;
}

static bool is_valid(const uint8_t *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        struct utf8_step step = utf8_next(text + i, len - i);
        if (!step.valid)
            return false;
        i += step.len;
    }
    return true;
}

static size_t repair(const uint8_t *data, size_t size, size_t chars_max, size_t bytes_max, uint8_t **out)
{
    size_t len = utf8_repair(NULL, (const char *)data, size, chars_max, bytes_max);
    *out = malloc(len + 1);
    require(*out != NULL, "out of memory");
    require(utf8_repair(*out, (const char *)data, size, chars_max, bytes_max) == len,
            "counting and writing differ");
    require(len <= bytes_max, "more bytes than asked for");
    require(characters(*out, len) <= chars_max, "more characters than asked for");
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    size_t chars_max = data[0], bytes_max = data[1];
    data += 2;
    size -= 2;
    uint8_t *whole, *cut, *copy = malloc(size);
    size_t whole_len = repair(data, size, UTF8_NO_LIMIT, UTF8_NO_LIMIT, &whole);
    size_t cut_len = repair(data, size, chars_max, bytes_max, &cut);
    require(copy != NULL, "out of memory");
    if (is_valid(data, size))
        require(whole_len == size && memcmp(whole, data, size) == 0, "valid text was changed");
    require(cut_len <= whole_len && memcmp(cut, whole, cut_len) == 0,
            "the cut text doesn't begin the whole one");
    bool ascii = true;
    for (size_t i = 0; i < size; i++)
        ascii &= data[i] < 0x80;
    require(utf8_copy_ascii(copy, (const char *)data, size) == ascii, "ASCII is not what the copy says");
    require(memcmp(copy, data, size) == 0, "the copy differs");
    free(whole);
    free(cut);
    free(copy);
    return 0;
}

#ifdef FUZZ_STANDALONE
int main(int argc, char **argv)
{
    long runs = argc > 1 ? atol(argv[1]) : 100000;
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    static const uint8_t bytes[] = {0x00, 0x41, 0x7f, 0x80, 0x90, 0x9f, 0xa0, 0xbf, 0xc2,
                                    0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff};
    printf("utf8_fuzz: %ld runs from seed %llu\n", runs, (unsigned long long)state);
    for (long run = 0; run < runs; run++) {
        uint8_t data[100];
        size_t size = 0;
        for (; size < 4 + (size_t)(run % 96); size++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint8_t random = (uint8_t)(state >> 56);
            data[size] = run % 3 ? bytes[random % sizeof bytes] : random;
        }
        LLVMFuzzerTestOneInput(data, size);
    }
    return 0;
}
#endif
