#include "base/process/signal_names.h"

#include <signal.h>
#include <stddef.h>
#include <strings.h>

#define SIGNALS(X)                                                                                           \
    X(HUP)                                                                                                   \
    X(INT) X(QUIT) X(ILL) X(ABRT) X(BUS) X(FPE) X(SEGV) X(SYS) X(PIPE) X(ALRM) X(TERM) X(USR1) X(USR2) X(XCPU)

static const struct {
    int number;
    const char *name;
} signals[] = {
#define SIGNAL_ENTRY(name) {SIG##name, "SIG" #name},
    SIGNALS(SIGNAL_ENTRY)
#undef SIGNAL_ENTRY
};

#define PREFIX_BYTES (sizeof "SIG" - 1)

const char signal_names_all[] =
    "HUP, INT, QUIT, ILL, ABRT, BUS, FPE, SEGV, SYS, PIPE, ALRM, TERM, USR1, USR2 "
    "or XCPU";

int signal_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcasecmp(name, signals[i].name) == 0 || strcasecmp(name, signals[i].name + PREFIX_BYTES) == 0)
            return signals[i].number;
    return 0;
}

const char *signal_name(int number)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "a signal";
}
