#include "model/gpu_counter_names.h"

#include <stdio.h>
#include <string.h>

const struct gpu_counter_name gpu_counter_names[] = {
    {"dram.read", "By", "bytes read from GPU memory", {"dram__bytes_read.sum", "dram__bytes_op_read.sum"}},
    {"dram.write",
     "By",
     "bytes written to GPU memory",
     {"dram__bytes_write.sum", "dram__bytes_op_write.sum"}},
    {"dram.utilization",
     "%",
     "memory bandwidth, relative to the peak",
     {"dram__throughput.avg.pct_of_peak_sustained_elapsed"}},
    {"l1.hit_rate", "%", "sectors found in the L1 cache", {"l1tex__t_sector_hit_rate.pct"}},
    {"l2.hit_rate", "%", "sectors found in the L2 cache", {"lts__t_sector_hit_rate.pct"}},
    {"sm.utilization",
     "%",
     "instruction issue slots used by active multiprocessors",
     {"smsp__issue_active.avg.pct_of_peak_sustained_active",
      "sm__inst_issued.avg.pct_of_peak_sustained_active"}},
    {"occupancy",
     "%",
     "active warps per active multiprocessor, relative to the maximum",
     {"sm__warps_active.avg.pct_of_peak_sustained_active"}},
    {"tensor.utilization",
     "%",
     "time in which the tensor cores were active",
     {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
      "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"}},
    {"instructions",
     "1",
     "instructions executed by warps",
     {"smsp__inst_executed.sum", "sm__inst_executed.sum"}},
    {"fma",
     "1",
     "thread instructions in the FMA pipes: single precision and integer",
     {"smsp__thread_inst_executed_pipe_fma_pred_on.sum", "sm__thread_inst_executed_pipe_fma_pred_on.sum"}},
    {"fp64",
     "1",
     "thread instructions in double precision",
     {"smsp__thread_inst_executed_pipe_fp64_pred_on.sum", "sm__thread_inst_executed_pipe_fp64_pred_on.sum"}},
    {"fp32.fma",
     "1",
     "thread FMAs in single precision, two operations each; needs counters.replay",
     {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
      "sm__sass_thread_inst_executed_op_ffma_pred_on.sum"}},
    {"fp64.fma",
     "1",
     "thread FMAs in double precision, two operations each; needs counters.replay",
     {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
      "sm__sass_thread_inst_executed_op_dfma_pred_on.sum"}},
};
const size_t gpu_counter_name_count = sizeof gpu_counter_names / sizeof *gpu_counter_names;

const struct gpu_counter_name *gpu_counter_find(const char *name)
{
    for (size_t i = 0; i < gpu_counter_name_count; i++)
        if (strcmp(gpu_counter_names[i].name, name) == 0)
            return &gpu_counter_names[i];
    return NULL;
}

const char *gpu_counter_metric(const char *setting)
{
    const char *equals = strchr(setting, '=');
    return equals ? equals + 1 : setting;
}

/* The metric part of a setting. */
static const char *chip_metric(const char *setting)
{
    const char *metric = gpu_counter_metric(setting);
    const struct gpu_counter_name *plain = gpu_counter_find(metric);
    return plain ? plain->metrics[0] : metric;
}

/* Sums, and averages over the chip's units, depend on the duration. */
static bool is_count(const char *metric)
{
    static const char *const others[] = {"per_second", ".pct", ".ratio", "per_cycle", "peak_sustained"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(metric, others[i]))
            return false;
    return true;
}

enum gpu_counter_kind gpu_counter_kind(const char *setting)
{
    const char *metric = chip_metric(setting);
    if (!is_count(metric) && !strstr(metric, "per_second"))
        return GPU_COUNTER_RATIO;
    return strstr(metric, "bytes") ? GPU_COUNTER_THROUGHPUT : GPU_COUNTER_RATE;
}

double gpu_counter_level(const char *setting, double value, double ns)
{
    const char *metric = chip_metric(setting);
    if (is_count(metric))
        return value * 1e9 / ns;
    return strstr(metric, ".pct") ? value / 100 : value;
}

bool gpu_counter_is_rate(const char *setting)
{
    const char *metric = chip_metric(setting);
    return strstr(metric, "_elapsed") || strstr(metric, "per_second");
}

bool gpu_counter_key(const char *setting, struct attr_key *key)
{
    size_t name_bytes = strcspn(setting, "=");
    int length = snprintf(key->name, sizeof key->name, GPU_COUNTER_PREFIX "%.*s", (int)name_bytes, setting);
    bool fits = length > 0 && (size_t)length < sizeof key->name;
    key->tag = 0x0a;
    key->len = (uint8_t)(fits ? (size_t)length : sizeof key->name - 1);
    return fits && name_bytes > 0;
}
