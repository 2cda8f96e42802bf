/* Arbitrary bytes as the OTLP JSON that `cuspan show` reads: an error with a line number, or a trace that can
 * be drawn, listed and written for Perfetto, including control characters. */
#include "cli/show/span_lines.h"
#include "cli/trace/otlp_reader.h"
#include "cli/show/perfetto.h"
#include "cli/show/picture.h"

#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    if (!null)
        null = fopen("/dev/null", "w");
    if (size < 1)
        return 0;
    struct otlp_choice choice = {.spans_max = 1 + data[0]};
    int fd = memfd_create("trace", MFD_CLOEXEC);
    require(fd >= 0 && pwrite(fd, data + 1, size - 1, 0) == (ssize_t)size - 1, "the file can't be written");
    FILE *file = fdopen(fd, "r");
    require(file != NULL, "no memory");
    struct trace trace;
    struct error err = {""};
    enum status status = otlp_read(file, "input", &choice, &trace, &err);
    if (status == STATUS_OK) {
        struct picture_options options = {.columns = 40u + data[0],
                                          .rows_max = data[0] & 31,
                                          .is_linear = data[0] & 1,
                                          .utf8 = data[0] & 2};
        require(trace.span_count <= choice.spans_max, "more spans than asked for");
        picture_draw(null, &trace, &options);
        span_lines_write(null, &trace, options.utf8);
        perfetto_write(null, &trace);
        trace_deinit(&trace);
    } else {
        require(err.text[0] && !strpbrk(err.text, "\n\r\x1b"), "an error is not one line");
    }
    fclose(file);
    return 0;
}
