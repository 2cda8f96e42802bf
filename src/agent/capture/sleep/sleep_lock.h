/* Serializes the changes of capture's mode, with the state that changes together with it. Any thread; held
 * briefly, without calls of CUPTI. Host threads wait for it outside CUDA calls, or in the callback of
 * cudaProfilerStart and cudaProfilerStop. */
#pragma once

void sleep_lock(void);
void sleep_unlock(void);
