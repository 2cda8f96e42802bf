/* The table of checks, in the order in which data flows. A test verifies that docs/troubleshooting.md has
 * each of them. */
#pragma once

#include "agent/operate/doctor/doctor.h"

/* X(group, name, what it needs, the question that the check answers); its function is check_GROUP_NAME. */
#define DOCTOR_CHECKS(X)                                                                                     \
    X(driver, library, NOTHING, "can libcuda.so.1 be loaded, and which version is it")                       \
    X(driver, module, NOTHING, "is the kernel module loaded, and does its version match the library")        \
    X(driver, container, NOTHING, "does the container provide what CUDA and CUPTI need")                     \
    X(driver, nodes, NOTHING, "may this user open the device files")                                         \
    X(driver, devices, NOTHING, "which GPUs are present, and are they usable")                               \
    X(driver, mig, NOTHING, "is MIG mode enabled, and are there instances")                                  \
    X(driver, start, NOTHING, "does cuInit succeed")                                                         \
    X(cupti, library, API, "which CUPTI would the agent use, and why")                                       \
    X(cupti, others, API, "which other CUPTI libraries were found, and why are they not used")               \
    X(cupti, python, NOTHING, "which CUPTI do Python packages contain")                                      \
    X(cupti, api, API, "which CUPTI interface would the agent use")                                          \
    X(injection, library, NOTHING, "can libcuspan.so be loaded, and does its version match")                 \
    X(injection, module, LIBRARY, "can the export module be loaded")                                         \
    X(injection, variable, NOTHING, "does CUDA_INJECTION64_PATH point to the agent")                         \
    X(injection, nvtx, NOTHING, "does NVTX_INJECTION64_PATH point to the agent")                             \
    X(injection, nccl, NOTHING, "does NCCL_PROFILER_PLUGIN point to the agent")                              \
    X(injection, python, LIBRARY, "are the training steps of Python programs found")                         \
    X(injection, engines, LIBRARY, "which serving engines does Python have, with which hook points")         \
    X(injection, program, PROGRAM, "can the driver load the agent into the program")                         \
    X(injection, preload, NOTHING, "which libraries are preloaded into every program")                       \
    X(injection, tools, NOTHING, "is a variable of another tool set")                                        \
    X(configuration, file, NOTHING, "which configuration file is used, and what selects it")                 \
    X(configuration, check, NOTHING, "is the configuration valid")                                           \
    X(configuration, enabled, SETTINGS, "is tracing enabled")                                                \
    X(configuration, sampling, SETTINGS, "do the sampler and the parent select traces")                      \
    X(configuration, kinds, SETTINGS, "is the expected data enabled")                                        \
    X(configuration, filters, SETTINGS, "what is excluded by name")                                          \
    X(collector, proxy, SETTINGS, "is a proxy used, and does it work")                                       \
    X(collector, host, SETTINGS, "does the collector's host name resolve")                                   \
    X(collector, port, SETTINGS, "does the collector's port accept connections")                             \
    X(collector, protocol, SETTINGS, "does the server speak the configured protocol")                        \
    X(collector, tls, SETTINGS, "does the TLS handshake succeed")                                            \
    X(collector, answer, SETTINGS, "does it accept a request with these headers")                            \
    X(collector, jaeger, SETTINGS, "does Jaeger's web page respond on the same host")                        \
    X(permissions, counters, NOTHING, "may this user read hardware counters")                                \
    X(permissions, files, NOTHING, "are the configured files writable")                                      \
    X(permissions, disk, NOTHING, "is there free disk space for them")                                       \
    X(permissions, runtime, NOTHING, "is XDG_RUNTIME_DIR usable")                                            \
    X(permissions, limits, NOTHING, "are the limits on files, memory and threads high enough")               \
    X(permissions, seccomp, NOTHING, "does seccomp keep the agent from creating threads")                    \
    X(slow, processors, NOTHING, "are there enough processors for the agent's threads")                      \
    X(slow, detail, SETTINGS, "what does the detail level cost")                                             \
    X(slow, graphs, SETTINGS, "what do CUDA graphs cost")                                                    \
    X(slow, rings, SETTINGS, "are rings and buffers large enough")                                           \
    X(slow, queues, SETTINGS, "are queues and batches large enough")                                         \
    X(slow, collector, NOTHING, "how long does the collector take to respond")                               \
    X(slow, compression, NOTHING, "what does compression cost")                                              \
    X(slow, clock, NOTHING, "which clock source does the kernel use")                                        \
    X(agents, running, NOTHING, "which processes have an agent, or use CUDA without one")                    \
    X(program, run, PROGRAM, "at which stage does the program's data end")

#define DOCTOR_PROTOTYPE(group, name, needs, question) void check_##group##_##name(struct doctor *doctor);
DOCTOR_CHECKS(DOCTOR_PROTOTYPE)
#undef DOCTOR_PROTOTYPE

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;
