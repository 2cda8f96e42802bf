/* The map of the process: lines of /proc/self/maps, headers of loaded files, and symbols; also damaged ones.
 */
#include "agent/watch/stacks/process_map.h"

#include "support/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct process_map map;

static void empty(void)
{
    map.range_count = map.library_count = 0;
    map.names[0] = '\0';
    map.name_bytes = 1;
}

static void add(const char *line)
{
    char copy[512];
    strcpy(copy, line);
    process_map_add(&map, copy);
}

static void test_lines(void **state)
{
    empty();
    add("400000-401000 r--p 00000000 fe:01 1234                       /usr/bin/a program (deleted)");
    add("401000-402000 r-xp 00001000 fe:01 1234                       /usr/bin/a program (deleted)");
    add("500000-501000 rw-p 00000000 00:00 0                          [heap]");
    add("600000-601000 rwxp 00000000 00:00 0 ");
    add("7f0000000000-7f0000001000 r--p 00000000 fe:01 77             /lib/libx.so.1");
    add("7f0000001000-7f0000003000 r-xp 00001000 fe:01 77             /lib/libx.so.1");
    add("7f0000003000-7f0000004000 rw-p 00003000 fe:01 77             /lib/libx.so.1");
    add("7f0000100000-7f0000101000 r-xp 00005000 fe:01 99             /lib/libother.so");
    add("7fff00000000-7fff00001000 r-xp 00000000 00:00 0              [vdso]");
    assert_int_equal(map.library_count, 3);
    assert_int_equal(map.libraries[0].base, 0x400000);
    assert_string_equal(map.names + map.libraries[0].name, "a program (deleted)");
    assert_string_equal(map.names + map.libraries[1].name, "libx.so.1");
    assert_string_equal(map.names + map.libraries[2].name, "[vdso]");
    assert_int_equal(map.range_count, 5);
    assert_int_equal(process_map_find(&map, 0x401000)->library, 0);
    assert_int_equal(process_map_find(&map, 0x401fff)->library, 0);
    assert_int_equal(process_map_find(&map, 0x600010)->library, MAP_LIBRARIES_MAX);
    assert_int_equal(process_map_find(&map, 0x7f0000002fff)->library, 1);
    /* Its first part is not there, so it is no part of the library before it. */
    assert_int_equal(process_map_find(&map, 0x7f0000100000)->library, MAP_LIBRARIES_MAX);
    assert_int_equal(process_map_find(&map, 0x7fff00000000)->library, 2);
    assert_null(process_map_find(&map, 0x400fff)); /* not executable */
    assert_null(process_map_find(&map, 0x402000));
    assert_null(process_map_find(&map, 0));
    assert_null(process_map_find(&map, UINT64_MAX));
}

static void test_wrong_lines(void **state)
{
    static const char *const lines[] = {"",
                                        "x",
                                        "400000",
                                        "400000-",
                                        "400000-400000 r-xp 0 0:0 0",
                                        "500000-400000 r-xp 0 0:0 0",
                                        "400000-401000r-xp",
                                        "400000-401000 ",
                                        "400000-401000 r",
                                        "400000-401000 r-",
                                        "-401000 r-xp 0",
                                        "400000_401000 r-xp 0"};
    empty();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        add(lines[i]);
    assert_int_equal(map.range_count, 0);
    assert_int_equal(map.library_count, 0);
    add("400000-401000 r-x");
    assert_int_equal(map.range_count, 1);
}

static void test_limits(void **state)
{
    char line[512];
    empty();
    for (uint64_t i = 1; i <= MAP_RANGES_MAX + 10; i++) {
        snprintf(line, sizeof line, "%llx-%llx r-xp 00000000 fe:01 77 /lib/%0100llu.so",
                 (unsigned long long)i << 12, (unsigned long long)(i + 1) << 12, (unsigned long long)i);
        add(line);
    }
    assert_int_equal(map.range_count, MAP_RANGES_MAX);
    assert_int_equal(map.library_count, MAP_LIBRARIES_MAX);
    assert_true(map.name_bytes <= MAP_NAME_BYTES);
    assert_string_equal(map.names + map.libraries[MAP_LIBRARIES_MAX - 1].name, ""); /* no room for its name */
    assert_non_null(process_map_find(&map, (uint64_t)MAP_RANGES_MAX << 12));
    assert_null(process_map_find(&map, (uint64_t)(MAP_RANGES_MAX + 1) << 12));
}

static const struct map_library *library_of(const void *address)
{
    const struct map_range *range = process_map_find(&map, (uint64_t)(uintptr_t)address);
    assert_non_null(range);
    return process_map_library(&map, range->library);
}

static struct {
    uint64_t wanted, name, count;
} visits;

static void visit(void *context, uint64_t address, uint64_t size, uint64_t name)
{
    assert_ptr_equal(context, &visits);
    visits.count++;
    if (address == visits.wanted && size)
        visits.name = name;
}

static void test_own_process(void **state)
{
    process_map_read(&map);
    const void *function = dlsym(RTLD_DEFAULT, "a64l");
    const struct map_library *libc = library_of(function);
    assert_non_null(libc);
    assert_non_null(strstr(map.names + libc->name, "libc"));
    assert_int_equal(process_map_symbol(libc, "a64l"), (uintptr_t)function);
    assert_int_equal(process_map_symbol(libc, "environ"), (uintptr_t)dlsym(RTLD_DEFAULT, "environ"));
    assert_int_equal(process_map_symbol(libc, "a64L"), 0);
    assert_int_equal(process_map_symbol(libc, ""), 0);
    assert_int_equal(process_map_symbol(libc, "_PyRuntime"), 0);
    char long_name[200];
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(process_map_symbol(libc, long_name), 0);
    const struct map_library *program = library_of((const void *)(uintptr_t)test_own_process);
    assert_non_null(program);
    assert_non_null(strstr(map.names + program->name, "process_map_test"));
    assert_int_not_equal(program->unwind, 0);

    uint64_t budget = 1 << 24;
    visits.wanted = (uintptr_t)function;
    process_map_functions(libc, &budget, visit, &visits);
    assert_true(visits.count > 500);
    assert_string_equal((const char *)(uintptr_t)visits.name, "a64l");
    assert_true(budget < 1 << 24);
    budget = 100; /* less than what is read at once */
    visits.count = 0;
    process_map_functions(libc, &budget, visit, &visits);
    assert_int_equal(visits.count, 0);
    assert_null(process_map_library(&map, map.library_count));
    assert_null(process_map_library(&map, MAP_LIBRARIES_MAX));
}

/* ---- Damage ---------------------------------------------------------------------------------------------
 */

/* A loaded file with one symbol. */
static struct image {
    Elf64_Ehdr header;
    Elf64_Phdr parts[2];
    Elf64_Dyn dynamic[5];
    struct {
        uint32_t buckets, first, bloom_words, shift;
        uint64_t bloom;
        uint32_t bucket, chain;
    } hashes;
    Elf64_Sym symbols[2];
    char strings[16];
} image;

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

static void make(void)
{
    memset(&image, 0, sizeof image);
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_phentsize = sizeof(Elf64_Phdr);
    image.header.e_phoff = offsetof(struct image, parts);
    image.header.e_phnum = 2;
    image.parts[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_memsz = sizeof image};
    image.parts[1] = (Elf64_Phdr){
        .p_type = PT_DYNAMIC, .p_vaddr = offsetof(struct image, dynamic), .p_memsz = sizeof image.dynamic};
    image.dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {offsetof(struct image, symbols)}};
    image.dynamic[1] = (Elf64_Dyn){DT_STRTAB, {offsetof(struct image, strings)}};
    image.dynamic[2] = (Elf64_Dyn){DT_GNU_HASH, {offsetof(struct image, hashes)}};
    image.dynamic[3] = (Elf64_Dyn){DT_STRSZ, {sizeof image.strings}};
    strcpy(image.strings + 1, "symbol");
    image.symbols[1] = (Elf64_Sym){.st_name = 1,
                                   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                   .st_shndx = 1,
                                   .st_value = 0x123,
                                   .st_size = 4};
    uint32_t hash = hash_of("symbol");
    image.hashes.buckets = image.hashes.first = image.hashes.bloom_words = image.hashes.bucket = 1;
    image.hashes.bloom = UINT64_MAX;
    image.hashes.chain = hash | 1;
}

/* The symbol's distance from the file's first byte; 0: it was not found. */
static uint64_t look_up(void)
{
    empty();
    map.library_count = 1;
    map.libraries[0] = (struct map_library){.base = (uint64_t)(uintptr_t)&image};
    const struct map_library *library = process_map_library(&map, 0);
    if (!library)
        return 0;
    uint64_t address = process_map_symbol(library, "symbol"), budget = 1 << 20;
    visits.count = 0;
    process_map_functions(library, &budget, visit, &visits);
    return address ? address - (uint64_t)(uintptr_t)&image : 0;
}

static void test_damaged_headers(void **state)
{
    make();
    assert_int_equal(look_up(), 0x123);
    assert_int_equal(visits.count, 1);
    /* Addresses instead of offsets, as glibc writes them. */
    for (int i = 0; i < 3; i++)
        image.dynamic[i].d_un.d_val += (uint64_t)(uintptr_t)&image;
    assert_int_equal(look_up(), 0x123);

#define BROKEN(statement)                                                                                    \
    do {                                                                                                     \
        make();                                                                                              \
        statement;                                                                                           \
        assert_int_equal(look_up(), 0);                                                                      \
    } while (0)
    BROKEN(image.header.e_ident[0] = 0);
    BROKEN(image.header.e_ident[EI_CLASS] = ELFCLASS32);
    BROKEN(image.header.e_phentsize = 32);
    BROKEN(image.header.e_phnum = 33);
    BROKEN(image.header.e_phoff = UINT64_MAX / 2);
    BROKEN(image.parts[1].p_vaddr = UINT64_MAX / 2);
    BROKEN(image.parts[1].p_memsz = 0);
    BROKEN(image.dynamic[0].d_tag = DT_NULL);
    BROKEN(image.dynamic[0].d_un.d_val = UINT64_MAX / 2);
    BROKEN(image.dynamic[1].d_un.d_val = UINT64_MAX / 2);
    BROKEN(image.dynamic[2].d_un.d_val = UINT64_MAX / 2);
    BROKEN(image.dynamic[3].d_un.d_val = 0);
    BROKEN(image.hashes.buckets = 0);
    BROKEN(image.hashes.bloom_words = 0);
    BROKEN(image.hashes.bloom_words = UINT32_MAX);
    BROKEN(image.hashes.bloom = 0);
    BROKEN(image.hashes.bucket = 0);
    BROKEN(image.hashes.bucket = UINT32_MAX);
    BROKEN(image.hashes.first = 2);
    BROKEN(image.symbols[1].st_shndx = SHN_UNDEF);
    BROKEN(image.symbols[1].st_name = 99);
    BROKEN(image.strings[3] = 'x');
    BROKEN(image.hashes.chain = hash_of("symbol") ^ 2);
}

/* Chains without an end lead through other memory, but not forever. */
static void test_endless_chain(void **state)
{
    static uint32_t chain[100000];
    make();
    image.hashes.buckets = 1;
    image.hashes.chain = 0;
    uint64_t hashes = (uint64_t)(uintptr_t)chain;
    memcpy(chain, &image.hashes, offsetof(struct image, symbols) - offsetof(struct image, hashes));
    for (size_t i = 7; i < sizeof chain / sizeof *chain; i++)
        chain[i] = hash_of("other") & ~1u;
    image.dynamic[2].d_un.d_val = hashes;
    assert_int_equal(look_up(), 0);
}

static void test_random_damage(void **state)
{
    uint64_t seed = 1, found = 0;
    for (int round = 0; round < 5000; round++) {
        make();
        for (int i = 0; i < 1 + round % 3; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            ((uint8_t *)&image)[(seed >> 33) % sizeof image] = (uint8_t)(seed >> 24);
        }
        found += look_up() == 0x123;
    }
    assert_true(found > 500 && found < 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),           cmocka_unit_test(test_wrong_lines),
        cmocka_unit_test(test_limits),          cmocka_unit_test(test_own_process),
        cmocka_unit_test(test_damaged_headers), cmocka_unit_test(test_endless_chain),
        cmocka_unit_test(test_random_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
