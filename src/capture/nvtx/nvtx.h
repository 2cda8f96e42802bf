/* NVTX: the ranges, marks and names that programs and libraries give by NVIDIA's annotations (C, C++,
 * Python's nvtx, torch.cuda.nvtx), told to context.h.
 *
 * The agent is NVTX's injection: each copy of NVTX in the process asks for it once, on the thread of its
 * first call, before or after CUDA loads the agent. What is registered before (domains, strings, categories,
 * names of threads and devices) is kept; ranges before are not captured, but nest. */
#ifndef CUSPAN_CAPTURE_NVTX_NVTX_H
#define CUSPAN_CAPTURE_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>

/* Puts our functions into the tables of the copy of NVTX that gives them by `export_table`. False: it is not
 * to have them (nvtx_switch), or its tables are none that we know; that copy then does nothing for good. Any
 * thread. */
bool nvtx_attach(const void *(*export_table)(uint32_t id));

/* The same for a copy of one of NVTX's extensions, of which we have structured payloads. False: it is another
 * extension, or not wanted; that copy then does nothing for good. */
struct nvtx_ext_module;
bool nvtx_attach_extension(const struct nvtx_ext_module *module);

/* Whether NVTX is wanted; from the beginning it is. While it isn't, copies that have our functions answer as
 * if nobody traced, and new ones are turned away for good. */
void nvtx_switch(bool is_wanted);

/* Capture has begun: what was named before is told now. */
void nvtx_begin(void);

#endif
