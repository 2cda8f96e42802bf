#include "support/thread_ctx_reader.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#define TLS_DESCRIPTOR R_X86_64_TLSDESC
#define TLS_MODULE     R_X86_64_DTPMOD64
static char *thread_pointer(void)
{
    char *at;
    __asm__("mov %%fs:0, %0" : "=r"(at));
    return at;
}
static char **blocks(void)
{
    return *(char ***)(void *)(thread_pointer() + 8);
}
#else
#define TLS_DESCRIPTOR R_AARCH64_TLSDESC
#define TLS_MODULE     R_AARCH64_TLS_DTPMOD
static char *thread_pointer(void)
{
    char *at;
    __asm__("mrs %0, tpidr_el0" : "=r"(at));
    return at;
}
static char **blocks(void)
{
    return *(char ***)(void *)thread_pointer();
}
#endif

/* A descriptor's argument: an offset, or the address of module and offset. A pointer is far above any offset.
 * */
#define DISTANCE_MAX (1 << 24)

static struct {
    size_t type;
    const size_t *slot; /* the relocation's two words */
} found;

struct tables {
    const Elf64_Sym *symbols;
    const char *names;
    const Elf64_Rela *relocations[2];
    size_t bytes[2];
};

static void read_dynamic(const struct dl_phdr_info *info, const Elf64_Dyn *dynamic, struct tables *tables)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        /* The loader has made addresses of them, but in the kernel's own library. */
        char *at =
            (char *)(uintptr_t)(dynamic->d_un.d_ptr < info->dlpi_addr ? dynamic->d_un.d_ptr + info->dlpi_addr
                                                                      : dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_SYMTAB)
            tables->symbols = (const Elf64_Sym *)(void *)at;
        else if (dynamic->d_tag == DT_STRTAB)
            tables->names = at;
        else if (dynamic->d_tag == DT_RELA)
            tables->relocations[0] = (const Elf64_Rela *)(void *)at;
        else if (dynamic->d_tag == DT_RELASZ)
            tables->bytes[0] = dynamic->d_un.d_val;
        else if (dynamic->d_tag == DT_JMPREL)
            tables->relocations[1] = (const Elf64_Rela *)(void *)at;
        else if (dynamic->d_tag == DT_PLTRELSZ)
            tables->bytes[1] = dynamic->d_un.d_val;
    }
}

static bool names_it(const struct tables *tables, const Elf64_Rela *relocation)
{
    const Elf64_Sym *symbol = &tables->symbols[ELF64_R_SYM(relocation->r_info)];
    return ELF64_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx != SHN_UNDEF &&
           strcmp(tables->names + symbol->st_name, "otel_thread_ctx_v1") == 0;
}

static int look(struct dl_phdr_info *info, size_t size, void *count)
{
    struct tables tables = {.symbols = NULL};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            read_dynamic(info, (const Elf64_Dyn *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                         &tables);
    for (int table = 0; tables.symbols && tables.names && table < 2; table++)
        for (size_t i = 0; i < tables.bytes[table] / sizeof(Elf64_Rela); i++) {
            const Elf64_Rela *relocation = &tables.relocations[table][i];
            size_t type = ELF64_R_TYPE(relocation->r_info);
            if ((type != TLS_DESCRIPTOR && type != TLS_MODULE) || !names_it(&tables, relocation))
                continue;
            found.type = type;
            found.slot = (const size_t *)(uintptr_t)(info->dlpi_addr + relocation->r_offset);
            ++*(int *)count;
        }
    return 0;
}

int reader_find(void)
{
    int count = 0;
    dl_iterate_phdr(look, &count);
    return count;
}

static char *in_block(const size_t *module_and_offset)
{
    char *block = blocks()[2 * module_and_offset[0]]; /* each entry has two words */
    return block == (char *)-1 ? NULL : block + module_and_offset[1];
}

static char *variable(void)
{
    if (found.type == TLS_MODULE)
        return in_block(found.slot);
    ptrdiff_t argument = (ptrdiff_t)found.slot[1];
    if (argument > -DISTANCE_MAX && argument < DISTANCE_MAX)
        return thread_pointer() + argument;
    return in_block((const size_t *)argument); // NOLINT(performance-no-int-to-ptr)
}

void reader_read(struct read_context *context)
{
    char *at = variable(), *record = NULL;
    memset(context, 0, sizeof *context);
    if (at)
        memcpy(&record, at, sizeof record);
    context->has_record = record != NULL;
    if (!record)
        return;
    memcpy(context->trace_id, record, 16);
    memcpy(context->span_id, record + 16, 8);
    context->valid = (uint8_t)record[24];
    context->flags = (uint8_t)record[25];
    memcpy(&context->attrs_bytes, record + 26, 2);
}
