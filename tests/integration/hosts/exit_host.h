/* What the hosts share that end in many ways. */
#ifndef CUSPAN_TESTS_EXIT_HOST_H
#define CUSPAN_TESTS_EXIT_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

/* An exception that nobody catches. In C++. */
void exit_host_throw(void);

#ifdef __cplusplus
}
#endif

#endif
