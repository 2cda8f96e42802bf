/* A program that a test controls: it loads the agent like the CUDA driver, plays a recording on command, and
 * ends when its standard input does.
 *
 *   faults_host LIBRARY DOUBLE RECORDING [impatient]
 *
 * Commands, each answered with a line: "play N" plays N times, as fast as the agent accepts; "steady MS N"
 * once per MS milliseconds of its clock, without waiting for the agent. With "impatient" the agent does not
 * wait for a collector either, as in a real program. */
#include "host_support.h"
#include "agent/recording/replay_seam.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void play(cuspan_replay_run_fn *run, const struct replay_options *options)
{
    struct replay_result result;
    struct error err;
    if (run(options, &result, &err) != STATUS_OK) {
        fprintf(stderr, "faults_host: %s\n", err.text);
        exit(1);
    }
}

/* Follows a fixed schedule: after a delay it catches up. */
static void play_steadily(cuspan_replay_run_fn *run, double every_ms, long times)
{
    static const struct replay_options options = {.overload = true};
    double next_ms = now_ms();
    for (long i = 0; i < times; i++) {
        play(run, &options);
        next_ms += every_ms;
        double left_ms = next_ms - now_ms();
        if (left_ms > 0) {
            struct timespec left = {.tv_sec = (time_t)(left_ms / 1e3),
                                    .tv_nsec = (long)(left_ms * 1e6) % 1000000000};
            nanosleep(&left, NULL);
        }
    }
}

int main(int argc, char **argv)
{
    struct error err;
    char command[64];
    double every_ms;
    long times;
    if (argc != 4 && argc != 5)
        return 2;
    cuspan_replay_load_fn *load = (cuspan_replay_load_fn *)find(argv[2], "cuspan_replay_load");
    cuspan_replay_run_fn *run = (cuspan_replay_run_fn *)find(argv[2], "cuspan_replay_run");
    if (load(argv[3], &err) != STATUS_OK) {
        fprintf(stderr, "faults_host: %s\n", err.text);
        return 1;
    }
    if (argc == 5) /* before the agent starts, which then checks whether the player waits */
        play(run, &(struct replay_options){.overload = true});
    int (*initialize)(void) = (int (*)(void))find(argv[1], "InitializeInjection");
    if (initialize() != 1)
        return 1;
    while (fgets(command, sizeof command, stdin)) {
        if (sscanf(command, "steady %lf %ld", &every_ms, &times) == 2)
            play_steadily(run, every_ms, times);
        else if (sscanf(command, "play %ld", &times) == 1)
            play(run, &(struct replay_options){.repeat = (uint32_t)times});
        else
            return 2;
        printf("done\n");
        fflush(stdout);
    }
    return 7;
}
