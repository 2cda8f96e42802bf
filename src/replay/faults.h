/* The ways in which the double can be told to fail, by CUSPAN_REPLAY_FAIL: "name[=number],name[=number]". */
#ifndef CUSPAN_REPLAY_FAULTS_H
#define CUSPAN_REPLAY_FAULTS_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* X(identifier, name, default number, what happens) */
#define FAULTS(X)                                                                                            \
    X(SUBSCRIBE, "subscribe", 1, "another tool, \"some-profiler\", is subscribed")                           \
    X(NOT_INITIALIZED, "not-initialized", 1, "every call says so, as where CUPTI and driver don't match")    \
    X(VERSION, "version", 1, "cuptiGetVersion fails")                                                        \
    X(ENABLE_CALLBACK, "enable-callback", 1, "the nth cuptiEnableCallback and all later ones fail")          \
    X(ENABLE_KIND, "enable-kind", 10, "enabling this activity kind fails")                                   \
    X(REGISTER, "register", 1, "registering buffer callbacks fails")                                         \
    X(ATTRIBUTE, "attribute", 1, "setting any attribute fails")                                              \
    X(DROPPED, "dropped", 5, "so many records more are reported as dropped, once")                           \
    X(ZERO_TIMESTAMPS, "zero-timestamps", 1, "every nth record has no times: device buffers were exhausted") \
    X(ASSERT, "assert", 100,                                                                                 \
      "the work of the call with this correlation ID fails an assert: work from there on has no times, and " \
      "calls fail from the next one on that waits for the GPU")                                              \
    X(ASSERT_STARTED, "assert-started", 1, "beside assert: the work that it stops has a start")              \
    X(NO_GRAPH_RECORDS, "no-graph-records", 1, "the first n executions of graphs give no record")            \
    X(LATE_BUFFERS, "late-buffers", 1, "buffers are delivered by a forced flush only")                       \
    X(AFTER_SHUTDOWN, "after-shutdown", 1, "the last buffer arrives after cuptiUnsubscribe")                 \
    X(OUT_OF_ORDER, "out-of-order", 1000, "records are shuffled within windows of so many")                  \
    X(THREADS, "threads", 2000, "each thread's calls come from many short-lived threads, so many in all")    \
    X(NULL_INFO, "null-info", 1, "user-defined records come without their layouts")                          \
    X(MALFORMED, "malformed", 1, "every nth buffer ends with a record of no known kind")                     \
    X(FATAL, "fatal", 1000, "after so many events CUPTI reports a fatal error and stops")                    \
    X(EXITS_FIRST, "exits-first", 1, "at exit CUPTI ends before the agent, and answers nothing any more")    \
    X(CALL, "call", 1, "the nth call into CUPTI fails, whatever it is")                                      \
    X(FLUSH_BLOCKS, "flush-blocks", 1000, "a forced flush takes so many ms")                                 \
    X(FLUSH_SLOW, "flush-slow", 100, "a flush takes so many ms to hand over what it has taken")              \
    X(UNIQUE_NAMES, "unique-names", 40, "each kernel record has a name of its own, of so many bytes")        \
    X(STREAMS, "streams", 1000, "the GPU's work is spread over so many streams")                             \
    X(NO_CALL, "no-call", 2, "every nth GPU record bears the correlation ID of no call")                     \
    X(NO_RECORD, "no-record", 2, "every nth GPU record never comes")                                         \
    X(COUNTERS, "counters", 35,                                                                              \
      "hardware counters, and samples of them, can't be had, with this result: 26 another tool has them")    \
    X(COUNTED_HANGS, "counted-hangs", 1, "the nth kernel that is counted doesn't end")                       \
    X(COUNTED_SPOILT, "counted-spoilt", 1, "every nth kernel that is counted runs for 20 ms")                \
    X(SAMPLES_FULL, "samples-full", 2, "the nth reading of samples finds the GPU's buffer full")             \
    X(SAMPLES_HANG, "samples-hang", 3000, "each reading of samples takes so many ms")                        \
    X(NO_PATIENCE, "no-patience", 1, "the agent isn't told that it may wait for room in its queues")

enum fault {
#define FAULT_ID(id, name, number, text) FAULT_##id,
    FAULTS(FAULT_ID)
#undef FAULT_ID
        FAULT_COUNT
};

/* Reads the list; NULL and "" mean none. INVALID names what isn't known. */
enum status faults_parse(const char *list, struct error *err) MUST_CHECK;

/* Whether this call into CUPTI is the one that is to fail. With CUSPAN_REPLAY_CALLS in the environment, all
 * calls are named in that file at the end, a line each. */
bool fault_call(const char *function);

/* 0: the fault is off; else its number, at least 1. */
uint64_t fault(enum fault fault);

#endif
