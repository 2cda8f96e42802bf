/* Finds spans that a process left in a spool when it ended. */
#pragma once

#include "agent/export/spool/spool_source.h"

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
