/* Structured payloads of NVTX (its payload extension): what a program has registered of their layout, and
 * what of them becomes attributes. Numbers and texts do, one by one: `nvtx.payload.NAME` of a registered
 * schema's entry, `nvtx.payload` of a payload that is one number or one text. Arrays, unions, nested schemas
 * and addresses do not, and are counted.
 *
 * What is registered lies in fixed memory and stays; no lock. A payload is the program's memory: nothing is
 * read beyond the size that it gives, but for texts that it points to. */
#ifndef CUSPAN_CAPTURE_NVTX_NVTX_PAYLOAD_H
#define CUSPAN_CAPTURE_NVTX_NVTX_PAYLOAD_H

#include "abi/nvtx_abi.h"
#include "model/record.h"

#include <stdint.h>

#define NVTX_SCHEMAS_MAX       128 /* of the process, enums among them; later ones are refused */
#define NVTX_ENTRIES_MAX       24  /* of a schema; later ones are left out */
#define NVTX_ENTRY_NAME_BYTES  48
#define NVTX_PAYLOAD_ATTRS_MAX 16 /* of an event; more are left out */
#define NVTX_NUMBER_BYTES      20 /* 2^64 - 1 in decimal */

/* The layout's ID: the one that the program chose, or one of ours. 0: refused. The same again is the same. */
uint64_t nvtx_schema_register(uint32_t domain, const struct nvtx_schema_attributes *schema);
uint64_t nvtx_enum_register(uint32_t domain, const struct nvtx_enum_attributes *given);

struct nvtx_payload {
    uint32_t attr_count;
    uint32_t left_out; /* values that are no attributes */
    struct range_attr attrs[NVTX_PAYLOAD_ATTRS_MAX];
    char keys[NVTX_PAYLOAD_ATTRS_MAX][sizeof "nvtx.payload." + NVTX_ENTRY_NAME_BYTES];
    char numbers[NVTX_PAYLOAD_ATTRS_MAX][NVTX_NUMBER_BYTES];
    const char *message; /* the event's, where an entry says that it is; NULL: none. The program's memory */
    uint32_t message_bytes;
};

/* What the payloads of one event say, as long as they live. */
void nvtx_payload_read(struct nvtx_payload *payload, uint32_t domain, const struct nvtx_payload_data *data,
                       size_t count);

/* In decimal, at the end of `to`; returns where it begins. */
char *nvtx_decimal(char to[NVTX_NUMBER_BYTES], uint64_t value);

#endif
