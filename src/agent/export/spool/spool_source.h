/* One source of a spool, as seen by the process that delivers it: its ledger, and its records in the order in
 * which they were written. Damaged records are skipped and counted; a truncated record ends its segment. */
#pragma once

#include "agent/export/spool/spool_files.h"

/* The end of what a running writer has written so far. */
struct spool_end {
    struct spool_position at;
    uint64_t spans; /* written before it */
};

struct spool_source {
    char name[SPOOL_SOURCE_BYTES];
    struct guarded_fd ledger_file;
    struct spool_ledger ledger;
    uint32_t last_segment;     /* 0: unknown, and the writer may still add segments */
    struct guarded_fd segment; /* the one that contains ledger.at */
    uint8_t *body;             /* of the record read last */
    size_t body_capacity;
};

#define SPOOL_SOURCE_NONE ((struct spool_source){.ledger_file = GUARDED_FD_NONE, .segment = GUARDED_FD_NONE})

enum spool_turn {
    SPOOL_RECORD,
    SPOOL_NOTHING, /* everything has been read */
    SPOOL_ERROR    /* in errno; a later call may succeed */
};

/* Takes over the source of a process that has ended: UNAVAILABLE if another process holds it, NOT_FOUND if it
 * no longer exists, IO. The source must be zeroed or released. `last_segment`: from a list of the directory;
 * 0: unknown. */
enum status spool_source_take(struct spool_source *source, int folder, const char *name,
                              uint32_t last_segment) MUST_CHECK;

/* Takes this process's own source again after the program has closed its ledger, which released the lock.
 * Keeps the ledger in memory, which may be newer than the file. NOT_FOUND: another process has taken over the
 * source, or its files are gone. IO sets errno. */
enum status spool_source_take_again(struct spool_source *source, int folder) MUST_CHECK;

/* Reads the next record before `end`; NULL: before the end of the files. Removes segments that have been
 * read. Adds the spans of skipped records to `damaged`; ledger.lost already includes them. */
enum spool_turn spool_source_next(struct spool_source *source, int folder, const struct spool_end *end,
                                  struct spool_record *record, uint64_t *damaged);
/* Moves past the record, which was delivered or refused. Does not write the ledger. */
void spool_source_pass(struct spool_source *source, const struct spool_record *record, uint64_t delivered);

/* False sets errno. */
bool spool_source_write_ledger(struct spool_source *source);

/* Spans written, but neither delivered nor lost. */
uint64_t spool_source_waiting(const struct spool_source *source);

/* Closes the files and frees memory; with `remove`, also deletes the files. */
void spool_source_release(struct spool_source *source, int folder, bool remove);

/* Spans that a process left in a spool when it ended. */
struct spool_recovery {
    uint64_t here;  /* spans in records with an intact header */
    uint64_t lost;  /* spans not yet counted as lost by anyone */
    uint64_t bytes; /* of the records */
    bool is_sudden; /* the process ended without closing the source */
    char line[400]; /* for the log; may be empty */
};

/* For a source that was just taken. The ledger records that losses were reported, so only the first caller
 * gets them. */
void spool_recovery_read(struct spool_source *source, int folder, struct spool_recovery *recovery);
