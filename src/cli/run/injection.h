/* What a program's environment must hold for the CUDA driver to load our agent into it, and for the agent to
 * know what the command line asked for. */
#ifndef CUSPAN_CLI_RUN_INJECTION_H
#define CUSPAN_CLI_RUN_INJECTION_H

#include "base/status.h"
#include "cli/args/options.h"
#include "cli/util/text.h"

struct injection {
    char *library;      /* libcuspan.so; owned */
    const char *config; /* CUSPAN_CONFIG_FILE, or NULL: as it is */
    char *config_path;  /* owned; absolute, as the program may change its directory */
    struct text set;    /* lines for CUSPAN_SET */
    char *report_file;  /* --set report_file=: where the user wants the reports to stay; owned */
    char *report_dir;   /* a directory of ours, in which each process of the program leaves a report; owned */
    const char *others; /* "share" or "give-way": our library is preloaded, too; NULL: no */
    char *preload;      /* that library; owned */
    char *tool;         /* of NVIDIA's, that the program is started under: it is run without us; owned */
    bool is_quiet;
};

/* Takes an option that all launchers have (see commands.c). EXIT_OK, or EXIT_USAGE with a complaint. */
int injection_take_option(struct injection *injection, const struct options *options, int option);

/* Adds key=value to what the agent is told; EXIT_USAGE with a complaint where the value can't be passed on.
 */
int injection_set(struct injection *injection, const struct options *options, const char *key,
                  const char *value);
/* Both the agent and the preloaded library are told how to get on with other users of CUPTI. */
int injection_set_others(struct injection *injection, const struct options *options, const char *way);
/* The same for a path, made absolute. */
int injection_set_path(struct injection *injection, const struct options *options, const char *key,
                       const char *path);

/* Finds the library alone: the one that is named, by an option or CUSPAN_LIBRARY, or the one that belongs to
 * this program. NOT_FOUND. */
enum status injection_find_library(struct injection *injection, struct error *err) MUST_CHECK;

/* Checks what the agent is told (INVALID), finds the library, looks for what stands in the way, and makes the
 * directory for reports. */
enum status injection_prepare(struct injection *injection, struct error *err) MUST_CHECK;

/* Sets the variables in this process: in the child before exec, or before the child is made. */
void injection_apply(const struct injection *injection);

/* Between two runs: what has been read of the reports goes. */
void injection_clear_reports(const struct injection *injection);

/* Removes the directory for reports; what is in it stays only where the user has asked for it, as
 * report_file.PID. Safe on a zeroed one. */
void injection_deinit(struct injection *injection);

#endif
