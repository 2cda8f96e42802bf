#include "model/step.h"

#include "base/hash.h"

#include <string.h>

#define FIRST_CERTAIN 3
#define LAST_CERTAIN  4
#define HASH_BITS     24 /* of the randomness, below the reversed number */
#define EXTRA_RANKS   2  /* besides a subset: rank 0, and the rank in full detail */

const char *step_source_name(uint8_t source)
{
    static const char *const names[] = {"api", "optimizer", "nvtx", "collectives"};
    return names[source];
}

const char *step_kind_name(uint8_t kind)
{
    static const char *const names[] = {"train", "evaluation", "checkpoint"};
    return names[kind];
}

static uint32_t reverse_bits(uint32_t value)
{
    value = (value >> 1 & 0x55555555u) | (value & 0x55555555u) << 1;
    value = (value >> 2 & 0x33333333u) | (value & 0x33333333u) << 2;
    value = (value >> 4 & 0x0f0f0f0fu) | (value & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(value);
}

bool step_is_joint(const struct step_rules *rules, uint64_t nonce)
{
    return rules->rank >= 0 && (rules->job != 0 || nonce != 0);
}

uint64_t step_randomness(uint64_t of, int64_t number)
{
    uint64_t seed = hash_mix(of);
    uint32_t reversed = reverse_bits((uint32_t)number + (uint32_t)seed);
    uint64_t low = hash_mix(seed ^ hash_mix((uint64_t)number)) >> (64 - HASH_BITS);
    return (uint64_t)reversed << HASH_BITS | low;
}

/* Of the job without the nonce: the sampling decision must not change when a communicator appears. */
static uint64_t randomness_of(const struct step_rules *rules, int64_t number)
{
    return step_randomness(rules->job, number);
}

struct step_identity step_identity_of(uint64_t key, uint64_t randomness)
{
    struct step_identity identity = {.randomness = randomness};
    uint64_t words[3] = {hash_mix(key ^ 1), hash_mix(key ^ 2), hash_mix(key ^ 3) | 1}; /* no ID is all zero */
    words[1] |= words[0] == 0;
    memcpy(identity.trace_id, words, 16);
    memcpy(identity.span_id, words + 2, 8);
    return identity;
}

struct step_identity step_identify(const struct step_rules *rules, const struct step_boundary *boundary)
{
    uint64_t base = step_is_joint(rules, boundary->nonce) ? hash_mix(rules->job) : hash_mix(~rules->own);
    uint64_t key =
        hash_mix(hash_mix(hash_mix(base ^ boundary->nonce) ^ (uint64_t)boundary->number) ^ boundary->kind);
    return step_identity_of(key, randomness_of(rules, boundary->number));
}

void step_detail_trace(const struct step_rules *rules, const struct step_identity *identity,
                       uint8_t trace_id[16])
{
    uint64_t words[2];
    memcpy(words, identity->trace_id, 16);
    words[0] = hash_mix(words[0] ^ hash_mix((uint64_t)rules->rank + 1));
    words[1] = hash_mix(words[1] ^ words[0]) | 1;
    memcpy(trace_id, words, 16);
}

bool step_is_certain(const struct step_rules *rules, int64_t number)
{
    return rules->always_first && number >= FIRST_CERTAIN && number <= LAST_CERTAIN;
}

bool step_is_sampled(const struct step_rules *rules, int64_t number, uint8_t kind)
{
    if (kind == STEP_NONE)
        return false;
    return step_is_certain(rules, number) || randomness_of(rules, number) >= rules->threshold;
}

struct step_share step_share_of(const struct step_rules *rules, int64_t number)
{
    uint64_t world = (uint64_t)rules->world_size, rank = (uint64_t)rules->rank;
    uint64_t ratio = (1ull << STEP_RANDOMNESS_BITS) - rules->threshold;
    /* Counts up by 1 from one sampled step to the next one, on average. */
    uint64_t turn = (uint64_t)((unsigned __int128)(uint64_t)number * ratio >> STEP_RANDOMNESS_BITS);
    if (!rules->spans_max || rules->world_size < 2 || rules->rank < 0)
        return (struct step_share){.takes_part = true};
    struct step_share share = {.is_full_turn = turn % world == rank};
    uint64_t together_max = rules->spans_max / STEP_SHARE_MIN, senders = world;
    share.takes_part = true;
    if (world > together_max) {
        uint64_t subset_max = together_max > EXTRA_RANKS ? together_max - EXTRA_RANKS : 1;
        uint64_t subsets = (world + subset_max - 1) / subset_max;
        senders = (world + subsets - 1) / subsets + EXTRA_RANKS;
        share.takes_part = rank == 0 || share.is_full_turn || rank % subsets == turn % subsets;
    }
    uint64_t spans = rules->spans_max / senders;
    share.spans = (uint32_t)(spans > STEP_SHARE_MIN ? spans : STEP_SHARE_MIN);
    return share;
}

bool step_is_watched(const struct step_rules *rules, int64_t number, uint8_t kind)
{
    return step_is_sampled(rules, number, kind) ||
           step_is_sampled(rules, (int64_t)((uint64_t)number + 1), STEP_TRAIN);
}
