/* The names of cudaError_t and CUresult (results_table.c), for call_result_name (model/cuda/calls.h). */
#pragma once

#include "model/cuda/enum_names.h"

extern const struct enum_names results_runtime, results_driver;
