#include "model/cuda/step_host.h"

#define HOST_GAP_NS     150000 /* PyTorch needs 10 to 150 us between two calls */
#define HOST_RESUMES_NS 50000  /* after the collective that the host waited for */
#define HOST_CALL_NS    50000  /* a longer call blocks: a full queue of launches, an allocation */

/* A gap between two calls, in which the program works, unless it resumes as soon as a collective has ended:
 * then it has waited for it in some way that needs no call. */
static uint64_t worked_in_gap(uint64_t from_ns, uint64_t until_ns, uint64_t ended_ns)
{
    uint64_t gap = until_ns - from_ns;
    bool has_waited = ended_ns > from_ns && ended_ns <= until_ns && until_ns - ended_ns < HOST_RESUMES_NS;
    return has_waited && gap > HOST_GAP_NS ? HOST_GAP_NS : gap;
}

void step_host_add_call(struct step_host *host, uint64_t begin_ns, uint64_t start_ns, uint64_t end_ns,
                        bool waits, uint64_t communicated_ns)
{
    uint64_t at = host->until_ns ? host->until_ns : begin_ns;
    uint64_t from = start_ns > at ? start_ns : at;
    if (start_ns > at)
        host->worked_ns += worked_in_gap(at, start_ns, communicated_ns);
    if (end_ns > from && !waits)
        host->worked_ns += end_ns - from < HOST_CALL_NS ? end_ns - from : HOST_CALL_NS;
    host->until_ns = end_ns > at ? end_ns : at;
}
