#include "agent/core/entry/python_tools.h"

#include "agent/capture/coexist/other_tools.h"

void cuspan_python_tools(void)
{
    other_tools_set_built_in(cuspan_share_api);
    other_tools_expect();
}
