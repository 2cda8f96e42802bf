/* Real processes with live states, as agents have them, of a simulated job that hangs.
 *
 *     hang_ranks FAULT SEED DIRECTORY
 *
 * Prints "RANK PID" for each, and "ready". Each also has DIRECTORY/PID.live. Ends when standard input does.
 */
#include "hang/simulator.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 8

static const struct shape shape = {
    .tensor = 2, .pipeline = 2, .data = 2, .steps = 3, .layers = 2, .micro = 2, .buckets = 2};

static uint64_t own_ticks(void)
{
    char text[1024] = "";
    unsigned long long ticks = 0;
    FILE *file = fopen("/proc/self/stat", "r");
    if (!file || !fgets(text, sizeof text, file) ||
        sscanf(strrchr(text, ')') + 1,
               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &ticks) != 1)
        exit(1);
    fclose(file);
    return ticks;
}

static void be_rank(struct job *job, uint32_t rank, const char *directory, int ready)
{
    char path[512];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int live = memfd_create(LIVE_STATE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (live < 0 || ftruncate(live, LIVE_STATE_BYTES) != 0)
        exit(1);
    void *memory = mmap(NULL, LIVE_STATE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, live, 0);
    if (memory == MAP_FAILED || fcntl(live, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        exit(1);
    job_write(job, rank, KNOWS_ENDS, getpid(), own_ticks(), memory);
    snprintf(path, sizeof path, "%s/%d.live", directory, (int)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || write(file, memory, LIVE_STATE_BYTES) != LIVE_STATE_BYTES || write(ready, "", 1) != 1)
        exit(1);
    for (;;)
        pause();
}

static struct job *make_job(const char *name, uint64_t seed, enum fault *fault)
{
    for (*fault = 0; *fault < FAULT_COUNT - 1 && strcmp(fault_names[*fault], name) != 0;)
        ++*fault;
    for (uint64_t attempt = 0;; attempt++) {
        struct job *job = job_create(&shape, seed * 1000 + attempt);
        if (job_plant(job, *fault) && job_run(job))
            return job;
        job_destroy(job);
    }
}

int main(int argc, char **argv)
{
    enum fault fault;
    int ready[2];
    char byte;
    pid_t pids[RANKS];
    if (argc != 4 || pipe(ready) != 0)
        return 2;
    struct job *job = make_job(argv[1], strtoull(argv[2], NULL, 10), &fault);
    for (uint32_t r = 0; r < RANKS; r++) {
        pids[r] = fork();
        if (pids[r] == 0)
            be_rank(job, r, argv[3], ready[1]);
    }
    for (uint32_t r = 0; r < RANKS; r++)
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    for (uint32_t r = 0; r < RANKS; r++) {
        bool is_culprit = job_is_culprit(job, r);
        printf("%u %d%s\n", r, (int)pids[r], is_culprit ? " culprit" : "");
        if (is_culprit && (fault == FAULT_DIED || fault == FAULT_STOPPED))
            kill(pids[r], fault == FAULT_DIED ? SIGKILL : SIGSTOP);
    }
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    for (uint32_t r = 0; r < RANKS; r++)
        kill(pids[r], SIGKILL);
    for (uint32_t r = 0; r < RANKS; r++)
        waitpid(pids[r], NULL, 0);
    job_destroy(job);
    return 0;
}
