/* The lines of the program that PyTorch's Inductor made its kernels from.
 *
 * With INDUCTOR_PROVENANCE=1, a comment above each launch in a generated file has the kernel's name and a
 * number, and PyTorch writes the call stacks of all kernels of a file as an artifact into its log
 * (TORCH_TRACE), from which tlparse makes a file of its own:
 *
 *   # [Provenance debug handles] triton_poi_fused_add_relu_0:2
 *   {"triton_poi_fused_add_relu_0:2": ["  File \"model.py\", line 31, in forward\n    x = relu(y)\n", ...]}
 *
 * Numbers are unique within a generated file only. So an artifact belongs to a generated file if it has all
 * its launches, and the fewest others. Both are read only below the directories of `--source`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDUCTOR_FILES_MAX   1024 /* artifacts */
#define INDUCTOR_KERNELS_MAX (1u << 18)
#define INDUCTOR_PATHS_MAX   4096 /* of the program, in all call stacks */

struct inductor;
struct source_lines;

struct inductor_place {
    const char *file, *name; /* valid as long as the object; `name` may be "" */
    uint32_t line;
};

struct inductor *inductor_create(void);
void inductor_destroy(struct inductor *inductor);
/* Reads the artifacts below the directory, in logs and JSON files, and uses the generated files of `source`,
 * which must outlive the object. Damaged files and unreadable folders are ignored. */
void inductor_add(struct inductor *inductor, struct source_lines *source, const char *directory);
/* Whether any artifact was found. */
bool inductor_has_kernels(const struct inductor *inductor);
/* The paths of the program in all call stacks, each once; NULL: there are no more. */
const char *inductor_path(const struct inductor *inductor, size_t number);
/* The place that the launch in this line of a generated file comes from: of several, the first. False: it is
 * unknown. */
bool inductor_find(struct inductor *inductor, const char *file, uint32_t line, struct inductor_place *place);
