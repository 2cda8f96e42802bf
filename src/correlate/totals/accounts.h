/* Whom work is counted for: each sampled session and range has an account with totals, and in the detail
 * `summary` each request. An account knows the one around it, and work counts for all of them, outwards: for
 * the range, the ranges around it, the request or the session.
 *
 * A handle names an account for its life and nothing afterwards, so a call can be remembered with the handle
 * of its account, and its GPU record finds the account if it is still there. */
#ifndef CUSPAN_CORRELATE_ACCOUNTS_H
#define CUSPAN_CORRELATE_ACCOUNTS_H

#include "correlate/totals/totals.h"

#define ACCOUNTS_MAX 8192

struct account {
    struct totals totals;
    uint32_t handle;    /* its own; 0: free */
    uint32_t outer;     /* handle of the one around it; 0: none */
    uint32_t due;       /* calls whose GPU records are still to come */
    uint32_t summary;   /* whose it is (summaries.h); 0: a range's or a session's */
    bool is_root;       /* a summary's or a session's: nothing is around it */
    uint32_t next_free; /* index + 1 */
};

struct accounts;

enum status accounts_create(struct accounts **accounts) MUST_CHECK;
void accounts_destroy(struct accounts *accounts);

/* An empty one, or NULL: none is left. */
struct account *accounts_open(struct accounts *accounts, uint32_t outer);
/* NULL: handle 0, or that account is gone. */
struct account *accounts_find(struct accounts *accounts, uint32_t handle);
/* Its place is free again. */
void accounts_close(struct accounts *accounts, struct account *account);
/* What the totals lie in. */
struct totals_pool *accounts_pool(struct accounts *accounts);

#endif
