/* The settings from the environment, the directory of the library, and its threads. */
#pragma once

#include "base/status.h"

#include <pthread.h>

/* Loads the settings from the environment and the file that it names, like config_load(). `report` stays
 * valid until the next call; not thread-safe. */
struct config_report;
struct settings;
enum status self_env_settings(struct settings *settings, const struct config_report **report) MUST_CHECK;

/* The same for a look at them at any time, on any thread. Free them with settings_deinit(). */
enum status self_env_look(struct settings *settings) MUST_CHECK;

/* The directory of libcuspan.so and its modules. Static storage; any thread. */
const char *self_env_folder(void);

/* Starts a thread of ours with a small stack. Returns 0, or an error number. */
int self_env_thread(pthread_t *thread, void *(*run)(void *));
