#include "agent/correlate/totals/iteration_summaries.h"

struct iteration_summary *iteration_summaries_add(struct iteration_summaries *summaries, uint64_t seed,
                                                  int64_t number)
{
    struct iteration_summary *added = &summaries->kept[summaries->count++ % SUMMARIES_KEPT];
    *added =
        (struct iteration_summary){.seed = seed, .number = number, .first_member = summaries->member_count};
    return added;
}

void iteration_summaries_add_member(struct iteration_summaries *summaries, uint32_t request, unsigned phase,
                                    uint32_t tokens)
{
    struct iteration_summary *latest = &summaries->kept[(summaries->count - 1) % SUMMARIES_KEPT];
    uint32_t shown = tokens < SUMMARY_TOKENS_MAX ? tokens : SUMMARY_TOKENS_MAX;
    if (latest->member_count++ < SUMMARY_MEMBERS_MAX)
        summaries->members[summaries->member_count++ % SUMMARIES_MEMBERS_KEPT] =
            (struct summary_member){.request = request & (ENGINE_REQUESTS_MAX - 1),
                                    .phase = phase & 1,
                                    .tokens = shown & SUMMARY_TOKENS_MAX};
}

struct iteration_summary *iteration_summaries_find(struct iteration_summaries *summaries, uint64_t seed,
                                                   int64_t number)
{
    uint64_t first = summaries->count > SUMMARIES_KEPT ? summaries->count - SUMMARIES_KEPT : 0;
    for (uint64_t i = summaries->count; i > first; i--) {
        struct iteration_summary *known = &summaries->kept[(i - 1) % SUMMARIES_KEPT];
        if (known->number == number && known->seed == seed)
            return summaries->member_count - known->first_member <= SUMMARIES_MEMBERS_KEPT ? known : NULL;
    }
    return NULL;
}

const struct summary_member *iteration_summaries_member(const struct iteration_summaries *summaries,
                                                        const struct iteration_summary *summary,
                                                        uint32_t index)
{
    return &summaries->members[(summary->first_member + index) % SUMMARIES_MEMBERS_KEPT];
}
