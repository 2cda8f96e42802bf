#include "agent/core/entry/control_verbs.h"

#include "agent/core/control/control_socket.h"
#include "agent/core/lifecycle/agent.h"
#include "agent/core/entry/live_stats_json.h"
#include "agent/core/entry/agent_status.h"
#include "base/text/json_writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define TIMEOUT_MS     5000
#define TIMEOUT_MS_MAX 600000

static uint32_t timeout_of(const char *argument)
{
    unsigned long ms = strtoul(argument, NULL, 10);
    if (*argument < '0' || *argument > '9')
        return TIMEOUT_MS;
    return ms < TIMEOUT_MS_MAX ? (uint32_t)ms : TIMEOUT_MS_MAX;
}

static const char *word_of(enum agent_answer answer)
{
    if (answer == AGENT_FAILED)
        return "failed";
    return answer == AGENT_ALREADY ? "already" : "done";
}

/* `under_way`: NULL for verbs that don't stop. */
static void answer(FILE *to, enum agent_answer given, const char *failure, const uint32_t *under_way)
{
    struct json_writer json = JSON_WRITER(to);
    struct agent_view view;
    agent_get_view(&view);
    const char *why = failure ? failure : view.why;
    json_write_object(&json, NULL);
    json_write_text(&json, "answer", word_of(given));
    json_write_text(&json, "state", view.state);
    json_write_text(&json, "why", given == AGENT_FAILED ? why : "");
    if (under_way)
        json_write_unsigned(&json, "under_way", *under_way);
    json_write_object_end(&json);
}

/* Also resumes after a release. */
static void on_start(FILE *to, const char *argument)
{
    enum agent_answer given = agent_start();
    (void)argument;
    bool is_back = given != AGENT_ALREADY || (given = agent_resume()) != AGENT_FAILED;
    answer(to, given, is_back ? NULL : "another tool uses CUPTI", NULL);
}

static void on_release(FILE *to, const char *argument)
{
    (void)argument;
    answer(to, agent_release(), "it does not use CUPTI, or CUPTI does not respond", NULL);
}

static void on_stop(FILE *to, const char *argument)
{
    uint32_t under_way = 0;
    enum agent_answer given = agent_stop_within(timeout_of(argument), &under_way);
    answer(to, given, NULL, &under_way);
}

static void on_flush(FILE *to, const char *argument)
{
    struct agent_view view;
    agent_get_view(&view);
    answer(to, agent_flush(timeout_of(argument)),
           view.info ? "not all was delivered in time" : "it has captured nothing yet", NULL);
}

static const struct control_verb verbs[] = {{"describe", agent_status_describe},
                                            {"status", agent_status_write},
                                            {"start", on_start},
                                            {"stop", on_stop},
                                            {"release", on_release},
                                            {"figures", live_stats_write_json},
                                            {"flush", on_flush}};

static void serve(void)
{
    control_socket_serve(verbs, sizeof verbs / sizeof *verbs);
}

void control_verbs_serve(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, serve);
}
