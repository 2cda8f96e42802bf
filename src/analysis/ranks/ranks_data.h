/* The state of the analysis, shared by the files of this folder. */
#pragma once

#include "base/hash.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/ranks_series.h"
#include "cli/util/int_map.h"
#include "model/cuda/step_host.h"

struct process_rank {
    uint32_t number;
    uint32_t host; /* index */
    char *gpu;
    uint32_t last_step; /* index of the step seen last, or RANKS_NONE */
    uint64_t last_count, instance_count;
    int64_t shift;        /* step numbers of this rank minus those of the other ranks */
    int64_t shift_seen;   /* candidate for `shift`, chosen by majority vote */
    uint64_t shift_votes; /* votes (Boyer-Moore): the candidate is right if more than half of the instances
                             show it */
    struct pending *pending;
    size_t pending_count, pending_capacity;
    uint64_t role;            /* equal for ranks with the same kinds of collectives, and the same stage */
    uint32_t job;             /* index of its job; while jobs are being found, of another rank in it */
    uint32_t world;           /* size of the job by its launcher; 0: unknown */
    uint64_t steps, repeated; /* its steps, and those of them that were added more than once */
    uint32_t pipeline, stage; /* each the smallest index of a rank in it */
    bool is_in_pipeline;      /* its pipeline has several ranks */
    struct ranks_series over; /* own times minus those of its peers; used while stragglers are being found */
};

/* A collective whose kernel the sweep has not passed, so that its exposed part is unknown. */
struct pending {
    struct ranks_collective collective;
    uint32_t step;       /* index */
    uint64_t blocked_ns; /* exposed time without much compute in between, up to blocked_until_ns */
    uint64_t blocked_until_ns;
};

/* The effect of a collective on its rank, ns. */
struct blocking {
    float blocked_ns; /* exposed time at the collective's end, without that of later collectives */
    float idle_ns;    /* from the collective's end to the rank's next work */
};

/* A step on one rank. The sweep has divided the time up to swept_ns among the categories. Known work of each
 * category lasts until until_ns. */
struct rank_step {
    struct ranks_step step;
    uint32_t rank;
    bool is_announced;
    enum ranks_partial partial;
    uint64_t window_ns; /* start of its time on the GPU: the end of the previous step's work */
    uint64_t swept_ns;
    uint64_t until_ns[RANKS_CATEGORIES];
    uint64_t parts_ns[RANKS_CATEGORIES];
    uint64_t idle_ns, communication_ns;
    uint64_t waiting_ns;                   /* exposed time spent waiting for other ranks */
    uint64_t transfer_ns;                  /* exposed time of transfers, equal on all ranks */
    uint64_t unknown_ns;                   /* exposed time of collectives that were not compared */
    uint64_t first_call_ns, first_work_ns; /* UINT64_MAX: none */
    struct step_host host;
    double late_ns;          /* sum over collectives of its arrivals after the median arrival */
    bool has_late;           /* a collective of the step shows how its ranks arrived */
    bool has_delay, is_late; /* as in struct ranks_step_row */
    double delay_ns;
};

/* One rank's part of a collective. */
struct arrival {
    uint64_t end_ns, duration_ns;
    float blocked_ns, idle_ns; /* as in struct blocking */
    int32_t step_difference;   /* the rank's step number minus the instance's */
    uint32_t rank;
};

/* A collective that has not been seen on all ranks. */
struct instance {
    uint64_t key, communicator, step, bytes;
    enum ranks_operation operation;
    bool is_uniform; /* all ranks gave the same bytes */
    uint32_t participants;
    struct arrival *arrivals;
    size_t count, capacity;
    bool is_open;
    uint32_t older, newer; /* its neighbors in the order of opening; newer of a free one: the next free one */
};

/* A rank in a communicator. Collectives of a communicator wait for each other. */
struct member {
    uint32_t rank;
    uint64_t end_ns; /* end of its last collective */
    double lead_ns;  /* how much earlier that one would have ended at most if the rank had not waited */
};

struct communicator {
    uint32_t participants;
    struct member *members; /* in order of slots */
    size_t member_count, member_capacity;
};

/* The lateness of a communicator's members in a step, by slot. Not related to blocked time. */
struct lateness {
    uint32_t communicator;
    uint64_t step;
    double *late_ns;
    size_t slots;
};

/* The quickest instance of a class in a step. */
struct speed {
    uint64_t step;
    float ns_per_byte;
    float skew_share; /* skew as a share of the instance's duration */
};

struct class
{
    struct ranks_collective_row row;
    uint32_t communicator; /* index */
    struct ranks_series shortest, skew, algbw;
    double wait_ns; /* sum over ranks and instances */
    uint64_t *last; /* by slot: how often its rank arrived last */
    size_t last_slots;
    struct speed *speeds; /* in the order of the steps' first instances */
    size_t speed_count, speed_capacity;
};

struct clock_sample {
    uint64_t time_ns;       /* on the first host */
    double difference_ns;   /* time on the second host - time on the first */
    double low_ns, high_ns; /* bounds: the offset lies between them */
    double shortest_ns;
    uint32_t tag;
};

/* The clock samples of two hosts, from collectives in which both took part. */
struct host_pair {
    uint32_t first, second;
    struct clock_sample *samples;
    size_t count, capacity;
    uint32_t mask;
    uint64_t seen;
};

struct host {
    char *name;
    uint64_t mark; /* the mark of its last ranks_mark_host() */
};

/* Ranks that have traces of steps or communicators in common. */
struct job {
    uint64_t first_step, last_step; /* first and last training step in the files; first > last: none */
    uint32_t rank_count, world;     /* ranks in the files, and by the launcher (0: unknown) */
    bool is_first_partial, is_last_partial;
};

struct ranks {
    struct ranks_limits limits;
    struct process_rank *ranks;
    size_t rank_count, rank_capacity;
    struct host *hosts;
    size_t host_count, host_capacity;
    struct int_map host_numbers; /* by the hash of the name */
    struct job *jobs;
    size_t job_count;
    struct rank_step *steps;
    size_t step_count, step_capacity;
    struct int_map step_numbers; /* rank and number → index in steps */
    struct instance *instances;
    size_t instance_count, instance_capacity;
    uint32_t free_instance, oldest_instance, newest_instance; /* RANKS_NONE: none */
    struct int_map open;                                      /* key → index of the instance */
    uint64_t opened;                                          /* number of instances opened so far */
    size_t open_entries;
    struct communicator *communicators;
    size_t communicator_count, communicator_capacity;
    struct int_map communicator_numbers;
    struct int_map slots;            /* communicator and rank → slot */
    struct int_map lateness_numbers; /* communicator and step → index in lateness */
    struct lateness *lateness;
    size_t lateness_count, lateness_capacity, lateness_values;
    struct class *classes;
    size_t class_count, class_capacity;
    struct int_map class_numbers;
    size_t speed_count; /* speeds of all classes together */
    struct host_pair *pairs;
    size_t pair_count, pair_capacity;
    struct int_map pair_numbers;
    double *scratch; /* one value for each rank of a completed instance */
    size_t scratch_capacity;
    uint64_t marks; /* the latest mark of hosts */
    uint64_t complete;
    struct ranks_losses losses;
};

static inline uint64_t ranks_pair_key(uint64_t a, uint64_t b)
{
    return int_map_mix(a + HASH_SPREAD) ^ int_map_mix(b * 0xd6e8feb86659fd93ull + 1);
}

/* Marks the arrival's host. True: this is the first arrival on the host since ranks->marks was increased. */
static inline bool ranks_mark_host(const struct ranks *ranks, const struct arrival *arrival)
{
    struct host *host = &ranks->hosts[ranks->ranks[arrival->rank].host];
    bool is_first = host->mark != ranks->marks;
    host->mark = ranks->marks;
    return is_first;
}

/* Returns the class of a size: equal for sizes with the same number of bits. */
static inline unsigned ranks_size_class(uint64_t bytes)
{
    return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* Returns the step of a rank by the rank's own number; NULL: unknown. */
struct rank_step *ranks_find_step(const struct ranks *ranks, uint32_t rank, uint64_t number);
/* Returns the time in ns that the rank spent neither waiting for others nor in transfers. Call it only after
 * the sweep has ended. */
double ranks_own_ns(const struct rank_step *step);
struct ranks_parts ranks_parts_of(const struct rank_step *step);
/* Whether the parts of the step's time are known. False: some of its work is missing, and its totals are
 * unknown. */
bool ranks_has_parts(const struct rank_step *step);

/* ranks_jobs.c. Finds the job of each rank, and decides which steps count. */
void ranks_find_jobs(struct ranks *ranks);
/* Finds the stages of pipelines. */
void ranks_find_stages(struct ranks *ranks);
/* ranks_instances.c */
void ranks_match(struct ranks *ranks, uint32_t rank, const struct ranks_collective *collective,
                 const struct blocking *blocking);
void ranks_instances_end(struct ranks *ranks);
/* ranks_clocks.c */
void ranks_clocks_add(struct ranks *ranks, const struct instance *instance, double shortest_ns);
void ranks_clocks_report(struct ranks *ranks, struct ranks_report *report);
/* ranks_stragglers.c */
void ranks_find_stragglers(struct ranks *ranks, struct ranks_report *report);
/* ranks_links.c */
void ranks_find_slow_links(struct ranks *ranks, struct ranks_report *report);
/* ranks_hosts.c */
void ranks_find_late_hosts(struct ranks *ranks, struct ranks_report *report);
/* ranks_findings.c */
void ranks_find_in_job(const struct ranks *ranks, struct ranks_report *report);
/* Adds a finding for each job that could not be compared; no other finding of the job then
 * counts. */
void ranks_find_not_compared(const struct ranks *ranks, struct ranks_report *report);
void ranks_offer(struct ranks_report *report, const struct ranks_finding *finding);
/* Removes the findings whose entry in `drops` is true, by their index. Frees `drops`. */
void ranks_drop(struct ranks_report *report, bool *drops);
/* Returns a text such as "rank 3 (node-2, NVIDIA H100)", which the caller frees. */
char *ranks_describe(const struct ranks *ranks, uint32_t rank);
