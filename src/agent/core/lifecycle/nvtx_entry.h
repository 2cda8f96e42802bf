/* The entry of NVTX: each copy of NVTX in the process calls this function of the library in
 * NVTX_INJECTION64_PATH, before or after CUDA is initialized. */
#pragma once

#include <stdint.h>

/* 1: this copy of NVTX calls us from now on. 0: it calls no tool. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

/* The same for an extension of NVTX, at its first call. */
struct nvtx_ext_module;
__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module);

/* Logs at level info if NVTX ranges will not be captured. `value` is NVTX_INJECTION64_PATH, or NULL. */
void nvtx_entry_check(const char *value);
