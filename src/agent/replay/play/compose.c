#include "agent/replay/play/compose.h"

#include "agent/abi/layouts.h"
#include "model/cuda/activities.h"

#include "agent/replay/state/faults.h"
#include "agent/replay/play/replay_modules.h"
#include "agent/replay/state/replay_state.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t alignment_of(size_t size)
{
    if (size == 1 || size == 2 || size == 4 || size == 8)
        return size;
    return size % 4 == 0 ? 4 : 1;
}

static size_t round_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

static void add_entry(struct composition *composition, unsigned field, size_t offset, size_t size)
{
    composition->entries[composition->layout.numFields++] = (struct cupti_field_layout){
        sizeof(struct cupti_field_layout), (int)field, offset, size, alignment_of(size)};
}

static void begin(struct composition *composition)
{
    memset(composition, 0, sizeof *composition);
    composition->layout.structSize = sizeof composition->layout;
    composition->layout.pEntries = composition->entries;
}

bool compose_classic(struct composition *composition, uint32_t version, uint32_t kind)
{
    const struct activity_layout *layout =
        kind < ACTIVITY_KINDS_MAX ? layout_classic(version, (uint16_t)kind) : NULL;
    if (!layout || layout->bytes == 0)
        return false;
    begin(composition);
    for (unsigned f = 0; f < ACTIVITY_FIELDS_MAX && f < activity_table[kind].field_count; f++) {
        if (layout->fields[f].offset >= 0)
            add_entry(composition, f, (size_t)layout->fields[f].offset, layout->fields[f].size);
    }
    composition->layout.recordSize = layout->bytes;
    return true;
}

/* Size in a user-defined record, which can exceed that in the classic struct. 0: no such field. */
static size_t field_size(uint32_t kind, int field)
{
    return field >= 0 && field < activity_table[kind].field_count ? activity_table[kind].fields[field].size
                                                                  : 0;
}

bool compose_selected(struct composition *composition, uint32_t kind,
                      const struct cupti_field_selection *selection)
{
    uint64_t seen = 0;
    size_t offset = 0;
    if (kind >= ACTIVITY_KINDS_MAX || selection->structSize == 0 || selection->numFields == 0 ||
        selection->numFields > ACTIVITY_FIELDS_MAX || !selection->pFieldIds || selection->pFieldIds[0] != 0)
        return false;
    begin(composition);
    for (size_t i = 0; i < selection->numFields; i++) {
        int field = selection->pFieldIds[i];
        size_t size = field_size(kind, field);
        if (size == 0 || seen >> field & 1)
            return false;
        seen |= 1ull << field;
        offset = round_up(offset, alignment_of(size));
        add_entry(composition, (unsigned)field, offset, size);
        offset += size;
    }
    composition->layout.recordSize = round_up(offset, CUPTI_RECORD_ALIGNMENT);
    return true;
}

static bool is_time(uint64_t value)
{
    return value >= replay.timeline.first_ns && value <= replay.timeline.last_ns;
}

#define NAMES_BYTES (64 * 1024 * 1024) /* capacity for synthetic names before the first is overwritten */

/* A new mangled name: a function name of this length that ends in a number. */
static const char *unique_name(uint64_t bytes)
{
    static char *names;
    static _Atomic uint64_t made;
    char digits[24], prefix[24];
    uint64_t room = round_up(bytes + sizeof digits + sizeof prefix, 8), number = atomic_fetch_add(&made, 1);
    if (!names) /* only one thread composes at a time */
        names = calloc(1, NAMES_BYTES);
    if (!names || room > NAMES_BYTES)
        return "";
    char *name = names + number % (NAMES_BYTES / room) * room, *end;
    int tail = snprintf(digits, sizeof digits, "%016llx", (unsigned long long)number);
    uint64_t letters = bytes > (uint64_t)tail ? bytes - (uint64_t)tail : 1;
    end = name + sprintf(name, "_Z%llu", (unsigned long long)letters + (unsigned)tail);
    memset(end, 'k', letters);
    sprintf(end + letters, "%si", digits);
    return name;
}

static uint64_t stream_of(const struct activity_record *record)
{
    static _Atomic uint64_t works;
    uint64_t streams = fault(FAULT_STREAMS);
    return streams && record->correlation_id ? 100 + atomic_fetch_add(&works, 1) % streams
                                             : record->stream_id;
}

/* Recorded IDs are lower, so no call has such an ID. */
static uint64_t correlation_of(const struct activity_record *record)
{
    static _Atomic uint64_t works;
    uint64_t every = fault(FAULT_NO_CALL);
    bool is_lost = every && record->correlation_id && atomic_fetch_add(&works, 1) % every == 0;
    return replay_correlation(record->correlation_id) | (is_lost ? 1u << 31 : 0);
}

/* The field's value in this repetition. */
static uint64_t field_value(const struct activity_record *record, const struct activity_field *field,
                            unsigned f)
{
    bool is_present = record->present >> f & 1;
    switch (field->role) {
    case ROLE_START:
        return replay_time(record->start_ns);
    case ROLE_END:
        return replay_time(record->end_ns);
    case ROLE_CORRELATION:
        return correlation_of(record);
    case ROLE_DEVICE:
        return record->device_id;
    case ROLE_CONTEXT:
        return record->context_id;
    case ROLE_STREAM:
        return stream_of(record);
    case ROLE_NAME:
        if (record->kind == ACTIVITY_KERNEL && fault(FAULT_UNIQUE_NAMES))
            return (uint64_t)(uintptr_t)unique_name(fault(FAULT_UNIQUE_NAMES));
        return (uint64_t)(uintptr_t)replay_modules_name(record);
    case ROLE_GRAPH:
        return record->graph_id;
    case ROLE_GRAPH_NODE:
        return record->graph_node_id;
    default:
        break;
    }
    uint64_t value = is_present ? record->values[f] : 0;
    return field->type == FIELD_UINT && is_time(value) ? replay_time(value) : value;
}

static void put_number(uint8_t *to, size_t size, const struct activity_field *field, uint64_t value)
{
    if (field->type == FIELD_DOUBLE && size == sizeof(float)) {
        double wide;
        memcpy(&wide, &value, sizeof wide);
        float single = (float)wide;
        memcpy(to, &single, sizeof single);
    } else if (size <= sizeof value) {
        memcpy(to, &value, size);
    }
}

void compose_record(const struct composition *composition, const struct activity_record *record, uint8_t *to)
{
    for (size_t i = 0; i < composition->layout.numFields; i++) {
        const struct cupti_field_layout *entry = &composition->entries[i];
        unsigned f = (unsigned)entry->fieldId;
        const struct activity_field *field = &activity_table[record->kind].fields[f];
        if (field->type != FIELD_BYTES)
            put_number(to + entry->offset, entry->size, field, field_value(record, field, f));
        else if (record->present >> f & 1 && entry->size <= UINT8_MAX)
            memcpy(to + entry->offset, (const void *)(uintptr_t)record->values[f], entry->size);
    }
    uint32_t kind = record->kind;
    memcpy(to, &kind, sizeof kind);
}
