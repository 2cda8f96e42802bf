/* Keeps the unwind rules of return addresses (native_frames.h), in a table that walks read without a lock.
 * The polling thread writes it, from the unwind tables of the loaded libraries. */
#pragma once

#include "base/hash.h"
#include "agent/frames/eh_frame.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RULE_SETS     2048 /* of RULE_WAYS return addresses each */
#define RULE_WAYS     8    /* a cache line */
#define RULES_MAX     4096 /* distinct rules */
#define RULE_PLACES   8192
#define RULE_NOWHERE  0    /* rule number of addresses outside all libraries */
#define LIBRARIES_MAX 1024 /* further ones have no rules */

/* A return address with its rule, in one word, so that readers never see half of it: 48 bits of the address,
 * then whether its library is a tool (cuspan, CUPTI, a library of CUDA), then the rule's number. 0: free. */
#define ENTRY_ADDRESS(entry) ((entry) >> 16)
#define ENTRY_IS_TOOL        0x8000u
#define ENTRY_RULE           0x7fffu

struct library {
    uint64_t begin, end; /* address range of its code */
    uint64_t identity;
    uint32_t since;         /* generation in which it was first seen */
    struct eh_frame tables; /* header NULL: none */
    bool is_tool, is_gone, is_old;
};

struct libraries {
    uint32_t count;
    unsigned long long adds, subs;     /* the loader's counts of loaded and unloaded objects */
    struct library all[LIBRARIES_MAX]; /* by address */
};

struct native_rules {
    _Alignas(64) _Atomic uint64_t entries[RULE_SETS][RULE_WAYS];
    /* Each is written once, before an entry refers to it. The first ones, which are the most frequent, share
     * a few cache lines. */
    struct unwind_rule rules[RULES_MAX];
    _Atomic uint32_t generation; /* changes when a library was unloaded */
    /* Used by the polling thread only. */
    uint16_t numbers[RULE_PLACES]; /* hash table of the rules; 0: free */
    uint32_t rule_count;
    uint32_t victim; /* the next entry that is replaced in a full set */
    struct libraries lists[2], *now, *next;
};

static inline _Atomic uint64_t *native_rules_set(struct native_rules *rules, uint64_t address)
{
    return rules->entries[(address * HASH_SPREAD) >> (64 - 11)];
}

static_assert(RULE_SETS == 1 << 11, "see native_rules_set()");

/* Returns the entry of a return address; 0: not known. Any thread. */
static inline uint64_t native_rules_find(struct native_rules *rules, uint64_t address)
{
    _Atomic uint64_t *set = native_rules_set(rules, address);
    for (int i = 0; i < RULE_WAYS; i++) {
        uint64_t entry = atomic_load_explicit(&set[i], memory_order_acquire);
        if (ENTRY_ADDRESS(entry) == address)
            return entry;
    }
    return 0;
}

/* Initializes `rules`, whose memory must be all zero. */
void native_rules_init(struct native_rules *rules);

/* Updates the list of libraries, drops the rules of those that are gone, and calls `work` under the loader's
 * lock. False: not possible now, because libraries were loaded all the time or a thread forks. Polling
 * thread. */
bool native_rules_update(struct native_rules *rules, void (*work)(void *context), void *context);

/* Whether the library of a return address was loaded in that generation already, or the address has no
 * library. Polling thread, after an update. */
bool native_rules_had(const struct native_rules *rules, uint64_t address, uint32_t generation);

/* Finds the rule of an address of at most 48 bits, and returns its new entry. Call it in `work` only. */
uint64_t native_rules_learn(struct native_rules *rules, uint64_t address);
