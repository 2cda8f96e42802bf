#include "analysis/trace/span_store.h"

#include "base/hash.h"
#include "cli/util/xalloc.h"
#include "model/renamed.h"
#include "model/semconv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key's first values are long-lived strings; further ones are kept with their span. */
#define DISTINCT_MAX 4096

static const struct {
    const char *key;
    enum key_role role;
} roles[] = {{SEMCONV_CUSPAN_THREAD_ID, ROLE_THREAD}, {SEMCONV_THREAD_NAME, ROLE_THREAD_NAME},
             {SEMCONV_CUDA_STREAM_ID, ROLE_STREAM},   {SEMCONV_CUDA_CONTEXT_ID, ROLE_CONTEXT},
             {SEMCONV_CUDA_ACTIVITY, ROLE_ACTIVITY},  {SEMCONV_CUDA_API, ROLE_API},
             {SEMCONV_ERROR_TYPE, ROLE_ERROR},        {"cuda.session", ROLE_SESSION}};

void store_init(struct store *store, struct trace *trace, struct span_sort *sort, const char *const *wanted)
{
    *store = (struct store){.trace = trace,
                            .sort = sort,
                            .wanted = wanted,
                            .only_trace = TRACE_NONE,
                            .last_trace = TRACE_NONE,
                            .traces_max = wanted ? STORE_TRACES_MAX : 0,
                            .name_bytes_max = wanted ? STORE_NAME_BYTES_MAX : 0,
                            .resources_max = wanted ? STORE_RESOURCES_MAX : 0,
                            .other_resources = {MAP_NONE, MAP_NONE},
                            .start_ns = UINT64_MAX,
                            .key = TRACE_NONE,
                            .first_key = TRACE_NONE};
}

void store_deinit(struct store *store)
{
    free(store->keys);
    free(store->trace_slots);
    free(store->attrs);
    free(store->events);
    text_deinit(&store->texts);
    int_map_deinit(&store->key_map);
    int_map_deinit(&store->resources);
    int_map_deinit(&store->numbers);
}

/* --- strings --- */

/* A long-lived string, of which there may be too many. */
static uint32_t add_name(struct store *store, struct slice name)
{
    struct trace_strings *pool = store->trace->pool;
    uint32_t string = trace_strings_find_kept(pool, name.at, name.len);
    if (string != MAP_NONE)
        return string;
    if (store->name_bytes_max && store->name_bytes >= store->name_bytes_max) {
        store->has_other_names = true;
        return trace_intern(store->trace, STORE_OTHER_NAMES);
    }
    store->name_bytes += name.len + STORE_NAME_BYTES;
    return trace_strings_add(pool, name.at, name.len);
}

/* --- keys --- */

static bool is_wanted(const struct store *store, const char *key)
{
    if (!store->wanted)
        return true;
    for (const char *const *wanted = store->wanted; *wanted; wanted++) {
        size_t len = strlen(*wanted);
        bool is_prefix = len > 0 && (*wanted)[len - 1] == '*';
        if (is_prefix ? strncmp(key, *wanted, len - 1) == 0 : strcmp(key, *wanted) == 0)
            return true;
    }
    return false;
}

/* All attributes of a session start with its key. */
static enum key_role role_of(const char *key)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        bool is_it = roles[i].role == ROLE_SESSION ? strncmp(key, roles[i].key, strlen(roles[i].key)) == 0
                                                   : strcmp(key, roles[i].key) == 0;
        if (is_it)
            return roles[i].role;
    }
    return ROLE_NONE;
}

static uint32_t find_key(struct store *store, struct slice key)
{
    uint32_t string = trace_strings_add(store->trace->pool, key.at, key.len);
    uint32_t index = int_map_get(&store->key_map, string);
    if (index != MAP_NONE)
        return index;
    const char *name = trace_string(store->trace, string), *today = renamed_attribute(name);
    if (today != name) {
        index = find_key(store, (struct slice){today, strlen(today)});
        int_map_set(&store->key_map, string, index);
        return index;
    }
    enum key_role role = role_of(name);
    index = (uint32_t)store->key_count;
    store->omissions.cut += strlen(name) != key.len;
    *XADD(store->keys, store->key_count, store->key_capacity) =
        (struct store_key){.string = string,
                           .len = (uint32_t)strlen(name),
                           .next = TRACE_NONE,
                           .role = (uint8_t)role,
                           .is_wanted = role != ROLE_NONE || is_wanted(store, name)};
    int_map_set(&store->key_map, string, index);
    return index;
}

static bool is_key(const struct store *store, uint32_t index, struct slice text)
{
    const struct store_key *key = index == TRACE_NONE ? NULL : &store->keys[index];
    return key && key->len == text.len &&
           memcmp(trace_string(store->trace, key->string), text.at, text.len) == 0;
}

bool store_key(struct store *store, struct slice text)
{
    /* Spans of a kind have the same attributes in the same order. */
    uint32_t before = store->key;
    uint32_t key = before == TRACE_NONE ? store->first_key : store->keys[before].next;
    if (!is_key(store, key, text)) {
        key = find_key(store, text);
        *(before == TRACE_NONE ? &store->first_key : &store->keys[before].next) = key;
    }
    store->key = key;
    return store->keys[key].is_wanted;
}

/* --- values --- */

/* The long-lived string with the digits of a number that identifies a thread, stream or context. */
static uint32_t digits_of(struct store *store, uint64_t value)
{
    char digits[24];
    uint32_t string = int_map_get(&store->numbers, value);
    if (string == MAP_NONE) {
        int len = snprintf(digits, sizeof digits, "%" PRId64, (int64_t)value);
        string = trace_strings_add(store->trace->pool, digits, (size_t)len);
        int_map_set(&store->numbers, value, string);
    }
    return string;
}

static uint32_t string_of(struct store *store, const struct trace_attr *attr)
{
    if (attr->type == TRACE_INT)
        return digits_of(store, attr->value);
    if (attr->type & RECORD_TEXT)
        return add_name(store,
                        (struct slice){store->texts.data + (attr->value >> 32), (uint32_t)attr->value});
    if (attr->type == TRACE_STRING || attr->type == TRACE_JSON)
        return (uint32_t)attr->value;
    return trace_intern(store->trace, trace_attr_text(store->trace, attr));
}

static enum trace_class class_of_activity(const char *activity)
{
    if (strcmp(activity, "collective") == 0)
        return CLASS_COLLECTIVE;
    if (strstr(activity, "kernel"))
        return CLASS_KERNEL;
    if (strstr(activity, "memcpy") || strstr(activity, "copy"))
        return CLASS_COPY;
    if (strstr(activity, "memset") || strstr(activity, "fill"))
        return CLASS_FILL;
    return CLASS_GPU_OTHER;
}

/* Of the span's own attributes: the record's fields. */
static void take_role(struct store *store, enum key_role role, const struct trace_attr *attr)
{
    struct span_record *record = &store->record;
    uint32_t string = role == ROLE_SESSION || role == ROLE_NONE ? 0 : string_of(store, attr);
    uint32_t *const fields[] = {[ROLE_THREAD] = &record->thread,
                                [ROLE_THREAD_NAME] = &record->thread_name,
                                [ROLE_STREAM] = &record->stream,
                                [ROLE_CONTEXT] = &record->context,
                                [ROLE_ERROR] = &record->error};
    if (role == ROLE_API && string)
        record->class |= 1u << CLASS_CALL;
    else if (role == ROLE_SESSION)
        record->class |= 1u << CLASS_SESSION;
    else if (role == ROLE_ACTIVITY && string)
        record->class |= 1u << class_of_activity(trace_string(store->trace, string));
    else if (role != ROLE_NONE && role != ROLE_API && role != ROLE_ACTIVITY && !*fields[role])
        *fields[role] = string;
}

/* A text that only this span keeps. */
static void add_text(struct store *store, struct trace_attr *attr, struct slice text)
{
    attr->type |= RECORD_TEXT;
    attr->value = (uint64_t)store->texts.len << 32 | text.len;
    text_add_bytes(&store->texts, text.at, text.len);
}

static void take_text(struct store *store, struct store_key *key, struct trace_attr *attr, struct slice text)
{
    if (key->last_len == text.len && memcmp(trace_string(store->trace, key->last), text.at, text.len) == 0) {
        attr->value = key->last;
        return;
    }
    uint32_t string = trace_strings_find_kept(store->trace->pool, text.at, text.len);
    bool is_cut = store->wants_fields && memchr(text.at, 0, text.len);
    if ((string == MAP_NONE && key->distinct >= DISTINCT_MAX) || is_cut) {
        add_text(store, attr, text);
        return;
    }
    if (string == MAP_NONE) {
        key->distinct++;
        string = trace_strings_add(store->trace->pool, text.at, text.len);
    }
    attr->value = key->last = string;
    key->last_len = (uint32_t)strlen(trace_string(store->trace, string));
}

/* An attribute whose value the caller sets. */
static struct trace_attr *add_attr(struct store *store)
{
    return XADD(store->attrs, store->attr_count, store->attr_capacity);
}

void store_value(struct store *store, const struct otlp_value *value)
{
    struct store_key *key = &store->keys[store->key];
    struct trace_attr *attr = add_attr(store);
    *attr = (struct trace_attr){.key = key->string, .type = value->type, .value = value->bits};
    if (value->type == TRACE_STRING || value->type == TRACE_JSON)
        take_text(store, key, attr, value->text);
    if (store->event_count)
        store->events[store->event_count - 1].attr_count++;
    else
        take_role(store, key->role, attr);
}

/* --- details --- */

void store_scope(struct store *store, struct slice json)
{
    store->scope = trace_strings_add(store->trace->pool, json.at, json.len);
}

void store_field(struct store *store, enum span_field detail, uint64_t value)
{
    if (value)
        *add_attr(store) = (struct trace_attr){detail, TRACE_INT | RECORD_FIELD, value};
}

void store_field_text(struct store *store, enum span_field detail, struct slice text)
{
    if (text.len == 0)
        return;
    struct trace_attr *attr = add_attr(store);
    *attr = (struct trace_attr){.key = detail, .type = TRACE_STRING | RECORD_FIELD};
    add_text(store, attr, text);
}

static bool is_kept_whole(const struct store *store, struct slice name)
{
    return !memchr(name.at, 0, name.len) &&
           (store->name_bytes < store->name_bytes_max ||
            trace_strings_find_kept(store->trace->pool, name.at, name.len) != MAP_NONE);
}

void store_own_fields(struct store *store, const struct otlp_span *span)
{
    store_field(store, SPAN_FIELD_TRACE_HIGH, span->trace_high);
    store_field(store, SPAN_FIELD_TRACE_LOW, span->trace_low);
    if (store->scope)
        *add_attr(store) = (struct trace_attr){SPAN_FIELD_SCOPE, TRACE_STRING | RECORD_FIELD, store->scope};
    if (span->name.len && !is_kept_whole(store, span->name))
        store_field_text(store, SPAN_FIELD_NAME, span->name);
}

bool store_wants_events(const struct store *store)
{
    return !store->wanted;
}

void store_event(struct store *store, uint64_t time_ns, struct slice name)
{
    store->omissions.cut += memchr(name.at, 0, name.len) != NULL;
    if (!store->event_count)
        store->span_attrs = store->attr_count;
    *XADD(store->events, store->event_count, store->event_capacity) = (struct record_event){
        .time_ns = time_ns, .name = trace_strings_add(store->trace->pool, name.at, name.len)};
}

/* --- resources --- */

static uint32_t text_of(struct trace *trace, const struct otlp_value *value)
{
    struct trace_attr attr = {.type = value->type, .value = value->bits};
    if (value->type == TRACE_STRING || value->type == TRACE_JSON)
        return trace_strings_add(trace->pool, value->text.at, value->text.len);
    return trace_intern(trace, trace_attr_text(trace, &attr));
}

static uint32_t intern_attr(struct trace *trace, const struct trace_resource *resource, const char *key)
{
    const char *value = trace_resource_attr(trace, resource, key);
    return value ? trace_intern(trace, value) : 0;
}

/* A device about which more became known later (name, links) is still the same device: by process and
 * hardware. 0: not a device, or it cannot be identified. */
static uint32_t device_key(struct trace *trace, const struct trace_resource *resource)
{
    const char *hardware = trace_resource_attr(trace, resource, SEMCONV_HW_ID);
    const char *instance = trace_resource_attr(trace, resource, SEMCONV_SERVICE_INSTANCE_ID);
    if (!resource->device || !hardware || !instance)
        return 0;
    char *text = xasprintf("device %s %s %s %s", hardware, instance, trace_string(trace, resource->pid),
                           trace_string(trace, resource->device));
    uint32_t key = trace_intern(trace, text);
    free(text);
    return key;
}

/* Keeps the most complete attributes: those of a device only grow. */
static uint32_t add_resource(struct store *store, const struct trace_resource *resource)
{
    struct trace *trace = store->trace;
    uint32_t key = device_key(trace, resource);
    uint32_t index = key ? int_map_get(&store->resources, key) : MAP_NONE;
    if (index != MAP_NONE) {
        struct trace_resource *known = &trace->resources[index];
        uint64_t start_ns = known->start_ns, end_ns = known->end_ns;
        if (resource->attr_count > known->attr_count)
            *known = *resource;
        known->start_ns = start_ns;
        known->end_ns = end_ns;
        return index;
    }
    index = trace_add_resource(trace, resource);
    if (key)
        int_map_set(&store->resources, key, index);
    return index;
}

static uint32_t new_resource(struct store *store, const struct slice *keys, const struct otlp_value *values,
                             size_t count)
{
    struct trace *trace = store->trace;
    struct trace_resource resource = {
        .attr_first = (uint32_t)trace->attr_count, .attr_count = (uint32_t)count, .start_ns = UINT64_MAX};
    for (size_t i = 0; i < count; i++) {
        bool is_text = values[i].type == TRACE_STRING || values[i].type == TRACE_JSON;
        uint32_t text = text_of(trace, &values[i]);
        store->omissions.cut += is_text && memchr(values[i].text.at, 0, values[i].text.len) != NULL;
        trace_add_attr(trace, trace_strings_add(trace->pool, keys[i].at, keys[i].len),
                       is_text ? text : values[i].bits, values[i].type);
    }
    resource.service = intern_attr(trace, &resource, SEMCONV_SERVICE_NAME);
    resource.pid = intern_attr(trace, &resource, SEMCONV_PROCESS_PID);
    resource.device = intern_attr(trace, &resource, SEMCONV_CUDA_DEVICE_ID);
    if (!resource.device)
        resource.device = intern_attr(trace, &resource, SEMCONV_HW_ID);
    resource.device_name = intern_attr(trace, &resource, SEMCONV_HW_NAME);
    return add_resource(store, &resource);
}

/* Without a byte 0, and without printf: every batch repeats some 40 attributes. */
static void add_bits(struct text *text, unsigned type, uint64_t bits)
{
    char out[12] = {1, (char)(type + 1)};
    for (unsigned i = 0; i < 10; i++)
        out[2 + i] = (char)((bits >> 7 * i & 0x7f) | 0x80);
    text_add_bytes(text, out, sizeof out);
}

/* One for processes and one for devices, beyond the limit. */
static uint32_t other_resource(struct store *store, const struct slice *keys, size_t count)
{
    static const char device_key[] = SEMCONV_CUDA_DEVICE_ID;
    struct slice names[] = {{SEMCONV_SERVICE_NAME, strlen(SEMCONV_SERVICE_NAME)},
                            {device_key, strlen(device_key)}};
    struct slice name = {STORE_OTHER_RESOURCES, strlen(STORE_OTHER_RESOURCES)};
    struct otlp_value values[] = {{.type = TRACE_STRING, .text = name}, {.type = TRACE_STRING, .text = name}};
    bool is_device = false;
    for (size_t i = 0; i < count; i++)
        is_device |= keys[i].len == names[1].len && memcmp(keys[i].at, device_key, names[1].len) == 0;
    uint32_t *other = &store->other_resources[is_device];
    store->has_other_resources = true;
    if (*other == MAP_NONE)
        *other = new_resource(store, names, values, is_device ? 2 : 1);
    return *other;
}

/* Compares all attributes as text, because every batch repeats its resource. */
void store_resource(struct store *store, const struct slice *keys, const struct otlp_value *values,
                    size_t count)
{
    struct text *all = &store->texts;
    struct trace_strings *pool = store->trace->pool;
    text_clear(all);
    for (size_t i = 0; i < count && !store->only_counts; i++) {
        text_add_bytes(all, keys[i].at, keys[i].len);
        add_bits(all, (unsigned)values[i].type, values[i].bits);
        text_add_bytes(all, values[i].text.at ? values[i].text.at : "", values[i].text.len);
        text_add(all, "\2");
    }
    const char *text = all->len ? all->data : "";
    uint32_t key = trace_strings_find_kept(pool, text, all->len);
    bool is_full = store->resources_max && store->trace->resource_count >= store->resources_max;
    if (key == MAP_NONE && !is_full)
        key = trace_strings_add(pool, text, all->len);
    text_clear(all);
    store->resource = key == MAP_NONE ? MAP_NONE : int_map_get(&store->resources, key);
    if (store->resource != MAP_NONE || store->only_counts)
        return;
    store->resource = is_full ? other_resource(store, keys, count) : new_resource(store, keys, values, count);
    if (!is_full)
        int_map_set(&store->resources, key, store->resource);
}

/* --- spans --- */

static bool is_trace(const struct store *store, uint32_t index, uint64_t high, uint64_t low)
{
    const struct trace_summary *summary = &store->trace->list[index];
    return summary->id_high == high && summary->id_low == low;
}

static uint32_t *trace_slot(const struct store *store, uint64_t high, uint64_t low)
{
    size_t mask = store->trace_slot_count - 1;
    size_t slot = (size_t)int_map_mix(int_map_mix(high) ^ low) & mask;
    while (store->trace_slots[slot] != TRACE_NONE && !is_trace(store, store->trace_slots[slot], high, low))
        slot = (slot + 1) & mask;
    return &store->trace_slots[slot];
}

static void enlarge_traces(struct store *store)
{
    const struct trace *trace = store->trace;
    free(store->trace_slots);
    store->trace_slot_count = store->trace_slot_count ? store->trace_slot_count * 2 : 64;
    store->trace_slots = xcalloc(store->trace_slot_count, sizeof *store->trace_slots);
    memset(store->trace_slots, 0xff, store->trace_slot_count * sizeof *store->trace_slots);
    for (size_t i = 0; i < trace->list_count; i++)
        *trace_slot(store, trace->list[i].id_high, trace->list[i].id_low) = (uint32_t)i;
}

static uint32_t trace_of(struct store *store, uint64_t high, uint64_t low)
{
    if (store->last_trace != TRACE_NONE && is_trace(store, store->last_trace, high, low))
        return store->last_trace;
    if (store->trace->list_count * 2 >= store->trace_slot_count)
        enlarge_traces(store);
    uint32_t *slot = trace_slot(store, high, low);
    if (*slot == TRACE_NONE && store->traces_max && store->trace->list_count >= store->traces_max) {
        store->has_rest = true;
        high = low = 0; /* trace_is_rest() */
        slot = trace_slot(store, high, low);
    }
    if (*slot == TRACE_NONE)
        *slot = trace_add_summary(store->trace, high, low);
    store->last_trace = *slot;
    return *slot;
}

/* Of the marks that take_role() has set. */
static uint32_t class_of(const struct store *store)
{
    uint32_t marks = store->record.class, work = CLASS_GPU_OTHER;
    for (uint32_t class = CLASS_COLLECTIVE; class < CLASS_GPU_OTHER; class ++) {
        if (marks >> class & 1)
            work = class;
    }
    bool is_on_device = store->trace->resources[store->resource].device != 0;
    if (is_on_device || (store->record.stream && work != CLASS_GPU_OTHER))
        return work;
    return marks >> CLASS_CALL & 1 ? CLASS_CALL : marks >> CLASS_SESSION & 1 ? CLASS_SESSION : CLASS_OTHER;
}

static void fill_record(struct store *store, const struct otlp_span *span, uint32_t trace)
{
    struct span_record *record = &store->record;
    record->start_ns = span->start_ns;
    record->end_ns = span->end_ns < span->start_ns ? span->start_ns : span->end_ns;
    record->id = span->id;
    record->parent_id = span->parent_id;
    record->name = add_name(store, span->name);
    record->trace = trace;
    record->resource = store->resource;
    record->class = class_of(store);
    record->attr_count = (uint32_t)store->attr_count;
    record->span_attrs = (uint32_t)(store->event_count ? store->span_attrs : store->attr_count);
    record->event_count = (uint32_t)store->event_count;
    if (!span->has_failed)
        record->error = 0;
    else if (!record->error)
        record->error = add_name(store, span->message);
    if (span->has_failed && !record->error) /* its message has no text before a NUL */
        record->error = trace_intern(store->trace, "error");
}

static void extend(uint64_t *start_ns, uint64_t *end_ns, const struct span_record *record)
{
    if (record->start_ns < *start_ns)
        *start_ns = record->start_ns;
    if (record->end_ns > *end_ns)
        *end_ns = record->end_ns;
}

static size_t record_size(const struct store *store)
{
    return sizeof(struct span_record) + store->attr_count * sizeof *store->attrs +
           store->event_count * sizeof *store->events + (store->texts.len + 7) / 8 * 8;
}

static enum status keep(struct store *store, const struct otlp_span *span, uint32_t trace, struct error *err)
{
    struct span_record *record = NULL;
    size_t attr_bytes = store->attr_count * sizeof *store->attrs;
    size_t event_bytes = store->event_count * sizeof *store->events;
    size_t size = record_size(store);
    fill_record(store, span, trace);
    store->record.size = (uint32_t)size;
    enum status status = span_sort_add(store->sort, (uint32_t)size, &record, err);
    if (status != STATUS_OK)
        return status;
    char *at = (char *)(record + 1);
    *record = store->record;
    if (attr_bytes)
        memcpy(at, store->attrs, attr_bytes);
    if (event_bytes)
        memcpy(at + attr_bytes, store->events, event_bytes);
    if (store->texts.len)
        memcpy(at + attr_bytes + event_bytes, store->texts.data, store->texts.len);
    memset(at + attr_bytes + event_bytes + store->texts.len, 0,
           size - sizeof *record - attr_bytes - event_bytes - store->texts.len);
    store->spans++;
    extend(&store->start_ns, &store->end_ns, record);
    struct trace_resource *resource = &store->trace->resources[record->resource];
    extend(&resource->start_ns, &resource->end_ns, record);
    return STATUS_OK;
}

/* Forgets what arrived since the last span. */
static void reset(struct store *store)
{
    store->record = (struct span_record){0};
    store->attr_count = store->event_count = 0;
    store->key = TRACE_NONE;
    text_clear(&store->texts);
}

void store_skip(struct store *store, uint64_t id, const char *why)
{
    store->skipped++;
    if (!*store->skip_reason && id)
        snprintf(store->skip_reason, sizeof store->skip_reason, "span %016" PRIx64 " %s", id, why);
    else if (!*store->skip_reason)
        snprintf(store->skip_reason, sizeof store->skip_reason, "a span %s", why);
    reset(store);
}

enum status store_span(struct store *store, const struct otlp_span *span, struct error *err)
{
    enum status status = STATUS_OK;
    if (record_size(store) > UINT32_MAX) {
        store_skip(store, span->id, "has more than 4 GiB of attributes");
        return STATUS_OK;
    }
    uint32_t trace = trace_of(store, span->trace_high, span->trace_low);
    store->omissions.backwards += span->end_ns && span->end_ns < span->start_ns;
    if (!store->only_counts && (store->only_trace == TRACE_NONE || store->only_trace == trace))
        status = keep(store, span, trace, err);
    store->trace->list[trace].spans++;
    reset(store);
    return status;
}
