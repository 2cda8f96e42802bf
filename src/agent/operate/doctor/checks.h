/* The table of checks, in the order in which data flows. A test verifies that docs/troubleshooting.md has
 * each of them. */
#pragma once

#include "agent/operate/doctor/doctor.h"

/* X(group, name, the question that the check answers); its function is check_GROUP_NAME. */
#define DOCTOR_CHECKS(X)                                                                                     \
    X(driver, library, "can libcuda.so.1 be loaded, and which version is it")                                \
    X(driver, module, "is the kernel module loaded, and does its version match the library")                 \
    X(driver, container, "does the container provide what CUDA and CUPTI need")                              \
    X(driver, nodes, "may this user open the device files")                                                  \
    X(driver, devices, "which GPUs are present, and are they usable")                                        \
    X(driver, mig, "is MIG mode enabled, and are there instances")                                           \
    X(driver, start, "does cuInit succeed")                                                                  \
    X(cupti, library, "which CUPTI would the agent use, and why")                                            \
    X(cupti, others, "which other CUPTI libraries were found, and why are they not used")                    \
    X(cupti, python, "which CUPTI do Python packages contain")                                               \
    X(cupti, api, "which CUPTI interface would the agent use")                                               \
    X(injection, library, "can libcuspan.so be loaded, and does its version match")                          \
    X(injection, module, "can the export module be loaded")                                                  \
    X(injection, variable, "does CUDA_INJECTION64_PATH point to the agent")                                  \
    X(injection, nvtx, "does NVTX_INJECTION64_PATH point to the agent")                                      \
    X(injection, nccl, "does NCCL_PROFILER_PLUGIN point to the agent")                                       \
    X(injection, python, "are the training steps of Python programs found")                                  \
    X(injection, program, "can the driver load the agent into the program")                                  \
    X(injection, preload, "which libraries are preloaded into every program")                                \
    X(injection, tools, "is a variable of another tool set")                                                 \
    X(configuration, file, "which configuration file is used, and what selects it")                          \
    X(configuration, check, "is the configuration valid")                                                    \
    X(configuration, enabled, "is tracing enabled")                                                          \
    X(configuration, sampling, "do the sampler and the parent select traces")                                \
    X(configuration, kinds, "is the expected data enabled")                                                  \
    X(configuration, filters, "what is excluded by name")                                                    \
    X(collector, proxy, "is a proxy used, and does it work")                                                 \
    X(collector, host, "does the collector's host name resolve")                                             \
    X(collector, port, "does the collector's port accept connections")                                       \
    X(collector, protocol, "does the server speak the configured protocol")                                  \
    X(collector, tls, "does the TLS handshake succeed")                                                      \
    X(collector, answer, "does it accept a request with these headers")                                      \
    X(collector, jaeger, "does Jaeger's web page respond on the same host")                                  \
    X(permissions, counters, "may this user read hardware counters")                                         \
    X(permissions, files, "are the configured files writable")                                               \
    X(permissions, disk, "is there free disk space for them")                                                \
    X(permissions, runtime, "is XDG_RUNTIME_DIR usable")                                                     \
    X(permissions, limits, "are the limits on files, memory and threads high enough")                        \
    X(permissions, seccomp, "does seccomp keep the agent from creating threads")                             \
    X(slow, processors, "are there enough processors for the agent's threads")                               \
    X(slow, detail, "what does the detail level cost")                                                       \
    X(slow, graphs, "what do CUDA graphs cost")                                                              \
    X(slow, rings, "are rings and buffers large enough")                                                     \
    X(slow, queues, "are queues and batches large enough")                                                   \
    X(slow, collector, "how long does the collector take to respond")                                        \
    X(slow, compression, "what does compression cost")                                                       \
    X(slow, clock, "which clock source does the kernel use")                                                 \
    X(agents, running, "which processes have an agent, or use CUDA without one")                             \
    X(program, run, "at which stage does the program's data end")

#define DOCTOR_PROTOTYPE(group, name, question) void check_##group##_##name(struct doctor *doctor);
DOCTOR_CHECKS(DOCTOR_PROTOTYPE)
#undef DOCTOR_PROTOTYPE

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;
