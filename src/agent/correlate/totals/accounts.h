/* Accounts, which hold totals: one for each sampled session and range, and with `detail: summary` for each
 * request. Work counts for the innermost account and all accounts around it.
 *
 * A handle is valid only while its account is open. So a call can keep the handle, and its GPU record
 * finds out whether the account still exists. */
#pragma once

#include "agent/correlate/totals/totals.h"

#define ACCOUNTS_MAX 8192

struct account {
    struct totals totals;
    uint32_t handle;    /* own handle; 0: free */
    uint32_t outer;     /* handle of the account around it; 0: none */
    uint32_t due;       /* calls that wait for their GPU records */
    uint32_t left_out;  /* calls, ranges and GPU work of a step that have no span in its trace */
    uint32_t summary;   /* index of its summary (summaries.h); 0: a range's or session's account */
    uint32_t measured;  /* with a sampled step: its handle of step_stats.h; 0: none */
    bool is_root;       /* a summary's or session's: no account is around it */
    uint32_t next_free; /* index + 1 */
};

struct accounts;

enum status accounts_create(struct accounts **accounts) MUST_CHECK;
void accounts_destroy(struct accounts *accounts);

/* Opens an empty account inside the account `outer` (handle; 0: none). Owned by `accounts`. NULL: none is
 * free. */
struct account *accounts_open(struct accounts *accounts, uint32_t outer);
/* Returns NULL for handle 0 and for a closed account. */
struct account *accounts_find(struct accounts *accounts, uint32_t handle);
/* Closes the account and frees its slot. */
void accounts_close(struct accounts *accounts, struct account *account);
/* Returns the pool of all accounts' totals, not owned. */
struct totals_pool *accounts_pool(struct accounts *accounts);
