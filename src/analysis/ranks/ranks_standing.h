/* Compares each rank with its peers, for the files that look for late ranks and hosts. */
#pragma once

#include "analysis/ranks/ranks_data.h"

#define LATE_SHARE      0.01  /* lateness counts from this share of the peers' own time on */
#define LATE_NS         150e3 /* limit of that share in long steps, ns */
#define LATE_PEERS_MIN  6     /* with fewer peers, the deviation is too uncertain: LATE_SHARE alone decides */
#define LATE_STEPS      0.33 /* of all steps: a rank that is late half of the time passes in spite of noise */
#define LATE_STEPS_MIN  3
#define LATE_OVER_EARLY 4 /* late steps per early one; noise is as often early as late */

/* Steps of ranks of a job that have the same role, by number. */
struct team {
    struct rank_step **steps;
    size_t count;
};

struct peer {
    uint32_t rank;
    struct rank_step *step;
    double own_ns, late_ns;
    double over_ns; /* own_ns minus the median of the others */
};

/* Sums of one rank in its team. */
struct standing {
    uint64_t steps, late, early;
    uint64_t slowest;         /* late steps in which it had the longest own time of all */
    double late_ns, early_ns; /* sums over all late and over all early steps */
    bool is_late_on_average, is_rarely_late, is_always_late;
    double saving_ns, duration_ns, own_ns;
    struct ranks_series excess, compute, copies, idle, loader; /* of late steps, minus the peers' medians */
    struct ranks_series lateness, own, peers_own, over;        /* of all steps; over is own minus peers_own */
    double over_ns, over_squares; /* sums of `over` and its squares, without outliers */
    double lateness_total_ns, worst_ns;
    const struct rank_step *worst;
};

struct threshold {
    double median_ns, second_ns, limit_ns;
};

/* Memory for the comparison of teams. */
struct standing_work {
    struct peer *peers, *others; /* the peers of one step */
    size_t peer_count;
    double *scratch;
    struct standing *standings; /* by rank or host; zeroed between teams */
    size_t count;               /* number of standings */
};

/* Calls `examine` for each team, with `count` standings. */
void standing_each_team(struct ranks *ranks, struct ranks_report *report, size_t count,
                        void (*examine)(struct ranks *, struct ranks_report *, const struct team *,
                                        struct standing_work *));
/* Frees the standing's memory and zeroes it. */
void standing_deinit(struct standing *standing);
/* Fills work->peers with those in the team's next step that has at least two, from index *at on, and advances
 * *at. False: there is none. */
bool standing_next(const struct team *team, size_t *at, struct standing_work *work);
/* Returns the threshold for the peer at index `of`, from the own times of the others. Leaves the sorted
 * distances of these from the median in `scratch`. */
struct threshold standing_threshold(const struct peer *peers, size_t count, size_t of, double *scratch);
/* Fills over_ns of all peers of a step, at least two. Returns the index of the late one, which arrived last
 * and is above its threshold; `count`: none is late. Fills `threshold` with that of the last one. */
size_t standing_compare(struct peer *peers, size_t count, struct threshold *threshold, double *scratch);
/* Adds a step in which the peer at index `of` is late to its standing. */
void standing_add_late(struct standing *standing, const struct peer *peers, size_t count, size_t of,
                       const struct threshold *threshold, double *scratch);
/* Returns a finding about the standing's late steps, without job, rank and evidence. `*cause` becomes a text
 * about the part of the step with more than half of the delay; static. */
struct ranks_finding standing_finding(struct standing *standing, const char **cause);
