/* The names of cudaError_t and CUresult, generated into results_table.c; call_result_name (model/calls.h)
 * answers from them. */
#ifndef CUSPAN_MODEL_CUDA_RESULTS_H
#define CUSPAN_MODEL_CUDA_RESULTS_H

#include "model/cuda/calls.h"

extern const struct enum_names results_runtime, results_driver;

#endif
