/* For the package in python/. */
#pragma once

/* PyTorch is loaded, and its profiler may use CUPTI before the agent starts: from now on the agent sees it.
 */
__attribute__((visibility("default"))) void cuspan_python_tools(void);
