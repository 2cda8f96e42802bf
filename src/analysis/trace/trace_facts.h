/* Notes of a command about its input, beside its result. One rule for all commands: a damaged line, message
 * or span is skipped and counted, and so is what follows where a file is cut off or damaged. One line on
 * standard error each says how much that was and where the first one is. The exit status is that of a good
 * file, unless no span could be read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TRACE_NOTE_BYTES 420

struct trace_note {
    size_t count;
    char first[TRACE_NOTE_BYTES]; /* where the first one is, and what is wrong */
};

struct trace_facts {
    size_t spans;
    size_t files;
    bool is_empty; /* all files were read, and none has spans */
    size_t segments;
    struct trace_note left_out; /* pipes, sockets and devices in a folder, and folders that cannot be read */
    struct trace_note cut;      /* files whose last line, message or compressed block is incomplete */
    char cut_file[TRACE_NOTE_BYTES];
    struct trace_note damaged;   /* files that could not be read to the end for another reason */
    struct trace_note documents; /* lines and messages that were skipped, all or their rest */
    struct trace_note odd_spans; /* spans that were skipped */
    size_t replaced;             /* characters that were not valid Unicode */
    size_t backwards;            /* spans that end before they start */
    bool has_rest;               /* there were too many traces: trace_is_rest() */
    bool has_other_names;        /* there were too many names: STORE_OTHER_NAMES */
    bool has_other_resources;    /* there were too many processes and devices: STORE_OTHER_RESOURCES */
    size_t joins_missed; /* spans whose parent is in the input, but too far away to be in the same segment */
};

/* Keeps the first text. */
void trace_note_add(struct trace_note *note, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* On standard error. `command`: "stat". */
void trace_facts_print(const struct trace_facts *facts, const char *command);
