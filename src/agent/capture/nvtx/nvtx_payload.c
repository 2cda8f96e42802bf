#include "agent/capture/nvtx/nvtx_payload.h"

#include "base/limits.h"
#include "base/log/log.h"
#include "agent/capture/nvtx/nvtx_names.h"
#include "model/span.h"
#include "model/semconv.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN      SIZE_MAX     /* an unknown offset or size */
#define SIZE_BOUND   (1ull << 32) /* no payload is larger, so sums and products cannot overflow */
#define PAYLOAD_KEY  SEMCONV_NVTX_PAYLOAD
#define PAYLOADS_MAX 64 /* per event */

enum value_kind { CLASS_NONE, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_REAL, CLASS_HANDLE, CLASS_TEXT };

struct value_type {
    uint8_t bytes; /* 0: unknown */
    uint8_t kind;
};

struct entry {
    char key[sizeof "nvtx.payload." + NVTX_ENTRY_NAME_BYTES]; /* the attribute's key */
    uint32_t key_bytes;
    size_t offset; /* UNKNOWN: follows an entry of unknown size */
    size_t bytes;  /* size, or UNKNOWN */
    struct value_type type;
    bool is_value; /* a single number or text, which becomes an attribute */
    bool is_pointer, is_message, is_hidden;
    uint8_t nccl;    /* enum nccl_value */
    size_t text_max; /* maximum bytes of a text */
};

struct schema {
    atomic_bool is_ready;
    uint32_t domain;
    uint32_t entry_count, entries_beyond;
    uint64_t id;
    size_t bytes;                 /* size of a payload, or UNKNOWN */
    struct value_type enumerated; /* only of an enum: the type of its values */
    struct entry entries[NVTX_ENTRIES_MAX];
};

static struct schema schemas[NVTX_SCHEMAS_MAX];
static _Atomic uint32_t schemas_used;

static struct value_type type_of(uint64_t type)
{
    static const struct value_type types[] = {
        [NVTX_ENTRY_CHAR] = {1, CLASS_SIGNED},
        [NVTX_ENTRY_UCHAR] = {1, CLASS_UNSIGNED},
        [NVTX_ENTRY_SHORT] = {sizeof(short), CLASS_SIGNED},
        [NVTX_ENTRY_USHORT] = {sizeof(short), CLASS_UNSIGNED},
        [NVTX_ENTRY_INT] = {sizeof(int), CLASS_SIGNED},
        [NVTX_ENTRY_UINT] = {sizeof(int), CLASS_UNSIGNED},
        [NVTX_ENTRY_LONG] = {sizeof(long), CLASS_SIGNED},
        [NVTX_ENTRY_ULONG] = {sizeof(long), CLASS_UNSIGNED},
        [NVTX_ENTRY_LONGLONG] = {8, CLASS_SIGNED},
        [NVTX_ENTRY_ULONGLONG] = {8, CLASS_UNSIGNED},
        [NVTX_ENTRY_INT8] = {1, CLASS_SIGNED},
        [NVTX_ENTRY_UINT8] = {1, CLASS_UNSIGNED},
        [NVTX_ENTRY_INT16] = {2, CLASS_SIGNED},
        [NVTX_ENTRY_UINT16] = {2, CLASS_UNSIGNED},
        [NVTX_ENTRY_INT32] = {4, CLASS_SIGNED},
        [NVTX_ENTRY_UINT32] = {4, CLASS_UNSIGNED},
        [NVTX_ENTRY_INT64] = {8, CLASS_SIGNED},
        [NVTX_ENTRY_UINT64] = {8, CLASS_UNSIGNED},
        [NVTX_ENTRY_FLOAT] = {4, CLASS_REAL},
        [NVTX_ENTRY_DOUBLE] = {8, CLASS_REAL},
        [NVTX_ENTRY_SIZE] = {sizeof(size_t), CLASS_UNSIGNED},
        [NVTX_ENTRY_ADDRESS] = {sizeof(void *), CLASS_NONE},
        [NVTX_ENTRY_BYTE] = {1, CLASS_UNSIGNED},
        [NVTX_ENTRY_FLOAT32] = {4, CLASS_REAL},
        [NVTX_ENTRY_FLOAT64] = {8, CLASS_REAL},
        [NVTX_ENTRY_CATEGORY] = {4, CLASS_UNSIGNED},
        [NVTX_ENTRY_CSTRING] = {1, CLASS_TEXT},
        [NVTX_ENTRY_CSTRING_UTF8] = {1, CLASS_TEXT},
        [NVTX_ENTRY_STRING_HANDLE] = {sizeof(void *), CLASS_HANDLE},
    };
    return type < sizeof types / sizeof *types ? types[type] : (struct value_type){0, CLASS_NONE};
}

static const struct schema *find(uint32_t domain, uint64_t id)
{
    uint32_t used = atomic_load_explicit(&schemas_used, memory_order_relaxed);
    if (id < NVTX_SCHEMA_ID_STATIC)
        return NULL;
    for (uint32_t i = 0; i < used && i < NVTX_SCHEMAS_MAX; i++)
        if (atomic_load_explicit(&schemas[i].is_ready, memory_order_acquire) && schemas[i].id == id &&
            schemas[i].domain == domain)
            return &schemas[i];
    return NULL;
}

/* Takes a new schema and sets its ID; NULL: no room. */
static struct schema *take(uint32_t domain, uint64_t wanted_id)
{
    uint32_t slot = atomic_load(&schemas_used);
    do {
        if (slot < NVTX_SCHEMAS_MAX)
            continue;
        log_once(log_warn, "NVTX: the program registers more than %d payload layouts; later ones are ignored",
                 NVTX_SCHEMAS_MAX);
        return NULL;
    } while (!atomic_compare_exchange_weak(&schemas_used, &slot, slot + 1));
    schemas[slot].domain = domain;
    schemas[slot].id = wanted_id ? wanted_id : NVTX_SCHEMA_ID_DYNAMIC + slot;
    return &schemas[slot];
}

/* Returns the ID that the program chose; 0: none. */
static uint64_t static_id(uint64_t has_id, uint64_t id)
{
    return has_id && id >= NVTX_SCHEMA_ID_STATIC && id < NVTX_SCHEMA_ID_DYNAMIC ? id : 0;
}

/* Returns the size of the entry in the payload, or UNKNOWN. */
static size_t bytes_of(const struct nvtx_schema_entry *given, struct value_type type,
                       const struct schema *nested)
{
    size_t one = nested ? nested->bytes : type.bytes;
    if (given->flags & (NVTX_ENTRY_POINTER | NVTX_ENTRY_DEEP_COPY))
        return sizeof(void *);
    if (given->flags & NVTX_ENTRY_OFFSETS || one == 0 || one >= SIZE_BOUND)
        return UNKNOWN;
    uint64_t array = given->flags & NVTX_ENTRY_ARRAY;
    bool is_long = array == NVTX_ENTRY_FIXED_ARRAY || (type.kind == CLASS_TEXT && !array);
    if (!is_long)
        return array ? UNKNOWN : one;
    return given->arrayOrUnionDetail && given->arrayOrUnionDetail < SIZE_BOUND / one
               ? (size_t)given->arrayOrUnionDetail * one
               : UNKNOWN;
}

static size_t alignment_of(const struct nvtx_schema_entry *given, struct value_type type, size_t pack)
{
    size_t natural = given->flags & (NVTX_ENTRY_POINTER | NVTX_ENTRY_DEEP_COPY) ? sizeof(void *) : type.bytes;
    return pack && pack < natural ? pack : natural;
}

static bool is_scalar(const struct nvtx_schema_entry *given)
{
    return !(given->flags &
             (NVTX_ENTRY_ARRAY | NVTX_ENTRY_OFFSETS | NVTX_ENTRY_POINTER | NVTX_ENTRY_DEEP_COPY));
}

/* Whether the entry is a text that can be read: one inside the payload has a fixed length, one behind a
 * pointer may be NUL-terminated. Texts whose length is in another entry are ignored. */
static bool is_text(const struct entry *entry, const struct nvtx_schema_entry *given)
{
    uint64_t array = given->flags & NVTX_ENTRY_ARRAY;
    bool has_length = (!array || array == NVTX_ENTRY_FIXED_ARRAY) && given->arrayOrUnionDetail;
    bool has_end = array == NVTX_ENTRY_ZERO_ARRAY || (!array && !given->arrayOrUnionDetail);
    return !(given->flags & NVTX_ENTRY_OFFSETS) && entry->bytes != UNKNOWN &&
           (has_length || (has_end && entry->is_pointer));
}

static void name_entry(struct entry *entry, const char *name, size_t index)
{
    if (name && *name)
        snprintf(entry->key, sizeof entry->key, PAYLOAD_KEY ".%.*s", NVTX_ENTRY_NAME_BYTES - 1, name);
    else
        snprintf(entry->key, sizeof entry->key, PAYLOAD_KEY ".%zu", index);
    entry->key_bytes = (uint32_t)strlen(entry->key);
}

/* Reads a schema's entry. `*cursor` is the entry's default offset, and advances to the next entry's. */
static void read_entry(struct entry *entry, uint32_t domain, const struct nvtx_schema_entry *given,
                       size_t index, size_t pack, size_t *cursor)
{
    const struct schema *nested = find(domain, given->type);
    bool is_enum = nested && nested->enumerated.bytes;
    struct value_type type = is_enum ? nested->enumerated : type_of(given->type);
    size_t align = alignment_of(given, type, pack);
    name_entry(entry, given->name, index);
    entry->type = type;
    entry->nccl = (uint8_t)nccl_value_of(given->name);
    entry->is_pointer = given->flags & (NVTX_ENTRY_POINTER | NVTX_ENTRY_DEEP_COPY);
    entry->bytes = bytes_of(given, type, is_enum ? NULL : nested);
    entry->is_hidden = given->flags & NVTX_ENTRY_HIDE;
    entry->is_message = (given->flags & NVTX_ENTRY_ROLE) == NVTX_ENTRY_MESSAGE;
    entry->is_value = type.kind == CLASS_TEXT ? is_text(entry, given) : type.kind && is_scalar(given);
    entry->text_max = given->flags & NVTX_ENTRY_ZERO_ARRAY || !given->arrayOrUnionDetail
                          ? RANGE_TEXT_BYTES
                          : (size_t)given->arrayOrUnionDetail;
    if (index == 0 || given->offset)
        entry->offset = given->offset < SIZE_BOUND ? given->offset : UNKNOWN;
    else if (*cursor == UNKNOWN || !align)
        entry->offset = UNKNOWN;
    else
        entry->offset = (*cursor + align - 1) / align * align;
    *cursor = entry->offset == UNKNOWN || entry->bytes == UNKNOWN ? UNKNOWN : entry->offset + entry->bytes;
}

uint64_t nvtx_payload_register_schema(uint32_t domain, const struct nvtx_schema_attributes *given)
{
    const uint64_t needed = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT;
    if (!given || (given->fieldMask & needed) != needed || !given->entries)
        return 0;
    uint64_t id = static_id(given->fieldMask & NVTX_SCHEMA_HAS_ID, given->schemaId);
    if (id && find(domain, id))
        return id;
    struct schema *made = take(domain, id);
    if (!made)
        return 0;
    bool is_struct = given->type == NVTX_SCHEMA_STATIC || given->type == NVTX_SCHEMA_DYNAMIC;
    size_t count = is_struct ? given->numEntries : 0, cursor = 0;
    size_t pack = given->fieldMask & NVTX_SCHEMA_HAS_ALIGNMENT ? given->packAlign : 0;
    for (size_t i = 0; i < count && i < NVTX_ENTRIES_MAX; i++)
        read_entry(&made->entries[i], domain, &given->entries[i], i, pack, &cursor);
    made->entry_count = (uint32_t)(count < NVTX_ENTRIES_MAX ? count : NVTX_ENTRIES_MAX);
    made->entries_beyond = is_struct ? (uint32_t)(count - made->entry_count) : 1;
    made->bytes = given->fieldMask & NVTX_SCHEMA_HAS_SIZE && given->payloadStaticSize
                      ? given->payloadStaticSize
                      : UNKNOWN;
    atomic_store_explicit(&made->is_ready, true, memory_order_release);
    return made->id;
}

uint64_t nvtx_payload_register_enum(uint32_t domain, const struct nvtx_enum_attributes *given)
{
    if (!given || !(given->fieldMask & NVTX_ENUM_HAS_SIZE))
        return 0;
    uint64_t id = static_id(given->fieldMask & NVTX_ENUM_HAS_ID, given->schemaId);
    if (id && find(domain, id))
        return id;
    struct schema *made = take(domain, id);
    if (!made)
        return 0;
    size_t bytes = given->sizeOfEnum;
    bool is_integer = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    made->enumerated = (struct value_type){is_integer ? (uint8_t)bytes : 0, CLASS_SIGNED};
    made->bytes = is_integer ? bytes : UNKNOWN;
    atomic_store_explicit(&made->is_ready, true, memory_order_release);
    return made->id;
}

char *nvtx_payload_decimal(char to[NVTX_NUMBER_BYTES], uint64_t value)
{
    uint32_t at = NVTX_NUMBER_BYTES;
    do
        to[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    return to + at;
}

static uint64_t read_unsigned(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    if (bytes == sizeof value)
        memcpy(&value, at, sizeof value); /* constant size: no call of memcpy() */
    else
        memcpy(&value, at, bytes); /* both supported machines are little-endian */
    return value;
}

static int64_t read_signed(const uint8_t *at, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(read_unsigned(at, bytes) << shift) >> shift;
}

static double read_real(const uint8_t *at, unsigned bytes)
{
    float single;
    double real;
    if (bytes == sizeof real) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    memcpy(&single, at, sizeof single);
    return (double)single;
}

/* Adds an attribute and returns it; NULL: no room. `entry` NULL: the payload is a single value. */
static struct range_attr *add(struct nvtx_payload *payload, const struct entry *entry)
{
    if (payload->attr_count == NVTX_PAYLOAD_ATTRS_MAX) {
        payload->left_out++;
        return NULL;
    }
    struct range_attr *attr = &payload->attrs[payload->attr_count++];
    *attr = (struct range_attr){.key = entry ? entry->key : PAYLOAD_KEY,
                                .key_bytes = entry ? entry->key_bytes : sizeof PAYLOAD_KEY - 1,
                                .type = ATTR_INT};
    return attr;
}

static void set_text(struct range_attr *attr, const char *text, size_t bytes)
{
    attr->type = ATTR_STRING;
    attr->s = text;
    attr->bytes = (uint32_t)bytes;
}

static void add_number(struct nvtx_payload *payload, const struct entry *entry, struct value_type type,
                       const uint8_t *at)
{
    struct range_attr *attr = add(payload, entry);
    if (!attr)
        return;
    char *number = payload->numbers[payload->attr_count - 1];
    if (type.kind == CLASS_REAL) {
        attr->type = ATTR_DOUBLE;
        attr->d = read_real(at, type.bytes);
    } else if (type.kind == CLASS_SIGNED) {
        attr->i = read_signed(at, type.bytes);
    } else {
        uint64_t value = read_unsigned(at, type.bytes);
        attr->i = (int64_t)value;
        if (value > INT64_MAX) { /* as OpenTelemetry represents values above its integers */
            const char *text = nvtx_payload_decimal(number, value);
            set_text(attr, text, (size_t)(number + NVTX_NUMBER_BYTES - text));
        }
    }
}

/* Adds a text, or sets the event's message. */
static void add_text(struct nvtx_payload *payload, const struct entry *entry, const char *text, size_t bytes)
{
    if (entry && entry->is_message) {
        payload->message = text;
        payload->message_bytes = (uint32_t)bytes;
        return;
    }
    struct range_attr *attr = add(payload, entry);
    if (attr)
        set_text(attr, text, bytes);
}

static size_t text_bytes(const char *text, size_t room)
{
    return strnlen(text, room < RANGE_TEXT_BYTES ? room : RANGE_TEXT_BYTES);
}

static void add_entry(struct nvtx_payload *payload, const struct entry *entry, const uint8_t *at)
{
    const void *pointer = NULL;
    const struct nvtx_name *registered;
    if (entry->bytes == sizeof pointer)
        memcpy(&pointer, at, sizeof pointer);
    switch ((enum value_kind)entry->type.kind) {
    case CLASS_TEXT:
        if (!entry->is_pointer)
            add_text(payload, entry, (const char *)at, text_bytes((const char *)at, entry->text_max));
        else if (pointer)
            add_text(payload, entry, pointer, text_bytes(pointer, entry->text_max));
        break;
    case CLASS_HANDLE:
        registered = nvtx_names_of_handle(NVTX_NAME_STRING, pointer);
        if (registered)
            add_text(payload, entry, registered->text, registered->bytes);
        break;
    default:
        add_number(payload, entry, entry->type, at);
    }
}

static bool lies_inside(const struct entry *entry, const struct nvtx_payload_data *data)
{
    return entry->offset != UNKNOWN && entry->bytes != UNKNOWN && data->size != NVTX_PAYLOAD_SIZE_UNKNOWN &&
           entry->bytes <= data->size && entry->offset <= data->size - entry->bytes;
}

static void read_structured(struct nvtx_payload *payload, const struct schema *schema,
                            const struct nvtx_payload_data *data)
{
    payload->left_out += schema->entries_beyond;
    for (uint32_t i = 0; i < schema->entry_count; i++) {
        const struct entry *entry = &schema->entries[i];
        if (entry->is_hidden)
            continue;
        if (entry->is_value && lies_inside(entry, data))
            add_entry(payload, entry, (const uint8_t *)data->payload + entry->offset);
        else
            payload->left_out++;
    }
}

/* Reads a payload without a schema: one number or one text. */
static void read_plain(struct nvtx_payload *payload, const struct nvtx_payload_data *data, bool is_first)
{
    struct value_type type = type_of(data->schemaId);
    if (!is_first || (type.kind != CLASS_TEXT && data->size != type.bytes) || !type.kind ||
        type.kind == CLASS_HANDLE) {
        payload->left_out++;
        return;
    }
    if (type.kind == CLASS_TEXT)
        add_text(payload, NULL, data->payload, text_bytes(data->payload, data->size));
    else
        add_number(payload, NULL, type, data->payload);
}

void nvtx_payload_read(struct nvtx_payload *payload, uint32_t domain, const struct nvtx_payload_data *data,
                       size_t count)
{
    bool has_plain = false;
    payload->attr_count = payload->left_out = payload->message_bytes = 0;
    payload->message = NULL;
    for (size_t i = 0; data && i < count && i < PAYLOADS_MAX; i++) {
        const struct schema *schema = find(domain, data[i].schemaId);
        if (!data[i].payload || !data[i].size || data[i].schemaId == NVTX_PAYLOAD_REFERENCED)
            continue;
        if (schema && !schema->enumerated.bytes) {
            read_structured(payload, schema, &data[i]);
        } else {
            read_plain(payload, &data[i], !has_plain);
            has_plain = true;
        }
    }
}

void nvtx_payload_read_nccl(struct nccl_values *values, uint32_t domain, const struct nvtx_payload_data *data,
                            size_t count)
{
    const struct schema *schema = data && count ? find(domain, data->schemaId) : NULL;
    enum nccl_value unwanted = nccl_follows_collectives() ? NCCL_NOTHING : NCCL_BYTES;
    values->present = 0;
    for (uint32_t i = 0; schema && data->payload && i < schema->entry_count; i++) {
        const struct entry *entry = &schema->entries[i];
        bool is_number =
            entry->is_value && (entry->type.kind == CLASS_SIGNED || entry->type.kind == CLASS_UNSIGNED);
        if (!entry->nccl || entry->nccl == unwanted || !is_number || !lies_inside(entry, data))
            continue;
        values->present |= 1u << entry->nccl;
        values->value[entry->nccl] =
            read_unsigned((const uint8_t *)data->payload + entry->offset, entry->type.bytes);
    }
}
