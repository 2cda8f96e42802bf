/* A C program that launches in two functions, and on another thread, for stacks of launches: it acts like
 * CUDA and CUPTI, with a CUPTI that does nothing. It has 200,000 other functions (many_functions.c), so that
 * naming its first frame takes the agent several rounds.
 *
 *   native_program AGENT CUPTI [TIMES]      each function launches TIMES (2) */
#include "agent/abi/cupti_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CBID_LAUNCH 211 /* of the runtime: cudaLaunchKernel */
#define NOT_INLINED __attribute__((noinline, noclone))

uint64_t many_first(void);

static cupti_callback_fn *on_call;
static uint32_t correlation;

NOT_INLINED static void launch(void)
{
    uint64_t kept = 0;
    int32_t result = 0;
    struct cupti_callback_data data = {.callbackSite = CUPTI_SITE_ENTER,
                                       .functionName = "cudaLaunchKernel",
                                       .functionReturnValue = &result,
                                       .contextUid = 1,
                                       .correlationData = &kept,
                                       .correlationId = ++correlation};
    on_call(NULL, CUPTI_DOMAIN_RUNTIME, CBID_LAUNCH, &data);
    data.callbackSite = CUPTI_SITE_EXIT;
    on_call(NULL, CUPTI_DOMAIN_RUNTIME, CBID_LAUNCH, &data);
    __asm__ volatile("" ::: "memory");
}

NOT_INLINED static void forward(void)
{
    launch();
    __asm__ volatile("" ::: "memory"); /* else the call would be a jump, and this function in no stack */
}

/* Not the same code as forward(), which a compiler might merge. */
NOT_INLINED static void backward(void)
{
    launch();
    __asm__ volatile("nop" ::: "memory");
}

NOT_INLINED static void *run_thread(void *times)
{
    for (int i = 0; i < *(int *)times; i++)
        backward();
    return NULL;
}

int main(int argc, char **argv)
{
    void *agent = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *cupti = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*begin)(void) = NULL;
    if (agent)
        *(void **)&begin = dlsym(agent, "InitializeInjection");
    cupti_callback_fn *_Atomic *callback = cupti ? dlsym(cupti, "fake_callback") : NULL;
    if (!begin || !callback || !begin() || !*callback)
        return 2;
    on_call = *callback;
    if (!many_first())
        return 2;
    int times = argc > 3 ? atoi(argv[3]) : 2;
    for (int i = 0; i < times; i++) {
        forward();
        usleep(20000); /* meanwhile the agent learns the rules of new frames */
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_thread, &times) != 0 || pthread_join(thread, NULL) != 0)
        return 2;
    return 0;
}
