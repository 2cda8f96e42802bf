/* Shared by the hosts that end in many ways. */
#ifndef CUSPAN_TESTS_EXIT_HOST_H
#define CUSPAN_TESTS_EXIT_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Throws an exception that is not caught. In C++. */
void exit_host_throw(void);

#ifdef __cplusplus
}
#endif

#endif
