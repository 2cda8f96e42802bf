/* Shows on standard error, in one line, how far a long job is. Only if standard error is a terminal, and only
 * if the job takes longer than a moment. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *what;
    uint64_t begun_ns;
    uint64_t shown_ns;
    bool is_on;
    bool is_shown;
};

/* `what` must outlive the progress: "reading trace.jsonl". */
void progress_begin(struct progress *progress, const char *what);
/* A callback: `progress` is a struct progress. `whole` 0: unknown. Cheap enough to call in a loop. */
void progress_update(void *progress, uint64_t part, uint64_t whole);
/* Removes the line. */
void progress_end(struct progress *progress);
