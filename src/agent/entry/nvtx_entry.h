/* Where NVTX comes in: the function that each copy of NVTX in the process calls in the library that
 * NVTX_INJECTION64_PATH names, before CUDA is initialised or after. */
#ifndef CUSPAN_AGENT_NVTX_ENTRY_H
#define CUSPAN_AGENT_NVTX_ENTRY_H

#include <stdint.h>

/* 1: this copy of NVTX calls us from now on. 0: it calls nobody. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

/* The same for a copy of one of NVTX's extensions, at its own first call. */
struct nvtx_ext_module;
__attribute__((visibility("default"))) int
InitializeInjectionNvtxExtension(const struct nvtx_ext_module *module);

/* Says so, at level info, where NVTX ranges will not come to us: `value` is what NVTX_INJECTION64_PATH says,
 * NULL: nothing. */
void nvtx_entry_check(const char *value);

#endif
