#include "agent/correlate/totals/accounts.h"

#include "base/accounting/invariant.h"

#include <stdlib.h>
#include <string.h>

/* A handle has the index + 1 in its low bits, and above them how often the slot was used. */
#define INDEX_BITS 14
#define INDEX_MASK ((1u << INDEX_BITS) - 1)
static_assert(ACCOUNTS_MAX < INDEX_MASK, "an index and one fit into a handle");

struct accounts {
    struct totals_pool *pool;
    uint32_t free; /* free list: index + 1 */
    uint32_t used; /* highest slot ever used: memory above it is never touched */
    uint32_t lives[ACCOUNTS_MAX];
    struct account entries[ACCOUNTS_MAX];
};

enum status accounts_create(struct accounts **accounts)
{
    struct accounts *made = calloc(1, sizeof *made);
    if (!made || totals_pool_create(&made->pool) != STATUS_OK) {
        free(made);
        return STATUS_NO_MEMORY;
    }
    *accounts = made;
    return STATUS_OK;
}

void accounts_destroy(struct accounts *accounts)
{
    if (!accounts)
        return;
    totals_pool_destroy(accounts->pool);
    free(accounts);
}

struct account *accounts_open(struct accounts *accounts, uint32_t outer)
{
    uint32_t at = accounts->free;
    if (at)
        accounts->free = accounts->entries[at - 1].next_free;
    else if (accounts->used < ACCOUNTS_MAX)
        at = ++accounts->used;
    else
        return NULL;
    struct account *account = &accounts->entries[at - 1];
    account->handle = ++accounts->lives[at - 1] << INDEX_BITS | at;
    account->outer = outer;
    return account;
}

struct account *accounts_find(struct accounts *accounts, uint32_t handle)
{
    uint32_t at = handle & INDEX_MASK;
    if (!at || at > accounts->used || accounts->entries[at - 1].handle != handle)
        return NULL;
    return &accounts->entries[at - 1];
}

void accounts_close(struct accounts *accounts, struct account *account)
{
    uint32_t at = (uint32_t)(account - accounts->entries) + 1;
    if (!INVARIANT(at <= accounts->used &&
                   (account->handle & INDEX_MASK) == at)) /* open, and from this table */
        return;
    totals_clear(accounts->pool, &account->totals);
    *account = (struct account){.next_free = accounts->free};
    accounts->free = at;
}

struct totals_pool *accounts_pool(struct accounts *accounts)
{
    return accounts->pool;
}
