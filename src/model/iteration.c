#include "model/iteration.h"

#include "base/hash.h"

#include <string.h>

const char *iteration_kind_name(uint8_t kind)
{
    static const char *const names[] = {"forward", "dummy", "transfer", "warm_up"};
    return names[kind];
}

const char *request_end_name(uint32_t reason)
{
    static const char *const names[] = {"finished", "aborted", "failed"};
    return names[reason];
}

const char *request_phase_name(enum request_phase phase)
{
    return phase == REQUEST_PREFILL ? "prefill" : "decode";
}

void header_write_name(char to[HEADER_NAME_BYTES], const char *name)
{
    size_t at = 0;
    for (; name[at] && at + 1 < HEADER_NAME_BYTES; at++) {
        bool is_upper = name[at] >= 'A' && name[at] <= 'Z';
        bool is_plain = (name[at] >= 'a' && name[at] <= 'z') || (name[at] >= '0' && name[at] <= '9') ||
                        name[at] == '-' || name[at] == '_';
        to[at] = is_upper ? (char)(name[at] - 'A' + 'a') : name[at];
        if (!is_upper && !is_plain)
            to[at] = '_';
    }
    to[at] = '\0';
}

void client_text_write(char *to, size_t bytes, const char *text, bool has_spaces)
{
    size_t at = 0;
    for (; text[at] && at + 1 < bytes; at++) {
        bool is_shown = text[at] > ' ' && text[at] < 0x7f;
        to[at] = is_shown || (has_spaces && text[at] == ' ') ? text[at] : '?';
    }
    to[at] = '\0';
}

static uint64_t key_of(uint64_t seed, int64_t number)
{
    return hash_mix(hash_mix(seed) ^ (uint64_t)number);
}

struct step_identity iteration_identify(uint64_t seed, int64_t number)
{
    return step_identity_of(key_of(seed, number), step_randomness(seed, number));
}

void iteration_rank_span(uint64_t seed, int64_t number, int32_t rank, uint8_t span_id[8])
{
    uint64_t id = hash_mix(key_of(seed, number) ^ ((uint64_t)(uint32_t)rank + 4)) | 1; /* no ID is all zero */
    memcpy(span_id, &id, 8);
}

static bool is_sampled_by_number(const struct step_rules *rules, uint64_t seed, int64_t number)
{
    return step_randomness(seed, number) >= rules->iteration_threshold;
}

bool iteration_is_sampled(const struct step_rules *rules, const struct iteration *iteration)
{
    return iteration->is_recorded || is_sampled_by_number(rules, iteration->seed, iteration->number);
}

bool iteration_is_watched(const struct step_rules *rules, const struct iteration *iteration)
{
    return iteration_is_sampled(rules, iteration) ||
           is_sampled_by_number(rules, iteration->seed, (int64_t)((uint64_t)iteration->number + 1));
}
