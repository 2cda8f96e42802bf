#include "model/metrics/metrics.h"

const struct metric_info metric_table[METRIC_COUNT] = {
#define METRIC_INFO(id, name, unit, type, value, attributes, text)                                           \
    {name, unit, text, attributes, METRIC_##type, METRIC_##value},
    METRICS(METRIC_INFO)
#undef METRIC_INFO
};

static const char *word_of(const struct metric_info *info)
{
    static const char *const words[] = {[METRIC_SUM] = "counter",
                                        [METRIC_UP_DOWN] = "up-down counter",
                                        [METRIC_GAUGE] = "gauge",
                                        [METRIC_HISTOGRAM] = "histogram"};
    return words[info->type];
}

void metrics_print(FILE *out)
{
    fputs("| metric | unit | type | attributes | |\n|---|---|---|---|---|\n", out);
    for (enum metric i = 0; i < METRIC_COUNT; i++) {
        const struct metric_info *info = &metric_table[i];
        fprintf(out, "| `%s` | %s | %s | %s | %s |\n", info->name, info->unit, word_of(info),
                info->attributes, info->description);
    }
}
