#include "analysis/diff/diff_limits.h"

#include "cli/util/text.h"
#include "cli/util/xalloc.h"
#include "base/text/suggest.h"
#include "yaml/tree.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_DEFAULT 0.05

struct limit_rule {
    enum measure_kind kind;
    char *pattern;
    bool has_ignore;
    struct limits_of of; /* numbers that are not set are NAN */
};

static const struct {
    const char *key;
    size_t offset;
} rule_numbers[] = {
    {"slower", offsetof(struct limits_of, slower)},         {"more", offsetof(struct limits_of, more)},
    {"median_max", offsetof(struct limits_of, median_max)}, {"sum_max", offsetof(struct limits_of, sum_max)},
    {"count_max", offsetof(struct limits_of, count_max)},
};

#define RULE_NUMBERS (sizeof rule_numbers / sizeof *rule_numbers)

static double *number_at(struct limits_of *of, size_t i)
{
    return (double *)(void *)((char *)of + rule_numbers[i].offset);
}

static const char *const kind_keys[MEASURE_COMPARED_COUNT] = {"kernels", "copies", "calls", "totals"};

void diff_limits_init(struct diff_limits *limits)
{
    *limits = (struct diff_limits){.level = LEVEL_DEFAULT};
    /* Host times vary more between runs than GPU times. */
    limits->slower[MEASURE_KERNEL] = 0.05;
    limits->slower[MEASURE_COPY] = 0.1;
    limits->slower[MEASURE_CALL] = 0.25;
    limits->slower[MEASURE_TOTAL] = 0.1;
    for (size_t i = 0; i < MEASURE_COMPARED_COUNT; i++)
        limits->more[i] = INFINITY;
}

void diff_limits_deinit(struct diff_limits *limits)
{
    for (size_t i = 0; i < limits->rule_count; i++)
        free(limits->rules[i].pattern);
    free(limits->rules);
    *limits = (struct diff_limits){0};
}

struct limits_of diff_limits_find(const struct diff_limits *limits, enum measure_kind kind, const char *name)
{
    struct limits_of of = {.slower = limits->slower[kind],
                           .more = limits->more[kind],
                           .median_max = INFINITY,
                           .sum_max = INFINITY,
                           .count_max = INFINITY};
    for (size_t i = 0; i < limits->rule_count; i++) {
        struct limit_rule *rule = &limits->rules[i];
        if (rule->kind != kind || fnmatch(rule->pattern, name, 0) != 0)
            continue;
        of.is_ignored = rule->has_ignore ? rule->of.is_ignored : of.is_ignored;
        for (size_t n = 0; n < RULE_NUMBERS; n++)
            if (!isnan(*number_at(&rule->of, n)))
                *number_at(&of, n) = *number_at(&rule->of, n);
    }
    return of;
}

/* --- reading --- */

struct reader {
    struct diff_limits *limits;
    const char *name;
    struct error *err;
};

static enum status complain(const struct reader *reader, const struct item *item, const char *format, ...)
    PRINTF_LIKE(3, 4);

static enum status complain(const struct reader *reader, const struct item *item, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    error_set(reader->err, STATUS_INVALID, "%.200s:%u:%u: %.60s%s%s", reader->name, item->line, item->column,
              item->key ? item->key : "", item->key ? ": " : "", what);
    for (char *at = reader->err->text; *at; at++)
        *at = (unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at; /* a quoted key holds anything */
    return STATUS_INVALID;
}

static enum status unknown(const struct reader *reader, const struct item *item, const char *const *keys,
                           size_t count)
{
    struct suggest suggest;
    struct text known = {0};
    suggest = (struct suggest){.word = item->key};
    for (size_t i = 0; i < count; i++) {
        suggest_offer(&suggest, keys[i]);
        text_add_format(&known, "%s%s", i ? ", " : "", keys[i]);
    }
    enum status status = *suggest.best ? complain(reader, item, "unknown key; did you mean %s?", suggest.best)
                                       : complain(reader, item, "unknown key; there are: %s", known.data);
    text_deinit(&known);
    return status;
}

/* A number from 0; "off" is infinity where that makes sense. */
static enum status read_number(const struct reader *reader, const struct item *item, double *number)
{
    const struct node *node = item->value;
    if (node->kind == NODE_SCALAR && node->type == SCALAR_STRING && strcmp(node->text, "off") == 0) {
        *number = INFINITY;
        return STATUS_OK;
    }
    bool is_number = node->kind == NODE_SCALAR && (node->type == SCALAR_INT || node->type == SCALAR_FLOAT) &&
                     scalar_parse_float(node->text, number) && *number >= 0;
    return is_number
               ? STATUS_OK
               : complain(reader, item, "expected a number from 0, or off, not %s", node_kind_name(node));
}

static enum status read_kinds(const struct reader *reader, const struct item *parent, double *numbers)
{
    if (parent->value->kind != NODE_MAP)
        return complain(reader, parent, "expected a mapping like {kernels: 0.05}, not %s",
                        node_kind_name(parent->value));
    for (const struct item *item = parent->value->items; item; item = item->next) {
        size_t kind = 0;
        while (kind < MEASURE_COMPARED_COUNT && strcmp(kind_keys[kind], item->key) != 0)
            kind++;
        enum status status = kind == MEASURE_COMPARED_COUNT
                                 ? unknown(reader, item, kind_keys, MEASURE_COMPARED_COUNT)
                                 : read_number(reader, item, &numbers[kind]);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_pattern(const struct reader *reader, const struct item *item, enum measure_kind kind,
                                struct limit_rule *rule)
{
    if (rule->pattern)
        return complain(reader, item, "a rule has only one of kernel, copy, call and total");
    if (item->value->kind != NODE_SCALAR || node_is_null(item->value))
        return complain(reader, item, "expected a name or a pattern like \"gemm*\", not %s",
                        node_kind_name(item->value));
    rule->kind = kind;
    rule->pattern = xstrdup(item->value->text);
    return STATUS_OK;
}

static enum status read_ignore(const struct reader *reader, const struct item *item, struct limit_rule *rule)
{
    rule->has_ignore = item->value->kind == NODE_SCALAR && item->value->type == SCALAR_BOOL &&
                       scalar_parse_bool(item->value->text, &rule->of.is_ignored);
    return rule->has_ignore
               ? STATUS_OK
               : complain(reader, item, "expected true or false, not %s", node_kind_name(item->value));
}

static enum status read_rule_key(const struct reader *reader, const struct item *item,
                                 struct limit_rule *rule)
{
    const char *keys[MEASURE_COMPARED_COUNT + RULE_NUMBERS + 1];
    size_t count = 0;
    for (size_t i = 0; i < MEASURE_COMPARED_COUNT; i++) {
        keys[count++] = measure_kind_name((enum measure_kind)i);
        if (strcmp(item->key, measure_kind_name((enum measure_kind)i)) == 0)
            return read_pattern(reader, item, (enum measure_kind)i, rule);
    }
    for (size_t i = 0; i < RULE_NUMBERS; i++) {
        keys[count++] = rule_numbers[i].key;
        if (strcmp(item->key, rule_numbers[i].key) == 0)
            return read_number(reader, item, number_at(&rule->of, i));
    }
    keys[count++] = "ignore";
    if (strcmp(item->key, "ignore") == 0)
        return read_ignore(reader, item, rule);
    return unknown(reader, item, keys, count);
}

static enum status read_rule(const struct reader *reader, const struct item *rule_item)
{
    struct diff_limits *limits = reader->limits;
    if (rule_item->value->kind != NODE_MAP)
        return complain(reader, rule_item, "expected a rule like {kernel: \"gemm*\", slower: 0.02}, not %s",
                        node_kind_name(rule_item->value));
    struct limit_rule *rule = XADD(limits->rules, limits->rule_count, limits->rule_capacity);
    *rule = (struct limit_rule){.pattern = NULL};
    for (size_t i = 0; i < RULE_NUMBERS; i++)
        *number_at(&rule->of, i) = NAN;
    for (const struct item *item = rule_item->value->items; item; item = item->next) {
        enum status status = read_rule_key(reader, item, rule);
        if (status != STATUS_OK)
            return status;
    }
    if (!rule->pattern)
        return complain(reader, rule_item, "a rule needs one of kernel, copy, call and total");
    return STATUS_OK;
}

static enum status read_rules(const struct reader *reader, const struct item *parent)
{
    enum status status = STATUS_OK;
    if (parent->value->kind != NODE_LIST)
        return complain(reader, parent, "expected a list of rules, not %s", node_kind_name(parent->value));
    for (const struct item *item = parent->value->items; item && status == STATUS_OK; item = item->next)
        status = read_rule(reader, item);
    return status;
}

static enum status read_level(const struct reader *reader, const struct item *item)
{
    double level = 0;
    enum status status = read_number(reader, item, &level);
    if (status == STATUS_OK && (level <= 0 || level >= 1))
        status = complain(reader, item, "expected a share of false alarms between 0 and 1, such as 0.05");
    if (status == STATUS_OK)
        reader->limits->level = level;
    return status;
}

static enum status read_key(const struct reader *reader, const struct item *item)
{
    static const char *const keys[] = {"level", "slower", "more", "rules"};
    if (strcmp(item->key, "level") == 0)
        return read_level(reader, item);
    if (strcmp(item->key, "slower") == 0)
        return read_kinds(reader, item, reader->limits->slower);
    if (strcmp(item->key, "more") == 0)
        return read_kinds(reader, item, reader->limits->more);
    if (strcmp(item->key, "rules") == 0)
        return read_rules(reader, item);
    return unknown(reader, item, keys, sizeof keys / sizeof *keys);
}

static const char *get_variable(const char *name, void *context)
{
    return getenv(name);
}

enum status diff_limits_parse(struct diff_limits *limits, const char *text, size_t length, const char *name,
                              struct error *err)
{
    const struct config_environment environment = {.get = get_variable};
    struct reader reader = {limits, name, err};
    struct config_report report;
    struct tree tree = {0};
    config_report_init(&report);
    enum status status = tree_parse(&tree, text, length, name, &environment, &report);
    if (status != STATUS_OK) {
        const char *first = config_first_error(&report);
        return error_set(err, status, "%.480s", first ? first : name);
    }
    if (tree.root && tree.root->kind != NODE_MAP && !node_is_null(tree.root))
        status = error_set(err, STATUS_INVALID,
                           "%.300s: expected a mapping with the keys level, slower, more and rules", name);
    for (const struct item *item = tree.root ? tree.root->items : NULL; item && status == STATUS_OK;
         item = item->next)
        status = read_key(&reader, item);
    tree_deinit(&tree);
    return status;
}

enum status diff_limits_read(struct diff_limits *limits, const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno));
    char *text = xcalloc(TREE_FILE_BYTES_MAX + 1, 1);
    size_t length = fread(text, 1, TREE_FILE_BYTES_MAX + 1, file);
    enum status status = ferror(file) ? error_set(err, STATUS_IO, "%.400s: %s", path, strerror(errno))
                                      : diff_limits_parse(limits, text, length, path, err);
    fclose(file);
    free(text);
    return status;
}
