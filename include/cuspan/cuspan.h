/* cuspan.h: a program tells cuspan which request its threads work for, and names stretches of its own work.
 *
 * There is nothing to link: the functions here look for the agent (libcuspan.so) in the process. With
 * CUDA_INJECTION64_PATH in the environment they load the library that it names, which CUDA would load later
 * (loading it starts nothing); else they look from time to time whether it is there. Without it every
 * function does nothing, in a few nanoseconds, and says so by its result. All functions may be called on any
 * thread, from C, C++ and, by the table, from any language that can call C.
 *
 * Strings are copied during the call. Texts are UTF-8; longer ones than CUSPAN_TEXT_BYTES are cut. */
#ifndef CUSPAN_CUSPAN_H
#define CUSPAN_CUSPAN_H

#ifdef __STDC_NO_ATOMICS__
#error "cuspan.h needs a compiler with the __atomic built-ins (gcc, clang)"
#endif

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUSPAN_SONAME     "libcuspan.so"
#define CUSPAN_TEXT_BYTES 512

/* A W3C trace context. The IDs are bytes as they stand in a traceparent. */
typedef struct cuspan_context {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t flags; /* 1: sampled */
    uint8_t reserved[7];
    const char
        *tracestate; /* NUL-terminated or NULL; what cuspan_current() gives lives as long as the process */
} cuspan_context;

typedef enum cuspan_type {
    CUSPAN_INT = 0,
    CUSPAN_BOOL = 1,
    CUSPAN_DOUBLE = 2,
    CUSPAN_STRING = 3
} cuspan_type;

typedef struct cuspan_attribute {
    const char *key; /* NUL-terminated */
    uint32_t type;   /* cuspan_type */
    uint32_t bytes;  /* STRING: its length; UINT32_MAX: it ends with a NUL */
    union {
        int64_t i; /* INT; BOOL: 0 or 1 */
        double d;
        const char *s;
    } value;
} cuspan_attribute;

typedef enum cuspan_status { CUSPAN_UNSET = 0, CUSPAN_OK = 1, CUSPAN_ERROR = 2 } cuspan_status;

/* What the agent offers. Later versions add members at the end: one is there if it lies within `bytes`. */
typedef struct cuspan_api {
    uint32_t bytes;
    int (*is_on)(void);
    uint64_t (*attach)(const cuspan_context *context);
    int (*detach)(uint64_t token);
    int (*current)(cuspan_context *context);
    uint64_t (*range_push)(const char *name, const cuspan_attribute *attributes, uint32_t count);
    uint64_t (*span_start)(const char *name, const cuspan_attribute *attributes, uint32_t count);
    int (*end)(uint64_t id, uint32_t status, const char *message, const cuspan_attribute *attributes,
               uint32_t count);
    int (*mark)(const char *name, const cuspan_attribute *attributes, uint32_t count);
    int (*start)(void);
    int (*stop)(void);
    int (*flush)(uint32_t timeout_ms);
    int (*finish)(void);
    int (*publish)(int on);
    uint64_t (*loop_push)(const char *name, const cuspan_attribute *attributes, uint32_t count);
    int (*again)(uint64_t range);
} cuspan_api;

#define CUSPAN_OFFERS(api, member) ((api)->bytes >= offsetof(cuspan_api, member) + sizeof((api)->member))

/* The one symbol that is looked up, in libcuspan.so. Never NULL for version 1. */
typedef const cuspan_api *(*cuspan_agent_api_fn)(uint32_t version);

/* --- looking for the agent --- */

/* Contexts that were attached while there was no agent, innermost first; handed over when there is one. */
struct cuspan_waiting {
    struct cuspan_waiting *outer;
    cuspan_context context;
    uint64_t number;
    char tracestate[1]; /* as long as it is */
};

struct cuspan_thread {
    struct cuspan_waiting *innermost;
    uint64_t agent_token; /* of the innermost, once it is handed over */
    uint64_t numbers;
};

static inline struct cuspan_thread *cuspan_this_thread(void)
{
    static __thread struct cuspan_thread thread;
    return &thread;
}

static inline const cuspan_api *cuspan_look_for_agent(void)
{
    /* A program that runs with another user's rights must not be led by its caller's environment. */
    const char *path = getauxval(AT_SECURE) ? NULL : getenv("CUDA_INJECTION64_PATH");
    const char *name = path ? path : "";
    void *library = dlopen(CUSPAN_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    for (const char *at = name; *at; at++)
        if (*at == '/')
            name = at + 1;
    for (size_t i = 0; !library && i < sizeof CUSPAN_SONAME - 1; i++) {
        if (name[i] != CUSPAN_SONAME[i])
            return NULL; /* another tool's, or none */
        if (i == sizeof CUSPAN_SONAME - 2)
            library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        if (i == sizeof CUSPAN_SONAME - 2 && !library)
            return NULL;
    }
    cuspan_agent_api_fn agent_api = (cuspan_agent_api_fn)(uintptr_t)dlsym(library, "cuspan_agent_api");
    return agent_api ? agent_api(1) : NULL;
}

/* Where the table was found, for this file of the program. */
static inline const cuspan_api **cuspan_agent_found(void)
{
    static const cuspan_api *agent;
    return &agent;
}

static inline const cuspan_api *cuspan_load_agent(void)
{
    const cuspan_api *found = cuspan_look_for_agent();
    if (found)
        __atomic_store_n(cuspan_agent_found(), found, __ATOMIC_RELEASE);
    return found;
}

/* The agent's table, or NULL. Without an agent the first 256 calls look for it, so that threads which begin
 * at once all find it, and then one in 1024; a look takes about a microsecond. */
static inline const cuspan_api *cuspan_agent(void)
{
    static uint32_t calls;
    const cuspan_api *found = __atomic_load_n(cuspan_agent_found(), __ATOMIC_ACQUIRE);
    if (found)
        return found;
    uint32_t call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    if (call >= 256 && call % 1024 != 0)
        return NULL;
    return cuspan_load_agent();
}

/* --- contexts --- */

#define CUSPAN_WAITING_TOKEN (UINT64_C(1) << 63)

static inline int cuspan_is_zero(const uint8_t *bytes, size_t count)
{
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= bytes[i];
    return !any;
}

static inline uint64_t cuspan_wait_for_agent(const cuspan_context *context)
{
    if (cuspan_is_zero(context->trace_id, 16) || cuspan_is_zero(context->span_id, 8))
        return 0;
    struct cuspan_thread *thread = cuspan_this_thread();
    const char *state = context->tracestate ? context->tracestate : "";
    size_t bytes = 0;
    while (state[bytes])
        bytes++;
    struct cuspan_waiting *made = (struct cuspan_waiting *)malloc(sizeof *made + bytes);
    if (!made)
        return 0;
    made->outer = thread->innermost;
    made->context = *context;
    made->context.tracestate = made->tracestate;
    made->number = ++thread->numbers | CUSPAN_WAITING_TOKEN;
    for (size_t i = 0; i <= bytes; i++)
        made->tracestate[i] = state[i];
    thread->innermost = made;
    return made->number;
}

static inline void cuspan_hand_over(const cuspan_api *agent)
{
    struct cuspan_thread *thread = cuspan_this_thread();
    if (thread->innermost && !thread->agent_token)
        thread->agent_token = agent->attach(&thread->innermost->context);
}

/* From now on the thread works for this context: its CUDA calls and ranges become children of the context's
 * span. Contexts nest. Returns a token for cuspan_detach(); 0, which detaches nothing, if the context is
 * invalid (an ID of zeros). */
static inline uint64_t cuspan_attach(const cuspan_context *context)
{
    const cuspan_api *agent = cuspan_agent();
    if (!agent)
        return cuspan_wait_for_agent(context);
    cuspan_hand_over(agent);
    return agent->attach(context);
}

/* Back to the context before the one that this token stands for, and out of all that were attached inside it.
 * 0: done. -1: not this thread's token, or one that is detached already: nothing happens. */
static inline int cuspan_detach(uint64_t token)
{
    struct cuspan_thread *thread = cuspan_this_thread();
    const cuspan_api *agent = cuspan_agent();
    struct cuspan_waiting *waiting = thread->innermost;
    if (!(token & CUSPAN_WAITING_TOKEN))
        return agent ? agent->detach(token) : -1;
    while (waiting && waiting->number != token)
        waiting = waiting->outer;
    if (!waiting)
        return -1;
    if (agent && thread->agent_token)
        agent->detach(thread->agent_token);
    thread->agent_token = 0;
    do {
        waiting = thread->innermost;
        thread->innermost = waiting->outer;
        if (waiting->number == token)
            token = 0;
        free(waiting);
    } while (token);
    if (agent)
        cuspan_hand_over(agent);
    return 0;
}

/* The context for what this thread causes elsewhere (a header of an outgoing request, a child's TRACEPARENT):
 * the innermost open range, else the attached context, else the process's session. 0: there is none. */
static inline int cuspan_current(cuspan_context *context)
{
    const cuspan_api *agent = cuspan_agent();
    struct cuspan_waiting *waiting = cuspan_this_thread()->innermost;
    if (agent) {
        cuspan_hand_over(agent);
        return agent->current(context);
    }
    if (waiting)
        *context = waiting->context;
    return waiting != NULL;
}

/* Whether the threads of this process show what they work for to readers outside of it, such as eBPF
 * profilers: in the thread-local pointer otel_thread_ctx_v1 (OTEP 4947), which comes into the process for
 * this alone. A thread shows the innermost open range of the context that it has attached, else that context;
 * it begins, and after 0 ends, with its next attach, detach or range, and the calling thread at once. 0:
 * done. 1: an SDK in this process shows its own, and nothing is done. -1: no agent, one that is older than
 * this function, or its libcuspan-thread-ctx.so can't be loaded, which it says. */
static inline int cuspan_publish(int on)
{
    const cuspan_api *agent = cuspan_agent();
    if (!agent || !CUSPAN_OFFERS(agent, publish))
        return -1;
    cuspan_hand_over(agent);
    return agent->publish(on);
}

static inline int cuspan_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline int cuspan_hex_bytes(const char *text, uint8_t *bytes, size_t count)
{
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++) {
        int high = cuspan_hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : cuspan_hex_digit(text[2 * i + 1]);
        if (low < 0)
            return -1;
        bytes[i] = (uint8_t)(high << 4 | low);
        any |= bytes[i];
    }
    return any ? 1 : 0;
}

/* Reads a traceparent header. 1: done; 0: it is invalid, by W3C's rules, and the context is all zero.
 * `tracestate` (NULL: none) is borrowed. */
static inline int cuspan_parse(const char *traceparent, const char *tracestate, cuspan_context *context)
{
    uint8_t version = 0, flags = 0;
    size_t length = 0;
    cuspan_context none = {{0}, {0}, 0, {0}, NULL};
    *context = none;
    while (traceparent && length < 56 && traceparent[length])
        length++;
    if (length < 55 || cuspan_hex_bytes(traceparent, &version, 1) < 0 || version == 0xff ||
        (version == 0 && length != 55) || (length > 55 && traceparent[55] != '-') || traceparent[2] != '-' ||
        traceparent[35] != '-' || traceparent[52] != '-' ||
        cuspan_hex_bytes(traceparent + 53, &flags, 1) < 0 ||
        cuspan_hex_bytes(traceparent + 3, context->trace_id, 16) != 1 ||
        cuspan_hex_bytes(traceparent + 36, context->span_id, 8) != 1) {
        *context = none;
        return 0;
    }
    context->flags = flags & 3;
    context->tracestate = tracestate;
    return 1;
}

/* Writes a traceparent header of 55 characters and a NUL. */
static inline void cuspan_format(const cuspan_context *context, char traceparent[56])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    uint8_t bytes[26];
    for (size_t i = 0; i < 26; i++)
        bytes[i] = i == 0   ? 0
                   : i < 17 ? context->trace_id[i - 1]
                   : i < 25 ? context->span_id[i - 17]
                            : context->flags;
    for (size_t i = 0; i < 26; i++) {
        if (i == 1 || i == 17 || i == 25)
            traceparent[at++] = '-';
        traceparent[at++] = digits[bytes[i] >> 4];
        traceparent[at++] = digits[bytes[i] & 15];
    }
    traceparent[at] = 0;
}

/* --- child processes --- */

static inline int cuspan_is_variable(const char *entry, const char *name)
{
    while (*name && *entry == *name)
        entry++, name++;
    return !*name && *entry == '=';
}

/* The tracestate that goes with a context: its own, else that of the process's trace, if it is the same. */
static inline const char *cuspan_tracestate_of(const cuspan_context *context, const char *traceparent,
                                               const char *tracestate)
{
    cuspan_context process;
    if (context->tracestate && *context->tracestate)
        return context->tracestate;
    if (!tracestate || !cuspan_parse(traceparent, tracestate, &process))
        return "";
    for (size_t i = 0; i < sizeof process.trace_id; i++)
        if (process.trace_id[i] != context->trace_id[i])
            return "";
    return tracestate;
}

static inline char *cuspan_append(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    *to = 0;
    return to;
}

/* The environment for a child process, for execve() and posix_spawn(): `environment` (as `environ`; not NULL)
 * with TRACEPARENT and TRACESTATE of cuspan_current(), so that the child's session becomes a child of what
 * this thread works for. Without a context it is `environment` as it is. The process's own environment does
 * not change. To be made before fork(): it allocates. The list is one block, for free(); its other strings
 * are borrowed from `environment`. NULL: no memory. */
static inline char **cuspan_child_environment(char *const *environment)
{
    const char *traceparent = NULL, *tracestate = NULL;
    cuspan_context context;
    size_t count = 0, bytes = 0, kept = 0;
    int has_context = cuspan_current(&context);
    for (; environment[count]; count++) {
        if (!traceparent && cuspan_is_variable(environment[count], "TRACEPARENT"))
            traceparent = environment[count] + sizeof "TRACEPARENT=" - 1;
        if (!tracestate && cuspan_is_variable(environment[count], "TRACESTATE"))
            tracestate = environment[count] + sizeof "TRACESTATE=" - 1;
    }
    const char *state = has_context ? cuspan_tracestate_of(&context, traceparent, tracestate) : "";
    while (state[bytes])
        bytes++;
    bytes += sizeof "TRACEPARENT=" + 56 + sizeof "TRACESTATE=";
    char **list = (char **)malloc((count + 3) * sizeof *list + bytes);
    if (!list)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!has_context || (!cuspan_is_variable(environment[i], "TRACEPARENT") &&
                             !cuspan_is_variable(environment[i], "TRACESTATE")))
            list[kept++] = environment[i];
    if (has_context) {
        char *text = (char *)(list + count + 3);
        list[kept++] = text;
        text = cuspan_append(text, "TRACEPARENT=");
        cuspan_format(&context, text);
        text += 56;
        if (*state) {
            list[kept++] = text;
            cuspan_append(cuspan_append(text, "TRACESTATE="), state);
        }
    }
    list[kept] = NULL;
    return list;
}

/* For a process that is about to end by _exit(), where no handler of exit() runs (a child of fork(), mostly):
 * does what the agent does at exit(), within its exit_deadline_ms, and traces no further. 0: done. -1: no
 * agent traces this process, or it has ended already. */
static inline int cuspan_finish(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, finish) ? agent->finish() : -1;
}

/* --- ranges and spans --- */

/* Opens a range on this thread: a span, and the parent of the CUDA calls and ranges that follow on it, as
 * long as the thread's context is the one of this moment. Returns its ID for cuspan_end(); 0 without an
 * agent. */
static inline uint64_t cuspan_range(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = cuspan_agent();
    if (!agent)
        return 0;
    cuspan_hand_over(agent);
    return agent->range_push(name, attributes, count);
}

/* Opens a span that may end on any thread; no calls become its children. */
static inline uint64_t cuspan_span(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = cuspan_agent();
    if (!agent)
        return 0;
    cuspan_hand_over(agent);
    return agent->span_start(name, attributes, count);
}

/* Ends a range or a span, with its status and further attributes. `message` says what went wrong; NULL:
 * nothing. Ranges may end in any order. 0: done. -1: ID 0, or no agent. */
static inline int cuspan_end_with(uint64_t id, cuspan_status status, const char *message,
                                  const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = id ? cuspan_agent() : NULL;
    return agent ? agent->end(id, (uint32_t)status, message, attributes, count) : -1;
}

static inline int cuspan_end(uint64_t id)
{
    return cuspan_end_with(id, CUSPAN_UNSET, NULL, NULL, 0);
}

/* --- loops for hardware counters --- */

/* Metrics that take several passes need work that runs several times. A range that is a loop runs as often as
 * they need (counters.replay: loop, and counters.ranges has its name), else once:
 *
 *     for (cuspan_loop loop = cuspan_loop_begin("forward"); cuspan_loop_next(&loop);)
 *         ... the same work on the GPU each time ...
 *
 * It is one range, whose span has the counts. One that is left early (break) must be ended:
 * cuspan_end(loop.range); it has none then. */
typedef struct cuspan_loop {
    uint64_t range; /* 0 without an agent */
    uint32_t runs;  /* so far */
} cuspan_loop;

static inline cuspan_loop cuspan_loop_begin(const char *name)
{
    const cuspan_api *agent = cuspan_agent();
    cuspan_loop loop = {0, 0};
    if (agent && CUSPAN_OFFERS(agent, again)) {
        cuspan_hand_over(agent);
        loop.range = agent->loop_push(name, NULL, 0);
    } else {
        loop.range = cuspan_range(name, NULL, 0);
    }
    return loop;
}

/* 1: the body is to run. 0: that was all, and the range is ended. */
static inline int cuspan_loop_next(cuspan_loop *loop)
{
    const cuspan_api *agent = loop->range ? cuspan_agent() : NULL;
    if (loop->runs++ == 0)
        return 1;
    if (agent && CUSPAN_OFFERS(agent, again) && agent->again(loop->range))
        return 1;
    cuspan_end(loop->range);
    loop->range = 0;
    return 0;
}

/* Something that happened now: an event of the innermost open range, or else a span of no length. */
static inline int cuspan_mark(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = cuspan_agent();
    if (!agent)
        return -1;
    cuspan_hand_over(agent);
    return agent->mark(name, attributes, count);
}

/* 1: the agent is there and traces. */
static inline int cuspan_is_on(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent ? agent->is_on() : 0;
}

/* --- tracing from here to there --- */

/* Traces from now on. Where CUDA has not loaded the agent, `library` (a path; NULL: libcuspan.so as the
 * loader finds it) is loaded first, also after CUDA has begun; its configuration comes as ever from
 * CUSPAN_CONFIG_FILE and the OTEL_* variables. 0: it traces now. 1: it did already. -1: there is no such
 * library; or the agent can't start, and has said why, once, on standard error; or this is a child that was
 * forked after CUDA began, or cuspan_finish() was called. With capture.cuda_profiler, or to trace a part
 * only, cuspan_stop() ends it again. */
static inline int cuspan_start(const char *library)
{
    const cuspan_api *agent = cuspan_agent();
    if (!agent && !getauxval(AT_SECURE) && dlopen(library ? library : CUSPAN_SONAME, RTLD_LAZY | RTLD_LOCAL))
        agent = cuspan_load_agent();
    if (!agent || !CUSPAN_OFFERS(agent, start))
        return -1;
    cuspan_hand_over(agent);
    return agent->start();
}

/* Ends the tracing; what is called from now on has no spans. What is captured goes on to be delivered.
 * CUPTI's callbacks stay, some 0.1 to 0.2 us of a launch (H200); its records go off where the program began
 * the tracing itself, and stay on where the agent was injected with CUPTI 13.3 or later. 0: done. 1: nothing
 * was traced. */
static inline int cuspan_stop(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, stop) ? agent->stop() : 1;
}

/* Sends at once what is captured, and of the GPU's work what is finished, and waits for it: `timeout_ms` at
 * most. 0: it is delivered, or was refused and is counted. -1: the time has passed, or nothing is traced
 * here. */
static inline int cuspan_flush(uint32_t timeout_ms)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, flush) ? agent->flush(timeout_ms) : -1;
}

static inline cuspan_attribute cuspan_int(const char *key, int64_t value)
{
    cuspan_attribute attribute = {key, CUSPAN_INT, 0, {0}};
    attribute.value.i = value;
    return attribute;
}

static inline cuspan_attribute cuspan_bool(const char *key, int value)
{
    cuspan_attribute attribute = {key, CUSPAN_BOOL, 0, {0}};
    attribute.value.i = value != 0;
    return attribute;
}

static inline cuspan_attribute cuspan_double(const char *key, double value)
{
    cuspan_attribute attribute = {key, CUSPAN_DOUBLE, 0, {0}};
    attribute.value.d = value;
    return attribute;
}

static inline cuspan_attribute cuspan_string(const char *key, const char *value)
{
    cuspan_attribute attribute = {key, CUSPAN_STRING, UINT32_MAX, {0}};
    attribute.value.s = value;
    return attribute;
}

#ifdef __cplusplus
}
#endif

#endif
