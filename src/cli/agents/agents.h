/* The agents that run on this machine and may be asked: finding them, and asking one. Each has a socket in a
 * folder of its user's (base/control_place.h); root sees those of all users. */
#ifndef CUSPAN_CLI_AGENTS_AGENTS_H
#define CUSPAN_CLI_AGENTS_AGENTS_H

#include "base/control_path.h"
#include "base/status.h"
#include "cli/args/command_table.h"
#include "cli/util/text.h"

#include <cjson/cJSON.h>
#include <stdint.h>

#define AGENTS_MAX            4096
#define AGENTS_TIMEOUT_MS     5000
#define AGENTS_DESCRIBE_MS    1000
#define AGENTS_TIMEOUT_MS_MAX 600000

enum reach {
    REACHED,
    REACH_GONE,    /* the process has ended; its socket is removed */
    REACH_REFUSED, /* another user's */
    REACH_SILENT   /* no answer in time, or none that can be read */
};

struct agent {
    char folder[CONTROL_PATH_BYTES];
    char name[32]; /* of its socket */
    long pid;      /* by the socket's name until it has answered */
    enum reach reach;
    cJSON *description; /* NULL unless REACHED */
};

struct agents {
    size_t count;
    struct agent *items;
};

/* Asks all of them who they are. `folder` NULL: where the environment and the user's directories say. */
void agents_find(struct agents *agents, const char *folder);
void agents_deinit(struct agents *agents);

/* Sends a request and waits for the answer, which is an object of JSON, the caller's to delete; NULL unless
 * REACHED. */
enum reach agents_ask(const struct agent *agent, const char *request, uint32_t timeout_ms, cJSON **answer);

/* Members of an object, or 0 and "". */
uint64_t agents_number(const cJSON *object, const char *key);
const char *agents_text(const cJSON *object, const char *key);

/* "train.py (PID 1234)"; returns its text, valid until the next call. */
const char *agents_title(const struct agent *agent);

/* How a command was told which ones it concerns. */
struct agents_choice {
    const char *folder;
    const char *which; /* PID or program; NULL: none was named */
    bool is_all, is_json;
    bool is_release; /* stop: CUPTI is left to other tools, too */
    uint32_t timeout_ms;
};

/* Reads the arguments of such a command. False: it ends with *status. */
bool agents_options(struct agents_choice *choice, int argc, char **argv, int *status);

/* Whether the choice means this agent. */
bool agents_matches(const struct agents_choice *choice, const struct agent *agent);

/* Says on standard error that there is nobody, or nobody of that name, and what to do. Returns EXIT_FAILED.
 */
int agents_complain_none(const struct agents *agents, const struct agents_choice *choice);
/* One line on standard error for an agent that could not be asked. */
void agents_complain(const struct agent *agent, enum reach reach, uint32_t timeout_ms);

/* start, stop, flush: the request to each agent that is meant. `say` writes what came of it; false: it
 * failed. */
int agents_command(int argc, char **argv, const char *verb,
                   bool (*say)(const struct agent *agent, const cJSON *answer, uint32_t timeout_ms));
/* What a `say` says of a failure. */
bool agents_say_failure(const struct agent *agent, const cJSON *answer, const char *verb);

#endif
