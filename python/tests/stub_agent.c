/* An agent that only remembers: what each native thread has attached, and which ranges it was told of. Its SONAME is
 * libcuspan.so. */
#include "cuspan/cuspan.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 64

struct entry {
    uint64_t token;
    cuspan_context context;
    char state[128];
};

static __thread struct entry attached[DEPTH_MAX];
static __thread int depth;
static uint64_t tokens = 1, ids = 1, calls;
static char text[1 << 16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_on(void)
{
    return 1;
}

static uint64_t attach(const cuspan_context *context)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (depth == DEPTH_MAX)
        return 0;
    struct entry *made = &attached[depth++];
    made->token = __atomic_fetch_add(&tokens, 1, __ATOMIC_RELAXED);
    made->context = *context;
    snprintf(made->state, sizeof made->state, "%s", context->tracestate ? context->tracestate : "");
    return made->token;
}

static int detach(uint64_t token)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    for (int i = depth; i > 0; i--) {
        if (attached[i - 1].token == token) {
            depth = i - 1;
            return 0;
        }
    }
    return -1;
}

static int current(cuspan_context *context)
{
    if (depth == 0)
        return 0;
    *context = attached[depth - 1].context;
    context->tracestate = attached[depth - 1].state;
    return 1;
}

static size_t write_attribute(char *at, size_t room, const cuspan_attribute *attribute)
{
    switch (attribute->type) {
    case CUSPAN_INT:
        return (size_t)snprintf(at, room, " %s=%lld", attribute->key, (long long)attribute->value.i);
    case CUSPAN_BOOL:
        return (size_t)snprintf(at, room, " %s=%s", attribute->key, attribute->value.i ? "true" : "false");
    case CUSPAN_DOUBLE:
        return (size_t)snprintf(at, room, " %s=%g", attribute->key, attribute->value.d);
    default:
        return (size_t)snprintf(at, room, " %s='%.*s'", attribute->key, (int)attribute->bytes,
                                attribute->value.s);
    }
}

static void note(const char *verb, uint64_t id, const char *name, const cuspan_attribute *attributes,
                 uint32_t count)
{
    char line[1024];
    size_t at = (size_t)snprintf(line, sizeof line, "%s %llu %s", verb, (unsigned long long)id, name);
    for (uint32_t i = 0; i < count && at < sizeof line; i++)
        at += write_attribute(line + at, sizeof line - at, &attributes[i]);
    pthread_mutex_lock(&lock);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s\n", line);
    pthread_mutex_unlock(&lock);
}

static uint64_t range_push(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    uint64_t id = __atomic_fetch_add(&ids, 1, __ATOMIC_RELAXED);
    note("range", id, name, attributes, count);
    return id;
}

static uint64_t span_start(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    uint64_t id = __atomic_fetch_add(&ids, 1, __ATOMIC_RELAXED);
    note("span", id, name, attributes, count);
    return id;
}

static int end(uint64_t id, uint32_t status, const char *message, const cuspan_attribute *attributes,
               uint32_t count)
{
    char said[256];
    snprintf(said, sizeof said, "%u %s", status, message ? message : "-");
    note("end", id, said, attributes, count);
    return 0;
}

static int mark(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    note("mark", 0, name, attributes, count);
    return 0;
}

static int start(void)
{
    note("start", 0, "", NULL, 0);
    return 0;
}

static int stop(void)
{
    note("stop", 0, "", NULL, 0);
    return 0;
}

/* Succeeds only with a positive timeout. */
static int flush(uint32_t timeout_ms)
{
    note("flush", timeout_ms, "", NULL, 0);
    return timeout_ms ? 0 : -1;
}

/* Records the call in the file that STUB_FINISHED names. */
static int finish(void)
{
    const char *path = getenv("STUB_FINISHED");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file)
        fclose((fprintf(file, "%d\n", (int)getpid()), file));
    return file ? 0 : -1;
}

static int repeats;

/* A loop named "thrice" runs three times. */
static uint64_t loop_push(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    uint64_t id = __atomic_fetch_add(&ids, 1, __ATOMIC_RELAXED);
    note("loop", id, name, attributes, count);
    repeats = strcmp(name, "thrice") == 0 ? 2 : 0;
    return id;
}

static int again(uint64_t range)
{
    note("again", range, "?", NULL, 0);
    return repeats-- > 0;
}

static int step(int64_t number, uint32_t kind, uint32_t source)
{
    char said[64];
    snprintf(said, sizeof said, "kind %u source %u", kind, source);
    note("step", (uint64_t)number, said, NULL, 0);
    return 0;
}

static uint64_t request(const cuspan_request_info *given)
{
    uint64_t id = __atomic_fetch_add(&ids, 1, __ATOMIC_RELAXED);
    char said[512], traceparent[56] = "-";
    if (given->context)
        cuspan_format(given->context, traceparent);
    snprintf(said, sizeof said, "%s %s %s prompt %u cached %u%s", given->id, traceparent,
             given->context && given->context->tracestate ? given->context->tracestate : "-", given->prompt_tokens,
             given->cached_tokens, given->arrived_unix_ns > 0 ? " arrived" : "");
    for (uint32_t i = 0; i < given->header_count; i++) {
        size_t at = strlen(said);
        snprintf(said + at, sizeof said - at, " %s=%s", given->headers[i].name, given->headers[i].value);
    }
    note("request", id, said, NULL, 0);
    return id;
}

static int request_end(uint64_t id, uint32_t reason, uint32_t tokens)
{
    char said[64];
    snprintf(said, sizeof said, "reason %u tokens %u", reason, tokens);
    note("request_end", id, said, NULL, 0);
    return 0;
}

static int iteration(const cuspan_iteration_info *given)
{
    char said[900];
    size_t at = (size_t)snprintf(said, sizeof said, "%s seed %llu kind %u recorded %u rank %d of %d", given->engine,
                                 (unsigned long long)given->seed, given->kind, given->recorded, given->rank,
                                 given->ranks);
    for (uint32_t i = 0; i < given->count && at < sizeof said; i++) {
        const cuspan_part *part = &given->parts[i];
        at += (size_t)snprintf(said + at, sizeof said - at, "; %llu phase %u resumed %u tokens %u computed %u drafts %u",
                               (unsigned long long)part->request, part->phase, part->resumed, part->tokens,
                               part->computed, part->drafts);
    }
    note("iteration", (uint64_t)given->number, said, NULL, 0);
    return 0;
}

static int iteration_end(void)
{
    note("iteration_end", 0, "", NULL, 0);
    return 0;
}

static uint64_t iteration_here(const cuspan_iteration_info *given)
{
    const cuspan_context context = {.trace_id = {1}, .span_id = {(uint8_t)given->number}, .flags = 1};
    return attach(&context);
}

static int iteration_summary(const cuspan_iteration_info *given)
{
    char said[100];
    snprintf(said, sizeof said, "%s seed %llu rank %d of %d", given->engine, (unsigned long long)given->seed, given->rank,
             given->ranks);
    note("iteration_summary", (uint64_t)given->number, said, NULL, 0);
    return 0;
}

static const char *engine_headers(void)
{
    return "x-tenant,x-model";
}

const cuspan_api *cuspan_agent_api(uint32_t version)
{
    static const cuspan_api api = {.bytes = sizeof api,
                                   .is_on = is_on,
                                   .attach = attach,
                                   .detach = detach,
                                   .current = current,
                                   .range_push = range_push,
                                   .span_start = span_start,
                                   .end = end,
                                   .mark = mark,
                                   .start = start,
                                   .stop = stop,
                                   .flush = flush,
                                   .finish = finish,
                                   .loop_push = loop_push,
                                   .again = again,
                                   .step = step,
                                   .request = request,
                                   .request_end = request_end,
                                   .iteration = iteration,
                                   .iteration_end = iteration_end,
                                   .iteration_here = iteration_here,
                                   .iteration_summary = iteration_summary,
                                   .engine_headers = engine_headers};
    return version == 1 ? &api : NULL;
}

static int expected; /* profilers */

__attribute__((visibility("default"))) void cuspan_python_tools(void)
{
    expected++;
}

/* --- for the tests --- */

int stub_expected(void)
{
    return expected;
}

int stub_current(char traceparent[56], char *state, size_t bytes)
{
    cuspan_context context;
    if (!current(&context))
        return 0;
    cuspan_format(&context, traceparent);
    snprintf(state, bytes, "%s", context.tracestate);
    return 1;
}

int stub_depth(void)
{
    return depth;
}

uint64_t stub_calls(void)
{
    return __atomic_load_n(&calls, __ATOMIC_RELAXED);
}

size_t stub_bytes_of_request(void)
{
    return sizeof(cuspan_request_info);
}

size_t stub_bytes_of_iteration(void)
{
    return sizeof(cuspan_iteration_info);
}

const char *stub_text(void)
{
    return text;
}

void stub_forget(void)
{
    text[0] = 0;
}
