/* One source of a spool, as whoever delivers it sees it: its ledger, and its records in the order in which
 * they were written. What is damaged is stepped over and counted; a tail that was cut off ends its segment.
 */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_SOURCE_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_SOURCE_H

#include "export/spool/spool_files.h"

/* How far a source has been written, by a process that goes on. */
struct spool_end {
    struct spool_position at;
    uint64_t spans; /* written up to there */
};

struct spool_source {
    char name[SPOOL_SOURCE_BYTES];
    struct spool_file ledger_file;
    struct spool_ledger ledger;
    struct spool_file segment; /* the one that ledger.at is in */
    uint8_t *body;             /* of the record that was read last */
    size_t body_capacity;
};

enum spool_turn {
    SPOOL_RECORD,  /* here is the next one */
    SPOOL_NOTHING, /* all is read */
    SPOOL_TROUBLE  /* errno says why; another time it may work */
};

/* Takes a source whose process is gone, for this one: UNAVAILABLE where somebody has it, NOT_FOUND where it
 * is gone, IO. The source is zeroed or released. */
enum status spool_source_take(struct spool_source *source, int folder, const char *name) MUST_CHECK;

/* The next record, until `end`; NULL: until the end of what there is. Segments that have been read are
 * removed. To `damaged` come the spans that were stepped over; they are part of ledger.lost already. */
enum spool_turn spool_source_next(struct spool_source *source, int folder, const struct spool_end *end,
                                  struct spool_record *record, uint64_t *damaged);
/* That record met its fate. Doesn't write the ledger. */
void spool_source_pass(struct spool_source *source, const struct spool_record *record, uint64_t delivered);

/* False, and errno says why. */
bool spool_source_write_ledger(struct spool_source *source);

/* Spans that are written and have met no fate. */
uint64_t spool_source_waiting(const struct spool_source *source);

/* Closes it and frees what it holds; with `remove` its files go: nothing of it is left to be delivered. */
void spool_source_release(struct spool_source *source, int folder, bool remove);

#endif
