/* NVTX payloads: arbitrary layouts, and payloads with arbitrary bytes. Nothing is read beyond the size that
 * the program gives. If a layout has an address, a program's payload has a valid one there: in such inputs
 * every eight bytes are the address of a text.
 *
 * The source is included here, because a process keeps what it has registered. */
// NOLINTNEXTLINE(bugprone-suspicious-include)
#include "agent/capture/nvtx/nvtx_payload.c"

#include "fuzz.h"

#define ENTRIES_MAX  (NVTX_ENTRIES_MAX + 2)
#define SCHEMAS_MADE 3

static volatile uint64_t sink;

static void forget(void)
{
    memset(schemas, 0, sizeof schemas);
    atomic_store(&schemas_used, 0);
}

static uint64_t make_schema(struct fuzz_bytes *from, bool has_pointers)
{
    static const char *const names[] = {"", "count", "a name that is longer than what the key has room for"};
    struct nvtx_schema_entry entries[ENTRIES_MAX];
    size_t count = fuzz_number(from, 1) % (ENTRIES_MAX + 1);
    bool is_wild = !has_pointers && fuzz_number(from, 1) & 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t type = fuzz_number(from, 1);
        uint64_t offset = fuzz_number(from, is_wild ? 8 : 1);
        entries[i] = (struct nvtx_schema_entry){
            .flags = fuzz_number(from, 2),
            .type = type < 0xf0 ? type : NVTX_SCHEMA_ID_STATIC + type % 8,
            .name = i % 4 == 3 ? NULL : names[i % 3],
            .arrayOrUnionDetail = fuzz_number(from, is_wild ? 8 : 1),
            /* Aligned if it must contain addresses. */
            .offset = has_pointers ? offset * 8 : offset,
        };
        if (!has_pointers)
            entries[i].flags &= ~(uint64_t)(NVTX_ENTRY_POINTER | NVTX_ENTRY_DEEP_COPY);
        else
            entries[i].flags |= NVTX_ENTRY_POINTER;
    }
    struct nvtx_schema_attributes attributes = {
        .fieldMask =
            fuzz_number(from, 2) | NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES | NVTX_SCHEMA_HAS_COUNT,
        .type = 1 + fuzz_number(from, 1) % 3,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = fuzz_number(from, is_wild ? 8 : 1),
        .packAlign = has_pointers ? 0 : fuzz_number(from, is_wild ? 8 : 1),
        .schemaId = NVTX_SCHEMA_ID_STATIC + fuzz_number(from, 1) % 8,
    };
    return nvtx_payload_register_schema(0, &attributes);
}

static uint64_t make_enum(struct fuzz_bytes *from)
{
    struct nvtx_enum_attributes attributes = {.fieldMask = fuzz_number(from, 1),
                                              .sizeOfEnum = fuzz_number(from, 1),
                                              .schemaId = NVTX_SCHEMA_ID_STATIC + fuzz_number(from, 1) % 8};
    return nvtx_payload_register_enum(0, &attributes);
}

static void look_at(const struct nvtx_payload *payload)
{
    require(payload->attr_count <= NVTX_PAYLOAD_ATTRS_MAX, "too many attributes");
    for (uint32_t i = 0; i < payload->attr_count; i++) {
        const struct range_attr *attr = &payload->attrs[i];
        require(attr->key_bytes < sizeof((struct entry *)NULL)->key && strlen(attr->key) == attr->key_bytes,
                "a key of the wrong length");
        if (attr->type != ATTR_STRING)
            continue;
        require(attr->bytes <= RANGE_TEXT_BYTES, "a text without a bound");
        for (uint32_t b = 0; b < attr->bytes; b++)
            sink += (uint8_t)attr->s[b];
    }
    for (uint32_t b = 0; b < payload->message_bytes; b++)
        sink += (uint8_t)payload->message[b];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[RANGE_TEXT_BYTES + 1] = "a text of the program's";
    struct fuzz_bytes from = {data, data + size};
    uint64_t ids[SCHEMAS_MADE + 1];
    struct nvtx_payload payload;
    forget();
    bool has_pointers = fuzz_number(&from, 1) & 1;
    ids[0] = make_enum(&from);
    for (size_t i = 1; i <= SCHEMAS_MADE; i++)
        ids[i] = make_schema(&from, has_pointers);
    uint64_t plain_type = fuzz_number(&from, 1);
    size_t bytes = (size_t)(from.end - from.at);
    uint8_t *copy = malloc(bytes ? bytes : 1);
    require(copy != NULL, "no memory");
    memcpy(copy, from.at, bytes);
    const char *address = text;
    for (size_t i = 0; has_pointers && i + sizeof address <= bytes; i += sizeof address)
        memcpy(copy + i, &address, sizeof address);
    struct nvtx_payload_data parts[SCHEMAS_MADE + 2];
    for (size_t i = 0; i <= SCHEMAS_MADE; i++)
        parts[i] = (struct nvtx_payload_data){ids[i], bytes, copy};
    parts[SCHEMAS_MADE + 1] = (struct nvtx_payload_data){plain_type, bytes, copy};
    nvtx_payload_read(&payload, 0, parts, SCHEMAS_MADE + 2);
    look_at(&payload);
    nvtx_payload_read(&payload, 0, &parts[SCHEMAS_MADE + 1], 1);
    look_at(&payload);
    free(copy);
    return 0;
}
