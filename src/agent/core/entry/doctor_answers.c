#include "agent/core/entry/root_span.h"

#include "agent/core/resource/self_env.h"
#include "agent/capture/hardware/chips.h"
#include "agent/capture/cupti/cupti.h"
#include "agent/capture/cupti/selection.h"
#include "agent/export/exporter.h"
#include "agent/export/otlp/probe.h"
#include "model/cuda/activities.h"

#include <stdio.h>
#include <string.h>

static void note_cupti(void *context, const struct cupti_sight *sight)
{
    struct doctor_cuptis *cuptis = context;
    if (cuptis->count == DOCTOR_CUPTIS_MAX)
        return;
    struct doctor_cupti *found = &cuptis->found[cuptis->count++];
    snprintf(found->path, sizeof found->path, "%s", sight->path);
    snprintf(found->origin, sizeof found->origin, "%s", sight->origin);
    if (sight->version)
        cupti_version_text(sight->version, found->release);
    if (sight->status != STATUS_OK)
        snprintf(found->refused, sizeof found->refused, "%s", sight->error);
}

static void find_cupti(const char *library, struct doctor_cuptis *cuptis)
{
    struct cupti cupti;
    struct error err = {""};
    *cuptis = (struct doctor_cuptis){0};
    cupti_survey(library, self_env_folder(), note_cupti, cuptis);
    cuptis->has_one = cupti_load(library, self_env_folder(), &cupti, &err) == STATUS_OK;
    if (!cuptis->has_one) {
        snprintf(cuptis->error, sizeof cuptis->error, "%s", err.text);
        return;
    }
    cuptis->has_subscriber_api = cupti.has_subscriber_api;
    for (size_t i = 0; i < cuptis->count; i++)
        cuptis->found[i].is_taken = strcmp(cuptis->found[i].path, cupti.path) == 0;
}

static void ask_collector(const struct exporter_settings *exporter, struct doctor_answer *answer)
{
    char module[DOCTOR_TEXT_BYTES + sizeof EXPORT_MODULE_NAME];
    snprintf(module, sizeof module, "%s/" EXPORT_MODULE_NAME, self_env_folder());
    probe_collector(exporter, module, answer);
}

static bool is_left_out(const struct filter *filter, const char *name, const char *alias)
{
    const struct filter denied = {.allow = filter->deny};
    return filter->deny.count > 0 && filter_passes(&denied, name, alias);
}

/* False: the filter passes the name. `filters`: the setting, "activities" or "calls". */
static bool explain_filter(const struct filter *filter, const char *filters, const char *name,
                           const char *group, char *why)
{
    if (is_left_out(filter, name, group))
        snprintf(why, DOCTOR_TEXT_BYTES, "capture.%s.deny leaves it out", filters);
    else if (filter->allow.count && !filter_passes(filter, name, group))
        snprintf(why, DOCTOR_TEXT_BYTES, "capture.%s.allow does not name it", filters);
    else
        return false;
    return true;
}

static enum doctor_tracing explain_kind(const struct settings *settings, uint16_t kind, char *why)
{
    const char *detail = detail_name(settings->detail);
    if (selection_has_activity(settings, kind))
        return DOCTOR_TRACED;
    if (explain_filter(&settings->capture.activities, "activities", activity_table[kind].name, NULL, why))
        return DOCTOR_NOT_TRACED;
    if (kind == ACTIVITY_GRAPH_TRACE)
        snprintf(why, DOCTOR_TEXT_BYTES, "detail %s shows a graph's nodes in its place; set detail: default",
                 detail);
    else
        snprintf(why, DOCTOR_TEXT_BYTES,
                 "not with detail %s; set detail: full, or add it to capture.activities.allow", detail);
    return DOCTOR_NOT_TRACED;
}

static enum doctor_tracing explain_call(const struct settings *settings, enum call_domain domain,
                                        uint32_t cbid, const struct call_info *info, char *why)
{
    bool is_runtime = domain == CALL_RUNTIME;
    if (selection_has_call(settings, domain, cbid))
        return DOCTOR_TRACED;
    if (explain_filter(&settings->capture.calls, "calls", call_name(info),
                       call_group_name((enum call_group)info->group), why))
        return DOCTOR_NOT_TRACED;
    if (!(is_runtime ? settings->capture.runtime : settings->capture.driver))
        snprintf(why, DOCTOR_TEXT_BYTES, "capture.%s is false", is_runtime ? "runtime" : "driver");
    else
        snprintf(why, DOCTOR_TEXT_BYTES,
                 "not with detail %s; set detail: full, or name it by capture.calls.allow",
                 detail_name(settings->detail));
    return DOCTOR_NOT_TRACED;
}

/* A name of both interfaces, or of a group, counts as traced if any of its calls is. */
static enum doctor_tracing explain_calls(const struct settings *settings, const char *name, char *why)
{
    static const enum call_domain domains[] = {CALL_RUNTIME, CALL_DRIVER};
    enum doctor_tracing tracing = DOCTOR_NO_SUCH_NAME;
    for (size_t d = 0; d < 2; d++) {
        uint16_t count = domains[d] == CALL_RUNTIME ? call_count_runtime : call_count_driver;
        for (uint32_t cbid = 1; cbid < count && tracing != DOCTOR_TRACED; cbid++) {
            const struct call_info *info = call_info(domains[d], cbid);
            if (info && (strcmp(call_name(info), name) == 0 ||
                         strcmp(call_group_name((enum call_group)info->group), name) == 0))
                tracing = explain_call(settings, domains[d], cbid, info, why);
        }
    }
    return tracing;
}

static enum doctor_tracing is_traced(const struct settings *settings, const char *name, char *why)
{
    *why = '\0';
    for (uint16_t kind = 0; kind < ACTIVITY_KINDS_MAX; kind++)
        if (activity_table[kind].name && kind != ACTIVITY_KERNEL_SERIAL &&
            strcmp(activity_table[kind].name, name) == 0)
            return explain_kind(settings, kind, why);
    return explain_calls(settings, name, why);
}

/* CUPTI stays loaded, because the profiler keeps references into it. */
static enum status list_counters(const struct doctor_counters *ask, struct error *err)
{
    static struct cupti cupti;
    enum status status = cupti_load(ask->library, self_env_folder(), &cupti, err);
    return status == STATUS_OK ? chips_list(&cupti, ask, err) : status;
}

const struct doctor_api *cuspan_doctor_api(void)
{
    static const struct doctor_api api = {sizeof(struct settings), CUSPAN_VERSION, find_cupti,
                                          ask_collector,           is_traced,      list_counters};
    return &api;
}
