/* One rank of a training job, whose only sign of a step are the NVTX ranges of NCCL:
 *
 *   nccl_job_host DOUBLE RECORDING AGENT WORD...
 *
 * inject (as CUDA does), init=RANKS:RANK (two communicators; the other one has RANKS / 2), pace=US (of an
 * iteration; this rank's own), busy (starts a thread that uses the other communicator at a pace of its own),
 * idle (ends it), train=COUNT (iterations: three all-reduces on a thread of their own), play=COUNT (the same,
 * with a range "iteration N" and the recorded calls after the first all-reduce), evaluate=COUNT, step=NUMBER,
 * on (is it tracing?), nap (100 ms). Each word prints "WORD: ANSWER". */
#include "agent/abi/nvtx_abi.h"
#include "cuspan/cuspan.h"
#include "agent/recording/replay_seam.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORLD     0xf00df00df00df00dull
#define HALF      0xcafecafecafecafeull
#define ID(which) (NVTX_SCHEMA_ID_STATIC + (which))

enum schema { INIT = 1, COLLECTIVE = 2 };

struct init {
    uint64_t communicator;
    int32_t ranks, rank;
};
struct collective {
    uint64_t communicator;
    uint64_t bytes;
};

static nvtx_function *core[NVTX_CORE_COUNT], *core2[NVTX_CORE2_COUNT], *payload[NVTX_PAYLOAD_SLOTS];
static nvtx_function **core_slots[NVTX_CORE_COUNT], **core2_slots[NVTX_CORE2_COUNT];
static const void *domain;
static cuspan_replay_run_fn *run;
static useconds_t pace_us;
static unsigned iteration;
static bool is_played;
static sem_t forward_is_over, backward_is_over;
static atomic_bool is_over;

static void *need(void *found)
{
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return found;
}

static void load_double(const char *path, const char *recording)
{
    struct error err = {""};
    void *library = need(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    cuspan_replay_load_fn *load = (cuspan_replay_load_fn *)need(dlsym(library, "cuspan_replay_load"));
    run = (cuspan_replay_run_fn *)need(dlsym(library, "cuspan_replay_run"));
    if (load(recording, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
}

/* NVTX's tables of this program, which NVIDIA's headers would contain. */
static int get_table(uint32_t module, nvtx_function ****table, unsigned int *size)
{
    *table = module == NVTX_MODULE_CORE ? core_slots : core2_slots;
    *size = module == NVTX_MODULE_CORE ? NVTX_CORE_COUNT : NVTX_CORE2_COUNT;
    return module == NVTX_MODULE_CORE || module == NVTX_MODULE_CORE2;
}

static const void *export_table(uint32_t id)
{
    static const struct nvtx_callbacks_table callbacks = {sizeof callbacks, get_table};
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void register_schema(enum schema which, const struct nvtx_schema_entry *entries, size_t count)
{
    struct nvtx_schema_attributes schema = {.fieldMask = NVTX_SCHEMA_HAS_TYPE | NVTX_SCHEMA_HAS_ENTRIES |
                                                         NVTX_SCHEMA_HAS_COUNT | NVTX_SCHEMA_HAS_ID,
                                            .type = NVTX_SCHEMA_STATIC,
                                            .entries = entries,
                                            .numEntries = count,
                                            .schemaId = ID(which)};
    ((uint64_t(*)(const void *, const void *))payload[NVTX_SLOT_PayloadSchemaRegister])(domain, &schema);
}

static void attach_nvtx(void *agent)
{
    static const struct nvtx_schema_entry of_init[] = {
        {.type = NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_ENTRY_INT, .name = "No. of ranks", .offset = offsetof(struct init, ranks)},
        {.type = NVTX_ENTRY_INT, .name = "Rank", .offset = offsetof(struct init, rank)}};
    static const struct nvtx_schema_entry of_collective[] = {
        {.type = NVTX_ENTRY_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_ENTRY_SIZE,
         .name = "Message size [bytes]",
         .offset = offsetof(struct collective, bytes)}};
    struct nvtx_ext_segment segment = {.slotCount = NVTX_PAYLOAD_SLOTS, .functionSlots = (intptr_t *)payload};
    struct nvtx_ext_module module = {.structSize = sizeof module,
                                     .moduleId = NVTX_EXT_MODULE_PAYLOAD,
                                     .segmentsCount = 1,
                                     .segments = &segment};
    for (unsigned i = 1; i < NVTX_CORE_COUNT; i++)
        core_slots[i] = &core[i];
    for (unsigned i = 1; i < NVTX_CORE2_COUNT; i++)
        core2_slots[i] = &core2[i];
    ((int (*)(void *))need(dlsym(agent, "InitializeInjectionNvtx2")))((void *)(uintptr_t)export_table);
    ((int (*)(void *))need(dlsym(agent, "InitializeInjectionNvtxExtension")))(&module);
    domain = ((const void *(*)(const char *))core2[NVTX_CALL_DomainCreateA])("NCCL");
    register_schema(INIT, of_init, 3);
    register_schema(COLLECTIVE, of_collective, 2);
}

static int inject(const char *path)
{
    void *agent = need(dlopen(path, RTLD_NOW | RTLD_LOCAL));
    attach_nvtx(agent);
    return ((int (*)(void))need(dlsym(agent, "InitializeInjection")))();
}

static void call_of(const char *function, const struct nvtx_payload_data *data)
{
    struct nvtx_event_attributes event = {.version = NVTX_ABI_VERSION,
                                          .size = sizeof event,
                                          .messageType = NVTX_MESSAGE_ASCII,
                                          .message.ascii = function,
                                          .payloadType = NVTX_PAYLOAD_EXT,
                                          .reserved0 = 1,
                                          .payload.ullValue = (uintptr_t)data};
    ((int (*)(const void *, const void *))core2[NVTX_CALL_DomainRangePushEx])(domain, &event);
    ((int (*)(const void *))core2[NVTX_CALL_DomainRangePop])(domain);
}

static void collective(const char *function, uint64_t communicator, uint64_t bytes)
{
    const struct collective values = {communicator, bytes};
    call_of(function, &(struct nvtx_payload_data){ID(COLLECTIVE), sizeof values, &values});
}

static int init(const char *text)
{
    int ranks = 0, rank = 0;
    if (sscanf(text, "%d:%d", &ranks, &rank) != 2)
        return -1;
    const struct init world = {WORLD, ranks, rank}, half = {HALF, ranks / 2, rank / 2};
    call_of("ncclCommInitRank", &(struct nvtx_payload_data){ID(INIT), sizeof world, &world});
    call_of("ncclCommInitRank", &(struct nvtx_payload_data){ID(INIT), sizeof half, &half});
    for (int i = 0; i < 3; i++)
        collective("ncclBroadcast", WORLD, 1 << 20);
    return 0;
}

static int play(void)
{
    static const struct replay_options options = {.overload = true};
    struct replay_result result;
    struct error err = {""};
    return run(&options, &result, &err) == STATUS_OK ? 0 : -1;
}

static void do_backward(void)
{
    char name[32];
    collective("ncclAllReduce", WORLD, 4096);
    if (is_played) {
        snprintf(name, sizeof name, "iteration %u", iteration);
        ((int (*)(const char *))core[NVTX_CALL_RangePushA])(name);
        ((int (*)(void))core[NVTX_CALL_RangePop])();
        if (play() != 0)
            exit(2);
    }
    collective("ncclAllReduce", WORLD, 8192);
    collective("ncclAllReduce", WORLD, 8192);
}

static void *backward(void *unused)
{
    for (;;) {
        sem_wait(&forward_is_over);
        do_backward();
        sem_post(&backward_is_over);
    }
    return unused;
}

static int train(int count)
{
    static pthread_t thread;
    if (!thread) {
        sem_init(&forward_is_over, 0, 0);
        sem_init(&backward_is_over, 0, 0);
        if (pthread_create(&thread, NULL, backward, NULL) != 0)
            return -1;
    }
    for (int i = 0; i < count; i++, iteration++) {
        collective("ncclAllReduce", WORLD, 4); /* of the loss */
        usleep(pace_us);
        sem_post(&forward_is_over);
        sem_wait(&backward_is_over);
    }
    return 0;
}

static int evaluate(int count)
{
    for (int i = 0; i < count; i++)
        collective("ncclAllGather", WORLD, 4096);
    return 0;
}

static void *use_other(void *unused)
{
    while (!atomic_load(&is_over)) {
        collective("ncclAllReduce", HALF, 4096);
        usleep(pace_us / 7);
    }
    return unused;
}

static int do_word(const char *word, const char *agent)
{
    static pthread_t other;
    if (strcmp(word, "inject") == 0)
        return inject(agent);
    if (strncmp(word, "init=", 5) == 0)
        return init(word + 5);
    if (strncmp(word, "pace=", 5) == 0)
        return (pace_us = (useconds_t)atoi(word + 5)), 0;
    if (strcmp(word, "busy") == 0)
        return pthread_create(&other, NULL, use_other, NULL);
    is_played = strncmp(word, "play=", 5) == 0;
    if (is_played)
        return train(atoi(word + 5));
    if (strncmp(word, "train=", 6) == 0)
        return train(atoi(word + 6));
    if (strncmp(word, "evaluate=", 9) == 0)
        return evaluate(atoi(word + 9));
    if (strncmp(word, "step=", 5) == 0)
        return cuspan_step(atoll(word + 5));
    if (strcmp(word, "on") == 0)
        return cuspan_is_on();
    if (strcmp(word, "nap") == 0)
        return usleep(100000);
    if (strcmp(word, "idle") == 0) {
        atomic_store(&is_over, true);
        return pthread_join(other, NULL);
    }
    fprintf(stderr, "no word %s\n", word);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    load_double(argv[1], argv[2]);
    for (int i = 4; i < argc; i++) {
        int answer = do_word(argv[i], argv[3]);
        printf("%.*s: %d\n", (int)strcspn(argv[i], "="), argv[i], answer);
        fflush(stdout);
    }
    return 0;
}
