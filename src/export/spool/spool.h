/* An output that keeps requests in a directory until a collector has them (setting spool.directory).
 *
 * The exporter's thread compresses a batch and appends it to a segment, which never waits for the collector.
 * A thread of the spool's, cuspan/spool, reads the oldest one and sends it, with all patience, before it
 * sends the next: so the order is kept, and what a killed process leaves is what had not been encoded yet. In
 * between it delivers what other processes have left behind, one request of theirs for each of our own. Where
 * the directory can't be written, spans are sent from memory, as without a spool, once what lies there is
 * delivered. */
#ifndef CUSPAN_EXPORT_SPOOL_SPOOL_H
#define CUSPAN_EXPORT_SPOOL_SPOOL_H

#include "export/otlp/sender.h"
#include "export/spool/spool_source.h"

/* Copies what it needs. NO_MEMORY only: what is wrong with the directory shows, in one line, when it is used.
 */
enum status spool_create(const struct output_settings *settings,
                         const struct exporter_environment *environment, struct delivery_control *control,
                         struct output **output) MUST_CHECK;

/* Sends one record, which the source has just given. False: it stays where it is, since nothing took it. */
bool spool_send_record(struct output *sender, struct spool_source *source, const struct spool_record *record,
                       bool for_ever, struct delivery *delivery);

#endif
