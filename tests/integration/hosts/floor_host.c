/* Plays a recording to the floor of the benchmark (tests/bench/programs/floor.c) twice, like a program that
 * works a little, prints that, creates FILE and continues. If CUSPAN_FLOOR_OFF_FILE is set, it names FILE,
 * and the program continues once the floor has removed it. Prints for each time how many callbacks and how
 * many records the floor received.
 *
 *   floor_host FLOOR DOUBLE RECORDING FILE */
#include "host_support.h"
#include "agent/recording/replay_seam.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define POLL_US 1000

static void play(const char *library)
{
    cuspan_replay_run_fn *run = (cuspan_replay_run_fn *)find(library, "cuspan_replay_run");
    const struct replay_options options = {.repeat = 3};
    struct replay_result result;
    struct error err = {""};
    if (run(&options, &result, &err) != STATUS_OK) {
        fprintf(stderr, "floor_host: %s\n", err.text);
        exit(1);
    }
    printf("%llu %llu\n", (unsigned long long)result.calls, (unsigned long long)result.activities);
}

int main(int argc, char **argv)
{
    struct error err = {""};
    if (argc != 5)
        return 2;
    cuspan_replay_load_fn *load = (cuspan_replay_load_fn *)find(argv[2], "cuspan_replay_load");
    if (load(argv[3], &err) != STATUS_OK)
        return 1;
    ((int (*)(void))find(argv[1], "InitializeInjection"))();
    play(argv[2]);
    FILE *file = fopen(argv[4], "w");
    if (!file)
        return 1;
    fclose(file);
    while (getenv("CUSPAN_FLOOR_OFF_FILE") && access(argv[4], F_OK) == 0)
        usleep(POLL_US);
    play(argv[2]);
    return 0;
}
