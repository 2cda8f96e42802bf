/* A program that allocates in two functions, for call stacks of allocations: it acts like CUDA and CUPTI when
 * cudaMalloc is called, with a CUPTI that does nothing else.
 *
 *   stack_host AGENT CUPTI [TIMES [PAUSE_US]]
 *
 * Each function allocates TIMES (2), and nothing is ever freed. After the first time, the program pauses, so
 * that the agent learns the rules of the frames. Prints how long the callbacks of the fastest later call
 * took, in ns */
#include "agent/abi/cupti_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CBID_MALLOC 20 /* of the runtime: cudaMalloc */
#define IN_STACKS   __attribute__((noinline, visibility("default")))

static cupti_callback_fn *on_call;
static uint32_t correlation;
static uint64_t fastest_ns = UINT64_MAX;

struct malloc_params {
    void **pointer;
    size_t bytes;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void call(uint32_t cbid, const char *name, void *params)
{
    uint64_t kept = 0;
    int32_t result = 0;
    struct cupti_callback_data data = {.callbackSite = CUPTI_SITE_ENTER,
                                       .functionName = name,
                                       .functionParams = params,
                                       .functionReturnValue = &result,
                                       .contextUid = 1,
                                       .correlationData = &kept,
                                       .correlationId = ++correlation};
    uint64_t begin = now_ns();
    on_call(NULL, CUPTI_DOMAIN_RUNTIME, cbid, &data);
    data.callbackSite = CUPTI_SITE_EXIT;
    on_call(NULL, CUPTI_DOMAIN_RUNTIME, cbid, &data);
    uint64_t took = now_ns() - begin;
    fastest_ns = took < fastest_ns ? took : fastest_ns;
}

static void *allocate(size_t bytes)
{
    static char *next = (char *)0x7f0000000000;
    void *made = next;
    struct malloc_params params = {&made, bytes};
    next += 1 << 21;
    call(CBID_MALLOC, "cudaMalloc", &params);
    return made;
}

IN_STACKS void *load_weights(size_t bytes);
IN_STACKS void *load_weights(size_t bytes)
{
    void *made = allocate(bytes);
    __asm__ volatile("" ::: "memory"); /* else the call would be a jump, and this function in no stack */
    return made;
}

IN_STACKS void *make_scratch(size_t bytes);
IN_STACKS void *make_scratch(size_t bytes)
{
    void *made = allocate(bytes);
    __asm__ volatile("" ::: "memory");
    return made;
}

/* On a thread with 200 more frames. */
IN_STACKS void *go_deep(void *left);
IN_STACKS void *go_deep(void *left)
{
    uintptr_t count = (uintptr_t)left;
    void *made = count ? go_deep((void *)(count - 1)) : allocate(4096);
    __asm__ volatile("" ::: "memory");
    return made;
}

IN_STACKS int main(int argc, char **argv);
IN_STACKS int main(int argc, char **argv)
{
    void *agent = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *cupti = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*begin)(void) = agent ? (int (*)(void))dlsym(agent, "InitializeInjection") : NULL;
    cupti_callback_fn *_Atomic *callback = cupti ? dlsym(cupti, "fake_callback") : NULL;
    if (!begin || !callback || !begin() || !*callback)
        return 2;
    on_call = *callback;
    int times = argc > 3 ? atoi(argv[3]) : 2;
    for (volatile int i = 0; i < times; i++) { /* volatile: all calls are in the same places */
        load_weights(1 << 20);
        make_scratch(4096);
        if (i == 0) {
            usleep(argc > 4 ? (useconds_t)atoi(argv[4]) : 0);
            fastest_ns = UINT64_MAX;
        }
    }
    pthread_t thread;
    if (times > 0 &&
        (pthread_create(&thread, NULL, go_deep, (void *)200) != 0 || pthread_join(thread, NULL) != 0))
        return 2;
    printf("%llu\n", (unsigned long long)fastest_ns);
    return 0;
}
