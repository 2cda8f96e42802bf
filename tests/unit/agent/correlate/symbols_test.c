#include "agent/correlate/stacks/symbols.h"

#include "support/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT (1024 * 1024)

static struct symbols *symbols;

/* A copy of a library, loaded. Files are changed afterwards, so each test has one of its own. */
struct sample {
    char path[4096];
    void *library;
    bool has_build_id;
    uint8_t *bytes; /* of the file */
    size_t size;
};

static char folder[] = "/tmp/cuspan-symbols-XXXXXX";

static void write_file(const struct sample *sample, size_t size)
{
    int fd = open(sample->path, O_WRONLY | O_CREAT, 0700);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, sample->bytes, size, 0), (ssize_t)size);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    close(fd);
}

static void read_file(const char *path, struct sample *sample)
{
    struct stat about;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &about), 0);
    sample->size = (size_t)about.st_size;
    sample->bytes = malloc(sample->size);
    assert_int_equal(read(fd, sample->bytes, sample->size), about.st_size);
    close(fd);
}

static void load_file(const char *from, struct sample *sample)
{
    static int number;
    snprintf(sample->path, sizeof sample->path, "%s/libsample%d.so", folder, number++);
    read_file(from, sample);
    write_file(sample, sample->size);
    sample->library = dlopen(sample->path, RTLD_NOW | RTLD_LOCAL);
    if (!sample->library)
        fail_msg("%s", dlerror());
}

static void load(const char *name, struct sample *sample)
{
    char from[4096];
    snprintf(from, sizeof from, "%s/libsymbols_%s.so", SAMPLES, name);
    sample->has_build_id = strncmp(name, "plain", 5) != 0;
    load_file(from, sample);
}

static void unload(struct sample *sample)
{
    dlclose(sample->library);
    unlink(sample->path);
    free(sample->bytes);
}

static uint64_t address_in(const struct sample *sample, const char *function)
{
    uint64_t (*get)(void) = (uint64_t(*)(void))(uintptr_t)dlsym(sample->library, function);
    assert_non_null(get);
    return get();
}

static void look_up(struct symbols *in, uint64_t address, struct symbol_frame *result)
{
    assert_true(symbols_look_up_until(in, address, UINT64_MAX, result));
}

static void expect(const struct sample *sample, const char *function, const char *name)
{
    struct symbol_frame frame;
    uint64_t address = address_in(sample, function);
    look_up(symbols, address, &frame);
    assert_string_equal(frame.module, sample->path);
    assert_int_equal(frame.build_id_bytes, sample->has_build_id ? 20 : 0);
    if (!name) {
        assert_null(frame.function);
        return;
    }
    if (!frame.function)
        fail_msg("%s has no name", function);
    assert_string_equal(frame.function, name);
    assert_in_range(frame.in_function, 1, 64);
    /* The offset is the module's: the function's value and the distance. */
    Dl_info info;
    if (dladdr((void *)(uintptr_t)address, &info) && info.dli_sname && strcmp(info.dli_sname, name) == 0) {
        assert_int_equal(frame.offset, address - (uint64_t)(uintptr_t)info.dli_fbase);
        assert_int_equal(frame.in_function, address - (uint64_t)(uintptr_t)info.dli_saddr);
    }
}

static void expect_all(const struct sample *sample, bool has_static)
{
    expect(sample, "sample_exported", "sample_exported");
    expect(sample, "sample_static", has_static ? "hidden_one" : NULL);
    expect(sample, "sample_weak", "sample_weak");
    expect(sample, "sample_node", "torch::autograd::generated::MmBackward0::apply(int)");
    expect(sample, "sample_unnamed", NULL);
}

static void test_names_of_functions(void **state)
{
    struct sample full, stripped;
    load("full", &full);
    load("stripped", &stripped);
    for (int i = 0; i < 2; i++) {
        expect_all(&full, true);
        expect_all(&stripped, false);
    }
    unload(&full);
    unload(&stripped);
}

static void test_the_program_and_the_c_library(void **state)
{
    struct symbol_frame frame;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length] = '\0';
    look_up(symbols, (uint64_t)(uintptr_t)expect_all + 4, &frame);
    assert_string_equal(frame.module, path);
    assert_string_equal(frame.function, "expect_all");
    assert_int_equal(frame.in_function, 4);
    /* Sanitizers have a qsort() of their own. */
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    assert_non_null(libc);
    look_up(symbols, (uint64_t)(uintptr_t)dlsym(libc, "qsort") + 1, &frame);
    assert_non_null(strstr(frame.module, "libc"));
    assert_string_equal(frame.function, "qsort");
    assert_int_equal(frame.in_function, 1);
    assert_int_equal(frame.build_id_bytes, 20);
}

static void test_addresses_in_no_library(void **state)
{
    static const uint64_t addresses[] = {0, 1, 4096, UINT64_MAX, 0x7ffffffff000u};
    struct symbol_frame frame;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        look_up(symbols, addresses[i], &frame);
        assert_null(frame.module);
        assert_null(frame.function);
        assert_int_equal(frame.offset, addresses[i]);
    }
}

/* ---- Files that change ----------------------------------------------------------------------------------
 */

static void test_a_deleted_file(void **state)
{
    struct sample sample;
    load("full", &sample);
    unlink(sample.path);
    expect(&sample, "sample_exported", NULL);
    /* Another file has its place. */
    struct sample other = sample;
    load("stripped", &other);
    assert_int_equal(rename(other.path, sample.path), 0);
    expect(&sample, "sample_static", NULL);
    expect(&sample, "sample_exported", NULL);
    memset(sample.bytes, 0, 64);
    unlink(sample.path);
    write_file(&sample, sample.size);
    expect(&sample, "sample_exported", NULL);
    dlclose(other.library);
    free(other.bytes);
    unload(&sample);
}

static void test_another_build_in_its_place(void **state)
{
    struct sample sample;
    load("full", &sample);
    expect(&sample, "sample_exported", "sample_exported");
    /* Only the build ID differs. */
    uint8_t *note = memmem(sample.bytes, sample.size, "\x14\0\0\0\x03\0\0\0GNU", 12);
    assert_non_null(note);
    note[12] ^= 1;
    unlink(sample.path);
    write_file(&sample, sample.size);
    expect(&sample, "sample_exported", NULL);
    /* The first one again, as another file. */
    note[12] ^= 1;
    unlink(sample.path);
    write_file(&sample, sample.size);
    expect(&sample, "sample_exported", "sample_exported");
    unload(&sample);
}

/* Without a build ID, the program headers differ. */
static void test_another_program_in_its_place(void **state)
{
    struct sample sample, other;
    load("plain", &sample);
    load("plain_other", &other);
    expect(&sample, "sample_static", "hidden_one");
    expect(&other, "sample_static", "hidden_one");
    unlink(sample.path);
    assert_int_equal(link(other.path, sample.path), 0);
    expect(&sample, "sample_static", NULL);
    expect(&sample, "sample_exported", NULL);
    unload(&other);
    unload(&sample);
}

static void test_what_is_no_file(void **state)
{
    struct sample sample;
    load("full", &sample);
    unlink(sample.path);
    assert_int_equal(mkfifo(sample.path, 0600), 0);
    expect(&sample, "sample_exported", NULL);
    unlink(sample.path);
    assert_int_equal(mkdir(sample.path, 0700), 0);
    expect(&sample, "sample_exported", NULL);
    rmdir(sample.path);
    unload(&sample);
}

/* The loader uses what comes before the symbol table and the section headers; only these change. */
static size_t loaded_bytes(const struct sample *sample)
{
    Elf64_Ehdr header;
    Elf64_Phdr part;
    size_t end = 0;
    memcpy(&header, sample->bytes, sizeof header);
    for (int i = 0; i < header.e_phnum; i++) {
        memcpy(&part, sample->bytes + header.e_phoff + (size_t)i * sizeof part, sizeof part);
        if (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > end)
            end = part.p_offset + part.p_filesz;
    }
    return end;
}

static void test_truncated_files(void **state)
{
    struct sample sample;
    struct symbol_frame frame;
    load("full", &sample);
    uint64_t address = address_in(&sample, "sample_static");
    size_t loaded = loaded_bytes(&sample);
    assert_true(loaded < sample.size);
    uint32_t named = 0;
    for (size_t size = loaded; size <= sample.size; size += size + 16 < sample.size ? 13 : 1) {
        write_file(&sample, size);
        look_up(symbols, address, &frame);
        assert_string_equal(frame.module, sample.path);
        assert_true(!frame.function || strcmp(frame.function, "hidden_one") == 0);
        named += frame.function != NULL;
    }
    assert_true(named >= 1);
    unload(&sample);
}

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void test_hostile_files(void **state)
{
    struct sample sample;
    struct symbol_frame frame;
    load("full", &sample);
    static const char *const functions[] = {"sample_exported", "sample_static", "sample_weak", "sample_node"};
    uint64_t addresses[4];
    for (int i = 0; i < 4; i++)
        addresses[i] = address_in(&sample, functions[i]);
    size_t loaded = loaded_bytes(&sample), changeable = sample.size - loaded;
    uint8_t *original = malloc(sample.size);
    memcpy(original, sample.bytes, sample.size);
    Elf64_Ehdr header;
    memcpy(&header, original, sizeof header);
    uint32_t named = 0;
    for (int round = 0; round < 3000; round++) {
        memcpy(sample.bytes, original, sample.size);
        int changes = 1 << (round % 10);
        for (int i = 0; i < changes; i++) {
            size_t at = loaded + next_random() % changeable;
            if (round % 2) /* the section headers, in fields of 8 bytes */
                at = header.e_shoff + next_random() % (sample.size - header.e_shoff);
            sample.bytes[at] = (uint8_t)(next_random() >> (round % 3 * 4));
        }
        write_file(&sample, sample.size);
        look_up(symbols, addresses[round % 4], &frame);
        assert_string_equal(frame.module, sample.path);
        named += frame.function != NULL;
        assert_true(symbols_bytes(symbols) <= LIMIT);
    }
    assert_in_range(named, 100, 2999);
    memcpy(sample.bytes, original, sample.size);
    write_file(&sample, sample.size);
    expect_all(&sample, true);
    free(original);
    unload(&sample);
}

static void change_sections(struct sample *sample, uint32_t type, size_t field, uint64_t value, size_t bytes)
{
    Elf64_Ehdr header;
    memcpy(&header, sample->bytes, sizeof header);
    for (int i = 0; i < header.e_shnum; i++) {
        uint8_t *at = sample->bytes + header.e_shoff + (size_t)i * sizeof(Elf64_Shdr);
        uint32_t found;
        memcpy(&found, at + offsetof(Elf64_Shdr, sh_type), 4);
        if (found == type)
            memcpy(at + field, &value, bytes);
    }
}

static void expect_changed(uint32_t type, size_t field, uint64_t value, size_t bytes, const char *name)
{
    struct sample sample;
    load("full", &sample);
    change_sections(&sample, type, field, value, bytes);
    write_file(&sample, sample.size);
    expect(&sample, "sample_static", name);
    unload(&sample);
}

static void test_wrong_sections(void **state)
{
    expect_changed(SHT_SYMTAB, offsetof(Elf64_Shdr, sh_flags), 0, 8, "hidden_one");
    expect_changed(SHT_SYMTAB, offsetof(Elf64_Shdr, sh_entsize), 8, 8, NULL); /* .dynsym remains */
    expect_changed(SHT_SYMTAB, offsetof(Elf64_Shdr, sh_offset), UINT64_MAX - 8, 8, NULL);
    expect_changed(SHT_SYMTAB, offsetof(Elf64_Shdr, sh_size), UINT64_MAX, 8, NULL);
    expect_changed(SHT_SYMTAB, offsetof(Elf64_Shdr, sh_size), 0, 8, NULL);
    expect_changed(SHT_SYMTAB, offsetof(Elf64_Shdr, sh_link), UINT32_MAX, 4, NULL);
    expect_changed(SHT_SYMTAB, offsetof(Elf64_Shdr, sh_link), 0, 4, NULL);
    expect_changed(SHT_STRTAB, offsetof(Elf64_Shdr, sh_size), 1, 8, NULL);
    expect_changed(SHT_STRTAB, offsetof(Elf64_Shdr, sh_offset), UINT64_MAX / 2, 8, NULL);
}

/* ---- Memory ---------------------------------------------------------------------------------------------
 */

static void test_the_limit_of_memory(void **state)
{
    struct sample samples[3];
    struct symbols *small;
    struct symbol_frame frame;
    assert_int_equal(symbols_create(LIMIT, &small), STATUS_OK);
    for (int i = 0; i < 3; i++)
        load("full", &samples[i]);
    look_up(small, address_in(&samples[0], "sample_static"), &frame);
    assert_string_equal(frame.function, "hidden_one");
    size_t one = symbols_bytes(small);
    assert_true(one >= 8 * 12);
    symbols_destroy(small);
    /* Room for two lists, for one, for none. */
    for (size_t limit = 2 * one; limit + 1 > 0; limit = limit >= one ? limit - one : 0) {
        assert_int_equal(symbols_create(limit, &small), STATUS_OK);
        for (int i = 0; i < 12; i++) {
            look_up(small, address_in(&samples[i % 3], "sample_static"), &frame);
            assert_string_equal(frame.module, samples[i % 3].path);
            assert_string_equal(frame.function, "hidden_one");
            assert_true(symbols_bytes(small) <= limit);
            assert_int_equal(symbols_bytes(small) / one,
                             limit / one < (size_t)i + 1 ? limit / one : (size_t)i + 1);
        }
        look_up(small, address_in(&samples[0], "sample_unnamed"), &frame);
        assert_null(frame.function);
        symbols_destroy(small);
        if (limit == 0)
            break;
    }
    for (int i = 0; i < 3; i++)
        unload(&samples[i]);
    symbols_destroy(NULL);
}

/* Returns the number of parts. */
static unsigned look_up_in_parts(struct symbols *in, uint64_t address, struct symbol_frame *frame)
{
    unsigned parts = 1;
    while (!symbols_look_up_until(in, address, 0, frame))
        parts++;
    return parts;
}

/* With a list of the functions, and without, for which there is no memory. */
static void test_lookups_in_parts(void **state)
{
    struct sample sample;
    struct symbol_frame frame;
    load_file(SAMPLES "/libmany_functions.so", &sample);
    uint64_t address = address_in(&sample, "many_functions"), first = address_in(&sample, "many_first");
    for (int i = 0; i < 2; i++) {
        struct symbols *some;
        assert_int_equal(symbols_create(i ? LIMIT : 16 * LIMIT, &some), STATUS_OK);
        assert_true(look_up_in_parts(some, address, &frame) > 300);
        assert_string_equal(frame.module, sample.path);
        assert_string_equal(frame.function, "many_functions");
        assert_int_equal(look_up_in_parts(some, address, &frame), 1);
        assert_string_equal(frame.function, "many_functions");
        assert_int_equal(symbols_bytes(some) > 0, i == 0);
        unsigned parts = look_up_in_parts(some, first, &frame);
        assert_string_equal(frame.function, "many_0");
        assert_int_equal(parts > 1, i == 1);
        symbols_destroy(some);
        /* Another function of the file comes in between. */
        assert_int_equal(symbols_create(i ? LIMIT : 16 * LIMIT, &some), STATUS_OK);
        assert_false(symbols_look_up_until(some, first, 0, &frame));
        for (int part = 0; part < 300; part++)
            assert_false(symbols_look_up_until(some, address, 0, &frame));
        assert_true(look_up_in_parts(some, first, &frame) > 1);
        assert_string_equal(frame.function, "many_0");
        symbols_destroy(some);
    }
    unload(&sample);
}

static void test_what_comes_between_parts(void **state)
{
    struct sample one, other;
    struct symbols *some;
    struct symbol_frame frame;
    load("full", &one);
    load("full", &other);
    uint64_t in_one = address_in(&one, "sample_static"), in_other = address_in(&other, "sample_static");
    assert_int_equal(symbols_create(LIMIT, &some), STATUS_OK);
    assert_false(symbols_look_up_until(some, in_one, 0, &frame));
    assert_false(symbols_look_up_until(some, in_other, 0, &frame)); /* another file */
    look_up(some, in_one, &frame);
    assert_string_equal(frame.function, "hidden_one");
    assert_false(symbols_look_up_until(some, in_other, 0, &frame));
    change_sections(&other, SHT_SYMTAB, offsetof(Elf64_Shdr, sh_size), 0, 8);
    write_file(&other, other.size);
    assert_int_equal(utimensat(AT_FDCWD, other.path, (struct timespec[]){{0}, {0}}, 0), 0);
    look_up(some, in_other, &frame); /* the file has changed */
    assert_null(frame.function);
    symbols_destroy(some);
    assert_int_equal(symbols_create(LIMIT, &some), STATUS_OK);
    assert_false(symbols_look_up_until(some, in_one, 0, &frame));
    symbols_destroy(some); /* the end */
    unload(&one);
    unload(&other);
}

static void test_more_files_than_are_kept(void **state)
{
    static struct sample samples[SYMBOLS_FILES_MAX + 6];
    for (int i = 0; i < SYMBOLS_FILES_MAX + 6; i++)
        load("full", &samples[i]);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < SYMBOLS_FILES_MAX + 6; i++)
            expect(&samples[i], "sample_static", "hidden_one");
    for (int i = 0; i < SYMBOLS_FILES_MAX + 6; i++)
        unload(&samples[i]);
}

static int prepare(void **state)
{
    return !mkdtemp(folder) || symbols_create(LIMIT, &symbols) != STATUS_OK;
}

static int clean(void **state)
{
    symbols_destroy(symbols);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_functions),
        cmocka_unit_test(test_the_program_and_the_c_library),
        cmocka_unit_test(test_addresses_in_no_library),
        cmocka_unit_test(test_a_deleted_file),
        cmocka_unit_test(test_another_build_in_its_place),
        cmocka_unit_test(test_another_program_in_its_place),
        cmocka_unit_test(test_what_is_no_file),
        cmocka_unit_test(test_truncated_files),
        cmocka_unit_test(test_hostile_files),
        cmocka_unit_test(test_wrong_sections),
        cmocka_unit_test(test_the_limit_of_memory),
        cmocka_unit_test(test_lookups_in_parts),
        cmocka_unit_test(test_what_comes_between_parts),
        cmocka_unit_test(test_more_files_than_are_kept),
    };
    return cmocka_run_group_tests(tests, prepare, clean);
}
