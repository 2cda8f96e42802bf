#include "agent/core/entry/attach_entry.h"

#include "agent/core/entry/attach_python.h"
#include "agent/core/entry/control_verbs.h"
#include "agent/core/lifecycle/agent.h"
#include "agent/capture/capture.h"
#include "agent/capture/cupti/cupti.h"
#include "agent/capture/threads/threads.h"
#include "base/process/host_call.h"

#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

static enum agent_answer attach(const char *lines, char *message, size_t bytes)
{
    struct agent_view view;
    if (getauxval(AT_SECURE)) {
        snprintf(message, bytes,
                 "it runs with another user's rights (set-user-ID), so the agent takes no settings");
        return AGENT_FAILED;
    }
    control_verbs_serve();
    enum agent_answer answer = agent_attach(lines);
    agent_get_view(&view);
    if (answer == AGENT_DONE && view.info)
        snprintf(message, bytes, "%s%s%s", view.info->cupti_version,
                 cupti_late_start(cupti_late_starts, view.info->cupti_version_number) == LATE_WHOLE
                     ? ""
                     : " nodes",
                 attach_python() ? " hooks" : "");
    else
        snprintf(message, bytes, "%s", answer == AGENT_ALREADY ? view.state : view.why);
    return answer;
}

int cuspan_agent_attach(const char *lines, char *message, size_t bytes)
{
    struct host_call call = host_call_begin();
    thread_is_ours = true; /* CUDA calls that CUPTI makes meanwhile are not the program's */
    prctl(PR_SET_NAME, "cuspan/attach");
    enum agent_answer answer = attach(lines, message, bytes);
    thread_is_ours = false;
    host_call_end(call);
    return answer;
}
