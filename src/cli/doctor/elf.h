/* What kind of program or library a file is, as far as it matters to a loader. */
#ifndef CUSPAN_CLI_DOCTOR_ELF_H
#define CUSPAN_CLI_DOCTOR_ELF_H

#include <stdbool.h>
#include <stddef.h>

struct elf_facts {
    bool is_elf;
    bool is_script;        /* begins with "#!" */
    char interpreter[256]; /* of a script: its first line */
    bool is_64_bit;
    bool is_of_this_machine;
    bool is_dynamic; /* the loader has a part in it */
    bool names_cuda; /* "libcuda.so", "libcudart" or "libcupti" stand somewhere in it */
};

/* False: it can't be read, errno says why. */
bool elf_look(const char *path, struct elf_facts *facts);

#endif
