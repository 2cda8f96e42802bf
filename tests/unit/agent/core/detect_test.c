#include "agent/core/resource/detect.h"

#include "support/under_qemu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/detect-test-XXXXXX";

static const char *text_of(const struct resource *resource, const char *key)
{
    const struct resource_attr *found = resource_find(resource, key);
    return found && found->type == RESOURCE_STRING ? found->items->string : NULL;
}

static void test_what_is_always_there(void **state)
{
    struct resource resource = {0};
    assert_int_equal(detect_resource(&resource, 13000, "13.5"), STATUS_OK);
    assert_string_equal(text_of(&resource, "service.name"), "unknown_service:detect_test");
    assert_int_equal(strlen(text_of(&resource, "service.instance.id")), 36);
    assert_int_equal(text_of(&resource, "service.instance.id")[14], '4'); /* a random UUID */
    assert_string_equal(text_of(&resource, "telemetry.sdk.name"), "cuspan");
    assert_string_equal(text_of(&resource, "telemetry.sdk.language"), "c");
    assert_non_null(text_of(&resource, "telemetry.sdk.version"));
    assert_int_equal(resource_find(&resource, "process.pid")->items->integer, getpid());
    assert_string_equal(text_of(&resource, "process.executable.name"), "detect_test");
    assert_int_equal(text_of(&resource, "process.executable.path")[0], '/');
    assert_true(strlen(text_of(&resource, "host.id")) > 0);
    assert_null(strchr(text_of(&resource, "host.id"), '\n'));
    assert_string_equal(text_of(&resource, "os.type"), "linux");
    assert_string_equal(text_of(&resource, "cuda.version"), "13.0");
    assert_string_equal(text_of(&resource, "cuda.cupti.version"), "13.5");
    resource_deinit(&resource);
}

static void test_what_the_user_has_set_stays(void **state)
{
    struct resource resource = {0};
    assert_int_equal(resource_set_string(&resource, "service.name", "mine"), STATUS_OK);
    assert_int_equal(resource_set_string(&resource, "host.id", "my-host"), STATUS_OK);
    assert_int_equal(resource_set_string(&resource, "process.pid", "text"), STATUS_OK);
    assert_int_equal(detect_resource(&resource, 0, NULL), STATUS_OK);
    assert_string_equal(text_of(&resource, "service.name"), "mine");
    assert_string_equal(text_of(&resource, "host.id"), "my-host");
    assert_string_equal(text_of(&resource, "process.pid"), "text");
    assert_null(resource_find(&resource, "cuda.version"));
    assert_null(resource_find(&resource, "cuda.cupti.version"));
    resource_deinit(&resource);
}

static void write_table(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/proc/net/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_the_address_of_the_host(void **state)
{
    char path[128], address[HOST_ADDRESS_BYTES];
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "mkdir -p %s/proc/net", root);
    assert_int_equal(system(path), 0);
    host_address(root, address);
    assert_string_equal(address, "127.0.0.1"); /* no network */
    write_table("route", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
                         "lo\t0000007F\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n");
    host_address(root, address);
    assert_string_equal(address, "127.0.0.1");
    write_table("if_inet6", "00000000000000000000000000000001 01 80 10 80       lo\n"
                            "fe80000000000000021122fffe334455 02 40 20 80     eth0\n"
                            "20010db8000000000000000000000005 02 40 00 80     eth0\n");
    host_address(root, address);
    assert_string_equal(address, "2001:db8::5");
    write_table("route", "not a table\n\n\xff");
    write_table("if_inet6", "zz\n");
    host_address(root, address);
    assert_string_equal(address, "127.0.0.1");
    snprintf(path, sizeof path, "rm -r %s", root);
    assert_int_equal(system(path), 0);
    host_address("", address);
    assert_true(strchr(address, '.') || strchr(address, ':'));
}

static void test_a_full_resource_is_an_error(void **state)
{
    struct resource resource = {0};
    char key[16];
    for (int i = 0; i < RESOURCE_ATTRS_MAX; i++) {
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(resource_set_int(&resource, key, i), STATUS_OK);
    }
    assert_int_equal(detect_resource(&resource, 13000, "13.5"), STATUS_FULL);
    resource_deinit(&resource);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_where_a_device_is_on_the_bus(void **state)
{
    char folder[] = "/tmp/cuspan-detect-test-XXXXXX", gpu[64], file[96];
    struct resource resource = {0};
    assert_non_null(mkdtemp(folder));
    static const char *const addresses[] = {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0"};
    for (unsigned i = 0; i < 3; i++) {
        char text[128];
        snprintf(gpu, sizeof gpu, "%s/%s", folder, addresses[i]);
        snprintf(file, sizeof file, "%s/information", gpu);
        snprintf(text, sizeof text, "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-%u\nBus Type: \t PCIe\n", i);
        assert_int_equal(mkdir(gpu, 0700), 0);
        write_file(file, i == 2 ? "Model:\n" : text);
    }
    assert_int_equal(detect_device(&resource, folder), STATUS_OK); /* no UUID */
    assert_int_equal(resource.attr_count, 0);
    assert_int_equal(resource_set_string(&resource, "cuda.device.uuid", "GPU-1"), STATUS_OK);
    assert_int_equal(detect_device(&resource, "/no/such/folder"), STATUS_OK);
    assert_null(resource_find(&resource, "cuda.device.pci.address"));
    assert_int_equal(detect_device(&resource, folder), STATUS_OK);
    assert_string_equal(text_of(&resource, "cuda.device.pci.address"), "0000:43:00.0");
    resource_deinit(&resource);
    assert_int_equal(resource_set_string(&resource, "cuda.device.uuid", "GPU-"), STATUS_OK);
    assert_int_equal(detect_device(&resource, folder), STATUS_OK);
    assert_int_equal(resource.attr_count, 1);
    resource_deinit(&resource);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(gpu, sizeof gpu, "%s/%s", folder, addresses[i]);
        snprintf(file, sizeof file, "%s/information", gpu);
        unlink(file);
        rmdir(gpu);
    }
    rmdir(folder);
}

/* Runs this program under another name; it prints the detected name. */
static void expect_program(const char *want, const char *name, char *const arguments[])
{
    char self[512], folder[] = "/tmp/cuspan-detect-test-XXXXXX", program[600], got[256] = "";
    int channel[2], status;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(program, sizeof program, "%s/%s", folder, name);
    if (link(self, program) != 0) { /* another file system */
        char command[1200];
        snprintf(command, sizeof command, "cp '%s' '%s'", self, program);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(pipe(channel), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(channel[1], STDOUT_FILENO);
        setenv("CUSPAN_DETECT_TEST_CHILD", "1", 1);
        execv(program, arguments);
        _exit(127);
    }
    close(channel[1]);
    assert_true(read(channel[0], got, sizeof got - 1) >= 0);
    close(channel[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unlink(program);
    rmdir(folder);
    assert_string_equal(got, want);
}

#define RUN(want, ...) expect_program(want, ((char *[]){__VA_ARGS__})[0], (char *[]){__VA_ARGS__, NULL})

static void test_the_program_s_name(void **state)
{
    if (is_under_qemu())
        skip();
    assert_string_equal(detect_program(), "detect_test");
    RUN("trainer", "trainer", "serve.py");
    RUN("serve.py", "python3", "serve.py");
    RUN("serve.py", "python3", "-u", "/srv/app/serve.py", "--port", "80");
    RUN("vllm", "python3.12", "-m", "vllm", "serve");
    RUN("serve.py", "python3", "-X", "dev", "-W", "ignore", "serve.py");
    RUN("serve.py", "python3", "-Xdev", "serve.py");
    RUN("python3", "python3", "-c", "print(1)");
    RUN("python3", "python3");
    RUN("python3", "python3", "-m");
    RUN("python3", "python3", "-X");
    RUN("python3", "python3", "-");
    RUN("python3", "python3", "-c");
}

/* The code of multiprocessing, but below a shell script, which is not Python. */
static void test_a_child_whose_parent_is_no_python(void **state)
{
    if (is_under_qemu())
        skip();
    char folder[] = "/tmp/cuspan-detect-test-XXXXXX", program[256] = "", command[768], got[64] = "";
    assert_non_null(mkdtemp(folder));
    assert_true(readlink("/proc/self/exe", program, sizeof program - 1) >
                0); /* valgrind emulates this link */
    snprintf(command, sizeof command,
             "cp '%s' %s/python3; cd %s; export CUSPAN_DETECT_TEST_CHILD=1; "
             "echo './python3 -c \"from multiprocessing.spawn import x\"; true' >job.sh; sh job.sh; rm -r %s",
             program, folder, folder, folder);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(fgets(got, sizeof got, out));
    assert_int_equal(pclose(out), 0);
    assert_string_equal(got, "python3");
}

int main(void)
{
    if (getenv("CUSPAN_DETECT_TEST_CHILD")) {
        fputs(detect_program(), stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_always_there),
        cmocka_unit_test(test_what_the_user_has_set_stays),
        cmocka_unit_test(test_the_address_of_the_host),
        cmocka_unit_test(test_a_full_resource_is_an_error),
        cmocka_unit_test(test_where_a_device_is_on_the_bus),
        cmocka_unit_test(test_the_program_s_name),
        cmocka_unit_test(test_a_child_whose_parent_is_no_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
