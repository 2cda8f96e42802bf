/* For the package in python/. */
#ifndef CUSPAN_AGENT_CORE_ENTRY_PYTHON_TOOLS_H
#define CUSPAN_AGENT_CORE_ENTRY_PYTHON_TOOLS_H

/* PyTorch is loaded, and its profiler may use CUPTI before the agent starts: from now on the agent sees it.
 */
__attribute__((visibility("default"))) void cuspan_python_tools(void);

#endif
