#include "analysis/stat/stat_print.h"

#include "cli/util/xalloc.h"
#include "cli/util/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_COLUMNS_MIN 16
#define NAME_COLUMNS_MAX 60
#define GAP_COLUMNS      2

struct stat_look {
    size_t columns;
    bool color;
    bool utf8;
    bool has_names;
};

static bool is_number(const struct stat_table *table, size_t column)
{
    return table->columns[column].unit != STAT_TEXT;
}

static const struct stat_value *value_at(const struct stat_table *table, size_t row, size_t column)
{
    return &stat_table_row(table, row)[column];
}

/* --- for people --- */

static void add_rate(struct text *cell, double bytes_per_s)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
    size_t unit = 0;
    for (; fabs(bytes_per_s) >= 1000 && unit + 1 < sizeof units / sizeof *units; bytes_per_s /= 1000)
        unit++;
    text_add_format(cell, "%.*f %s", fabs(bytes_per_s) < 100 ? 1 : 0, bytes_per_s, units[unit]);
}

/* Sets `cell` to the value's text. */
static void make_cell(struct text *cell, const struct stat_table *table, size_t row, size_t column, bool utf8)
{
    const struct stat_value *value = value_at(table, row, column);
    char number[TEXT_NUMBER_BYTES];
    text_clear(cell);
    if (value->is_missing)
        return;
    switch (table->columns[column].unit) {
    case STAT_TEXT:
        text_add(cell, value->text);
        return;
    case STAT_COUNT:
        text_add(cell, text_count(number, (uint64_t)value->i));
        return;
    case STAT_NS:
        if (value->i < 0) /* an earlier time, in tables of ranks */
            text_add(cell, "-");
        text_add(cell, text_duration(number, (uint64_t)llabs(value->i), utf8));
        return;
    case STAT_BYTES:
        text_add(cell, text_bytes(number, (uint64_t)value->i));
        return;
    case STAT_RATE:
        add_rate(cell, value->d);
        return;
    case STAT_SHARE:
        text_add_format(cell, "%.1f %%", 100 * value->d);
        return;
    case STAT_REAL:
        text_add_format(cell, "%.2f", value->d);
        return;
    case STAT_PROBABILITY:
        text_add_format(cell, "%.2g", value->d);
        return;
    }
}

static void measure(const struct stat_table *table, const struct stat_look *look, size_t *widths)
{
    struct text cell = {0};
    for (size_t c = 0; c < table->column_count; c++) {
        widths[c] = text_columns(table->columns[c].title, look->utf8);
        for (size_t r = 0; r < table->row_count; r++) {
            make_cell(&cell, table, r, c, look->utf8);
            size_t columns = text_columns(cell.data, look->utf8);
            widths[c] = columns > widths[c] ? columns : widths[c];
        }
    }
    text_deinit(&cell);
}

/* Returns for each column whether any row has a value in it: empty columns are not printed. The caller frees
 * the result. */
static bool *find_filled(const struct stat_table *table)
{
    bool *filled = xcalloc(table->column_count + 1, sizeof *filled);
    for (size_t r = 0; r < table->row_count; r++)
        for (size_t c = 0; c < table->column_count; c++)
            filled[c] |=
                !value_at(table, r, c)->is_missing && (is_number(table, c) || *value_at(table, r, c)->text);
    return filled;
}

/* Returns the columns to show on a terminal, whose rows have no space for full names and sentences of
 * findings. The caller frees the result. */
static bool *find_shown(const struct stat_table *table)
{
    static const char *const long_ones[] = {"full_name", "evidence", "advice"};
    bool *shown = find_filled(table);
    for (size_t c = 0; c < table->column_count; c++)
        for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
            shown[c] &= strcmp(table->columns[c].key, long_ones[i]) != 0;
    return shown;
}

/* Returns the column to shorten if the row is too wide. */
static size_t widest_text(const struct stat_table *table, const bool *shown, const size_t *widths)
{
    size_t widest = 0;
    for (size_t c = 1; c < table->column_count; c++) {
        if (!is_number(table, c) && shown[c] && widths[c] > widths[widest])
            widest = c;
    }
    return widest;
}

static void fit(const struct stat_table *table, const struct stat_look *look, const bool *shown,
                size_t *widths)
{
    size_t whole = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        if (!is_number(table, c) && widths[c] > NAME_COLUMNS_MAX)
            widths[c] = NAME_COLUMNS_MAX;
        whole += shown[c] ? widths[c] + GAP_COLUMNS : 0;
    }
    while (whole > look->columns + GAP_COLUMNS) {
        size_t widest = widest_text(table, shown, widths);
        if (widths[widest] <= NAME_COLUMNS_MIN)
            break;
        widths[widest]--;
        whole--;
    }
}

static void add_padded(struct text *line, const char *string, size_t width, bool to_the_right, bool utf8)
{
    text_add_column(line, string, width, to_the_right, utf8);
    text_add_char(line, ' ', GAP_COLUMNS);
}

static void print_line(FILE *out, struct text *line)
{
    size_t len = line->len;
    while (len && line->data[len - 1] == ' ')
        len--;
    fprintf(out, "%.*s\n", (int)len, line->data ? line->data : "");
    text_clear(line);
}

/* Prints the only row of a table as lines, one for each column. */
static void print_as_lines(FILE *out, const struct stat_table *table, const struct stat_look *look)
{
    struct text line = {0}, cell = {0};
    size_t width = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        size_t columns = text_columns(table->columns[c].title, look->utf8);
        width = columns > width ? columns : width;
    }
    for (size_t c = 0; c < table->column_count; c++) {
        make_cell(&cell, table, 0, c, look->utf8);
        if (!cell.len)
            continue;
        add_padded(&line, table->columns[c].title, width, false, look->utf8);
        text_add_clean(&line, cell.data, look->utf8);
        print_line(out, &line);
    }
    text_deinit(&line);
    text_deinit(&cell);
}

static void print_rows(FILE *out, const struct stat_table *table, const struct stat_look *look)
{
    size_t *widths = xcalloc(table->column_count + 1, sizeof *widths);
    bool *shown = find_shown(table);
    struct text line = {0}, cell = {0};
    measure(table, look, widths);
    fit(table, look, shown, widths);
    for (size_t c = 0; c < table->column_count; c++) {
        if (shown[c])
            add_padded(&line, table->columns[c].title, widths[c], is_number(table, c), look->utf8);
    }
    print_line(out, &line);
    for (size_t r = 0; r < table->row_count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (!shown[c])
                continue;
            make_cell(&cell, table, r, c, look->utf8);
            add_padded(&line, cell.data, widths[c], is_number(table, c), look->utf8);
        }
        print_line(out, &line);
    }
    if (table->left_out)
        fprintf(out, "and %zu more\n", table->left_out);
    text_deinit(&line);
    text_deinit(&cell);
    free(widths);
    free(shown);
}

/* Prints a text indented by two columns and wrapped between words. */
static void print_wrapped(FILE *out, const char *text, const struct stat_look *look)
{
    size_t used = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        struct text word = {0};
        text_add_bytes(&word, text, len);
        size_t columns = text_columns(word.data, look->utf8);
        if (used && used + 1 + columns > look->columns) {
            fputc('\n', out);
            used = 0;
        }
        fprintf(out, "%s%s", used ? " " : "  ", word.data);
        used += columns + (used ? 1 : 2);
        text_deinit(&word);
        text += len + (text[len] == ' ');
    }
    fputc('\n', out);
}

/* Prints a row as a paragraph: short columns in one line, sentences below, wrapped. */
static void print_paragraph(FILE *out, const struct stat_table *table, size_t row, const bool *shown,
                            const struct stat_look *look)
{
    struct text line = {0}, cell = {0};
    for (size_t c = 0; c < table->column_count; c++) {
        make_cell(&cell, table, row, c, look->utf8);
        if (!shown[c] || !cell.len)
            continue;
        if (line.len)
            text_add_format(&line, ", %s ", table->columns[c].title);
        text_add_clean(&line, cell.data, look->utf8);
    }
    fprintf(out, "%s%s%s\n", look->color ? "\033[1m" : "", line.data ? line.data : "",
            look->color ? "\033[0m" : "");
    text_clear(&line);
    for (size_t c = 0; c < table->column_count; c++) {
        const struct stat_value *value = value_at(table, row, c);
        if (is_number(table, c) || shown[c] || value->is_missing || !*value->text)
            continue;
        text_add_format(&line, "%s: ", table->columns[c].title);
        text_add_clean(&line, value->text, look->utf8);
        print_wrapped(out, line.data, look);
        text_clear(&line);
    }
    text_deinit(&line);
    text_deinit(&cell);
}

static void print_findings(FILE *out, const struct stat_table *table, const struct stat_look *look)
{
    bool *shown = find_shown(table);
    for (size_t r = 0; r < table->row_count; r++) {
        fputs(r ? "\n" : "", out);
        print_paragraph(out, table, r, shown, look);
    }
    if (table->left_out)
        fprintf(out, "\nand %zu more\n", table->left_out);
    free(shown);
}

/* Returns the note below a table's title, which the caller frees; NULL: none. */
static char *make_note(const struct stat_table *table)
{
    if (table->error <= 0)
        return table->note ? xstrdup(table->note) : NULL;
    return xasprintf("%s%sMedians and percentiles are exact to %.1f %%: there are too many different values.",
                     table->note ? table->note : "", table->note ? " " : "", 100 * table->error);
}

/* Whether the report has only findings. */
static bool is_of_findings(const struct stat_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->tables[i].key, "findings") != 0 &&
            strcmp(report->tables[i].key, "rank_findings") != 0)
            return false;
    return report->count > 0;
}

static void print_all_findings(FILE *out, const struct stat_report *report, const struct stat_look *look)
{
    bool has_any = false;
    for (size_t i = 0; i < report->count; i++) {
        if (report->tables[i].row_count == 0)
            continue;
        fputs(has_any ? "\n" : "", out);
        print_findings(out, &report->tables[i], look);
        has_any = true;
    }
    if (!has_any)
        fputs("No findings.\n", out);
}

static void print_text(FILE *out, const struct stat_table *table, const struct stat_look *look)
{
    fprintf(out, "%s%s%s", look->color ? "\033[1m" : "", table->title, look->color ? "\033[0m" : "");
    if (look->has_names)
        fprintf(out, " (--table %s)", table->key);
    fputc('\n', out);
    char *note = make_note(table);
    if (note)
        fprintf(out, "%s%s%s\n", look->color ? "\033[2m" : "", note, look->color ? "\033[0m" : "");
    free(note);
    if (table->row_count == 1 && strcmp(table->key, "headline") == 0)
        print_as_lines(out, table, look);
    else if (strcmp(table->key, "rank_findings") == 0)
        print_findings(out, table, look);
    else
        print_rows(out, table, look);
    fputc('\n', out);
}

static void print_markdown(FILE *out, const struct stat_table *table, bool utf8)
{
    struct text cell = {0}, clean = {0};
    bool *filled = find_filled(table);
    fprintf(out, "### %s\n\n", table->title);
    char *note = make_note(table);
    if (note)
        fprintf(out, "%s\n\n", note);
    free(note);
    for (size_t c = 0; c < table->column_count; c++) {
        if (filled[c])
            fprintf(out, "| %s ", table->columns[c].title);
    }
    fputs("|\n", out);
    for (size_t c = 0; c < table->column_count; c++) {
        if (filled[c])
            fputs(is_number(table, c) ? "|---:" : "|---", out);
    }
    fputs("|\n", out);
    for (size_t r = 0; r < table->row_count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (!filled[c])
                continue;
            make_cell(&cell, table, r, c, utf8);
            text_clear(&clean);
            text_add_clean(&clean, cell.data, utf8);
            fputs("| ", out);
            for (const char *at = clean.data; *at; at++)
                fprintf(out, *at == '|' ? "\\%c" : "%c", *at);
            fputc(' ', out);
        }
        fputs("|\n", out);
    }
    if (table->left_out)
        fprintf(out, "\nand %zu more\n", table->left_out);
    fputc('\n', out);
    text_deinit(&cell);
    text_deinit(&clean);
    free(filled);
}

/* --- for programs --- */

/* Prints a number, with nine digits for shares and rates: precise enough, and identical on each machine. */
static void print_number(FILE *out, const struct stat_value *value, enum stat_unit unit)
{
    if (unit == STAT_BYTES)
        fprintf(out, "%" PRIu64, (uint64_t)value->i);
    else if (stat_unit_is_int(unit))
        fprintf(out, "%" PRId64, value->i);
    else
        fprintf(out, "%.9g", value->d);
}

static void print_csv(FILE *out, const struct stat_table *table)
{
    fprintf(out, "# %s", table->key);
    if (table->error > 0)
        fprintf(out, " (medians and percentiles: %.1f %%)", 100 * table->error);
    fputc('\n', out);
    for (size_t c = 0; c < table->column_count; c++)
        fprintf(out, "%s%s", c ? "," : "", table->columns[c].key);
    fputc('\n', out);
    for (size_t r = 0; r < table->row_count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            const struct stat_value *value = value_at(table, r, c);
            fputs(c ? "," : "", out);
            if (value->is_missing)
                continue;
            if (is_number(table, c)) {
                print_number(out, value, table->columns[c].unit);
                continue;
            }
            fputc('"', out);
            for (const char *at = value->text; *at; at++)
                fprintf(out, *at == '"' ? "\"\"" : "%c", *at);
            fputc('"', out);
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

static void print_json_row(struct json_writer *json, const struct stat_table *table, size_t row)
{
    json_write_object(json, NULL);
    for (size_t c = 0; c < table->column_count; c++) {
        const struct stat_value *value = value_at(table, row, c);
        const char *key = table->columns[c].key;
        if (value->is_missing)
            continue;
        if (!is_number(table, c)) {
            json_write_text(json, key, value->text);
            continue;
        }
        json_write_raw(json, key, "", 0);
        print_number(json->to, value, table->columns[c].unit);
    }
    json_write_object_end(json);
}

/* Prints the relative errors of tables that are not exact; nothing if all are. */
static void print_json_errors(struct json_writer *json, const struct stat_report *report)
{
    bool has_some = false;
    for (size_t t = 0; t < report->count; t++) {
        char error[32];
        if (report->tables[t].error <= 0)
            continue;
        json_write_space(json, has_some ? NULL : "\n");
        if (!has_some)
            json_write_object(json, "percentile_errors");
        has_some = true;
        int len = snprintf(error, sizeof error, "%.9g", report->tables[t].error);
        json_write_raw(json, report->tables[t].key, error, (size_t)len);
    }
    if (has_some)
        json_write_object_end(json);
}

static void print_json(FILE *out, const struct stat_report *report)
{
    struct json_writer json = JSON_WRITER(out);
    json_write_object(&json, NULL);
    for (size_t t = 0; t < report->count; t++) {
        const struct stat_table *table = &report->tables[t];
        json_write_space(&json, "\n");
        json_write_array(&json, table->key);
        for (size_t r = 0; r < table->row_count; r++) {
            json_write_space(&json, "\n ");
            print_json_row(&json, table, r);
        }
        json_write_array_end(&json);
    }
    print_json_errors(&json, report);
    fputc('\n', out);
    json_write_object_end(&json);
    fputc('\n', out);
}

/* Returns how to print to `out`. Pipes and files have no width. */
static struct stat_look look_of(FILE *out, const struct stat_style *style)
{
    int fd = fileno(out);
    size_t columns = isatty(fd) ? terminal_columns(fd) : TERMINAL_COLUMNS_MAX;
    return (struct stat_look){.columns = style->columns ? style->columns : columns,
                              .color = terminal_wants_color((enum color_when)style->color, fd),
                              .utf8 = text_locale_is_utf8(),
                              .has_names = style->has_names};
}

/* Prints an empty table. A report leaves it out if other tables have rows. */
static void print_empty(FILE *out, const struct stat_table *table, enum stat_format format)
{
    if (format == STAT_FORMAT_CSV)
        print_csv(out, table);
    else
        fprintf(out, format == STAT_FORMAT_MARKDOWN ? "### %s\n\nNo rows.\n\n" : "%s: no rows\n",
                table->title);
}

void stat_print(FILE *out, const struct stat_report *report, const struct stat_style *style)
{
    struct stat_look look = look_of(out, style);
    bool is_text = style->format == STAT_FORMAT_TEXT;
    size_t rows = 0;
    for (size_t i = 0; i < report->count; i++)
        rows += report->tables[i].row_count;
    if (style->format == STAT_FORMAT_JSON) {
        print_json(out, report);
    } else if (is_text && is_of_findings(report)) {
        print_all_findings(out, report, &look);
    } else if (!rows) {
        for (size_t t = 0; t < report->count; t++)
            print_empty(out, &report->tables[t], style->format);
    } else {
        for (size_t t = 0; t < report->count; t++) {
            const struct stat_table *table = &report->tables[t];
            if (table->row_count == 0)
                continue;
            if (is_text)
                print_text(out, table, &look);
            else if (style->format == STAT_FORMAT_MARKDOWN)
                print_markdown(out, table, look.utf8);
            else
                print_csv(out, table);
        }
    }
}
