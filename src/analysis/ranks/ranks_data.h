/* The state of the analysis, shared by the files of this folder. */
#ifndef CUSPAN_ANALYSIS_RANKS_RANKS_DATA_H
#define CUSPAN_ANALYSIS_RANKS_RANKS_DATA_H

#include "base/hash.h"
#include "analysis/ranks/ranks_types.h"
#include "analysis/ranks/ranks_series.h"
#include "cli/util/int_map.h"
#include "model/cuda/step_host.h"

#define RANKS_LINK_BYTES_MIN 65536 /* below, a collective's duration is mostly latency */

struct process_rank {
    uint32_t number;
    uint32_t host; /* index */
    char *gpu;
    uint32_t last_step; /* index of the step seen last, or RANKS_NONE */
    uint64_t last_count, instance_count;
    int64_t shift;        /* step numbers of this rank minus those of the others */
    int64_t shift_seen;   /* the candidate, with its majority vote */
    uint64_t shift_votes; /* Boyer-Moore: correct if it has more than half of the instances */
    struct pending *pending;
    size_t pending_count, pending_capacity;
    uint64_t role;            /* equal for ranks with the same kinds of collectives, and the same stage */
    uint32_t job;             /* while it is being found: another rank of the job */
    uint32_t world;           /* size of the job by its launcher; 0: unknown */
    uint64_t steps, repeated; /* the second: of these, those that are there more than once */
    uint32_t pipeline, stage; /* smallest index of a rank in it */
    bool is_in_pipeline;      /* of more than one rank */
    struct ranks_series over; /* own times minus those of the peers; while stragglers are being found */
};

/* A collective whose kernel the sweep has not passed, so that its exposed part is unknown. */
struct pending {
    struct ranks_collective collective;
    uint32_t step;       /* index */
    uint64_t blocked_ns; /* exposed without much compute in between, until blocked_until_ns */
    uint64_t blocked_until_ns;
};

/* The effect of a collective on its rank, ns. */
struct blocking {
    float blocked_ns; /* the exposed time at its end, except that of later collectives */
    float idle_ns;    /* from its end to the next work */
};

/* A step on one rank. The sweep: the time up to swept_ns is divided; each category covers it until until_ns.
 */
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
    uint64_t waiting_ns;                   /* exposed, for other ranks */
    uint64_t transfer_ns;                  /* exposed, on all ranks alike */
    uint64_t unknown_ns;                   /* exposed, of collectives that were not compared */
    uint64_t first_call_ns, first_work_ns; /* UINT64_MAX: none */
    struct step_host host;
    double late_ns;          /* sum of its arrivals after the median arrival */
    bool has_late;           /* some collective shows how its ranks arrived */
    bool has_delay, is_late; /* as in struct ranks_step_row */
    double delay_ns;
};

/* One rank's part of a collective. */
struct arrival {
    uint64_t end_ns, duration_ns;
    float blocked_ns, idle_ns; /* of struct blocking */
    int32_t step_difference;   /* to the instance's step */
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
    uint32_t next_free;
    uint64_t opened; /* its place in the order of opening; 0: free */
};

/* A rank in a communicator. Collectives of a communicator wait for each other. */
struct member {
    uint32_t rank;
    uint64_t end_ns; /* of its last collective */
    double lead_ns;  /* how much earlier that would have ended at most if the rank had not waited */
};

struct communicator {
    uint64_t key;
    uint32_t participants;
    struct member *members; /* in the order of their slots */
    size_t member_count, member_capacity;
    uint32_t first_block; /* RANKS_NONE: none */
    uint64_t host_count;
};

/* Lateness of the members of a communicator in a step, by slot. */
struct block {
    uint32_t communicator, next;
    uint64_t step;
    double *late_ns;
    size_t slots;
};

/* The quickest instance of a class in a step. */
struct speed {
    uint64_t step;
    float ns_per_byte;
    float skew_share; /* of its duration */
};

struct class
{
    struct ranks_collective_row row;
    uint32_t communicator; /* index */
    struct ranks_series shortest, skew, algbw;
    double wait_ns; /* over ranks and instances */
    uint64_t *last; /* by slot */
    size_t last_slots;
    struct speed *speeds; /* in the order of the steps' first instances */
    size_t speed_count, speed_capacity;
};

struct clock_sample {
    uint64_t time_ns;       /* on the first host */
    double difference_ns;   /* second - first */
    double low_ns, high_ns; /* the offset cannot be outside */
    double shortest_ns;
    uint32_t tag;
};

/* Collectives that two hosts have taken part in. */
struct host_pair {
    uint32_t first, second;
    struct clock_sample *samples;
    size_t count, capacity;
    uint32_t mask;
    uint64_t seen;
};

struct host {
    char *name;
    uint64_t mark; /* see ranks_mark_host() */
};

/* Ranks that have traces of steps or communicators in common. */
struct job {
    uint64_t first_step, last_step; /* training steps in the files; first > last: none */
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
    struct int_map step_numbers; /* of rank and number: index */
    struct instance *instances;
    size_t instance_count, instance_capacity;
    uint32_t free_instance;
    struct int_map open; /* of key: index of the instance */
    uint64_t opened;     /* count */
    struct order {
        uint32_t instance;
        uint64_t opened;
    } * order; /* in the order of opening; stale entries are skipped */
    size_t order_first, order_count, order_capacity;
    size_t open_entries;
    struct communicator *communicators;
    size_t communicator_count, communicator_capacity;
    struct int_map communicator_numbers;
    struct int_map slots;          /* of communicator and rank */
    struct int_map blocks_numbers; /* of communicator and step */
    struct block *blocks;
    size_t block_count, block_capacity, block_values;
    struct class *classes;
    size_t class_count, class_capacity;
    struct int_map class_numbers;
    size_t speed_count; /* of all classes */
    struct host_pair *pairs;
    size_t pair_count, pair_capacity;
    struct int_map pair_numbers;
    double *scratch; /* of a completed instance: one value a rank */
    size_t scratch_capacity;
    uint64_t marks; /* the latest mark of hosts */
    uint64_t complete;
    struct ranks_losses losses;
};

static inline uint64_t ranks_pair_key(uint64_t a, uint64_t b)
{
    return int_map_mix(a + HASH_SPREAD) ^ int_map_mix(b * 0xd6e8feb86659fd93ull + 1);
}

/* True for the first arrival on its host since ranks->marks was increased. */
static inline bool ranks_mark_host(const struct ranks *ranks, const struct arrival *arrival)
{
    struct host *host = &ranks->hosts[ranks->ranks[arrival->rank].host];
    bool is_first = host->mark != ranks->marks;
    host->mark = ranks->marks;
    return is_first;
}

/* Equal for sizes of the same number of bits. */
static inline unsigned ranks_size_class(uint64_t bytes)
{
    return bytes ? 64 - (unsigned)__builtin_clzll(bytes) : 0;
}

/* The step of a rank by its own number, or NULL. */
struct rank_step *ranks_find_step(const struct ranks *ranks, uint32_t rank, uint64_t number);
/* The time that the rank spent neither waiting for others nor in transfers. Only after the sweep has ended.
 */
double ranks_own_ns(const struct rank_step *step);
struct ranks_parts ranks_parts_of(const struct rank_step *step);
/* False: some of its work is missing, and its totals are unknown. */
bool ranks_has_parts(const struct rank_step *step);

/* ranks_jobs.c. Sets of ranks: the representative of a rank's set. */
uint32_t ranks_set_find(uint32_t *sets, uint32_t rank);
/* The smaller representative becomes that of both. */
void ranks_set_join(uint32_t *sets, uint32_t a, uint32_t b);
/* Finds the job of each rank, and which steps count. */
void ranks_find_jobs(struct ranks *ranks);
/* Whether the step of the job counts, if it does so on each rank. */
bool ranks_is_inner(const struct ranks *ranks, uint32_t job, uint64_t step);
/* ranks_instances.c */
void ranks_match(struct ranks *ranks, uint32_t rank, const struct ranks_collective *collective,
                 const struct blocking *blocking);
void ranks_instances_end(struct ranks *ranks);
/* ranks_clocks.c */
void ranks_clocks_add(struct ranks *ranks, const struct instance *instance, double shortest_ns);
void ranks_clocks_report(struct ranks *ranks, struct ranks_report *report);
/* ranks_stages.c */
void ranks_find_stages(struct ranks *ranks);
/* ranks_stragglers.c */
void ranks_find_stragglers(struct ranks *ranks, struct ranks_report *report);
/* ranks_links.c */
void ranks_find_slow_links(struct ranks *ranks, struct ranks_report *report);
/* ranks_hosts.c */
void ranks_find_late_hosts(struct ranks *ranks, struct ranks_report *report);
/* ranks_findings.c */
void ranks_find_in_job(const struct ranks *ranks, struct ranks_report *report);
/* ranks_compared.c. What could not be compared; then no other finding of the job counts. */
void ranks_find_not_compared(const struct ranks *ranks, struct ranks_report *report);
void ranks_offer(struct ranks_report *report, const struct ranks_finding *finding);
/* Removes findings; by their index. */
void ranks_drop(struct ranks_report *report, const bool *drops);
/* "rank 3 (node-2, NVIDIA H100)"; allocated. */
char *ranks_describe(const struct ranks *ranks, uint32_t rank);

#endif
