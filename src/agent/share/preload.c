/* Only in the library that is preloaded: a tool may use CUPTI long before the agent, which otherwise does
 * this. */
#include "agent/share/share.h"

__attribute__((constructor)) static void begin(void)
{
    share_follow_forks();
}
