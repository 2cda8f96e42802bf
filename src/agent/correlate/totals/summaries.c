#include "agent/correlate/totals/summaries.h"

#include "base/hash.h"
#include "model/settings/settings.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS    4096
#define REMEMBERED 16384 /* requests whose summaries were sent */

struct summaries {
    uint32_t count;
    uint32_t free; /* index + 1 */
    uint32_t idlest, latest;
    uint32_t buckets[BUCKETS];
    struct {
        uint8_t span_id[8]; /* of the request */
        uint32_t number;
    } sent[REMEMBERED];
    struct summary entries[SUMMARIES_MAX];
};

static_assert(sizeof(struct summaries) <= SETTINGS_SUMMARIES_BYTES, "what the memory is reckoned by");

enum status summaries_create(struct summaries **summaries)
{
    struct summaries *made = calloc(1, sizeof *made);
    if (!made)
        return STATUS_NO_MEMORY;
    for (uint32_t i = SUMMARIES_MAX; i > 0; i--) {
        made->entries[i - 1].next_in_bucket = made->free;
        made->free = i;
    }
    *summaries = made;
    return STATUS_OK;
}

/* Span IDs are random or count up from random numbers, trace IDs may share a prefix, and one may be
 * derived from the other: they are mixed separately. */
static uint32_t hash_of(const uint8_t context[24])
{
    uint64_t trace, span;
    memcpy(&trace, context + 8, sizeof trace);
    memcpy(&span, context + 16, sizeof span);
    return (uint32_t)((trace * HASH_SPREAD + span) * 0xbf58476d1ce4e5b9ull >> 32);
}

uint32_t summaries_index(const struct summaries *summaries, const struct summary *summary)
{
    return (uint32_t)(summary - summaries->entries) + 1;
}

struct summary *summaries_at(struct summaries *summaries, uint32_t index)
{
    return index ? &summaries->entries[index - 1] : NULL;
}

struct summary *summaries_find(struct summaries *summaries, const uint8_t context[24])
{
    struct summary *summary = summaries_at(summaries, summaries->buckets[hash_of(context) % BUCKETS]);
    while (summary && memcmp(summary->context, context, sizeof summary->context) != 0)
        summary = summaries_at(summaries, summary->next_in_bucket);
    return summary;
}

static void unlink_age(struct summaries *summaries, struct summary *summary)
{
    if (summary->older)
        summaries_at(summaries, summary->older)->newer = summary->newer;
    else
        summaries->idlest = summary->newer;
    if (summary->newer)
        summaries_at(summaries, summary->newer)->older = summary->older;
    else
        summaries->latest = summary->older;
}

static void link_latest(struct summaries *summaries, struct summary *summary)
{
    uint32_t at = summaries_index(summaries, summary);
    summary->newer = 0;
    summary->older = summaries->latest;
    if (summaries->latest)
        summaries_at(summaries, summaries->latest)->newer = at;
    else
        summaries->idlest = at;
    summaries->latest = at;
}

struct summary *summaries_add(struct summaries *summaries, const uint8_t context[24], uint64_t now_ns)
{
    uint32_t at = summaries->free, hash = hash_of(context);
    struct summary *summary = summaries_at(summaries, at);
    if (!summary)
        return NULL;
    summaries->free = summary->next_in_bucket;
    *summary = (struct summary){
        .number = 1, .active_ns = now_ns, .next_in_bucket = summaries->buckets[hash % BUCKETS]};
    memcpy(summary->context, context, sizeof summary->context);
    if (memcmp(summaries->sent[hash % REMEMBERED].span_id, context + 16, 8) == 0)
        summary->number += summaries->sent[hash % REMEMBERED].number;
    summaries->buckets[hash % BUCKETS] = at;
    summaries->count++;
    link_latest(summaries, summary);
    return summary;
}

void summaries_touch(struct summaries *summaries, struct summary *summary, uint64_t now_ns)
{
    if (summary->active_ns == now_ns)
        return;
    summary->active_ns = now_ns;
    unlink_age(summaries, summary);
    link_latest(summaries, summary);
}

struct summary *summaries_idlest(struct summaries *summaries)
{
    return summaries_at(summaries, summaries->idlest);
}

struct summary *summaries_next_idle(struct summaries *summaries, const struct summary *summary)
{
    return summaries_at(summaries, summary->newer);
}

void summaries_remove(struct summaries *summaries, struct summary *summary, bool sent)
{
    uint32_t at = summaries_index(summaries, summary), hash = hash_of(summary->context);
    uint32_t *link = &summaries->buckets[hash % BUCKETS];
    while (*link != at)
        link = &summaries_at(summaries, *link)->next_in_bucket;
    *link = summary->next_in_bucket;
    unlink_age(summaries, summary);
    if (sent) {
        memcpy(summaries->sent[hash % REMEMBERED].span_id, summary->context + 16, 8);
        summaries->sent[hash % REMEMBERED].number = summary->number;
    }
    memset(summary, 0, sizeof *summary);
    summary->next_in_bucket = summaries->free;
    summaries->free = at;
    summaries->count--;
}

bool summaries_are_many(const struct summaries *summaries)
{
    return summaries->count > SUMMARIES_MAX / 2;
}
