#include "analysis/show/label.h"

#include "cli/util/xalloc.h"
#include "model/semconv.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define UNBOUNDED 4096 /* columns; only for measuring */

static const char *const style_codes[STYLE_CLASS + CLASS_COUNT] = {
    [STYLE_BOLD] = "1",
    [STYLE_DIM] = "2",
    [STYLE_ERROR] = "31",
    [STYLE_CLASS + CLASS_OTHER] = "37",
    [STYLE_CLASS + CLASS_SESSION] = "90",
    [STYLE_CLASS + CLASS_CALL] = "34",
    [STYLE_CLASS + CLASS_KERNEL] = "32",
    [STYLE_CLASS + CLASS_COPY] = "33",
    [STYLE_CLASS + CLASS_FILL] = "35",
    [STYLE_CLASS + CLASS_GPU_OTHER] = "36",
    [STYLE_CLASS + CLASS_COLLECTIVE] = "37",
};

void style_begin(struct text *text, unsigned style, bool color)
{
    if (color && style_codes[style])
        text_add_format(text, "\033[%sm", style_codes[style]);
}

void style_end(struct text *text, unsigned style, bool color)
{
    if (color && style_codes[style])
        text_add(text, "\033[m");
}

void label_add_part(struct label_writer *writer, const char *string, unsigned style)
{
    if (writer->columns == 0 || !*string)
        return;
    style_begin(writer->text, style, writer->color);
    writer->columns -= text_add_fitted(writer->text, string, writer->columns, writer->utf8);
    style_end(writer->text, style, writer->color);
}

void label_add_whole(struct label_writer *writer, unsigned style, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *string = xvasprintf(format, arguments);
    va_end(arguments);
    if (text_columns(string, writer->utf8) <= writer->columns)
        label_add_part(writer, string, style);
    free(string);
}

static void add_guides(struct label_writer *writer, const struct outline_row *row)
{
    struct text guides = {0};
    text_clear(&guides);
    for (uint32_t depth = 1; depth <= row->depth; depth++) {
        bool goes_on = row->guides >> depth & 1;
        if (depth < row->depth)
            text_add(&guides, !goes_on ? "  " : writer->utf8 ? "│ " : "| ");
        else if (writer->utf8)
            text_add(&guides, goes_on ? "├ " : "└ ");
        else
            text_add(&guides, goes_on ? "|-" : "`-");
    }
    /* In deep trees, the name matters more than the lines to it. */
    size_t columns = text_columns(guides.data, writer->utf8);
    if (columns <= writer->columns / 2)
        label_add_part(writer, guides.data, STYLE_DIM);
    else
        label_add_part(writer, writer->utf8 ? "⋯ " : ".. ", STYLE_DIM);
    text_deinit(&guides);
}

/* Bytes that GPU work moved or that an allocation requested; 0: not such a span. */
static uint64_t bytes_of(const struct trace *trace, const struct trace_span *span)
{
    if (span->class == CLASS_CALL) {
        const char *name = trace_string(trace, span->name);
        const char *size = strstr(name, "alloc") || strstr(name, "Alloc")
                               ? trace_span_attr(trace, span, SEMCONV_CUDA_ARG_SIZE)
                               : NULL;
        return size ? strtoull(size, NULL, 10) : 0;
    }
    if (span->class != CLASS_COPY && span->class != CLASS_FILL)
        return 0;
    for (uint32_t i = span->attr_first; i < span->attr_first + span->attr_count; i++) {
        if (text_ends_with(trace_string(trace, trace->attrs[i].key), ".bytes"))
            return trace_attr_int(trace, &trace->attrs[i]);
    }
    return 0;
}

/* "[4096,1,1]" in CUDA's notation: "4096", "(32,8)". */
static void add_dimensions(struct text *text, const char *json)
{
    unsigned long dim[3] = {1, 1, 1};
    const char *at = json + strspn(json, "[");
    for (int i = 0; i < 3 && *at; i++) {
        char *end;
        dim[i] = strtoul(at, &end, 10);
        at = *end ? end + 1 : end;
    }
    if (dim[2] > 1)
        text_add_format(text, "(%lu,%lu,%lu)", dim[0], dim[1], dim[2]);
    else if (dim[1] > 1)
        text_add_format(text, "(%lu,%lu)", dim[0], dim[1]);
    else
        text_add_format(text, "%lu", dim[0]);
}

/* The value of the key if all spans of the line have the same, else NULL. */
static const char *common_attr(const struct trace *trace, const struct outline_group *group, const char *key)
{
    const char *value = trace_span_attr(trace, &trace->spans[group->members[0]], key);
    for (size_t i = 1; value && i < group->count; i++) {
        if (trace_span_attr(trace, &trace->spans[group->members[i]], key) != value)
            return NULL;
    }
    return value;
}

/* The sum over the line's spans. */
static uint64_t sum_of(const struct trace *trace, const struct outline_group *group, const char *key)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < group->count; i++) {
        const char *value = trace_span_attr(trace, &trace->spans[group->members[i]], key);
        sum += value ? strtoull(value, NULL, 10) : 0;
    }
    return sum;
}

/* The totals of a summary, which has no GPU spans: "  GPU 13.9 us, 5 kernels, 3 copies". */
static void add_totals(struct label_writer *writer, const struct trace *trace,
                       const struct outline_group *group)
{
    static const struct {
        const char *key, *one, *many;
    } counts[] = {{SEMCONV_CUDA_TOTAL_KERNELS, "kernel", "kernels"},
                  {SEMCONV_CUDA_TOTAL_GRAPHS, "graph", "graphs"},
                  {SEMCONV_CUDA_TOTAL_COPIES, "copy", "copies"},
                  {SEMCONV_CUDA_TOTAL_FILLS, "fill", "fills"}};
    uint64_t gpu_ns = sum_of(trace, group, SEMCONV_CUDA_TOTAL_GPU_TIME);
    char number[TEXT_NUMBER_BYTES];
    if (trace->lane_count > 0 || gpu_ns == 0)
        return;
    label_add_whole(writer, STYLE_DIM, "  GPU %s", text_duration(number, gpu_ns, writer->utf8));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t count = sum_of(trace, group, counts[i].key);
        if (count)
            label_add_whole(writer, STYLE_DIM, ", %s %s", text_count(number, count),
                            count == 1 ? counts[i].one : counts[i].many);
    }
}

/* The value that all spans have; several pieces of GPU work, whose calls may be in a line with others, have
 * that of their calls. */
static const char *code_attr(const struct trace *trace, const struct outline_group *group, const char *key)
{
    const char *value = NULL;
    for (size_t i = 0; i < group->count; i++) {
        const struct trace_span *span = &trace->spans[group->members[i]];
        const char *of_span = trace_span_attr(trace, span, key);
        bool has_call = group->count > 1 && trace_class_is_gpu(span->class) && span->parent != TRACE_NONE;
        if (!of_span && has_call)
            of_span = trace_span_attr(trace, &trace->spans[span->parent], key);
        if (!of_span || (i && of_span != value))
            return NULL;
        value = of_span;
    }
    return value;
}

/* The program's line that all spans come from: "  train.py:88 forward". */
static void add_code(struct label_writer *writer, const struct trace *trace,
                     const struct outline_group *group)
{
    const char *file = code_attr(trace, group, SEMCONV_CODE_FILE_PATH);
    const char *line = file ? code_attr(trace, group, SEMCONV_CODE_LINE_NUMBER) : NULL;
    const char *function = code_attr(trace, group, SEMCONV_CODE_FUNCTION_NAME);
    bool is_of_cuda = trace->spans[group->members[0]].class == CLASS_CALL ||
                      trace_class_is_gpu(trace->spans[group->members[0]].class);
    if (is_of_cuda && (file || function))
        label_add_whole(writer, STYLE_DIM, "  %s%s%s%s%s", file ? file : "", line ? ":" : "",
                        line ? line : "", file && function ? " " : "", function ? function : "");
}

/* Facts about a line, most important first; each one complete or not at all. */
static void add_details(struct label_writer *writer, const struct trace *trace,
                        const struct outline_group *group)
{
    const struct trace_span *first = &trace->spans[group->members[0]];
    char number[TEXT_NUMBER_BYTES];
    uint64_t bytes = 0;
    for (size_t i = 0; i < group->count; i++)
        bytes += bytes_of(trace, &trace->spans[group->members[i]]);
    if (bytes)
        label_add_whole(writer, STYLE_DIM, "  %s", text_bytes(number, bytes));
    add_code(writer, trace, group);
    const char *grid =
        first->class == CLASS_KERNEL ? common_attr(trace, group, SEMCONV_CUDA_KERNEL_GRID) : NULL;
    const char *block =
        first->class == CLASS_KERNEL ? common_attr(trace, group, SEMCONV_CUDA_KERNEL_BLOCK) : NULL;
    if (grid && block) {
        struct text part = {0};
        add_dimensions(&part, grid);
        text_add(&part, ", ");
        add_dimensions(&part, block);
        label_add_whole(writer, STYLE_DIM, "  <<<%s>>>", part.data);
        text_deinit(&part);
    }
    bool is_gpu = trace_class_is_gpu(first->class) && trace->lane_count > 1;
    const char *stream = is_gpu ? common_attr(trace, group, SEMCONV_CUDA_STREAM_ID) : NULL;
    if (stream)
        label_add_whole(writer, STYLE_DIM, "  stream %s", stream);
    add_totals(writer, trace, group);
}

static void add_spans_label(struct label_writer *writer, const struct trace *trace,
                            const struct outline_row *row)
{
    const struct outline_group *group = row->group;
    const struct trace_span *first = &trace->spans[group->members[0]];
    char number[TEXT_NUMBER_BYTES], times[TEXT_NUMBER_BYTES + 8] = "";
    if (group->count > 1)
        snprintf(times, sizeof times, writer->utf8 ? " ×%s" : " x%s", text_count(number, group->count));
    /* The count and a failure stay visible, however little of the name fits. */
    size_t reserved = text_columns(times, writer->utf8) + (first->error ? 2 : 0);
    if (writer->columns > reserved) {
        size_t rest = writer->columns - reserved;
        writer->columns = rest;
        const char *name = trace_string(trace, first->name);
        label_add_part(writer, *name ? name : "(no name)",
                       first->error      ? STYLE_ERROR
                       : row->depth == 0 ? STYLE_BOLD
                                         : STYLE_PLAIN);
        writer->columns += reserved;
    }
    label_add_part(writer, times, STYLE_PLAIN);
    if (first->error) {
        label_add_part(writer, writer->utf8 ? " ✗ " : " ! ", STYLE_ERROR);
        if (writer->columns > 4)
            label_add_part(writer, trace_string(trace, first->error), STYLE_ERROR);
    }
    add_details(writer, trace, group);
}

static void add_thread_label(struct label_writer *writer, const struct trace *trace,
                             const struct outline_group *group)
{
    uint32_t index = trace->spans[group->members[0]].thread;
    const struct trace_thread *thread = &trace->threads[index];
    const char *id = trace_string(trace, thread->id);
    label_add_part(writer, "thread ", STYLE_DIM);
    label_add_part(writer, thread->name ? trace_string(trace, thread->name) : id, STYLE_BOLD);
    if (thread->name)
        label_add_whole(writer, STYLE_DIM, "  %s", id);
}

void label_add(struct label_writer *writer, const struct trace *trace, const struct outline_row *row)
{
    add_guides(writer, row);
    if (row->group->kind == OUTLINE_THREAD) {
        add_thread_label(writer, trace, row->group);
    } else if (row->group->kind == OUTLINE_MORE) {
        char number[TEXT_NUMBER_BYTES], label[TEXT_NUMBER_BYTES + 16];
        snprintf(label, sizeof label, "%s %s more", writer->utf8 ? "…" : "...",
                 text_count(number, row->group->count));
        label_add_part(writer, label, STYLE_DIM);
    } else {
        add_spans_label(writer, trace, row);
    }
}

size_t label_columns(const struct trace *trace, const struct outline_row *row, bool utf8)
{
    struct text text = {0};
    struct label_writer writer = {.text = &text, .columns = UNBOUNDED, .utf8 = utf8};
    label_add(&writer, trace, row);
    text_deinit(&text);
    return UNBOUNDED - writer.columns;
}
