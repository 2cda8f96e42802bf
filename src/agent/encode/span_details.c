#include "agent/encode/message.h"

static void put_event(struct message *m, const struct span_event *event, const struct wire_limits *limits)
{
    uint8_t *body = message_open(m, 11, NULL);
    message_number(m, 1, "timeUnixNano", MESSAGE_FIXED64, (int64_t)event->time_ns);
    message_string(m, 2, "name", event->name, limits->string_bytes_max);
    message_attrs(m, 3, event->attrs, event->attr_count, limits);
    message_close(m, body);
}

static void put_events(struct message *m, const struct span *span, const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(span->event_count, limits->events_max);
    if (kept)
        message_open_list(m, "events");
    for (uint32_t i = 0; i < kept && !m->out.full; i++)
        put_event(m, &span->events[i], limits);
    if (kept)
        message_close_list(m);
    message_count(m, 12, "droppedEventsCount", span->events_dropped + (span->event_count - kept));
}

static void put_link(struct message *m, const struct span_link *link, const struct wire_limits *limits)
{
    uint8_t *body = message_open(m, 13, NULL);
    message_id(m, 1, "traceId", link->trace_id, 16);
    message_id(m, 2, "spanId", link->span_id, 8);
    if (wire_text_len(link->trace_state))
        message_string(m, 3, "traceState", link->trace_state, limits->string_bytes_max);
    message_attrs(m, 4, &link->attr, link->attr.key != NULL, limits);
    if (link->flags)
        message_number(m, 6, "flags", MESSAGE_FIXED32, link->flags);
    message_close(m, body);
}

static void put_links(struct message *m, const struct span *span, const struct wire_limits *limits)
{
    uint32_t kept = wire_smaller(span->link_count, limits->links_max);
    if (kept)
        message_open_list(m, "links");
    for (uint32_t i = 0; i < kept && !m->out.full; i++)
        put_link(m, &span->links[i], limits);
    if (kept)
        message_close_list(m);
    message_count(m, 14, "droppedLinksCount", span->link_count - kept);
}

void message_details(struct message *m, const struct span *span, const struct wire_limits *limits)
{
    uint32_t attrs = span_attr_total(span);
    message_count(m, 10, "droppedAttributesCount",
                  span->attrs_dropped + (attrs - wire_smaller(attrs, limits->attrs_max)));
    put_events(m, span, limits);
    put_links(m, span, limits);
    if (span->status == SPAN_STATUS_UNSET && !span->status_message)
        return;
    uint8_t *status = message_open(m, 15, "status");
    if (wire_text_len(span->status_message))
        message_string(m, 2, "message", span->status_message, limits->string_bytes_max);
    message_count(m, 3, "code", span->status);
    message_close(m, status);
}
