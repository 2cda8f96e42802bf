/* Receives ranges, marks and names from NVTX, NVIDIA's annotation API (C, C++, Python's nvtx,
 * torch.cuda.nvtx), and passes them to context.h and range.h.
 *
 * The agent is NVTX's injection library. Each copy of NVTX in the process attaches to it once, in its first
 * call, before or after CUDA loads the agent. Domains, strings, categories, and names of threads and devices
 * registered earlier are kept; earlier ranges are not captured but nest.
 *
 * CUPTI has callbacks for NVTX, but they would need NVTX_INJECTION64_PATH to name libcupti. A push and a pop
 * take 23 to 55 ns more than those of context.h (nvtx_bench). A program names a CUDA context by its handle,
 * but CUPTI's records have CUPTI's context ID. cuptiGetContextId() would dereference the program's pointer. A
 * callback has both. So, once a context has been named, each thread writes the handle of each CUDA context in
 * which it makes calls into its ring, once, for the first 64 contexts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Installs our functions in the tables that this copy of NVTX exports by `export_table`. False: NVTX is
 * disabled (nvtx_switch) or the tables are unknown; that copy then stays disabled permanently. Any thread. */
bool nvtx_attach(const void *(*export_table)(uint32_t id));

/* Installs our functions in a copy of an NVTX extension; only structured payloads are supported. False: it is
 * another extension, or NVTX is disabled; that copy then stays disabled permanently. */
struct nvtx_ext_module;
bool nvtx_attach_extension(const struct nvtx_ext_module *module);

/* Enables or disables NVTX; initially enabled. While disabled, attached copies behave as if no tool were
 * present, and new ones are rejected permanently. */
void nvtx_switch(bool is_wanted);

/* Writes the names that were given before capture started. Call it when capture has started. */
void nvtx_begin(void);
