/* A plain CUPTI counter, injected like the agent (CUDA_INJECTION64_PATH) but without any of its code: enables
 * the activity kinds that the agent enables by default, counts the records of each, and writes lines "kind
 * count" to $COUNTER_FILE at exit; with COUNTER_NODES graphs count node by node. The agent must make the same
 * number of spans. $COUNTER_CUPTI names the library. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER_BYTES (4 << 20)
#define KINDS        64

/* From CUPTI's headers; the kind is the first member of every record. */
struct context;
typedef void request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void complete_fn(struct context *context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid);
static int (*register_callbacks)(request_fn *, complete_fn *);
static int (*enable)(int kind);
static int (*next_record)(uint8_t *buffer, size_t valid, uint32_t **record);
static int (*flush_all)(uint32_t flag);

static const int kinds[] = {1 /* memcpy */, 2 /* memset */, 10 /* kernel */, 22 /* peer copy */,
                            51 /* graph */};
static unsigned long counts[KINDS];

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void complete(struct context *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    uint32_t *record = NULL;
    while (next_record(buffer, valid, &record) == 0)
        __atomic_fetch_add(&counts[*record % KINDS], 1, __ATOMIC_RELAXED);
    free(buffer);
}

static void finish(void)
{
    flush_all(1);
    const char *path = getenv("COUNTER_FILE");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(file, "%d %lu\n", kinds[i], counts[kinds[i]]);
    fclose(file);
}

int InitializeInjection(void);

int InitializeInjection(void)
{
    const char *path = getenv("COUNTER_CUPTI");
    void *cupti = dlopen(path ? path : "libcupti.so", RTLD_NOW);
    if (!cupti) {
        fprintf(stderr, "counter: %s\n", dlerror());
        return 1;
    }
    *(void **)&register_callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
    *(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
    *(void **)&next_record = dlsym(cupti, "cuptiActivityGetNextRecord");
    *(void **)&flush_all = dlsym(cupti, "cuptiActivityFlushAll");
    if (!register_callbacks || !enable || !next_record || !flush_all ||
        register_callbacks(request, complete) != 0) {
        fprintf(stderr, "counter: CUPTI does not take its callbacks\n");
        return 1;
    }
    int nodes = getenv("COUNTER_NODES") != NULL; /* graphs node by node: without kind 51 */
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds - (size_t)nodes; i++)
        if (enable(kinds[i]) != 0)
            fprintf(stderr, "counter: activity kind %d can't be enabled\n", kinds[i]);
    atexit(finish);
    return 1;
}
