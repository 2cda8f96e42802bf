/* Shared by the *_abi_check.c files: compares our declarations with NVIDIA's. */
#pragma once

#include <assert.h>

#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), "size of " #theirs);
/* CUPTI may write the whole of its struct, whatever size the caller states. */
#define HAS_ROOM(ours, theirs) static_assert(sizeof(ours) >= sizeof(theirs), "room for " #theirs);
#define SAME_MEMBER(ours, theirs, member)                                                                    \
    static_assert(offsetof(ours, member) == offsetof(theirs, member), "offset of " #theirs "." #member);     \
    static_assert(sizeof(((ours *)0)->member) == sizeof(((theirs *)0)->member),                              \
                  "size of " #theirs "." #member);
#define SAME_NUMBER(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs);
