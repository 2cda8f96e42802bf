#include "agent/core/resource/deployment.h"

#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2  "ffffffffffffffff0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID2 "1b4e28ba_2fa1_11d2_883f_0016d3cca427"
#define UID  "1b4e28ba-2fa1-11d2-883f-0016d3cca427"

static char root[] = "/tmp/cuspan-deployment-XXXXXX";
static const char *variables[32][2];
static struct resource resource;

static const char *variable(const char *name)
{
    for (size_t i = 0; variables[i][0]; i++)
        if (strcmp(variables[i][0], name) == 0)
            return variables[i][1];
    return NULL;
}

static void given(const char *name, const char *value)
{
    size_t i = 0;
    while (variables[i][0])
        i++;
    variables[i][0] = name;
    variables[i][1] = value;
}

static void given_file(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *slash = strchr(whole + 5, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        assert_true(mkdir(whole, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void look(void)
{
    struct deployment from = {variable, root};
    resource_deinit(&resource);
    assert_int_equal(deployment_add(&resource, &from), STATUS_OK);
}

static const char *text_of(const char *key)
{
    const struct resource_attr *found = resource_find(&resource, key);
    return found && found->type == RESOURCE_STRING ? found->items->string : "";
}

static int64_t number_of(const char *key)
{
    const struct resource_attr *found = resource_find(&resource, key);
    return found && found->type == RESOURCE_INT ? found->items->integer : -1;
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
    memset(variables, 0, sizeof variables);
    strcpy(root + sizeof root - 7, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
    resource_deinit(&resource);
    remove_root();
    return 0;
}

static void test_nothing_around_is_nothing_said(void **state)
{
    look();
    assert_int_equal(resource.attr_count, 0);
    given("HOSTNAME", "box");
    given("RANK", "first");
    given("SLURM_JOB_ID", "");
    look();
    assert_int_equal(resource.attr_count, 0);
}

static void expect_rank(int64_t rank, int64_t local_rank, int64_t world_size)
{
    look();
    assert_int_equal(number_of("cuda.process.rank"), rank);
    assert_int_equal(number_of("cuda.process.local_rank"), local_rank);
    assert_int_equal(number_of("cuda.process.world_size"), world_size);
}

static void test_ranks_of_each_launcher(void **state)
{
    given("SLURM_PROCID", "9");
    given("SLURM_LOCALID", "1");
    given("SLURM_NTASKS", "16");
    expect_rank(-1, -1, -1); /* a batch script */
    given("SLURM_STEP_ID", "0");
    expect_rank(9, 1, 16);
    given("PMI_RANK", "7");
    given("PMI_SIZE", "8");
    expect_rank(7, -1, 8); /* everything from one launcher, nothing from another */
    given("OMPI_COMM_WORLD_RANK", "5");
    given("OMPI_COMM_WORLD_LOCAL_RANK", "3");
    given("OMPI_COMM_WORLD_SIZE", "6");
    expect_rank(5, 3, 6);
    given("RANK", "0");
    given("LOCAL_RANK", "0");
    given("WORLD_SIZE", "2");
    expect_rank(0, 0, 2);
}

static void test_ranks_of_each_mpi_and_job_system(void **state)
{
    static const char *const launchers[][3] = {
        {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
        {"HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE"},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
        {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"}, /* MPICH, Intel's MPI */
        {"PMI_RANK", "PMI_LOCAL_RANK", "PMI_SIZE"},  /* Cray's */
        {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE"},
        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"}};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        memset(variables, 0, sizeof variables);
        given("SLURM_STEP_ID", "0");
        given(launchers[i][0], "11");
        given(launchers[i][1], "3");
        given(launchers[i][2], "12");
        expect_rank(11, 3, 12);
    }
}

/* srun --mpi=pmi2: PMI has no local rank, and Slurm's variables describe the same processes. */
static void test_a_local_rank_of_another_that_agrees(void **state)
{
    given("PMI_RANK", "7");
    given("PMI_SIZE", "16");
    given("SLURM_PROCID", "7");
    given("SLURM_LOCALID", "3");
    given("SLURM_NTASKS", "8");
    given("SLURM_STEP_ID", "0");
    expect_rank(7, -1, 16); /* of other processes */
    variables[1][1] = "8";
    expect_rank(7, 3, 8);
}

static void test_what_is_no_rank(void **state)
{
    static const char *const wrong[] = {"", "-1", " 1", "1x", "0x1", "2147483648", "99999999999999999999"};
    given("RANK", "");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        variables[0][1] = wrong[i];
        expect_rank(-1, -1, -1);
    }
}

static void test_a_slurm_job(void **state)
{
    given("SLURM_JOB_ID", "4711");
    given("SLURMD_NODENAME", "node-3");
    look();
    assert_string_equal(text_of("slurm.job.id"), "4711");
    assert_string_equal(text_of("slurm.node.name"), "node-3");
    assert_int_equal(resource.attr_count, 2);
    given("SLURM_STEP_ID", "0");
    given("SLURM_JOB_NAME", "train");
    given("SLURM_ARRAY_JOB_ID", "4700");
    given("SLURM_ARRAY_TASK_ID", "11");
    given("SLURM_CLUSTER_NAME", "north");
    look();
    assert_string_equal(text_of("slurm.step.id"), "0");
    assert_string_equal(text_of("slurm.job.name"), "train");
    assert_string_equal(text_of("slurm.array.job.id"), "4700");
    assert_string_equal(text_of("slurm.array.task.id"), "11");
    assert_string_equal(text_of("slurm.cluster.name"), "north");
}

static void expect_container(const char *groups, const char *mounts, const char *id, const char *uid)
{
    given_file("/proc/self/cgroup", groups);
    given_file("/proc/self/mountinfo", mounts);
    look();
    assert_string_equal(text_of("container.id"), id);
    assert_string_equal(text_of("k8s.pod.uid"), uid);
}

static void test_containers_by_their_control_group(void **state)
{
    expect_container("12:memory:/docker/" ID "\n11:cpu:/\n", "", ID, "");
    expect_container("0::/system.slice/docker-" ID ".scope\n", "", ID, "");
    expect_container("0::/user.slice/libpod-" ID ".scope/container\n", "", ID, "");
    expect_container("5:cpu:/docker/" ID2 "/docker/" ID "\n", "", ID, ""); /* one inside another */
    expect_container("1:name=systemd:/kubepods/burstable/pod" UID "/" ID "\n", "", ID, UID);
    expect_container("0::/kubepods.slice/kubepods-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice/"
                     "cri-containerd-" ID ".scope\n",
                     "", ID, UID);
    expect_container("0::/system.slice/cri-containerd:" ID "\n", "", ID, "");
    expect_container("0::/../cri-containerd-" ID ".scope\n", "", ID, ""); /* seen from a sibling namespace */
    expect_container("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID2
                     ".slice/crio-" ID ".scope/container\n",
                     "", ID, UID);
    expect_container("0::/ecs/task/" ID "\n", "", ID, "");
    expect_container("0::/\n", "", "", "");
    expect_container("0::/user.slice/user-1000.slice/podman.scope\n", "", "", "");
    expect_container("0::/docker/0" ID "\n", "", "", "");
    expect_container("nothing of the kind", "", "", "");
}

static void test_containers_by_their_mounts(void **state)
{
    expect_container("0::/\n",
                     "1 2 8:1 / / rw - overlay overlay rw\n"
                     "3 2 8:1 /var/lib/docker/containers/" ID
                     "/hostname /etc/hostname rw - ext4 /dev/sda rw\n",
                     ID, "");
    expect_container(
        "0::/\n",
        "3 2 0:1 /containers/overlay-containers/" ID "/userdata/hostname /etc/hostname rw - x x x\n", ID, "");
    expect_container("0::/\n",
                     "3 2 8:1 /var/lib/kubelet/pods/" UID "/etc-hosts /etc/hosts rw - ext4 /dev/sda rw\n"
                     "4 2 8:1 /var/lib/containerd/sandboxes/" ID "/hostname /etc/hostname rw - x x x\n",
                     "", UID); /* a sandbox is not a container */
    expect_container("0::/kubepods/" ID "\n",
                     "3 2 8:1 /var/lib/kubelet/pods/" UID "/etc-hosts /etc/hosts rw - x x x\n", ID, UID);
}

#define TOKEN "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

static void test_a_pod(void **state)
{
    given_file(TOKEN, "training\n");
    given_file("/etc/hosts", "# Kubernetes-managed hosts file.\n127.0.0.1 localhost\n");
    given("HOSTNAME", "trainer-0");
    look();
    assert_int_equal(resource.attr_count, 0); /* one file alone does not make a pod */
    given("KUBERNETES_SERVICE_HOST", "10.0.0.1");
    look();
    assert_string_equal(text_of("k8s.namespace.name"), "training");
    assert_string_equal(text_of("k8s.pod.name"), "trainer-0");
    given_file("/etc/hosts", "# Kubernetes-managed hosts file (host network).\n");
    look();
    assert_string_equal(text_of("k8s.namespace.name"), "training");
    assert_string_equal(text_of("k8s.pod.name"), "");
    given_file("/etc/hosts", "# Kubernetes-managed hosts file.\n");
    given("JOB_COMPLETION_INDEX", "0");
    look();
    assert_string_equal(text_of("k8s.pod.name"), "");
}

static void expect_pod(const char *name, const char *uid, const char *space, const char *node)
{
    look();
    assert_string_equal(text_of("k8s.pod.name"), name);
    assert_string_equal(text_of("k8s.pod.uid"), uid);
    assert_string_equal(text_of("k8s.namespace.name"), space);
    assert_string_equal(text_of("k8s.node.name"), node);
}

static void test_what_a_pod_is_told_by_variables(void **state)
{
    given("POD_NAME", "job-3-x7x2p");
    given("POD_UID", UID);
    given("POD_NAMESPACE", "training");
    given("NODE_NAME", "node-3");
    given("JOB_COMPLETION_INDEX", "3");
    given("HOSTNAME", "job-3");
    expect_pod("", "", "", ""); /* outside a pod they may mean anything */
    given("KUBERNETES_SERVICE_HOST", "10.0.0.1");
    expect_pod("job-3-x7x2p", UID, "training", "node-3");
    assert_string_equal(text_of("k8s.container.name"), "");
    given("K8S_CONTAINER_NAME", "worker");
    look();
    assert_string_equal(text_of("k8s.container.name"), "worker");
    given("OTEL_RESOURCE_ATTRIBUTES_POD_NAME", "by-the-operator");
    expect_pod("by-the-operator", UID, "training", "node-3");
    given("K8S_POD_NAME", "");
    given_file(TOKEN, "of-the-token\n");
    given_file("/etc/hosts", "# Kubernetes-managed hosts file.\n");
    given_file("/proc/self/cgroup", "0::/kubepods/podffffffff-2fa1-11d2-883f-0016d3cca427/" ID "\n");
    expect_pod("by-the-operator", "ffffffff-2fa1-11d2-883f-0016d3cca427", "of-the-token", "node-3");
}

static void test_what_is_known_stays(void **state)
{
    struct deployment from = {variable, root};
    given("RANK", "3");
    given("WORLD_SIZE", "4");
    assert_int_equal(resource_set_string(&resource, "cuda.process.rank", "mine"), STATUS_OK);
    assert_int_equal(deployment_add(&resource, &from), STATUS_OK);
    assert_string_equal(text_of("cuda.process.rank"), "mine");
    assert_int_equal(number_of("cuda.process.world_size"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_around_is_nothing_said, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranks_of_each_launcher, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranks_of_each_mpi_and_job_system, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_local_rank_of_another_that_agrees, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_rank, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_slurm_job, setup, teardown),
        cmocka_unit_test_setup_teardown(test_containers_by_their_control_group, setup, teardown),
        cmocka_unit_test_setup_teardown(test_containers_by_their_mounts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_pod, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_pod_is_told_by_variables, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_known_stays, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
