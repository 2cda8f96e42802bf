#include "agent/core/entry/injection.h"

#include "agent/core/entry/control_verbs.h"
#include "agent/core/lifecycle/agent.h"

int InitializeInjection(void)
{
    control_verbs_serve();
    agent_inject();
    return 1;
}
