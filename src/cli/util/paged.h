/* Records of one size by the number of a process, resource, lane or thread. Only pages that were written to
 * take memory: `stat --by` has such lists for thousands of groups, and each group sees a few numbers. A
 * zeroed list is empty; records never move. */
#pragma once

#include <stddef.h>

#define PAGED_RECORDS 8 /* in a page */

struct paged {
    void **pages; /* NULL: no record was written to */
    size_t count, capacity;
};

/* The record, zeroed if it is new. `size` in bytes, the same in all calls. */
void *paged_at(struct paged *list, size_t number, size_t size);
/* The record, or NULL if its page was never written to. */
static inline void *paged_find(const struct paged *list, size_t number, size_t size)
{
    size_t page = number / PAGED_RECORDS;
    if (page >= list->count || !list->pages[page])
        return NULL;
    return (char *)list->pages[page] + number % PAGED_RECORDS * size;
}
/* The next record of a page that was written to, from *number on, in order of numbers; NULL: there are no
 * more. Sets *number to its number; add 1 before the next call. */
void *paged_next(const struct paged *list, size_t *number, size_t size);
/* Frees the records, but nothing that they point to. */
void paged_deinit(struct paged *list);
