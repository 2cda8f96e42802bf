/* Facts that libcuda and NVML report, each queried once, in a child process. */
#pragma once

#include "agent/operate/doctor/doctor.h"

#define NVML_DEVICES_MAX 16

struct driver_facts {
    bool is_found;    /* libcuda.so.1 */
    char error[256];  /* of the loader, unless found */
    char path[512];   /* of the loaded library, with links resolved */
    int version;      /* of cuDriverGetVersion, such as 13000; 0: unknown */
    bool has_started; /* cuInit returned */
    int result;       /* of cuInit */
    char result_name[64];
    int devices;
    char failure[64]; /* why the child process failed, if it did */
};

struct nvml_facts {
    bool is_found;   /* libnvidia-ml.so.1 */
    char error[256]; /* of the loader or NVML */
    bool works;
    char driver[64]; /* "580.159.04" */
    unsigned count;
    struct nvml_device {
        char name[96];
        unsigned compute_mode;   /* 2: prohibited */
        bool has_mig;            /* supports MIG */
        unsigned mig, instances; /* current MIG mode; number of instances */
    } devices[NVML_DEVICES_MAX];
};

const struct driver_facts *driver_facts(struct doctor *doctor);
const struct nvml_facts *nvml_facts(struct doctor *doctor);
