/* The detectors: each scans the survey for some kinds of findings and offers them. */
#ifndef CUSPAN_CLI_STAT_FINDINGS_DETECTORS_H
#define CUSPAN_CLI_STAT_FINDINGS_DETECTORS_H

#include "cli/stat/findings/finding.h"

void find_launch_bound(struct findings *findings);
void find_tiny_launches(struct findings *findings);
void find_graph_candidates(struct findings *findings);
void find_serialized(struct findings *findings);
void find_copies(struct findings *findings);
void find_needless_waits(struct findings *findings);
void find_low_occupancy(struct findings *findings);
void find_memory_faults(struct findings *findings);

#endif
