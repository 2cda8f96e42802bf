#include "agent/correlate/trace/sampler.h"

#include "base/clock.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define MEMBER       "ot"
#define DIGITS_MAX   14  /* of `th` and `rv`, in hexadecimal */
#define OT_VALUE_MAX 256 /* the specification's limit */
#define NO_VALUE     UINT64_MAX

/* The member `ot` of a tracestate, which is OpenTelemetry's. */
struct ot_member {
    uint64_t threshold, randomness; /* NO_VALUE: missing or invalid */
    char rest[OT_VALUE_MAX + 1];    /* its parts without `th`, such as "rv:...;x:y" */
};

/* Rounds half to even, as other SDKs do. Without libm, which the agent does not link. */
static uint64_t round_to_even(double value)
{
    uint64_t whole = (uint64_t)value;
    double rest = value - (double)whole;
    return whole + (rest > 0.5 || (rest == 0.5 && (whole & 1)));
}

uint64_t sampler_threshold(double ratio)
{
    return SAMPLER_NEVER - round_to_even(ratio * (double)SAMPLER_NEVER);
}

void sampler_format_threshold(uint64_t threshold, char text[SAMPLER_THRESHOLD_MAX + 1])
{
    int length = snprintf(text, SAMPLER_THRESHOLD_MAX + 1, "th:%014llx", (unsigned long long)threshold);
    while (length > 4 && text[length - 1] == '0')
        text[--length] = 0;
}

/* Reads up to 14 hexadecimal digits, to which missing trailing zeros are added; NO_VALUE: invalid. */
static uint64_t parse_digits(const char *text, size_t length, size_t length_min)
{
    uint64_t value = 0;
    if (length < length_min || length > DIGITS_MAX)
        return NO_VALUE;
    for (size_t i = 0; i < DIGITS_MAX; i++) {
        int digit = i < length ? hex_digit(text[i]) : 0;
        if (digit < 0)
            return NO_VALUE;
        value = value << 4 | (unsigned)digit;
    }
    return value;
}

static bool is_ot(const struct trace_state_member *member)
{
    return member->key_length == strlen(MEMBER) && memcmp(member->text, MEMBER, strlen(MEMBER)) == 0 &&
           member->length > member->key_length;
}

static void keep_part(struct ot_member *ot, const char *part, size_t length)
{
    size_t used = strlen(ot->rest);
    snprintf(ot->rest + used, sizeof ot->rest - used, "%s%.*s", used ? ";" : "", (int)length, part);
}

static void read_part(struct ot_member *ot, const char *part, size_t length)
{
    if (length >= 3 && memcmp(part, "th:", 3) == 0) {
        ot->threshold = parse_digits(part + 3, length - 3, 1);
        return;
    }
    if (length >= 3 && memcmp(part, "rv:", 3) == 0)
        ot->randomness = parse_digits(part + 3, length - 3, DIGITS_MAX);
    if (length > 0)
        keep_part(ot, part, length);
}

static void read_ot(const char *trace_state, struct ot_member *ot)
{
    struct trace_state_member member;
    *ot = (struct ot_member){NO_VALUE, NO_VALUE, ""};
    while (trace_state_next(&trace_state, &member)) {
        if (!is_ot(&member) || member.length - member.key_length - 1 > OT_VALUE_MAX)
            continue;
        const char *part = member.text + member.key_length + 1, *end = member.text + member.length;
        while (part < end) {
            const char *stop = memchr(part, ';', (size_t)(end - part));
            size_t length = (size_t)((stop ? stop : end) - part);
            read_part(ot, part, length);
            part += length + 1;
        }
        return;
    }
}

/* Writes the tracestate with the changed member `ot` first, as the specification asks. Members at the end
 * that no longer fit are dropped: their vendors changed them least recently. `threshold` NO_VALUE: no
 * threshold. */
static void write_state(const char *before, const struct ot_member *ot, uint64_t threshold,
                        char after[TRACE_STATE_MAX])
{
    char said[SAMPLER_THRESHOLD_MAX + 1] = "";
    struct trace_state_member member;
    unsigned members = 0;
    size_t used = 0;
    if (threshold != NO_VALUE)
        sampler_format_threshold(threshold, said);
    if (strlen(said) + 1 + strlen(ot->rest) > OT_VALUE_MAX)
        said[0] = 0;
    after[0] = 0;
    if (*said || *ot->rest) {
        const char *between = *said && *ot->rest ? ";" : "";
        used = (size_t)snprintf(after, TRACE_STATE_MAX, MEMBER "=%s%s%s", said, between, ot->rest);
        members++;
    }
    while (trace_state_next(&before, &member)) {
        if (is_ot(&member))
            continue;
        if (used + 1 + member.length >= TRACE_STATE_MAX || members++ == TRACE_STATE_MEMBERS_MAX)
            return;
        used += (size_t)snprintf(after + used, TRACE_STATE_MAX - used, "%s%.*s", used ? "," : "",
                                 (int)member.length, member.text);
    }
}

static uint64_t randomness_of(const struct ot_member *ot, const uint8_t trace_id[16])
{
    uint64_t low;
    if (ot->randomness != NO_VALUE)
        return ot->randomness;
    memcpy(&low, trace_id + 8, sizeof low);
    return __builtin_bswap64(low) & (SAMPLER_NEVER - 1);
}

void sampler_init(struct sampler *sampler, const struct settings *settings)
{
    *sampler = (struct sampler){.is_parent_based = settings->sampler_parent_based,
                                .traces_per_second = settings->sampling.traces_per_second,
                                .traces_left = -1};
    if (settings->sampler == SAMPLER_ALWAYS_OFF)
        sampler->threshold = SAMPLER_NEVER;
    else if (settings->sampler == SAMPLER_TRACE_ID_RATIO)
        sampler->threshold = sampler_threshold(settings->sampler_ratio);
    /* With a limit the sampled share is unknown, so no threshold may be given. */
    if (settings->sampler == SAMPLER_TRACE_ID_RATIO && sampler->threshold < SAMPLER_NEVER &&
        !(sampler->traces_per_second > 0)) {
        strcpy(sampler->root_state, MEMBER "=");
        sampler_format_threshold(sampler->threshold, sampler->root_state + strlen(sampler->root_state));
    }
}

const char *sampler_root_state(const struct sampler *sampler)
{
    return *sampler->root_state ? sampler->root_state : NULL;
}

/* The bucket holds the tokens of one second, at least one. */
bool sampler_admits(struct sampler *sampler, uint64_t now_ns)
{
    double rate = sampler->traces_per_second;
    double most = rate > 1 ? rate : 1;
    if (!(rate > 0))
        return true;
    if (sampler->traces_left < 0)
        sampler->traces_left = most;
    else if (now_ns > sampler->refilled_ns)
        sampler->traces_left += rate * (double)(now_ns - sampler->refilled_ns) / (double)NS_PER_SECOND;
    if (sampler->traces_left > most)
        sampler->traces_left = most;
    /* Records of several threads arrive slightly out of order: no time is counted twice. */
    if (now_ns > sampler->refilled_ns)
        sampler->refilled_ns = now_ns;
    if (sampler->traces_left < 1)
        return false;
    sampler->traces_left -= 1;
    return true;
}

/* Returns the parent's decision, and keeps its threshold in `trace_state` unless it contradicts the decision.
 */
static bool follow(const struct trace_context *context, char trace_state[TRACE_STATE_MAX])
{
    struct ot_member ot;
    bool is_sampled = context->flags & TRACE_FLAG_SAMPLED;
    if (!trace_state)
        return is_sampled;
    strcpy(trace_state, context->trace_state);
    if (!is_sampled || !strstr(trace_state, "th:"))
        return is_sampled;
    read_ot(context->trace_state, &ot);
    if (ot.threshold != NO_VALUE && randomness_of(&ot, context->trace_id) < ot.threshold)
        write_state(context->trace_state, &ot, NO_VALUE, trace_state);
    return is_sampled;
}

bool sampler_decide(struct sampler *sampler, const struct trace_context *context, const uint8_t trace_id[16],
                    uint64_t now_ns, char trace_state[TRACE_STATE_MAX])
{
    struct ot_member ot = {NO_VALUE, NO_VALUE, ""};
    if (context && sampler->is_parent_based)
        return follow(context, trace_state);
    if (context)
        read_ot(context->trace_state, &ot);
    bool is_sampled = sampler->threshold < SAMPLER_NEVER &&
                      randomness_of(&ot, context ? context->trace_id : trace_id) >= sampler->threshold &&
                      sampler_admits(sampler, now_ns);
    if (trace_state)
        write_state(context ? context->trace_state : "", &ot,
                    is_sampled && *sampler->root_state ? sampler->threshold : NO_VALUE, trace_state);
    return is_sampled;
}

bool sampler_decide_once(struct sampler *sampler, struct sampler_decisions *decisions,
                         const struct trace_context *context, uint64_t now_ns,
                         char trace_state[TRACE_STATE_MAX])
{
    uint64_t low;
    memcpy(&low, context->trace_id + 8, sizeof low);
    uint32_t slot = (low * HASH_SPREAD >> 32) % SAMPLER_DECISIONS_KEPT;
    if (sampler->is_parent_based)
        return sampler_decide(sampler, context, context->trace_id, now_ns, trace_state);
    if (memcmp(decisions->kept[slot].trace_id, context->trace_id, 16) == 0) {
        strcpy(trace_state, context->trace_state);
        return decisions->kept[slot].is_sampled;
    }
    memcpy(decisions->kept[slot].trace_id, context->trace_id, 16);
    decisions->kept[slot].is_sampled =
        sampler_decide(sampler, context, context->trace_id, now_ns, trace_state);
    return decisions->kept[slot].is_sampled;
}

bool sampler_may_sample(const struct settings *settings, const struct trace_context *context)
{
    struct ot_member ot;
    if (settings->sampler_parent_based)
        return context->flags & TRACE_FLAG_SAMPLED;
    if (settings->sampler != SAMPLER_TRACE_ID_RATIO)
        return settings->sampler == SAMPLER_ALWAYS_ON;
    read_ot(context->trace_state, &ot);
    return randomness_of(&ot, context->trace_id) >= sampler_threshold(settings->sampler_ratio);
}
