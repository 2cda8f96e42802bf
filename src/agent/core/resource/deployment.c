#include "agent/core/resource/deployment.h"

#include "base/files.h"
#include "base/process/variables.h"
#include "model/semconv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEX_DIGITS   "0123456789abcdef"
#define LINE_BYTES   4096
#define ID_DIGITS    64 /* of a container ID */
#define UID_BYTES    36 /* of a pod ID, a UUID */
#define TOKEN_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"

const struct deployment deployment_own = {variables_get, ""};

/* Ranks and jobs. */

/* A number of at least 0, or -1. */
static int64_t number_of(const struct deployment *from, const char *name)
{
    const char *text = from->getenv(name);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    long value = strtol(text, &end, 10);
    return errno || *end || value > INT_MAX ? -1 : value;
}

struct launcher {
    const char *rank, *local_rank, *size;
    const char *needed; /* a variable without which the others describe no task; or NULL */
};

struct rank_numbers {
    int64_t rank, local_rank, size; /* -1: unknown */
};

static struct rank_numbers place_in(const struct deployment *from, const struct launcher *launcher)
{
    if (launcher->needed && number_of(from, launcher->needed) < 0)
        return (struct rank_numbers){-1, -1, -1};
    return (struct rank_numbers){number_of(from, launcher->rank), number_of(from, launcher->local_rank),
                                 number_of(from, launcher->size)};
}

/* All three come from the innermost launcher: torchrun inside a Slurm step sets both kinds of variables. A
 * launcher without a local rank (PMI without the variables of MPICH or Cray) gets it from another with the
 * same rank and size. */
static void add_rank(struct resource *resource, const struct deployment *from, enum status *status)
{
    static const struct launcher launchers[] = {
        {"RANK", "LOCAL_RANK", "WORLD_SIZE", NULL},
        {"HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE", NULL},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", NULL},
        {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL},
        {"PMI_RANK", "PMI_LOCAL_RANK", "PMI_SIZE", NULL},
        {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", NULL},
        /* A batch script has SLURM_PROCID=0, whatever its steps do. */
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_ID"}};
    struct rank_numbers found = {-1, -1, -1};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && found.local_rank < 0; i++) {
        struct rank_numbers place = place_in(from, &launchers[i]);
        if (found.rank < 0)
            found = place;
        else if (place.rank == found.rank && place.size == found.size)
            found.local_rank = place.local_rank;
    }
    if (found.rank < 0)
        return;
    resource_add_int(resource, SEMCONV_CUDA_PROCESS_RANK, found.rank, status);
    resource_add_int(resource, SEMCONV_CUDA_PROCESS_LOCAL_RANK, found.local_rank, status);
    resource_add_int(resource, SEMCONV_CUDA_PROCESS_WORLD_SIZE, found.size, status);
}

static void add_slurm(struct resource *resource, const struct deployment *from, enum status *status)
{
    static const struct {
        const char *key, *variable;
    } facts[] = {{SEMCONV_SLURM_JOB_ID, "SLURM_JOB_ID"},
                 {SEMCONV_SLURM_JOB_NAME, "SLURM_JOB_NAME"},
                 {SEMCONV_SLURM_ARRAY_JOB_ID, "SLURM_ARRAY_JOB_ID"},
                 {SEMCONV_SLURM_ARRAY_TASK_ID, "SLURM_ARRAY_TASK_ID"},
                 {SEMCONV_SLURM_STEP_ID, "SLURM_STEP_ID"},
                 {SEMCONV_SLURM_NODE_NAME, "SLURMD_NODENAME"},
                 {SEMCONV_SLURM_CLUSTER_NAME, "SLURM_CLUSTER_NAME"}};
    if (number_of(from, "SLURM_JOB_ID") < 0)
        return;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        resource_add_string(resource, facts[i].key, from->getenv(facts[i].variable), status);
}

/* Containers and pods. */

static FILE *open_file(const struct deployment *from, const char *path)
{
    char whole[LINE_BYTES];
    snprintf(whole, sizeof whole, "%s%s", from->root, path);
    return files_open_stream(whole);
}

/* Copies 64 hexadecimal digits that form a word. */
static void take_id(const char *text, char id[ID_DIGITS + 1])
{
    if (strspn(text, HEX_DIGITS) == ID_DIGITS)
        snprintf(id, ID_DIGITS + 1, "%.*s", ID_DIGITS, text);
}

/* Copies a UUID; systemd replaces '-' with '_' in names of control groups. */
static void take_uid(const char *text, char uid[UID_BYTES + 1])
{
    for (unsigned i = 0; i < UID_BYTES; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (!text[i] || !strchr(is_dash ? "-_" : HEX_DIGITS, text[i])) {
            uid[0] = 0;
            return;
        }
        uid[i] = is_dash ? '-' : text[i];
    }
    uid[UID_BYTES] = 0;
}

static void find_uid(const char *line, const char *before, char uid[UID_BYTES + 1])
{
    for (const char *at = line; !*uid && (at = strstr(at, before)); at++)
        take_uid(at + strlen(before), uid);
}

/* Lines like "4:memory:/docker/ID" or ".../kubepods-burstable-podUID.slice/cri-containerd-ID.scope". The
 * innermost ID is the container's. In a cgroup namespace (version 2) the path is "/", which tells nothing. */
static void read_group(const char *line, char id[ID_DIGITS + 1], char uid[UID_BYTES + 1])
{
    const char *path = strchr(line, '/');
    if (!path)
        return;
    find_uid(path, "pod", uid);
    for (const char *at = path + strlen(path); !*id && at > path; at--)
        if (strchr("/-:", at[-1]))
            take_id(at, id);
}

/* Mounts of the container's own files: the runtime has ".../containers/ID/hostname /etc/hostname", kubelet
 * has ".../pods/UID/etc-hosts /etc/hosts". */
static void read_mount(const char *line, char id[ID_DIGITS + 1], char uid[UID_BYTES + 1])
{
    static const char folder[] = "containers/";
    find_uid(line, "/pods/", uid);
    for (const char *at = line; !*id && (at = strstr(at, folder)); at++)
        take_id(at + strlen(folder), id);
}

static void read_lines(const struct deployment *from, const char *path,
                       void (*read_line)(const char *, char *, char *), char *id, char *uid)
{
    char line[LINE_BYTES];
    FILE *file = open_file(from, path);
    while (file && !(*id && *uid) && fgets(line, sizeof line, file))
        read_line(line, id, uid);
    if (file)
        fclose(file);
}

static void add_container(struct resource *resource, const struct deployment *from, enum status *status)
{
    char id[ID_DIGITS + 1] = "", uid[UID_BYTES + 1] = "";
    read_lines(from, "/proc/self/cgroup", read_group, id, uid);
    if (!*id || !*uid)
        read_lines(from, "/proc/self/mountinfo", read_mount, id, uid);
    resource_add_string(resource, SEMCONV_CONTAINER_ID, id, status);
    resource_add_string(resource, SEMCONV_K8S_POD_UID, uid, status);
}

/* Reads the first line of the file; "" if there is none. */
static void read_first_line(const struct deployment *from, const char *path, char line[LINE_BYTES])
{
    FILE *file = open_file(from, path);
    line[0] = 0;
    if (!file)
        return;
    if (!fgets(line, LINE_BYTES, file))
        line[0] = 0;
    line[strcspn(line, "\r\n")] = 0;
    fclose(file);
}

/* Variables set by the downward API, under the names that the documentation of OpenTelemetry, its operator
 * and Kubernetes use. */
static void add_handed_on(struct resource *resource, const struct deployment *from, enum status *status)
{
    static const struct {
        const char *key, *variables[4];
    } facts[] = {
        {SEMCONV_K8S_POD_NAME,
         {"K8S_POD_NAME", "OTEL_RESOURCE_ATTRIBUTES_POD_NAME", "POD_NAME", "MY_POD_NAME"}},
        {SEMCONV_K8S_POD_UID, {"K8S_POD_UID", "OTEL_RESOURCE_ATTRIBUTES_POD_UID", "POD_UID", "MY_POD_UID"}},
        {SEMCONV_K8S_NAMESPACE_NAME,
         {"K8S_NAMESPACE_NAME", "K8S_NAMESPACE", "POD_NAMESPACE", "MY_POD_NAMESPACE"}},
        {SEMCONV_K8S_NODE_NAME,
         {"K8S_NODE_NAME", "OTEL_RESOURCE_ATTRIBUTES_NODE_NAME", "NODE_NAME", "MY_NODE_NAME"}},
        {SEMCONV_K8S_CONTAINER_NAME, {"K8S_CONTAINER_NAME"}}}; /* from deploy/kubernetes */
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        for (size_t j = 0; j < sizeof facts->variables / sizeof *facts->variables && facts[i].variables[j];
             j++)
            resource_add_string(resource, facts[i].key, from->getenv(facts[i].variables[j]), status);
}

static void add_pod(struct resource *resource, const struct deployment *from, enum status *status)
{
    char line[LINE_BYTES];
    if (!from->getenv("KUBERNETES_SERVICE_HOST"))
        return;
    read_first_line(from, TOKEN_FOLDER "/namespace", line);
    resource_add_string(resource, SEMCONV_K8S_NAMESPACE_NAME, line, status);
    add_handed_on(resource, from, status);
    /* The host name is the pod name, except for pods in the host network, which kubelet marks in /etc/hosts,
     * and pods of indexed jobs, whose names have a random suffix. */
    read_first_line(from, "/etc/hosts", line);
    if (strcmp(line, "# Kubernetes-managed hosts file.") == 0 && !from->getenv("JOB_COMPLETION_INDEX"))
        resource_add_string(resource, SEMCONV_K8S_POD_NAME, from->getenv("HOSTNAME"), status);
}

enum status deployment_add(struct resource *resource, const struct deployment *from)
{
    enum status status = STATUS_OK;
    add_rank(resource, from, &status);
    add_slurm(resource, from, &status);
    add_container(resource, from, &status);
    add_pod(resource, from, &status);
    return status;
}
