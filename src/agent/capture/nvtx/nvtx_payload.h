/* Registers the schemas and enums of NVTX's structured payloads (its payload extension), and turns payloads
 * into attributes. Each number or text becomes `nvtx.payload.NAME`, or `nvtx.payload` if the payload is a
 * single value. Arrays, unions, nested schemas and addresses are counted but not exported.
 *
 * Schemas live in fixed memory forever, without locks. A payload is the program's memory: nothing beyond its
 * given size is read, except texts that it points to.
 *
 * A copy of NVTX asks for this extension separately (InitializeInjectionNvtxExtension). Without it, a push
 * with a payload would be unknown, and its pop, which comes through the plain interface, would end another
 * range. */
#pragma once

#include "agent/abi/nvtx_abi.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "model/record.h"

#include <stdint.h>

#define NVTX_SCHEMAS_MAX       128 /* per process, including enums; later ones are refused */
#define NVTX_ENTRIES_MAX       24  /* per schema; later ones are ignored */
#define NVTX_ENTRY_NAME_BYTES  48
#define NVTX_PAYLOAD_ATTRS_MAX 16 /* per event; later ones are dropped */
#define NVTX_NUMBER_BYTES      20 /* 2^64 - 1 in decimal */

/* Return the ID of the schema or enum, chosen by the program or by us; 0: refused. Registering the same one
 * again returns the same ID. */
uint64_t nvtx_payload_register_schema(uint32_t domain, const struct nvtx_schema_attributes *schema);
uint64_t nvtx_payload_register_enum(uint32_t domain, const struct nvtx_enum_attributes *given);

struct nvtx_payload {
    uint32_t attr_count;
    uint32_t left_out; /* values that did not become attributes */
    struct range_attr attrs[NVTX_PAYLOAD_ATTRS_MAX];
    char numbers[NVTX_PAYLOAD_ATTRS_MAX][NVTX_NUMBER_BYTES];
    const char *message; /* the event's message from the payload, in the program's memory; NULL: none */
    uint32_t message_bytes;
};

/* Reads the payloads of one event. The result borrows the program's memory. */
void nvtx_payload_read(struct nvtx_payload *payload, uint32_t domain, const struct nvtx_payload_data *data,
                       size_t count);

/* Reads only the values of NCCL's payloads about the communicator. */
void nvtx_payload_read_nccl(struct nccl_values *values, uint32_t domain, const struct nvtx_payload_data *data,
                            size_t count);

/* Writes the decimal number to the end of `to`; returns its first digit. */
char *nvtx_payload_decimal(char to[NVTX_NUMBER_BYTES], uint64_t value);
