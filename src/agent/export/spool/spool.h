/* An output that keeps requests in a directory until a collector accepts them (setting spool.directory).
 *
 * The exporter's thread compresses a batch and appends it to a segment; it never waits for the collector. The
 * thread cuspan/spool reads the oldest record and sends it, retrying without limit, before it sends the next.
 * This preserves the order, and a killed process loses only what it had not encoded yet. Between its own
 * requests it delivers those of processes that have ended, one for each of its own. At exit, it sends only
 * its own. If the directory cannot be written, spans are sent from memory once the spool is empty. */
#pragma once

#include "agent/export/otlp/sender.h"
#include "agent/export/spool/spool_source.h"

/* Copies what it needs. NO_MEMORY only: errors of the directory are logged when it is first used. */
enum status spool_create(const struct output_settings *settings, const struct output_environment *environment,
                         struct delivery_control *control, struct output **output) MUST_CHECK;

/* Sends the record that spool_source_next has just returned. False: it was not accepted or refused, and stays
 * in the source. */
bool spool_send_record(struct output *sender, struct spool_source *source, const struct spool_record *record,
                       bool for_ever, struct delivery *delivery);
