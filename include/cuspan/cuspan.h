/* cuspan.h: lets a program attach trace contexts to its threads and create spans of its own.
 *
 * Header only, nothing to link. The functions find the agent (libcuspan.so) in the process. If
 * CUDA_INJECTION64_PATH names the agent, they load it, as CUDA would do later; loading it starts nothing.
 * Otherwise they check from time to time whether it is loaded. Without the agent every function returns its
 * "no agent" result within a few nanoseconds.
 *
 * Thread safety: every function may be called on any thread at any time, except in signal handlers. Contexts
 * and ranges belong to the calling thread.
 *
 * Cancellation: no function is a cancellation point. A thread that is canceled inside one ends after it.
 *
 * Ownership: strings and structs passed in are borrowed for the duration of the call, except where noted.
 *
 * Limits: texts are UTF-8 and are truncated to CUSPAN_TEXT_BYTES bytes.
 *
 * Languages: C and C++, or any language that can call C, through `struct cuspan_api`. */
#ifndef CUSPAN_CUSPAN_H
#define CUSPAN_CUSPAN_H

#ifdef __STDC_NO_ATOMICS__
#error "cuspan.h needs a compiler with the __atomic built-ins (gcc, clang)"
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUSPAN_SONAME     "libcuspan.so"
#define CUSPAN_TEXT_BYTES 512
#define CUSPAN_STATES_MAX 1024

/* A W3C trace context. IDs have the byte order of a traceparent header. */
typedef struct cuspan_context {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t flags; /* bit 0: sampled */
    uint8_t reserved[7];
    const char *tracestate; /* NUL-terminated, or NULL. The one from cuspan_current() is valid after a detach,
                               until the process ends or was given CUSPAN_STATES_MAX other tracestates */
} cuspan_context;

typedef enum cuspan_type {
    CUSPAN_INT = 0,
    CUSPAN_BOOL = 1,
    CUSPAN_DOUBLE = 2,
    CUSPAN_STRING = 3
} cuspan_type;

typedef struct cuspan_attribute {
    const char *key; /* NUL-terminated, not empty */
    uint32_t type;   /* enum cuspan_type */
    uint32_t bytes;  /* STRING: length in bytes, or UINT32_MAX if NUL-terminated */
    union {
        int64_t i; /* INT; BOOL: 0 or 1 */
        double d;
        const char *s;
    } value;
} cuspan_attribute;

/* One request's part of an iteration of a serving engine. */
typedef struct cuspan_part {
    uint64_t request;  /* from cuspan_request() */
    uint16_t phase;    /* enum cuspan_phase */
    uint16_t resumed;  /* 1: the first part after a preemption */
    uint32_t tokens;   /* that the iteration computes, drafts included */
    uint32_t computed; /* tokens of the request that were computed before, cached ones included */
    uint32_t drafts;   /* speculative tokens among `tokens` */
} cuspan_part;

/* Speculative decoding is DECODE with drafts. Tokens computed again after a preemption are PREFILL. */
typedef enum cuspan_phase { CUSPAN_PREFILL = 0, CUSPAN_DECODE = 1 } cuspan_phase;

/* The purpose of an iteration. DUMMY: an idle rank takes part in collectives. TRANSFER: only of a KV cache.
 */
typedef enum cuspan_iteration_kind {
    CUSPAN_FORWARD = 0,
    CUSPAN_DUMMY = 1,
    CUSPAN_TRANSFER = 2,
    CUSPAN_WARM_UP = 3
} cuspan_iteration_kind;

/* An iteration of an engine, also called a step: one run of the model for a batch of requests. */
typedef struct cuspan_iteration_info {
    const char *engine; /* its name, such as "vllm"; at most 31 bytes count */
    uint64_t seed;      /* a random number of the engine, the same on all of its ranks */
    int64_t number;     /* of the iteration, the same on all ranks */
    uint32_t kind;      /* enum cuspan_iteration_kind */
    uint32_t recorded;  /* 1: has spans, whatever engine.ratio says; the same on all ranks */
    int32_t rank;       /* of the engine, from 0 */
    int32_t ranks;
    const cuspan_part *parts; /* on rank 0, at most 4096; other ranks may have none */
    uint32_t count;
} cuspan_iteration_info;

/* A header of a request, or another property: the attribute engine.request.header.NAME of its span. At most
 * 39 bytes of the name and 63 of the value count. */
typedef struct cuspan_header {
    const char *name;
    const char *value;
} cuspan_header;

/* A request that an engine works for. */
typedef struct cuspan_request_info {
    const cuspan_context *context; /* of the span that the request came with; NULL: none */
    const char *id;                /* the engine's or the client's name for it; at most 63 bytes count */
    int64_t arrived_unix_ns;       /* when the engine got it; 0: unknown */
    uint32_t prompt_tokens;
    uint32_t cached_tokens;       /* of the prompt, found in a cache */
    const cuspan_header *headers; /* at most 8 count */
    uint32_t header_count;
} cuspan_request_info;

typedef enum cuspan_request_end_reason {
    CUSPAN_FINISHED = 0,
    CUSPAN_ABORTED = 1, /* for example because its client has disconnected */
    CUSPAN_FAILED = 2
} cuspan_request_end_reason;

typedef enum cuspan_status { CUSPAN_UNSET = 0, CUSPAN_OK = 1, CUSPAN_ERROR = 2 } cuspan_status;

/* The agent's function table. Later versions append members: check a member with CUSPAN_OFFERS. */
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
    int (*step)(int64_t number, uint32_t kind, uint32_t source);
    uint64_t (*request)(const cuspan_request_info *request);
    int (*request_end)(uint64_t request, uint32_t reason, uint32_t tokens);
    int (*iteration)(const cuspan_iteration_info *iteration);
    int (*iteration_end)(void);
    uint64_t (*iteration_here)(const cuspan_iteration_info *iteration);
    int (*iteration_summary)(const cuspan_iteration_info *iteration);
    const char *(*engine_headers)(void);
} cuspan_api;

#define CUSPAN_OFFERS(api, member) ((api)->bytes >= offsetof(cuspan_api, member) + sizeof((api)->member))

/* Type of `cuspan_agent_api`, the one symbol looked up in libcuspan.so. Never returns NULL for version 1. */
typedef const cuspan_api *(*cuspan_agent_api_fn)(uint32_t version);

/* A context attached before the agent was found, in a list with the innermost first. The list is passed to
 * the agent once it is there. */
struct cuspan_waiting {
    struct cuspan_waiting *outer;
    cuspan_context context;
    uint64_t number;
    int is_given;       /* the program has a pointer to the tracestate */
    char tracestate[1]; /* variable length */
};

struct cuspan_thread {
    struct cuspan_waiting *innermost;
    uint64_t agent_token; /* of the innermost context, once passed to the agent */
    uint64_t numbers;
};

static inline struct cuspan_thread *cuspan_this_thread(void)
{
    static __thread struct cuspan_thread thread;
    return &thread;
}

/* A thread that is canceled meanwhile, even asynchronously, ends afterwards, and leaves no lock behind.
 * Returns the state for cuspan_allow_cancel(). */
static inline int cuspan_defer_cancel(void)
{
    int type = 0, state = 0;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return (type == PTHREAD_CANCEL_ASYNCHRONOUS) << 1 | (state == PTHREAD_CANCEL_DISABLE);
}

static inline void cuspan_allow_cancel(int before)
{
    int unused;
    if (!(before & 1))
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &unused);
    if (before & 2)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &unused);
}

static inline const cuspan_api *cuspan_look_for_agent(void)
{
    /* A setuid program must not load what its caller's environment names. */
    const char *path = getauxval(AT_SECURE) ? NULL : getenv("CUDA_INJECTION64_PATH");
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path;
    void *library = dlopen(CUSPAN_SONAME, RTLD_LAZY | RTLD_NOLOAD);
    if (!library && name && strncmp(name, CUSPAN_SONAME, strlen(CUSPAN_SONAME)) == 0)
        library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return NULL;
    cuspan_agent_api_fn agent_api = (cuspan_agent_api_fn)(uintptr_t)dlsym(library, "cuspan_agent_api");
    return agent_api ? agent_api(1) : NULL;
}

/* One pointer per source file of the program that includes this header. */
static inline const cuspan_api **cuspan_agent_found(void)
{
    static const cuspan_api *agent;
    return &agent;
}

static inline const cuspan_api *cuspan_load_agent(void)
{
    int cancel_state = cuspan_defer_cancel();
    const cuspan_api *found = cuspan_look_for_agent();
    if (found)
        __atomic_store_n(cuspan_agent_found(), found, __ATOMIC_RELEASE);
    cuspan_allow_cancel(cancel_state);
    return found;
}

/* The agent's table, or NULL. While there is no agent, the first 256 calls search for it, so that threads
 * that start together all find it, and later one call in 1024. A search takes about a microsecond. */
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

#define CUSPAN_WAITING_TOKEN (UINT64_C(1) << 63)

static inline int cuspan_is_zero(const uint8_t *bytes, size_t count)
{
    uint8_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= bytes[i];
    return !any;
}

static inline uint64_t cuspan_add_waiting(const cuspan_context *context)
{
    if (cuspan_is_zero(context->trace_id, 16) || cuspan_is_zero(context->span_id, 8))
        return 0;
    struct cuspan_thread *thread = cuspan_this_thread();
    const char *state = context->tracestate ? context->tracestate : "";
    size_t bytes = strlen(state);
    struct cuspan_waiting *made = (struct cuspan_waiting *)malloc(sizeof *made + bytes);
    if (!made)
        return 0;
    made->outer = thread->innermost;
    made->context = *context;
    made->context.tracestate = made->tracestate;
    made->number = ++thread->numbers | CUSPAN_WAITING_TOKEN;
    made->is_given = 0;
    for (size_t i = 0; i <= bytes; i++)
        made->tracestate[i] = state[i];
    thread->innermost = made;
    return made->number;
}

static inline uint64_t cuspan_wait_for_agent(const cuspan_context *context)
{
    int cancel_state = cuspan_defer_cancel();
    uint64_t number = cuspan_add_waiting(context);
    cuspan_allow_cancel(cancel_state);
    return number;
}

/* The agent's table, after passing on the context that this thread attached before, or NULL. */
static inline const cuspan_api *cuspan_agent_with_context(void)
{
    struct cuspan_thread *thread = cuspan_this_thread();
    const cuspan_api *agent = cuspan_agent();
    if (agent && thread->innermost && !thread->agent_token)
        thread->agent_token = agent->attach(&thread->innermost->context);
    return agent;
}

/* Attaches a context to the calling thread: its CUDA calls and ranges become children of the context's span.
 * Contexts nest. Returns a token for cuspan_detach(), or 0 if the context is invalid (an all-zero ID) or
 * memory is exhausted. Also works before the agent is loaded. */
static inline uint64_t cuspan_attach(const cuspan_context *context)
{
    const cuspan_api *agent = cuspan_agent_with_context();
    return agent ? agent->attach(context) : cuspan_wait_for_agent(context);
}

/* Frees a detached context, or keeps it while the program may use its tracestate. */
static inline void cuspan_forget(struct cuspan_waiting *detached)
{
    static struct cuspan_waiting *given[CUSPAN_STATES_MAX];
    static uint32_t count;
    if (detached->is_given) {
        uint32_t at = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % CUSPAN_STATES_MAX;
        detached = __atomic_exchange_n(&given[at], detached, __ATOMIC_ACQ_REL);
    }
    free(detached);
}

/* Detaches the context of this token and all contexts attached inside it. Call it on the thread that
 * attached. Returns 0, or -1 without an effect if the token is not one of this thread's attached contexts. */
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
    int cancel_state = cuspan_defer_cancel();
    if (agent && thread->agent_token)
        agent->detach(thread->agent_token);
    thread->agent_token = 0;
    do {
        waiting = thread->innermost;
        thread->innermost = waiting->outer;
        if (waiting->number == token)
            token = 0;
        cuspan_forget(waiting);
    } while (token);
    cuspan_allow_cancel(cancel_state);
    (void)cuspan_agent_with_context();
    return 0;
}

/* Returns in `context` what to propagate to other services or child processes: the innermost open range of
 * this thread, else its attached context, else the process's session. Returns 1, or 0 if there is none
 * (`context` is then unspecified). */
static inline int cuspan_current(cuspan_context *context)
{
    const cuspan_api *agent = cuspan_agent_with_context();
    struct cuspan_waiting *waiting = cuspan_this_thread()->innermost;
    if (agent)
        return agent->current(context);
    if (waiting) {
        *context = waiting->context;
        waiting->is_given = 1;
    }
    return waiting != NULL;
}

/* Starts (`on` nonzero) or stops publishing the threads' contexts to readers outside the process, such as
 * eBPF profilers, in the thread-local pointer otel_thread_ctx_v1 (OTEP 4947). Each thread publishes its
 * innermost open range in the attached context, else that context. The calling thread follows at once, others
 * at their next attach, detach or range.
 *
 * Returns 0 on success; 1 if an SDK in this process already publishes, without an effect; -1 if there is no
 * agent, the agent is too old, or libcuspan-thread-ctx.so cannot be loaded (the agent logs why). */
static inline int cuspan_publish(int on)
{
    const cuspan_api *agent = cuspan_agent_with_context();
    return agent && CUSPAN_OFFERS(agent, publish) ? agent->publish(on) : -1;
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

/* Parses a traceparent header by W3C's rules. Returns 1, or 0 with a zeroed context if it is invalid.
 * `context` keeps the pointer `tracestate` (may be NULL), which must outlive it. */
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

/* Writes a traceparent header: 55 characters and a NUL. */
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

static inline int cuspan_is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* The context's own tracestate, or that of the process's trace if the trace IDs are equal. */
static inline const char *cuspan_tracestate_of(const cuspan_context *context, const char *traceparent,
                                               const char *tracestate)
{
    cuspan_context process;
    if (context->tracestate && *context->tracestate)
        return context->tracestate;
    if (!tracestate || !cuspan_parse(traceparent, tracestate, &process))
        return "";
    return memcmp(process.trace_id, context->trace_id, sizeof process.trace_id) == 0 ? tracestate : "";
}

static inline char *cuspan_append(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    *to = 0;
    return to;
}

/* Creates the environment of a child process for execve() or posix_spawn(): a copy of `environment` (such as
 * `environ`; not NULL) with TRACEPARENT and TRACESTATE set from cuspan_current(), so that the child's session
 * becomes a child of this thread's span. Without a context, an unchanged copy. Does not modify the process's
 * environment.
 *
 * Allocates, so call it before fork(). The list is one block that the caller frees with free(); its strings
 * are borrowed from `environment`. Returns NULL if memory is exhausted. */
static inline char **cuspan_child_environment(char *const *environment)
{
    const char *traceparent = NULL, *tracestate = NULL;
    cuspan_context context;
    size_t count = 0, kept = 0;
    int has_context = cuspan_current(&context);
    for (; environment[count]; count++) {
        if (!traceparent && cuspan_is_variable(environment[count], "TRACEPARENT"))
            traceparent = environment[count] + sizeof "TRACEPARENT=" - 1;
        if (!tracestate && cuspan_is_variable(environment[count], "TRACESTATE"))
            tracestate = environment[count] + sizeof "TRACESTATE=" - 1;
    }
    const char *state = has_context ? cuspan_tracestate_of(&context, traceparent, tracestate) : "";
    size_t bytes = sizeof "TRACEPARENT=" + 56 + sizeof "TRACESTATE=" + strlen(state);
    int cancel_state = cuspan_defer_cancel();
    char **list = (char **)malloc((count + 3) * sizeof *list + bytes);
    cuspan_allow_cancel(cancel_state);
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

/* For a process that is about to call _exit(), which runs no exit handlers (mostly a child of fork()): does
 * what the agent does at exit(), within exit_deadline_ms, and ends tracing permanently. Returns 0, or -1 if
 * this process is not traced or has already finished. */
static inline int cuspan_finish(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, finish) ? agent->finish() : -1;
}

/* Opens a range on this thread: a span that is the parent of the thread's following CUDA calls and ranges
 * while the thread's context stays the same. `attributes` may be NULL if `count` is 0. Returns its ID for
 * cuspan_end(), or 0 without an agent. */
static inline uint64_t cuspan_range(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = cuspan_agent_with_context();
    return agent ? agent->range_push(name, attributes, count) : 0;
}

/* Like cuspan_range(), but the span may end on any thread and has no children. */
static inline uint64_t cuspan_span(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = cuspan_agent_with_context();
    return agent ? agent->span_start(name, attributes, count) : 0;
}

/* Ends a range or span with a status and further attributes. `message` describes an error and may be NULL.
 * Ranges may end in any order. Returns 0, or -1 if `id` is 0 or there is no agent. */
static inline int cuspan_end_with(uint64_t id, cuspan_status status, const char *message,
                                  const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = id ? cuspan_agent() : NULL;
    return agent ? agent->end(id, (uint32_t)status, message, attributes, count) : -1;
}

/* The same without status and attributes. */
static inline int cuspan_end(uint64_t id)
{
    return cuspan_end_with(id, CUSPAN_UNSET, NULL, NULL, 0);
}

/* A range whose work may run several times, for hardware counters that need several passes. It runs as often
 * as they need if counters.replay is loop and counters.ranges contains its name, and otherwise once:
 *
 *     for (cuspan_loop loop = cuspan_loop_begin("forward"); cuspan_loop_next(&loop);)
 *         ... the same GPU work each time ...
 *
 * All iterations are one range, whose span has the counts. After leaving the loop early (break), call
 * cuspan_end(loop.range); that span has no counts. */
typedef struct cuspan_loop {
    uint64_t range; /* 0 without an agent */
    uint32_t runs;  /* iterations started */
} cuspan_loop;

/* Opens the range. See cuspan_loop. */
static inline cuspan_loop cuspan_loop_begin(const char *name)
{
    const cuspan_api *agent = cuspan_agent_with_context();
    cuspan_loop loop = {0, 0};
    if (agent && CUSPAN_OFFERS(agent, again))
        loop.range = agent->loop_push(name, NULL, 0);
    else
        loop.range = cuspan_range(name, NULL, 0);
    return loop;
}

/* Returns 1 to run the body (again), or 0 after the last iteration, when the range has ended. */
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

/* Records a point in time: an event of the innermost open range, or a zero-length span outside ranges.
 * Returns 0, or -1 without an agent. */
static inline int cuspan_mark(const char *name, const cuspan_attribute *attributes, uint32_t count)
{
    const cuspan_api *agent = cuspan_agent_with_context();
    return agent ? agent->mark(name, attributes, count) : -1;
}

/* The purpose of the time since a step's beginning. CUSPAN_NO_STEP: work that belongs to no step. */
typedef enum cuspan_step_kind {
    CUSPAN_TRAIN = 0,
    CUSPAN_EVALUATION = 1,
    CUSPAN_CHECKPOINT = 2,
    CUSPAN_NO_STEP = 3
} cuspan_step_kind;

/* Begins step `number` of a training job and ends the current one, for all threads of the process: CUDA calls
 * without an attached context belong to the step in which they start. All ranks of a job must use the same
 * numbers; each step is then one trace of all ranks. Call it where a step ends and the next one begins, on
 * any thread.
 *
 * From the first call on, steps that other sources report (PyTorch's optimizers, NVTX) are ignored. Returns
 * 0, or -1 without an agent. */
static inline int cuspan_step_of_kind(int64_t number, cuspan_step_kind kind)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, step) ? agent->step(number, (uint32_t)kind, 0) : -1;
}

static inline int cuspan_step(int64_t number)
{
    return cuspan_step_of_kind(number, CUSPAN_TRAIN);
}

/* Serving engines with continuous batching. A request has a span from its first iteration to its end, as a
 * child of the span that it came with. An iteration that is recorded is a trace of its own, with a span for
 * each rank, the rank's CUDA calls and GPU work below it, and links to the requests, which link back.
 *
 * On the process of rank 0, call cuspan_request() before the request's first iteration. Returns its number
 * for parts, or 0 without an agent. */
static inline uint64_t cuspan_request(const cuspan_request_info *request)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, request) ? agent->request(request) : 0;
}

/* Returns the names of headers that the setting engine.headers has, in lower case and separated by commas,
 * for cuspan_request(); "": none, or no agent. Valid until the process ends. */
static inline const char *cuspan_engine_headers(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, engine_headers) ? agent->engine_headers() : "";
}

/* `tokens` is the number of tokens that were generated. Returns 0, or -1 without an agent. */
static inline int cuspan_request_end(uint64_t request, cuspan_request_end_reason reason, uint32_t tokens)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, request_end) ? agent->request_end(request, (uint32_t)reason, tokens)
                                                      : -1;
}

/* Begins an iteration and ends the current one, for all threads of the process, as cuspan_step() does.
 * Attached contexts and open ranges come first. Copies `iteration`. Returns 0, or -1 without an agent. */
static inline int cuspan_iteration(const cuspan_iteration_info *iteration)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, iteration) ? agent->iteration(iteration) : -1;
}

/* Ends the current iteration: later work belongs to none. Returns 0, or -1 without an agent. */
static inline int cuspan_iteration_end(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, iteration_end) ? agent->iteration_end() : -1;
}

/* For a thread that works for another iteration than the process, for example by copying its results:
 * attaches that iteration to this thread. Returns a token for cuspan_detach(), or 0. Its parts are not read.
 */
static inline uint64_t cuspan_iteration_here(const cuspan_iteration_info *iteration)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, iteration_here) ? agent->iteration_here(iteration) : 0;
}

/* Sends what is known of an earlier iteration that has no trace, for example because it was slow: its root,
 * and its ranks with their totals, without calls. Only its engine, seed, number, rank and kind are read. All
 * ranks must ask, before they end the request for whose sake they ask, and within the next 500 iterations.
 * Returns 0, or -1 without an agent. */
static inline int cuspan_iteration_summary(const cuspan_iteration_info *iteration)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, iteration_summary) ? agent->iteration_summary(iteration) : -1;
}

/* Returns 1 while the agent is tracing this process, otherwise 0. */
static inline int cuspan_is_on(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent ? agent->is_on() : 0;
}

/* Starts tracing. If CUDA has not loaded the agent, loads it from `library` (a path, or NULL to search
 * libcuspan.so like the dynamic loader), even after CUDA was initialized. The configuration comes from
 * CUSPAN_CONFIG_FILE and the OTEL_* variables as usual. To trace a part of the program, end it with
 * cuspan_stop().
 *
 * Returns 0 if tracing started and 1 if it was already on. Returns -1 if the library cannot be loaded, the
 * agent cannot start (it logs why, once, to stderr), the process was forked after CUDA was initialized, or
 * cuspan_finish() was called. */
static inline int cuspan_start(const char *library)
{
    const cuspan_api *agent = cuspan_agent();
    int cancel_state = cuspan_defer_cancel();
    if (!agent && !getauxval(AT_SECURE) && dlopen(library ? library : CUSPAN_SONAME, RTLD_LAZY | RTLD_LOCAL))
        cuspan_load_agent();
    cuspan_allow_cancel(cancel_state);
    agent = cuspan_agent_with_context();
    return agent && CUSPAN_OFFERS(agent, start) ? agent->start() : -1;
}

/* Stops tracing: later calls have no spans. Captured spans are still delivered. CUPTI's callbacks stay
 * registered, which costs 0.1 to 0.2 us per launch (H200). Its activity records are disabled if the program
 * itself started tracing; they stay enabled if the agent was injected with CUPTI 13.3 or later. Returns 0, or
 * 1 if tracing was off. */
static inline int cuspan_stop(void)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, stop) ? agent->stop() : 1;
}

/* Exports captured calls and finished GPU work now, and waits up to `timeout_ms` milliseconds. Returns 0 when
 * everything is delivered, or rejected and counted as lost; -1 after the timeout or if nothing is traced. */
static inline int cuspan_flush(uint32_t timeout_ms)
{
    const cuspan_api *agent = cuspan_agent();
    return agent && CUSPAN_OFFERS(agent, flush) ? agent->flush(timeout_ms) : -1;
}

/* Constructors of attributes. They borrow `key` and `value`. */
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
