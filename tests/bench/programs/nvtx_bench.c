/* Measures the cost of NVTX's handlers without context.h, whose functions do nothing here: build/nvtx_bench.
 * Each line is the median of nine runs, of a push and a pop together. */
#include "capture/context/context.h"
#include "capture/context/range.h"
#include "capture/nvtx/nvtx.h"
#include "abi/nvtx_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUNS   9
#define ROUNDS 1000000

static nvtx_function *functions[NVTX_CORE2_COUNT + 1];
static nvtx_function **entries[NVTX_CORE2_COUNT];
static nvtx_function *core_functions[NVTX_CORE_COUNT];
static nvtx_function **core_entries[NVTX_CORE_COUNT];

uint64_t range_push(const struct range_text *text)
{
    __asm__ volatile("" : : "r"(text) : "memory");
    return 1;
}

uint64_t range_pop(uint32_t domain, const struct range_end *end)
{
    return domain + (end != NULL);
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
    (void)end;
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

static int compare(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
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
    qsort(runs_ns, RUNS, sizeof *runs_ns, compare);
    printf("%-48s %6.1f ns\n", what, runs_ns[RUNS / 2]);
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
    return 0;
}
