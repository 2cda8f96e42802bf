/* The one table of checks, in the order of the data's way. docs/troubleshooting.md has each of them, which a
 * test holds. */
#ifndef CUSPAN_CLI_DOCTOR_CHECKS_H
#define CUSPAN_CLI_DOCTOR_CHECKS_H

#include "cli/doctor/doctor.h"

/* X(group, name, the question that it answers): the function is check_GROUP_NAME. */
#define DOCTOR_CHECKS(X)                                                                                     \
    X(driver, library, "can CUDA's driver library be loaded, and which is it")                               \
    X(driver, module, "is the kernel's module loaded, and does it suit the library")                         \
    X(driver, container, "does the container give what CUDA and CUPTI need")                                 \
    X(driver, nodes, "may this user open the devices' files")                                                \
    X(driver, devices, "which GPUs are there, and may they be used")                                         \
    X(driver, mig, "are GPUs divided (MIG), and are there instances")                                        \
    X(driver, start, "does CUDA start")                                                                      \
    X(cupti, library, "which CUPTI would be taken, and why")                                                 \
    X(cupti, others, "which others were found, and why they are not taken")                                  \
    X(cupti, python, "which CUPTI do Python's packages bring")                                               \
    X(cupti, api, "which of CUPTI's interfaces would be used")                                               \
    X(injection, library, "can the agent's library be loaded, and is it of this version")                    \
    X(injection, module, "can the module that sends be loaded")                                              \
    X(injection, variable, "does CUDA_INJECTION64_PATH lead to the agent")                                   \
    X(injection, nvtx, "does NVTX_INJECTION64_PATH lead to the agent")                                       \
    X(injection, program, "can the driver load an agent into the program")                                   \
    X(injection, preload, "what else is loaded into every program")                                          \
    X(injection, tools, "is another tool's variable set")                                                    \
    X(configuration, file, "which file holds, and where is it named")                                        \
    X(configuration, check, "is the configuration right")                                                    \
    X(configuration, enabled, "does it let the agent work")                                                  \
    X(configuration, sampling, "does it sample, and does the parent")                                        \
    X(configuration, kinds, "is what is missed switched on")                                                 \
    X(configuration, filters, "what is left out by name")                                                    \
    X(collector, proxy, "does a proxy stand in the way")                                                     \
    X(collector, host, "is the collector's host known")                                                      \
    X(collector, port, "does somebody listen on its port")                                                   \
    X(collector, protocol, "is the protocol the one that is spoken there")                                   \
    X(collector, tls, "does the TLS handshake work")                                                         \
    X(collector, answer, "does it accept a request with these headers")                                      \
    X(collector, jaeger, "does Jaeger's page answer beside it")                                              \
    X(permissions, counters, "may hardware counters be read")                                                \
    X(permissions, files, "can the files that the settings name be written")                                 \
    X(permissions, disk, "is there room on their disks")                                                     \
    X(permissions, runtime, "is the user's runtime directory usable")                                        \
    X(permissions, limits, "do limits on files, memory and threads leave room")                              \
    X(permissions, seccomp, "does a filter of system calls hold")                                            \
    X(slow, processors, "are there processors for the agent's threads")                                      \
    X(slow, detail, "what does the detail cost")                                                             \
    X(slow, graphs, "what do CUDA graphs cost")                                                              \
    X(slow, rings, "are rings and buffers large enough")                                                     \
    X(slow, queues, "are queues and batches large enough")                                                   \
    X(slow, collector, "how long does the collector take")                                                   \
    X(slow, compression, "what does compression cost")                                                       \
    X(slow, clock, "how is the time read")                                                                   \
    X(agents, running, "which processes have an agent, or use CUDA without one")                             \
    X(program, run, "what does the program itself show")

#define DOCTOR_PROTOTYPE(group, name, question) void check_##group##_##name(struct doctor *doctor);
DOCTOR_CHECKS(DOCTOR_PROTOTYPE)
#undef DOCTOR_PROTOTYPE

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;

#endif
