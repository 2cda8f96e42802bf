#include "agent/correlate/spans/attributes.h"

#include "model/semconv.h"

#include <string.h>

#define TID_MAX    4194304 /* the kernel's PID_MAX_LIMIT */
#define NAME_BYTES 64      /* of a name with its detail; longer ones are cut */

static void add_id(struct fields *fields, uint8_t id)
{
    fields->ids[fields->count++] = id;
}

static bool has_key(const struct activity_field *field, const char *key)
{
    return strcmp(field->key.name, key) == 0;
}

/* Whether a field becomes no attribute, because the span has it elsewhere: times, the kernel's name, and
 * fields of the device's resource. */
static bool is_elsewhere(const struct activity_field *field, unsigned kind)
{
    return field->role == ROLE_START || field->role == ROLE_END || field->role == ROLE_DEVICE ||
           (field->role == ROLE_NAME && kind == ACTIVITY_KERNEL);
}

static void plan_field(struct attribute_plan *plan, unsigned kind, uint8_t id)
{
    const struct activity_field *field = &activity_table[kind].fields[id];
    bool is_own = field->role == ROLE_CORRELATION || field->role == ROLE_GRAPH_NODE;
    if (field->type == FIELD_STRING || field->type == FIELD_BYTES)
        plan->is_shared[kind] = false; /* the memory at the address may change */
    if (!is_own)
        add_id(&plan->key[kind], id);
    if (field->type != FIELD_DIM3_YZ)
        add_id(is_own ? &plan->own[kind] : &plan->lasting[kind], id);
}

static void plan_kind(struct attribute_plan *plan, unsigned kind, enum activity_detail level)
{
    const struct activity_info *info = &activity_table[kind];
    plan->is_shared[kind] = info->is_gpu_work;
    for (uint8_t i = 1; i < info->field_count; i++) {
        const struct activity_field *field = &info->fields[i];
        plan->has_start[kind] |= field->role == ROLE_START;
        if (has_key(field, SEMCONV_CUDA_MEMCPY_BYTES) || has_key(field, SEMCONV_CUDA_MEMSET_BYTES))
            plan->bytes[kind] = i;
        if (field->type == FIELD_ENUM &&
            (has_key(field, SEMCONV_CUDA_MEMCPY_KIND) || has_key(field, SEMCONV_CUDA_OVERHEAD_KIND) ||
             has_key(field, SEMCONV_CUDA_SYNCHRONIZATION_TYPE)))
            plan->detail[kind] = i;
        bool is_part = field->type == FIELD_DIM3_YZ; /* part of the attribute before it */
        if ((field->key.len || is_part) && field->detail <= level && !is_elsewhere(field, kind))
            plan_field(plan, kind, i);
    }
}

void attributes_init(struct attribute_plan *plan, enum detail detail)
{
    enum activity_detail level = detail == DETAIL_FULL ? ACTIVITY_FULL : ACTIVITY_DEFAULT;
    memset(plan, 0, sizeof *plan);
    for (unsigned kind = 1; kind < ACTIVITY_KINDS_MAX; kind++)
        if (activity_table[kind].name)
            plan_kind(plan, kind, level);
}

static void add_enum(struct span *span, const struct attr_key *key, const struct enum_names *names,
                     int64_t value)
{
    const char *name = enum_name(names, value);
    if (name)
        span_attr_string(span, key, name);
    else
        span_attr_int(span, key, value);
}

/* Adds one parameter and returns its size in words. */
static uint32_t add_param(struct span *span, const struct call_param *param, const uint64_t *words)
{
    const struct attr_key *key = &call_param_keys[param->key];
    double real;
    switch (param->type) {
    case PARAM_STRING:
        span_attr_bytes(span, key, (const char *)&words[1], words[0]);
        return 1 + (uint32_t)(words[0] + 7) / 8;
    case PARAM_DIM3:
        span_attr_dim3(span, key, (uint32_t)words[0], (uint32_t)(words[0] >> 32), (uint32_t)words[1]);
        return 2;
    case PARAM_POINTER:
        span_attr_pointer(span, key, words[0]);
        return 1;
    case PARAM_BOOL:
        span_attr_bool(span, key, words[0] != 0);
        return 1;
    case PARAM_ENUM:
        add_enum(span, key, &call_enum_names[param->names], (int64_t)words[0]);
        return 1;
    case PARAM_DOUBLE:
        memcpy(&real, &words[0], sizeof real);
        span_attr_double(span, key, real);
        return 1;
    default:
        span_attr_int(span, key, (int64_t)words[0]);
        return 1;
    }
}

void attributes_of_call(struct span *span, const struct call_info *info, const struct call_record *call)
{
    const uint64_t *words = call->values;
    for (uint32_t present = call->present; present; present &= present - 1)
        words += add_param(span, &call_params[info->param + (uint32_t)__builtin_ctz(present)], words);
}

bool attributes_param(const struct call_info *info, const struct call_record *call, const char *key,
                      uint64_t *value)
{
    const uint64_t *word = call->values;
    for (uint32_t present = call->present; present; present &= present - 1) {
        const struct call_param *param = &call_params[info->param + (uint32_t)__builtin_ctz(present)];
        *value = *word;
        if (strcmp(call_param_keys[param->key].name, key) == 0)
            return true;
        word += call_param_words(param, word);
    }
    return false;
}

/* Some CUPTIs give a pthread handle instead of the kernel's thread ID. It is an address, which viewers
 * would show as another thread. */
static bool is_thread_handle(const struct activity_field *field, uint64_t value)
{
    return value > TID_MAX && strcmp(field->key.name, SEMCONV_CUSPAN_THREAD_ID) == 0;
}

static void add_field(struct span *span, const struct activity_field *field,
                      const struct activity_record *record, uint8_t id)
{
    uint64_t value = record->values[id];
    const char *text = (const char *)(uintptr_t)value;
    double real;
    switch (field->type) {
    case FIELD_DIM3_X:
        span_attr_dim3(span, &field->key, (uint32_t)value, (uint32_t)record->values[id + 1],
                       (uint32_t)record->values[id + 2]);
        break;
    case FIELD_STRING:
        if (text)
            span_attr_string(span, &field->key, text);
        break;
    case FIELD_POINTER:
        span_attr_pointer(span, &field->key, value);
        break;
    case FIELD_ENUM:
        add_enum(span, &field->key, &activity_enum_names[field->names], (int64_t)value);
        break;
    case FIELD_DOUBLE:
        memcpy(&real, &value, sizeof real);
        span_attr_double(span, &field->key, real);
        break;
    case FIELD_BOOL:
        span_attr_bool(span, &field->key, value != 0);
        break;
    case FIELD_BYTES:
        break; /* not useful on a span */
    default:
        if (!is_thread_handle(field, value))
            span_attr_int(span, &field->key, (int64_t)value);
    }
}

void attributes_of_activity(struct span *span, const struct fields *fields,
                            const struct activity_record *record)
{
    const struct activity_info *info = &activity_table[record->kind];
    for (uint8_t i = 0; i < fields->count; i++) {
        uint8_t id = fields->ids[i];
        const struct activity_field *field = &info->fields[id];
        bool of_graph = field->role == ROLE_GRAPH || field->role == ROLE_GRAPH_NODE;
        if (record->present >> id & 1 && (!of_graph || record->values[id]))
            add_field(span, field, record, id);
    }
}

/* Returns the text of the kind's `detail` field, such as "HostToDevice"; NULL: none. */
static const char *detail_of(const struct attribute_plan *plan, const struct activity_record *record)
{
    uint8_t id = plan->detail[record->kind];
    if (!id || !(record->present >> id & 1))
        return NULL;
    const struct activity_field *field = &activity_table[record->kind].fields[id];
    return enum_name(&activity_enum_names[field->names], (int64_t)record->values[id]);
}

static uint32_t append(char text[NAME_BYTES + 1], uint32_t used, const char *word)
{
    size_t bytes = strlen(word);
    bytes = bytes < NAME_BYTES - used ? bytes : NAME_BYTES - used;
    memcpy(text + used, word, bytes);
    return used + (uint32_t)bytes;
}

struct profile_string attributes_name(const struct attribute_plan *plan, const struct activity_record *record)
{
    static char text[NAME_BYTES + 1];
    const char *detail = detail_of(plan, record);
    uint32_t used = append(text, 0, activity_table[record->kind].name);
    if (detail)
        used = append(text, append(text, used, " "), detail);
    text[used] = 0;
    return (struct profile_string){text, used};
}
