#include "agent/recording/recording_events.h"

#include "agent/recording/recording_format.h"

#include <stdlib.h>
#include <string.h>

#define ANNOTATION_SKIPPED 16 /* head and time: annotations are stored as in memory without these */
#define CBID_NODE_CLONED   20 /* a resource with one more number, which older readers skip */
#define CBID_NODE_CREATED  13 /* the same if its code is known */

enum string_reference { STRING_NEW, STRING_NULL, STRING_NUMBERED };

struct loose_string {
    struct loose_string *next;
    char text[];
};

/* --- parts of a payload --- */

static uint64_t get(struct recording_events *events)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (events->at == events->end)
            break;
        uint8_t byte = *events->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    events->is_bad = true;
    return 0;
}

static void put(struct recording_events *events, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *events->at++ = (uint8_t)(value | 0x80);
    *events->at++ = (uint8_t)value;
}

static void number(struct recording_events *events, uint64_t *value)
{
    if (events->is_reading)
        *value = get(events);
    else
        put(events, *value);
}

void recording_events_head(struct recording_events *events, uint64_t *type, uint64_t *bytes)
{
    number(events, type);
    number(events, bytes);
}

/* A number of so many bytes in memory, where both supported machines are little-endian. */
static void number_of(struct recording_events *events, void *value, size_t bytes)
{
    uint64_t wide = 0;
    memcpy(&wide, value, bytes);
    number(events, &wide);
    if (events->is_reading)
        memcpy(value, &wide, bytes);
    events->is_bad |= bytes < sizeof wide && wide >> (8 * bytes) != 0;
}
#define NUMBER(events, member) number_of(events, &(member), sizeof(member))

static void difference(struct recording_events *events, uint64_t *value, uint64_t before)
{
    uint64_t stored = format_zigzag(*value - before);
    number(events, &stored);
    if (events->is_reading)
        *value = before + format_unzigzag(stored);
}

static void difference32(struct recording_events *events, uint32_t *value, uint32_t before)
{
    uint64_t stored = format_zigzag((uint64_t)(int32_t)(*value - before));
    number(events, &stored);
    if (events->is_reading)
        *value = before + (uint32_t)format_unzigzag(stored);
}

/* Takes the place of so many bytes. NULL: there are less. */
static uint8_t *take(struct recording_events *events, uint64_t count)
{
    if (events->is_bad || count > (uint64_t)(events->end - events->at)) {
        events->is_bad = true;
        return NULL;
    }
    events->at += count;
    return events->at - count;
}

static void block(struct recording_events *events, void *bytes, size_t count)
{
    uint8_t *place = take(events, count);
    if (place && events->is_reading)
        memcpy(bytes, place, count);
    else if (place)
        memcpy(place, bytes, count);
}

static const char *loose_string(struct recording_events *events, const uint8_t *text, size_t length)
{
    struct loose_string *copy = malloc(sizeof *copy + length + 1);
    if (!copy)
        return NULL;
    memcpy(copy->text, text, length);
    copy->text[length] = '\0';
    copy->next = events->loose;
    events->loose = copy;
    return copy->text;
}

static const char *get_new_string(struct recording_events *events)
{
    uint64_t length = get(events);
    const uint8_t *text = length <= FORMAT_STRING_MAX ? take(events, length) : NULL;
    if (text && !recording_strings_has_room(&events->strings, length))
        return loose_string(events, text, length);
    if (text && recording_strings_add(&events->strings, (const char *)text, length))
        return recording_strings_get(&events->strings, events->strings.count - 1);
    return NULL;
}

static const char *get_string(struct recording_events *events)
{
    uint64_t reference = get(events);
    if (events->is_bad || reference == STRING_NULL)
        return NULL;
    const char *text = reference == STRING_NEW
                           ? get_new_string(events)
                           : recording_strings_get(&events->strings, reference - STRING_NUMBERED);
    events->is_bad |= !text;
    return text;
}

static size_t string_length(const char *text)
{
    return text ? strnlen(text, FORMAT_STRING_MAX) : 0;
}

static void put_string(struct recording_events *events, const char *text)
{
    size_t length = string_length(text);
    uint32_t index;
    if (!text) {
        put(events, STRING_NULL);
        return;
    }
    if (recording_strings_find(&events->strings, text, length, &index)) {
        put(events, (uint64_t)index + STRING_NUMBERED);
        return;
    }
    put(events, STRING_NEW);
    put(events, length);
    uint8_t *place = take(events, length);
    if (place)
        memcpy(place, text, length);
    if (recording_strings_has_room(&events->strings, length) &&
        !recording_strings_add(&events->strings, text, length))
        events->unallocated = "a name";
}

static void string(struct recording_events *events, const char **text)
{
    if (events->is_reading)
        *text = get_string(events);
    else
        put_string(events, *text);
}

/* A string that is never NULL to readers. */
static void text(struct recording_events *events, const char **text)
{
    string(events, text);
    if (!*text)
        *text = "";
}

/* The record that is read, or the one to write, which stays as it is. */
static void *record_of(struct recording_events *events, const void *written)
{
    return events->is_reading ? (void *)&events->record : (void *)(uintptr_t)written;
}

static void set_head(struct recording_events *events, struct record_head *head, struct record_head value)
{
    if (events->is_reading)
        *head = value;
}

/* Thread and time, common to calls, resources and annotations. */
static void place(struct recording_events *events, uint64_t *tid, uint64_t *time_ns)
{
    struct format_state *state = &events->state;
    difference(events, tid, state->tid);
    difference(events, time_ns, state->time_ns);
    state->tid = *tid;
    state->time_ns = *time_ns;
}

/* --- calls --- */

static bool is_call(uint8_t domain, uint16_t cbid)
{
    return (domain == CALL_DRIVER || domain == CALL_RUNTIME) && cbid < FORMAT_CBIDS_MAX;
}

/* The previous call of the same function. NULL: there is no such function, or no memory. */
static struct format_call *previous_call(struct recording_events *events, uint8_t domain, uint16_t cbid)
{
    if (!is_call(domain, cbid))
        return NULL;
    struct format_call **call = &events->state.calls[domain - CALL_DRIVER][cbid];
    if (!*call)
        *call = calloc(1, sizeof **call);
    if (!*call)
        events->unallocated = "a call";
    return *call;
}

/* This build's tables may list other parameters for a call than those of the recording build. */
static bool parameters_fit(const struct call_record *call, size_t words)
{
    const struct call_info *info = call_info(call->head.domain, call->head.cbid);
    size_t at = 0;
    for (unsigned i = 0; info && i < CALL_PARAMS_MAX; i++) {
        if (!(call->present >> i & 1))
            continue;
        if (i >= info->param_count || at >= words)
            return false;
        const struct call_param *param = &call_params[info->param + i];
        if (param->type == PARAM_STRING && call->values[at] > CALL_STRING_BYTES)
            return false;
        at += call_param_words(param, &call->values[at]);
    }
    return info && at == words;
}

static void exchange_call(struct recording_events *events, struct recording_event *event)
{
    struct format_state *state = &events->state;
    struct call_record *call = record_of(events, event->call);
    event->call = call;
    NUMBER(events, call->head.domain);
    NUMBER(events, call->head.cbid);
    struct format_call *before = previous_call(events, call->head.domain, call->head.cbid);
    if (!before) {
        events->is_bad = true;
        return;
    }
    uint64_t words = (call->head.bytes - sizeof *call) / sizeof *call->values;
    uint32_t result = (uint32_t)call->result;
    place(events, &event->tid, &call->start_ns);
    difference(events, &call->end_ns, call->start_ns);
    difference32(events, &call->correlation_id, state->correlation_id);
    difference32(events, &call->context_id, before->context_id);
    difference32(events, &result, 0);
    NUMBER(events, call->present);
    number(events, &words);
    if (words > CALL_VALUES_MAX) {
        events->is_bad = true;
        return;
    }
    for (size_t i = 0; i < words; i++)
        difference(events, &call->values[i], i < before->words ? before->values[i] : 0);
    state->time_ns = call->end_ns;
    state->correlation_id = call->correlation_id;
    before->context_id = call->context_id;
    before->words = (uint32_t)words;
    memcpy(before->values, call->values, words * sizeof *call->values);
    if (!events->is_reading)
        return;
    call->result = (int32_t)result;
    if (!parameters_fit(call, words)) {
        call->present = 0;
        words = 0;
    }
    call->head.type = RECORD_CALL;
    call->head.bytes = (uint32_t)(sizeof *call + words * sizeof *call->values);
}

/* --- resources, annotations, hardware counters, code, steps --- */

static void exchange_resource(struct recording_events *events, struct recording_event *event)
{
    struct resource_record *before = &events->state.resource;
    struct resource_record *resource = record_of(events, event->resource);
    event->resource = resource;
    NUMBER(events, resource->head.cbid);
    set_head(events, &resource->head,
             (struct record_head){sizeof *resource, RECORD_RESOURCE, 0, resource->head.cbid});
    place(events, &event->tid, &resource->time_ns);
    difference32(events, &resource->context_id, before->context_id);
    difference32(events, &resource->device_id, before->device_id);
    difference32(events, &resource->id, before->id);
    difference32(events, &resource->bytes, before->bytes);
    difference(events, &resource->handle, before->handle);
    uint64_t original = before->original;
    if (resource->head.cbid == CBID_NODE_CLONED) {
        difference(events, &resource->original, original);
        original = resource->original;
    } else if (events->is_reading) {
        resource->code = 0;
    }
    if (resource->head.cbid == CBID_NODE_CREATED &&
        (events->is_reading ? events->at < events->end : resource->code != 0))
        number(events, &resource->code);
    *before = *resource;
    before->original = original;
}

static void exchange_annotation(struct recording_events *events, struct recording_event *event)
{
    struct record_head *head = record_of(events, event->annotation);
    struct resource_record *record = (struct resource_record *)head; /* head and time of all of them */
    uint64_t size = head->bytes - ANNOTATION_SKIPPED;
    event->annotation = head;
    NUMBER(events, head->type);
    NUMBER(events, head->cbid);
    place(events, &event->tid, &record->time_ns);
    number(events, &size);
    if (size > FORMAT_ANNOTATION_BYTES_MAX - ANNOTATION_SKIPPED) {
        events->is_bad = true;
        return;
    }
    block(events, (char *)head + ANNOTATION_SKIPPED, size);
    set_head(events, head,
             (struct record_head){(uint32_t)size + ANNOTATION_SKIPPED, head->type, 0, head->cbid});
}

/* All numbers in full, so that readers may skip the event without missing a difference. */
static void exchange_gpu_counters(struct recording_events *events, struct recording_event *event)
{
    struct gpu_counters_record *record = record_of(events, event->gpu_counters);
    event->gpu_counters = record;
    number(events, &event->tid);
    number(events, &record->time_ns);
    NUMBER(events, record->correlation_id);
    NUMBER(events, record->count);
    if (record->count > GPU_COUNTERS_MAX) {
        events->is_bad = true;
        return;
    }
    block(events, &record->range_ns, sizeof record->range_ns);
    block(events, record->values, record->count * sizeof *record->values);
    set_head(events, &record->head,
             (struct record_head){(uint32_t)(sizeof *record + record->count * sizeof *record->values),
                                  RECORD_GPU_COUNTERS, 0, 0});
}

/* All numbers in full, as above. The frames are stored as in memory, in little-endian. */
static void exchange_code(struct recording_events *events, struct recording_event *event)
{
    struct code_record *code = record_of(events, event->code);
    uint64_t size = code->head.bytes - sizeof *code;
    event->code = code;
    NUMBER(events, event->correlation_id);
    number(events, &code->id);
    NUMBER(events, code->frame_count);
    NUMBER(events, code->flags);
    number(events, &size);
    if (size > CODE_RECORD_BYTES_MAX - sizeof *code || size % 8) {
        events->is_bad = true;
        return;
    }
    block(events, code->frames, size);
    set_head(events, &code->head, (struct record_head){(uint32_t)(sizeof *code + size), RECORD_CODE, 0, 0});
}

/* All numbers in full, as above. False: a kind or source of a later version. */
static bool exchange_step(struct recording_events *events, struct recording_event *event)
{
    struct step_boundary *step = record_of(events, event->step);
    uint64_t count = format_zigzag((uint64_t)step->number), kind = step->kind, source = step->source;
    event->step = step;
    number(events, &step->time);
    number(events, &count);
    number(events, &kind);
    number(events, &source);
    number(events, &step->nonce);
    if (events->is_reading) {
        step->number = (int64_t)format_unzigzag(count);
        step->kind = (uint8_t)kind;
        step->source = (uint8_t)source;
        step->event = NULL;
    }
    return kind <= STEP_NONE && source < STEP_BY_NONE;
}

static void exchange_iteration(struct recording_events *events, struct engine_event *engine)
{
    struct iteration *iteration = &engine->iteration;
    number(events, &iteration->seed);
    NUMBER(events, iteration->number);
    block(events, iteration->engine, sizeof iteration->engine);
    NUMBER(events, iteration->kind);
    NUMBER(events, iteration->is_recorded);
    NUMBER(events, iteration->rank);
    NUMBER(events, iteration->ranks);
    NUMBER(events, iteration->requests);
    NUMBER(events, iteration->part_count);
    events->is_bad |= iteration->part_count > ITERATION_PARTS_MAX;
    for (uint32_t i = 0; i < iteration->part_count && !events->is_bad; i++) {
        struct iteration_part *part = &engine->parts[i];
        number(events, &part->request);
        NUMBER(events, part->phase);
        NUMBER(events, part->is_resumed);
        NUMBER(events, part->tokens);
        NUMBER(events, part->computed);
        NUMBER(events, part->drafts);
    }
    iteration->engine[sizeof iteration->engine - 1] = '\0';
    events->is_bad |= iteration->kind > ITERATION_WARM_UP;
}

static void exchange_headers(struct recording_events *events, struct engine_event *engine)
{
    struct engine_request *request = &engine->request;
    char *headers = engine_event_headers(engine);
    NUMBER(events, request->header_bytes);
    events->is_bad |= request->header_bytes > REQUEST_HEADERS_BYTES_MAX;
    if (!events->is_bad)
        block(events, headers, request->header_bytes);
    uint32_t texts = 0;
    for (uint32_t i = 0; i < request->header_bytes && !events->is_bad; i++)
        texts += headers[i] == '\0';
    /* each name has a value */
    events->is_bad |= texts % 2 != 0 || (request->header_bytes && headers[request->header_bytes - 1]);
}

static void exchange_request(struct recording_events *events, struct engine_event *engine)
{
    struct engine_request *request = &engine->request;
    uint64_t state = strlen(request->trace_state);
    number(events, &request->number);
    block(events, request->context, sizeof request->context);
    NUMBER(events, request->flags);
    number(events, &request->arrived_ns);
    NUMBER(events, request->prompt_tokens);
    NUMBER(events, request->cached_tokens);
    block(events, request->id, sizeof request->id);
    number(events, &state);
    events->is_bad |= state >= sizeof request->trace_state;
    if (!events->is_bad)
        block(events, request->trace_state, state);
    request->id[sizeof request->id - 1] = '\0';
    bool has_headers = !events->is_reading || events->at < events->end; /* not in older recordings */
    if (has_headers && !events->is_bad)
        exchange_headers(events, engine);
}

/* Returns an event of zeros with room for all parts, which the next one replaces; NULL: no memory. */
static struct engine_event *room_for_engine(struct recording_events *events)
{
    if (!events->engine)
        events->engine = malloc(sizeof *events->engine + ITERATION_PARTS_MAX * sizeof *events->engine->parts);
    if (events->engine)
        memset(events->engine, 0, sizeof *events->engine);
    else
        events->unallocated = "an iteration";
    return events->engine;
}

/* All numbers in full, as above. False: a type of a later version. */
static bool exchange_engine(struct recording_events *events, struct recording_event *event)
{
    struct step_boundary *step = record_of(events, event->step);
    struct engine_event *engine = events->is_reading ? room_for_engine(events) : step->event;
    if (!engine)
        return false;
    uint64_t type = engine->type;
    event->step = step;
    if (events->is_reading)
        *step = (struct step_boundary){.kind = STEP_NONE, .event = engine};
    number(events, &step->time);
    number(events, &type);
    if (type == ENGINE_ITERATION || type == ENGINE_SUMMARY)
        exchange_iteration(events, engine);
    else if (type == ENGINE_REQUEST)
        exchange_request(events, engine);
    else if (type == ENGINE_REQUEST_END) {
        number(events, &engine->end.number);
        NUMBER(events, engine->end.reason);
        NUMBER(events, engine->end.tokens);
        events->is_bad |= engine->end.reason > REQUEST_FAILED;
    } else {
        return false;
    }
    if (events->is_reading) {
        engine->type = (enum engine_event_type)type;
        engine->bytes = sizeof *engine;
        if ((type == ENGINE_ITERATION || type == ENGINE_SUMMARY) && !events->is_bad)
            engine->bytes += engine->iteration.part_count * sizeof *engine->parts;
        if (type == ENGINE_REQUEST && !events->is_bad)
            engine->bytes += engine->request.header_bytes;
    }
    return true;
}

/* --- activity records --- */

static void schema_init(struct format_schema *schema, uint16_t kind)
{
    const struct activity_info *info = &activity_table[kind];
    *schema = (struct format_schema){.is_known = true};
    for (unsigned f = 0; info->fields && f < info->field_count && f < ACTIVITY_FIELDS_MAX; f++) {
        const struct activity_field *field = &info->fields[f];
        if (field->type == FIELD_STRING)
            schema->strings |= 1ull << f;
        if (field->type == FIELD_BYTES && field->size > 0) {
            schema->bytes |= 1ull << f;
            schema->size[f] = field->size;
        }
        if (field->role != ROLE_NONE && (field->type == FIELD_STRING) == (field->role == ROLE_NAME))
            schema->role[field->role] = (uint8_t)(f + 1);
    }
}

/* Whether a field that repeats a member of the record has the member's type. */
static bool role_fits(const struct format_schema *schema, unsigned role)
{
    unsigned field = schema->role[role];
    if (field == 0)
        return true;
    return field <= ACTIVITY_FIELDS_MAX && !(schema->bytes >> (field - 1) & 1) &&
           (schema->strings >> (field - 1) & 1) == (role == ROLE_NAME);
}

static void exchange_schema(struct recording_events *events, const struct recording_event *event)
{
    struct format_schema schema = {.is_known = true}, ours;
    uint16_t kind = events->is_reading ? 0 : event->activity->kind;
    if (!events->is_reading)
        schema_init(&schema, kind);
    NUMBER(events, kind);
    number(events, &schema.strings);
    number(events, &schema.bytes);
    for (unsigned role = ROLE_NONE + 1; role < FORMAT_ROLES; role++) {
        NUMBER(events, schema.role[role]);
        events->is_bad |= !role_fits(&schema, role);
    }
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (schema.bytes >> f & 1)
            NUMBER(events, schema.size[f]);
    }
    events->is_bad |= kind >= ACTIVITY_KINDS_MAX || (schema.strings & schema.bytes) != 0;
    if (events->is_bad)
        return;
    schema_init(&ours, kind); /* another type could make a pointer of a number */
    schema.usable = ~(schema.strings ^ ours.strings) & ~(schema.bytes ^ ours.bytes);
    events->state.schemas[kind] = schema;
}

/* The record's member for a role, as a field has it. */
static uint64_t member(const struct activity_record *activity, enum activity_role role)
{
    const uint64_t members[FORMAT_ROLES] = {[ROLE_START] = activity->start_ns,
                                            [ROLE_END] = activity->end_ns,
                                            [ROLE_CORRELATION] = activity->correlation_id,
                                            [ROLE_DEVICE] = activity->device_id,
                                            [ROLE_CONTEXT] = activity->context_id,
                                            [ROLE_STREAM] = activity->stream_id,
                                            [ROLE_NAME] = (uint64_t)(uintptr_t)activity->name,
                                            [ROLE_GRAPH] = activity->graph_id,
                                            [ROLE_GRAPH_NODE] = activity->graph_node_id};
    return members[role];
}

static const char *field_string(const struct activity_record *activity, unsigned f)
{
    return (const char *)(uintptr_t)activity->values[f];
}

static bool strings_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The fields that repeat members of the record, and therefore are not stored. For the writer none if one of
 * them differs; for the reader they are set. */
static uint64_t implied_fields(const struct recording_events *events, const struct format_schema *schema,
                               struct activity_record *activity)
{
    uint64_t fields = 0;
    for (unsigned role = ROLE_NONE + 1; role < FORMAT_ROLES; role++) {
        unsigned f = schema->role[role] - 1u;
        if (schema->role[role] == 0 || !(activity->present >> f & 1))
            continue;
        if (events->is_reading)
            activity->values[f] = member(activity, role);
        else if (role == ROLE_NAME ? !strings_equal(field_string(activity, f), activity->name)
                                   : activity->values[f] != member(activity, role))
            return 0;
        fields |= 1ull << f;
    }
    return fields;
}

static void exchange_field(struct recording_events *events, const struct format_schema *schema,
                           struct activity_record *activity, const struct activity_record *before, unsigned f)
{
    static uint8_t zeros[UINT8_MAX];
    const char *string_value = field_string(activity, f);
    if (schema->strings >> f & 1) {
        string(events, &string_value);
        if (events->is_reading)
            activity->values[f] = (uint64_t)(uintptr_t)string_value;
    } else if (schema->bytes >> f & 1) {
        if (events->is_reading)
            activity->values[f] = (uint64_t)(uintptr_t)events->arrays[f];
        void *array = (void *)(uintptr_t)activity->values[f]; // NOLINT(performance-no-int-to-ptr)
        block(events, array ? array : zeros, schema->size[f]);
    } else {
        difference(events, &activity->values[f], before->values[f]);
    }
}

static void exchange_members(struct recording_events *events, struct activity_record *activity,
                             const struct activity_record *before)
{
    uint64_t changed = activity->present ^ before->present;
    number(events, &changed);
    if (events->is_reading)
        activity->present = changed ^ before->present;
    difference(events, &activity->start_ns, before->start_ns);
    difference(events, &activity->end_ns, activity->start_ns);
    difference(events, &activity->graph_node_id, before->graph_node_id);
    difference32(events, &activity->graph_id, before->graph_id);
    difference32(events, &activity->correlation_id, before->correlation_id);
    difference32(events, &activity->device_id, before->device_id);
    difference32(events, &activity->context_id, before->context_id);
    difference32(events, &activity->stream_id, before->stream_id);
    string(events, &activity->name);
}

/* The previous record of the kind. NULL: the kind has no schema, or there is no memory. */
static struct activity_record *previous_activity(struct recording_events *events, uint16_t kind)
{
    if (kind >= ACTIVITY_KINDS_MAX || !events->state.schemas[kind].is_known)
        return NULL;
    struct activity_record **activity = &events->state.activities[kind];
    if (!*activity)
        *activity = calloc(1, sizeof **activity);
    if (!*activity)
        events->unallocated = "a record";
    return *activity;
}

static void exchange_activity(struct recording_events *events, struct recording_event *event)
{
    struct activity_record *activity = record_of(events, event->activity);
    const struct format_schema *schemas = events->state.schemas;
    uint64_t implied = events->is_reading ? 0 : implied_fields(events, &schemas[activity->kind], activity);
    uint64_t has_implied = implied != 0;
    event->activity = activity;
    if (events->is_reading)
        memset(activity->values, 0, sizeof activity->values);
    NUMBER(events, activity->kind);
    number(events, &has_implied);
    struct activity_record *before = previous_activity(events, activity->kind);
    if (!before) {
        events->is_bad = true;
        return;
    }
    const struct format_schema *schema = &schemas[activity->kind];
    exchange_members(events, activity, before);
    if (events->is_reading && has_implied & 1)
        implied = implied_fields(events, schema, activity);
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX && !events->is_bad; f++) {
        if (activity->present >> f & 1 & ~(implied >> f))
            exchange_field(events, schema, activity, before, f);
    }
    *before = *activity;
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (!(activity->present >> f & 1))
            before->values[f] = 0; /* as the reader has it */
    }
    if (events->is_reading)
        activity->present &= schema->usable;
}

/* --- events --- */

static size_t string_bytes_max(const char *text)
{
    return 2 * FORMAT_VARINT_BYTES_MAX + string_length(text);
}

static size_t activity_bytes_max(const struct format_schema *schema, const struct activity_record *activity)
{
    size_t bytes = 16 * FORMAT_VARINT_BYTES_MAX + string_bytes_max(activity->name);
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX; f++) {
        if (!(activity->present >> f & 1))
            continue;
        if (schema->strings >> f & 1)
            bytes += string_bytes_max(field_string(activity, f));
        else
            bytes += FORMAT_VARINT_BYTES_MAX + schema->size[f];
    }
    return bytes;
}

static bool annotation_is_valid(const struct record_head *annotation)
{
    const struct context_record *context = (const struct context_record *)annotation;
    const struct range_record *range = (const struct range_record *)annotation;
    const struct name_record *name = (const struct name_record *)annotation;
    if (annotation->bytes > FORMAT_ANNOTATION_BYTES_MAX || annotation->bytes % 8)
        return false;
    switch (annotation->type) {
    case RECORD_CONTEXT:
        return annotation->bytes >= sizeof *context &&
               context->state_bytes <= annotation->bytes - sizeof *context;
    case RECORD_RANGE_BEGIN:
    case RECORD_RANGE_END:
    case RECORD_MARK:
        return annotation->bytes >= sizeof *range && range->text_bytes <= annotation->bytes - sizeof *range &&
               range->name_bytes <= range->text_bytes;
    case RECORD_NAME:
        return annotation->bytes >= sizeof *name && name->name_bytes <= annotation->bytes - sizeof *name;
    default:
        return false;
    }
}

static bool code_is_valid(const struct code_record *code)
{
    struct code_frame frame;
    uint32_t at = sizeof *code, bytes = code->head.bytes;
    bool is_described = code->flags & CODE_IS_DESCRIBED;
    if (bytes < at || bytes > CODE_RECORD_BYTES_MAX || code->frame_count > CODE_FRAMES_MAX ||
        code->flags & (CODE_IS_NATIVE | CODE_HAS_CALLER)) /* addresses mean nothing in another process */
        return false;
    for (uint32_t i = 0; is_described && i < code->frame_count; i++) {
        if (bytes - at < sizeof frame)
            return false;
        memcpy(&frame, (const uint8_t *)code + at, sizeof frame);
        at += (uint32_t)sizeof frame;
        if (bytes - at < (uint32_t)frame.file_bytes + frame.name_bytes)
            return false;
        at += (uint32_t)frame.file_bytes + frame.name_bytes;
    }
    return true;
}

bool recording_events_can_store(const struct recording_events *events, const struct recording_event *event,
                                size_t room)
{
    const struct call_record *call = event->call;
    const struct activity_record *activity = event->activity;
    switch (event->type) {
    case RECORDING_CALL:
        return call->head.bytes >= sizeof *call &&
               call->head.bytes - sizeof *call <= CALL_VALUES_MAX * sizeof *call->values &&
               is_call(call->head.domain, call->head.cbid);
    case RECORDING_ANNOTATION:
        return annotation_is_valid(event->annotation);
    case RECORDING_GPU_COUNTERS:
        return event->gpu_counters->count <= GPU_COUNTERS_MAX;
    case RECORDING_CODE:
        return code_is_valid(event->code);
    case RECORDING_ENGINE:
        return event->step->event->type != ENGINE_ITERATION ||
               event->step->event->iteration.part_count <= ITERATION_PARTS_MAX;
    case RECORDING_ACTIVITY:
        return activity->kind < ACTIVITY_KINDS_MAX &&
               activity_bytes_max(&events->state.schemas[activity->kind], activity) <= room;
    default:
        return true;
    }
}

bool recording_events_exchange(struct recording_events *events, struct recording_event *event)
{
    switch ((unsigned)event->type) {
    case RECORDING_INFO:
        text(events, &event->name);
        text(events, &event->text);
        return true;
    case RECORDING_LOSS:
        text(events, &event->name);
        number(events, &event->count);
        return true;
    case RECORDING_THREAD:
    case RECORDING_THREAD_END:
        number(events, &event->tid);
        number(events, &event->time_ns);
        if (event->type == RECORDING_THREAD)
            text(events, &event->name);
        return true;
    case RECORDING_CALL:
        exchange_call(events, event);
        return true;
    case RECORDING_RESOURCE:
        exchange_resource(events, event);
        return true;
    case RECORDING_ANNOTATION:
        exchange_annotation(events, event);
        events->is_bad |= !annotation_is_valid(event->annotation);
        return true;
    case RECORDING_ACTIVITY:
        exchange_activity(events, event);
        return true;
    case RECORDING_GPU_COUNTERS:
        exchange_gpu_counters(events, event);
        return true;
    case RECORDING_CODE:
        exchange_code(events, event);
        events->is_bad |= !code_is_valid(event->code);
        return true;
    case RECORDING_STEP:
        return exchange_step(events, event);
    case RECORDING_ENGINE:
        return exchange_engine(events, event);
    case FORMAT_SCHEMA:
        exchange_schema(events, event);
        return false;
    default:
        return false; /* from a later minor version */
    }
}

void recording_events_deinit(struct recording_events *events)
{
    struct format_state *state = &events->state;
    while (events->loose) {
        struct loose_string *next = events->loose->next;
        free(events->loose);
        events->loose = next;
    }
    for (size_t i = 0; i < ACTIVITY_KINDS_MAX; i++)
        free(state->activities[i]);
    for (size_t domain = 0; domain < 2; domain++) {
        for (size_t i = 0; i < FORMAT_CBIDS_MAX; i++)
            free(state->calls[domain][i]);
    }
    free(events->engine);
    recording_strings_deinit(&events->strings);
}
