/* Arbitrary bytes as a baseline and, after a 0xff byte, as the limits that `cuspan diff` reads: an error of
 * one line, or a comparison of the runs with themselves that finds no difference. */
#include "analysis/diff/diff.h"

#include "analysis/stat/stat_print.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *null;

static void is_told(const struct error *err)
{
    require(err->text[0] && !strpbrk(err->text, "\n\r\x1b"), "an error is not one line");
}

static void compare(const struct run_set *set, const struct diff_limits *limits)
{
    const struct stat_style as_text = {.format = STAT_FORMAT_TEXT, .columns = 80},
                            as_json = {.format = STAT_FORMAT_JSON};
    struct stat_report report = {.count = 0};
    struct diff diff;
    diff_init(&diff, set, set, limits);
    diff_report(&diff, true, &report);
    const struct run_set sides[SIDE_COUNT] = {*set, *set};
    diff_code_report(sides, STAT_CODE_BY_FUNCTION, true, &report);
    for (size_t i = 0; i < diff.count; i++)
        require(diff.items[i].verdict == VERDICT_SAME || diff.items[i].verdict == VERDICT_TOO_FEW,
                "runs differ from themselves");
    stat_print(null, &report, &as_text);
    stat_print(null, &report, &as_json);
    stat_report_deinit(&report);
    diff_deinit(&diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t baseline_bytes, limits_bytes;
    char *baseline = fuzz_part(&data, &size, &baseline_bytes), *text = fuzz_part(&data, &size, &limits_bytes);

    struct run_set set = {0};
    struct diff_limits limits;
    struct error err = {""};
    if (!null)
        null = fopen("/dev/null", "w");
    diff_limits_init(&limits);
    enum status status = run_set_add_baseline(&set, baseline, "input", &err);
    if (status == STATUS_OK)
        status = diff_limits_parse(&limits, text, limits_bytes, "limits", &err);
    if (status == STATUS_OK && set.run_count <= 16) { /* comparing more takes long */
        run_set_sort(&set);
        compare(&set, &limits);
    } else if (status != STATUS_OK) {
        is_told(&err);
    }
    diff_limits_deinit(&limits);
    run_set_deinit(&set);
    free(baseline);
    free(text);

    return 0;
}
