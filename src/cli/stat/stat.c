#include "cli/stat/stat.h"

#include <stdlib.h>
#include <string.h>

static void take_calls(struct stat *stat, enum call_domain domain, uint32_t count)
{
    for (uint32_t id = 0; id < count; id++) {
        const struct call_info *info = call_info(domain, id);
        if (!info || !info->name)
            continue;
        uint32_t string = trace_find_string(stat->trace, call_name(info));
        if (string != MAP_NONE)
            int_map_set(&stat->call_groups, string, info->group);
    }
}

void stat_init(struct stat *stat, const struct trace *trace)
{
    static const char *const names[KEY_COUNT] = {
#define STAT_KEY_NAME(id, name) name,
        STAT_KEYS(STAT_KEY_NAME)
#undef STAT_KEY_NAME
    };
    *stat = (struct stat){.trace = trace};
    for (size_t i = 0; i < KEY_COUNT; i++)
        stat->keys[i] = trace_find_string(trace, names[i]);
    take_calls(stat, CALL_RUNTIME, call_count_runtime);
    take_calls(stat, CALL_DRIVER, call_count_driver);
}

void stat_deinit(struct stat *stat)
{
    int_map_deinit(&stat->call_groups);
}

const char *stat_attr(const struct stat *stat, const struct trace_span *span, enum stat_key key)
{
    uint32_t wanted = stat->keys[key];
    const struct trace_attr *attrs = stat->trace->attrs + span->attr_first;
    for (uint32_t i = 0; wanted != MAP_NONE && i < span->attr_count; i++) {
        if (attrs[i].key == wanted)
            return trace_string(stat->trace, attrs[i].value);
    }
    return NULL;
}

uint64_t stat_attr_int(const struct stat *stat, const struct trace_span *span, enum stat_key key,
                       uint64_t otherwise)
{
    const char *text = stat_attr(stat, span, key);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

const char *stat_kernel_name(const struct stat *stat, const struct trace_span *kernel)
{
    const char *full = stat_attr(stat, kernel, KEY_KERNEL_NAME);
    return full ? full : trace_string(stat->trace, kernel->name);
}

void stat_fill_spread(struct stat_value *cells, const struct spread *spread)
{
    cells[0] = stat_int(spread->total / spread->count);
    cells[1] = stat_int(spread->median);
    cells[2] = stat_int(spread->p99);
    cells[3] = stat_int(spread->min);
    cells[4] = stat_int(spread->max);
}

uint64_t stat_product(const char *list)
{
    uint64_t product = 1;
    for (const char *at = list ? strchr(list, '[') : NULL; at && *at && *at != ']';) {
        char *end;
        product *= strtoull(at + 1, &end, 10);
        at = end;
    }
    return list ? product : 0;
}

enum call_group stat_call_group(const struct stat *stat, const struct trace_span *span)
{
    uint32_t group = int_map_get(&stat->call_groups, span->name);
    return group == MAP_NONE ? CALL_GROUP_OTHER : (enum call_group)group;
}

double stat_device_number(const struct stat *stat, const struct trace_span *span, const char *attribute)
{
    const char *text = trace_resource_attr(stat->trace, &stat->trace->resources[span->resource], attribute);
    return text ? strtod(text, NULL) : 0;
}

struct stat_table *stat_report_add(struct stat_report *report, struct stat_table table)
{
    report->tables[report->count] = table;
    return &report->tables[report->count++];
}

void stat_report_deinit(struct stat_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        stat_table_deinit(&report->tables[i]);
    report->count = 0;
}

uint32_t stat_number(struct int_map *numbers, uint64_t key)
{
    uint32_t number = int_map_get(numbers, key);
    if (number == MAP_NONE) {
        number = (uint32_t)numbers->count;
        int_map_set(numbers, key, number);
    }
    return number;
}
