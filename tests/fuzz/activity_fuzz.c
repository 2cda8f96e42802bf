/* Activity buffers: arbitrary bytes as classic records of each CUPTI version, and as user-defined records
 * with arbitrary layouts. Every record lies inside its buffer, byte fields included; records that do not fit
 * are counted; the iteration ends.
 *
 * The first byte's lowest bit selects the kind of records. The version or the layouts follow, and then the
 * buffer. The decoder's source is included here, because it learns a layout once per process and must forget
 * it again. */
// NOLINTNEXTLINE(bugprone-suspicious-include)
#include "agent/capture/activity/decode.c"

#include "fuzz.h"

#define LAYOUTS_MAX 4

static const uint8_t *buffer, *buffer_end;
static size_t records_seen;
static volatile uint64_t sink;

static void look_at(void *context, const struct activity_record *record)
{
    const struct activity_info *info = &activity_table[record->kind];
    records_seen++;
    require(record->kind > 0 && record->kind < ACTIVITY_KINDS_MAX && info->name, "an unknown kind");
    for (unsigned f = 0; f < info->field_count; f++) {
        if (!(record->present >> f & 1))
            continue;
        sink += record->values[f];
        if (info->fields[f].type != FIELD_BYTES)
            continue;
        const uint8_t *at = (const uint8_t *)(uintptr_t)record->values[f];
        require(at >= buffer && info->fields[f].size <= buffer_end - at,
                "a field's bytes lie outside of the buffer");
        sink += at[0] + at[info->fields[f].size - 1];
    }
}

/* Like CUPTI, by the size of the record's kind. For an unknown kind, the input gives the size. */
static uint32_t version, odd_step;

static uint32_t next_record(uint8_t *data, size_t valid, struct cupti_activity **next)
{
    size_t at = 0;
    if (*next) {
        uint32_t kind;
        at = (size_t)((uint8_t *)*next - data);
        memcpy(&kind, data + at, sizeof kind);
        const struct activity_layout *layout =
            kind < ACTIVITY_KINDS_MAX ? layout_classic(version, (uint16_t)kind) : NULL;
        at += layout && layout->bytes ? layout->bytes : odd_step;
    }
    if (at >= valid)
        return CUPTI_MAX_LIMIT_REACHED;
    if (valid - at >= sizeof(uint32_t) && data[at + 3] & 0x80)
        return CUPTI_INVALID_KIND; /* not finished */
    *next = (struct cupti_activity *)(data + at);
    return valid - at < sizeof(uint32_t) ? CUPTI_INVALID_KIND : CUPTI_OK;
}

static void forget(void)
{
    memset(programs, 0, sizeof programs);
    for (size_t i = 0; i < ACTIVITY_KINDS_MAX; i++)
        atomic_store(&is_ready[i], false);
    is_classic = false;
    records_seen = 0;
}

static void begin_classic(struct fuzz_bytes *from)
{
    static const uint32_t versions[] = {18, 22, 28, 130000, 130200, 130500, 999999};
    uint64_t fields[ACTIVITY_KINDS_MAX];
    version = versions[fuzz_number(from, 1) % (sizeof versions / sizeof *versions)];
    odd_step = 8 + (uint32_t)fuzz_number(from, 1);
    uint64_t wanted = fuzz_number(from, 1) ? UINT64_MAX : fuzz_number(from, 8);
    for (size_t i = 0; i < ACTIVITY_KINDS_MAX; i++)
        fields[i] = wanted;
    decode_init_classic(version, fields);
}

static void begin_user_defined(struct fuzz_bytes *from)
{
    struct cupti_record_layout *by_kind[ACTIVITY_KINDS_MAX + 1] = {NULL};
    struct cupti_record_layout layouts[LAYOUTS_MAX];
    struct cupti_field_layout entries[LAYOUTS_MAX][ACTIVITY_FIELDS_MAX + 2];
    size_t count = 1 + fuzz_number(from, 1) % LAYOUTS_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t kind = fuzz_number(from, 1) % (ACTIVITY_KINDS_MAX + 1);
        layouts[i] =
            (struct cupti_record_layout){.structSize = sizeof layouts[i],
                                         .pEntries = entries[i],
                                         .numFields = fuzz_number(from, 1) % (ACTIVITY_FIELDS_MAX + 3),
                                         .recordSize = fuzz_number(from, 2)};
        bool is_wild = fuzz_number(from, 1) & 1;
        for (size_t f = 0; f < layouts[i].numFields; f++)
            entries[i][f] = (struct cupti_field_layout){.fieldId = (int)(int8_t)fuzz_number(from, 1),
                                                        .offset = fuzz_number(from, is_wild ? 8 : 1),
                                                        .size = fuzz_number(from, is_wild ? 8 : 1)};
        by_kind[kind] = &layouts[i];
    }
    decode_learn_layouts(by_kind, ACTIVITY_KINDS_MAX + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes from = {data, data + size};
    struct cupti cupti = {.cuptiActivityGetNextRecord = next_record};
    forget();
    counters_reset();
    log_set_level(LOG_ERROR);
    if (fuzz_number(&from, 1) & 1)
        begin_classic(&from);
    else
        begin_user_defined(&from);
    size_t bytes = (size_t)(from.end - from.at);
    uint8_t *copy = malloc(bytes ? bytes : 1); /* aligned like CUPTI's buffers, and of exactly this size */
    require(copy != NULL, "no memory");
    memcpy(copy, from.at, bytes);
    buffer = copy;
    buffer_end = copy + bytes;
    require(decode_buffer(&cupti, copy, bytes, look_at, NULL) == records_seen, "records are counted wrongly");
    require(records_seen * sizeof(uint32_t) <= bytes, "more records than there are bytes for");
    free(copy);
    return 0;
}
