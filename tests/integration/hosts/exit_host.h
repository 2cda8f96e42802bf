/* Shared by the hosts that end in many ways. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Throws an exception that is not caught. In C++. */
void exit_host_throw(void);

#ifdef __cplusplus
}
#endif
