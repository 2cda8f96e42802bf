/* replay_sample FILE [THREADS [CALLS [requests|names|links|counters|counted-requests]]], replay_sample FILE
 * graphs|graph-nodes|graph-code|graph-makers|collectives: writes a synthetic recording (replay_sample.h), for
 * use without a GPU. */
#include "replay_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: replay_sample FILE [THREADS [CALLS [requests | names | links | counters | "
                        "counted-requests]] | graphs | "
                        "graph-nodes | graph-code | graph-makers | collectives]\n");
        return 2;
    }
    bool with_nodes = argc > 2 && strcmp(argv[2], "graph-nodes") == 0;
    if (with_nodes || (argc > 2 && strcmp(argv[2], "graphs") == 0))
        return sample_write_graphs(argv[1], with_nodes) ? 0 : 1;
    if (argc > 2 && strcmp(argv[2], "graph-code") == 0)
        return sample_write_graph_code(argv[1]) ? 0 : 1;
    if (argc > 2 && strcmp(argv[2], "graph-makers") == 0)
        return sample_write_graph_makers(argv[1]) ? 0 : 1;
    if (argc > 2 && strcmp(argv[2], "collectives") == 0)
        return sample_write_collectives(argv[1]) ? 0 : 1;
    struct sample sample = {.threads = argc > 2 ? (unsigned)atoi(argv[2]) : 4,
                            .calls = argc > 3 ? (unsigned)atoi(argv[3]) : 1000,
                            .has_requests = argc > 4 && strstr(argv[4], "requests"),
                            .has_counters = argc > 4 && strncmp(argv[4], "count", 5) == 0,
                            .has_names = argc > 4 && strcmp(argv[4], "names") == 0,
                            .has_links = argc > 4 && strcmp(argv[4], "links") == 0};
    return sample_write(argv[1], &sample) ? 0 : 1;
}
