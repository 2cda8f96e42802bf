/* A program whose threads call CUDA without a pause, also while main returns: as some poll a stream or an
 * event.
 *
 *   polling_host LIBCUSPAN FAKE-CUPTI        prints "host: done" and exits with status 7
 *
 * It makes the callbacks itself: the fake CUPTI only keeps whom to call. */
#include "host_support.h"
#include "agent/abi/cupti_abi.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS 6
#define CALL_ID 1 /* any that detail full has */

static void *poll_forever(void *callback)
{
    int32_t result = 0;
    uint64_t word = 0;
    struct cupti_callback_data data = {
        .functionReturnValue = &result, .contextUid = 1, .correlationData = &word};
    for (;;) {
        data.correlationId++;
        data.callbackSite = CUPTI_SITE_ENTER;
        (*(cupti_callback_fn **)callback)(NULL, CUPTI_DOMAIN_RUNTIME, CALL_ID, &data);
        data.callbackSite = CUPTI_SITE_EXIT;
        (*(cupti_callback_fn **)callback)(NULL, CUPTI_DOMAIN_RUNTIME, CALL_ID, &data);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int (*initialize)(void) = (int (*)(void))find(argv[1], "InitializeInjection");
    initialize();
    void *callback = find(argv[2], "fake_callback");
    if (!*(cupti_callback_fn **)callback)
        return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, poll_forever, callback) == 0)
            pthread_detach(thread);
    }
    usleep(100000);
    printf("host: done\n");
    return 7;
}
