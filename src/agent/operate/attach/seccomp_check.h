/* Whether the seccomp filters of a stopped thread allow the system calls of an attach. The new thread
 * inherits them, and a filter may end the process at a call. */
#pragma once

#include "agent/operate/attach/target.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

/* Returns the result of a filter program for a call: SECCOMP_RET_*. */
uint32_t seccomp_check_run(const struct sock_filter *program, size_t count, const struct seccomp_data *data);

/* Before the thread is stopped. UNAVAILABLE: the filters can't be read here, and are not those of this
 * process, which could make all these calls. */
enum status seccomp_check_access(const struct target *target, struct error *err) MUST_CHECK;

/* On the stopped thread. UNAVAILABLE: it names the first call that is not allowed. */
enum status seccomp_check_thread(const struct target *target, pid_t thread, struct error *err) MUST_CHECK;
