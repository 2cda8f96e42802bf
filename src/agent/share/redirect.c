/* Makes libraries that are already loaded call the functions of entries.c instead of CUPTI's: those linked
 * with CUPTI through their relocations, like PyTorch's profiler, and those that look its functions up by
 * name, like JAX's.
 *
 * This costs nothing where no library uses CUPTI, and otherwise a read of the relocations of each library
 * that does. No tool may be subscribed then: its handle may be that of another libcupti than the agent's, to
 * which its calls now go. For PyTorch, python/cuspan/_hooks.py has it done at the import, so that the
 * profiler may come before the agent, which then uses the profiler's libcupti. */
#include "agent/share/share.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MODULES_MAX 32 /* with calls of CUPTI */

#if defined(__x86_64__)
#define IS_ADDRESS(type)                                                                                     \
    ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define IS_ADDRESS(type)                                                                                     \
    ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#else
#define IS_ADDRESS(type) ((void)(type), false)
#endif

static any_cupti_fn *entry_of(const char *symbol)
{
    static const struct {
        const char *name;
        any_cupti_fn *function;
    } entries[] = {
#define ENTRY(name, params)           {#name, (any_cupti_fn *)name},
#define ENTRY_SWITCH(name, attribute) {#name, (any_cupti_fn *)name},
        CUPTI_CLASSIC_CALLS(ENTRY) CUPTI_NAMED_SUBSCRIBER_CALLS(ENTRY) CUPTI_TOOL_CALLS(ENTRY)
            CUPTI_SWITCH_CALLS(ENTRY_SWITCH)};
    if (strncmp(symbol, "cupti", 5) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (strcmp(entries[i].name, symbol) == 0)
            return entries[i].function;
    return NULL;
}

/* Instead of dlsym(), in modules that find CUPTI's functions with it. */
static void *look_up(void *handle, const char *symbol)
{
    any_cupti_fn *entry = symbol ? entry_of(symbol) : NULL;
    void *found = dlsym(handle, symbol);
    return entry && found ? *(void **)&entry : found;
}

/* Parts of the names of such modules: XLA in JAX's plugin and TensorFlow, and Triton's profiler. */
static bool looks_up_cupti(const char *path)
{
    static const char *const names[] = {"xla_cuda", "xla_extension", "pjrt", "libtensorflow", "libproton"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(name, names[i]))
            return true;
    return false;
}

struct module {
    const struct dl_phdr_info *info;
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * tables[2]; /* of data, of calls */
    size_t counts[2];             /* their entries */
    char *relro, *relro_end;      /* read-only after relocation */
    bool is_open;                 /* no longer read-only */
    bool by_name;                 /* looks CUPTI's functions up with dlsym() */
};

/* glibc makes the pointers absolute where the table is writable. */
static const void *pointer(const struct module *module, ElfW(Addr) address)
{
    ElfW(Addr) base = module->info->dlpi_addr;
    return (const void *)(address < base ? base + address : address);
}

static void read_dynamic(struct module *module)
{
    size_t relative = 0;
    for (const ElfW(Dyn) *at = module->dynamic; at->d_tag != DT_NULL; at++) {
        switch (at->d_tag) {
        case DT_SYMTAB:
            module->symbols = pointer(module, at->d_un.d_ptr);
            break;
        case DT_STRTAB:
            module->strings = pointer(module, at->d_un.d_ptr);
            break;
        case DT_RELA:
            module->tables[0] = pointer(module, at->d_un.d_ptr);
            break;
        case DT_RELASZ:
            module->counts[0] = at->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELACOUNT: /* they come first and name no symbols */
            relative = at->d_un.d_val;
            break;
        case DT_JMPREL:
            module->tables[1] = pointer(module, at->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            module->counts[1] = at->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    }
    if (module->tables[0] && relative <= module->counts[0]) {
        module->tables[0] += relative;
        module->counts[0] -= relative;
    }
}

/* Whether it is linked with CUPTI: a library of its usual name, or of that of the agent's. */
static bool needs_cupti(const struct module *module, const char *cupti)
{
    const char *slash = strrchr(cupti, '/'), *own = slash ? slash + 1 : cupti;
    for (const ElfW(Dyn) *at = module->dynamic; module->strings && at->d_tag != DT_NULL; at++) {
        const char *needed = at->d_tag == DT_NEEDED ? module->strings + at->d_un.d_val : "";
        if (strncmp(needed, "libcupti.so", 11) == 0 || (*own && strcmp(needed, own) == 0))
            return true;
    }
    return false;
}

/* The function that the symbol, which another library defines, is to be bound to; NULL: it stays. */
static any_cupti_fn *entry_for(const struct module *module, uint64_t symbol)
{
    const char *name = module->strings + module->symbols[symbol].st_name;
    if (symbol == 0 || module->symbols[symbol].st_shndx != SHN_UNDEF)
        return NULL;
    return module->by_name && strcmp(name, "dlsym") == 0 ? (any_cupti_fn *)look_up : entry_of(name);
}

/* As the loader has protected it. */
static bool protect(const struct module *module, int protection)
{
    return mprotect(module->relro, (size_t)(module->relro_end - module->relro), protection) == 0;
}

static void put(struct module *module, ElfW(Addr) offset, any_cupti_fn *entry)
{
    char *slot = (char *)module->info->dlpi_addr + offset;
    if (slot >= module->relro && slot < module->relro_end && !module->is_open) {
        module->is_open = protect(module, PROT_READ | PROT_WRITE);
        if (!module->is_open)
            return; /* the tool then calls CUPTI itself, which refuses it */
    }
    __atomic_store_n((any_cupti_fn **)(void *)slot, entry,
                     __ATOMIC_RELEASE); /* other threads may call it now */
}

static void patch(struct module *module)
{
    for (size_t table = 0; table < 2; table++) {
        for (size_t i = 0; module->tables[table] && i < module->counts[table]; i++) {
            const ElfW(Rela) *at = &module->tables[table][i];
            bool is_address = IS_ADDRESS(ELF64_R_TYPE(at->r_info)) && at->r_addend == 0;
            any_cupti_fn *entry = is_address ? entry_for(module, ELF64_R_SYM(at->r_info)) : NULL;
            if (entry)
                put(module, at->r_offset, entry);
        }
    }
    if (module->is_open)
        (void)protect(module, PROT_READ);
}

static void find_segments(struct module *module)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < module->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &module->info->dlpi_phdr[i];
        uintptr_t start = module->info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_DYNAMIC)
            module->dynamic = (const ElfW(Dyn) *)start;
        if (header->p_type == PT_GNU_RELRO) {
            module->relro = (char *)(start & ~(page - 1));
            module->relro_end = (char *)((start + header->p_memsz) & ~(page - 1));
        }
    }
}

/* Whether the module was seen before. If there are too many, the next ones are not redirected. */
static bool is_known(ElfW(Addr) base)
{
    static ElfW(Addr) known[MODULES_MAX];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (known[i] == base)
            return true;
    if (count == MODULES_MAX)
        return true;
    known[count++] = base;
    return false;
}

int share_redirect(struct dl_phdr_info *info, size_t size, void *cupti)
{
    struct module module = {.info = info};
    find_segments(&module);
    if (!module.dynamic)
        return 0;
    read_dynamic(&module);
    if (!module.symbols || !module.strings)
        return 0;
    module.by_name = looks_up_cupti(info->dlpi_name ? info->dlpi_name : "");
    if ((!module.by_name && !needs_cupti(&module, cupti)) || is_known(info->dlpi_addr))
        return 0;
    patch(&module);
    return 0;
}
