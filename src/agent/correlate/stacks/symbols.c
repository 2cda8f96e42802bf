#include "agent/correlate/stacks/symbols.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process/loader.h"
#include "agent/correlate/names/demangle.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__aarch64__)
#define THIS_MACHINE EM_AARCH64
#else
#define THIS_MACHINE EM_X86_64
#endif

#define NAME_BYTES      4096 /* of a mangled name; longer ones are unknown */
#define FUNCTION_BYTES  1024 /* of a demangled name; longer ones are cut */
#define SYMBOLS_AT_ONCE 512
#define SYMBOLS_MAX     (16 * 1024 * 1024) /* of a file that is read at all */
#define SECTIONS_MAX    65536
#define HEADERS_MAX     64
#define DIGIT_BITS      11
#define DIGITS          (1 << DIGIT_BITS)
#define OVERLAPS_MAX    16 /* functions that begin behind one that contains them */
#define SIZE_BITS       30
#define SIZE_MASK       ((1u << SIZE_BITS) - 1)

/* Offsets and sizes of the file's symbols and of their names. */
struct table {
    uint64_t at, count;
    uint64_t names_at, names_bytes;
};

/* A function in the list of a file, 12 bytes. Functions of the same address are in ascending rank: exported
 * ones last. */
struct function {
    uint32_t at;
    uint32_t bytes : SIZE_BITS;
    uint32_t rank : 32 - SIZE_BITS;
    uint32_t name;
};

struct file {
    uint64_t key; /* hash of the module's path, headers and build ID; 0: free */
    uint64_t last_use;
    struct stat about; /* state of the file when it was checked */
    bool is_checked;   /* the file is the module's, and has a symbol table */
    bool is_large;     /* too large for a list, so each lookup searches the file */
    struct table table;
    struct function *functions; /* the list; NULL: there is none */
    size_t function_count;
};

/* Reads a file's functions, for a list or to find one of them, in parts. */
struct job {
    const struct file *file;       /* NULL: none */
    uint64_t offset;               /* of the function that is looked up */
    uint64_t at;                   /* the next symbol */
    struct function *list, *spare; /* NULL: there is no list */
    size_t count, places;          /* number of functions; room in the list */
    int pass;                      /* of the sort */
    struct function best;          /* the best function for `offset` so far */
};

struct symbols {
    struct file files[SYMBOLS_FILES_MAX];
    struct job job;
    size_t bytes, bytes_max;
    uint64_t uses;
    char path[PATH_MAX], name[NAME_BYTES], function[FUNCTION_BYTES];
    Elf64_Sym batch[SYMBOLS_AT_ONCE];
};

/* ---- The module in memory ------------------------------------------------------------------------------ */

struct module {
    uint64_t address; /* the address that is looked up */
    char *path;       /* PATH_MAX */
    struct symbol_frame *frame;
    uint64_t base, key;
    Elf64_Phdr headers[HEADERS_MAX];
    unsigned header_count;
    bool is_program;
};

static bool is_inside(uint64_t at, uint64_t bytes, uint64_t size)
{
    return at <= size && bytes <= size - at;
}

static uint64_t rounded(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) & ~(to - 1);
}

/* Reads the build ID from a segment of notes or a copy of one. */
static void read_build_id(const uint8_t *notes, uint64_t bytes, uint64_t alignment,
                          struct symbol_frame *frame)
{
    Elf64_Nhdr note;
    alignment = alignment == 8 ? 8 : 4;
    for (uint64_t at = 0; at <= bytes && bytes - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note, content = name + rounded(note.n_namesz, alignment);
        if (content > bytes || note.n_descsz > bytes - content)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            uint32_t length = note.n_descsz;
            frame->build_id_bytes =
                (uint8_t)(length < SYMBOLS_BUILD_ID_BYTES ? length : SYMBOLS_BUILD_ID_BYTES);
            memcpy(frame->build_id, notes + content, frame->build_id_bytes);
            return;
        }
        at = content + rounded(note.n_descsz, alignment);
    }
}

static bool is_loaded(const struct dl_phdr_info *info, const Elf64_Phdr *inner)
{
    bool is_in_one = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        is_in_one |= part->p_type == PT_LOAD && (part->p_flags & PF_R) && inner->p_vaddr >= part->p_vaddr &&
                     is_inside(inner->p_vaddr - part->p_vaddr, inner->p_memsz, part->p_filesz);
    }
    return is_in_one;
}

/* Copies what is needed, because the module may be unloaded once the loader's lock is released. */
static int on_module(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct module *module = argument;
    uint64_t base = info->dlpi_addr;
    bool is_inside = false;
    for (int i = 0; i < info->dlpi_phnum; i++)
        is_inside |= info->dlpi_phdr[i].p_type == PT_LOAD &&
                     module->address - base - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz;
    if (!is_inside)
        return 0;
    size_t length = strlen(info->dlpi_name);
    module->is_program = length == 0;
    if (length >= PATH_MAX || info->dlpi_phnum > HEADERS_MAX)
        return 1;
    memcpy(module->path, info->dlpi_name, length + 1);
    module->base = base;
    module->header_count = info->dlpi_phnum;
    memcpy(module->headers, info->dlpi_phdr, info->dlpi_phnum * sizeof *module->headers);
    for (int i = 0; i < info->dlpi_phnum && !module->frame->build_id_bytes; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE && is_loaded(info, part))
            read_build_id((const uint8_t *)(uintptr_t)(base + part->p_vaddr), part->p_memsz, part->p_align,
                          module->frame);
    }
    uint64_t key = hash_text(HASH_START, module->path);
    key = hash_bytes(key, module->headers, module->header_count * sizeof *module->headers);
    key = hash_bytes(key, module->frame->build_id, module->frame->build_id_bytes);
    module->key = key ? key : 1;
    return 1;
}

static bool find_module(struct module *module)
{
    if (!loader_visit(on_module, module) || module->header_count == 0)
        return false;
    if (module->is_program) {
        ssize_t length = readlink("/proc/self/exe", module->path, PATH_MAX - 1);
        if (length <= 0)
            return false;
        module->path[length] = '\0';
    }
    return true;
}

/* ---- The file ------------------------------------------------------------------------------------------ */

static bool read_at(int fd, uint64_t at, void *to, size_t bytes)
{
    return at <= INT64_MAX && pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Opens the module's file; -1: not possible. The program itself is opened by /proc/self/exe, because its file
 * may have been deleted or replaced. */
static int open_file(const struct module *module, struct stat *about)
{
    if (!module->is_program && !strchr(module->path, '/'))
        return -1; /* the kernel's vDSO */
    int fd =
        files_open(module->is_program ? "/proc/self/exe" : module->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, about) != 0 || !S_ISREG(about->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino && one->st_size == other->st_size &&
           one->st_mtim.tv_sec == other->st_mtim.tv_sec && one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

/* Whether the file is the one that is mapped. Its notes have an alignment of 4 or 8 and fit into the buffer.
 */
static bool is_of_module(int fd, const Elf64_Ehdr *header, const struct module *module)
{
    Elf64_Phdr headers[HEADERS_MAX];
    struct symbol_frame found = {.build_id_bytes = 0};
    size_t bytes = module->header_count * sizeof *headers;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_machine != THIS_MACHINE ||
        header->e_phentsize != sizeof *headers || header->e_phnum != module->header_count ||
        !read_at(fd, header->e_phoff, headers, bytes) || memcmp(headers, module->headers, bytes) != 0)
        return false;
    for (unsigned i = 0; i < module->header_count && !found.build_id_bytes; i++) {
        uint8_t notes[1024];
        uint64_t length = headers[i].p_filesz < sizeof notes ? headers[i].p_filesz : sizeof notes;
        if (headers[i].p_type == PT_NOTE && read_at(fd, headers[i].p_offset, notes, length))
            read_build_id(notes, length, headers[i].p_align, &found);
    }
    const struct symbol_frame *expected = module->frame;
    return found.build_id_bytes == expected->build_id_bytes &&
           memcmp(found.build_id, expected->build_id, found.build_id_bytes) == 0;
}

static bool read_section(int fd, const Elf64_Ehdr *header, uint64_t number, Elf64_Shdr *section)
{
    return number < SECTIONS_MAX && header->e_shentsize == sizeof *section && header->e_shoff &&
           read_at(fd, header->e_shoff + number * sizeof *section, section, sizeof *section);
}

/* Finds the symbol table: .symtab if there is one, because it has the static functions, too. */
static bool find_table(int fd, const Elf64_Ehdr *header, uint64_t file_bytes, struct table *table)
{
    Elf64_Shdr section, names, chosen = {.sh_type = SHT_NULL};
    uint64_t count = header->e_shnum;
    if (count == 0 && read_section(fd, header, 0, &section))
        count = section.sh_size;
    for (uint64_t i = 0; i < count && chosen.sh_type != SHT_SYMTAB; i++) {
        if (!read_section(fd, header, i, &section))
            break;
        if ((section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) &&
            section.sh_entsize == sizeof(Elf64_Sym) &&
            is_inside(section.sh_offset, section.sh_size, file_bytes) &&
            section.sh_size / sizeof(Elf64_Sym) <= SYMBOLS_MAX)
            chosen = section;
    }
    /* Without a table this is section 0, which has no type. */
    if (!read_section(fd, header, chosen.sh_link, &names) || names.sh_type != SHT_STRTAB ||
        !is_inside(names.sh_offset, names.sh_size, file_bytes))
        return false;
    *table = (struct table){.at = chosen.sh_offset,
                            .count = chosen.sh_size / sizeof(Elf64_Sym),
                            .names_at = names.sh_offset,
                            .names_bytes = names.sh_size};
    return true;
}

/* Reads a function from its symbol. False: the symbol is no function, or does not fit into struct function.
 */
static bool is_function(const Elf64_Sym *symbol, struct function *function)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
        symbol->st_value > UINT32_MAX || symbol->st_size == 0 || symbol->st_size > SIZE_MASK)
        return false;
    *function = (struct function){.at = (uint32_t)symbol->st_value,
                                  .bytes = (uint32_t)symbol->st_size & SIZE_MASK,
                                  .rank = binding == STB_GLOBAL ? 2
                                          : binding == STB_WEAK ? 1
                                                                : 0,
                                  .name = symbol->st_name};
    return true;
}

static bool is_better(const struct function *one, const struct function *other)
{
    return one->at != other->at ? one->at > other->at : one->rank > other->rank;
}

static bool contains(const struct function *function, uint64_t offset)
{
    return offset >= function->at && offset - function->at < function->bytes;
}

/* ---- Lists --------------------------------------------------------------------------------------------- */

static size_t digit(const struct function *function, int pass)
{
    return pass == 0 ? function->rank : function->at >> (pass - 1) * DIGIT_BITS & (DIGITS - 1);
}

#define PASSES 4 /* an even number, so the result is in the list itself */

/* A pass of a radix sort by rank, then by address: libtorch_cpu.so has 350,000 functions, for which qsort()
 * takes 70 ms. */
static void sort_pass(const struct function *list, struct function *sorted, size_t count, int pass)
{
    size_t places[DIGITS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++)
        places[digit(&list[i], pass)]++;
    for (size_t i = 0; i < DIGITS; i++) {
        size_t functions = places[i];
        places[i] = sum;
        sum += functions;
    }
    for (size_t i = 0; i < count; i++)
        sorted[places[digit(&list[i], pass)]++] = list[i];
}

static void drop_list(struct symbols *symbols, struct file *file)
{
    symbols->bytes -= file->function_count * sizeof *file->functions;
    free(file->functions);
    file->functions = NULL;
    file->function_count = 0;
}

/* Returns a free entry, or the least recently used one. `with_list`: only among files with a list. */
static struct file *oldest(struct symbols *symbols, bool with_list)
{
    struct file *found = NULL;
    for (size_t i = 0; i < SYMBOLS_FILES_MAX; i++) {
        struct file *file = &symbols->files[i];
        if ((!with_list || file->functions) && (!found || file->last_use < found->last_use))
            found = file;
    }
    return found;
}

static void make_room(struct symbols *symbols, size_t bytes)
{
    while (bytes > symbols->bytes_max - symbols->bytes)
        drop_list(symbols, oldest(symbols, true));
}

static void drop_job_list(struct job *job)
{
    free(job->list);
    free(job->spare);
    job->list = job->spare = NULL;
}

static void drop_job(struct symbols *symbols)
{
    drop_job_list(&symbols->job);
    symbols->job = (struct job){.file = NULL};
}

/* Starts a job. The pages of its list become resident only when they are filled. */
static void begin_job(struct symbols *symbols, const struct file *file, uint64_t offset)
{
    size_t places_max = symbols->bytes_max / sizeof *file->functions;
    size_t places = file->table.count < places_max ? (size_t)file->table.count : places_max;
    drop_job(symbols);
    symbols->job = (struct job){.file = file, .offset = offset, .places = places};
    if (places && !file->is_large)
        symbols->job.list = malloc(places * sizeof *file->functions);
}

static void take_function(struct job *job, struct file *file, const struct function *function)
{
    if (job->list && job->count == job->places) {
        drop_job_list(job);
        file->is_large = true;
    }
    if (job->list)
        job->list[job->count++] = *function;
    if (contains(function, job->offset) && (job->best.bytes == 0 || is_better(function, &job->best)))
        job->best = *function;
}

static bool is_over(uint64_t until_ns)
{
    return until_ns != UINT64_MAX && clock_monotonic_ns() >= until_ns;
}

/* Reads the functions that are left, although the file may change meanwhile. False: the time is over. Each
 * call makes some progress, also in the functions below. */
static bool read_functions(struct symbols *symbols, int fd, struct file *file, uint64_t until_ns)
{
    struct job *job = &symbols->job;
    struct function function;
    while (job->at < file->table.count) {
        uint64_t left = file->table.count - job->at, length = left < SYMBOLS_AT_ONCE ? left : SYMBOLS_AT_ONCE;
        bool is_read = read_at(fd, file->table.at + job->at * sizeof(Elf64_Sym), symbols->batch,
                               length * sizeof(Elf64_Sym));
        for (uint64_t i = 0; is_read && i < length; i++)
            if (is_function(&symbols->batch[i], &function))
                take_function(job, file, &function);
        job->at += is_read ? length : left;
        if (job->at < file->table.count && is_over(until_ns))
            return false;
    }
    return true;
}

/* Sorts the list and hands it to the file. Gives the list up if it is empty or there is no memory. False: the
 * time is over. */
static bool sort_list(struct symbols *symbols, struct file *file, uint64_t until_ns)
{
    struct job *job = &symbols->job;
    size_t bytes = job->count * sizeof *job->list;
    if (!job->spare) {
        struct function *shorter = job->count ? realloc(job->list, bytes) : NULL;
        job->list = shorter ? shorter : job->list;
        make_room(symbols, bytes);
        job->spare = job->count ? malloc(bytes) : NULL;
    }
    while (job->spare && job->pass < PASSES) {
        bool is_back = job->pass % 2;
        sort_pass(is_back ? job->spare : job->list, is_back ? job->list : job->spare, job->count, job->pass);
        if (++job->pass < PASSES && is_over(until_ns))
            return false;
    }
    if (job->spare) {
        file->functions = job->list;
        file->function_count = job->count;
        symbols->bytes += bytes;
        job->list = NULL;
        drop_job(symbols);
    } else {
        drop_job_list(job);
    }
    return true;
}

/* Makes the file's list, or if there is none, finds job.best. False: the time is over; call it again. */
static bool prepare(struct symbols *symbols, int fd, struct file *file, uint64_t offset, uint64_t until_ns)
{
    struct job *job = &symbols->job;
    do {
        if (job->file != file || (!job->list && job->offset != offset))
            begin_job(symbols, file, offset);
        if (!read_functions(symbols, fd, file, until_ns) ||
            (job->list && !sort_list(symbols, file, until_ns)))
            return false;
    } while (!file->functions && job->offset != offset); /* the list was given up */
    return true;
}

static bool search_list(const struct file *file, uint64_t offset, struct function *best)
{
    size_t low = 0, high = file->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->functions[middle].at <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i > 0 && low - i < OVERLAPS_MAX; i--)
        if (contains(&file->functions[i - 1], offset)) {
            *best = file->functions[i - 1];
            return true;
        }
    return false;
}

static struct file *find_file(struct symbols *symbols, const struct module *module, int fd,
                              const struct stat *about)
{
    struct file *file = NULL;
    for (size_t i = 0; i < SYMBOLS_FILES_MAX && !file; i++)
        if (symbols->files[i].key == module->key)
            file = &symbols->files[i];
    if (!file || !is_same_file(&file->about, about)) {
        Elf64_Ehdr header;
        file = file ? file : oldest(symbols, false);
        drop_list(symbols, file);
        if (symbols->job.file == file)
            drop_job(symbols);
        *file = (struct file){.key = module->key, .about = *about};
        file->is_checked = read_at(fd, 0, &header, sizeof header) && is_of_module(fd, &header, module) &&
                           find_table(fd, &header, (uint64_t)about->st_size, &file->table);
    }
    file->last_use = ++symbols->uses;
    return file;
}

/* Finds the function at the offset in a file that is prepared for it. */
static void name_in_file(struct symbols *symbols, int fd, const struct file *file, uint64_t offset,
                         struct symbol_frame *frame)
{
    struct function best = symbols->job.best;
    bool is_found = file->functions ? search_list(file, offset, &best) : best.bytes > 0;
    if (!is_found || best.name >= file->table.names_bytes)
        return;
    uint64_t left = file->table.names_bytes - best.name;
    size_t bytes = left < NAME_BYTES ? (size_t)left : NAME_BYTES;
    if (!read_at(fd, file->table.names_at + best.name, symbols->name, bytes) || !symbols->name[0] ||
        !memchr(symbols->name, '\0', bytes))
        return;
    frame->in_function = offset + 1 - best.at;
    frame->function = demangle_name(symbols->name, symbols->function, sizeof symbols->function) > 0
                          ? symbols->function
                          : symbols->name;
}

/* Fills the frame's function, if the file has one. False: the time is over; call it again. */
static bool name_function(struct symbols *symbols, const struct module *module, uint64_t until_ns,
                          struct symbol_frame *frame)
{
    struct stat about;
    uint64_t offset = module->address - module->base;
    int fd = open_file(module, &about);
    if (fd < 0)
        return true;
    struct file *file = find_file(symbols, module, fd, &about);
    bool is_ready = !file->is_checked || file->functions || prepare(symbols, fd, file, offset, until_ns);
    if (is_ready && file->is_checked)
        name_in_file(symbols, fd, file, offset, frame);
    close(fd);
    return is_ready;
}

bool symbols_look_up_until(struct symbols *symbols, uint64_t frame, uint64_t until_ns,
                           struct symbol_frame *result)
{
    struct module module = {.address = frame - 1, .path = symbols->path, .frame = result};
    *result = (struct symbol_frame){.offset = frame};
    if (!find_module(&module))
        return true;
    result->module = symbols->path;
    result->offset = frame - module.base;
    return name_function(symbols, &module, until_ns, result);
}

enum status symbols_create(size_t bytes_max, struct symbols **symbols)
{
    *symbols = calloc(1, sizeof **symbols);
    if (!*symbols)
        return STATUS_NO_MEMORY;
    (*symbols)->bytes_max = bytes_max;
    return STATUS_OK;
}

void symbols_destroy(struct symbols *symbols)
{
    if (!symbols)
        return;
    drop_job(symbols);
    for (size_t i = 0; i < SYMBOLS_FILES_MAX; i++)
        free(symbols->files[i].functions);
    free(symbols);
}

size_t symbols_bytes(const struct symbols *symbols)
{
    return symbols->bytes;
}
