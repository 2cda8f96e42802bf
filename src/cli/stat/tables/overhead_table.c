/* Cost of tracing from the session spans: cuspan's part, and CUPTI's according to its overhead records. */
#include "cli/stat/stat.h"

#define COLUMNS(X)                                                                                           \
    X(COL_WHO, "who", "who", STAT_TEXT)                                                                      \
    X(COL_WHAT, "what", "purpose", STAT_TEXT)                                                                \
    X(COL_WHERE, "where", "on", STAT_TEXT)                                                                   \
    X(COL_TIME_NS, "time_ns", "time", STAT_NS)                                                               \
    X(COL_WALL_SHARE, "wall_share", "of the wall time", STAT_SHARE)                                          \
    X(COL_TIMED_CALLS, "timed_calls", "timed calls", STAT_COUNT)
STAT_COLUMNS_OF(columns, COLUMNS);

#define PROGRAMS_THREADS "program's threads"
#define OWN_THREADS      "cuspan's threads"

static const struct part {
    enum stat_key key;
    const char *who, *what, *where;
} parts[] = {{KEY_OWN_CALLBACKS, "cuspan", "callbacks (estimated)", PROGRAMS_THREADS},
             {KEY_OWN_PIPELINE, "cuspan", "correlate, encode (CPU)", OWN_THREADS},
             {KEY_OWN_SENDER, "cuspan", "compress, send (CPU)", OWN_THREADS},
             {KEY_OWN_CONTROL, "cuspan", "serve requests (CPU)", OWN_THREADS},
             {KEY_CUPTI_INSTRUMENTATION, "CUPTI", "instrument", PROGRAMS_THREADS},
             {KEY_CUPTI_RESOURCE, "CUPTI", "resources", PROGRAMS_THREADS},
             {KEY_CUPTI_REQUEST, "CUPTI", "buffer requests", PROGRAMS_THREADS},
             {KEY_CUPTI_FLUSH, "CUPTI", "flush buffers", "any thread"},
             {KEY_CUPTI_OTHER, "CUPTI", "other", PROGRAMS_THREADS}};

/* The sum over all sessions. False: no session has it. */
static bool sum(const struct stat *stat, enum stat_key key, uint64_t *total)
{
    bool is_there = false;
    *total = 0;
    for (size_t i = 0; i < stat->trace->span_count; i++) {
        const struct trace_span *span = &stat->trace->spans[i];
        if (span->class != CLASS_SESSION || !stat_attr(stat, span, key))
            continue;
        is_there = true;
        *total += stat_attr_int(stat, span, key, 0);
    }
    return is_there;
}

void stat_own(const struct stat *stat, struct stat_report *report)
{
    uint64_t wall_ns = stat->trace->end_ns - stat->trace->start_ns, total, calls;
    struct stat_table *table =
        STAT_ADD_TABLE(report, "own", "Cost of tracing",
                       "From the session spans, without exports after the last one. CUPTI's records "
                       "do not contain what CUPTI adds to each call; cuspan overhead measures the "
                       "total. CUPTI's flushes on cuspan's thread count there, too.",
                       columns);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct part *part = &parts[i];
        if (!sum(stat, part->key, &total))
            continue;
        struct stat_value *row = stat_table_add(table);
        row[COL_WHO] = stat_text(part->who);
        row[COL_WHAT] = stat_text(part->what);
        row[COL_WHERE] = stat_text(part->where);
        row[COL_TIME_NS] = stat_int(total);
        row[COL_WALL_SHARE] = stat_ratio((double)total, (double)wall_ns);
        if (part->key == KEY_OWN_CALLBACKS && sum(stat, KEY_OWN_CALLS, &calls))
            row[COL_TIMED_CALLS] = stat_int(calls);
    }
}
