/* A module with 200,000 functions, whose names take the agent's thread several milliseconds to read. */
#include <stdint.h>

#if defined(__aarch64__)
#define IS_FUNCTION "%function"
#else
#define IS_FUNCTION "@function"
#endif

__asm__(".text\n"
        ".macro one_of_many\n"
        ".type many_\\@, " IS_FUNCTION "\n"
        "many_\\@: ret\n"
        ".size many_\\@, . - many_\\@\n"
        ".endm\n"
        ".rept 200000\n"
        "one_of_many\n"
        ".endr\n");

extern const char many_0[] __attribute__((visibility("hidden")));

/* Addresses in itself, and in the first one. */
__attribute__((visibility("default"), noinline)) uint64_t many_functions(void);
__attribute__((visibility("default"), noinline)) uint64_t many_first(void);

uint64_t many_functions(void)
{
    return (uint64_t)(uintptr_t)many_functions + 1;
}

uint64_t many_first(void)
{
    return (uint64_t)(uintptr_t)many_0 + 1;
}
