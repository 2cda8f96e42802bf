#include "agent/operate/attach/remote_memory.h"

#include "support/test.h"
#include "support/under_qemu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct remote_maps maps;

static bool read_text(const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    bool is_read = remote_maps_read(&maps, file);
    fclose(file);
    return is_read;
}

static int tear_down(void **state)
{
    remote_maps_deinit(&maps);
    return 0;
}

static void test_lines(void **state)
{
    assert_true(read_text("1000-2000 r-xp 00000000 08:01 1 /a b/lib x.so (deleted)\n"
                          "2000-3000 rw-p 00000000 00:00 0 \n"
                          "nothing of this kind\n"
                          "5000-6000 r--p 00000000 00:00 0 [stack]\n"
                          "7000-8000 rw-p 00000000 00:00 0\n"));
    assert_int_equal(maps.count, 4);
    assert_string_equal(maps.items[0].name, "/a b/lib x.so (deleted)");
    assert_true(maps.items[0].is_code && !maps.items[0].is_writable);
    assert_string_equal(maps.items[1].name, "");
    assert_true(maps.items[1].is_writable);
    assert_string_equal(maps.items[2].name, "[stack]");
    assert_string_equal(maps.items[3].name, "");
    assert_ptr_equal(remote_maps_at(&maps, 0x1000), &maps.items[0]);
    assert_ptr_equal(remote_maps_at(&maps, 0x1fff), &maps.items[0]);
    assert_ptr_equal(remote_maps_at(&maps, 0x2000), &maps.items[1]);
    assert_null(remote_maps_at(&maps, 0x3000));
    assert_null(remote_maps_at(&maps, 0xfff));
    assert_null(remote_maps_at(&maps, 0x8000));
    assert_ptr_equal(remote_maps_find(&maps, "lib x"), &maps.items[0]);
    assert_null(remote_maps_find(&maps, "a b"));
    tear_down(state);
    assert_false(read_text("\n"));
}

static void test_parts(void **state)
{
    static const struct {
        const char *file;
        enum remote_part part;
    } files[] = {{"/lib/libc.so.6", REMOTE_LIBC},
                 {"/lib/libc-2.28.so", REMOTE_LIBC},
                 {"/lib/libpthread.so.0", REMOTE_LIBC},
                 {"/lib/libdl.so.2", REMOTE_LIBC},
                 {"/lib/ld-linux-aarch64.so.1", REMOTE_LOADER},
                 {"/lib/ld-2.31.so", REMOTE_LOADER},
                 {"/x/libtcmalloc_minimal.so.4", REMOTE_ALLOCATOR},
                 {"[vdso]", REMOTE_VDSO},
                 {"/libc.so.6/libuser.so", REMOTE_OTHER},
                 {"/lib/libcrypt.so.1", REMOTE_OTHER}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char line[128];
        snprintf(line, sizeof line, "1000-2000 rw-p 00000000 08:01 1 %s\n2000-3000 rw-p 00000000 00:00 0 \n",
                 files[i].file);
        assert_true(read_text(line));
        assert_int_equal(maps.items[0].part, files[i].part);
        assert_int_equal(maps.items[1].part, files[i].part); /* its variables */
        tear_down(state);
    }
    assert_true(
        read_text("1000-2000 r-xp 00000000 08:01 1 /lib/libc.so.6\n2000-3000 rw-p 00000000 00:00 0 \n"
                  "4000-5000 rw-p 00000000 08:01 1 /lib/libc.so.6\n6000-7000 rw-p 00000000 00:00 0 \n"));
    assert_int_equal(maps.items[1].part, REMOTE_OTHER);
    assert_int_equal(maps.items[3].part, REMOTE_OTHER);
}

static void test_bytes(void **state)
{
    char text[] = "some text", copy[sizeof text] = "";
    if (is_under_qemu()) /* it has no process_vm_readv() */
        skip();
    assert_true(remote_read(getpid(), (uint64_t)(uintptr_t)text, copy, sizeof text));
    assert_string_equal(copy, text);
    assert_true(remote_write(getpid(), (uint64_t)(uintptr_t)copy, "other", 5));
    assert_string_equal(copy, "othertext");
    assert_false(remote_read(getpid(), 16, copy, 1));
    assert_false(remote_write(getpid(), 16, copy, 1));
    assert_false(remote_read(1 << 30, (uint64_t)(uintptr_t)text, copy, 1));
    /* half of it */
    char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), into[64];
    munmap(two + 4096, 4096);
    assert_false(remote_read(getpid(), (uint64_t)(uintptr_t)(two + 4080), into, 32));
    munmap(two, 4096);
}

static void read_own(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    assert_true(remote_maps_read(&maps, file));
    fclose(file);
}

static void test_symbols(void **state)
{
    if (is_under_qemu()) /* it has no process_vm_readv() */
        skip();
    read_own();
    /* Sanitizers have some functions of their own. */
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_int_equal(remote_symbol(getpid(), &maps, "getppid"), (uintptr_t)dlsym(libc, "getppid"));
    assert_int_equal(remote_symbol(getpid(), &maps, "tsearch"), (uintptr_t)dlsym(libc, "tsearch"));
    dlclose(libc);
    assert_int_equal(remote_symbol(getpid(), &maps, "no_such_function"), 0);
    assert_int_equal(remote_symbol(getpid(), &maps, "environ"), 0); /* no function */
    tear_down(state);
    /* A file that is none of ELF's. */
    char line[64];
    static const char nothing[4096];
    snprintf(line, sizeof line, "%lx-%lx rw-p 0 00:00 0 /libc.so.6\n", (long)(uintptr_t)nothing,
             (long)(uintptr_t)nothing + 4096);
    assert_true(read_text(line));
    assert_int_equal(remote_symbol(getpid(), &maps, "dlopen"), 0);
}

static void test_code(void **state)
{
    uint8_t bytes[24];
    if (is_under_qemu()) /* it has no process_vm_readv() */
        skip();
    read_own();
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    memcpy(bytes, (const void *)(uintptr_t)dlsym(libc, "tsearch"), sizeof bytes);
    dlclose(libc);
    uint64_t found = remote_find_code(getpid(), &maps, REMOTE_LIBC, bytes, sizeof bytes);
    assert_true(found && memcmp((const void *)(uintptr_t)found, bytes, sizeof bytes) == 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    assert_int_equal(remote_find_code(getpid(), &maps, REMOTE_LIBC, bytes, sizeof bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_lines, tear_down),
        cmocka_unit_test_teardown(test_parts, tear_down),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test_teardown(test_symbols, tear_down),
        cmocka_unit_test_teardown(test_code, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
