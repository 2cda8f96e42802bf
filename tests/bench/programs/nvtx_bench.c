/* Measures the cost of NVTX's handlers without context.h, whose functions do nothing here: build/nvtx_bench.
 * Each line is the median of nine runs, of a push and a pop together. */
#include "measured.h"
#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"
#include "agent/capture/context/steps.h"
#include "agent/capture/nccl/nccl_calls.h"
#include "agent/capture/nvtx/nvtx.h"
#include "agent/abi/nvtx_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUNS   9
#define ROUNDS 1000000

static nvtx_function *functions[NVTX_CORE2_COUNT + 1];
static nvtx_function **entries[NVTX_CORE2_COUNT];
static nvtx_function *core_functions[NVTX_CORE_COUNT];
static nvtx_function **core_entries[NVTX_CORE_COUNT];

static bool is_awake = true;

uint64_t range_push(const struct range_text *text)
{
    __asm__ volatile("" : : "r"(text) : "memory");
    return 1;
}

uint64_t range_pop(uint32_t domain, const struct range_end *end)
{
    return domain + (end != NULL);
}

_Atomic(const char *) steps_nvtx_pattern;
void steps_match_nvtx(const char *pattern, const char *name, size_t bytes)
{
    (void)pattern, (void)name, (void)bytes;
}

bool range_is_captured(void)
{
    return is_awake;
}

uint32_t range_depth(uint32_t domain)
{
    return domain != 0;
}

uint64_t range_start(const struct range_text *text)
{
    return text != NULL;
}

bool range_end(uint64_t id, const struct range_end *end)
{
    return id != 0;
}

bool range_mark(const struct range_text *text)
{
    return text != NULL;
}

void context_name_object(enum named_object object, uint64_t handle, const char *name, uint32_t name_bytes)
{
    (void)object, (void)handle, (void)name, (void)name_bytes;
}

static int get_table(uint32_t module, nvtx_function ****table, unsigned int *size)
{
    *table = module == NVTX_MODULE_CORE ? core_entries : entries;
    *size = module == NVTX_MODULE_CORE ? NVTX_CORE_COUNT : NVTX_CORE2_COUNT;
    return module == NVTX_MODULE_CORE || module == NVTX_MODULE_CORE2;
}

static const void *export_table(uint32_t id)
{
    static const struct nvtx_callbacks_table callbacks = {sizeof callbacks, get_table};
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static const struct nvtx_event_attributes *event;
static const void *domain;

static void push_ascii(void)
{
    ((int (*)(const char *))core_functions[NVTX_CALL_RangePushA])("forward of layer 17");
}

static void push_wide(void)
{
    ((int (*)(const wchar_t *))core_functions[NVTX_CALL_RangePushW])(L"forward of layer 17");
}

static void push_event(void)
{
    ((int (*)(const void *, const void *))functions[NVTX_CALL_DomainRangePushEx])(domain, event);
}

static void measure(const char *what, void (*push)(void), const void *of)
{
    int (*pop)(const void *) = (int (*)(const void *))functions[NVTX_CALL_DomainRangePop];
    double runs_ns[RUNS];
    for (int run = 0; run < RUNS; run++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < ROUNDS; i++) {
            push();
            pop(of);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        runs_ns[run] =
            ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / ROUNDS;
    }
    sort(runs_ns, RUNS);
    printf("%-48s %6.1f ns\n", what, runs_ns[RUNS / 2]);
}

/* A range of NCCL 2.28 with the payload of ncclAllReduce, in NCCL's domain or in another one: the difference
 * is the cost of counting collectives. */
static void measure_collective(const char *what, const char *domain_name, bool awake)
{
    static nvtx_function *slots[NVTX_PAYLOAD_SLOTS];
    static struct nvtx_ext_segment segment = {.slotCount = NVTX_PAYLOAD_SLOTS,
                                              .functionSlots = (intptr_t *)slots};
    struct nvtx_ext_module module = {.structSize = sizeof module,
                                     .moduleId = NVTX_EXT_MODULE_PAYLOAD,
                                     .segmentsCount = 1,
                                     .segments = &segment};
    static const struct nvtx_schema_entry fields[] = {
        {.type = NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_ENTRY_SIZE, .name = "Message size [bytes]", .offset = 8},
        {.type = NVTX_ENTRY_INT, .name = "Reduction operation", .offset = 16}};
    struct nvtx_schema_attributes schema = {.fieldMask = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES |
                                                         NVTX_SCHEMA_HAS_COUNT | NVTX_SCHEMA_HAS_ID,
                                            .type = NVTX_SCHEMA_STATIC,
                                            .entries = fields,
                                            .numEntries = 3,
                                            .schemaId = NVTX_SCHEMA_ID_STATIC + 5};
    static const struct {
        uint64_t communicator;
        size_t bytes;
        int operation;
    } payload = {77, 4096, 0};
    struct nvtx_payload_data data = {NVTX_SCHEMA_ID_STATIC + 5, sizeof payload, &payload};
    struct nvtx_event_attributes given = {.version = 3,
                                          .size = sizeof given,
                                          .messageType = NVTX_MESSAGE_HANDLE,
                                          .payloadType = NVTX_PAYLOAD_EXT,
                                          .reserved0 = 1,
                                          .payload.ullValue = (uintptr_t)&data};
    domain = ((const void *(*)(const char *))functions[NVTX_CALL_DomainCreateA])(domain_name);
    given.message.registered =
        ((const void *(*)(const void *, const char *))functions[NVTX_CALL_DomainRegisterStringA])(
            domain, "ncclAllReduce");
    if (!nvtx_attach_extension(&module))
        return;
    ((uint64_t(*)(const void *, const void *))slots[NVTX_SLOT_PayloadSchemaRegister])(domain, &schema);
    is_awake = awake;
    event = &given;
    measure(what, push_event, domain);
    is_awake = true;
}

static void ignore(const struct nccl_collective *collective)
{
    __asm__ volatile("" : : "r"(collective) : "memory");
}

int main(void)
{
    struct nvtx_event_attributes given = {
        .version = 3, .size = sizeof given, .messageType = NVTX_MESSAGE_HANDLE};
    for (int i = 1; i < NVTX_CORE_COUNT; i++)
        core_entries[i] = &core_functions[i];
    for (int i = 1; i < NVTX_CORE2_COUNT; i++)
        entries[i] = &functions[i];
    if (!nvtx_attach(export_table))
        return 1;
    domain = ((const void *(*)(const char *))functions[NVTX_CALL_DomainCreateA])("library");
    given.message.registered =
        ((const void *(*)(const void *, const char *))functions[NVTX_CALL_DomainRegisterStringA])(domain,
                                                                                                  "forward");
    event = &given;
    measure("a text", push_ascii, NULL);
    measure("a wide text", push_wide, NULL);
    measure("a registered string in a domain", push_event, domain);
    given.payloadType = NVTX_PAYLOAD_I64;
    given.category = 3;
    ((void (*)(const void *, uint32_t, const char *))functions[NVTX_CALL_DomainNameCategoryA])(domain, 3,
                                                                                               "layers");
    measure("the same with a payload and a named category", push_event, domain);
    measure_collective("NCCL's payload in another domain", "other", true);
    measure_collective("a collective of NCCL", "NCCL", true);
    measure_collective("NCCL's payload in another domain, asleep", "other", false);
    measure_collective("a collective of NCCL, asleep", "NCCL", false);
    nccl_set_collective_hook(ignore);
    measure_collective("the same, if its bytes are needed for steps", "NCCL", false);
    static _Alignas(64) uint8_t live[LIVE_STATE_BYTES];
    live_state_begin(live, &(struct live_identity){.pid = 1});
    measure_collective("the same with the live state", "NCCL", false);
    return 0;
}
