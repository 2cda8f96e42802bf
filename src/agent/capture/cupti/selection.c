#include "agent/capture/cupti/selection.h"

#include "model/semconv.h"

#include <string.h>

static enum activity_detail level_of(const struct settings *settings)
{
    return settings->detail == DETAIL_FULL ? ACTIVITY_FULL : ACTIVITY_DEFAULT;
}

static bool is_domain_on(const struct settings *settings, enum call_domain domain)
{
    return domain == CALL_RUNTIME ? settings->capture.runtime : settings->capture.driver;
}

/* Whether calls of the group are kept with `detail: summary`: launches, copies, synchronization and
 * allocation. */
static bool is_summed(enum call_group group)
{
    return group == CALL_GROUP_LAUNCH || group == CALL_GROUP_COPY || group == CALL_GROUP_FILL ||
           group == CALL_GROUP_ALLOC || group == CALL_GROUP_FREE || group == CALL_GROUP_SYNC;
}

static bool is_wanted(const struct settings *settings, const struct call_info *info)
{
    const struct filter *filter = &settings->capture.calls;
    const char *group = call_group_name(info->group);
    if (filter->allow.count == 0) {
        if (settings->detail != DETAIL_FULL && !info->is_default)
            return false;
        if (settings->detail == DETAIL_SUMMARY && !is_summed((enum call_group)info->group))
            return false;
    }
    return filter_passes(filter, call_name(info), group);
}

bool selection_has_call(const struct settings *settings, enum call_domain domain, uint32_t cbid)
{
    const struct call_info *info = call_info(domain, cbid);
    return info && is_domain_on(settings, domain) && is_wanted(settings, info);
}

bool selection_hides_call(const struct settings *settings, enum call_domain domain, uint32_t cbid)
{
    const struct call_info *info = call_info(domain, cbid);
    bool is_usual = info && (info->is_default || settings->detail == DETAIL_FULL);
    /* Events are frequent, and nothing that a summary keeps is nested in them. */
    if (settings->detail == DETAIL_SUMMARY && is_usual && info->group == CALL_GROUP_EVENT)
        return false;
    return domain == CALL_RUNTIME && is_usual && is_domain_on(settings, CALL_RUNTIME) &&
           is_domain_on(settings, CALL_DRIVER) && !is_wanted(settings, info);
}

bool selection_has_activity(const struct settings *settings, uint16_t kind)
{
    const struct activity_info *info = kind < ACTIVITY_KINDS_MAX ? &activity_table[kind] : NULL;
    const struct filter *filter = &settings->capture.activities;
    if (!info || !info->name || kind == ACTIVITY_KERNEL_SERIAL)
        return false;
    if (kind == ACTIVITY_DEVICE || kind == ACTIVITY_CONTEXT)
        return true;
    /* Graphs are traced as a whole or node by node; the first subscriber chooses for all (CUPTI 13.5). */
    if (kind == ACTIVITY_GRAPH_TRACE &&
        (settings_have_graph_nodes(settings) || settings->cupti.others == OTHERS_SHARE))
        return false;
    if (settings->detail == DETAIL_SUMMARY && !info->is_gpu_work)
        return false;
    if (filter->allow.count == 0 && info->detail > level_of(settings))
        return false;
    return filter_passes(filter, info->name, NULL);
}

/* Whether `detail: summary` needs the field: times, correlation IDs, devices, kernel names and sizes. */
static bool is_summed_field(const struct activity_field *field)
{
    return field->detail == ACTIVITY_ALWAYS || field->role == ROLE_START || field->role == ROLE_END ||
           field->role == ROLE_CORRELATION || field->role == ROLE_DEVICE || field->role == ROLE_NAME ||
           strcmp(field->key.name, SEMCONV_CUDA_MEMCPY_BYTES) == 0 ||
           strcmp(field->key.name, SEMCONV_CUDA_MEMSET_BYTES) == 0;
}

uint64_t selection_fields(const struct settings *settings, uint16_t kind)
{
    const struct activity_info *info = &activity_table[kind];
    bool facts = kind == ACTIVITY_DEVICE || kind == ACTIVITY_CONTEXT;
    uint64_t fields = 1;
    for (uint8_t i = 1; i < info->field_count; i++) {
        const struct activity_field *field = &info->fields[i];
        bool wanted = settings->detail == DETAIL_SUMMARY
                          ? is_summed_field(field)
                          : field->detail <= level_of(settings) || field->role != ROLE_NONE;
        if (field->detail != ACTIVITY_NEVER && (wanted || facts))
            fields |= 1ull << i;
    }
    return fields;
}

bool selection_has_all_launches(const struct settings *settings)
{
    for (uint32_t cbid = 0; cbid < call_count_runtime; cbid++) {
        const struct call_info *info = call_info(CALL_RUNTIME, cbid);
        if (info && info->group == CALL_GROUP_LAUNCH && info->is_default &&
            !selection_has_call(settings, CALL_RUNTIME, cbid))
            return false;
    }
    return settings->capture.driver;
}
