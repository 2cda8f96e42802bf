#include "cli/util/paged.h"

#include "cli/util/xalloc.h"

#include <stdlib.h>

void *paged_at(struct paged *list, size_t number, size_t size)
{
    size_t page = number / PAGED_RECORDS;
    list->pages = xgrow(list->pages, &list->capacity, page + 1, sizeof *list->pages);
    while (list->count <= page)
        list->pages[list->count++] = NULL;
    if (!list->pages[page])
        list->pages[page] = xcalloc(PAGED_RECORDS, size);
    return paged_find(list, number, size);
}

void *paged_next(const struct paged *list, size_t *number, size_t size)
{
    size_t page = *number / PAGED_RECORDS;
    if (page < list->count && list->pages[page])
        return paged_find(list, *number, size);
    while (page < list->count && !list->pages[page])
        page++;
    *number = page * PAGED_RECORDS;
    return paged_find(list, *number, size);
}

void paged_deinit(struct paged *list)
{
    for (size_t page = 0; page < list->count; page++)
        free(list->pages[page]);
    free(list->pages);
    *list = (struct paged){0};
}
