/* A traceparent and, after a 0xff byte, a tracestate, as in a header or a variable. An accepted context can
 * be written and read again and is the same; a rejected one leaves no memory behind. (Baggage has no fuzzer,
 * because nothing here reads it.) */
#include "base/trace_context.h"

#include "fuzz.h"

static void check_members(const struct trace_context *context)
{
    const char *at = context->trace_state;
    const char *end = at + strlen(at);
    struct trace_state_member member;
    unsigned count = 0;
    while (trace_state_next(&at, &member)) {
        require(member.text >= context->trace_state && member.text + member.length <= end,
                "a member lies outside of its tracestate");
        require(member.key_length > 0 && member.key_length < member.length, "a member has no key or value");
        count++;
    }
    require(count <= TRACE_STATE_MEMBERS_MAX, "too many members were taken");
    require(at == end, "the members end before the tracestate does");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct trace_context nothing;
    struct trace_context context, again;
    char text[TRACEPARENT_BYTES + 1];
    size_t parent_bytes, state_bytes;
    char *parent = fuzz_part(&data, &size, &parent_bytes);
    char *state = fuzz_part(&data, &size, &state_bytes);
    memset(&context, 0x5a, sizeof context);
    if (trace_context_parse(parent, state, &context)) {
        require(memchr(context.trace_state, 0, sizeof context.trace_state) != NULL,
                "a tracestate does not end");
        trace_context_format(&context, text);
        require(strlen(text) == TRACEPARENT_BYTES, "a traceparent of the wrong length");
        require(trace_context_parse(text, context.trace_state, &again), "what was written can't be read");
        require(memcmp(&context, &again, sizeof context) == 0, "written and read again, it is another");
        check_members(&context);
    } else {
        require(memcmp(&context, &nothing, sizeof context) == 0, "something is left of what was refused");
    }
    require(trace_context_parse(parent, NULL, &again) == trace_context_parse(parent, state, &context),
            "the tracestate decides over the traceparent");
    free(parent);
    free(state);
    return 0;
}
