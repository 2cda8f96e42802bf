/* The properties of a program or library that matter to the dynamic loader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct elf_facts {
    bool is_elf;
    bool is_script;        /* starts with "#!" */
    char interpreter[256]; /* the first line of a script, without "#!" */
    bool is_64_bit;
    bool is_native;
    bool is_dynamic; /* uses the dynamic loader */
    bool names_cuda; /* contains "libcuda.so", "libcudart" or "libcupti" */
};

/* False, with errno, if the file cannot be read. */
bool elf_read(const char *path, struct elf_facts *facts);

/* The words of a script's first line, "env" and its options left out; NULL at the end. They point into
 * `line`.
 */
#define ELF_WORDS_MAX 16
char *const *elf_interpreter_words(char *line, char *words[ELF_WORDS_MAX]);
