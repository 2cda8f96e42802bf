/* Serializes the changes of capture's mode, with the state that changes together with it. Any thread; held
 * briefly, without calls of CUPTI. Host threads wait for it outside CUDA calls, or in the callback of
 * cudaProfilerStart and cudaProfilerStop. */
#ifndef CUSPAN_AGENT_CAPTURE_SLEEP_SLEEP_LOCK_H
#define CUSPAN_AGENT_CAPTURE_SLEEP_SLEEP_LOCK_H

void sleep_lock(void);
void sleep_unlock(void);

#endif
