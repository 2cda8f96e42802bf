#include "agent/correlate/trace/ranges.h"

#include "base/accounting/counters.h"

#include <stdio.h>
#include <string.h>

#define EVENT_ATTRS_MAX (sizeof((struct span_event *)0)->attrs / sizeof(struct span_attr))

/* IDs count up from random numbers, so their low bits are a hash. */
static uint32_t *bucket_of(struct ranges *ranges, uint64_t id)
{
    return &ranges->buckets[(id ^ id >> 32) % RANGE_BUCKETS];
}

static struct range *find(struct ranges *ranges, uint64_t id, bool is_early)
{
    uint32_t at = *bucket_of(ranges, id);
    while (at && (ranges->entries[at - 1].id != id || ranges->entries[at - 1].is_early != is_early))
        at = ranges->entries[at - 1].next;
    return at ? &ranges->entries[at - 1] : NULL;
}

struct range *ranges_find(struct ranges *ranges, uint64_t id)
{
    return find(ranges, id, false);
}

static bool has_room(const struct ranges *ranges)
{
    return ranges->free || ranges->used < RANGES_OPEN_MAX;
}

/* Adds an entry with the record and its text; NULL: no room. */
static struct range *add(struct ranges *ranges, const struct range_record *record)
{
    uint32_t at = ranges->free, *bucket = bucket_of(ranges, record->id);
    if (!has_room(ranges))
        return NULL;
    if (at)
        ranges->free = ranges->entries[at - 1].next;
    else
        at = ++ranges->used;
    struct range *range = &ranges->entries[at - 1];
    memset(range, 0, offsetof(struct range, start));
    range->id = record->id;
    if (record->text_bytes <= sizeof range->start_bytes - sizeof *record) {
        memcpy(range->start_bytes, record, range_record_bytes(record));
    } else {
        range->start = *record;
        range->start.text_bytes = 0;
    }
    range->next = *bucket;
    *bucket = at;
    return range;
}

struct range *ranges_begin(struct ranges *ranges, const struct thread_info *thread,
                           const struct range_record *start)
{
    struct range *range = add(ranges, start);
    if (!range) {
        counter_add(COUNTER_lost_range, 1);
        ranges->refused++;
        return NULL;
    }
    counter_add_alone(COUNTER_ranges_captured, 1);
    ranges->open++;
    range->thread = *thread;
    return range;
}

void ranges_remove(struct ranges *ranges, struct range *range)
{
    uint32_t at = (uint32_t)(range - ranges->entries) + 1, *link = bucket_of(ranges, range->id);
    while (*link && *link != at)
        link = &ranges->entries[*link - 1].next;
    if (*link)
        *link = range->next;
    range->id = 0;
    ranges->open -= !range->is_early;
    range->next = ranges->free;
    ranges->free = at;
}

void ranges_visit(struct ranges *ranges, void (*visit)(void *, struct range *), void *context)
{
    for (uint32_t i = 0; i < ranges->used; i++)
        if (ranges->entries[i].id && !ranges->entries[i].is_early)
            visit(context, &ranges->entries[i]);
}

/* Returns the oldest early end, and drops stale entries before it; NULL: there is none. */
static struct range *oldest_early(struct ranges *ranges)
{
    for (; ranges->early_count > 0; ranges->early_count--, ranges->early_first++) {
        const struct range_early *oldest = &ranges->early[ranges->early_first % RANGES_OPEN_MAX];
        struct range *entry = &ranges->entries[oldest->entry];
        if (entry->is_early && entry->id == oldest->id)
            return entry;
    }
    return NULL;
}

/* Counts a forgotten end, unless it is probably that of a range that got no slot or lost it, which was
 * counted already. */
static void count_lost_end(struct ranges *ranges)
{
    if (ranges->refused)
        ranges->refused--;
    else
        counter_add(COUNTER_range_ends_lost, 1);
}

static bool forget_early(struct ranges *ranges)
{
    struct range *oldest = oldest_early(ranges);
    if (!oldest)
        return false;
    count_lost_end(ranges);
    ranges_remove(ranges, oldest);
    return true;
}

static struct range *oldest_range(struct ranges *ranges)
{
    struct range *oldest = NULL;
    for (uint32_t i = 0; i < ranges->used; i++) {
        struct range *range = &ranges->entries[i];
        if (range->id && !range->is_early && (!oldest || range->start.time_ns < oldest->start.time_ns))
            oldest = range;
    }
    return oldest;
}

struct range *ranges_make_room(struct ranges *ranges)
{
    if (has_room(ranges) || forget_early(ranges) || counter_get(COUNTER_range_ends_lost) == ranges->reclaimed)
        return NULL;
    ranges->reclaimed++;
    ranges->refused++; /* its end may still arrive, if another range's end was lost */
    return oldest_range(ranges);
}

void ranges_keep_end(struct ranges *ranges, const struct range_record *end)
{
    (void)oldest_early(ranges);
    if (!has_room(ranges) || ranges->early_count == RANGES_OPEN_MAX)
        (void)forget_early(ranges);
    struct range *early = add(ranges, end);
    if (!early) {
        count_lost_end(ranges);
        return;
    }
    early->is_early = true;
    ranges->early[(ranges->early_first + ranges->early_count++) % RANGES_OPEN_MAX] =
        (struct range_early){.id = end->id, .entry = (uint32_t)(early - ranges->entries)};
}

bool ranges_take_end(struct ranges *ranges, uint64_t id, struct range_record *end)
{
    struct range *early = find(ranges, id, true);
    if (!early)
        return false;
    memcpy(end, &early->start, range_record_bytes(&early->start));
    ranges_remove(ranges, early);
    return true;
}

bool ranges_next_attr(const char **at, const char *end, struct range_attr_head *head, const char **key,
                      const char **value)
{
    if ((size_t)(end - *at) < sizeof *head)
        return false;
    memcpy(head, *at, sizeof *head);
    *key = *at + sizeof *head;
    if ((size_t)(end - *key) < (size_t)head->key_bytes + head->value_bytes ||
        (head->type != ATTR_STRING && head->value_bytes != 8) || head->key_bytes > ATTR_KEY_BYTES_MAX)
        return false;
    *value = *key + head->key_bytes;
    *at = *value + head->value_bytes;
    return true;
}

static void fill_attr(struct span_attr *attr, struct attr_key *to, const struct range_attr_head *head,
                      const char *key, const char *value)
{
    to->tag = 0x0a;
    to->len = head->key_bytes;
    memcpy(to->name, key, head->key_bytes);
    if (head->key_bytes < sizeof to->name)
        to->name[head->key_bytes] = 0;
    *attr = (struct span_attr){.key = to, .type = head->type};
    if (head->type == ATTR_STRING) {
        attr->s = value;
        attr->len = head->value_bytes;
    } else {
        memcpy(&attr->i, value, sizeof attr->i);
    }
}

void ranges_attributes(struct span *span, const struct range_record *record, struct attr_key *keys,
                       uint32_t *key_count)
{
    struct range_attr_head head;
    const char *at = record->text + record->name_bytes, *end = record->text + record->text_bytes;
    const char *key, *value;
    uint32_t count = record->name_bytes <= record->text_bytes ? record->attr_count : 0;
    while (count > 0 && ranges_next_attr(&at, end, &head, &key, &value)) {
        count--;
        if (span->attr_count == SPAN_ATTRS_MAX || *key_count == SPAN_ATTRS_MAX) {
            span->attrs_dropped++;
            continue;
        }
        fill_attr(&span->attrs[span->attr_count++], &keys[(*key_count)++], &head, key, value);
    }
}

/* The head of a mark in range.marks, followed by the mark's text. */
struct mark_head {
    uint64_t time_ns;
    uint16_t attr_count, name_bytes, text_bytes, reserved;
};

void ranges_add_mark(struct range *range, const struct range_record *mark)
{
    struct mark_head head = {mark->time_ns, mark->attr_count, mark->name_bytes, (uint16_t)mark->text_bytes,
                             0};
    if (range->marks_bytes + sizeof head + head.text_bytes > sizeof range->marks) {
        range->marks_dropped++;
        return;
    }
    memcpy(range->marks + range->marks_bytes, &head, sizeof head);
    memcpy(range->marks + range->marks_bytes + sizeof head, mark->text, head.text_bytes);
    range->marks_bytes += (uint16_t)(sizeof head + head.text_bytes);
    range->mark_count++;
}

static void add_event_attrs(struct range_events *scratch, struct span_event *event,
                            const struct mark_head *mark, const char *text)
{
    struct range_attr_head head;
    const char *at = text + mark->name_bytes, *end = text + mark->text_bytes, *key, *value;
    while (event->attr_count < EVENT_ATTRS_MAX && event->attr_count < mark->attr_count &&
           ranges_next_attr(&at, end, &head, &key, &value))
        fill_attr(&event->attrs[event->attr_count++], &scratch->keys[scratch->key_count++], &head, key,
                  value);
}

void ranges_events(const struct range *range, struct range_events *scratch, struct span *span)
{
    const char *at = range->marks;
    scratch->key_count = 0;
    span->events = scratch->events;
    span->events_dropped = range->marks_dropped;
    for (uint16_t i = 0; i < range->mark_count; i++) {
        struct mark_head head;
        memcpy(&head, at, sizeof head);
        if (i == sizeof scratch->events / sizeof *scratch->events) {
            span->events_dropped += range->mark_count - i;
            break;
        }
        struct span_event *event = &scratch->events[span->event_count];
        char *name = scratch->names[span->event_count++];
        snprintf(name, sizeof *scratch->names, "%.*s", head.name_bytes, at + sizeof head);
        *event = (struct span_event){.time_ns = head.time_ns, .name = name};
        add_event_attrs(scratch, event, &head, at + sizeof head);
        at += sizeof head + head.text_bytes;
    }
}
