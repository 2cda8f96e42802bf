/* Measures the cost of cuspan.h's contexts and ranges for a thread, and what publishing them adds
 * (agent/capture/context/publish.h): build/context_bench. Each line is the median of nine alternating runs,
 * of a start and an end together.
 */
#include "measured.h"
#include "agent/capture/callbacks/callbacks.h"
#include "agent/capture/context/context.h"
#include "agent/capture/context/range.h"
#include "agent/capture/context/publish.h"
#include "agent/capture/threads/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS   9
#define ROUNDS 1000000
#define DRAIN  512 /* rounds after which the ring is emptied, as the pipeline would */

static struct trace_context context;

static void attach_detach(void)
{
    context.span_id[7]++;
    context_detach(context_attach(&context, true));
}

static void push_end(void)
{
    static const struct range_text text = {.name = "step", .name_bytes = 4};
    range_end(range_push(&text), NULL);
}

static void drain(void)
{
    if (!thread_known())
        return;
    uint64_t published = ring_published(&thread_known()->ring);
    while (ring_peek(&thread_known()->ring, published))
        ring_release(&thread_known()->ring);
}

static double run(void (*work)(void))
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (unsigned i = 0; i < ROUNDS; i++) {
        work();
        if (i % DRAIN == 0)
            drain();
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / ROUNDS;
}

static void measure(const char *name, void (*work)(void), const char *folder)
{
    double ns[2][RUNS];
    struct error err = {""};
    for (int i = 0; i < RUNS; i++)
        for (int published = 0; published < 2; published++) {
            if (!published)
                publish_end();
            else if (publish_begin(folder, &err) != STATUS_OK)
                exit(fprintf(stderr, "%s\n", err.text) > 0);
            context_publish();
            ns[published][i] = run(work);
        }
    for (int published = 0; published < 2; published++) {
        sort(ns[published], RUNS);
        printf("%-18s %-13s %6.1f ns (%.1f to %.1f)\n", name, published ? "published" : "",
               ns[published][RUNS / 2], ns[published][0], ns[published][RUNS - 1]);
    }
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : FOLDER;
    if (callbacks_init(true) != STATUS_OK || threads_init(256 * 1024, 1024 * 1024) != STATUS_OK)
        return 1;
    atomic_store(&mode_now, MODE_ON);
    memset(&context, 1, sizeof context);
    *context.trace_state = 0;
    measure("attach, detach", attach_detach, folder);
    context_attach(&context, true);
    measure("range, end", push_end, folder);
    return 0;
}
