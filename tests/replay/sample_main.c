/* replay_sample FILE [THREADS [CALLS [requests]]]: writes the made-up recording of sample.h, for trying
 * things without a GPU. */
#include "sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: replay_sample FILE [THREADS [CALLS [requests]]]\n");
        return 2;
    }
    struct sample sample = {.threads = argc > 2 ? (unsigned)atoi(argv[2]) : 4,
                            .calls = argc > 3 ? (unsigned)atoi(argv[3]) : 1000,
                            .has_requests = argc > 4 && strcmp(argv[4], "requests") == 0};
    return sample_write(argv[1], &sample) ? 0 : 1;
}
