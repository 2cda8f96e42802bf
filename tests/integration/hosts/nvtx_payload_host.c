/* Uses NVTX's payload extension as NVIDIA's header has it: what of it gets to our handlers, nvtx_test.py
 * compares. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct step {
    int32_t number;
    double loss;
    char phase[8];
    const char *note;
    float weights[2];
    uint8_t state;
};

static uint64_t register_step(nvtxDomainHandle_t domain, uint64_t state)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "number", NULL, 0, offsetof(struct step, number)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "loss", NULL, 0, offsetof(struct step, loss)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "phase", NULL, 8, offsetof(struct step, phase)},
        {NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY |
             NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
         NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "note", NULL, 0, offsetof(struct step, note)},
        {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "weights", NULL, 2},
        {0, state, "state"}};
    nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = sizeof entries / sizeof *entries,
        .payloadStaticSize = sizeof(struct step)};
    return nvtxPayloadSchemaRegister(domain, &schema);
}

static uint64_t register_state(nvtxDomainHandle_t domain)
{
    const nvtxPayloadEnum_t values[] = {{"idle", 0, 0}, {"busy", 1, 0}};
    nvtxPayloadEnumAttr_t attributes = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
                                        .entries = values,
                                        .numEntries = 2,
                                        .sizeOfEnum = 1};
    return nvtxPayloadEnumRegister(domain, &attributes);
}

int main(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("steps");
    uint64_t id = register_step(domain, register_state(domain));
    struct step step = {7, 0.5, "forward", "a step", {1, 2}, 1};
    nvtxPayloadData_t data = {id, sizeof step, &step};
    int32_t plain = -4;
    nvtxPayloadData_t number = {NVTX_PAYLOAD_ENTRY_TYPE_INT32, sizeof plain, &plain};
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_ASCII};
    printf("push %d\n", nvtxRangePushPayload(domain, &data, 1));
    printf("push %d\n", nvtxRangePushPayload(domain, &number, 1));
    printf("pop %d\n", nvtxRangePopPayload(domain, &number, 1));
    printf("pop %d\n", nvtxDomainRangePop(domain)); /* by the other interface */
    nvtxMarkPayload(domain, &data, 1);
    nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &data, 1), &number, 1);
    attributes.message.ascii = "by attributes";
    NVTX_PAYLOAD_EVTATTR_SET_DATA(attributes, &number, NVTX_PAYLOAD_ENTRY_TYPE_INT32, &plain, sizeof plain)
    nvtxDomainMarkEx(domain, &attributes);
    printf("enabled %d\n", nvtxDomainIsEnabled(domain));
    return 0;
}
