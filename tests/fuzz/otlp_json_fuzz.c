/* Arbitrary bytes as a file of spans that `cuspan show` and `cuspan stat` read (JSON lines, messages of
 * protobuf, compressed files): an error that names the place, or a trace that can be drawn, listed and
 * written for Perfetto, including control characters. The first byte selects the sizes of segments and of the
 * buffer. */
#include "cli/show/perfetto.h"
#include "cli/show/picture.h"
#include "cli/show/span_lines.h"
#include "cli/trace/trace_read.h"

#include "fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *null;

/* Each run allocates some 200 KB: memory that is used again needs no page faults. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=4:malloc_context_size=8";
}

static void draw(const struct trace *trace, uint8_t choice)
{
    struct picture_options options = {
        .columns = 40u + choice, .rows_max = choice & 31, .is_linear = choice & 1, .utf8 = choice & 2};
    picture_draw(null, trace, &options);
    span_lines_write(null, trace, options.utf8);
    perfetto_write(null, trace);
}

static void check(enum status status, const struct error *err)
{
    require(status == STATUS_OK || (err->text[0] && !strpbrk(err->text, "\n\r\x1b")),
            "an error is not one line");
}

static enum status count(void *spans, struct trace *segment, struct error *err)
{
    (void)err;
    for (size_t i = 0; i < segment->span_count; i++)
        *(size_t *)spans += !segment->spans[i].is_margin;
    return STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!null)
        null = fopen("/dev/null", "w");
    /* The reader would replay a recording by starting its own program again, here this fuzzer. */
    if (size < 1 || (size > 8 && memcmp(data + 1,
                                        "\x89"
                                        "CUSPAN\n",
                                        8) == 0))
        return 0;
    char path[40];
    int fd = memfd_create("trace", MFD_CLOEXEC);
    require(fd >= 0 && pwrite(fd, data + 1, size - 1, 0) == (ssize_t)size - 1, "the file can't be written");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *paths[] = {path};
    const char *wanted[] = {"cuda.*", NULL};
    struct trace_input input = {.paths = paths, .path_count = 1};
    struct trace trace;
    struct error err = {""};
    enum status status = trace_read_one(&input, NULL, &trace, &err);
    check(status, &err);
    if (status == STATUS_OK)
        draw(&trace, data[0]);
    trace_deinit(&trace);

    struct trace_facts facts;
    size_t spans = 0;
    input = (struct trace_input){.paths = paths,
                                 .path_count = 1,
                                 .wanted = data[0] & 1 ? wanted : NULL,
                                 .segment_spans = 1 + data[0] % 7,
                                 .margin_spans = 1 + data[0] % 3,
                                 .buffer_bytes = 1 + data[0] * 8};
    status = trace_read(&input, &trace, count, &spans, &facts, &err);
    check(status, &err);
    require(status != STATUS_OK || spans == facts.spans, "a span is in no segment, or in two");
    trace_deinit(&trace);
    close(fd);
    return 0;
}
