/* What CUDA's driver and NVML say of themselves, each asked once, in a child. */
#ifndef CUSPAN_CLI_DOCTOR_CHECKS_CHECK_DRIVER_H
#define CUSPAN_CLI_DOCTOR_CHECKS_CHECK_DRIVER_H

#include "cli/doctor/doctor.h"

#define NVML_DEVICES_MAX 16

struct driver_facts {
    bool is_found;    /* libcuda.so.1 */
    char error[256];  /* the loader's, if not */
    char path[512];   /* as loaded, links followed */
    int version;      /* cuDriverGetVersion's: 13000; 0: unknown */
    bool has_started; /* cuInit was called */
    int result;       /* cuInit's */
    char result_name[64];
    int devices;
    char how[64]; /* what became of the child that asked, if it didn't answer */
};

struct nvml_facts {
    bool is_found;   /* libnvidia-ml.so.1 */
    char error[256]; /* the loader's, or NVML's */
    bool works;
    char driver[64]; /* "580.159.04" */
    unsigned count;
    struct nvml_device {
        char name[96];
        unsigned compute_mode;   /* 2: prohibited */
        bool has_mig;            /* it could be divided */
        unsigned mig, instances; /* MIG mode as it is; and its instances */
    } devices[NVML_DEVICES_MAX];
};

const struct driver_facts *driver_facts(struct doctor *doctor);
const struct nvml_facts *nvml_facts(struct doctor *doctor);

#endif
