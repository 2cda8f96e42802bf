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
/* Each member: the preprocessor expands the rest of the list once more with each level, 27 times in all. */
#define SAME_MEMBERS(ours, theirs, ...) EXPAND_27(SAME_FIRST(ours, theirs, __VA_ARGS__))
#define SAME_FIRST(ours, theirs, member, ...)                                                                \
    SAME_MEMBER(ours, theirs, member) __VA_OPT__(SAME_REST PARENTHESES(ours, theirs, __VA_ARGS__))
#define SAME_REST()               SAME_FIRST
#define PARENTHESES               ()
#define EXPAND_27(...)            EXPAND_9(EXPAND_9(EXPAND_9(__VA_ARGS__)))
#define EXPAND_9(...)             EXPAND_3(EXPAND_3(EXPAND_3(__VA_ARGS__)))
#define EXPAND_3(...)             EXPAND(EXPAND(EXPAND(__VA_ARGS__)))
#define EXPAND(...)               __VA_ARGS__
#define SAME_NUMBER(ours, theirs) static_assert((int)(ours) == (int)(theirs), #theirs);
