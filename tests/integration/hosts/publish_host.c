/* A program whose published contexts are read by others, and that publishes its process context late:
 *
 *   publish_host LIBRARY [ask] [shown] [hidden] DOUBLE RECORDING
 *
 * Loads the agent like the driver and plays the recording; publishes a process context (OTEP 4719), gives the
 * agent PUBLISH_HOST_WAIT_S seconds to read it, and plays it again. Before that, with `ask`, it requests with
 * cuspan.h that its threads' contexts be published (OTEP 4947); with `shown` or `hidden` it attaches one and
 * reads it like an eBPF profiler. Prints every fault, then "host: done", and exits with status 7, or 1. */
#include "host_support.h"
#include "cuspan/cuspan.h"
#include "agent/recording/replay_seam.h"
#include "support/thread_ctx_reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static int wrong;

static void complain(const char *what)
{
    printf("host: %s\n", what);
    wrong = 1;
}

static void play(const char *library)
{
    struct replay_options options = {.repeat = 1};
    struct replay_result result;
    struct error err = {""};
    cuspan_replay_run_fn *run = (cuspan_replay_run_fn *)find(library, "cuspan_replay_run");
    if (run(&options, &result, &err) != STATUS_OK)
        complain(err.text);
}

/* --- the thread's context --- */

static void check_seen(const cuspan_context *context, bool is_shown)
{
    struct read_context seen;
    if (reader_find() == 0) {
        if (is_shown)
            complain("the symbol isn't there");
        return;
    }
    reader_read(&seen);
    bool is_it = seen.valid == 1 && memcmp(seen.trace_id, context->trace_id, 16) == 0 &&
                 memcmp(seen.span_id, context->span_id, 8) == 0 && seen.flags == context->flags;
    if (is_it != is_shown)
        complain(is_shown ? "the context isn't shown" : "the context is shown");
}

static void check_context(bool is_shown)
{
    cuspan_context context, range;
    cuspan_parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", NULL, &context);
    uint64_t token = cuspan_attach(&context);
    check_seen(&context, is_shown);
    uint64_t id = cuspan_range("inner", NULL, 0);
    if (!id || !cuspan_current(&range))
        complain("there is no range");
    check_seen(&range, is_shown);
    cuspan_end(id);
    check_seen(&context, is_shown);
    cuspan_detach(token);
    check_seen(&context, false);
}

/* --- the process's context --- */

static void publish_process(void)
{
    static const char payload[] = "\x0a\x2f"
                                  "\x0a\x1b\x0a\x0cservice.name\x12\x0b\x0a\x09late-shop"
                                  "\x0a\x10\x0a\x06sizing\x12\x06\x0a\x04tiny";
    struct {
        char signature[8];
        uint32_t version, payload_bytes;
        uint64_t published_ns;
        const void *payload;
    } header = {"", 2, sizeof payload - 1, 1, NULL};
    int file = memfd_create("OTEL_CTX", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, PAGE) != 0)
        exit(1);
    char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
    memcpy(at + sizeof header, payload, sizeof payload);
    header.payload = at + sizeof header;
    memcpy(at, &header, sizeof header);
    memcpy(at, "OTEL_CTX", 8);
}

/* Waits until there are that many process contexts. */
static void expect_process_contexts(int expected)
{
    const struct timespec pause = {0, 10 * 1000 * 1000};
    int count = -1;
    for (int i = 0; count != expected && i < 12000; i++) {
        char line[512];
        FILE *maps = fopen("/proc/self/maps", "re");
        count = 0;
        while (maps && fgets(line, sizeof line, maps))
            count += strstr(line, "OTEL_CTX") != NULL;
        if (maps)
            fclose(maps);
        nanosleep(&pause, NULL);
    }
    if (count != expected)
        printf("host: %d process contexts in place of %d\n", count, expected);
    wrong |= count != expected;
}

static bool has(int argc, char **argv, const char *word)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct error err = {""};
    const char *looks_s = getenv("PUBLISH_HOST_WAIT_S");
    const struct timespec looks = {looks_s ? atoi(looks_s) : 0, 0};
    if (argc < 4)
        return 2;
    const char *library = argv[argc - 2];
    cuspan_replay_load_fn *load = (cuspan_replay_load_fn *)find(library, "cuspan_replay_load");
    if (load(argv[argc - 1], &err) != STATUS_OK)
        complain(err.text);
    ((int (*)(void))find(argv[1], "InitializeInjection"))();
    if (has(argc, argv, "ask") && cuspan_publish(1) != 0)
        complain("cuspan_publish() can't");
    if (has(argc, argv, "shown") || has(argc, argv, "hidden"))
        check_context(has(argc, argv, "shown"));
    play(library);
    if (looks.tv_sec &&
        cuspan_flush(60000) != 0) /* what was played belongs to the time before the publication */
        complain("cuspan_flush() fails");
    expect_process_contexts(has(argc, argv, "shown"));
    publish_process();
    nanosleep(&looks, NULL);
    if (has(argc, argv, "shown"))
        expect_process_contexts(1); /* ours is withdrawn */
    play(library);
    printf("host: done\n");
    return wrong ? 1 : 7;
}
