/* NVML's measurements of the GPUs that the process uses: capture queries them, the agent makes metrics of
 * them. */
#pragma once

#include <stdint.h>

#define HARDWARE_GPUS_MAX 16
#define HARDWARE_ID_BYTES 48

enum hardware_field {
    HARDWARE_UTILIZATION,  /* 0 to 1: fraction of time in which a kernel of any process ran */
    HARDWARE_MEMORY_LIMIT, /* bytes */
    HARDWARE_MEMORY_USAGE,
    HARDWARE_MEMORY_UTILIZATION, /* 0 to 1 */
    HARDWARE_TEMPERATURE,        /* degrees Celsius */
    HARDWARE_MEMORY_TEMPERATURE,
    HARDWARE_POWER,  /* watts */
    HARDWARE_ENERGY, /* joules since the driver was loaded, as the numbers of errors */
    HARDWARE_ECC_CORRECTED,
    HARDWARE_ECC_UNCORRECTED,
    HARDWARE_PCIE_REPLAYS,
    HARDWARE_XIDS, /* errors that the driver reported since the agent first asked */
    HARDWARE_OK,   /* one of these three is 1, the others are 0 */
    HARDWARE_DEGRADED,
    HARDWARE_FAILED,
    HARDWARE_FIELDS
};

/* nvmlClocksEventReason...; not the power limit, at which a healthy GPU works. */
enum hardware_slowdown {
    HARDWARE_SLOW_HW = 0x08, /* thermal or power brake, with one of the later ones */
    HARDWARE_SLOW_SW_THERMAL = 0x20,
    HARDWARE_SLOW_HW_THERMAL = 0x40,
    HARDWARE_SLOW_POWER_BRAKE = 0x80
};

struct gpu_hardware {
    char id[HARDWARE_ID_BYTES]; /* hw.id: "GPU-..." */
    char name[96];              /* "NVIDIA H200"; "": unknown */
    char serial[32];            /* "": unknown */
    uint32_t present;           /* bit of each enum hardware_field that this GPU supports */
    double values[HARDWARE_FIELDS];
    uint32_t last_xid;  /* number of the latest such error; 0: none */
    uint32_t slowdowns; /* why the GPU is slowed down now: enum hardware_slowdown */
};

struct hardware {
    uint32_t count;
    struct gpu_hardware gpus[HARDWARE_GPUS_MAX];
};
