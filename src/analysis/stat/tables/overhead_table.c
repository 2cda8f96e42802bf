/* The table of the cost of tracing, from session spans: cuspan's part, and CUPTI's by its overhead records.
 */
#include "analysis/stat/base/stat.h"

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

#define PARTS (sizeof parts / sizeof *parts)

/* Sums over all sessions. */
struct own {
    bool is_there[PARTS]; /* a session span has the part */
    uint64_t total[PARTS];
    bool has_calls;
    uint64_t calls;
};

static void take(void *state, const struct stat *stat, const struct trace_span *span)
{
    struct own *own = state;
    if (span->class != CLASS_SESSION)
        return;
    for (size_t i = 0; i < PARTS; i++) {
        own->is_there[i] |= stat_has(stat, span, parts[i].key);
        own->total[i] += stat_attr_int(stat, span, parts[i].key, 0);
    }
    own->has_calls |= stat_has(stat, span, KEY_OWN_CALLS);
    own->calls += stat_attr_int(stat, span, KEY_OWN_CALLS, 0);
}

static void finish(void *state, const struct stat *stat, struct stat_report *report)
{
    const struct own *own = state;
    if (!report)
        return;
    struct stat_table *table =
        STAT_ADD_TABLE(report, "own", "Cost of tracing",
                       "From the session spans, without exports after the last one. CUPTI's records "
                       "do not contain what CUPTI adds to each call; cuspan overhead measures the "
                       "total. CUPTI's flushes on cuspan's thread count there, too.",
                       columns);
    for (size_t i = 0; i < PARTS; i++) {
        const struct part *part = &parts[i];
        if (!own->is_there[i])
            continue;
        struct stat_value *row = stat_table_add(table);
        row[COL_WHO] = stat_text(part->who);
        row[COL_WHAT] = stat_text(part->what);
        row[COL_WHERE] = stat_text(part->where);
        row[COL_TIME_NS] = stat_int(own->total[i]);
        row[COL_WALL_SHARE] = stat_ratio((double)own->total[i], (double)(stat->end_ns - stat->start_ns));
        if (part->key == KEY_OWN_CALLBACKS && own->has_calls)
            row[COL_TIMED_CALLS] = stat_int(own->calls);
    }
}

const struct stat_section stat_own = {sizeof(struct own), take, NULL, finish};
