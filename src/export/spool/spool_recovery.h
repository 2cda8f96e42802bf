/* What a process that is gone has left in a spool. */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_RECOVERY_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_RECOVERY_H

#include "export/spool/spool_source.h"

struct spool_recovery {
    uint64_t here;  /* spans in records that are whole as far as their headers tell */
    uint64_t lost;  /* that nobody has counted yet */
    uint64_t bytes; /* of the records */
    bool is_sudden; /* the process ended without a word */
    char line[400]; /* for the log; empty where there is nothing to say */
};

/* Of a source that was just taken. What is lost is told to the first who asks: the ledger remembers. */
void spool_recovery_read(struct spool_source *source, int folder, struct spool_recovery *recovery);

#endif
