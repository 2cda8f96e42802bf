/* Prints our sampler's decisions: a line "TRACE_ID TRACESTATE" in ("-": no tracestate), a line "0|1
 * TRACESTATE" out. */
#include "agent/correlate/trace/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool decide(struct sampler *sampler, char *line)
{
    struct trace_context context;
    char parent[1100], trace_state[TRACE_STATE_MAX];
    char *before = strchr(line, ' ');
    if (!before)
        return false;
    *before++ = 0;
    before[strcspn(before, "\n")] = 0;
    snprintf(parent, sizeof parent, "00-%s-00f067aa0ba902b7-00", line);
    if (!trace_context_parse(parent, strcmp(before, "-") == 0 ? NULL : before, &context))
        return false;
    bool is_sampled = sampler_decide(sampler, &context, context.trace_id, 0, trace_state);
    printf("%d %s\n", is_sampled, *trace_state ? trace_state : "-");
    return true;
}

int main(int argc, char **argv)
{
    static struct sampler sampler;
    static char line[1024];
    if (argc != 2) {
        fprintf(stderr, "usage: sampler_decisions RATIO <LINES\n");
        return 2;
    }
    struct settings settings = {.sampler = SAMPLER_TRACE_ID_RATIO, .sampler_ratio = strtod(argv[1], NULL)};
    sampler_init(&sampler, &settings);
    while (fgets(line, sizeof line, stdin)) {
        if (!decide(&sampler, line)) {
            fprintf(stderr, "sampler_decisions: not understood: %s\n", line);
            return 1;
        }
    }
    return 0;
}
