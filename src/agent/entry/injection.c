#include "agent/entry/injection.h"

#include "agent/entry/control_verbs.h"
#include "agent/lifecycle/agent.h"

int InitializeInjection(void)
{
    control_verbs_serve();
    agent_inject();
    return 1;
}
