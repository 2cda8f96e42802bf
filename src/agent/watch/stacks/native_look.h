/* Walks the native stack of a sleeping thread, from the stack pointer and the program counter that the kernel
 * shows in /proc/PID/task/TID/syscall. Reads stack and unwind tables by system calls. */
#pragma once

#include "agent/frames/unwind_rule.h"
#include "agent/watch/stacks/process_map.h"
#include "agent/watch/stacks/stack_result.h"

#include <stdint.h>

#define NATIVE_STACK_BYTES  (64 * 1024) /* read of a stack */
#define NATIVE_PLACES       3072
#define NATIVE_INDEX        4096
#define NATIVE_ENTRY_BYTES  4096 /* a function's entry in .eh_frame; longer ones are unsupported */
#define NATIVE_SYMBOL_BYTES (32 * 1024 * 1024) /* symbols read in one look */

/* An address in code, of which many threads may have frames. */
struct native_place {
    uint64_t address; /* as in a frame */
    struct unwind_rule rule;
    uint32_t library;             /* in the map; MAP_LIBRARIES_MAX: none */
    uint64_t symbol, symbol_name; /* addresses of function and name; 0: unknown */
    uint32_t library_text, symbol_text;
    bool is_named;
};

/* All zero for each look. */
struct native_look {
    uint32_t count;
    uint16_t index[NATIVE_INDEX]; /* number of a place + 1, by hash of the address */
    struct native_place places[NATIVE_PLACES];
    uint64_t stack[NATIVE_STACK_BYTES / 8];
    uint8_t common[NATIVE_ENTRY_BYTES], own[NATIVE_ENTRY_BYTES];
};

/* Adds the frames of a thread with these registers to `into`. Sets its native fields. */
void native_look_walk(struct native_look *look, struct process_map *map, struct thread_stacks *into,
                      struct thread_stack *thread);

/* Sets the libraries and symbols of all native frames. */
void native_look_name(struct native_look *look, struct process_map *map, struct thread_stacks *into);
