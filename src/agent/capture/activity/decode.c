#include "agent/capture/activity/decode.h"

#include "base/accounting/counters.h"
#include "base/log/log.h"
#include "agent/abi/layouts.h"
#include "model/cuda/activities.h"

#include <stdatomic.h>
#include <string.h>

/* The ways to read a field. Values are dense, for the switch in extract(), and those of numbers are in the
 * order of their sizes. */
enum extract {
    EXTRACT_1,
    EXTRACT_2,
    EXTRACT_4,
    EXTRACT_8,
    EXTRACT_SIGNED_1,
    EXTRACT_SIGNED_2,
    EXTRACT_SIGNED_4,
    EXTRACT_FLOAT,
    EXTRACT_ADDRESS
};

struct instruction {
    uint16_t offset;
    uint8_t field;
    uint8_t extract; /* enum extract */
};

const char *(*decode_name)(const struct activity_record *record);

struct program {
    uint32_t record_bytes;
    uint32_t instruction_count;
    uint64_t present;
    /* Fields with a fixed place in the record; -1: the kind has no such field. */
    int8_t places[ROLE_GRAPH_NODE + 1]; /* by role */
    struct instruction instructions[ACTIVITY_FIELDS_MAX];
};

static struct program programs[ACTIVITY_KINDS_MAX];
/* Programs for classic records are complete before the subscription. Learned ones are published one at a
 * time. */
static _Atomic bool is_ready[ACTIVITY_KINDS_MAX];
static bool is_classic;

static bool is_number_size(size_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static uint8_t choose_extract(const struct activity_field *field, uint8_t size)
{
    bool is_signed = field->type == FIELD_INT || field->type == FIELD_ENUM;
    if (field->type == FIELD_BYTES || !is_number_size(size))
        return EXTRACT_ADDRESS;
    if (field->type == FIELD_DOUBLE && size == sizeof(float))
        return EXTRACT_FLOAT;
    return (uint8_t)((is_signed && size < 8 ? EXTRACT_SIGNED_1 : EXTRACT_1) + __builtin_ctz(size));
}

static void program_begin(struct program *program)
{
    memset(program, 0, sizeof *program);
    memset(program->places, -1, sizeof program->places);
}

static void program_add(struct program *program, uint16_t kind, uint8_t id, uint16_t offset, uint8_t size)
{
    const struct activity_field *field = &activity_table[kind].fields[id];
    program->instructions[program->instruction_count++] =
        (struct instruction){offset, id, choose_extract(field, size)};
    program->present |= 1ull << id;
    program->places[field->role] = (int8_t)id;
}

void decode_init_classic(uint32_t cupti_version, const uint64_t fields[ACTIVITY_KINDS_MAX])
{
    is_classic = true;
    for (uint16_t kind = 1; kind < ACTIVITY_KINDS_MAX; kind++) {
        const struct activity_layout *layout = layout_classic(cupti_version, kind);
        if (!layout || !layout->bytes || !activity_table[kind].name)
            continue;
        struct program *program = &programs[kind];
        program_begin(program);
        program->record_bytes = layout->bytes;
        for (uint8_t id = 0; id < activity_table[kind].field_count; id++)
            if (fields[kind] >> id & 1 && layout->fields[id].offset >= 0)
                program_add(program, kind, id, (uint16_t)layout->fields[id].offset, layout->fields[id].size);
        atomic_store_explicit(&is_ready[kind], true, memory_order_release);
    }
}

/* Whether a layout's field lies inside the record and has a possible size. */
static bool is_sound(const struct activity_field *field, const struct cupti_field_layout *entry,
                     size_t record_bytes)
{
    bool lies_inside = record_bytes <= UINT16_MAX && entry->offset <= record_bytes &&
                       entry->size <= record_bytes - entry->offset;
    switch ((enum activity_type)field->type) {
    case FIELD_BYTES:
        return lies_inside && entry->size >= field->size;
    case FIELD_STRING:
        return lies_inside && entry->size == sizeof(char *);
    case FIELD_DOUBLE:
        return lies_inside && (entry->size == sizeof(float) || entry->size == sizeof(double));
    default:
        return lies_inside && is_number_size(entry->size);
    }
}

static void learn(uint16_t kind, const struct cupti_record_layout *layout)
{
    struct program *program = &programs[kind];
    program_begin(program);
    program->record_bytes = (uint32_t)layout->recordSize;
    for (size_t i = 0; i < layout->numFields && program->instruction_count < ACTIVITY_FIELDS_MAX; i++) {
        const struct cupti_field_layout *entry = &layout->pEntries[i];
        if (entry->fieldId >= 0 && entry->fieldId < activity_table[kind].field_count &&
            is_sound(&activity_table[kind].fields[entry->fieldId], entry, layout->recordSize))
            program_add(program, kind, (uint8_t)entry->fieldId, (uint16_t)entry->offset,
                        (uint8_t)entry->size);
    }
    atomic_store_explicit(&is_ready[kind], true, memory_order_release);
}

void decode_learn_layouts(struct cupti_record_layout *const *layouts, size_t count)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT; /* buffers may complete on several threads at the same time */
    bool news = false;
    for (size_t kind = 1; kind < count && kind < ACTIVITY_KINDS_MAX && !news; kind++)
        news = layouts[kind] && activity_table[kind].name &&
               !atomic_load_explicit(&is_ready[kind], memory_order_acquire);
    if (!news)
        return;
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
    }
    for (size_t kind = 1; kind < count && kind < ACTIVITY_KINDS_MAX; kind++)
        if (layouts[kind] && activity_table[kind].name &&
            !atomic_load_explicit(&is_ready[kind], memory_order_acquire))
            learn((uint16_t)kind, layouts[kind]);
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

static uint64_t extract(const uint8_t *at, uint8_t how)
{
    uint32_t word;
    uint16_t half;
    switch (how) {
    case EXTRACT_1:
        return *at;
    case EXTRACT_2:
        memcpy(&half, at, 2);
        return half;
    case EXTRACT_4:
        memcpy(&word, at, 4);
        return word;
    case EXTRACT_SIGNED_1:
        return (uint64_t)(int64_t)(int8_t)*at;
    case EXTRACT_SIGNED_2:
        memcpy(&half, at, 2);
        return (uint64_t)(int64_t)(int16_t)half;
    case EXTRACT_SIGNED_4:
        memcpy(&word, at, 4);
        return (uint64_t)(int64_t)(int32_t)word;
    case EXTRACT_FLOAT: {
        float real;
        memcpy(&real, at, 4);
        double wide = (double)real;
        uint64_t bits;
        memcpy(&bits, &wide, 8);
        return bits;
    }
    case EXTRACT_ADDRESS:
        return (uint64_t)(uintptr_t)at;
    default: {
        uint64_t value;
        memcpy(&value, at, 8);
        return value;
    }
    }
}

static uint64_t value_of(const struct activity_record *record, const struct program *program,
                         enum activity_role role, uint64_t otherwise)
{
    int8_t field = program->places[role];
    return field >= 0 ? record->values[field] : otherwise;
}

static void run(const struct program *program, uint16_t kind, const uint8_t *data,
                struct activity_record *record)
{
    for (uint32_t i = 0; i < program->instruction_count; i++) {
        const struct instruction *instruction = &program->instructions[i];
        record->values[instruction->field] = extract(data + instruction->offset, instruction->extract);
    }
    record->kind = kind;
    record->present = program->present;
    record->start_ns = value_of(record, program, ROLE_START, 0);
    record->end_ns = value_of(record, program, ROLE_END, record->start_ns);
    record->correlation_id = (uint32_t)value_of(record, program, ROLE_CORRELATION, 0);
    record->device_id = (uint32_t)value_of(record, program, ROLE_DEVICE, UINT32_MAX);
    record->context_id = (uint32_t)value_of(record, program, ROLE_CONTEXT, 0);
    record->stream_id = (uint32_t)value_of(record, program, ROLE_STREAM, 0);
    record->name = (const char *)(uintptr_t)value_of(record, program, ROLE_NAME, 0);
    record->graph_id = (uint32_t)value_of(record, program, ROLE_GRAPH, 0);
    record->graph_node_id = value_of(record, program, ROLE_GRAPH_NODE, 0);
}

static const struct program *program_at(const uint8_t *data, size_t rest, uint16_t *kind)
{
    uint32_t found;
    if (rest < sizeof found)
        return NULL;
    memcpy(&found, data, sizeof found);
    if (found == 0 || found >= ACTIVITY_KINDS_MAX ||
        !atomic_load_explicit(&is_ready[found], memory_order_acquire))
        return NULL;
    *kind = (uint16_t)found;
    return programs[found].record_bytes <= rest ? &programs[found] : NULL;
}

/* Set in the kind of a record that CUPTI 13.5 delivers although the work has not ended, probably because the
 * kind was disabled meanwhile. The record's times are zero and never filled later. CUPTI refuses to step over
 * it. */
#define UNFINISHED 0x80000000u

static bool accept_unfinished(uint8_t *data, size_t at, size_t valid)
{
    uint32_t kind = 0;
    if (at < valid && valid - at >= sizeof kind)
        memcpy(&kind, data + at, sizeof kind);
    bool is_unfinished = kind & UNFINISHED;
    kind &= ~UNFINISHED;
    if (is_unfinished)
        memcpy(data + at, &kind, sizeof kind);
    return is_unfinished;
}

static void count_malformed(const uint8_t *data, size_t at, size_t valid)
{
    uint32_t kind = 0;
    counter_add(COUNTER_lost_malformed, 1);
    if (valid - at >= sizeof kind)
        memcpy(&kind, data + at, sizeof kind);
    log_once(log_warn,
             "unknown data in a CUPTI activity buffer (kind %u at byte %zu of %zu); the rest of the "
             "buffer is lost; use a CUPTI version that `cuspan version` lists",
             kind, at, valid);
}

/* Visits user-defined records, which are contiguous, with the sizes of their layouts. */
static size_t walk_packed(uint8_t *data, size_t valid, decode_visit *visit, void *context,
                          struct activity_record *record)
{
    size_t count = 0, at = 0;
    while (at < valid) {
        uint16_t kind;
        accept_unfinished(data, at, valid);
        const struct program *program = program_at(data + at, valid - at, &kind);
        if (!program || !program->record_bytes) {
            count_malformed(data, at, valid);
            break;
        }
        run(program, kind, data + at, record);
        visit(context, record);
        at += program->record_bytes;
        count++;
    }
    return count;
}

/* Steps to the next classic record, with a second attempt if the record at `end`, where the one before ends,
 * is unfinished. */
static uint32_t next_classic(const struct cupti *cupti, uint8_t *data, size_t valid, size_t end,
                             struct cupti_activity **next)
{
    struct cupti_activity *before = *next;
    uint32_t result = cupti->cuptiActivityGetNextRecord(data, valid, next);
    if (result == CUPTI_OK || !accept_unfinished(data, end, valid))
        return result;
    *next = before;
    return cupti->cuptiActivityGetNextRecord(data, valid, next);
}

/* Visits classic records. CUPTI itself steps through them, so that records of a newer version than our tables
 * are still read correctly. */
static size_t walk_classic(const struct cupti *cupti, uint8_t *data, size_t valid, decode_visit *visit,
                           void *context, struct activity_record *record)
{
    struct cupti_activity *next = NULL;
    size_t count = 0, end = 0; /* end of the record before, if its size is known */
    uint32_t result;
    while ((result = next_classic(cupti, data, valid, end, &next)) == CUPTI_OK) {
        const uint8_t *at = (const uint8_t *)next;
        uint16_t kind = 0;
        const struct program *program = program_at(at, valid - (size_t)(at - data), &kind);
        if (!program && kind)
            count_malformed(data, (size_t)(at - data), valid);
        end = program ? (size_t)(at - data) + program->record_bytes : valid;
        if (!program)
            continue; /* a kind that was not requested */
        run(program, kind, at, record);
        visit(context, record);
        count++;
    }
    if (result != CUPTI_MAX_LIMIT_REACHED) /* MAX_LIMIT_REACHED is the normal end; anything else means that
                                              CUPTI cannot read on */
        count_malformed(data, next ? (size_t)((const uint8_t *)next - data) : 0, valid);
    return count;
}

static struct activity_record record; /* static: single consumer, and too large for a small stack */

struct naming {
    decode_visit *visit;
    void *context;
};

static void visit_named(void *context, const struct activity_record *unnamed)
{
    const struct naming *naming = context;
    if (unnamed->kind == ACTIVITY_KERNEL && unnamed->name) {
        record.name = decode_name(unnamed);
        record.values[programs[record.kind].places[ROLE_NAME]] = (uint64_t)(uintptr_t)record.name;
    }
    naming->visit(naming->context, &record);
}

size_t decode_buffer(const struct cupti *cupti, uint8_t *data, size_t valid, decode_visit *visit,
                     void *context)
{
    struct naming naming = {visit, context};
    if (decode_name) {
        visit = visit_named;
        context = &naming;
    }
    if (is_classic)
        return walk_classic(cupti, data, valid, visit, context, &record);
    return walk_packed(data, valid, visit, context, &record);
}
