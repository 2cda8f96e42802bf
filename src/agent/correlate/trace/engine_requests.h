/* The requests that a serving engine works for, and what each has had so far. Only sampled requests get spans
 * and have a struct request_trace; of the others only the ID is kept, for the parts of iterations. */
#pragma once

#include "agent/correlate/trace/parent.h"
#include "base/status.h"
#include "model/iteration.h"

#define ENGINE_REQUESTS_MAX        2048 /* in progress */
#define ENGINE_REQUESTS_TRACED_MAX 448
#define ENGINE_HEADER_BYTES_MAX    (64 * 1024) /* of all traced requests */

#define REQUEST_LINKS_MAX       64
#define REQUEST_LINKS_PREFILL   16
#define REQUEST_LINKS_SLOWEST   8  /* of those recorded */
#define REQUEST_LINKS_SUMMARIES 16 /* the slowest of those with summaries */
#define REQUEST_LINKS_SPREAD    38 /* half of them if there is no room */

/* An iteration with a trace that the request took part in. */
struct iteration_link {
    int64_t number;
    uint64_t duration_ns;
};

struct request_trace {
    struct parent parent; /* of the request's span; a span ID of zeros: it is a root */
    uint8_t span_id[8];
    char engine[ENGINE_NAME_BYTES];
    uint64_t seed;
    int32_t rank;
    uint64_t arrived_ns, first_ns, prefilled_ns, last_ns, ended_ns; /* 0: not so far */
    uint32_t prompt_tokens, cached_tokens, generated_tokens;
    uint32_t end_reason; /* enum request_end */
    uint64_t tokens[REQUEST_PHASES];
    char *headers; /* names and values as in engine_event_headers(); NULL: none */
    uint32_t header_bytes;
    uint64_t drafts;
    uint32_t preemptions;
    uint32_t iterations, measured;   /* all, and those with GPU times */
    uint64_t time_ns, gpu_ns;        /* durations, and GPU time, of its iterations */
    double share_ns[REQUEST_PHASES]; /* of that GPU time */
    uint32_t open;                   /* iterations whose GPU work is not complete */
    /* Links: the first chunks of the prefill, the first and last iteration of the decoding, the slowest ones,
     * and of the others every `stride`-th. */
    int64_t prefill[REQUEST_LINKS_PREFILL], first_decode, last, spread[REQUEST_LINKS_SPREAD];
    struct iteration_link slowest[REQUEST_LINKS_SLOWEST], summaries[REQUEST_LINKS_SUMMARIES];
    uint32_t recorded, prefill_count, slowest_count, spread_count, stride;
    uint32_t summarized, summary_count; /* all, and those kept */
    bool has_decoded;                   /* in a recorded iteration */
};

struct request {
    uint64_t number;             /* 0: free */
    uint32_t next;               /* in its bucket, or of the free ones; index + 1 */
    uint32_t seen_s;             /* seconds since 1970: it came, or had an iteration; 0: unknown */
    struct request_trace *trace; /* NULL: not sampled */
    char id[REQUEST_ID_BYTES];
};

struct engine_requests;

enum status engine_requests_create(struct engine_requests **requests) MUST_CHECK;
void engine_requests_destroy(struct engine_requests *requests);

/* Adds a request without a trace. NULL: there are too many. Owned by `requests`, as is its trace. */
struct request *engine_requests_add(struct engine_requests *requests, uint64_t number, const char *id);
struct request *engine_requests_find(struct engine_requests *requests, uint64_t number);
/* Its index, below ENGINE_REQUESTS_MAX, until it is removed; and the request, or free entry, at an index. */
uint32_t engine_requests_index(const struct engine_requests *requests, const struct request *request);
struct request *engine_requests_at(struct engine_requests *requests, uint32_t index);
/* Returns an empty trace for the request; NULL: there are too many. */
struct request_trace *engine_requests_trace(struct engine_requests *requests, struct request *request);
/* Copies the headers into the trace. False: there is no room. */
bool engine_requests_keep_headers(struct engine_requests *requests, struct request_trace *trace,
                                  const char *headers, uint32_t bytes);
void engine_requests_remove(struct engine_requests *requests, struct request *request);
/* Returns any traced request, to empty the table; NULL: none is left. */
struct request *engine_requests_any(struct engine_requests *requests);

/* Notes a recorded iteration with this part of the request. */
void request_trace_note(struct request_trace *trace, const struct iteration_link *link, uint16_t phase);
/* Notes an earlier iteration whose summary is sent. */
void request_trace_note_summary(struct request_trace *trace, const struct iteration_link *link);
/* Copies the numbers of the chosen iterations, each once: the slowest ones, the longest first, and then the
 * others in order. Returns how many these are. */
uint32_t request_trace_links(const struct request_trace *trace, int64_t numbers[REQUEST_LINKS_MAX]);
