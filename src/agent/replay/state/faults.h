/* Faults that the replay library can inject, by CUSPAN_REPLAY_FAIL: "name[=number],name[=number]". */
#pragma once

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* X(identifier, name, default number, what happens) */
#define FAULTS(X)                                                                                            \
    X(SUBSCRIBE, "subscribe", 1, "another tool, \"some-profiler\", is subscribed")                           \
    X(NOT_INITIALIZED, "not-initialized", 1, "every function returns the error of a mismatched driver")      \
    X(VERSION, "version", 1, "cuptiGetVersion fails")                                                        \
    X(ENABLE_CALLBACK, "enable-callback", 1, "the nth cuptiEnableCallback and all later ones fail")          \
    X(ENABLE_KIND, "enable-kind", 10, "enabling this activity kind fails")                                   \
    X(REGISTER, "register", 1, "registering buffer callbacks fails")                                         \
    X(ATTRIBUTE, "attribute", 1, "setting any attribute fails")                                              \
    X(DROPPED, "dropped", 5, "this many more records are reported as dropped, once")                         \
    X(ZERO_TIMESTAMPS, "zero-timestamps", 1,                                                                 \
      "every nth record has no times, as if device buffers were exhausted")                                  \
    X(GRAPH_TIMES, "graph-times", 8,                                                                         \
      "every nth graph execution has a zero or backward times, as if threads launch the same graph at once") \
    X(ASSERT, "assert", 100,                                                                                 \
      "the work of the call with this correlation ID fails an assert: later work has no times, and calls "   \
      "fail from the next one that waits for the GPU")                                                       \
    X(ASSERT_STARTED, "assert-started", 1, "with assert: the work that it stops has a start")                \
    X(NO_GRAPH_RECORDS, "no-graph-records", 1, "the first n graph executions have no record")                \
    X(LATE_GRAPHS, "late-graphs", 1,                                                                         \
      "the agent enables graph records when it uses a GPU's, which takes this many ms; executions of older " \
      "graphs have the records of their nodes until then, and none from then on")                            \
    X(ROUNDS, "rounds", 3,                                                                                   \
      "after each boundary of steps, nothing happens until the agent has served this many flushes")          \
    X(LATE_BUFFERS, "late-buffers", 1, "only a forced flush delivers buffers")                               \
    X(AFTER_SHUTDOWN, "after-shutdown", 1, "the last buffer arrives after cuptiUnsubscribe")                 \
    X(OUT_OF_ORDER, "out-of-order", 1000, "records are shuffled within windows of this size")                \
    X(THREADS, "threads", 2000, "each thread's calls come from many short-lived threads, this many in all")  \
    X(NULL_INFO, "null-info", 1, "user-defined records have no layouts")                                     \
    X(MALFORMED, "malformed", 1, "every nth buffer ends with a record of an unknown kind")                   \
    X(FATAL, "fatal", 1000, "after this many events CUPTI reports a fatal error and stops")                  \
    X(EXITS_FIRST, "exits-first", 1, "at exit CUPTI ends before the agent")                                  \
    X(CALL, "call", 1, "the nth CUPTI call fails")                                                           \
    X(FLUSH_REFUSED, "flush-refused", 100, "this many forced flushes fail")                                  \
    X(FLUSH_BLOCKS, "flush-blocks", 1000, "a forced flush takes this many ms")                               \
    X(FLUSH_ALONE, "flush-alone", 5,                                                                         \
      "a flush takes this many ms; a kind that is switched meanwhile ends the program, and so does a flush " \
      "with a buffer for each thread")                                                                       \
    X(FLUSH_SLOW, "flush-slow", 100, "a flush takes this many ms to deliver what it has collected")          \
    X(UNIQUE_NAMES, "unique-names", 40, "each kernel record has a unique name of this many bytes")           \
    X(MODULES, "modules", 4,                                                                                 \
      "each kernel has a module and a name of its own, which is unloaded this many launches later; "         \
      "versions "                                                                                            \
      "that do not keep names free it then")                                                                 \
    X(STREAMS, "streams", 1000, "the GPU's work is spread over this many streams")                           \
    X(NO_CALL, "no-call", 2, "every nth GPU record has a correlation ID without a call")                     \
    X(NO_RECORD, "no-record", 2, "every nth GPU record is missing")                                          \
    X(COUNTERS, "counters", 35,                                                                              \
      "hardware counters and samples are not available, with this result (26: in use by another tool)")      \
    X(COUNTED_HANGS, "counted-hangs", 1, "the nth counted kernel does not end")                              \
    X(COUNTED_SPOILT, "counted-spoilt", 1, "every nth counted kernel runs for 20 ms")                        \
    X(FLUSH_OVERHEAD, "flush-overhead", 1, "each flush makes a record of CUPTI's own work")                  \
    X(KERNEL_HANGS, "kernel-hangs", 100,                                                                     \
      "the nth kernel and later ones do not end: only a forced flush delivers their records, once and "      \
      "without times")                                                                                       \
    X(NCCL_HANGS, "nccl-hangs", 100, "the nth call of a collective of NCCL does not return")                 \
    X(NCCL_HANGS_MS, "nccl-hangs-ms", 1000, "it returns after this many ms")                                 \
    X(SAMPLES_FULL, "samples-full", 2, "the nth read of samples finds the GPU's buffer full")                \
    X(SAMPLES_HANG, "samples-hang", 3000, "each read of samples takes this many ms")                         \
    X(SAMPLES_LATE, "samples-late", 200, "each read of samples is this many ms later than by the clock")     \
    X(SAMPLES_OPEN, "samples-open", 500,                                                                     \
      "enabling samples takes this many ms; an exit during it, or a read after an exit handler that was "    \
      "registered before it, aborts the process")                                                            \
    X(NO_PATIENCE, "no-patience", 1, "the replay does not wait for room in the agent's queues")

enum fault {
#define FAULT_ID(id, name, number, text) FAULT_##id,
    FAULTS(FAULT_ID)
#undef FAULT_ID
        FAULT_COUNT
};

/* Parses the list; NULL and "" mean none. INVALID names the unknown fault. */
enum status faults_parse(const char *list, struct error *err) MUST_CHECK;

/* Whether this CUPTI call must fail. With CUSPAN_REPLAY_CALLS, the process writes the names of all calls to
 * that file when it exits, one per line. */
bool fault_call(const char *function);

/* 0: disabled; otherwise the fault's number, at least 1. */
uint64_t fault(enum fault fault);
