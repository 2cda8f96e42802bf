/* Pushes the ranges that NCCL 2.28 pushes, through NVTX's own headers: which numbers the agent adds to them,
 * nvtx_test.py compares. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <stddef.h>
#include <stdint.h>

#define COMMUNICATOR 0xf00df00df00df00dull
#define ID(number)   (NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + (number))

struct init_rank {
    uint64_t communicator;
    int ranks, rank, device;
};
struct all_reduce {
    uint64_t communicator;
    size_t bytes;
    int operation;
};
struct send {
    uint64_t communicator;
    size_t bytes;
    int peer;
};

static nvtxDomainHandle_t domain;

static void register_schema(uint64_t number, const nvtxPayloadSchemaEntry_t *entries, size_t count,
                            size_t bytes)
{
    nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = bytes,
        .schemaId = ID(number)};
    nvtxPayloadSchemaRegister(domain, &schema);
}

static void register_schemas(void)
{
    static const nvtxPayloadEnum_t operations[] = {{"Sum", 0, 0}, {"Avg", 4, 0}};
    static const nvtxPayloadEnumAttr_t reduction = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
        .entries = operations,
        .numEntries = 2,
        .sizeOfEnum = sizeof(int),
        .schemaId = ID(20)};
    const nvtxPayloadSchemaEntry_t init_rank[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", NULL, 0, 0},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", NULL, 0, offsetof(struct init_rank, ranks)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", NULL, 0, offsetof(struct init_rank, rank)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device", NULL, 0, offsetof(struct init_rank, device)}};
    const nvtxPayloadSchemaEntry_t all_reduce[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", NULL, 0, 0},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", NULL, 0,
         offsetof(struct all_reduce, bytes)},
        {0, ID(20), "Reduction operation", NULL, 0, offsetof(struct all_reduce, operation)}};
    const nvtxPayloadSchemaEntry_t send[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", NULL, 0, 0},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", NULL, 0, offsetof(struct send, bytes)},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Peer rank", NULL, 0, offsetof(struct send, peer)}};
    nvtxPayloadEnumRegister(domain, &reduction);
    register_schema(0, init_rank, 4, sizeof(struct init_rank));
    register_schema(5, all_reduce, 3, sizeof(struct all_reduce));
    register_schema(9, send, 3, sizeof(struct send));
}

static void call_with(const char *function, uint64_t number, const void *payload, size_t bytes)
{
    const nvtxPayloadData_t data[] = {{ID(number), bytes, payload}};
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message.registered = nvtxDomainRegisterStringA(domain, function)};
    NVTX_PAYLOAD_EVTATTR_SET_MULTIPLE(attributes, data)
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
}

/* The payload comes at the end, when the communicator's ID is known. */
static void init_rank(void)
{
    const struct init_rank payload = {COMMUNICATOR, 8, 5, 0};
    const nvtxPayloadData_t data = {ID(0), sizeof payload, &payload};
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message.registered =
                                            nvtxDomainRegisterStringA(domain, "ncclCommInitRankConfig")};
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangePopPayload(domain, &data, 1);
}

int main(void)
{
    const struct all_reduce all_reduce = {COMMUNICATOR, 4096, 4};
    const struct send send = {COMMUNICATOR, 512, 6}, other = {COMMUNICATOR, 512, 7};
    domain = nvtxDomainCreateA("NCCL");
    register_schemas();
    init_rank();
    for (int i = 0; i < 2; i++)
        call_with("ncclAllReduce", 5, &all_reduce, sizeof all_reduce);
    call_with("ncclSend", 9, &send, sizeof send);
    call_with("ncclSend", 9, &other, sizeof other);
    call_with("ncclSend", 9, &send, sizeof send);
    return 0;
}
