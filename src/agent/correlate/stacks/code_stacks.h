/* Keeps the stacks of the code that made calls, by their ID: the text of each, and its innermost frame that
 * belongs to the program. Memory is bounded: if it is full, all stacks are forgotten, and the threads that
 * made them describe them again. A graph node is captured once and runs for long, so its stack is kept, in up
 * to half of the memory, if such a node was captured or ran since stacks were last forgotten. */
#pragma once

#include "base/status.h"
#include "model/profile.h"
#include "model/record.h"

#include <stdbool.h>

#define CODE_STACKS_MAX        4096
#define CODE_STACKS_TEXT_BYTES (3 * 1024 * 1024) /* and as much again for frames, if they are kept */
#define CODE_ID_CHARS          16

struct code_stack {
    uint64_t number;
    char id[CODE_ID_CHARS + 1];  /* `number` in hexadecimal */
    const char *file, *function; /* of the program's frame. file NULL: it is native; function "": unknown */
    uint32_t line;               /* 0: unknown */
    const char *text;            /* all frames: code.stacktrace */
    bool is_sent;                /* a span was given the text */
    bool is_of_nodes;            /* a node with it was captured or ran since stacks were last forgotten */
    const struct code_record *frames; /* all frames; NULL: frames are not kept */
};

struct code_stack_frame {
    struct profile_string file, function; /* a function of code_stack_next() has no offset */
    uint32_t line;                        /* 0: unknown */
    uint8_t flags;                        /* enum code_frame_flags */
};

struct code_stacks;

/* `forget` is called when all stacks are forgotten; may be NULL. `keeps_frames`: code_stack_next() will be
 * used. The caller owns the result: free(). Fails with NO_MEMORY only. */
enum status code_stacks_create(void (*forget)(void), bool keeps_frames,
                               struct code_stacks **stacks) MUST_CHECK;

/* Returns the record's stack, and adds it if it is new. Not owned, valid until the next call of this
 * function. NULL: an earlier record described the stack, but is missing (code_unknown). */
struct code_stack *code_stacks_note(struct code_stacks *stacks, const struct code_record *record);

/* Returns the stack of a graph node that is captured or runs, valid as above. NULL: unknown. */
struct code_stack *code_stacks_of_nodes(struct code_stacks *stacks, uint64_t id);

/* Writes an ID as hexadecimal digits, as in code_stack.id. */
void code_id_text(uint64_t id, char text[CODE_ID_CHARS + 1]);
/* Returns the stack with this number; NULL: it is unknown, or was forgotten. */
const struct code_stack *code_stacks_find(struct code_stacks *stacks, uint64_t number);

/* Returns "f" for "f+0x1c". */
struct profile_string code_without_offset(struct profile_string name);
/* Reads the next frame of a stack, innermost first, and moves `*at`, which the caller sets to 0 at the start.
 * False: there are no more frames. */
bool code_stack_next(const struct code_stack *stack, uint32_t *at, struct code_stack_frame *frame);
