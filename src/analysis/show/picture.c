#include "analysis/show/picture.h"

#include "analysis/show/bars.h"
#include "analysis/show/engine_notes.h"
#include "analysis/show/gpu_work.h"
#include "analysis/show/label.h"
#include "analysis/show/rank_rows.h"
#include "cli/util/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define TIME_COLUMNS       8   /* "41.3 µs" and a space before it */
#define EACH_COLUMNS_MIN   100 /* narrower terminals have no column for the average */
#define LABEL_COLUMNS_MIN  14
#define LANES_MAX          16
#define OTHER_TRACES_SHOWN 3
#define RANKS_WITH_SPANS   4 /* if there are more ranks, their spans are not drawn */

struct picture {
    FILE *out;
    const struct trace *trace;
    const struct picture_options *options;
    struct outline outline;
    struct scale scale;
    struct gpu_work work;
    size_t label_columns;
    bool has_groups;
    bool has_each;
    struct text line;
};

static void end_line(struct picture *picture)
{
    struct text *line = &picture->line;
    while (line->len && line->data[line->len - 1] == ' ')
        line->len--;
    fwrite(line->data, 1, line->len, picture->out);
    fputc('\n', picture->out);
    text_clear(line);
}

static struct label_writer writer_of(struct picture *picture, size_t columns)
{
    return (struct label_writer){&picture->line, columns, picture->options->color, picture->options->utf8};
}

/* A separate line, as long as the terminal is wide. */
static void add_note(struct picture *picture, const char *string)
{
    struct label_writer writer = writer_of(picture, picture->options->columns);
    label_add_part(&writer, string, STYLE_DIM);
    end_line(picture);
}

static void add_time(struct picture *picture, const char *time)
{
    size_t columns = text_columns(time, picture->options->utf8);
    text_add_char(&picture->line, ' ', columns < TIME_COLUMNS ? TIME_COLUMNS - columns : 1);
    text_add(&picture->line, time);
}

/* The rest of the label, the times and the bar, which have the same columns in all lines. */
static void add_right_side(struct picture *picture, size_t label_rest, uint64_t total_ns, const char *each,
                           const uint32_t *spans, size_t span_count, unsigned style)
{
    char number[TEXT_NUMBER_BYTES];
    text_add_char(&picture->line, ' ', label_rest);
    add_time(picture, text_duration(number, total_ns, picture->options->utf8));
    if (picture->has_each)
        add_time(picture, each);
    text_add(&picture->line, " ");
    struct bars_look look = {style, picture->options->color, picture->options->utf8};
    bars_add(&picture->line, picture->trace, spans, span_count, &picture->scale, &look);
    end_line(picture);
}

/* The same for work on a GPU, with its share of the trace. */
static void add_busy_side(struct picture *picture, size_t label_rest, const uint32_t *spans, size_t count)
{
    const struct trace *trace = picture->trace;
    uint64_t busy = bars_covered_ns(trace, spans, count);
    char share[TEXT_NUMBER_BYTES];
    text_share(share, busy, trace->end_ns - trace->start_ns);
    add_right_side(picture, label_rest, busy, share, spans, count, STYLE_CLASS + CLASS_KERNEL);
}

static unsigned style_of(const struct trace *trace, const struct outline_group *group)
{
    const struct trace_span *first = &trace->spans[group->members[0]];
    if (group->kind != OUTLINE_SPANS)
        return STYLE_CLASS + CLASS_SESSION;
    return first->error ? STYLE_ERROR : STYLE_CLASS + first->class;
}

static void draw_row(struct picture *picture, const struct outline_row *row)
{
    const struct outline_group *group = row->group;
    struct label_writer writer = writer_of(picture, picture->label_columns);
    char each[TEXT_NUMBER_BYTES] = "";
    if (group->count > 1)
        text_duration(each, group->total_ns / group->count, picture->options->utf8);
    label_add(&writer, picture->trace, row);
    add_right_side(picture, writer.columns, group->total_ns, each, group->members, group->count,
                   style_of(picture->trace, group));
}

static void draw_axis(struct picture *picture)
{
    text_add_char(&picture->line, ' ', picture->label_columns);
    style_begin(&picture->line, STYLE_DIM, picture->options->color);
    add_time(picture, picture->has_groups ? "total" : "");
    if (picture->has_each)
        add_time(picture, "each");
    text_add(&picture->line, " ");
    bars_add_axis(&picture->line, &picture->scale, picture->options->utf8);
    style_end(&picture->line, STYLE_DIM, picture->options->color);
    end_line(picture);
}

static void add_counted(struct text *text, const char *separator, size_t count, const char *one,
                        const char *many)
{
    char number[TEXT_NUMBER_BYTES];
    text_add_format(text, "%s%s %s", text->len ? separator : "", text_count(number, count),
                    count == 1 ? one : many);
}

static void add_lane_facts(struct text *text, const struct trace *trace, const uint32_t *spans, size_t count)
{
    static const struct {
        uint32_t class;
        const char *one, *many;
    } kinds[] = {{CLASS_KERNEL, "kernel", "kernels"},
                 {CLASS_COPY, "copy", "copies"},
                 {CLASS_FILL, "fill", "fills"},
                 {CLASS_GPU_OTHER, "other", "others"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t found = 0;
        for (size_t i = 0; i < count; i++)
            found += trace->spans[spans[i]].class == kinds[k].class;
        if (found)
            add_counted(text, ", ", found, kinds[k].one, kinds[k].many);
    }
}

static bool has_several_contexts(const struct picture *picture, uint32_t resource)
{
    size_t count;
    const uint32_t *lanes = gpu_group(&picture->work.lanes, resource, &count);
    for (size_t i = 1; i < count; i++)
        if (picture->trace->lanes[lanes[i]].context != picture->trace->lanes[lanes[0]].context)
            return true;
    return false;
}

static void draw_lane(struct picture *picture, uint32_t index, bool is_last, bool has_contexts)
{
    const struct trace *trace = picture->trace;
    const struct trace_lane *lane = &trace->lanes[index];
    size_t count;
    const uint32_t *spans = gpu_group(&picture->work.of_lane, index, &count);
    struct text name = {0}, facts = {0};
    if (has_contexts)
        text_add_format(&name, "context %s ", trace_string(trace, lane->context));
    text_add_format(&name, "stream %s", lane->stream ? trace_string(trace, lane->stream) : "?");
    add_lane_facts(&facts, trace, spans, count);
    struct label_writer writer = writer_of(picture, picture->label_columns);
    label_add_part(&writer, picture->options->utf8 ? (is_last ? "└ " : "├ ") : (is_last ? "`-" : "|-"),
                   STYLE_DIM);
    label_add_part(&writer, name.data, STYLE_PLAIN);
    label_add_whole(&writer, STYLE_DIM, "  %s", facts.data ? facts.data : "");
    add_busy_side(picture, writer.columns, spans, count);
    text_deinit(&name);
    text_deinit(&facts);
}

static void draw_device(struct picture *picture, uint32_t resource)
{
    const struct trace *trace = picture->trace;
    const struct trace_resource *device = &trace->resources[resource];
    struct label_writer writer = writer_of(picture, picture->label_columns);
    size_t count, lane_count;
    const uint32_t *spans = gpu_group(&picture->work.of_resource, resource, &count),
                   *lanes = gpu_group(&picture->work.lanes, resource, &lane_count);
    char name[64];
    bool has_number = device->device && strlen(trace_string(trace, device->device)) <= 3;
    snprintf(name, sizeof name, "GPU %s", has_number ? trace_string(trace, device->device) : "");
    label_add_part(&writer, name, STYLE_BOLD);
    if (device->device_name) {
        label_add_part(&writer, "  ", STYLE_PLAIN);
        label_add_part(&writer, trace_string(trace, device->device_name), STYLE_PLAIN);
    }
    add_busy_side(picture, writer.columns, spans, count);
    bool has_contexts = has_several_contexts(picture, resource);
    for (size_t i = 0; i < lane_count && i < LANES_MAX; i++)
        draw_lane(picture, lanes[i], i + 1 == lane_count, has_contexts);
    if (lane_count > LANES_MAX) {
        char note[64];
        snprintf(note, sizeof note, "  and %zu more streams", lane_count - LANES_MAX);
        add_note(picture, note);
    }
}

static void draw_devices(struct picture *picture)
{
    if (picture->trace->lane_count == 0)
        return;
    fputc('\n', picture->out);
    for (uint32_t i = 0; i < picture->trace->resource_count; i++) {
        size_t count;
        (void)gpu_group(&picture->work.of_resource, i, &count);
        if (count)
            draw_device(picture, i);
    }
}

/* Adds a part of the header, on the next line if this one is full. */
static void add_fact(struct picture *picture, struct label_writer *writer, const char *fact, unsigned style)
{
    const char *separator = picture->options->utf8 ? " · " : ", ";
    bool is_first = picture->line.len == 0;
    size_t needed = text_columns(fact, writer->utf8) + (is_first ? 0 : text_columns(separator, writer->utf8));
    if (!is_first && needed > writer->columns) {
        end_line(picture);
        writer->columns = picture->options->columns;
    } else if (!is_first) {
        label_add_part(writer, separator, STYLE_PLAIN);
    }
    label_add_part(writer, fact, style);
}

/* The time in which GPUs were busy, and its share of the trace, averaged over the GPUs. */
static void add_busy(struct picture *picture, struct label_writer *writer)
{
    const struct trace *trace = picture->trace;
    uint64_t busy = 0, devices = 0;
    char number[TEXT_NUMBER_BYTES], share[TEXT_NUMBER_BYTES], fact[3 * TEXT_NUMBER_BYTES];
    for (uint32_t i = 0; i < trace->resource_count; i++) {
        size_t count;
        const uint32_t *spans = gpu_group(&picture->work.of_resource, i, &count);
        busy += bars_covered_ns(trace, spans, count);
        devices += count != 0;
    }
    if (!devices)
        return;
    snprintf(fact, sizeof fact, "%llu GPUs", (unsigned long long)devices);
    if (devices > 1)
        add_fact(picture, writer, fact, STYLE_PLAIN);
    snprintf(fact, sizeof fact, "GPU busy %s (%s)", text_duration(number, busy, picture->options->utf8),
             text_share(share, busy, (trace->end_ns - trace->start_ns) * devices));
    add_fact(picture, writer, fact, STYLE_PLAIN);
}

static size_t count_errors(const struct trace *trace)
{
    size_t errors = 0;
    for (size_t i = 0; i < trace->span_count; i++)
        errors += trace->spans[i].error != 0;
    return errors;
}

static void draw_title(struct picture *picture)
{
    const struct trace *trace = picture->trace;
    const struct trace_resource *resource = &trace->resources[trace->spans[0].resource];
    struct label_writer writer = writer_of(picture, picture->options->columns);
    const char *id = trace_string(trace, trace->id);
    label_add_part(&writer, resource->service ? trace_string(trace, resource->service) : "trace", STYLE_BOLD);
    if (writer.columns < strlen("  trace ") + strlen(id)) {
        end_line(picture);
        writer.columns = picture->options->columns;
    } else {
        label_add_part(&writer, "  ", STYLE_PLAIN);
    }
    label_add_part(&writer, "trace ", STYLE_DIM);
    label_add_part(&writer, id, STYLE_DIM);
    end_line(picture);
}

static void draw_header(struct picture *picture)
{
    const struct trace *trace = picture->trace;
    struct label_writer writer = writer_of(picture, picture->options->columns);
    char number[TEXT_NUMBER_BYTES];
    struct text fact = {0};
    size_t errors = count_errors(trace);
    draw_title(picture);
    add_counted(&fact, "", trace->span_count, "span", "spans");
    add_fact(picture, &writer, fact.data, STYLE_PLAIN);
    text_duration(number, trace->end_ns - trace->start_ns, picture->options->utf8);
    add_fact(picture, &writer, number, STYLE_PLAIN);
    add_busy(picture, &writer);
    text_clear(&fact);
    add_counted(&fact, "", errors, "error", "errors");
    if (errors)
        add_fact(picture, &writer, fact.data, STYLE_ERROR);
    text_deinit(&fact);
    end_line(picture);
    fputc('\n', picture->out);
}

static void note_cuts(struct picture *picture)
{
    uint64_t cut_ns = 0;
    char note[256], number[TEXT_NUMBER_BYTES];
    for (size_t i = 0; i < picture->scale.cut_count; i++)
        cut_ns += picture->scale.cuts[i].to_ns - picture->scale.cuts[i].from_ns;
    snprintf(note, sizeof note, "%s %s in which nothing starts or ends (--linear draws everything)",
             picture->options->utf8 ? "╱╱" : "//", text_duration(number, cut_ns, picture->options->utf8));
    add_note(picture, note);
}

static void note_others(struct picture *picture)
{
    const struct trace *trace = picture->trace;
    struct text note = {0};
    size_t shown = 0;
    add_counted(&note, "", trace->others,
                "other trace here (--trace ID):", "other traces here (--trace ID):");
    for (size_t i = 0; i < trace->list_count && shown < OTHER_TRACES_SHOWN; i++) {
        const char *id = trace_id_text(trace, (uint32_t)i);
        if (trace->list[i].spans == 0 || strcmp(id, trace_string(trace, trace->id)) == 0)
            continue;
        text_add_format(&note, " %.8s (%zu)", id, trace->list[i].spans);
        shown++;
    }
    if (trace->others > shown)
        text_add(&note, picture->options->utf8 ? " …" : " ...");
    add_note(picture, note.data);
    text_deinit(&note);
}

static void draw_notes(struct picture *picture)
{
    const struct trace *trace = picture->trace;
    bool has_cuts = picture->scale.cut_count > 0;
    if (has_cuts || trace->others)
        fputc('\n', picture->out);
    if (has_cuts)
        note_cuts(picture);
    if (trace->others)
        note_others(picture);
}

/* The ranks of a step, from two on, each on a line. */
static void draw_ranks(struct picture *picture, const struct step_ranks *ranks)
{
    const struct picture_options *options = picture->options;
    struct text *line = &picture->line;
    struct rank_rows rows;
    size_t wanted = LABEL_COLUMNS_MIN, limit = options->columns * 2 / 5 + 2;
    rank_rows_fold(&rows, ranks, picture->trace, options->rows_max);
    for (size_t i = 0; i < rows.count; i++) {
        rank_rows_add_label(line, picture->trace, ranks, &rows.items[i], options->utf8);
        size_t columns = text_columns(line->data, options->utf8);
        wanted = columns > wanted ? columns : wanted;
        text_clear(line);
    }
    size_t label = wanted < limit ? wanted : limit, left = label + RANK_ROWS_TIMES + 1;
    /* Linear, so that lengths can be compared. */
    scale_init(&picture->scale, picture->trace, options->columns > left ? options->columns - left : 1, true);
    text_add_char(line, ' ', label);
    style_begin(line, STYLE_DIM, options->color);
    rank_rows_add_titles(line);
    text_add(line, " ");
    bars_add_axis(line, &picture->scale, options->utf8);
    style_end(line, STYLE_DIM, options->color);
    end_line(picture);
    for (size_t i = 0; i < rows.count; i++) {
        const struct rank_row *row = &rows.items[i];
        struct text name = {0};
        struct label_writer writer = writer_of(picture, label);
        rank_rows_add_label(&name, picture->trace, ranks, row, options->utf8);
        label_add_part(&writer, name.data, ranks->items[row->first].is_late ? STYLE_ERROR : STYLE_BOLD);
        text_add_char(line, ' ', writer.columns);
        rank_rows_add_times(line, ranks, row, options->utf8);
        text_add(line, " ");
        rank_rows_add_bar(line, picture->trace, ranks, row, &picture->scale, options->color, options->utf8);
        end_line(picture);
        text_deinit(&name);
    }
    rank_rows_add_legend(line, options->color, options->utf8);
    end_line(picture);
    rank_rows_deinit(&rows);
}

static void lay_out(struct picture *picture)
{
    const struct picture_options *options = picture->options;
    size_t wanted = LABEL_COLUMNS_MIN, limit = options->columns * 2 / 5 + 2;
    for (size_t i = 0; i < picture->outline.row_count; i++) {
        const struct outline_row *row = &picture->outline.rows[i];
        size_t columns = label_columns(picture->trace, row, options->utf8);
        wanted = columns > wanted ? columns : wanted;
        picture->has_groups |= row->group->count > 1;
    }
    if (picture->trace->lane_count && wanted < limit)
        wanted = wanted < 30 ? 30 : wanted; /* room for the text of the lanes */
    picture->label_columns = wanted < limit ? wanted : limit;
    picture->has_each = picture->has_groups && options->columns >= EACH_COLUMNS_MIN;
    size_t times = TIME_COLUMNS * (picture->has_each ? 2 : 1);
    scale_init(&picture->scale, picture->trace, options->columns - picture->label_columns - times - 1,
               options->is_linear);
}

static void draw_spans(struct picture *picture)
{
    outline_build(&picture->outline, picture->trace, picture->options->rows_max);
    lay_out(picture);
    draw_axis(picture);
    for (size_t i = 0; i < picture->outline.row_count; i++)
        draw_row(picture, &picture->outline.rows[i]);
    draw_devices(picture);
    outline_deinit(&picture->outline);
}

void picture_draw(FILE *out, const struct trace *trace, const struct picture_options *options)
{
    struct picture picture = {.out = out, .trace = trace, .options = options};
    text_clear(&picture.line);
    struct step_ranks ranks;
    step_ranks_find(&ranks, trace);
    gpu_work_init(&picture.work, trace);
    draw_header(&picture);
    if (ranks.count > 1)
        draw_ranks(&picture, &ranks);
    if (ranks.count > 1 && ranks.count <= RANKS_WITH_SPANS)
        fputc('\n', out);
    if (ranks.count <= RANKS_WITH_SPANS)
        draw_spans(&picture);
    else
        add_note(&picture, "--rank N draws the spans of one rank");
    engine_notes_write(out, trace, options->columns, options->utf8);
    draw_notes(&picture);
    gpu_work_deinit(&picture.work);
    step_ranks_deinit(&ranks);
    text_deinit(&picture.line);
}
