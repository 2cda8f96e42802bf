#include "analysis/trace/span_sort.h"

#include "base/files.h"
#include "cli/util/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES_FIRST (64u << 10)
#define WRITE_BYTES        (1u << 20)
/* A run's read buffer; one that starts large shrinks where there are many runs. */
#define READ_BYTES_ALL (4u << 20)
#define READ_BYTES_MIN (32u << 10)
#define READ_BYTES_MAX (1u << 20)

/* Sorting moves only these. */
struct sort_key {
    uint64_t start_ns;
    uint64_t offset;
};

struct run {
    off_t at, end; /* the part of the file that is not read yet */
    char *buffer;
    size_t capacity, begin, filled;
};

/* Records in the order of arrival. */
struct batch {
    char *bytes;
    size_t len, capacity;
    struct sort_key *places;
    size_t count, place_capacity;
    bool is_by_resource;
};

struct span_sort {
    size_t bytes_max;
    bool is_by_resource;
    struct batch batch; /* that receives records */
    size_t next;        /* of its places, without a file */
    /* A full batch, which another thread sorts and writes. While it does, the fields up to `runs` are that
     * thread's. */
    struct batch full;
    pthread_t thread;
    bool is_writing;
    enum status status; /* of writing */
    struct error err;
    int fd; /* -1: everything fits in memory */
    off_t file_bytes;
    char *out; /* WRITE_BYTES, for the file; NULL: nothing was written yet */
    struct run *runs;
    size_t run_count, run_capacity;
    uint32_t *heap; /* of runs with records left, by their first one */
    size_t heap_count;
    bool has_returned; /* the record of heap[0] is the caller's until the next call */
};

struct span_sort *span_sort_create(size_t bytes_max)
{
    struct span_sort *sort = xcalloc(1, sizeof *sort);
    sort->bytes_max = bytes_max;
    sort->fd = -1;
    return sort;
}

void span_sort_by_resource(struct span_sort *sort)
{
    sort->is_by_resource = sort->batch.is_by_resource = sort->full.is_by_resource = true;
}

static void batch_deinit(struct batch *batch)
{
    free(batch->bytes);
    free(batch->places);
    *batch = (struct batch){0};
}

void span_sort_destroy(struct span_sort *sort)
{
    if (!sort)
        return;
    if (sort->is_writing)
        pthread_join(sort->thread, NULL);
    if (sort->fd >= 0)
        close(sort->fd);
    for (size_t i = 0; i < sort->run_count; i++)
        free(sort->runs[i].buffer);
    free(sort->runs);
    free(sort->heap);
    free(sort->out);
    batch_deinit(&sort->batch);
    batch_deinit(&sort->full);
    free(sort);
}

static int compare_ends(uint64_t a_end, uint64_t b_end)
{
    return a_end == b_end ? 0 : a_end > b_end ? -1 : 1; /* parents come before their children */
}

static const struct span_record *record_at(const struct batch *batch, const struct sort_key *place)
{
    return (const void *)(batch->bytes + place->offset);
}

static int compare_places(const void *a, const void *b, void *context)
{
    const struct sort_key *x = a, *y = b;
    const struct batch *batch = context;
    if (batch->is_by_resource && record_at(batch, x)->resource != record_at(batch, y)->resource)
        return record_at(batch, x)->resource < record_at(batch, y)->resource ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    const struct span_record *of_x = record_at(batch, x), *of_y = record_at(batch, y);
    int order = compare_ends(of_x->end_ns, of_y->end_ns);
    return order ? order : x->offset < y->offset ? -1 : 1;
}

static void sort_batch(struct batch *batch)
{
    bool is_sorted = true;
    for (size_t i = 0; i < batch->count; i++)
        batch->places[i].start_ns =
            ((const struct span_record *)(void *)(batch->bytes + batch->places[i].offset))->start_ns;
    for (size_t i = 1; is_sorted && i < batch->count; i++)
        is_sorted = compare_places(&batch->places[i - 1], &batch->places[i], batch) < 0;
    if (!is_sorted)
        qsort_r(batch->places, batch->count, sizeof *batch->places, compare_places, batch);
}

static enum status complain(struct error *err, const char *what)
{
    const char *tmp = getenv("TMPDIR");
    return error_set(err, STATUS_IO,
                     "%s a temporary file in %.200s: %s; set TMPDIR to a folder with more space", what,
                     tmp && *tmp ? tmp : "/tmp", strerror(errno));
}

static enum status open_file(struct span_sort *sort, struct error *err)
{
    const char *tmp = getenv("TMPDIR");
    char *path = xasprintf("%s/cuspan-spans-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    sort->fd = mkostemp(path, O_CLOEXEC);
    if (sort->fd >= 0)
        unlink(path);
    free(path);
    return sort->fd < 0 ? complain(err, "cannot create") : STATUS_OK;
}

static enum status write_all(struct span_sort *sort, const void *bytes, size_t len, struct error *err)
{
    if (!files_write(sort->fd, bytes, len))
        return complain(err, "cannot write to");
    sort->file_bytes += (off_t)len;
    return STATUS_OK;
}

/* Writes the full batch as one sorted run. */
static enum status write_run(struct span_sort *sort, struct error *err)
{
    struct batch *full = &sort->full;
    enum status status = sort->fd < 0 ? open_file(sort, err) : STATUS_OK;
    size_t filled = 0, capacity = 0;
    off_t at = sort->file_bytes;
    if (!sort->out)
        sort->out = xgrow(NULL, &capacity, WRITE_BYTES, 1);
    sort_batch(full);
    for (size_t i = 0; i < full->count && status == STATUS_OK; i++) {
        const struct span_record *record = (const void *)(full->bytes + full->places[i].offset);
        if (filled + record->size > WRITE_BYTES) {
            status = write_all(sort, sort->out, filled, err);
            filled = 0;
        }
        if (record->size > WRITE_BYTES && status == STATUS_OK) {
            status = write_all(sort, record, record->size, err);
        } else if (status == STATUS_OK) {
            memcpy(sort->out + filled, record, record->size);
            filled += record->size;
        }
    }
    if (status == STATUS_OK)
        status = write_all(sort, sort->out, filled, err);
    *XADD(sort->runs, sort->run_count, sort->run_capacity) = (struct run){.at = at, .end = sort->file_bytes};
    full->len = full->count = 0;
    return status;
}

static void *write_in_thread(void *context)
{
    struct span_sort *sort = context;
    sort->status = write_run(sort, &sort->err);
    return NULL;
}

static enum status wait_until_written(struct span_sort *sort, struct error *err)
{
    if (!sort->is_writing)
        return STATUS_OK;
    pthread_join(sort->thread, NULL);
    sort->is_writing = false;
    if (sort->status != STATUS_OK)
        *err = sort->err;
    return sort->status;
}

/* The next records go to the other batch meanwhile. */
static enum status spill(struct span_sort *sort, struct error *err)
{
    enum status status = wait_until_written(sort, err);
    if (status != STATUS_OK)
        return status;
    struct batch empty = sort->full;
    sort->full = sort->batch;
    sort->batch = empty;
    sort->is_writing = pthread_create(&sort->thread, NULL, write_in_thread, sort) == 0;
    return sort->is_writing ? STATUS_OK : write_run(sort, err);
}

enum status span_sort_add(struct span_sort *sort, uint32_t size, struct span_record **record,
                          struct error *err)
{
    struct batch *batch = &sort->batch;
    if (batch->count && batch->len + size + batch->count * sizeof *batch->places > sort->bytes_max) {
        enum status status = spill(sort, err);
        if (status != STATUS_OK)
            return status;
    }
    size_t needed = batch->len + size;
    batch->bytes =
        xgrow(batch->bytes, &batch->capacity, needed < BUFFER_BYTES_FIRST ? BUFFER_BYTES_FIRST : needed, 1);
    /* sort_batch() adds its start. */
    *XADD(batch->places, batch->count, batch->place_capacity) = (struct sort_key){.offset = batch->len};
    *record = (void *)(batch->bytes + batch->len);
    batch->len = needed;
    return STATUS_OK;
}

/* --- merging --- */

static const struct span_record *first_of(const struct run *run)
{
    return (const void *)(run->buffer + run->begin);
}

static enum status read_more(struct span_sort *sort, struct run *run, size_t needed, struct error *err)
{
    memmove(run->buffer, run->buffer + run->begin, run->filled - run->begin);
    run->filled -= run->begin;
    run->begin = 0;
    run->buffer = xgrow(run->buffer, &run->capacity, needed, 1);
    while (run->filled < run->capacity && run->at < run->end) {
        size_t room = run->capacity - run->filled;
        if ((off_t)room > run->end - run->at)
            room = (size_t)(run->end - run->at);
        ssize_t got = pread(sort->fd, run->buffer + run->filled, room, run->at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return complain(err, "cannot read");
        run->filled += (size_t)got;
        run->at += got;
    }
    return STATUS_OK;
}

/* Reads the run's first record into its buffer, if there is one left. */
static enum status load(struct span_sort *sort, struct run *run, bool *is_empty, struct error *err)
{
    size_t have = run->filled - run->begin;
    enum status status = STATUS_OK;
    *is_empty = have == 0 && run->at == run->end;
    if (*is_empty)
        return STATUS_OK;
    if (have < sizeof(struct span_record))
        status = read_more(sort, run, sizeof(struct span_record), err);
    if (status == STATUS_OK && run->filled - run->begin < first_of(run)->size)
        status = read_more(sort, run, first_of(run)->size, err);
    return status;
}

/* An earlier run has the records that arrived first. */
static bool comes_before(const struct span_sort *sort, uint32_t a, uint32_t b)
{
    const struct span_record *x = first_of(&sort->runs[a]), *y = first_of(&sort->runs[b]);
    if (sort->is_by_resource && x->resource != y->resource)
        return x->resource < y->resource;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns;
    int order = compare_ends(x->end_ns, y->end_ns);
    return order ? order < 0 : a < b;
}

static void sift_down(struct span_sort *sort, size_t at)
{
    uint32_t *heap = sort->heap;
    for (size_t child; (child = 2 * at + 1) < sort->heap_count; at = child) {
        if (child + 1 < sort->heap_count && comes_before(sort, heap[child + 1], heap[child]))
            child++;
        if (!comes_before(sort, heap[child], heap[at]))
            return;
        uint32_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

static enum status start_merge(struct span_sort *sort, struct error *err)
{
    size_t each = READ_BYTES_ALL / sort->run_count;
    each = each < READ_BYTES_MIN ? READ_BYTES_MIN : each > READ_BYTES_MAX ? READ_BYTES_MAX : each;
    free(sort->out);
    sort->out = NULL;
    batch_deinit(&sort->batch);
    batch_deinit(&sort->full);
    sort->heap = xcalloc(sort->run_count, sizeof *sort->heap);
    for (size_t i = 0; i < sort->run_count; i++) {
        struct run *run = &sort->runs[i];
        bool is_empty;
        size_t bytes = run->end - run->at < (off_t)each ? (size_t)(run->end - run->at) : each;
        run->buffer = xgrow(NULL, &run->capacity, bytes, 1);
        enum status status = load(sort, run, &is_empty, err);
        if (status != STATUS_OK)
            return status;
        if (!is_empty)
            sort->heap[sort->heap_count++] = (uint32_t)i;
    }
    for (size_t i = sort->heap_count / 2; i-- > 0;)
        sift_down(sort, i);
    return STATUS_OK;
}

enum status span_sort_finish(struct span_sort *sort, struct error *err)
{
    enum status status = wait_until_written(sort, err);
    if (status == STATUS_OK && sort->fd < 0) {
        sort_batch(&sort->batch);
        return STATUS_OK;
    }
    if (status == STATUS_OK && sort->batch.count)
        status = spill(sort, err);
    if (status == STATUS_OK)
        status = wait_until_written(sort, err);
    return status == STATUS_OK ? start_merge(sort, err) : status;
}

/* Removes the record that the last call returned. */
static enum status step_over(struct span_sort *sort, struct error *err)
{
    struct run *run = &sort->runs[sort->heap[0]];
    bool is_empty;
    run->begin += first_of(run)->size;
    enum status status = load(sort, run, &is_empty, err);
    if (status == STATUS_OK && is_empty) {
        free(run->buffer);
        run->buffer = NULL;
        sort->heap[0] = sort->heap[--sort->heap_count];
    }
    if (status == STATUS_OK)
        sift_down(sort, 0);
    return status;
}

enum status span_sort_next(struct span_sort *sort, const struct span_record **record, struct error *err)
{
    *record = NULL;
    if (sort->fd < 0) {
        if (sort->next < sort->batch.count)
            *record = (const void *)(sort->batch.bytes + sort->batch.places[sort->next++].offset);
        return STATUS_OK;
    }
    enum status status = sort->has_returned ? step_over(sort, err) : STATUS_OK;
    sort->has_returned = status == STATUS_OK && sort->heap_count > 0;
    if (sort->has_returned)
        *record = first_of(&sort->runs[sort->heap[0]]);
    return status;
}
