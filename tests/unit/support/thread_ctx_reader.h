/* Reads the contexts that threads publish like an external reader (OTEP 4947, "Reading Protocol"): only
 * through the ELF tables of the loaded libraries and the thread pointer, without dlsym. It shares no code
 * with the agent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How many libraries have the symbol in .dynsym; the last one is read from then on. */
int reader_find(void);

struct read_context {
    bool has_record; /* the pointer is not NULL */
    uint8_t valid;   /* 1: the rest counts */
    uint8_t trace_id[16], span_id[8], flags;
    uint16_t attrs_bytes;
};

/* The calling thread's. Safe in a signal handler: then the thread stands where it was interrupted. */
void reader_read(struct read_context *context);
