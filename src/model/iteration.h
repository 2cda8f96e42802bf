/* Iterations of serving engines, and the requests that they work for, as the program's threads report them.
 *
 * An iteration is to an engine what a step is to a training job (model/step.h): a boundary between steps with
 * an `engine_event` begins one. Its IDs are hashes of the engine's seed and the iteration's number, so all
 * ranks derive the same. */
#pragma once

#include "model/step.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum iteration_kind { ITERATION_FORWARD, ITERATION_DUMMY, ITERATION_TRANSFER, ITERATION_WARM_UP };
enum request_phase { REQUEST_PREFILL, REQUEST_DECODE };
#define REQUEST_PHASES 2
enum request_end { REQUEST_FINISHED, REQUEST_ABORTED, REQUEST_FAILED };
#define ITERATION_KINDS 4
#define REQUEST_ENDS    3

#define REQUEST_MAY_BE_SAMPLED 1u /* bit of its number: capture is awake while the request is in progress */
#define ENGINE_NAME_BYTES      32
#define REQUEST_ID_BYTES       64
#define REQUEST_HEADERS_MAX    8
#define HEADER_NAME_BYTES      40 /* at most, with NUL */
#define HEADER_VALUE_BYTES     64
#define ITERATION_PARTS_MAX    4096

/* One request's part of an iteration; the layout of cuspan_part. */
struct iteration_part {
    uint64_t request;
    uint16_t phase; /* enum request_phase */
    uint16_t is_resumed;
    uint32_t tokens;
    uint32_t computed; /* tokens before the iteration */
    uint32_t drafts;
};

struct iteration {
    uint64_t seed;
    int64_t number;
    char engine[ENGINE_NAME_BYTES];
    uint8_t kind;     /* enum iteration_kind */
    bool is_recorded; /* sampled, whatever the ratio */
    int32_t rank, ranks;
    uint32_t requests; /* all, also those whose parts were left out */
    uint64_t tokens[REQUEST_PHASES];
    uint32_t part_count;
};

struct engine_request {
    uint64_t number; /* not 0; odd: it may be sampled (REQUEST_MAY_BE_SAMPLED) */
    uint8_t context[24];
    uint8_t flags;
    uint64_t arrived_ns; /* since 1970; 0: unknown */
    uint32_t prompt_tokens, cached_tokens;
    uint32_t header_bytes; /* of engine_event_headers() */
    char id[REQUEST_ID_BYTES];
    char trace_state[513];
};

struct engine_request_end {
    uint64_t number;
    uint32_t reason; /* enum request_end */
    uint32_t tokens; /* generated */
};

/* ENGINE_SUMMARY: an earlier iteration's summary is wanted. It names the iteration, and has no parts. */
enum engine_event_type { ENGINE_ITERATION, ENGINE_REQUEST, ENGINE_REQUEST_END, ENGINE_SUMMARY };

/* Allocated by the thread that reports it, freed by steps_take()'s caller. */
struct engine_event {
    enum engine_event_type type;
    size_t bytes; /* of the whole allocation */
    union {
        struct iteration iteration;
        struct engine_request request;
        struct engine_request_end end;
    };
    struct iteration_part parts[]; /* iteration.part_count */
};

#define REQUEST_HEADERS_BYTES_MAX (REQUEST_HEADERS_MAX * (HEADER_NAME_BYTES + HEADER_VALUE_BYTES))

/* Headers of an ENGINE_REQUEST, instead of parts: the name of each and its value, NUL-terminated. */
static inline char *engine_event_headers(struct engine_event *event)
{
    return (char *)event->parts;
}

/* Writes a header's name in lower case, as the end of an attribute's name. */
void header_write_name(char to[HEADER_NAME_BYTES], const char *name);
/* Writes text from a client as printable ASCII, cut to `bytes` with its NUL. Spaces become '?' if they are
 * not allowed. */
void client_text_write(char *to, size_t bytes, const char *text, bool has_spaces);

/* As in the attributes engine.iteration.kind, engine.request.end; valid for the values above. */
const char *iteration_kind_name(uint8_t kind);
const char *request_end_name(uint32_t reason);
const char *request_phase_name(enum request_phase phase);

struct step_identity iteration_identify(uint64_t seed, int64_t number);
/* The ID of a rank's span in the iteration's trace. */
void iteration_rank_span(uint64_t seed, int64_t number, int32_t rank, uint8_t span_id[8]);
/* The same on all ranks. Any thread; a few ns. */
bool iteration_is_sampled(const struct step_rules *rules, const struct iteration *iteration);
/* Whether capture is awake during the iteration: it is sampled, or the next number is. */
bool iteration_is_watched(const struct step_rules *rules, const struct iteration *iteration);
