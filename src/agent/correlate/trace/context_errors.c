#include "agent/correlate/trace/context_errors.h"

#include "base/accounting/counters.h"

#include <stdbool.h>

/* Whether the result ends the CUDA context. Both APIs use the same numbers for these errors. */
static bool is_fatal(int32_t result)
{
    switch (result) {
    case 214: /* cudaErrorECCUncorrectable */
    case 220: /* cudaErrorNvlinkUncorrectable */
    case 226: /* cudaErrorContained */
    case 700: /* cudaErrorIllegalAddress */
    case 702: /* cudaErrorLaunchTimeout */
    case 710: /* cudaErrorAssert */
    case 714: /* cudaErrorHardwareStackError */
    case 715: /* cudaErrorIllegalInstruction */
    case 716: /* cudaErrorMisalignedAddress */
    case 717: /* cudaErrorInvalidAddressSpace */
    case 718: /* cudaErrorInvalidPc */
    case 719: /* cudaErrorLaunchFailure */
    case 721: /* cudaErrorTensorMemoryLeak */
        return true;
    default:
        return false;
    }
}

void context_errors_note(struct context_errors *errors, const struct call_record *call)
{
    if (!is_fatal(call->result))
        return;
    for (uint32_t i = 0; i < errors->count; i++) {
        struct context_error *error = &errors->entries[i];
        if (error->context_id != call->context_id)
            continue;
        /* Rings are drained thread by thread, so the first report may come later. */
        if (call->end_ns < error->reported_ns)
            error->reported_ns = call->end_ns;
        return;
    }
    if (errors->count == CONTEXT_ERRORS_MAX)
        return;
    counter_add(COUNTER_context_errors, 1);
    errors->entries[errors->count++] = (struct context_error){
        call->context_id, (enum call_domain)call->head.domain, call->result, call->end_ns};
}

const struct context_error *context_errors_find(const struct context_errors *errors, uint32_t context_id,
                                                uint64_t launch_ns)
{
    for (uint32_t i = 0; i < errors->count; i++)
        if (errors->entries[i].context_id == context_id && launch_ns < errors->entries[i].reported_ns)
            return &errors->entries[i];
    return NULL;
}
