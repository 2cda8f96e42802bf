/* Thresholds and absolute limits of `cuspan diff`, from a YAML file. docs/diff.md describes the keys. */
#pragma once

#include "base/status.h"
#include "analysis/diff/runs.h"

/* For one item, after applying all rules that match its name. */
struct limits_of {
    bool is_ignored;
    double slower;     /* allowed growth of the median, as a share of the base; INFINITY: any */
    double more;       /* the same for the count per run */
    double median_max; /* in the item's unit; INFINITY: none */
    double sum_max;    /* of a run */
    double count_max;  /* of a run */
};

struct limit_rule;

struct diff_limits {
    double level; /* of false alarms, for a whole comparison */
    double slower[MEASURE_COMPARED_COUNT];
    double more[MEASURE_COMPARED_COUNT];
    struct limit_rule *rules;
    size_t rule_count, rule_capacity;
};

/* The defaults. */
void diff_limits_init(struct diff_limits *limits);
void diff_limits_deinit(struct diff_limits *limits);

/* `name` is the file name for messages. INVALID: err has the first error with its line, the expected value
 * and the most similar key. */
enum status diff_limits_parse(struct diff_limits *limits, const char *text, size_t length, const char *name,
                              struct error *err) MUST_CHECK;
/* The same from a file. */
enum status diff_limits_read(struct diff_limits *limits, const char *path, struct error *err) MUST_CHECK;

struct limits_of diff_limits_find(const struct diff_limits *limits, enum measure_kind kind, const char *name);
