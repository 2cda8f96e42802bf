/* Finds the agents that run on this machine, and queries one. Each has a socket in a directory of its user
 * (base/control_path.h); root sees those of all users. */
#pragma once

#include "base/control_path.h"
#include "base/status.h"
#include "cli/args/options.h"
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
    REACH_SILENT   /* no answer in time, or an unreadable one */
};

struct agent {
    char folder[CONTROL_PATH_BYTES];
    char name[32]; /* of its socket */
    long pid;      /* the socket's name until it has answered */
    enum reach reach;
    cJSON *description; /* NULL unless REACHED */
};

struct agents {
    size_t count;
    struct agent *items;
};

/* Queries the identity of all of them. `folder` NULL: the directories of the environment and the user. */
void agents_find(struct agents *agents, const char *folder);
void agents_deinit(struct agents *agents);

/* Sends a request and waits for the answer, a JSON object that the caller deletes; NULL unless REACHED. */
enum reach agents_ask(const struct agent *agent, const char *request, uint32_t timeout_ms, cJSON **answer);

/* Members of an object, or 0, `otherwise` and "". */
uint64_t agents_number(const cJSON *object, const char *key);
int64_t agents_signed(const cJSON *object, const char *key, int64_t otherwise);
const char *agents_text(const cJSON *object, const char *key);

/* "train.py (PID 1234)"; the text is valid until the next call. */
const char *agents_title(const struct agent *agent);

/* Which agents a command addresses. */
struct agents_choice {
    const char *folder;
    const char *which; /* PID or program; NULL: not given */
    bool is_all, is_json;
    bool is_release; /* stop: also release CUPTI to other tools */
    uint32_t timeout_ms;
};

/* Takes the PID or program, for options_read(). The context is the choice. */
int agents_take_operand(void *choice, struct options *options, int option);
/* Parses the arguments of such a command. False: the command ends with *status. */
bool agents_options(struct agents_choice *choice, const struct command *command, int argc, char **argv,
                    int *status);

/* Whether the choice includes this agent. */
bool agents_matches(const struct agents_choice *choice, const struct agent *agent);

/* Prints that there is no agent, or none of that name, and what to do. Returns EXIT_FAILED. */
int agents_complain_none(const struct agents *agents, const struct agents_choice *choice);
/* Prints one line about an agent that could not be queried. */
void agents_complain(const struct agent *agent, enum reach reach, uint32_t timeout_ms);

/* For start, stop, flush: sends the request to each chosen agent. `say` prints the result; false: failed. */
int agents_command(const struct command *command, int argc, char **argv, const char *verb,
                   bool (*say)(const struct agent *agent, const cJSON *answer, uint32_t timeout_ms));
/* Prints a failure, for `say`. */
bool agents_say_failure(const struct agent *agent, const cJSON *answer, const char *verb);
