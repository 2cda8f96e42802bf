/* NVML's measurements of the GPUs that the process uses: capture queries them, the agent makes metrics of
 * them. */
#pragma once

#include <stdint.h>

#define HARDWARE_GPUS_MAX 16
#define HARDWARE_ID_BYTES 48

enum hardware_field { /* bits of `present`: what this GPU supports */
                      HARDWARE_UTILIZATION = 1 << 0,
                      HARDWARE_MEMORY = 1 << 1,
                      HARDWARE_TEMPERATURE = 1 << 2,
                      HARDWARE_POWER = 1 << 3,
                      HARDWARE_ENERGY = 1 << 4
};

struct gpu_hardware {
    char id[HARDWARE_ID_BYTES]; /* hw.id: "GPU-..." */
    char name[96];              /* "NVIDIA H200"; "": unknown */
    uint32_t present;           /* enum hardware_field */
    double utilization;         /* 0 to 1: fraction of time in which a kernel of any process ran */
    uint64_t memory_bytes, memory_used_bytes;
    uint32_t temperature_celsius;
    double power_watts;
    double energy_joules; /* since the driver was loaded */
};

struct hardware {
    uint32_t count;
    struct gpu_hardware gpus[HARDWARE_GPUS_MAX];
};
