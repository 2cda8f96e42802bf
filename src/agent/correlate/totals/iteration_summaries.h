/* The latest iterations of a serving engine in this process: what each did, and which requests with a trace
 * took part. If one that was not recorded turns out to have been slow, its summary is sent afterwards. */
#pragma once

#include "agent/correlate/totals/totals.h"
#include "agent/correlate/trace/engine_requests.h"
#include "model/iteration.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define SUMMARIES_KEPT         512
#define SUMMARIES_MEMBERS_KEPT 8192 /* of all these iterations together */
#define SUMMARY_MEMBERS_MAX    128  /* of one of them: the links that SDKs and viewers keep */
#define SUMMARY_TOKENS_MAX     ((1u << 20) - 1)

struct summary_member {
    uint32_t request : 11; /* index of a struct request; a later request with it began after the iteration */
    uint32_t phase : 1;    /* enum request_phase */
    uint32_t tokens : 20;  /* SUMMARY_TOKENS_MAX: so many or more */
};
static_assert(ENGINE_REQUESTS_MAX <= 1 << 11, "an index fits");

struct iteration_summary {
    uint64_t seed;
    int64_t number;
    uint64_t begin_ns, end_ns, gpu_ns;
    struct totals totals; /* without devices */
    uint64_t tokens[REQUEST_PHASES];
    uint64_t first_member; /* of all members so far */
    uint32_t member_count, requests;
    uint8_t kind;     /* enum iteration_kind */
    bool is_measured; /* otherwise the GPU's part is unknown */
    bool has_trace;   /* it was recorded, or its summary was sent */
};

struct iteration_summaries {
    uint64_t count, member_count; /* so far */
    struct iteration_summary kept[SUMMARIES_KEPT];
    struct summary_member members[SUMMARIES_MEMBERS_KEPT];
};

/* Forgets the oldest and returns an empty one, owned by `summaries`. */
struct iteration_summary *iteration_summaries_add(struct iteration_summaries *summaries, uint64_t seed,
                                                  int64_t number);
/* Adds a member to the summary that was added last, or counts it only: it has SUMMARY_MEMBERS_MAX. */
void iteration_summaries_add_member(struct iteration_summaries *summaries, uint32_t request, unsigned phase,
                                    uint32_t tokens);
/* NULL: it is gone, or some of its members are. */
struct iteration_summary *iteration_summaries_find(struct iteration_summaries *summaries, uint64_t seed,
                                                   int64_t number);
/* `index` is below member_count and SUMMARY_MEMBERS_MAX. */
const struct summary_member *iteration_summaries_member(const struct iteration_summaries *summaries,
                                                        const struct iteration_summary *summary,
                                                        uint32_t index);
