/* Keeps the CUDA contexts that a fatal error has ended, such as a device-side assert or an illegal address.
 * The error is sticky: every later call in the context returns it. CUPTI gives the stopped work no end, or no
 * times at all. */
#pragma once

#include "model/cuda/calls.h"
#include "model/record.h"

#define CONTEXT_ERRORS_MAX 16 /* later ones are not kept: their work counts as lost_zero_timestamps */

struct context_error {
    uint32_t context_id;
    enum call_domain domain; /* the API that `result` belongs to */
    int32_t result;
    uint64_t reported_ns; /* when the first call that returned it ended */
};

struct context_errors {
    uint32_t count;
    struct context_error entries[CONTEXT_ERRORS_MAX];
};

/* Keeps the error that the call returned, if it is a fatal one. */
void context_errors_note(struct context_errors *errors, const struct call_record *call);

/* Returns the error that can have stopped work of this context whose launch started at `launch_ns`; NULL:
 * none. */
const struct context_error *context_errors_find(const struct context_errors *errors, uint32_t context_id,
                                                uint64_t launch_ns);
