#include "cli/trace/otlp_span.h"

#include "cli/util/xalloc.h"
#include "cli/util/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_CODE_ERROR 2

void otlp_sink_init(struct otlp_sink *sink, struct trace *trace, size_t spans_max)
{
    *sink = (struct otlp_sink){.trace = trace, .spans_max = spans_max, .wanted = TRACE_NONE};
}

void otlp_sink_restart(struct otlp_sink *sink, uint32_t wanted)
{
    int_map_deinit(&sink->resources);
    sink->wanted = wanted;
    sink->documents = 0;
}

void otlp_sink_deinit(struct otlp_sink *sink)
{
    int_map_deinit(&sink->traces);
    int_map_deinit(&sink->resources);
}

/* 64-bit integers are strings in OTLP JSON; numbers are accepted too. */
static bool read_uint64(const cJSON *item, uint64_t *value)
{
    if (cJSON_IsNumber(item) && item->valuedouble >= 0) {
        *value = (uint64_t)item->valuedouble;
        return true;
    }
    if (!cJSON_IsString(item) || !isdigit((unsigned char)item->valuestring[0]))
        return false;
    char *end;
    *value = strtoull(item->valuestring, &end, 10);
    return *end == 0;
}

/* Exactly `digits` hex digits; false otherwise. */
static bool is_hex(const cJSON *item, size_t digits)
{
    return cJSON_IsString(item) && strlen(item->valuestring) == digits &&
           strspn(item->valuestring, "0123456789abcdefABCDEF") == digits;
}

static void add_json_value(struct text *text, const cJSON *value);

static void add_json_list(struct text *text, const cJSON *list)
{
    const cJSON *item;
    bool is_first = true;
    text_add(text, "[");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "values"))
    {
        if (!is_first)
            text_add(text, ",");
        add_json_value(text, item);
        is_first = false;
    }
    text_add(text, "]");
}

static void add_json_map(struct text *text, const cJSON *list)
{
    const cJSON *item;
    bool is_first = true;
    text_add(text, "{");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "values"))
    {
        const cJSON *key = cJSON_GetObjectItemCaseSensitive(item, "key");
        text_add(text, is_first ? "" : ",");
        text_add_json_string(text, cJSON_IsString(key) ? key->valuestring : "");
        text_add(text, ":");
        add_json_value(text, cJSON_GetObjectItemCaseSensitive(item, "value"));
        is_first = false;
    }
    text_add(text, "}");
}

/* The text of an AnyValue's scalar, and its type; NULL if it is not a scalar. `scratch` holds numbers. */
static const char *scalar(const cJSON *any, enum trace_value *type, struct text *scratch)
{
    const cJSON *value = any ? any->child : NULL;
    if (!value || !value->string)
        return NULL;
    const char *kind = value->string;
    text_clear(scratch);
    *type = strcmp(kind, "intValue") == 0      ? TRACE_INT
            : strcmp(kind, "doubleValue") == 0 ? TRACE_DOUBLE
            : strcmp(kind, "boolValue") == 0   ? TRACE_BOOL
                                               : TRACE_STRING;
    if (cJSON_IsString(value))
        return value->valuestring;
    if (cJSON_IsBool(value))
        return cJSON_IsTrue(value) ? "true" : "false";
    if (!cJSON_IsNumber(value))
        return NULL;
    text_add_format(scratch, *type == TRACE_INT ? "%.0f" : "%.17g", value->valuedouble);
    return scratch->data;
}

static void add_json_value(struct text *text, const cJSON *any)
{
    struct text scratch = {0};
    enum trace_value type;
    const char *value = scalar(any, &type, &scratch);
    if (value) {
        (type == TRACE_STRING ? text_add_json_string : text_add_json)(text, value);
    } else if (any && any->child && any->child->string && strcmp(any->child->string, "arrayValue") == 0) {
        add_json_list(text, any->child);
    } else if (any && any->child && any->child->string && strcmp(any->child->string, "kvlistValue") == 0) {
        add_json_map(text, any->child);
    } else {
        text_add(text, "null");
    }
    text_deinit(&scratch);
}

static uint32_t take_attributes(struct trace *trace, const cJSON *attributes)
{
    struct text scratch = {0};
    const cJSON *item;
    uint32_t count = 0;
    cJSON_ArrayForEach(item, attributes)
    {
        const cJSON *key = cJSON_GetObjectItemCaseSensitive(item, "key");
        const cJSON *any = cJSON_GetObjectItemCaseSensitive(item, "value");
        if (!cJSON_IsString(key))
            continue;
        enum trace_value type = TRACE_JSON;
        const char *value = scalar(any, &type, &scratch);
        if (!value) {
            type = TRACE_JSON;
            text_clear(&scratch);
            add_json_value(&scratch, any);
            value = scratch.data;
        }
        trace_add_attr(trace, trace_intern(trace, key->valuestring), trace_intern(trace, value), type);
        count++;
    }
    text_deinit(&scratch);
    return count;
}

static uint32_t intern_attr(struct trace *trace, const struct trace_resource *resource, const char *key)
{
    const char *value = trace_resource_attr(trace, resource, key);
    return value ? trace_find_string(trace, value) : 0;
}

/* A device about which more became known later (name, links) is still the same device: by process and
 * hardware. 0: not a device, or it cannot be identified. */
static uint32_t device_key(struct trace *trace, const struct trace_resource *resource)
{
    const char *hardware = trace_resource_attr(trace, resource, "hw.id");
    const char *instance = trace_resource_attr(trace, resource, "service.instance.id");
    if (!resource->device || !hardware || !instance)
        return 0;
    char *text = xasprintf("device %s %s %s %s", hardware, instance, trace_string(trace, resource->pid),
                           trace_string(trace, resource->device));
    uint32_t key = trace_intern(trace, text);
    free(text);
    return key;
}

/* Keeps the most complete attributes: those of a device only grow. */
static uint32_t add_resource(struct otlp_sink *sink, const struct trace_resource *resource)
{
    struct trace *trace = sink->trace;
    uint32_t key = device_key(trace, resource);
    uint32_t index = key ? int_map_get(&sink->resources, key) : MAP_NONE;
    if (index != MAP_NONE) {
        if (resource->attr_count > trace->resources[index].attr_count)
            trace->resources[index] = *resource;
        return index;
    }
    index = trace_add_resource(trace, resource);
    if (key)
        int_map_set(&sink->resources, key, index);
    return index;
}

/* Compares attributes as text, because every batch repeats its resource. */
static uint32_t take_resource(struct otlp_sink *sink, const cJSON *json)
{
    struct trace *trace = sink->trace;
    const cJSON *attributes = cJSON_GetObjectItemCaseSensitive(json, "attributes");
    char *text = attributes ? cJSON_PrintUnformatted(attributes) : NULL;
    uint32_t key = trace_intern(trace, text ? text : "");
    cJSON_free(text);
    uint32_t index = int_map_get(&sink->resources, key);
    if (index != MAP_NONE)
        return index;
    struct trace_resource resource = {.attr_first = (uint32_t)trace->attr_count};
    resource.attr_count = take_attributes(trace, attributes);
    resource.service = intern_attr(trace, &resource, "service.name");
    resource.pid = intern_attr(trace, &resource, "process.pid");
    resource.device = intern_attr(trace, &resource, "cuda.device.id");
    if (!resource.device)
        resource.device = intern_attr(trace, &resource, "hw.id");
    resource.device_name = intern_attr(trace, &resource, "hw.name");
    index = add_resource(sink, &resource);
    int_map_set(&sink->resources, key, index);
    return index;
}

static uint32_t take_trace_id(struct otlp_sink *sink, const cJSON *id)
{
    struct trace *trace = sink->trace;
    for (char *c = id->valuestring; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    uint32_t string = trace_intern(trace, id->valuestring);
    uint32_t index = int_map_get(&sink->traces, string);
    if (index == MAP_NONE) {
        index = trace_add_summary(trace, string);
        int_map_set(&sink->traces, string, index);
    }
    return index;
}

static uint32_t error_of(struct trace *trace, const struct trace_span *span, const cJSON *status)
{
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(status, "code");
    bool is_error = cJSON_IsString(code) ? strcmp(code->valuestring, "STATUS_CODE_ERROR") == 0
                                         : cJSON_IsNumber(code) && code->valueint == STATUS_CODE_ERROR;
    if (!is_error)
        return 0;
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(status, "message");
    const char *type = trace_span_attr(trace, span, "error.type");
    if (type)
        return trace_find_string(trace, type);
    return trace_intern(trace,
                        cJSON_IsString(message) && *message->valuestring ? message->valuestring : "error");
}

/* Events without a time are dropped: they have no place in the trace. */
static void take_events(struct trace *trace, const cJSON *events)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, events)
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
        uint64_t time_ns;
        if (!read_uint64(cJSON_GetObjectItemCaseSensitive(item, "timeUnixNano"), &time_ns))
            continue;
        uint32_t string = trace_intern(trace, cJSON_IsString(name) ? name->valuestring : "");
        struct trace_event *event = trace_add_event(trace);
        event->time_ns = time_ns;
        event->name = string;
        event->attr_count = take_attributes(trace, cJSON_GetObjectItemCaseSensitive(item, "attributes"));
    }
}

static enum status take_span(struct otlp_sink *sink, const cJSON *json, uint32_t resource, struct error *err)
{
    struct trace *trace = sink->trace;
    const cJSON *trace_id = cJSON_GetObjectItemCaseSensitive(json, "traceId");
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(json, "spanId");
    const cJSON *parent = cJSON_GetObjectItemCaseSensitive(json, "parentSpanId");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(json, "name");
    uint64_t start, end;
    if (!is_hex(trace_id, 32))
        return error_set(err, STATUS_INVALID, "a span's traceId is not 32 hex digits");
    if (!is_hex(id, 16))
        return error_set(err, STATUS_INVALID, "a span's spanId is not 16 hex digits");
    if (!read_uint64(cJSON_GetObjectItemCaseSensitive(json, "startTimeUnixNano"), &start))
        return error_set(err, STATUS_INVALID, "span %s has no startTimeUnixNano", id->valuestring);
    if (!read_uint64(cJSON_GetObjectItemCaseSensitive(json, "endTimeUnixNano"), &end))
        end = start; /* still open when it was written */
    uint32_t index = take_trace_id(sink, trace_id);
    trace->list[index].spans++;
    if ((sink->wanted != TRACE_NONE && sink->wanted != index) || trace->span_count >= sink->spans_max)
        return STATUS_OK;
    trace->list[index].kept++;
    uint32_t name_string = trace_intern(trace, cJSON_IsString(name) ? name->valuestring : "");
    struct trace_span *span = trace_add_span(trace);
    span->id = strtoull(id->valuestring, NULL, 16);
    span->parent_id = is_hex(parent, 16) ? strtoull(parent->valuestring, NULL, 16) : 0;
    span->start_ns = start;
    span->end_ns = end < start ? start : end;
    span->name = name_string;
    span->trace = index;
    span->resource = resource;
    span->attr_count = take_attributes(trace, cJSON_GetObjectItemCaseSensitive(json, "attributes"));
    span->error = error_of(trace, span, cJSON_GetObjectItemCaseSensitive(json, "status"));
    take_events(trace, cJSON_GetObjectItemCaseSensitive(json, "events"));
    return STATUS_OK;
}

static enum status take_resource_spans(struct otlp_sink *sink, const cJSON *json, struct error *err)
{
    uint32_t resource = take_resource(sink, cJSON_GetObjectItemCaseSensitive(json, "resource"));
    const cJSON *scope, *span;
    cJSON_ArrayForEach(scope, cJSON_GetObjectItemCaseSensitive(json, "scopeSpans"))
    {
        cJSON_ArrayForEach(span, cJSON_GetObjectItemCaseSensitive(scope, "spans"))
        {
            enum status status = take_span(sink, span, resource, err);
            if (status != STATUS_OK)
                return status;
        }
    }
    return STATUS_OK;
}

enum status otlp_take_document(struct otlp_sink *sink, const cJSON *document, struct error *err)
{
    sink->documents++;
    /* Jaeger's API wraps its answers. */
    const cJSON *result = cJSON_GetObjectItemCaseSensitive(document, "result");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(result ? result : document, "resourceSpans");
    if (!cJSON_IsArray(list)) {
        if (cJSON_HasObjectItem(document, "resourceMetrics") || cJSON_HasObjectItem(document, "resourceLogs"))
            return STATUS_OK;
        return error_set(err, STATUS_INVALID, "no resourceSpans: this is not a trace in OTLP JSON");
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        enum status status = take_resource_spans(sink, item, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}
